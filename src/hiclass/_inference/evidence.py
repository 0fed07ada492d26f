"""Evidence of one local classifier about some rows: an array with one column per class.

Evidence consists of probabilities, scores or predicted classes, depending on the classifier and the
needs of the model. Only this module checks columns and sorts them in the order of the classes.

The ``classes_`` of a local classifier name the classes of its columns. Most classifiers have their
classes in ascending order; the columns of others are sorted here. Scores may also have one column
per *pair* of classes, as with ``SVC(decision_function_shape="ovo")``. Three classes have three
pairs, so the shape does not distinguish these cases. Parameters do. If there are none, the
behaviour may: a classifier predicts the class with the best score.
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

#: Probabilities are mixed with this share of a uniform distribution before taking logarithms, so
#: that these are finite and in the same order.
TINY = 1e-2
#: The base class of linear classifiers, which have one column per class.
_LINEAR = LogisticRegression.decision_function
#: The parameter of a classifier that determines the meaning of its scores.
_SHAPE = "decision_function_shape"
#: The number of rows used to find out the meaning of scores, and its minimum.
_SAMPLE, _FEWEST = 64, 16
#: The smallest share of predictions that scores of pairs must explain, and by how much it must
#: exceed the share explained by scores of classes.
_CLEAR, _CLEAR_GAP = 0.9, 0.25


def rows_at(X: Any, rows: IntArray) -> Any:
    """Rows of a chunk. If they are all rows, they are not copied, and must not be modified."""
    return protect(X) if len(rows) == n_rows_of(X) else take_rows(X, rows)


def choice(models: LocalModels, estimator: Any, X: Any, k: int, scored: bool = False) -> FloatArray:
    """Evidence of a multi-class classifier: probabilities, scores, or the predicted class."""
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
    """Score of class 1 of a binary classifier, against class 0."""
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
    """Finite log-odds of probabilities."""
    return logit((proba + TINY / 2) / (1 + TINY))


def _odds(estimator: Any, X: Any, k: int) -> FloatArray:
    """Log-odds of every class on its own.

    Scores are odds only if every class was separated from all others, as by a linear SVM. Those of
    a multinomial model are not, so probabilities are preferred.
    """
    if hasattr(estimator, "predict_proba"):
        return _logit(normalised(class_proba(estimator, X, k)))
    return _decision(estimator, X, k, first=-1.0)


def _scores(estimator: Any, X: Any, k: int) -> FloatArray:
    """Scores for a softmax: the decision function if there is one, otherwise log p."""
    if hasattr(estimator, "decision_function"):
        return _decision(estimator, X, k)
    return logarithms(class_proba(estimator, X, k))


def logarithms(proba: FloatArray) -> FloatArray:
    """Finite logarithms of probabilities."""
    return np.log(normalised(proba) + TINY / proba.shape[1])


def class_proba(estimator: Any, X: Any, k: int) -> FloatArray:
    """The result of ``predict_proba``; rows need not sum to one."""
    proba = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if proba.shape != (n_rows_of(X), k):
        raise ValueError(
            f"{type(estimator).__name__}.predict_proba returned an array of shape {proba.shape} "
            f"for {n_rows_of(X)} rows and {k} classes."
        )
    return in_order(estimator, proba)


def _decision(estimator: Any, X: Any, k: int, first: float = 0.0) -> FloatArray:
    """The decision function; for two classes, its score is that of the second class."""
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
    """Scores, after a check for NaN."""
    if not np.isfinite(score).all():
        raise ValueError(
            "A local classifier returned a score of NaN. Check X for extreme values, or use "
            "another local classifier."
        )
    return score


def normalised(proba: FloatArray) -> FloatArray:
    """Rows scaled to sum to one; a row of zeros becomes uniform."""
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


# -- the meaning of columns ---------------------------------------------------------------------


def column_order(classes: Any, k: int, name: str) -> IntArray | None:
    """Find the column of each of the classes 0 to k - 1.

    Parameters
    ----------
    classes : array-like or None
        The ``classes_`` of a classifier. None if it has none; its columns are then assumed to be in
        order.
    k : int
        The number of its classes.
    name : str
        The name of the classifier, for messages.

    Returns
    -------
    ndarray of int, or None
        None if the columns are in ascending order.

    Raises
    ------
    ValueError
        If the classes differ from 0 to k - 1.
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
    """Reject a fitted classifier whose scores are for pairs of classes.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``decision_function``.
    k : int
        The number of its classes.
    X : rows
        The training rows.
    find_rows : callable
        Returns the rows of its classes in ascending order. Only called if rows are needed.

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
    """``decision_function_shape`` of a classifier, and those of the estimators inside it."""
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
        return False  # rejected if the scores are needed
    predicted = np.asarray(estimator.predict(sample)).reshape(-1)
    as_classes = _agreement(in_order(estimator, score), predicted)
    # A positive score may be for the first or for the second class of a pair.
    as_pairs = max(_agreement(_votes(s), predicted) for s in (score, -score))
    if suspect:
        return as_pairs > as_classes
    return as_pairs >= _CLEAR and as_pairs - as_classes >= _CLEAR_GAP


def _votes(score: AnyArray) -> AnyArray:
    """How often each of three classes wins; if all win once, by how much."""
    wins = np.sign(score) + score / (1e-9 + 10 * np.abs(score).max(initial=0))
    a, b, c = wins.T
    return np.column_stack([a + b, c - a, -b - c])


def _agreement(score: AnyArray, predicted: AnyArray) -> float:
    return float(np.mean(score.argmax(axis=1) == predicted))
