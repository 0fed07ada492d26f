"""Scores of linear classifiers on rows that were checked before.

``decision_function`` of scikit-learn's linear classifiers checks its rows, which takes longer than
the product for a few rows or classes, and a hierarchical model queries many small classifiers
about the same rows. What is unusual is left to the classifier.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.extmath import safe_sparse_dot

from hiclass._state import Packed
from hiclass._typing import AnyArray

#: What linear classifiers inherit.
_DECISION, _PREDICT = LogisticRegression.decision_function, LinearSVC.predict


def linear_scores(estimator: Any, X: Any) -> AnyArray:
    """What ``estimator.decision_function(X)`` returns."""
    if isinstance(estimator, Packed):
        return linear_scores(estimator.estimator, estimator.narrow(X))
    if getattr(type(estimator), "decision_function", None) is not _DECISION or not _are_usual(X):
        return np.asarray(estimator.decision_function(X))
    coef, intercept = getattr(estimator, "coef_", None), getattr(estimator, "intercept_", None)
    if type(coef) is not np.ndarray or coef.ndim != 2 or coef.shape[1] != X.shape[1]:
        return np.asarray(estimator.decision_function(X))
    with np.errstate(invalid="ignore", over="ignore"):  # callers look at what is not finite
        scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    return np.asarray(scores.reshape(-1) if scores.shape[1] == 1 else scores)


def linear_choice(estimator: Any, X: Any) -> AnyArray:
    """What ``estimator.predict(X)`` returns."""
    if isinstance(estimator, Packed):
        return linear_choice(estimator.estimator, estimator.narrow(X))
    if getattr(type(estimator), "predict", None) is not _PREDICT:
        return np.asarray(estimator.predict(X))
    scores = linear_scores(estimator, X)
    if not np.isfinite(scores).all():  # rows that nobody has checked: predict raises the error
        return np.asarray(estimator.predict(X))
    best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(estimator.classes_[best])


def _are_usual(X: Any) -> bool:
    """Whether rows are in the form that scikit-learn's checks would leave as it is."""
    if sp.issparse(X):
        return X.format == "csr" and X.dtype == np.float64
    return type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.dtype == np.float64
