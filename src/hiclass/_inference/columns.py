"""What the columns of a local classifier's probabilities and scores mean.

A local classifier says itself which class a column is for, in ``classes_``. Most have their classes
in ascending order; others are put into this order here. Scores may also have a column per *pair* of
classes, as those of ``SVC(decision_function_shape="ovo")``. Of three classes there are three pairs,
so the shape does not tell. Parameters do, and so does behaviour: the best class by its scores is
what a classifier predicts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from hiclass._rows import n_rows_of, take_rows
from hiclass._typing import AnyArray, IntArray
from hiclass._wrapping import unwrap

#: What linear classifiers inherit: a column per class.
_LINEAR = LogisticRegression.decision_function
#: So many rows are predicted to find out what scores mean.
_SAMPLE = 64


def column_order(classes: Any, k: int, name: str) -> IntArray | None:
    """Find the column of each of the classes 0 to k - 1.

    Parameters
    ----------
    classes : array-like or None
        The ``classes_`` of a classifier; None where it has none, and is trusted.
    k : int
        The number of its classes.
    name : str
        The name of the classifier, for messages.

    Returns
    -------
    ndarray of int, or None
        None where the columns are in ascending order.

    Raises
    ------
    ValueError
        If the classes are others than 0 to k - 1.
    """
    if classes is None:
        return None
    found, expected = np.asarray(classes), _first_numbers(k)
    if found.shape == expected.shape and found.dtype.kind in "biufO":
        if (found == expected).all():
            return None
        order = np.argsort(found, kind="stable")
        if (found[order] == expected).all():
            return order
    shown = np.array2string(found, threshold=10)
    raise ValueError(
        f"{name}.classes_ is {shown}, so nobody knows what the columns of its probabilities and "
        f"scores mean. They must be the classes that fit was given, 0 to {k - 1}, in any order."
    )


@lru_cache(maxsize=256)
def _first_numbers(k: int) -> IntArray:
    numbers = np.arange(k)
    numbers.flags.writeable = False
    return numbers


def in_order(estimator: Any, columns: AnyArray) -> AnyArray:
    """The columns of a classifier in the order of its classes, 0 to k - 1."""
    classes = getattr(estimator, "classes_", None)
    order = column_order(classes, columns.shape[1], type(estimator).__name__)
    return columns if order is None else columns[:, order]


# -- pairs of classes --------------------------------------------------------------------------


def says_pairs(estimator: Any) -> bool:
    """Whether a classifier says by its parameters that it scores pairs of classes."""
    return getattr(unwrap(estimator).model, "decision_function_shape", None) == "ovo"


def check_scores(estimator: Any, k: int, X: Any) -> None:
    """Refuse a fitted classifier whose scores are for pairs of classes.

    Parameters
    ----------
    estimator : classifier
        It has ``decision_function``.
    k : int
        The number of its classes.
    X : rows
        Rows of any classes, some of which it predicts.

    Raises
    ------
    ValueError
        If it says so, or if what it predicts agrees with scores of pairs rather than of classes.
    """
    if k < 3 or getattr(type(estimator), "decision_function", None) is _LINEAR:
        return
    if says_pairs(estimator) or (k == 3 and _behaves_like_pairs(estimator, X)):
        raise ValueError(pairs_message(estimator))


def pairs_message(estimator: Any) -> str:
    """Say that scores of pairs are no use, and what to do."""
    return (
        f"{type(estimator).__name__}.decision_function has a column per pair of classes; one "
        f"column per class is needed (for SVC: decision_function_shape='ovr')."
    )


def _behaves_like_pairs(estimator: Any, X: Any) -> bool:
    """Whether three scores decide as pairs, (0, 1), (0, 2) and (1, 2), rather than as classes."""
    if not hasattr(estimator, "predict"):
        return False
    n_rows = n_rows_of(X)
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _SAMPLE)).astype(np.intp))
    score = np.asarray(estimator.decision_function(take_rows(X, rows)), dtype=np.float64)
    if score.shape != (len(rows), 3) or not np.isfinite(score).all():
        return False  # whoever needs the scores says what is wrong
    predicted = np.asarray(estimator.predict(take_rows(X, rows))).reshape(-1)
    as_classes = _agreement(in_order(estimator, score), predicted)
    if as_classes == 1:
        return False
    # Whether a positive score speaks for the first or for the second of a pair differs.
    return max(_agreement(_votes(s), predicted) for s in (score, -score)) > as_classes


def _votes(score: AnyArray) -> AnyArray:
    """How often each of three classes wins; where all win once, by how much."""
    wins = np.sign(score) + score / (1e-9 + 10 * np.abs(score).max(initial=0))
    a, b, c = wins.T
    return np.column_stack([a + b, c - a, -b - c])


def _agreement(score: AnyArray, predicted: AnyArray) -> float:
    return float(np.mean(score.argmax(axis=1) == predicted))
