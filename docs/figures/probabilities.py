"""Probabilities on a tree: products along paths, sums over children."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, PALE, PALE_BLUE, box, edge, start

figure, ax = start(6.4, 3.9)
place = {
    "root": (4.2, 3.0),
    "Reptile": (1.7, 1.8),
    "Mammal": (6.3, 1.8),
    "Snake": (0.8, 0.4),
    "Lizard": (2.6, 0.4),
    "Cat": (4.6, 0.4),
    "Dog": (6.3, 0.4),
    "Bat": (8.0, 0.4),
}
given = {
    ("root", "Reptile"): 0.4,
    ("root", "Mammal"): 0.6,
    ("Reptile", "Snake"): 0.9,
    ("Reptile", "Lizard"): 0.1,
    ("Mammal", "Cat"): 0.5,
    ("Mammal", "Dog"): 0.3,
    ("Mammal", "Bat"): 0.2,
}
probability = {"root": 1.0}
for (above, below), p in given.items():
    probability[below] = probability[above] * p
for (above, below), p in given.items():
    edge(ax, place[above], place[below], color=BLUE, lw=0.8 + 6 * probability[below])
    share = 0.52
    x, y = (place[above][i] * (1 - share) + place[below][i] * share for i in (0, 1))
    ax.text(
        x, y, f"{p:.1f}", size=10, color=INK, ha="center", va="center", zorder=2.5,
        bbox={"fc": "white", "ec": "none", "pad": 0.8},
    )  # fmt: skip
for name, (x, y) in place.items():
    fill = PALE_BLUE if name in ("root", "Reptile", "Mammal") else PALE
    box(ax, x, y, f"{name}\n{probability[name]:.2f}", fill=fill)
ax.text(
    0.05, 3.35, "on a line: P(class given\nthe class above)\nin a box: P(class),\nthe product",
    size=10, color=GREY, va="top",
)  # fmt: skip
ax.set(xlim=(0, 8.8), ylim=(-0.1, 3.4))
plt.show()
