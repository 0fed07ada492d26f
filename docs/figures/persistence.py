"""From a fitted model to files, and from files to answers."""

import matplotlib.pyplot as plt
from _draw import GREY, PALE, PALE_BLUE, PALE_GREEN, PALE_ORANGE, arrow, box, start

figure, ax = start(6.4, 3.2)
box(ax, 1.1, 1.5, "fitted\npipeline", fill=PALE_BLUE, size=11)
formats = (
    (2.5, "pickle, joblib", PALE_ORANGE, "trusted files only"),
    (1.5, "skops", PALE_GREEN, "checked before loading"),
    (0.5, "ONNX", PALE_GREEN, "no Python needed"),
)
for y, name, fill, words in formats:
    arrow(ax, (1.85, 1.5 + (y - 1.5) * 0.25), (3.2, y))
    box(ax, 4.2, y, name, fill=fill)
    ax.text(4.2, y - 0.36, words, ha="center", va="center", size=10, color=GREY)
    arrow(ax, (5.2, y), (6.5, 1.5 + (y - 1.5) * 0.25))
box(ax, 7.5, 1.5, "service:\npath and\nconfidence", fill=PALE, size=11)
ax.set(xlim=(0.2, 8.6), ylim=(-0.1, 3.0))
plt.show()
