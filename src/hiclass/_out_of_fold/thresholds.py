"""Thresholds of nodes that are learned from rows a model was not fitted on.

The whole hierarchy is fitted on a few folds, and every row is scored by the models that have not
seen it. From the top down, each node then gets the threshold with the best F1 of its own rows,
given the decisions above it: a node is in a set only if all its parents are. The threshold of a
node with few positive rows would fit their noise; such nodes share one threshold, the best for all
of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._closure import rows_of
from hiclass._inference.paths import width_of
from hiclass._inference.sets import set_node_proba
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import SetModels
from hiclass._targets.sets import SetTarget
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.model_selection import deal_folds

N_FOLDS = 3
#: Smaller probabilities are not kept: no threshold is that small.
_LEAST = 0.01
#: Nodes with fewer positive rows share a threshold.
_FEW = 10
_USUAL = 0.5


def tune_thresholds(
    fit_fold: Callable[[IntArray], SetModels],
    X: Any,
    target: SetTarget,
    weights: AnyArray | None,
) -> FloatArray:
    """Learn the threshold of every node.

    Parameters
    ----------
    fit_fold : callable
        Fits the models of the whole hierarchy on some training rows.
    X : rows
        All training rows.
    target : SetTarget
        Their sets of nodes.
    weights : ndarray or None
        Sample weights.

    Returns
    -------
    ndarray of shape (n_nodes,)
    """
    n_folds = min(N_FOLDS, target.n_rows)
    if n_folds < 2:
        return np.full(target.hierarchy.n_nodes, _USUAL)
    fold = deal_folds(rarest_nodes(target), n_folds)
    parts, order = [], []
    for k in range(n_folds):
        models = fit_fold(np.flatnonzero(fold != k))
        rows = np.flatnonzero(fold == k)
        X_held = take_rows(X, rows)
        order.append(rows)
        for part in chunks_of_rows(X_held, width_of(models)):
            found = set_node_proba(models, slice_rows(X_held, part), _LEAST)
            parts.append(sp.csr_array(np.where(found >= _LEAST, found, 0)))
    rows = np.concatenate(order)
    weights = np.ones(target.n_rows) if weights is None else weights
    return best_thresholds(
        sp.csc_array(sp.vstack(parts)), target.closed[rows].tocsc(), weights[rows], target.hierarchy
    )


def rarest_nodes(target: SetTarget) -> IntArray:
    """The rarest most specific node of every row, by which rows are dealt out to folds."""
    own = target.own
    count = np.asarray(own.sum(axis=0))
    nodes = np.zeros(target.n_rows, dtype=np.intp)
    for i, (a, b) in enumerate(zip(own.indptr[:-1], own.indptr[1:], strict=True)):
        if b > a:
            here = own.indices[a:b]
            nodes[i] = here[np.argmin(count[here])]
    return nodes


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
