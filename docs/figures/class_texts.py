"""What a row is compared with: words of a class, words above it, and its training rows."""

import matplotlib.pyplot as plt
from _draw import BLUE, GREY, INK, ORANGE, PALE_BLUE, PALE_ORANGE, arrow, box, card, edge, start

figure, ax = start(6.4, 3.6)
ax.text(1.05, 3.55, "a new row", ha="center", color=INK, weight="bold")
box(ax, 1.05, 1.9, "“hog ranch\nwith two barns”")
ax.text(5.3, 3.55, "a class without rows", ha="center", color=INK, weight="bold")
box(ax, 5.3, 2.95, "11  Agriculture", fill=PALE_BLUE)
edge(ax, (5.3, 2.8), (5.3, 2.0))
box(ax, 5.3, 1.75, "112  Animal production\nraising cattle and hogs", fill=PALE_ORANGE)
card(ax, 3.75, 0.2, 3.1, 0.8, edge=GREY, style="--")
ax.text(5.3, 0.6, "its training rows:\nnone yet", ha="center", va="center", size=10.5, color=GREY)
arrow(ax, (1.9, 2.15), (4.5, 2.95), color=BLUE)
arrow(ax, (1.9, 1.9), (4.1, 1.75), color=ORANGE, lw=2.6)
arrow(ax, (1.9, 1.65), (3.7, 0.6), color=GREY)
ax.text(2.75, 2.72, "words above", ha="center", size=10, color=BLUE)
ax.text(3.2, 1.93, "its words", ha="center", size=10, color=ORANGE)
ax.text(2.35, 0.8, "rows", ha="center", size=10, color=GREY)
ax.set(xlim=(0, 7.1), ylim=(0.1, 3.8))
plt.show()
