"""
Probabilities over the whole tree
=================================

A hierarchical model predicts a path and a probability for every class. The probabilities of the
children of a class sum to the probability of the class.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.patches import Rectangle
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_animals

animals = load_animals(as_frame=True)
X, y = load_animals(return_X_y=True)
y = y[:, :2]  # class and order
names = animals.frame["name"].to_numpy()

# %%
# We leave out two animals that are easily confused with others, train on the rest, and predict the
# two.

test = np.isin(names, ["Humpback whale", "Platypus"])
model = LocalClassifierPerParentNode(
    make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=1000))
).fit(X[~test], y[~test])

# %%
# There are four views of the same probabilities:
#
# - ``predict_node_proba``: one column per node of the hierarchy, the root first;
# - ``predict_proba``: one array per level, as in scikit-learn;
# - ``predict_confidence``: the labels of the predicted path only;
# - ``predict_paths``: the most probable paths, best first.

paths, probabilities = model.predict_paths(X[test], k=3)
for name, some, values in zip(names[test], paths, probabilities, strict=True):
    print(name)
    for path, value in zip(some, values, strict=True):
        print(f"  {value:6.1%}  {' > '.join(path)}")

# %%
# The probabilities of the children of a class sum to its own, so the classes of the first level sum
# to one.

nodes = model.predict_node_proba(X[test])
tree = model.hierarchy_
for node in (0, tree.find("Mammalia")):
    print(f"{tree.describe(node):>10}", nodes[:, node].round(3), end="  children: ")
    print(nodes[:, tree.children(node)].sum(axis=1).round(3))

# %%
# In the figure, the height of a class is its probability. The whale is a mammal with high
# probability. The platypus, which lays eggs and lives in water, could also be an amphibian, but no
# single path is as probable as the correct one.


def draw(ax, probability, title):
    """Draw an icicle: level by level from left to right, probability as height."""
    colors = ScalarMappable(cmap="Blues")
    colors.set_clim(-0.15, 1.2)
    bottom = {0: 0.0}
    for node in range(tree.n_nodes):
        y0 = bottom[node]
        for child in tree.children(node):
            bottom[child] = y0
            y0 += probability[child]
        if node:
            x, height = tree.levels[node] - 1, probability[node]
            color = colors.to_rgba(height)
            ax.add_patch(Rectangle((x, bottom[node]), 1, height, fc=color, ec="white", lw=1))
            if height > 0.05:
                ink = "white" if height > 0.6 else "black"
                text = f"{tree.labels[node]} {height:.0%}"
                ax.text(x + 0.03, bottom[node] + height / 2, text, va="center", color=ink, size=8)
    ax.set(xlim=(0, tree.depth), ylim=(1, 0))
    ax.set_title(title, loc="left", size=11)
    ax.set_axis_off()


fig, axes = plt.subplots(len(nodes), 1, figsize=(6.4, 2.4 * len(nodes)), layout="constrained")
for ax, probability, name in zip(axes, nodes, names[test], strict=True):
    draw(ax, probability, name)
plt.show()
