"""Scores of linear classifiers on rows that have already been checked.

``decision_function`` of scikit-learn's linear classifiers checks its rows. For few rows or classes,
this takes longer than the product, and a hierarchical model queries many small classifiers about
the same rows. Unusual cases are left to the classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._rows import csr_like, is_csr, numbers_of
from hiclass._state import Packed
from hiclass._typing import AnyArray

#: The base classes of linear classifiers, including our own.
_DECISIONS = (LogisticRegression.decision_function, FastLinearSVC.decision_function)
_PREDICT = LinearSVC.predict

#: The cost of setting an entry to zero, relative to copying a weight.
_COPY_COST = 4
#: The largest number of entries of rows that are made dense for many classifiers.
_MOST_DENSE = 2_000_000


def linear_scores(estimator: Any, X: Any) -> AnyArray:
    """The result of ``estimator.decision_function(X)``."""
    if _takes_all_entries(estimator, X):
        return _packed_product(estimator, X)
    if isinstance(estimator, Packed):
        return linear_scores(estimator.estimator, estimator.narrow(X))
    if _has_weights(estimator, X, X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0):
        return _product(*_needed(X, estimator.coef_), estimator)
    return np.asarray(estimator.decision_function(X))


def many_linear_scores(estimators: Iterable[Any], X: Any) -> Iterator[AnyArray]:
    """``linear_scores`` of many classifiers for the same rows, up to rounding.

    If there are few rows, their columns are made dense once, and every packed classifier selects
    its own columns from these.
    """
    columns = np.unique(X.indices) if is_csr(X) else np.zeros(0, dtype=np.intp)
    few = is_csr(X) and X.dtype == np.float64 and X.shape[0] * len(columns) <= _MOST_DENSE
    if few:
        lines = csr_like(X, X.data, numbers_of(X, columns), X.indptr, len(columns)).toarray().T
        lines = np.ascontiguousarray(lines)
        line_of = np.full(X.shape[1], -1, dtype=np.intp)
        line_of[columns] = np.arange(len(columns))
    for estimator in estimators:
        if not few or not _takes_all_entries(estimator, X):
            yield linear_scores(estimator, X)
            continue
        line = line_of[estimator.columns]
        occurs = line >= 0
        linear = estimator.estimator
        found = linear.coef_[:, occurs] @ lines[line[occurs]]
        scores = found.T + linear.intercept_
        yield scores.reshape(-1) if scores.shape[1] == 1 else scores


def _takes_all_entries(packed: Any, X: Any) -> bool:
    """Whether a packed classifier multiplies rows without selecting columns."""
    if not isinstance(packed, Packed):
        return False
    some = not packed.double and len(packed.columns) < packed.n_features
    return some and is_csr(X) and _has_weights(packed.estimator, X, len(packed.columns))


def _has_weights(estimator: Any, X: Any, n_columns: int) -> bool:
    """Whether scores are a product of usual rows with weights for this many columns."""
    known = getattr(type(estimator), "decision_function", None) in _DECISIONS
    if not known or not _are_usual(X):
        return False
    coef: Any = getattr(estimator, "coef_", None)
    usual = type(coef) is np.ndarray or sp.issparse(coef)
    return bool(usual and coef.ndim == 2 and coef.shape[1] == n_columns)


def _packed_product(packed: Packed, X: Any) -> AnyArray:
    """The product with the columns of a packed classifier.

    Entries of other columns stay, which is faster than removing them: many entries get a zero
    weight, few entries get a zero value.
    """
    weights, n = packed.estimator.coef_.T, len(packed.columns)
    X = _as_weights_are(X, weights, packed.estimator)
    numbers, data = numbers_of(X, packed.columns), X.data
    if _COPY_COST * X.nnz > weights.size:
        weights = np.concatenate([weights, np.zeros((1, weights.shape[1]), dtype=weights.dtype)])
    elif (other := numbers == n).any():
        numbers, data = np.where(other, 0, numbers), np.where(other, 0, data)
    rows = csr_like(X, data, numbers, X.indptr, len(weights))
    return _product(rows, weights, packed.estimator)


def _as_weights_are(X: Any, weights: Any, estimator: Any) -> Any:
    """Rows in the precision of the weights, as in ``FastLinearSVC``: weights are not copied.

    ``astype`` of SciPy also sums duplicate entries. Finding none takes longer than a product.
    """
    if X.dtype == weights.dtype or not isinstance(estimator, FastLinearSVC) or not sp.issparse(X):
        return X
    if not is_csr(X) or not X.has_canonical_format:
        # A copy: SciPy 1.10 adds them up in place, in arrays that may be those of the user.
        return X.copy().astype(weights.dtype)
    return csr_like(X, X.data.astype(weights.dtype), X.indices, X.indptr, X.shape[1])


def _product(X: Any, weights: Any, estimator: Any) -> AnyArray:
    X = _as_weights_are(X, weights, estimator)
    # callers check for values that are not finite
    with np.errstate(invalid="ignore", over="ignore"):
        found = X @ weights
        found = found.toarray() if sp.issparse(found) else found
        scores = found + getattr(estimator, "intercept_", 0.0)
    return np.asarray(scores.reshape(-1) if scores.shape[1] == 1 else scores)


def _needed(X: Any, coef: Any) -> tuple[Any, Any]:
    """The factors of a product; weights of another type are reduced to the needed ones first."""
    if coef.dtype == X.dtype or sp.issparse(coef) or not is_csr(X) or X.nnz >= coef.shape[1]:
        return X, coef.T
    columns, place = np.unique(X.indices, return_inverse=True)
    place = place.astype(X.indptr.dtype)
    return csr_like(X, X.data, place, X.indptr, len(columns)), coef[:, columns].T


def linear_choice(estimator: Any, X: Any) -> AnyArray:
    """The result of ``estimator.predict(X)``."""
    linear = estimator.estimator if isinstance(estimator, Packed) else estimator
    if getattr(type(linear), "predict", None) is not _PREDICT:
        return np.asarray(estimator.predict(X))
    scores = linear_scores(estimator, X)
    if not np.isfinite(scores).all():  # unchecked rows: predict raises the error
        return np.asarray(estimator.predict(X))
    best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(linear.classes_[best])


def _are_usual(X: Any) -> bool:
    """Whether rows are in the form that scikit-learn's checks would not change."""
    if sp.issparse(X):
        return X.format == "csr" and X.dtype == np.float64
    return type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.dtype == np.float64
