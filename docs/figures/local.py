"""The three local approaches: where the classifiers sit."""

import matplotlib.pyplot as plt
from _draw import ANIMALS, BLUE, GREEN, GREY, INK, ORANGE, animals, card, start

figure, axes = start(6.4, 8.6, rows=3)
titles = (
    "per node: one binary classifier for each class",
    "per parent node: one classifier for each choice among children",
    "per level: one classifier for each level",
)
for ax, title in zip(axes, titles, strict=True):
    animals(ax)
    ax.set_title(title, loc="left", color=INK, weight="bold")

for name, (x, y) in ANIMALS.items():
    if name and name != "Dog":  # Dog has no sibling: below Wolf there is nothing to decide
        card(axes[0], x - 0.5, y - 0.32, 1.0, 0.64, edge=BLUE, style="--")


for x, y, width in ((0.65, 1.62, 4.6), (0.15, 0.62, 2.35), (3.3, 0.62, 2.6)):
    card(axes[1], x, y, width, 0.76, edge=ORANGE, style="--")
for y in (1.62, 0.62):
    card(axes[2], 0.1, y, 5.9, 0.76, edge=GREEN, style="--")
words = "a single child:\nnothing to decide,\nunless rows end at Wolf"
for ax in axes:
    ax.text(5.75, 0, words, size=10, color=GREY, va="center")
    ax.set_xlim(0, 7.4)
plt.show()
