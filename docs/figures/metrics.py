"""Paths as sets of classes, and what they share."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, PALE, box, edge, start

PLACE = {
    "Mammal": (1.1, 1.0),
    "Reptile": (3.4, 1.0),
    "Cat": (0.5, 0.0),
    "Dog": (1.7, 0.0),
    "Lizard": (2.85, 0.0),
    "Snake": (4.0, 0.0),
}
ROOT = (2.25, 1.9)
EDGES = [("Mammal", "Cat"), ("Mammal", "Dog"), ("Reptile", "Lizard"), ("Reptile", "Snake")]
ROWS = [
    ("all correct: 2 of 2", ["Mammal", "Cat"], ["Mammal", "Cat"]),
    ("half correct: 1 of 2", ["Mammal", "Cat"], ["Mammal", "Dog"]),
    ("all wrong: 0 of 2", ["Reptile", "Snake"], ["Mammal", "Dog"]),
    ("stopped early: 1 of 1", ["Reptile", "Snake"], ["Reptile"]),
]
GREEN = "#3a9d7a"

figure, axes = start(6.4, 4.6, columns=2, rows=2)
for ax, (title, true, predicted) in zip(axes.flat, ROWS, strict=True):
    for name in ("Mammal", "Reptile"):
        edge(ax, ROOT, PLACE[name], color="#c9ced4")
    for above, below in EDGES:
        edge(ax, PLACE[above], PLACE[below], color="#c9ced4")
    ax.plot(*ROOT, "o", ms=7, mfc="white", mec=GREY, zorder=3)
    for name, (x, y) in PLACE.items():
        fill, ink = PALE, GREY
        if name in true and name in predicted:
            fill, ink = GREEN, "white"
        elif name in true:
            fill, ink = BLUE, "white"
        elif name in predicted:
            fill, ink = ORANGE, "white"
        box(ax, x, y, name, fill=fill, ink=ink, size=10.5)
    ax.set_title(title, loc="left", color=INK, weight="bold")
    ax.set(xlim=(-0.1, 4.6), ylim=(-0.35, 2.1))
for x, color, text in (
    (0.02, GREEN, "true and predicted"),
    (0.36, BLUE, "true, missed"),
    (0.62, ORANGE, "predicted, wrong"),
):
    figure.text(x, 0.015, "■ " + text, color=color, size=11)
figure.get_layout_engine().set(rect=(0, 0.06, 1, 0.94))
plt.show()
