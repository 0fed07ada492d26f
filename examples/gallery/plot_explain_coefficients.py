"""
Why this path? Explanations from coefficients
=============================================

For every level of the predicted path, ``explain`` shows the alternatives and the features that
decided. For linear classifiers the contributions are exact: they sum to the lead over the
runner-up.
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
# We leave the platypus out of training. It lays eggs, is venomous and lives in water. Why does the
# model still predict a mammal? Features are in units of the standard deviation, because the scaler
# comes before the model.

model = make_pipeline(
    StandardScaler(), LocalClassifierPerParentNode(LogisticRegression(C=0.3, max_iter=1000))
)
model.fit(X[keep], y[keep])
explanation = explain(model, X[platypus], feature_names=animals.feature_names, top=6)
print(explanation)

# %%
# In the figure, blue features support the predicted label, and orange ones the runner-up. Milk,
# hair and warm blood narrowly outweigh venom and water. The second level is wrong, and the figure
# shows why: the platypus eats meat like most carnivores, and the only other monotremes in training
# are echidnas.

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
