"""Which rows train the classifier of Wolf, under each policy."""

import matplotlib.pyplot as plt
from _draw import ANIMALS, BLUE, GREY, INK, ORANGE, PALE, animals, start

# Positive and negative classes for "Wolf", as in the table beside the figure.
WOLF = {
    "exclusive": ("Wolf", "Reptile Snake Lizard Mammal Cat Dog"),
    "less_exclusive": ("Wolf", "Reptile Snake Lizard Mammal Cat"),
    "less_inclusive": ("Wolf Dog", "Reptile Snake Lizard Mammal Cat"),
    "inclusive": ("Wolf Dog", "Reptile Snake Lizard Cat"),
    "siblings": ("Wolf Dog", "Cat"),
    "exclusive_siblings": ("Wolf", "Cat"),
}

figure, axes = start(6.4, 6.6, columns=2, rows=3)
for ax, (policy, (positive, negative)) in zip(axes.flat, WOLF.items(), strict=True):
    fill = {"": ("white", GREY)}
    fill |= dict.fromkeys(positive.split(), (BLUE, "white"))
    fill |= dict.fromkeys(negative.split(), (ORANGE, "white"))
    animals(ax, {name: fill.get(name, (PALE, GREY)) for name in ANIMALS}, size=10)
    ax.set_title(policy, loc="left", color=INK, family="monospace", weight="bold")
for x, color, text in ((0.03, BLUE, "positive rows"), (0.36, ORANGE, "negative rows")):
    figure.text(x, 0.012, "■ " + text, color=color, size=11)
figure.text(0.7, 0.012, "■ not used", color=GREY, size=11)
figure.get_layout_engine().set(rect=(0, 0.045, 1, 0.955))
plt.show()
