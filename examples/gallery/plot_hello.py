"""
Hello, hierarchy
================

The table of animals that comes with hiclass describes 287 species by simple facts: legs, wings,
eggs, size, habitat. Each species has a path of labels, *class / order / family*. We train a model
that predicts the first two levels and test it on species that it has not seen.
"""

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import load_animals
from hiclass.metrics import HierarchyDisplay

animals = load_animals(as_frame=False)
X, y = animals.data, animals.target[:, :2]  # class and order
names = load_animals(as_frame=True).frame["name"].to_numpy()
X_train, X_test, y_train, y_test, _, names_test = train_test_split(
    X, y, names, test_size=0.35, stratify=y[:, 0], random_state=0
)

# %%
# We fit one classifier per parent node. The first one chooses the class of the animal, and below
# each class another one chooses the order. Any scikit-learn classifier or pipeline works.

model = LocalClassifierPerParentNode(
    make_pipeline(StandardScaler(), LogisticRegression(C=3, max_iter=1000))
)
model.fit(X_train, y_train)

# %%
# ``predict`` returns paths, and ``predict_confidence`` the probability of every label. Confidence
# never rises along a path: an animal can only be a bat if it is a mammal.

paths = model.predict(X_test)
confidences = model.predict_confidence(X_test)
for name, path, confidence in list(zip(names_test, paths, confidences, strict=True))[:8]:
    steps = " > ".join(f"{label} ({p:.0%})" for label, p in zip(path, confidence, strict=True))
    print(f"{name:>22}: {steps}")

# %%
# ``score`` is the hierarchical F-score (hF). A path with the correct class and a wrong order counts
# as half correct.

print(f"hF on {len(X_test)} unseen species: {model.score(X_test, y_test):.3f}")

# %%
# Where are the errors? Every rectangle is a class, and its height is the number of test rows. Blue
# is correct, red is wrong. Nearly all classes of animals are recognised. Most errors are orders
# with a single species in the training rows.

display = HierarchyDisplay.from_estimator(model, X_test, y_test, layout="icicle")
display.figure_.set_size_inches(6.4, 6.4)
plt.show()
