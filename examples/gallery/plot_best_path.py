"""
The best path against the greedy one
====================================

Choosing the best child at every step is fast, but not always correct: the most probable first step
can lead into a branch in which no class is probable. ``best_path`` compares whole paths instead.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import exact_match, f1

data = make_hierarchical_classification(
    n_samples=8000, n_features=3, branching=[8, 3], depth=2, noise=0.5, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0
)
model = LocalClassifierPerParentNode(GaussianNB()).fit(X_train, y_train)

# %%
# The decoding is read in ``predict``, so one fit is enough for all of them.

greedy = model.set_params(decoding="top_down").predict(X_test)
best = model.set_params(decoding="best_path").predict(X_test)
for name, paths in (("greedy", greedy), ("best path", best)):
    print(f"{name:>10}: exact match {exact_match(y_test, paths):.3f}, hF {f1(y_test, paths):.3f}")

# %%
# We choose a row for which they differ and the best path is correct. The greedy path chooses the
# class with the highest probability, which is then divided among many children.

differs = (greedy != best).any(axis=1) & (best == y_test).all(axis=1)
print(f"{differs.sum()} rows are correct only with the best path")
nodes = model.predict_node_proba(X_test)
tree = model.hierarchy_
lead = nodes[:, [tree.find(path) for path in best]].diagonal()
lead = lead - nodes[:, [tree.find(path) for path in greedy]].diagonal()
row = int(np.argmax(np.where(differs, lead, -1)))

# %%
# Blue is the greedy path, orange the best path. The numbers are the probabilities of the classes.


def draw(ax, probability, chosen):
    """Draw the two levels of the tree from top to bottom."""
    width = {node: len(tree.leaves(node)) for node in range(tree.n_nodes)}
    place = {0: width[0] / 2}
    for node in range(tree.n_nodes):
        start = place[node] - width[node] / 2
        for child in tree.children(node):
            place[child] = start + width[child] / 2
            start += width[child]
    for node in range(1, tree.n_nodes):
        above, level = tree.parent[node], tree.levels[node]
        color = next((c for c, path in chosen.items() if node in path), "#c3c8ce")
        p = probability[node]
        ax.plot(
            [place[above], place[node]],
            [1 - level, -level],
            color=color,
            lw=0.6 + 9 * p,
            solid_capstyle="round",
            zorder=2 if color != "#c3c8ce" else 1,
        )
        bold = "bold" if color != "#c3c8ce" else "normal"
        text = f"{p:.0%}" if level == 1 else f"{100 * p:.0f}"
        ax.text(
            place[node],
            -level - 0.07 if level == 2 else -level + 0.1,
            text,
            ha="center",
            va="top" if level == 2 else "bottom",
            size=9 if level == 1 else 8,
            weight=bold,
            color="black",
            bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.8} if level == 1 else None,
            zorder=3,
        )
    ax.set(ylim=(-2.25, 0.05))
    ax.set_axis_off()


paths = {}
for color, path in (("#e07b39", best[row]), ("#3b76b8", greedy[row])):
    node = tree.find(path)
    paths[color] = {node, *tree.ancestors(node)}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
draw(ax, nodes[row], paths)
ax.set_title(
    f"greedy: {' > '.join(greedy[row])}    best path and truth: {' > '.join(best[row])}",
    loc="left",
    size=10,
)
plt.show()

# %%
# ``best_path`` has the higher exact match, because it maximises the probability of the whole path.
# The page *Which decoding, which calibration?* compares it with other decodings on six real data
# sets.
#
# The gain depends on how certain the model is. The next figure shows it for increasing noise:

noises = [0.1, 0.2, 0.35, 0.5, 0.7, 1.0]
gain = np.empty((len(noises), 5))
for i, noise in enumerate(noises):
    for seed in range(5):
        noisy = make_hierarchical_classification(
            n_samples=5000, n_features=3, branching=[8, 3], depth=2, noise=noise, random_state=seed
        )
        model.fit(noisy.data[:2500], noisy.target[:2500])
        scores = []
        for decoding in ("top_down", "best_path"):
            model.set_params(decoding=decoding)
            scores.append(exact_match(noisy.target[2500:], model.predict(noisy.data[2500:])))
        gain[i, seed] = 100 * (scores[1] - scores[0])

fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.bar(range(len(noises)), gain.mean(axis=1), color="#f0b48c", width=0.6)
for seed in range(5):
    ax.plot(range(len(noises)), gain[:, seed], "o", color="#c65d1b", ms=4)
ax.set_xticks(range(len(noises)), noises)
ax.set_xlabel("noise")
ax.set_ylabel("gain in exact match, points")
ax.set_title("five data sets per noise, and their mean", loc="left")
ax.axhline(0, color="black", lw=0.8)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
