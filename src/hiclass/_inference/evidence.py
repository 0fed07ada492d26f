"""What one local classifier says about some rows, as evidence: a column per class that it knows.

Probabilities, scores, or its bare choice, whatever it has and the model needs. Columns are brought
into the order of the classes and checked here, and nowhere else.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from scipy.special import logit

from hiclass._engine.linear import linear_choice, linear_scores
from hiclass._inference.columns import column_order, in_order
from hiclass._rows import n_rows_of, protect, take_rows
from hiclass._state import LocalModels
from hiclass._typing import FloatArray, IntArray

#: Probabilities are mixed with this share of a uniform one before their logarithm is taken: it is
#: never infinite, and their order stays.
TINY = 1e-2


def rows_at(X: Any, rows: IntArray) -> Any:
    """Rows of a chunk; no copy, but no right to write, where it is all of them."""
    return protect(X) if len(rows) == n_rows_of(X) else take_rows(X, rows)


def restrict_columns(
    models: LocalModels, answer: FloatArray, known: IntArray, wanted: IntArray
) -> FloatArray:
    """The columns of some of the classes that a classifier knows, and of what it does not know."""
    if models.layout is None or np.array_equal(known, wanted):
        return answer
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[place] == wanted, answer[:, place], _nothing(models))


def _nothing(models: LocalModels) -> float:
    """Evidence for a class that has none."""
    return 0.0 if models.soft else -np.inf


def _soft(models: LocalModels, estimator: Any, X: Any, k: int) -> FloatArray:
    """Probabilities of a classifier, which in a stream may have seen too little to have any."""
    if models.layout is None:
        return class_proba(estimator, X, k)
    # Some naive Bayes classifiers take the logarithm of 0, the share of a class without rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        proba = class_proba(estimator, X, k)
    if not np.isfinite(proba).all():
        raise ValueError(
            f"{type(estimator).__name__} returned a probability that is not a number: there were "
            f"no rows, or too few, of some class to learn how they vary. Call partial_fit with "
            f"rows of every class, start anew with several rows in the first batch, or use another "
            f"local classifier."
        )
    return proba


def choice(models: LocalModels, estimator: Any, X: Any, k: int, scored: bool = False) -> FloatArray:
    """Evidence of a multi-class classifier: probabilities, scores, or its bare choice."""
    if models.joint:
        return _odds(estimator, X, k)
    if models.temperature is not None:
        return _scores(estimator, X, k)
    if models.soft:
        return _soft(models, estimator, X, k)
    # Its own choice might be a class that is no option.
    restricted = models.layout is not None and hasattr(estimator, "decision_function")
    if scored or restricted:
        return _scores(estimator, X, k)
    codes = linear_choice(estimator, X).reshape(-1).astype(np.intp)
    return one_hot(codes, np.empty((len(codes), k)))


def positive(models: LocalModels, estimator: Any, X: Any) -> FloatArray:
    """Evidence of a binary classifier for its class 1."""
    if models.temperature is None and models.soft:
        return normalised(_soft(models, estimator, X, 2))[:, 1]
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
    score = _finite(score.reshape(-1))
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
    """What ``predict_proba`` says; rows need not sum to one."""
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
    return _finite(in_order(estimator, score))


def _refuse_scores(estimator: Any, score: FloatArray, n_rows: int, k: int) -> NoReturn:
    raise ValueError(
        f"{type(estimator).__name__}.decision_function returned an array of shape {score.shape} "
        f"for {n_rows} rows and {k} classes; one column per class is needed (for SVC: "
        f"decision_function_shape='ovr')."
    )


def _finite(score: FloatArray) -> FloatArray:
    if not np.isfinite(score).all():
        raise ValueError(
            "A local classifier returned a score that is not a number. Check X for extreme values, "
            "or use another local classifier."
        )
    return score


def normalised(proba: FloatArray) -> FloatArray:
    """Rows that sum to one; a row of zeros becomes uniform."""
    total = proba.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all():
        raise ValueError(
            "A local classifier returned a probability that is not a number. Check X for extreme "
            "values, or use another local classifier."
        )
    if not total.all():
        proba = np.where(total > 0, proba, 1.0)
        total = proba.sum(axis=1, keepdims=True)
    return proba / total


def one_hot(codes: IntArray, like: FloatArray) -> FloatArray:
    out = np.zeros(like.shape)
    out[np.arange(len(codes)), codes] = 1
    return out
