"""
LightGBM children on a table with categories and gaps
=====================================================

``X`` is handed to the local classifiers as it is. A gradient boosting library that reads pandas
frames with categories and missing values can therefore be used without any preparation.
"""

import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import HierarchicalKFold, LocalClassifierPerParentNode
from hiclass.datasets import load_animals
from hiclass.metrics import level_scores

animals = load_animals(as_frame=True)
X, y = animals.data.copy(), animals.target
for column in ("diet", "habitat", "active"):
    X[column] = X[column].astype("category")

# %%
# As in most real tables some cells are empty: here a fifth of the sizes.

rng = np.random.default_rng(0)
for column in ("length_cm", "weight_kg"):
    X.loc[rng.random(len(X)) < 0.2, column] = np.nan
print(X.iloc[:4, -5:])

# %%
# Small local problems want small trees.

boosting = LGBMClassifier(
    n_estimators=40, num_leaves=7, min_child_samples=2, min_data_per_group=1, verbose=-1, n_jobs=1
)
folds = HierarchicalKFold(n_splits=3, shuffle=True, random_state=0)
tree_paths = cross_val_predict(LocalClassifierPerParentNode(boosting), X, y, cv=folds)

# %%
# A linear model on the numeric version of the table, without gaps, for comparison.

linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
X_numbers = load_animals().data
linear_paths = cross_val_predict(LocalClassifierPerParentNode(linear), X_numbers, y, cv=folds)

fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for offset, paths, name, color in (
    (-0.2, tree_paths, "LightGBM, with gaps and categories", "#3a9d7a"),
    (0.2, linear_paths, "logistic regression, complete numbers", "#8b95a1"),
):
    accuracy = level_scores(y, paths, zero_division=0)["accuracy"]
    bars = ax.barh(np.arange(3) + offset, accuracy, height=0.36, color=color, label=name)
    ax.bar_label(bars, fmt="{:.0%}", padding=3)
ax.set_yticks(range(3), animals.target_names)
ax.invert_yaxis()
ax.set(xlim=(0, 1.1), xticks=[])
ax.set_title("accuracy by level, unseen animals", loc="left")
fig.legend(frameon=False, loc="outside lower center", ncols=2)
ax.spines[["top", "right", "bottom"]].set_visible(False)
ax.tick_params(length=0)
plt.show()

# %%
# Each local classifier is at hand after a fit. What does the one of the mammals look at?

model = LocalClassifierPerParentNode(boosting).fit(X, y)
mammals = model.local_classifiers_["Mammalia",]
gain = mammals.booster_.feature_importance("gain")
top = np.argsort(gain)[-8:]
fig, ax = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
ax.barh(X.columns[top], gain[top] / gain.sum(), color="#3a9d7a")
ax.set_title("which order of mammals? share of the gain", loc="left")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
