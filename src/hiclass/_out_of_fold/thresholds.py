"""Thresholds of nodes that are learned from rows a model was not fitted on.

The whole hierarchy is fitted on a few folds, and every row is scored by the models that have not
seen it. From the top down, each node then gets the threshold with the best F1 of its own rows,
given the decisions above it: a node is in a set only if all its parents are. The threshold of a
node with few positive rows would fit their noise; such nodes share one threshold, the best for all
of them together. What one threshold for all nodes reaches is kept as a curve, from which other
targets are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._closure import rows_of
from hiclass._inference.paths import width_of
from hiclass._inference.selections import Learned, curve_of
from hiclass._inference.sets import set_node_proba
from hiclass._out_of_fold.folds import fit_folds
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import SetModels
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Smaller probabilities are not kept: no threshold is that small.
_LEAST = 0.01
#: Nodes with fewer positive rows share a threshold.
_FEW = 10
_USUAL = 0.5


def tune_thresholds(
    fit_fold: Callable[[IntArray], SetModels],
    X: Any,
    target: SetTarget,
    fold: IntArray,
    weights: AnyArray | None,
) -> Learned:
    """Learn the threshold of every node, and what one threshold for all of them reaches.

    Parameters
    ----------
    fit_fold : callable
        Fits the models of the whole hierarchy on some training rows.
    X : rows
        All training rows.
    target : SetTarget
        Their sets of nodes.
    fold : ndarray of int
        Their folds.
    weights : ndarray or None
        Sample weights.

    Returns
    -------
    Learned
    """
    parts, order = [], []
    for models, rows in fit_folds(fit_fold, fold):
        X_held = take_rows(X, rows)
        order.append(rows)
        for part in chunks_of_rows(X_held, width_of(models)):
            found = set_node_proba(models, slice_rows(X_held, part), _LEAST)
            parts.append(sp.csr_array(np.where(found >= _LEAST, found, 0)))
    if not parts:
        usual = np.full(target.hierarchy.n_nodes, _USUAL)
        return Learned(usual, np.array([[_USUAL, 1.0, 1.0]]))
    rows = np.concatenate(order)
    weights = (np.ones(target.n_rows) if weights is None else weights)[rows]
    proba, truth = sp.csc_array(sp.vstack(parts)), target.closed[rows].tocsc()
    thresholds = best_thresholds(proba, truth, weights, target.hierarchy)
    return Learned(thresholds, curve_of(proba, truth, weights, _LEAST))


def best_thresholds(proba: Any, truth: Any, weights: FloatArray, hierarchy: Any) -> FloatArray:
    """Thresholds from the top down, each the best given the decisions above it.

    Parameters
    ----------
    proba, truth : sparse CSC arrays of shape (n_rows, n_nodes)
        Out-of-fold probabilities, and which nodes each row is in.
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
    chosen: dict[int, IntArray] = {}  # the rows that are decided to be in a node
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
    """The rows with a probability for a node, these probabilities, and which rows are positive."""
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
    """The threshold with the best F1; halfway to the next smaller probability, where there is one.

    ``total`` is the weight of all positive rows, those without a probability included.
    """
    order = np.argsort(-p, kind="stable")
    p = p[order]
    tp = np.cumsum((weights * positive)[order])
    predicted = np.cumsum(weights[order])
    last = np.append(p[1:] != p[:-1], True)  # equal probabilities are taken together
    f = 2 * tp[last] / (predicted[last] + total)
    if not f.any():
        return _USUAL
    values = p[last]
    best = int(np.argmax(f))
    below = values[best + 1] if best + 1 < len(values) else _LEAST
    return float((values[best] + below) / 2)
