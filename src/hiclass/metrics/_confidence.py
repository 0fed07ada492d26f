"""Measures of the confidence in predicted paths.

Confidences are the result of ``predict_confidence``: the probability of every node on the predicted
path. Equal confidences are always processed together. The order of the rows therefore does not
matter, and a weight of 2 is equivalent to repeating the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hiclass._typing import FloatArray
from hiclass.metrics._pairs import Pair, encode_tree, mean


class RiskCoverage(NamedTuple):
    """Result of :func:`risk_coverage`, with one entry per distinct confidence, highest first.

    Parameters
    ----------
    coverage : ndarray
        Share of the rows whose confidence reaches the threshold.
    risk : ndarray
        Mean loss of these rows.
    thresholds : ndarray
        The distinct confidences in descending order.
    area : float
        Area under the risk as a function of coverage.

    Examples
    --------
    >>> from hiclass.metrics import risk_coverage
    >>> curve = risk_coverage([["Cat"], ["Dog"]], [["Cat"], ["Cat"]], [[0.9], [0.6]])
    >>> curve.coverage, curve.risk
    (array([0.5, 1. ]), array([0. , 0.5]))
    """

    coverage: FloatArray
    risk: FloatArray
    thresholds: FloatArray
    area: float


def calibration_error(
    y_true: Any,
    y_pred: Any,
    confidence: Any,
    *,
    hierarchy: Any = None,
    strategy: str = "uniform",
    n_bins: int = 10,
    average: str | None = None,
    sample_weight: Any = None,
) -> float | FloatArray:
    """Compute the calibration error: the difference between confidence and accuracy.

    At every level, rows of similar confidence are grouped into bins. The error is the mean absolute
    difference between mean confidence and accuracy, weighted by the rows of each bin.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels.
    confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
        Probability of the predicted node at every level, as returned by ``predict_confidence``:
        NaN after the end of a path. For a single level, a 1-D array is accepted.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    strategy : {"uniform", "quantile"}, default="uniform"
        "uniform": bins of equal width (expected calibration error). "quantile": bins with about
        the same number of rows (adaptive calibration error). Rows of equal confidence are always in
        the same bin.
    n_bins : int, default=10
        Number of bins.
    average : {"macro"} or None, default=None
        None: one error per level. "macro": the mean over the levels that have predictions.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_levels,) or float
        The error, from 0 (perfectly calibrated) to 1 (always wrong with confidence 1). NaN for a
        level that no predicted path reaches.

    Raises
    ------
    ValueError
        If the average or the strategy is unknown, or a confidence is not between 0 and 1.

    Examples
    --------
    >>> from hiclass.metrics import calibration_error
    >>> y_true, y_pred = [["Animal", "Cat"], ["Animal"]], [["Animal", "Dog"], ["Animal", "Cat"]]
    >>> calibration_error(y_true, y_pred, [[1.0, 1.0], [1.0, 1.0]])
    array([0., 1.])
    """
    if average not in ("macro", None):
        raise ValueError(f"average={average!r} is unknown. Use 'macro' or None.")
    levels = confidence_by_level(
        "calibration_error", y_true, y_pred, confidence, hierarchy, sample_weight
    )
    errors = []
    for p, correct, weight in levels:
        bins = calibration_bins(p, correct, weight, strategy, n_bins)
        errors.append(mean(np.abs(bins[0] - bins[1]), bins[2]))
    if average is None:
        return np.array(errors)
    return mean(np.array(errors), np.ones(len(errors)))


def risk_coverage(
    y_true: Any,
    y_pred: Any,
    confidence: Any,
    *,
    hierarchy: Any = None,
    loss: str = "exact_match",
    sample_weight: Any = None,
) -> RiskCoverage:
    """Compute the risk of the most confident predictions as a function of their share.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels.
    confidence : array-like of shape (n_samples,) or (n_samples, n_levels)
        Confidence of every prediction, or of every level, as returned by ``predict_confidence``.
        With several levels, the confidence of the most specific node is used (the last value that
        is not NaN). A row with an empty path has confidence 0.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    loss : {"exact_match", "f1"}, default="exact_match"
        Loss of a row. "exact_match": 0 if the whole path is correct, otherwise 1. "f1": 1 minus the
        hierarchical F1 of the row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    RiskCoverage
        The named tuple ``(coverage, risk, thresholds, area)``. The area is the mean risk over all
        coverages. Smaller is better.

    Raises
    ------
    ValueError
        If the loss is unknown, or a confidence is not between 0 and 1.

    Examples
    --------
    >>> from hiclass.metrics import risk_coverage
    >>> result = risk_coverage([["Cat"], ["Dog"]], [["Cat"], ["Cat"]], [0.9, 0.6])
    >>> result.coverage, result.risk, result.area
    (array([0.5, 1. ]), array([0. , 0.5]), 0.25)
    """
    if loss not in ("exact_match", "f1"):
        raise ValueError(f"loss={loss!r} is unknown. Use 'exact_match' or 'f1'.")
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, "risk_coverage")
    p = _check_confidence(confidence, pair)
    known = ~np.isnan(p)
    last = p.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    score = np.where(known.any(axis=1), p[np.arange(len(p)), last], 0.0)
    if loss == "f1":
        tp, pred, true = pair.row_counts()
        row_loss = 1 - 2 * tp / (pred + true)
    else:
        row_loss = (pair.true != pair.pred).astype(np.float64)
    thresholds, rank = np.unique(-score, return_inverse=True)
    kept = np.cumsum(np.bincount(rank, weights=pair.weight))
    risk = np.cumsum(np.bincount(rank, weights=pair.weight * row_loss)) / kept
    coverage = kept / kept[-1]
    area = float((np.diff(coverage, prepend=0.0) * risk).sum())
    return RiskCoverage(coverage, risk, -thresholds, area)


def confidence_by_level(
    name: str, y_true: Any, y_pred: Any, confidence: Any, hierarchy: Any, sample_weight: Any
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield confidence, correctness and weight of the nodes predicted at each level."""
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, name)
    p = _check_confidence(confidence, pair)
    deepest = int(pair.hierarchy.levels[pair.pred].max())
    if p.shape[1] < deepest:
        raise ValueError(
            f"confidence has {p.shape[1]} column(s), but a predicted path has {deepest} levels. "
            "Pass one column per level, as returned by predict_confidence."
        )
    for level in range(p.shape[1]):
        rows = np.flatnonzero(pair.hierarchy.levels[pair.pred] > level)
        values = p[rows, level]
        if np.isnan(values).any():
            row = np.flatnonzero(pair.keep)[rows[np.argmax(np.isnan(values))]]
            raise ValueError(
                f"confidence is NaN in row {row} at level {level + 1}, where y_pred has a label. "
                f"It may be NaN only after the end of the predicted path."
            )
        pred = pair.hierarchy._at_level(pair.pred[rows], level + 1)
        correct = pred == pair.hierarchy._at_level(pair.true[rows], level + 1)
        yield values, correct.astype(np.float64), pair.weight[rows]


