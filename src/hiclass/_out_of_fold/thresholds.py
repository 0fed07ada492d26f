"""Thresholds of nodes, learned from rows that a model was not fitted on.

The whole hierarchy is fitted on a few folds, and every row is scored by the models that have not
seen it. From the top down, each node gets the threshold with the best F1 of its own rows, given the
decisions above it: a node is in a set only if all of its parents are. The threshold of a node with
few positive rows would fit noise. Such nodes share one threshold, the best for all of them
together. The results of common thresholds are kept as a curve, from which other targets are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._closure import rows_of
from hiclass._inference.paths import width_of
from hiclass._inference.selections import Learned, curve_of, halfway
from hiclass._inference.set_calibrations import SET_CALIBRATIONS, Counts, calibrated, learn_maps
from hiclass._inference.sets import set_node_proba
from hiclass._out_of_fold.folds import fit_folds
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import CalibratedSetModels
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Smaller probabilities are not kept, because no threshold is that small.
_LEAST = 0.01
#: Nodes with fewer positive rows share a threshold.
_FEW = 10
_USUAL = 0.5


@dataclass(frozen=True)
class Scored:
    """Out-of-fold probabilities of rows.

    Attributes
    ----------
    proba : sparse CSR array of shape (n_rows, n_nodes)
        Probabilities of nodes, without very small ones.
    rows : ndarray of int
        The numbers of the rows.
    counts : Counts or None
        The number of rows with each probability, if a calibration is learned.
    """

    proba: Any
    rows: IntArray
    counts: Counts | None


def score_out_of_fold(
    fit_fold: Callable[[IntArray], Any],
    X: Any,
    target: SetTarget,
    fold: IntArray,
    weights: AnyArray | None,
    *,
    count: bool,
) -> Scored | None:
    """Score all rows out of fold; None if there are too few rows for folds.

    Parameters
    ----------
    fit_fold : callable
        A function that fits the models of the whole hierarchy on some training rows.
    X : rows
        All training rows.
    target : SetTarget
        Their sets of nodes.
    fold : ndarray of int
        Their folds.
    weights : ndarray or None
        Sample weights.
    count : bool
        Whether to count rows for a calibration, which also needs smaller probabilities.

    Returns
    -------
    Scored or None
    """
    parts, order = [], []
    counts = Counts(target.hierarchy.n_nodes) if count else None
    least = _LEAST / 10 if count else _LEAST
    for models, rows in fit_folds(fit_fold, fold):
        X_held = take_rows(X, rows)
        order.append(rows)
        for part in chunks_of_rows(X_held, width_of(models)):
            found = set_node_proba(models, slice_rows(X_held, part), 0.0 if count else least)
            if counts is not None:
                here = rows[part]
                each = np.ones(len(here)) if weights is None else weights[here]
                counts.add(found, target.closed[here].toarray(), each)
            parts.append(sp.csr_array(np.where(found >= least, found, 0)))
    if not parts:
        return None
    return Scored(sp.csr_array(sp.vstack(parts)), np.concatenate(order), counts)


def calibrate_sets(models: Any, scored: Scored, name: str) -> tuple[Any, Scored]:
    """Learn a calibration from out-of-fold scores, and apply it to models and scores."""
    assert scored.counts is not None
    maps, map_of = learn_maps(SET_CALIBRATIONS[name], scored.counts)
    calibrated_models = CalibratedSetModels(
        models.hierarchy, models.populated, models.ends, models, name, maps, map_of
    )
    parts = []
    n_rows, n_nodes = scored.proba.shape
    size = max(1, (1 << 22) // n_nodes)
    for start in range(0, n_rows, size):
        raw = scored.proba[start : start + size].toarray()
        found = calibrated(raw, calibrated_models, name, maps, map_of)
        parts.append(sp.csr_array(np.where((raw > 0) & (found >= _LEAST), found, 0)))
    return calibrated_models, replace(scored, proba=sp.csr_array(sp.vstack(parts)))


def as_scored(proba: FloatArray, rows: IntArray) -> Scored:
    """Out-of-fold probabilities of some rows, in the form from which thresholds are learned."""
    return Scored(sp.csr_array(np.where(proba >= _LEAST, proba, 0)), rows, None)


def tune_thresholds(scored: Scored | None, target: SetTarget, weights: AnyArray | None) -> Learned:
    """Learn the threshold of every node, and the curve of common thresholds.

    Parameters
    ----------
    scored : Scored or None
        Rows scored out of fold.
    target : SetTarget
        The sets of nodes of all rows.
    weights : ndarray or None
        Sample weights.

    Returns
    -------
    Learned
    """
    if scored is None:
        usual = np.full(target.hierarchy.n_nodes, _USUAL)
        return Learned(usual, np.array([[_USUAL, 1.0, 1.0]]))
    rows = scored.rows
    weights = (np.ones(target.n_rows) if weights is None else weights)[rows]
    proba, truth = sp.csc_array(scored.proba), target.closed[rows].tocsc()
    thresholds = best_thresholds(proba, truth, weights, target.hierarchy)
    return Learned(thresholds, curve_of(proba, truth, weights, _LEAST))


def best_thresholds(proba: Any, truth: Any, weights: FloatArray, hierarchy: Any) -> FloatArray:
    """Thresholds from the top down, each the best given the decisions above it.

    Parameters
    ----------
    proba, truth : sparse CSC arrays of shape (n_rows, n_nodes)
        Out-of-fold probabilities, and the nodes of each row.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    hierarchy : Hierarchy
        The hierarchy.

    Returns
    -------
    ndarray of shape (n_nodes,)
    """
    n_positive = np.diff(truth.indptr)
    thresholds = np.full(truth.shape[1], _shared_threshold(proba, truth, weights, n_positive))
    thresholds[0] = 0.0
    chosen: dict[int, IntArray] = {}  # the rows that are predicted to be in a node
    for node in range(1, len(thresholds)):
        rows, p, positive = _column(proba, truth, node)
        keep = np.ones(len(rows), dtype=bool)
        for parent in hierarchy.parents(node).tolist():
            if parent:
                keep &= np.isin(rows, chosen[parent])
        rows, p, positive = rows[keep], p[keep], positive[keep]
        if n_positive[node] >= _FEW and len(rows):
            total = float(weights[rows_of(truth, node)].sum())
            thresholds[node] = _best(p, positive, weights[rows], total)
        chosen[node] = rows[p >= thresholds[node]]
    return thresholds


def _column(proba: Any, truth: Any, node: int) -> tuple[IntArray, FloatArray, AnyArray]:
    """The rows with a probability for a node, the probabilities, and which rows are positive."""
    rows = rows_of(proba, node)
    p = proba.data[proba.indptr[node] : proba.indptr[node + 1]]
    positive = np.isin(rows, rows_of(truth, node))
    return rows, p, positive


def _shared_threshold(proba: Any, truth: Any, weights: FloatArray, n_positive: IntArray) -> float:
    """The threshold of the nodes with few positive rows: the best one for all of them together."""
    rare = 1 + np.flatnonzero((n_positive[1:] > 0) & (n_positive[1:] < _FEW))
    columns = [_column(proba, truth, node) for node in rare.tolist()]
    if not sum(len(rows) for rows, _, _ in columns):
        return _USUAL
    rows, p, positive = (np.concatenate(x) for x in zip(*columns, strict=True))
    return _best(p, positive, weights[rows], float(truth[:, rare].T.sum(axis=0) @ weights))


def _best(p: FloatArray, positive: AnyArray, weights: FloatArray, total: float) -> float:
    """The threshold with the best F1, halfway to the next smaller probability if there is one.

    ``total`` is the weight of all positive rows, including those without a probability.
    """
    order = np.argsort(-p, kind="stable")
    p = p[order]
    tp = np.cumsum((weights * positive)[order])
    predicted = np.cumsum(weights[order])
    last = np.append(p[1:] != p[:-1], True)  # equal probabilities are processed together
    f = 2 * tp[last] / (predicted[last] + total)
    if not f.any():
        return _USUAL
    values = p[last]
    best = int(np.argmax(f))
    below = values[best + 1] if best + 1 < len(values) else _LEAST
    return float(halfway(values[best], below))
