"""Local classifiers of gene_function.py: each takes many classes at once and little memory.

A forest of scikit-learn keeps, in every leaf of every tree, the shares of all classes: 50 MB per
tree for 4,000 classes. These forests keep the training rows of the leaves instead, and the labels
once; the answer is the same mean over the rows that share leaves.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics.pairwise import rbf_kernel

from hiclass._estimators.forest import features_per_split


class _ManyClasses(ClassifierMixin, BaseEstimator):
    """Says that several labels per row are welcome, and answers for one label as for many."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.array([0, 1])
        self.one_ = y.ndim == 1
        self._fit(np.asarray(X), np.asarray(y, dtype=np.float32).reshape(len(y), -1))
        return self

    def predict_proba(self, X: Any) -> Any:
        proba = np.clip(self._answer(np.asarray(X)), 0, 1)
        return np.hstack([1 - proba, proba]) if self.one_ else proba

    def predict(self, X: Any) -> Any:
        return (self.predict_proba(X)[..., 1:] if self.one_ else self.predict_proba(X)) >= 0.5


class LeafForest(_ManyClasses):
    """Extra trees that split on the first components of the labels and average labels of rows."""

    def __init__(
        self,
        n_estimators: int = 300,
        min_samples_leaf: int = 2,
        n_components: int = 32,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.n_components = n_components
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, X: Any, Y: Any) -> None:
        target = Y - Y.mean(axis=0)
        if self.n_components < Y.shape[1]:
            target = TruncatedSVD(self.n_components, random_state=0).fit_transform(target)
        self.forest_ = ExtraTreesRegressor(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            max_features=features_per_split(X),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(X, target)
        self.leaves_ = self.forest_.apply(X).astype(np.int32)
        self.labels_ = sp.csr_array(Y)

    def _answer(self, X: Any) -> Any:
        n, trees = len(self.leaves_), self.leaves_.shape[1]
        weight: Any = 0
        for mine, theirs in zip(self.forest_.apply(X).T, self.leaves_.T, strict=True):
            size = np.bincount(theirs, minlength=max(mine.max(), theirs.max()) + 1)
            entries = (1 / (trees * size[theirs]), (theirs, np.arange(n)))
            weight = weight + sp.csr_array(entries, shape=(len(size), n))[mine]
        return (weight @ self.labels_).toarray()


class KernelRidge(_ManyClasses):
    """Ridge regression on the labels with a Gaussian kernel; answers are cut at 0 and 1."""

    def __init__(self, gamma: float = 0.005, alpha: float = 1.0) -> None:
        self.gamma = gamma
        self.alpha = alpha

    def _fit(self, X: Any, Y: Any) -> None:
        kernel = rbf_kernel(X, gamma=self.gamma)
        kernel[np.diag_indices(len(X))] += self.alpha
        self.rows_, self.mean_ = X, Y.mean(axis=0)
        self.weights_ = np.linalg.solve(kernel, Y - self.mean_).astype(np.float32)

    def _answer(self, X: Any) -> Any:
        return rbf_kernel(X, self.rows_, gamma=self.gamma) @ self.weights_ + self.mean_


class MeanOf(_ManyClasses):
    """A weighted mean of two classifiers."""

    def __init__(self, first: Any, second: Any, weight: float = 0.5) -> None:
        self.first = first
        self.second = second
        self.weight = weight

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.array([0, 1])
        self.first.fit(X, y)
        self.second.fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        first, second = self.first.predict_proba(X), self.second.predict_proba(X)
        return self.weight * first + (1 - self.weight) * second
