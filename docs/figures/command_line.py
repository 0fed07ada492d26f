"""Files and commands."""

import matplotlib.pyplot as plt
from _draw import BLUE, INK, PALE, PALE_BLUE, PALE_GREEN, arrow, box, start

figure, ax = start(6.4, 3.6)


def command(x, y, name):
    """Write the name of a command."""
    ax.text(x, y, name, ha="center", va="center", family="monospace", size=10.5, color=BLUE,
            weight="bold", bbox={"fc": "white", "ec": "none", "pad": 1.5}, zorder=4)  # fmt: skip


box(ax, 1.0, 3.0, "data.csv", fill=PALE)
box(ax, 1.0, 1.6, "new.csv", fill=PALE)
box(ax, 1.0, 0.3, "test.csv", fill=PALE)
box(ax, 4.4, 3.0, "model.skops", fill=PALE_BLUE)
box(ax, 7.6, 1.6, "out.csv\nlabels, confidences", fill=PALE_GREEN)
box(ax, 7.6, 0.3, "scores\nreport.html", fill=PALE_GREEN)
arrow(ax, (1.6, 3.0), (3.55, 3.0))
command(2.55, 3.0, "fit")
for y, name in ((1.6, "predict"), (0.3, "evaluate")):
    arrow(ax, (1.6, y), (6.55, y))
    command(4.4, y, name)
arrow(ax, (4.4, 2.75), (4.4, 1.8))
arrow(ax, (4.4, 1.4), (4.4, 0.5))
arrow(ax, (1.0, 3.3), (1.0, 3.75))
ax.text(1.25, 3.72, "tree: the hierarchy in the file", size=10.5, color=INK, va="center")
ax.set(xlim=(0.1, 9.0), ylim=(-0.1, 3.95))
plt.show()
