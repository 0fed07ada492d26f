"""
Abstaining: stop at "some kind of bird"
=======================================

A model that must predict a family always predicts one, even if it is uncertain. With
``min_confidence`` it stops early and predicts *Aves* instead of a wrong finch. How much precision
does this gain, and how much coverage does it cost?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import HierarchicalKFold, LocalClassifierPerParentNode, tune_confidence
from hiclass.datasets import load_animals
from hiclass.metrics import f1, precision

X, y = load_animals(return_X_y=True)
model = LocalClassifierPerParentNode(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
)
folds = HierarchicalKFold(n_splits=5, shuffle=True, random_state=0)

# %%
# We predict all 287 animals, each with a model that has not seen it. Many families have one or two
# species, so no model can predict all of them correctly.

all_paths = np.empty(y.shape, dtype=object)
confidence = np.empty(y.shape)
for train, test in folds.split(X, y):
    model.fit(X[train], y[train])
    all_paths[test] = model.predict(X[test])
    confidence[test] = model.predict_confidence(X[test])

# %%
# The confidence never rises along a path. So ``min_confidence`` only removes the labels
# below it, and we can try many thresholds without predicting again.

thresholds = np.linspace(0, 0.95, 20)
rows = []
for threshold in thresholds:
    paths = np.where(confidence >= threshold, all_paths, "")
    rows.append([precision(y, paths), f1(y, paths), *(paths != "").mean(axis=0)])
right, score, *coverage = np.array(rows).T

LEVELS = ("classes", "orders", "families")
for i in (0, 10, 18):
    given = ", ".join(f"{a[i]:.0%} {level}" for a, level in zip(coverage, LEVELS, strict=True))
    print(f"min_confidence {thresholds[i]:.2f}: {right[i]:.0%} correct; predicted: {given}")

# %%
# As the threshold rises, families are dropped first, then orders. The class of an animal remains
# longest. The remaining labels are more and more often correct.

fig, axes = plt.subplots(2, 1, figsize=(6.4, 5.4), layout="constrained", sharex=True)
axes[0].plot(thresholds, right, "o-", color="#3b76b8", ms=4, label="precision (hP)")
axes[0].plot(thresholds, score, "o-", color="#8b95a1", ms=4, label="F-score (hF)")
axes[0].set_title("How good are the predicted labels?", loc="left")
axes[0].set_ylim(None, 1)
axes[0].legend(frameon=False)
shades = ("#1f4e84", "#3b76b8", "#9dbfe2")
for values, color in zip(coverage, shades, strict=True):
    axes[1].fill_between(thresholds, values, color=color, lw=0)
axes[1].set_title("How many animals get a label?", loc="left")
axes[1].set_xlabel("min_confidence")
axes[1].set_ylim(0, 1)
for x, height, level in ((0.8, 0.8, "class"), (0.63, 0.47, "order"), (0.2, 0.4, "family")):
    axes[1].text(x, height, level, color="black" if level == "family" else "white")
for ax in axes:
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0)
plt.show()

# %%
# To reach a given precision, let :func:`hiclass.tune_confidence` find the threshold, on rows
# that the model was not fitted on.

X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.4, random_state=0)
model.set_params(min_confidence=0.0).fit(X_train, y_train)
threshold = tune_confidence(model, X_valid, y_valid, precision=0.95)
print(f"95 % precision with min_confidence={threshold:.2f}")
