"""Rows of labels become a tree."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, PALE, PALE_BLUE, PALE_ORANGE, arrow, box, card, edge, start

figure, ax = start(6.4, 3.5)
rows = [("Mammal", "Cat"), ("Mammal", "Dog"), ("Reptile", "Snake"), ("Reptile", "")]
ax.text(0.1, 4.55, "y: a path for each row", size=11.5, weight="bold", color=INK)
for i, row in enumerate(rows):
    y = 3.6 - i
    card(ax, 0.1, y - 0.36, 2.75, 0.72, fill="#f5f6f8", edge="#f5f6f8")
    box(ax, 0.8, y, row[0], fill=PALE_BLUE)
    if row[1]:
        box(ax, 2.15, y, row[1], fill=PALE)
    else:
        ax.text(2.15, y, "(missing)", color=GREY, ha="center", va="center", size=10.5,
                style="italic")  # fmt: skip
arrow(ax, (3.1, 2.1), (3.75, 2.1), lw=2.2)

ax.text(4.1, 4.55, "the hierarchy", size=11.5, weight="bold", color=INK)
place = {"": (6.0, 3.7), "Mammal": (4.95, 2.3), "Reptile": (7.0, 2.3)}
leaves = {"Cat": (4.4, 0.8), "Dog": (5.5, 0.8), "Snake": (6.55, 0.8), "stop here": (7.7, 0.8)}
for name in ("Mammal", "Reptile"):
    edge(ax, place[""], place[name])
for name, above in (("Cat", "Mammal"), ("Dog", "Mammal"), ("Snake", "Reptile")):
    edge(ax, place[above], leaves[name])
edge(ax, place["Reptile"], leaves["stop here"], ls=":")
box(ax, *place[""], "(root)", fill="white", edge=GREY, ink=GREY)
for name in ("Mammal", "Reptile"):
    box(ax, *place[name], name, fill=PALE_BLUE)
for name in ("Cat", "Dog", "Snake"):
    box(ax, *leaves[name], name)
box(ax, *leaves["stop here"], "stop here", fill=PALE_ORANGE, size=10)
for y, text in ((2.3, "level 1"), (0.8, "level 2")):
    ax.text(8.75, y, text, color=BLUE, size=10, va="center", ha="center")
ax.set(xlim=(0, 9.2), ylim=(0.1, 4.9))
plt.show()
