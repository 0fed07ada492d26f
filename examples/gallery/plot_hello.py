"""
Hello, hierarchy
================

The table of animals that comes with hiclass describes 287 species by plain facts: legs, wings,
eggs, size, where they live. Each species has a path of labels, *class / order / family*. We train
a model that predicts the first two levels of that path, and look at how it does on species that
it has never seen.
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
# One classifier per parent node: the first one chooses the class of the animal, and below each
# class another one chooses the order. Any scikit-learn classifier will do, and so will pipelines.

model = LocalClassifierPerParentNode(
    make_pipeline(StandardScaler(), LogisticRegression(C=3, max_iter=1000))
)
model.fit(X_train, y_train)

# %%
# ``predict`` returns paths, ``predict_confidence`` the probability of every label on them. The
# confidence never rises on the way down: to be a bat, one has to be a mammal first.

paths = model.predict(X_test)
confidences = model.predict_confidence(X_test)
for name, path, confidence in list(zip(names_test, paths, confidences, strict=True))[:8]:
    steps = " > ".join(f"{label} ({p:.0%})" for label, p in zip(path, confidence, strict=True))
    print(f"{name:>22}: {steps}")

# %%
# ``score`` is the hierarchical F-score: an order that is wrong below the right class counts as
# half right.

print(f"hF on {len(X_test)} unseen species: {model.score(X_test, y_test):.3f}")

# %%
# Where are the mistakes? Every rectangle is a class of animals, as tall as it has test rows, next
# to the class above it. Blue is right, red is wrong. Nearly all classes are recognised; what is
# lost are orders, mostly those with a single species to learn from.

display = HierarchyDisplay.from_estimator(model, X_test, y_test, layout="icicle")
display.figure_.set_size_inches(6.4, 6.4)
plt.show()
