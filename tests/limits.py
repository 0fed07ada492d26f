"""Hierarchies of extreme sizes, and a local classifier that has a constant cost per class.

For ``test_limits.py`` and ``benchmarks/limits.py``.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Ruler(ClassifierMixin, BaseEstimator):
    """Class k is at position k of a ruler, in the first feature: the nearest mark wins.

    Classifiers of scikit-learn look at all rows for every class, which a million classes forbid.
    """

    def fit(self, X, y):
        self.classes_ = np.arange(y.max() + 1)
        total = np.bincount(y, weights=X[:, 0], minlength=len(self.classes_))
        self.marks_ = total / np.bincount(y, minlength=len(self.classes_))
        return self

    def predict_proba(self, X):
        proba = 1 / (1 + abs(X[:, :1] - self.marks_))
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def predict(self, X):
        return abs(X[:, :1] - self.marks_).argmin(axis=1)


class Unsure(Ruler):
    """A ruler whose marks all look nearly alike: no branch can be left out of a search."""

    def predict_proba(self, X):
        proba = 1 + 0.01 * np.sin(X[:, :1] * (1 + np.arange(len(self.marks_))))
        proba /= proba.sum(axis=1, keepdims=True)
        return proba


def deep(n_levels):
    """A chain with a leaf beside every step, and two rows for each final class."""
    names = [f"step {j}" for j in range(n_levels)]
    y = [[*names[:j], "leaf"] for j in range(n_levels)] + [names]
    y = [path for path in y for _ in range(2)]
    X = np.array([[len(path) + (path[-1] != "leaf")] for path in y], dtype=float)
    return X, y


def chain(n_levels):
    """The edges of a chain with two leaves beside every step but the last."""
    on = [(f"step {j}", f"step {j + 1}") for j in range(n_levels - 1)]
    return on + [(a, f"{a} {side}") for a, _ in on for side in ("left", "right")]


def wide(n_children):
    """One class with very many children, and another one without."""
    y = np.empty((n_children + 1, 2), dtype=object)
    y[:, 0] = "all"
    y[:-1, 1] = [f"child {i:07d}" for i in range(n_children)]
    y[-1] = "none", ""
    X = np.arange(n_children + 1, dtype=float)[:, None]
    X[-1] = -(10.0**7)
    return X, y


def many(n_labels, n_levels=3):
    """A balanced tree in which every label of the last level is another one."""
    width = round(n_labels ** (1 / n_levels))
    leaf = np.arange(width**n_levels)
    y = np.empty((len(leaf), n_levels), dtype=object)
    for level in range(n_levels):
        group = leaf // width ** (n_levels - 1 - level)
        y[:, level] = [f"{level}-{g}" for g in group.tolist()]
    return leaf[:, None].astype(float), y


def long(n_characters, n_classes=20):
    """Labels that differ only in their last characters."""
    names = [f"{'x' * (n_characters - 4)}{i:04d}" for i in range(n_classes)]
    y = [[names[i // 5], names[i]] for i in range(n_classes) for _ in range(2)]
    return np.repeat(np.arange(n_classes, dtype=float), 2)[:, None], y
