"""What HierarchicalClassifier does: features, models on trial, rows held out, the choice."""

import matplotlib.pyplot as plt
from _draw import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PALE_BLUE,
    PALE_GREEN,
    PALE_ORANGE,
    arrow,
    box,
    card,
    start,
)

figure, ax = start(6.4, 3.6)
box(ax, 0.62, 2.0, "texts,\ntable,\nmatrix")
box(ax, 2.15, 2.0, "features", fill=PALE_ORANGE)
arrow(ax, (1.15, 2.0), (1.62, 2.0))
models = {"per parent node": 2.95, "flat": 2.0, "others": 1.05}
card(ax, 3.1, 0.45, 2.0, 3.1, edge=BLUE, style="--")
ax.text(
    4.1,
    0.25,
    "fitted on some rows,\nscored on the others",
    ha="center",
    va="top",
    size=10,
    color=BLUE,
)
for name, y in models.items():
    arrow(ax, (2.7, 2.0), (3.3, y), color=GREY)
    box(ax, 4.1, y, name, fill=PALE_BLUE, size=10)
    arrow(ax, (4.9, y), (5.5, 2.0), color=GREY)
box(ax, 6.05, 2.0, "product, or\nthe best one", fill=PALE_GREEN, size=10)
arrow(ax, (6.05, 1.5), (6.05, 0.95), color=GREEN)
box(ax, 6.05, 0.55, "fitted on\nall rows", fill=PALE_GREEN, ink=INK, size=10)
ax.set(xlim=(0, 6.9), ylim=(-0.3, 3.7))
plt.show()
