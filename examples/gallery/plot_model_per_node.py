"""
A different model at every node
===============================

Near the root there are many rows and broad classes; at the bottom there are few rows and narrow
classes. One kind of classifier rarely suits both. You can pass a function that returns a classifier
for the path of a node, or use ``GridSearchCV`` as local classifier to tune every node separately.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_animals

X, y = load_animals(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y[:, :2], test_size=0.35, stratify=y[:, 0], random_state=0
)

# %%
# A forest chooses among the twelve classes of animals, logistic regression among the orders of
# mammals and of birds, which have many rows, and a nearest neighbour among the orders of all
# others. The path of the root is empty.

linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
neighbour = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=1))


def choose(path):
    """Return the classifier for the node with this path."""
    if not path:
        return RandomForestClassifier(n_estimators=200, random_state=0)
    return linear if path[0] in ("Mammalia", "Aves") else neighbour


candidates = {
    "forest everywhere": RandomForestClassifier(n_estimators=200, random_state=0),
    "linear everywhere": linear,
    "neighbour everywhere": neighbour,
    "one per node": choose,
}

# %%
# How good is each of them at the first decision, and at the second one if the first is correct?

rows = {}
for name, local in candidates.items():
    model = LocalClassifierPerParentNode(local).fit(X_train, y_train)
    paths = model.predict(X_test)
    first = paths[:, 0] == y_test[:, 0]
    rows[name] = first.mean(), (paths[:, 1] == y_test[:, 1])[first].mean()
    print(f"{name:>22}: hF {model.score(X_test, y_test):.3f}")
for path, classifier in model.local_classifiers_.items():
    last = classifier[-1] if hasattr(classifier, "steps") else classifier
    print(f"{' > '.join(path) or 'the root':>22}: {type(last).__name__}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(6.6, 2.9), layout="constrained", sharey=True)
colors = ["#9dbfe2"] * 3 + ["#e07b39"]
for ax, values, title in zip(
    axes,
    np.transpose(list(rows.values())),
    ("class correct", "order correct, if class is"),
    strict=True,
):
    bars = ax.barh(list(rows), values, color=colors)
    ax.bar_label(bars, fmt="{:.0%}", padding=3)
    ax.set(title=title, xlim=(0, 1.2), xticks=[])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
axes[0].invert_yaxis()
plt.show()

# %%
# A search can also choose the regularisation of every node. The local classifiers are then fitted
# searches, each with its own ``best_params_``. Nodes with very few rows per class get a plain
# model, because a search needs rows to hold out.

rows_of = {}
for path in y_train:
    for end in (0, 1):
        rows_of.setdefault(tuple(path[:end]), []).append(path[end])


def search(path):
    """Return a search if every child class has three rows, otherwise a plain model."""
    _, counts = np.unique(rows_of.get(tuple(path), [""]), return_counts=True)
    if counts.min() < 3:
        return linear
    return GridSearchCV(linear, {"logisticregression__C": np.logspace(-2, 2, 5)}, cv=3)


tuned = LocalClassifierPerParentNode(search).fit(X_train, y_train)
print(f"hF {tuned.score(X_test, y_test):.3f}")
for path, classifier in tuned.local_classifiers_.items():
    if isinstance(classifier, GridSearchCV):
        best = classifier.best_params_["logisticregression__C"]
        print(f"{' > '.join(path) or 'the root':>22}: C={best}")
