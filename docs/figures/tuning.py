"""Folds: rare classes are spread with their siblings."""

import matplotlib.pyplot as plt
import numpy as np
from _draw import BLUE, GREEN, GREY, INK, ORANGE, start

from hiclass import HierarchicalKFold

counts = {
    ("Mammal", "Cat"): 9,
    ("Mammal", "Dog"): 6,
    ("Mammal", "Otter"): 1,
    ("Mammal", "Seal"): 2,
    ("Reptile", "Snake"): 6,
    ("Reptile", "Tuatara"): 1,
    ("Reptile", "Gecko"): 2,
}
y = [list(path) for path, count in counts.items() for _ in range(count)]
fold = np.empty(len(y), dtype=int)
for number, (_, test) in enumerate(HierarchicalKFold(n_splits=3).split(np.zeros(len(y)), y)):
    fold[test] = number

figure, ax = start(6.4, 3.7)
colors = (BLUE, ORANGE, GREEN)
row = 0
start_of = 0
for (kind, name), count in counts.items():
    if row and kind == "Reptile" and ax.texts and not getattr(ax, "gap_", False):
        row += 0.6
        ax.gap_ = True
    for i in range(count):
        ax.plot(i, -row, "o", ms=15, color=colors[fold[start_of + i]])
    ax.text(-0.8, -row, f"{kind} / {name}", ha="right", va="center", size=11, color=INK)
    if count < 3:
        ax.text(count - 0.2, -row, "fewer rows than folds", size=10, color=GREY, va="center")
    start_of += count
    row += 1
for number, color in enumerate(colors):
    ax.plot(6.6, -3 - 0.7 * number, "o", ms=11, color=color)
    ax.text(7.0, -3 - 0.7 * number, f"fold {number + 1}", va="center", size=11)
ax.set(xlim=(-4.6, 9), ylim=(-row + 0.3, 0.6))
ax.set_title("HierarchicalKFold(n_splits=3): each row and its fold", loc="left", weight="bold")
plt.show()
