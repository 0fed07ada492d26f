"""
Six policies: which rows train the classifier of a class?
=========================================================

``LocalClassifierPerNode`` trains one binary classifier per class. Which rows are positive for the
class *Wolf*, and which are negative? The policy decides. This example shows the six policies on the
small hierarchy of the HiClass paper and compares their scores.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from hiclass import LocalClassifierPerNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import f1

POLICIES = [
    "exclusive",
    "less_exclusive",
    "less_inclusive",
    "inclusive",
    "siblings",
    "exclusive_siblings",
]

# %%
# There is one row for each class, including inner classes. Instead of a real classifier we use one
# that only records its training rows. Any object with ``fit`` and ``predict_proba`` can be a local
# classifier.


class Recorder:
    """Record the training rows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rows_ = list(zip(X[:, 0], y, strict=True))
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


y_paper = [
    ["Reptile"],
    ["Reptile", "Snake"],
    ["Reptile", "Lizard"],
    ["Mammal"],
    ["Mammal", "Cat"],
    ["Mammal", "Wolf"],
    ["Mammal", "Wolf", "Dog"],
]
X_paper = np.arange(len(y_paper))[:, np.newaxis]
role = np.zeros((len(POLICIES), len(y_paper)), dtype=int)
for i, policy in enumerate(POLICIES):
    recorded = LocalClassifierPerNode(Recorder(), binary_policy=policy).fit(X_paper, y_paper)
    for row, label in recorded.local_classifiers_["Mammal", "Wolf"].rows_:
        role[i, int(row)] = 2 if label else 1

# %%
# Blue rows are positive for *Wolf*, orange ones negative, and grey ones are not used.

colors = {"not used": "#e8eaed", "negative": "#e8975a", "positive": "#3b76b8"}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.imshow(role, cmap=ListedColormap(list(colors.values())), vmin=0, vmax=2, aspect="auto")
ax.set_xticks(range(len(y_paper)), [path[-1] for path in y_paper], rotation=30)
ax.set_yticks(range(len(POLICIES)), POLICIES)
ax.set_xticks(np.arange(-0.5, len(y_paper)), minor=True)
ax.set_yticks(np.arange(-0.5, len(POLICIES)), minor=True)
ax.grid(which="minor", color="white", linewidth=3)
ax.tick_params(which="both", length=0)
ax.spines[:].set_visible(False)
ax.set_title("Training rows of the classifier of Wolf", loc="left")
fig.legend(
    handles=[Patch(color=color, label=name) for name, color in colors.items()],
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
plt.show()

# %%
# Does the choice matter? We compare the policies on generated data with 84 classes, in which every
# fifth path ends at an inner class. ``siblings`` needs far fewer rows than the policies that use
# all rows. The "exclusive" policies have lower scores: for them, positive means "ends exactly
# here", but the decisions in a tree need "is here or below".

data = make_hierarchical_classification(
    n_samples=3000, branching=4, depth=3, ragged=0.2, noise=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.3, random_state=0
)
scores, work = [], []
for policy in POLICIES:
    model = LocalClassifierPerNode(LogisticRegression(max_iter=1000), binary_policy=policy)
    scores.append(f1(y_test, model.fit(X_train, y_train).predict(X_test)))
    counted = LocalClassifierPerNode(Recorder(), binary_policy=policy).fit(X_train, y_train)
    work.append(sum(len(c.rows_) for c in counted.local_classifiers_.values()))
    print(f"{policy:>20}  hF {scores[-1]:.3f}  {work[-1]:>7,} rows for all classifiers together")

# %%
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.0), layout="constrained", sharey=True)
panels = ((scores, "hF on unseen rows", "%.2f"), (work, "training rows", "{:,.0f}"))
for ax, (values, title, fmt) in zip(axes, panels, strict=True):
    bars = ax.barh(POLICIES, values, color="#3b76b8")
    ax.bar_label(bars, fmt=fmt, padding=3)
    ax.set_title(title, loc="left")
    ax.set_xlim(0, max(values) * 1.3)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_xticks([])
    ax.tick_params(length=0)
axes[0].invert_yaxis()
plt.show()
