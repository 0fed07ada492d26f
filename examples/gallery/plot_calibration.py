"""
Calibration: is 90 % really 90 %?
=================================

Of all predictions with a confidence of 90 %, nine in ten should be correct. Naive Bayes is known to
be overconfident. A single number, the *temperature*, is learned from out-of-fold scores and
corrects most of this.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import ReliabilityDisplay, calibration_error, node_log_loss

# %%
# To make naive Bayes fail as it does in practice, we repeat every feature four times: it treats the
# copies as independent evidence.

data = make_hierarchical_classification(
    n_samples=6000, n_features=10, branching=[3, 4], depth=2, noise=1.2, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(
    data.data[:, [*range(10)] * 4], data.target, test_size=0.5, random_state=0
)
plain = LocalClassifierPerParentNode(GaussianNB()).fit(X_train, y_train)
calibrated = LocalClassifierPerParentNode(GaussianNB(), calibration="temperature")
calibrated.fit(X_train, y_train)
print(f"temperature: {calibrated.temperature_:.2f}")

# %%
# Dots below the diagonal are overconfident predictions; larger dots have more rows. With the
# temperature, the second level is close to the diagonal. There is one temperature for the whole
# tree. The first level needed less correction and is now slightly underconfident.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.7), layout="constrained", sharey=True)
for ax, model, title in zip(
    axes, (plain, calibrated), ("naive Bayes", "with a temperature"), strict=True
):
    ReliabilityDisplay.from_estimator(model, X_test, y_test, ax=ax)
    ax.set_title(title, loc="left")
    ax.legend(loc="upper left", fontsize=8, frameon=False)
axes[1].set_ylabel("")
plt.show()

# %%
# The same in numbers: the predicted labels hardly change, but the probabilities become reliable.

for name, model in (("plain", plain), ("calibrated", calibrated)):
    paths, confidences = model.predict(X_test), model.predict_confidence(X_test)
    errors = calibration_error(y_test, paths, confidences)
    loss = node_log_loss(y_test, model.predict_node_proba(X_test), hierarchy=model.hierarchy_)
    print(
        f"{name:>10}: hF {model.score(X_test, y_test):.3f}, log loss {loss:.2f}, calibration "
        f"error per level {errors.round(3)}"
    )

# %%
# A linear support vector machine has no probabilities. ``calibration="temperature"`` turns its
# margins into probabilities, so ``predict_confidence``, ``min_confidence`` and the other decodings
# work.

svm = LocalClassifierPerParentNode(LinearSVC(), calibration="temperature").fit(X_train, y_train)
fig, ax = plt.subplots(figsize=(4.4, 4.4), layout="constrained")
ReliabilityDisplay.from_estimator(svm, X_test, y_test, ax=ax)
ax.set_title("LinearSVC with a temperature", loc="left")
plt.show()
