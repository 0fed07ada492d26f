"""Evidence of one local classifier about some rows: an array with a column per class it knows.

Probabilities, scores, or its bare choice, whatever it has and the model needs. Columns are brought
into the order of the classes and checked here, and nowhere else.

A local classifier lists in ``classes_`` which class a column is for. Most have their classes in
ascending order; others are put into this order here. Scores may also have a column per *pair* of
classes, as those of ``SVC(decision_function_shape="ovo")``. Of three classes there are three pairs,
so the shape does not tell. Parameters do, and where they do not, behaviour may: the best class by
its scores is what a classifier predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, singledispatch
from typing import Any, NoReturn

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from hiclass._engine.linear import linear_choice, linear_scores
from hiclass._rows import n_rows_of, protect, take_rows
from hiclass._state import LocalModels, Packed
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._wrapping import unwrap

#: Probabilities are mixed with this share of a uniform one before their logarithm is taken: it is
#: never infinite, and their order stays.
TINY = 1e-2
#: What linear classifiers inherit: a column per class.
_LINEAR = LogisticRegression.decision_function
#: The parameter of a classifier that tells what its scores are for.
_SHAPE = "decision_function_shape"
#: So many rows are predicted to find out what scores mean; fewer than these tell nothing.
_SAMPLE, _FEWEST = 64, 16
#: Scores that are for pairs explain so large a share of the predictions, and so much more of them
#: than scores of classes would.
_CLEAR, _CLEAR_GAP = 0.9, 0.25


def rows_at(X: Any, rows: IntArray) -> Any:
    """Rows of a chunk; no copy, but no right to write, where it is all of them."""
    return protect(X) if len(rows) == n_rows_of(X) else take_rows(X, rows)


def choice(models: LocalModels, estimator: Any, X: Any, k: int, scored: bool = False) -> FloatArray:
    """Evidence of a multi-class classifier: probabilities, scores, or its bare choice."""
    if models.joint:
        return _odds(estimator, X, k)
    if models.temperature is not None:
        return _scores(estimator, X, k)
    if models.soft:
        return class_proba(estimator, X, k)
    if scored:
        return _scores(estimator, X, k)
    codes = linear_choice(estimator, X).reshape(-1).astype(np.intp)
    return one_hot(codes, np.empty((len(codes), k)))


@singledispatch
def positive(models: Any, estimator: Any, X: Any) -> FloatArray:
    """Evidence of a binary classifier for its class 1."""
    if models.temperature is None and models.soft:
        return normalised(class_proba(estimator, X, 2))[:, 1]
    if hasattr(estimator, "decision_function"):
        return _positive_score(estimator, X)
    return _logit(normalised(class_proba(estimator, X, 2))[:, 1])


def _positive_score(estimator: Any, X: Any) -> FloatArray:
    """Score of class 1 of a binary classifier, by which it is told from class 0."""
    score = linear_scores(estimator, X).astype(np.float64, copy=False)
    n = n_rows_of(X)
    if score.shape == (n, 2):
        score = score[:, 1] - score[:, 0]
    if score.shape not in ((n,), (n, 1)):
        _refuse_scores(estimator, score, n, 2)
    order = column_order(getattr(estimator, "classes_", None), 2, type(estimator).__name__)
    score = finite(score.reshape(-1))
    return score if order is None else -score


def _logit(proba: FloatArray) -> FloatArray:
    """Log-odds of probabilities, none of them infinite."""
    return logit((proba + TINY / 2) / (1 + TINY))


def _odds(estimator: Any, X: Any, k: int) -> FloatArray:
    """Log-odds of every class by itself.

    Scores are odds only where every class was told from all others, as by a linear SVM. Those of
    a multinomial model are not, so probabilities come first.
    """
    if hasattr(estimator, "predict_proba"):
        return _logit(normalised(class_proba(estimator, X, k)))
    return _decision(estimator, X, k, first=-1.0)


def _scores(estimator: Any, X: Any, k: int) -> FloatArray:
    """Scores for a softmax: the decision function where there is one, else log p."""
    if hasattr(estimator, "decision_function"):
        return _decision(estimator, X, k)
    return logarithms(class_proba(estimator, X, k))


def logarithms(proba: FloatArray) -> FloatArray:
    """Logarithms of probabilities, none of them infinite."""
    return np.log(normalised(proba) + TINY / proba.shape[1])


def class_proba(estimator: Any, X: Any, k: int) -> FloatArray:
    """What ``predict_proba`` returns; rows need not sum to one."""
    proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if proba.shape != (n_rows_of(X), k):
        raise ValueError(
            f"{type(estimator).__name__}.predict_proba returned an array of shape {proba.shape} "
            f"for {n_rows_of(X)} rows and {k} classes."
        )
    return in_order(estimator, proba)


def _decision(estimator: Any, X: Any, k: int, first: float = 0.0) -> FloatArray:
    """The decision function; of two classes it scores the second, and the first is a multiple."""
    score = linear_scores(estimator, X).astype(np.float64, copy=False)
    if k == 2 and score.ndim == 1:
        score = np.column_stack([first * score, score])
    if score.shape != (n_rows_of(X), k):
        _refuse_scores(estimator, score, n_rows_of(X), k)
    return finite(in_order(estimator, score))


def _refuse_scores(estimator: Any, score: FloatArray, n_rows: int, k: int) -> NoReturn:
    raise ValueError(
        f"{type(estimator).__name__}.decision_function returned an array of shape {score.shape} "
        f"for {n_rows} rows and {k} classes; one column per class is needed (for SVC: "
        f"decision_function_shape='ovr')."
    )


def finite(score: FloatArray) -> FloatArray:
    """Scores, if all of them are numbers."""
    if not np.isfinite(score).all():
        raise ValueError(
            "A local classifier returned a score of NaN. Check X for extreme values, or use "
            "another local classifier."
        )
    return score


def normalised(proba: FloatArray) -> FloatArray:
    """Rows that sum to one; a row of zeros becomes uniform."""
    total = proba.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all():
        raise ValueError(
            "A local classifier returned a probability of NaN. Check X for extreme values, or use "
            "another local classifier."
        )
    if not total.all():
        proba = np.where(total > 0, proba, 1.0)
        total = proba.sum(axis=1, keepdims=True)
    return proba / total


def one_hot(codes: IntArray, like: FloatArray) -> FloatArray:
    out = np.zeros(like.shape)
    out[np.arange(len(codes)), codes] = 1
    return out


# -- what the columns mean ---------------------------------------------------------------------


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
        f"{name}.classes_ is {shown}, so the columns of its probabilities and scores cannot be "
        f"identified. It must hold the classes that were given to fit, 0 to {k - 1}, in any order."
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

    Its own ``decision_function_shape`` is decisive. An estimator inside it with "ovo" makes it
    suspect only: a ``BaggingClassifier`` passes such scores on, a ``OneVsRestClassifier`` does not.
    Where there is no such parameter, only predictions that clearly follow from scores of pairs, and
    not from scores of classes, are reason enough.

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
    if k < 3 or isinstance(estimator, Packed):
        return
    if getattr(type(estimator), "decision_function", None) is _LINEAR:
        return
    shape, shapes_inside = _score_shapes(estimator)
    if shape == "ovr" or (shape is None and shapes_inside == {"ovr"}):
        return
    suspect = "ovo" in shapes_inside
    if shape == "ovo" or (k == 3 and _behaves_like_pairs(estimator, X, find_rows(), suspect)):
        raise ValueError(
            f"{type(estimator).__name__}.decision_function has a column per pair of classes; one "
            f"column per class is needed (for SVC: decision_function_shape='ovr')."
        )


def _score_shapes(estimator: Any) -> tuple[Any, set[str]]:
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
        return False  # refused where the scores are needed
    predicted = np.asarray(estimator.predict(sample)).reshape(-1)
    as_classes = _agreement(in_order(estimator, score), predicted)
    # Whether a positive score is for the first or for the second of a pair differs.
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
