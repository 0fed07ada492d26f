"""
SHAP values along the path
==========================

Forests have no coefficients. SHAP values show how much each feature of *one* row changes the output
of a classifier. All local classifiers are accessible, so SHAP values can be computed for each level
of the path.
"""

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.ensemble import RandomForestClassifier

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_animals

animals = load_animals()
names = load_animals(as_frame=True).frame["name"].to_numpy()
X, y = animals.data, animals.target
features = np.array(animals.feature_names)

# %%
# The model learns from all animals except one bat, and predicts this bat.

who = "Egyptian fruit bat"
row = int((names == who).argmax())
others = np.arange(len(X)) != row
forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=1, random_state=0, n_jobs=1)
model = LocalClassifierPerParentNode(forest).fit(X[others], y[others])
path = model.predict(X[[row]])[0]
confidence = model.predict_confidence(X[[row]])[0]
print(f"{who}: " + " > ".join(f"{a} ({p:.0%})" for a, p in zip(path, confidence, strict=True)))

# %%
# ``local_classifiers_`` maps the path of every parent node to its forest, and ``local_classes_`` to
# the nodes of its classes. SHAP explains each forest separately. We keep the values of the
# predicted class.


def steps(path):
    """Yield parent path, label, SHAP values and base value for every decision on the path."""
    for depth, label in enumerate(path):
        above = tuple(path[:depth])
        if above not in model.local_classifiers_:
            continue  # a single child: there is nothing to decide
        classifier = model.local_classifiers_[above]
        nodes = list(model.local_classes_[above])
        column = nodes.index(model.hierarchy_.find((*above, label)))
        values = shap.TreeExplainer(classifier)(X[[row]])
        yield above, label, values.values[0, :, column], values.base_values[0, column]


explained = list(steps(path))

# %%
# The first bar is the share of the class among the training rows. Every feature moves the
# probability up (blue) or down (orange), and the dotted line is the output of the forest. Hair and
# milk make it a mammal, flying makes it a bat. The family is wrong: two of the three other bats
# belong to the predicted family. Its food and length are evidence against it (orange), but not
# enough.

fig, axes = plt.subplots(
    len(explained), 1, figsize=(6.4, 3.1 * len(explained)), layout="constrained"
)
for ax, (above, label, values, base) in zip(np.ravel(axes), explained, strict=True):
    top = np.argsort(-abs(values))[:7]
    rest = values.sum() - values[top].sum()
    steps_of = [base, *values[top], rest]
    text = [
        "share in training",
        *(f"{name} = {value:g}" for name, value in zip(features[top], X[row, top], strict=True)),
        "all others",
    ]
    left = np.cumsum([0, *steps_of[:-1]])
    colors = ["#8b95a1"] + ["#3b76b8" if value > 0 else "#e07b39" for value in steps_of[1:]]
    ax.barh(text, steps_of, left=left, color=colors)
    ax.invert_yaxis()
    ax.axvline(sum(steps_of), color="black", lw=0.8, ls=":")
    where = " > ".join(above) or "the root"
    ax.set_title(f"{label}: {sum(steps_of):.0%}, decided at {where}", loc="left")
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()
