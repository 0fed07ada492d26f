"""
LightGBM on a table with categories and missing values
======================================================

``X`` is passed to the local classifiers unchanged. So you can use a gradient boosting library that
reads pandas frames with categories and missing values without preparing the data.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import level_scores

# %%
# The table has twelve columns. Four of them are categories, and a quarter of all cells are empty.

data = make_hierarchical_classification(
    n_samples=6000,
    n_features=12,
    branching=[3, 4],
    depth=2,
    noise=0.6,
    random_state=0,
    as_frame=True,
)
X, y = data.data.copy(), data.target
rng = np.random.default_rng(0)
for column in X.columns[:4]:
    parts = pd.qcut(X[column], 12, labels=False)
    X[column] = pd.Categorical.from_codes(rng.permutation(12)[parts], list("abcdefghijkl"))
X = X.mask(rng.random(X.shape) < 0.25)
for column in X.columns[:4]:
    X[column] = X[column].astype("category")
print(X.iloc[:5, 2:7])
half = len(X) // 2
X_train, X_test, y_train, y_test = X[:half], X[half:], y[:half], y[half:]

# %%
# LightGBM takes the frame as it is. The linear model needs missing values filled in, numbers scaled
# and categories encoded. It is then slightly better at the second level, because these generated
# classes suit linear models. LightGBM comes close without any preparation.

boosting = LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
numbers = make_pipeline(SimpleImputer(), StandardScaler())
prepare = make_column_transformer(
    (numbers, make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
)
linear = make_pipeline(prepare, LogisticRegression(max_iter=1000))
models = {
    "LightGBM": LocalClassifierPerParentNode(boosting).fit(X_train, y_train),
    "logistic regression, prepared": LocalClassifierPerParentNode(linear).fit(X_train, y_train),
}

fig, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for offset, (name, model), color in zip(
    (-0.2, 0.2), models.items(), ("#3a9d7a", "#8b95a1"), strict=True
):
    print(f"{name:>30}: hF {model.score(X_test, y_test):.3f}")
    accuracy = level_scores(y_test, model.predict(X_test), zero_division=0)["accuracy"]
    bars = ax.barh(np.arange(2) + offset, accuracy, height=0.36, color=color, label=name)
    ax.bar_label(bars, fmt="{:.0%}", padding=3)
ax.set_yticks(range(2), ["level 1", "level 2"])
ax.invert_yaxis()
ax.set(xlim=(0, 1.1), xticks=[])
ax.set_title("accuracy on unseen rows", loc="left")
fig.legend(frameon=False, loc="outside lower center", ncols=2)
ax.spines[["top", "right", "bottom"]].set_visible(False)
ax.tick_params(length=0)
plt.show()

# %%
# All local classifiers are accessible after ``fit``. Which features do the classifier at the root
# and those below it use?

columns = {"which class of level 1?": (), **{f"which child of {c}?": (c,) for c in ("1", "2", "3")}}
table = np.array(
    [
        models["LightGBM"].local_classifiers_[path].booster_.feature_importance("gain")
        for path in columns.values()
    ]
)
table = table / table.sum(axis=1, keepdims=True)
fig, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
image = ax.imshow(table, cmap="Greens", vmin=0, aspect="auto")
ax.set_yticks(range(len(columns)), columns)
ax.set_xticks(range(X.shape[1]), X.columns, rotation=45, ha="right", size=8)
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
ax.set_title("importance of each column (share of the gain)", loc="left")
fig.colorbar(image, ax=ax, pad=0.02, format="{x:.0%}")
plt.show()
