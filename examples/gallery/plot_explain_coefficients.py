"""
Why this path? Explanations from coefficients
=============================================

For every step of the predicted path, ``explain`` shows the alternatives and the features that made
the difference. With linear classifiers these are exact: feature by
feature, they sum to the lead over the runner-up.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode, explain
from hiclass.datasets import load_animals

animals = load_animals()
names = load_animals(as_frame=True).frame["name"].to_numpy()
X, y = animals.data, animals.target[:, :2]
platypus = int((names == "Platypus").argmax())
keep = [i for i in range(len(X)) if i != platypus]

# %%
# The platypus is left out of training. It lays eggs, is venomous and lives in water; what makes the
# model take it for a mammal all the same? Numbers are in units of the standard deviation, because
# the scaler comes before the model.

model = make_pipeline(
    StandardScaler(), LocalClassifierPerParentNode(LogisticRegression(C=0.3, max_iter=1000))
)
model.fit(X[keep], y[keep])
explanation = explain(model, X[platypus], feature_names=animals.feature_names, top=6)
print(explanation)

# %%
# The same as a picture. Blue features support the predicted label, orange ones the
# runner-up. Milk, hair and warm blood outweigh poison and water: a mammal, narrowly. The second
# step is wrong, and the picture says why. It is a meat eater, like most carnivores; of its own
# order, the monotremes, the model has seen nothing but echidnas.

fig, axes = plt.subplots(
    len(explanation.steps), 1, figsize=(6.4, 3.0 * len(explanation.steps)), layout="constrained"
)
for ax, step in zip(axes, explanation.steps, strict=True):
    (reason,) = step.reasons
    features = sorted(reason.features, key=lambda feature: feature.contribution)
    values = [feature.contribution for feature in features]
    colors = ["#3b76b8" if value > 0 else "#e07b39" for value in values]
    bars = ax.barh([feature.name for feature in features], values, color=colors)
    ax.bar_label(bars, fmt="{:+.2f}", padding=3, size=8)
    runner_up = step.runners_up[0]
    ax.set_title(
        f"{step.label} {step.probability:.0%}, not {runner_up.label} {runner_up.probability:.0%}",
        loc="left",
    )
    ax.axvline(0, color="black", lw=0.8)
    ax.margins(x=0.15)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
plt.show()
