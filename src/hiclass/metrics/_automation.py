"""How many rows can be labelled automatically, and how many of these labels are wrong.

For every threshold of confidence: the share of the rows labelled at a level, the share of wrong
labels among them, and an interval of this share. Rows of equal confidence are labelled together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtri

from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.metrics._confidence import confidence_by_level
from hiclass.metrics._display import check_levels


class AutomationCurve(NamedTuple):
    """Result of :func:`automation_curve`, with one entry per distinct confidence, highest first.

    Parameters
    ----------
    level : int
        The level, starting at 1.
    n_rows : int
        The total number of rows.
    n_answered : ndarray of int
        The number of rows whose confidence at the level reaches the threshold.
    share : ndarray
        Their share of all rows.
    error : ndarray
        The share of them whose label is wrong at this level or above.
    lower, upper : ndarray
        The Clopper-Pearson interval of the error. It holds for one threshold at a time.
    thresholds : ndarray
        The distinct confidences in descending order.

    Examples
    --------
    >>> from hiclass.metrics import automation_curve
    >>> y_true, y_pred = [["Cat"], ["Dog"]], [["Cat"], ["Cat"]]
    >>> curve = automation_curve(y_true, y_pred, [[0.9], [0.6]])
    >>> curve.share, curve.error
    (array([0.5, 1. ]), array([0. , 0.5]))
    """

    level: int
    n_rows: int
    n_answered: IntArray
    share: FloatArray
    error: FloatArray
    lower: FloatArray
    upper: FloatArray
    thresholds: FloatArray


def automation_curve(
    y_true: Any,
    y_pred: Any,
    confidence: Any,
    *,
    level: int | None = None,
    hierarchy: Any = None,
    certainty: float = 0.95,
) -> AutomationCurve:
    """Compute, for every threshold, the share of rows labelled at a level and their error.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels.
    confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
        Confidence of every predicted label, as returned by ``predict_confidence``.
    level : int or None, default=None
        The level, starting at 1. By default, the deepest level.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    certainty : float, default=0.95
        The coverage probability of each interval.

    Returns
    -------
    AutomationCurve
        Shares, errors and their intervals for every threshold.

    Raises
    ------
    ValueError
        If the level does not exist, or a confidence is not between 0 and 1.

    See Also
    --------
    hiclass.guarantee_error : Choose a threshold with a guarantee.
    AutomationDisplay : Plot the curve.
    risk_coverage : The same for whole paths of any depth.

    Examples
    --------
    >>> from hiclass.metrics import automation_curve
    >>> y_true, y_pred = [["Cat"], ["Dog"], ["Dog"]], [["Cat"], ["Dog"], ["Cat"]]
    >>> automation_curve(y_true, y_pred, [0.9, 0.7, 0.6]).error.round(2)
    array([0.  , 0.  , 0.33])
    """
    curves = automation_curves(y_true, y_pred, confidence, hierarchy, certainty)
    (chosen,) = check_levels([len(curves) if level is None else level], len(curves))
    return curves[chosen - 1]


def automation_curves(
    y_true: Any, y_pred: Any, confidence: Any, hierarchy: Any, certainty: float
) -> list[AutomationCurve]:
    """The curves of all levels."""
    if not 0 < certainty < 1:
        raise ValueError(f"certainty must be above 0 and below 1; got {certainty!r}.")
    levels = confidence_by_level(
        "automation_curve", y_true, y_pred, confidence, hierarchy, sample_weight=None
    )
    n_rows = len(confidence)
    return [
        curve_of(level, p, correct == 0, n_rows, certainty)
        for level, (p, correct, _) in enumerate(levels, start=1)
    ]


def curve_of(
    level: int, confidence: FloatArray, wrong: AnyArray, n_rows: int, certainty: float
) -> AutomationCurve:
    """The curve of one level, from the confidences and errors of the rows with a label there."""
    order, n_answered = surest_first(confidence)
    n_wrong = np.cumsum(wrong[order])[n_answered - 1]
    lower, upper = share_interval(n_answered, n_wrong, 1 - certainty)
    return AutomationCurve(
        level,
        n_rows,
        n_answered,
        n_answered / max(n_rows, 1),
        n_wrong / n_answered,
        lower,
        upper,
        confidence[order][n_answered - 1],
    )


def surest_first(confidence: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows by decreasing confidence, and how many are labelled at each threshold.

    Rows of equal confidence are labelled together.
    """
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    ends = np.append(ordered[1:] != ordered[:-1], len(order) > 0)
    return order, np.flatnonzero(ends) + 1


def share_interval(n: IntArray, k: IntArray, risk: float) -> tuple[FloatArray, FloatArray]:
    """The interval of Clopper and Pearson for a share, given k of n.

    Parameters
    ----------
    n, k : ndarray of int
        All, and those that count; n is above 0.
    risk : float
        The probability that the share is outside, half of it at each end.

    Returns
    -------
    lower, upper : ndarray
    """
    return 1 - _upper(n, n - k, risk / 2), _upper(n, k, risk / 2)


def _upper(n: IntArray, k: IntArray, risk: float) -> FloatArray:
    """The largest share at which at most k of n are found with at least this probability."""
    full = k >= n
    return np.where(full, 1.0, bdtri(np.where(full, 0, k), n, risk))
