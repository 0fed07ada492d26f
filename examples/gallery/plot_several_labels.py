"""
Several labels per row
======================

A document may be about physics *and* politics. With ``multi_label=True``, a row has a list of
labels, and a prediction is a set of classes that contains all their ancestors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import f1, precision, recall

data = make_hierarchical_classification(
    n_samples=2500,
    n_features=25,
    branching=[3, 4],
    depth=2,
    multi_label=True,
    max_labels=3,
    noise=0.7,
    random_state=0,
)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.4, random_state=0
)
print(data.hierarchy)
print("labels of the first rows:", y_train[:4])

# %%
# Every class is a separate binary problem, so the probabilities of siblings need not sum to one.
# Extra trees learn all children of a parent at once.

forest = ExtraTreesClassifier(n_estimators=60, min_samples_leaf=2, random_state=0)
model = LocalClassifierPerParentNode(
    forest, hierarchy=data.hierarchy, multi_label=True, threshold="tuned"
)
model.fit(X_train, y_train)
print("predicted:", model.predict(X_test[:4]).tolist())

# %%
# A class is predicted if its probability reaches ``threshold``. A low threshold has higher recall,
# a high one higher precision. ``"tuned"`` (the dotted lines) learns one threshold for each class
# from out-of-fold scores. Set it before ``fit``.

tuned = model.predict(X_test)
measures = {"precision": precision, "recall": recall, "f1": f1}


def scores(paths):
    """hP, hR and hF of sets of labels."""
    options = {"hierarchy": data.hierarchy, "multi_label": True}
    return [measure(y_test, paths, **options) for measure in measures.values()]


best = scores(tuned)
thresholds = np.linspace(0.15, 0.75, 13)
curve = np.array([scores(model.set_params(threshold=t).predict(X_test)) for t in thresholds])
colors = ("#8b95a1", "#3a9d7a", "#3b76b8")
fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name, values, line, color in zip(measures, curve.T, best, colors, strict=True):
    ax.plot(thresholds, values, color=color, lw=2)
    ax.text(thresholds[-1] + 0.01, values[-1], name, color=color, va="center")
    ax.axhline(line, color=color, ls=":", lw=1.2)
ax.set(xlabel="threshold", ylabel="on unseen rows", xlim=(0.15, 0.86))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print(f"best single threshold: hF {curve[:, 2].max():.3f}; tuned per class: {best[2]:.3f}")

# %%
# The figure shows the probabilities of six rows. Frames mark the true classes. No class is more
# probable than its parent.

tree = model.hierarchy_
order = np.arange(1, tree.n_nodes)
probability = model.predict_node_proba(X_test[:6])[:, order]
truth = tree.indicator(y_test[:6]).toarray()[:, order]
fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
image = ax.imshow(probability, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for row, column in np.argwhere(truth):
    ax.add_patch(
        plt.Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, fill=False, ec="#e07b39", lw=2)
    )
ax.set_xticks(range(len(order)), tree.labels[order], size=8)
ax.set_yticks(range(6), [f"row {i}" for i in range(1, 7)])
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
fig.colorbar(image, ax=ax, shrink=0.8, label="probability", pad=0.02)
plt.show()
