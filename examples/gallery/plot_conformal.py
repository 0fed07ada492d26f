"""
Conformal prediction: stopping with a guarantee
===============================================

A confidence of 95 % is an estimate. ``ConformalClassifier`` gives a guarantee: if new rows resemble
the calibration rows, at least 95 % of them belong to the predicted class or to a class below it. It
stops paths early to keep this guarantee.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from hiclass import ConformalClassifier, LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification

# %%
# Our model is overconfident: naive Bayes with every feature repeated three times.

data = make_hierarchical_classification(
    n_samples=9000, n_features=8, branching=[3, 3, 3], noise=0.7, random_state=0
)
X = data.data[:, [*range(8)] * 3]
X_train, X_rest, y_train, y_rest = train_test_split(X, data.target, test_size=2 / 3, random_state=0)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
model = LocalClassifierPerParentNode(GaussianNB()).fit(X_train, y_train)


def covered(paths):
    """The share of test rows whose true class is at or below the predicted one."""
    return ((paths == y_test) | (paths == "")).all(axis=1).mean()


# %%
# ``min_confidence=1 - alpha`` relies on the confidences. The conformal model first checks them on
# calibration rows. ``FrozenEstimator`` keeps the fitted model as it is.

alphas = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
threshold, conformal, depth = [], [], []
for alpha in alphas:
    model.set_params(min_confidence=1 - alpha)
    threshold.append(covered(model.predict(X_test)))
    model.set_params(min_confidence=0.0)
    safe = ConformalClassifier(FrozenEstimator(model), alpha=alpha).fit(X_cal, y_cal)
    paths = safe.predict(X_test)
    conformal.append(covered(paths))
    depth.append((paths != "").mean(axis=0))
    row = f"min_confidence {threshold[-1]:.1%}, conformal {conformal[-1]:.1%}"
    print(f"required {1 - alpha:.0%}: {row}")

# %%
# On the left, the conformal model is close to the diagonal, and ``min_confidence`` is below it. The
# right shows the cost: the higher the coverage, the fewer paths reach the last level.

fig, axes = plt.subplots(1, 2, figsize=(6.6, 3.6), layout="constrained")
wanted = 1 - alphas
axes[0].plot(wanted, wanted, color="#8b95a1", ls="--", lw=1)
axes[0].plot(wanted, conformal, "o-", color="#3b76b8", label="conformal")
axes[0].plot(wanted, threshold, "s-", color="#e07b39", label="min_confidence")
axes[0].set(xlabel="required coverage", title="measured coverage")
axes[0].legend(frameon=False)
shades = ("#1f4e84", "#3b76b8", "#7fb0e0")
for level, (values, color) in enumerate(zip(np.transpose(depth), shades, strict=True), start=1):
    axes[1].plot(wanted, values, "o-", color=color, label=f"level {level}")
axes[1].set(xlabel="required coverage", title="paths that reach a level", ylim=(0, 1.03))
axes[1].legend(frameon=False, loc="lower left")
for ax in axes:
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With ``kind="set"``, the conformal model returns several classes instead of a more general one.

sets = ConformalClassifier(FrozenEstimator(model), alpha=0.1, kind="set").fit(X_cal, y_cal)
for members in sets.predict_set(X_test[:4]):
    print(sorted(" > ".join(path) for path in members))
