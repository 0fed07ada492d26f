"""Local, flat and global models: what one classifier is asked."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREEN, GREY, INK, ORANGE, PALE, card, edge, start

PLACE = {
    "r": (3.0, 2.0),
    "a": (1.5, 1.0),
    "b": (4.5, 1.0),
    "c": (0.6, 0.0),
    "d": (1.5, 0.0),
    "e": (2.4, 0.0),
    "f": (4.0, 0.0),
    "g": (5.0, 0.0),
}
EDGES = ["ra", "rb", "ac", "ad", "ae", "bf", "bg"]

figure, axes = start(6.4, 2.9, columns=3)
looks = {
    "local": (BLUE, [(0.95, 0.62, 4.1, 0.76), (0.1, -0.38, 2.8, 0.76), (3.5, -0.38, 2.0, 0.76)]),
    "flat": (ORANGE, [(0.1, -0.38, 5.4, 0.76)]),
    "global": (GREEN, [(0.0, -0.5, 5.6, 2.0)]),
}
words = {
    "local": "three small questions:\nwhich child?",
    "flat": "one question:\nwhich leaf?",
    "global": "one model,\nall classes at once",
}
for ax, (name, (color, boxes)) in zip(axes, looks.items(), strict=True):
    for above, below in EDGES:
        edge(ax, PLACE[above], PLACE[below])
    for node, (x, y) in PLACE.items():
        dim = name == "flat" and node in "ab"
        ax.plot(
            x, y, "o", ms=13, mfc="white" if dim or node == "r" else PALE,
            mec="#c9ced4" if dim else GREY, zorder=3,
        )  # fmt: skip
    for place in boxes:
        card(ax, *place, edge=color, style="--", lw=2)
    ax.set_title(name, color=color, weight="bold", size=12)
    ax.text(2.8, -0.75, words[name], ha="center", va="top", size=10.5, color=INK)
    ax.set(xlim=(-0.2, 5.8), ylim=(-1.6, 2.3))
plt.show()
