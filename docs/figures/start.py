"""The picture of the first page: one row on its way through a tree of animals."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_animals

X, y = load_animals(return_X_y=True)
# Three classes with their largest orders, so that every name can be read.
keep = {
    "Mammalia": ("Carnivora", "Rodentia", "Primates"),
    "Aves": ("Anseriformes", "Passeriformes"),
    "Reptilia": ("Squamata", "Testudines"),
}
rows = np.array([path[0] in keep and path[1] in keep[path[0]] for path in y])
X, y = np.asarray(X)[rows], np.asarray(y)[rows][:, :2]
model = LocalClassifierPerParentNode(LogisticRegression(max_iter=1000)).fit(X, y)
tree = model.hierarchy_

row = int(np.flatnonzero(y[:, 1] == "Primates")[0])
proba = model.predict_node_proba(X[row : row + 1])[0]
chosen = [0, *(tree.find(tuple(model.predict(X[row : row + 1])[0][: k + 1])) for k in range(2))]

ink, warm, cold = "#56606b", "#d9731a", "#2f7fb5"
leaves = tree.leaves(0)
height = {int(leaf): -float(i) for i, leaf in enumerate(leaves)}
for node in range(tree.n_nodes - 1, -1, -1):
    if node not in height:
        height[node] = float(np.mean([height[int(child)] for child in tree.children(node)]))

figure, ax = plt.subplots(figsize=(7.5, 2.9))
figure.patch.set_alpha(0)
for node in range(tree.n_nodes):
    x = 2.0 * tree.levels[node]
    for child in tree.children(node):
        on_path = child in chosen
        ax.plot(
            [x, x + 0.7, x + 2.0],
            [height[node], height[int(child)], height[int(child)]],
            color=warm if on_path else cold,
            alpha=1.0 if on_path else 0.35,
            linewidth=3 if on_path else 1.5,
            solid_joinstyle="round",
            zorder=2 if on_path else 1,
        )
    ax.scatter(x, height[node], s=40, color=warm if node in chosen else cold, zorder=3)
    if node:
        name = f"{tree.labels[node]}  {proba[node]:.2f}"
        weight = "bold" if node in chosen else "normal"
        above = 0.16 if tree.levels[node] == 1 else 0.0
        ax.text(
            x + (0.12 if not above else -0.1),
            height[node] + above,
            name,
            ha="left" if not above else "right",
            va="bottom" if above else "center",
            color=warm if node in chosen else ink,
            fontsize=11,
            fontweight=weight,
        )
ax.text(-0.1, height[0], "one row", ha="right", va="center", color=ink, fontsize=11)
ax.set_xlim(-0.9, 5.6)
ax.set_axis_off()
