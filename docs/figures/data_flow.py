"""The picture of the way of the data, for the page of developers."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

INK, FIT, PREDICT, LABELS = "#56606b", "#2f7fb5", "#d9731a", "#4b9b5c"

figure, ax = plt.subplots(figsize=(8.4, 3.6))
figure.patch.set_alpha(0)


def box(x, y, title, text, color):
    """A step: what it is, and what comes out of it."""
    ax.add_patch(
        FancyBboxPatch(
            (x, y), 1.55, 0.62, boxstyle="round,pad=0.04", facecolor="none", edgecolor=color, lw=1.8
        )
    )
    ax.text(x + 0.775, y + 0.42, title, ha="center", va="center", color=color, fontweight="bold")
    ax.text(x + 0.775, y + 0.14, text, ha="center", va="center", color=INK, fontsize=10)


def arrow(start, end, label="", at=(0.0, 0.1)):
    """What goes from one step to the next."""
    style = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=style)
    x, y = (start[0] + end[0]) / 2 + at[0], (start[1] + end[1]) / 2 + at[1]
    ax.text(x, y, label, ha="center", va="center", color=INK, fontsize=9)


top, low = 1.6, 0.0
box(0.9, top, "encode", "Hierarchy, codes", LABELS)
box(3.3, top, "local problems", "rows, target", FIT)
box(5.7, top, "fit", "joblib, Ray", FIT)
box(5.7, low, "predict", "P(child | parent)", PREDICT)
box(3.3, low, "decide", "a node per row", PREDICT)
box(0.9, low, "decode", "labels as they were", LABELS)

middle = 0.31
arrow((0.3, top + middle), (0.85, top + middle))
ax.text(0.22, top + middle, "y", ha="right", va="center", color=INK, fontweight="bold")
arrow((2.5, top + middle), (3.25, top + middle), "integers")
arrow((4.9, top + middle), (5.65, top + middle), "problems")
arrow((6.475, top - 0.05), (6.475, low + 0.67), "fitted classifiers", (0.75, 0))
arrow((5.65, low + middle), (4.9, low + middle), "chunks", (0, 0.1))
arrow((3.25, low + middle), (2.5, low + middle), "integers")
arrow((0.85, low + middle), (0.3, low + middle))
ax.text(0.22, low + middle, "predict(X)", ha="right", va="center", color=INK, fontweight="bold")
arrow((7.9, top + middle), (7.3, top + middle))
ax.text(7.95, top + middle, "X", ha="left", va="center", color=INK, fontweight="bold")
arrow((7.9, low + middle), (7.3, low + middle))
ax.text(7.95, low + middle, "X", ha="left", va="center", color=INK, fontweight="bold")
ax.text(4.075, top + 0.85, "strategy, policy", ha="center", color=FIT, fontsize=10)
ax.text(6.475, top + 0.85, "engine", ha="center", color=FIT, fontsize=10)
ax.text(4.075, low - 0.3, "decoding", ha="center", color=PREDICT, fontsize=10)

ax.set_xlim(-0.7, 8.3)
ax.set_ylim(-0.4, 2.6)
ax.set_axis_off()
