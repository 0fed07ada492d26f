"""Where features are made: before the model, or at every node."""

import matplotlib.pyplot as plt
from _draw import BLUE, INK, PALE_BLUE, PALE_ORANGE, arrow, box, card, edge, start


def tree(ax, x, label, fill):
    """A tree of three decisions with a label in each."""
    nodes = [(x, 2.0), (x - 0.95, 0.7), (x + 0.95, 0.7)]
    for node in nodes[1:]:
        edge(ax, nodes[0], node)
    for node in nodes:
        box(ax, *node, label, fill=fill, size=10)
    card(ax, x - 1.75, 0.1, 3.5, 2.55, edge=BLUE, style="--")
    ax.text(x, -0.12, "hierarchical model", ha="center", va="top", size=10, color=BLUE)


figure, axes = start(6.4, 4.6, rows=2)
ax = axes[0]
box(ax, 0.5, 1.4, "texts,\nframe")
box(ax, 2.3, 1.4, "features\n(TF-IDF, ...)", fill=PALE_ORANGE)
arrow(ax, (1.05, 1.4), (1.5, 1.4))
arrow(ax, (3.1, 1.4), (3.65, 1.4))
tree(ax, 5.5, "classifier", PALE_BLUE)
ax.set_title("before the model: made once for all", loc="left", color=INK, weight="bold")
ax = axes[1]
box(ax, 0.5, 1.4, "texts,\nframe")
arrow(ax, (1.05, 1.4), (3.65, 1.4))
tree(ax, 5.5, "features +\nclassifier", PALE_ORANGE)
ax.set_title("at every node: each learns its own", loc="left", color=INK, weight="bold")
for ax in axes:
    ax.set(xlim=(0, 7.4), ylim=(-0.4, 2.75))
plt.show()
