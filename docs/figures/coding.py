"""The picture of coding with people: what is sure is coded, the rest goes round by the desk."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

INK, MODEL, PEOPLE, DONE = "#56606b", "#2f7fb5", "#d9731a", "#4b9b5c"

figure, ax = plt.subplots(figsize=(8.0, 3.4))
figure.patch.set_alpha(0)


def box(x, y, title, text, color):
    """A step: what it is called, and what it does."""
    edge = {"boxstyle": "round,pad=0.04", "facecolor": "none", "edgecolor": color, "lw": 1.8}
    ax.add_patch(FancyBboxPatch((x, y), 1.7, 0.62, **edge))
    ax.text(x + 0.85, y + 0.42, title, ha="center", va="center", color=color, fontweight="bold")
    ax.text(x + 0.85, y + 0.14, text, ha="center", va="center", color=INK, fontsize=10)


def arrow(start, end, label="", at=(0.0, 0.12)):
    """What goes from one step to the next."""
    style = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=style)
    x, y = (start[0] + end[0]) / 2 + at[0], (start[1] + end[1]) / 2 + at[1]
    ax.text(x, y, label, ha="center", va="center", color=INK, fontsize=9)


box(0.9, 1.6, "triage", "at most 5 % wrong", MODEL)
box(3.8, 1.6, "done", "code, confidence", DONE)
box(0.9, 0.0, "queue", "five suggestions", PEOPLE)
box(3.8, 0.0, "desk", "people decide", PEOPLE)
box(6.7, 0.0, "fit --add", "the model learns", MODEL)

arrow((0.25, 1.91), (0.85, 1.91))
ax.text(0.2, 1.91, "new rows", ha="right", va="center", color=INK, fontweight="bold")
arrow((2.65, 1.91), (3.75, 1.91), "certain")
arrow((1.75, 1.55), (1.75, 0.67), "uncertain", (0.48, 0))
arrow((2.65, 0.31), (3.75, 0.31), "in order")
arrow((5.55, 0.31), (6.65, 0.31), "reviewed")
arrow((7.55, 0.67), (2.3, 1.55), "a better model", (0.9, 0.12))

ax.set_xlim(-0.75, 8.6)
ax.set_ylim(-0.2, 2.4)
ax.axis("off")
figure.tight_layout(pad=0.2)
