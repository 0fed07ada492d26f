"""From texts to classes: an encoder with a cache, and one classifier of vectors."""

import matplotlib.pyplot as plt
from _draw import GREY, PALE_BLUE, PALE_GREEN, PALE_ORANGE, arrow, box, start

figure, ax = start(6.4, 2.4)
box(ax, 0.6, 1.6, "texts")
box(ax, 2.2, 1.6, "TextEncoder", fill=PALE_ORANGE)
box(ax, 4.0, 1.6, "vectors", fill=PALE_BLUE)
box(ax, 6.0, 1.6, "hierarchical\nmodel", fill=PALE_GREEN)
for left, right in ((1.0, 1.45), (2.95, 3.45), (4.55, 5.25)):
    arrow(ax, (left, 1.6), (right, 1.6))
box(ax, 1.5, 0.4, "your encoder", size=10)
box(ax, 3.1, 0.4, "cache on disk", size=10)
arrow(ax, (2.0, 1.3), (1.6, 0.68), style="<|-|>")
arrow(ax, (2.4, 1.3), (2.95, 0.68), style="<|-|>")
ax.text(4.1, 0.4, "each distinct text\nis encoded once", size=10, color=GREY, va="center")
ax.set(xlim=(0.1, 6.9), ylim=(0.0, 2.1))
plt.show()
