"""
A PyTorch network as local classifier
=====================================

A local classifier is any object with ``fit``, ``predict`` and ``predict_proba``. Forty lines around
a PyTorch network are enough. Here a network helps, because no linear model can separate the
classes.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from torch import nn

from hiclass import LocalClassifierPerParentNode
from hiclass.datasets import make_hierarchical_classification
from hiclass.metrics import level_scores

torch.set_num_threads(1)

# %%
# ``BaseEstimator`` makes the parameters visible to searches. The targets of local problems are
# always 0, 1, 2, ..., so there is nothing to encode.


class TorchClassifier(ClassifierMixin, BaseEstimator):
    """A network with one hidden layer."""

    def __init__(self, hidden=64, epochs=60, lr=0.01, random_state=None):
        self.hidden = hidden
        self.epochs = epochs
        self.lr = lr
        self.random_state = random_state

    def fit(self, X, y):
        torch.manual_seed(self.random_state or 0)
        self.classes_ = np.unique(y)
        X, y = torch.tensor(np.array(X), dtype=torch.float32), torch.tensor(np.array(y))
        self.network_ = nn.Sequential(
            nn.Linear(X.shape[1], self.hidden),
            nn.GELU(),
            nn.Linear(self.hidden, len(self.classes_)),
        )
        optimizer = torch.optim.AdamW(self.network_.parameters(), lr=self.lr, weight_decay=0.05)
        self.losses_ = []
        for _ in range(self.epochs):
            for batch in torch.randperm(len(X)).split(128):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.network_(X[batch]), y[batch])
                loss.backward()
                optimizer.step()
            self.losses_.append(loss.item())
        return self

    @torch.no_grad()
    def predict_proba(self, X):
        logits = self.network_(torch.tensor(np.array(X), dtype=torch.float32))
        return logits.double().softmax(dim=1).numpy()

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# %%
# The classes are not linearly separable, because half of the rows are replaced by their mirror
# image.

data = make_hierarchical_classification(
    n_samples=4000, n_features=10, branching=[3, 4], depth=2, noise=0.35, random_state=0
)
rng = np.random.default_rng(0)
X = data.data * rng.choice([-1, 1], size=(len(data.data), 1))  # the row or its mirror image
X_train, X_test, y_train, y_test = train_test_split(X, data.target, random_state=0)

classifiers = {
    "network": TorchClassifier(),
    "logistic regression": LogisticRegression(max_iter=1000),
}
models = {
    name: LocalClassifierPerParentNode(classifier, random_state=0).fit(X_train, y_train)
    for name, classifier in classifiers.items()
}
for name, model in models.items():
    print(f"{name:>20}: hF {model.score(X_test, y_test):.3f}")

# %%
# The linear model fails on the mirror images; the network does not.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), layout="constrained")
for offset, (name, model), color in zip(
    (-0.2, 0.2), models.items(), ("#8a63b0", "#8b95a1"), strict=True
):
    accuracy = level_scores(y_test, model.predict(X_test), zero_division=0)["accuracy"]
    bars = axes[0].bar(np.arange(2) + offset, accuracy, width=0.36, color=color, label=name)
    axes[0].bar_label(bars, fmt="{:.0%}", padding=2)
axes[0].set_xticks([0, 1], ["level 1", "level 2"])
axes[0].set(ylim=(0, 1.5), yticks=[], title="accuracy")
axes[0].legend(frameon=False, loc="upper left")
for path, network in models["network"].local_classifiers_.items():
    axes[1].plot(network.losses_, label=" > ".join(path) or "the root")
axes[1].set(title="training loss of each network", xlabel="epoch")
axes[1].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
