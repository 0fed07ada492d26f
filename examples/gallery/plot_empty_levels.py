"""
Paths that end early
====================

Real labels are often incomplete: some rows have labels down to the last level, others only at the
first. A missing label can mean two things. *Stop here*: the row is a mammal, and there is no more
specific class for it. *Unknown below*: there is a more specific class, but it was not recorded. The
default assumes the first meaning; ``leaf_only=True`` assumes the second.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import f1

# %%
# A third of these rows end at level one or two. A missing label is ``""``, ``None``, ``NaN``,
# ``pandas.NA`` or a shorter list.

data = make_hierarchical_classification(
    n_samples=4000, branching=[3, 3, 3], ragged=0.35, noise=0.6, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0
)
print(y_train[:6])

# %%
# By default, if training rows stop at a class, "stop here" becomes one more class of its
# classifier.

linear = LogisticRegression(max_iter=1000)
stops = LocalClassifierPerParentNode(linear).fit(X_train, y_train)
goes_on = LocalClassifierPerParentNode(linear, leaf_only=True).fit(X_train, y_train)


def depth(paths):
    """How many labels each path has."""
    return (np.asarray(paths) != "").sum(axis=1)


print(f"may stop:   hF {f1(y_test, stops.predict(X_test)):.3f}")
print(f"leaf only:  hF {f1(y_test, goes_on.predict(X_test)):.3f}")

# %%
# The default model learns where paths end: most rows that end at level one are predicted to end
# there. With ``leaf_only=True`` every prediction ends at a leaf. This is correct if missing labels
# are unknown, and wrong if paths really stop.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.8), layout="constrained", sharey=True)
for ax, model, title in zip(
    axes, (stops, goes_on), ("default: may stop", "leaf_only=True"), strict=True
):
    table = np.zeros((3, 3))
    np.add.at(table, (depth(y_test) - 1, depth(model.predict(X_test)) - 1), 1)
    table /= table.sum(axis=1, keepdims=True)
    ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
    for (i, j), share in np.ndenumerate(table):
        ax.text(j, i, f"{share:.0%}", ha="center", va="center", color="w" if share > 0.5 else "k")
    ax.set_xticks(range(3), [1, 2, 3])
    ax.set_yticks(range(3), [1, 2, 3])
    ax.set_xlabel("predicted path ends at level")
    ax.set_title(title, loc="left")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
axes[0].set_ylabel("true path ends at level")
plt.show()

# %%
# What if lower labels were not recorded? We take rows that all end at a leaf and remove the lower
# labels of an increasing share. The default model learns to stop. With ``leaf_only=True``, the
# model keeps its score and still learns from the upper labels. A third option is to drop such rows.

complete = make_hierarchical_classification(
    n_samples=3000, branching=[3, 3, 3], noise=2.0, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(
    complete.data, complete.target, test_size=0.5, random_state=0
)
shares = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9])
order = np.random.default_rng(0).permutation(len(y_train))
scores = {"leaf_only=True": [], "only complete rows": [], "default: may stop": []}
for share in shares:
    short = order[: int(share * len(y_train))]
    forgetful = y_train.copy()
    forgetful[short, 1:] = ""
    kept = forgetful[:, -1] != ""
    may_stop = LocalClassifierPerParentNode(linear).fit(X_train, forgetful)
    leaf_only = LocalClassifierPerParentNode(linear, leaf_only=True).fit(X_train, forgetful)
    complete_rows = LocalClassifierPerParentNode(linear).fit(X_train[kept], forgetful[kept])
    for name, model in zip(scores, (leaf_only, complete_rows, may_stop), strict=True):
        scores[name].append(f1(y_test, model.predict(X_test)))

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (name, values), color in zip(scores.items(), ("#3b76b8", "#6b7785", "#e07b39"), strict=True):
    ax.plot(shares, values, "o-", color=color, label=name)
ax.set_xlabel("share of training rows without lower labels")
ax.set_ylabel("hF on complete test rows")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
