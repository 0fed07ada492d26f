"""A class with several parents, and a closed set."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, PALE, box, edge, start

figure, axes = start(6.4, 3.0, columns=2)
place = {
    "feline": (0.7, 1.0),
    "pet": (2.5, 1.0),
    "canine": (4.3, 1.0),
    "lion": (0.4, 0.0),
    "cat": (1.7, 0.0),
    "dog": (3.3, 0.0),
    "wolf": (4.6, 0.0),
}
edges = [
    ("feline", "lion"),
    ("feline", "cat"),
    ("pet", "cat"),
    ("pet", "dog"),
    ("canine", "dog"),
    ("canine", "wolf"),
]
panels = (
    ("labels of a row: dog", {"dog"}, {"pet", "canine"}),
    ("labels of a row: dog, lion", {"dog", "lion"}, {"pet", "canine", "feline"}),
)
for ax, (title, labels, above) in zip(axes, panels, strict=True):
    for upper, lower in edges:
        on = lower in labels and upper in above
        line = {"color": BLUE if on else "#c9ced4", "lw": 2.4 if on else 1.3}
        edge(ax, place[upper], place[lower], **line)
    for name, (x, y) in place.items():
        fill, ink = (PALE, GREY)
        if name in labels:
            fill, ink = ORANGE, "white"
        elif name in above:
            fill, ink = BLUE, "white"
        box(ax, x, y, name, fill=fill, ink=ink)
    ax.set_title(title, loc="left", color=INK, weight="bold")
    ax.set(xlim=(-0.1, 5.1), ylim=(-0.35, 1.35))
figure.text(0.02, 0.02, "■ given", color=ORANGE, size=11)
figure.text(0.2, 0.02, "■ follows from it", color=BLUE, size=11)
figure.text(0.52, 0.02, "■ not in the set", color=GREY, size=11)
figure.get_layout_engine().set(rect=(0, 0.1, 1, 0.9))
plt.show()
