"""What the columns of a local classifier's probabilities and scores mean.

A local classifier says itself which class a column is for, in ``classes_``. Most have their classes
in ascending order; others are put into this order here. Scores may also have a column per *pair* of
classes, as those of ``SVC(decision_function_shape="ovo")``. Of three classes there are three pairs,
so the shape does not tell. Parameters do, and where they do not, behaviour may: the best class by
its scores is what a classifier predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from hiclass._rows import take_rows
from hiclass._typing import AnyArray, IntArray
from hiclass._wrapping import unwrap

#: What linear classifiers inherit: a column per class.
_LINEAR = LogisticRegression.decision_function
#: The parameter by which a classifier says what its scores are for.
_SHAPE = "decision_function_shape"
#: So many rows are predicted to find out what scores mean; fewer than these tell nothing.
_SAMPLE, _FEWEST = 64, 16
#: Scores that are for pairs explain so large a share of the predictions, and so much more of them
#: than scores of classes would.
_CLEAR, _CLEAR_GAP = 0.9, 0.25


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


def check_scores(estimator: Any, k: int, X: Any, find_rows: Callable[[], IntArray]) -> None:
    """Refuse a fitted classifier whose scores are for pairs of classes.

    What it says itself, by ``decision_function_shape``, is decisive. An estimator inside it that
    says "ovo" makes it suspect only: a ``BaggingClassifier`` passes such scores on, a
    ``OneVsRestClassifier`` does not. Where nothing is said, only predictions that clearly follow
    from scores of pairs, and not from scores of classes, are reason enough.

    Parameters
    ----------
    estimator : classifier
        It has ``decision_function``.
    k : int
        The number of its classes.
    X : rows
        The training rows.
    find_rows : callable
        Returns which of them are of its classes, ascending. Called only where rows are needed.

    Raises
    ------
    ValueError
        If the scores are for pairs.
    """
    if k < 3 or getattr(type(estimator), "decision_function", None) is _LINEAR:
        return
    said, said_inside = _said_shapes(estimator)
    if said == "ovr" or (said is None and said_inside == {"ovr"}):
        return
    suspect = "ovo" in said_inside
    if said == "ovo" or (k == 3 and _behaves_like_pairs(estimator, X, find_rows(), suspect)):
        raise ValueError(
            f"{type(estimator).__name__}.decision_function has a column per pair of classes; one "
            f"column per class is needed (for SVC: decision_function_shape='ovr')."
        )


def _said_shapes(estimator: Any) -> tuple[Any, set[str]]:
    """``decision_function_shape`` of a classifier, and all values of those inside it."""
    model = unwrap(estimator).model
    params = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    inside = {str(value) for name, value in params.items() if name.endswith(f"__{_SHAPE}")}
    return getattr(model, _SHAPE, None), inside


def _behaves_like_pairs(estimator: Any, X: Any, rows: IntArray, suspect: bool) -> bool:
    """Whether three scores decide as pairs, (0, 1), (0, 2) and (1, 2), rather than as classes."""
    if not hasattr(estimator, "predict") or len(rows) < (1 if suspect else _FEWEST):
        return False
    sample = take_rows(X, rows[np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.intp)])
    score = np.asarray(estimator.decision_function(sample), dtype=np.float64)
    if score.shape != (_SAMPLE, 3) or not np.isfinite(score).all():
        return False  # whoever needs the scores says what is wrong
    predicted = np.asarray(estimator.predict(sample)).reshape(-1)
    as_classes = _agreement(in_order(estimator, score), predicted)
    # Whether a positive score speaks for the first or for the second of a pair differs.
    as_pairs = max(_agreement(_votes(s), predicted) for s in (score, -score))
    if suspect:
        return as_pairs > as_classes
    return as_pairs >= _CLEAR and as_pairs - as_classes >= _CLEAR_GAP


def _votes(score: AnyArray) -> AnyArray:
    """How often each of three classes wins; where all win once, by how much."""
    wins = np.sign(score) + score / (1e-9 + 10 * np.abs(score).max(initial=0))
    a, b, c = wins.T
    return np.column_stack([a + b, c - a, -b - c])


def _agreement(score: AnyArray, predicted: AnyArray) -> float:
    return float(np.mean(score.argmax(axis=1) == predicted))