def calibration_bins(
    p: FloatArray, correct: FloatArray, weight: FloatArray, strategy: str, n_bins: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean confidence, accuracy and total weight of all bins that are not empty."""
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins={n_bins!r} must be a positive integer.")
    if strategy == "uniform":
        place = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], p)
    elif strategy == "quantile":
        _, rank = np.unique(p, return_inverse=True)
        mass = np.bincount(rank, weights=weight)
        end = np.cumsum(mass)
        start = np.concatenate([[0.0], end])[: len(end)]
        # A value belongs to the bin in which its mass begins; the products are exact for whole
        # weights.
        place = np.minimum(start * n_bins // end[-1:], n_bins - 1).astype(np.intp)[rank]
    else:
        raise ValueError(f"strategy={strategy!r} is unknown. Use 'uniform' or 'quantile'.")
    total = np.bincount(place, weights=weight, minlength=n_bins).astype(np.float64, copy=False)
    held = total > 0
    sums = (np.bincount(place, weights=weight * x, minlength=n_bins) for x in (p, correct))
    mean_confidence, accuracy = (s[held] / total[held] for s in sums)
    return mean_confidence, accuracy, total[held]


def _check_confidence(confidence: Any, pair: Pair) -> FloatArray:
    """Return the confidence of the rows with a positive weight, one column per level."""
    n_rows = len(pair.keep)
    p = np.asarray(confidence, dtype=np.float64)
    p = p[:, None] if p.ndim == 1 else p
    if p.ndim != 2 or len(p) != n_rows or p.shape[1] == 0:
        raise ValueError(
            f"confidence has shape {np.shape(confidence)}, but y_true has {n_rows} rows. Pass one "
            "number per row, or per row and level."
        )
    bad = (p < 0) | (p > 1 + 1e-6)
    if bad.any():
        row, level = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"confidence has {p[row, level]} in row {row} at level {level + 1}, which is not "
            "between 0 and 1. Pass probabilities, as returned by predict_confidence."
        )
    return p[pair.keep]
