"""True and predicted nodes side by side: what every metric of labels starts from.

Labels become nodes once, in :func:`encode`. Rows of weight zero are dropped there, so that a weight
of zero is the same as leaving the row out, for every metric. The counts below need memory for
rows x depth at most, never for rows x nodes.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from hiclass._targets.paths import encode_pair
from hiclass._targets.sets import encode_set_pair
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: True positives, predicted and true, per node or per row.
Counts = tuple[FloatArray, ...]


@dataclass(frozen=True)
class Pair:
    """Rows with their true node, predicted node (0: no prediction) and weight (above zero).

    ``keep`` says of every row that was given whether it is among them.
    """

    hierarchy: Hierarchy
    true: IntArray
    pred: IntArray
    weight: FloatArray
    keep: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SetPair:
    """Rows with their true and predicted sets of nodes, the root left out, and weight.

    The sets are sparse rows of ones. ``keep`` is as in :class:`Pair`.
    """

    hierarchy: Hierarchy
    true: Any
    pred: Any
    weight: FloatArray
    keep: npt.NDArray[np.bool_]


def encode(
    y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any, multi_label: bool = False
) -> Pair | SetPair:
    """Turn labels into nodes, or sets of nodes; drop the rows of weight zero."""
    if multi_label:
        return encode_sets(y_true, y_pred, hierarchy, sample_weight)
    return encode_nodes(y_true, y_pred, hierarchy, sample_weight)


def as_set_pair(pair: Pair | SetPair) -> SetPair:
    """One label per row as sets."""
    if isinstance(pair, SetPair):
        return pair
    graph = pair.hierarchy
    true, pred = closure(graph, pair.true), closure(graph, pair.pred)
    return SetPair(graph, true, pred, pair.weight, pair.keep)


def encode_sets(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any) -> SetPair:
    """Turn several labels per row into sets of nodes; drop the rows of weight zero."""
    graph, true, pred = encode_set_pair(y_true, y_pred, hierarchy)
    weight = check_weight(sample_weight, true.shape[0])
    keep = weight > 0
    return SetPair(graph, without_root(true[keep]), without_root(pred[keep]), weight[keep], keep)


def without_root(closed: Any) -> Any:
    """Sets of nodes as rows of ones, without the root, which is in all of them."""
    sets = sparse.csr_array(closed, dtype=np.float64)
    sets.data[sets.indices == 0] = 0
    sets.eliminate_zeros()
    return sets


def encode_nodes(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any) -> Pair:
    """Turn labels into nodes; drop the rows of weight zero."""
    hierarchy, true, pred = encode_pair(y_true, y_pred, hierarchy)
    weight = check_weight(sample_weight, len(true))
    keep = weight > 0
    if not keep.all():
        true, pred, weight = true[keep], pred[keep], weight[keep]
    return Pair(hierarchy, true, pred, weight, keep)


def encode_tree(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any, name: str) -> Pair:
    """Turn labels into nodes of a tree; refuse other hierarchies, and several paths per row."""
    _refuse_lists_of_paths(y_true, name)
    pair = encode_nodes(y_true, y_pred, hierarchy, sample_weight)
    require_tree(pair.hierarchy, name)
    return pair


def _refuse_lists_of_paths(y: Any, name: str) -> None:
    """Refuse rows that are lists of tuples, which would be read as paths of odd labels."""
    rows = y.tolist() if isinstance(y, np.ndarray) and y.dtype == object else y
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, list) and row and all(isinstance(label, tuple) for label in row):
            raise ValueError(
                f"Row {i} of y_true is {row!r}, a list of paths. {name} compares one path per row; "
                f"for several, use precision, recall or f1 with multi_label=True."
            )


def require_tree(hierarchy: Hierarchy, name: str) -> None:
    """Refuse a hierarchy in which a node has several parents."""
    if not hierarchy.is_tree:
        node = int(np.argmax(np.diff(hierarchy.parent_indptr) > 1))
        raise ValueError(
            f"{name} is defined on trees, but {hierarchy.labels[node]!r} has several parents. Use "
            f"precision, recall or f1, which compare sets of classes and need no path."
        )


def check_weight(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return the weights as an array; ones where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight must hold one number per row; got {sample_weight!r}."
        ) from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weight.shape} but there are {n_rows} rows. "
            f"Give one weight per row."
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight has {weight[row]} in row {row}; weights are finite and not negative."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero in every row, so there is nothing to average.")
    return weight


def check_zero_division(zero_division: Any) -> float:
    """Return the value that replaces 0 / 0."""
    if isinstance(zero_division, str):
        if zero_division == "warn":
            return 0.0
    elif isinstance(zero_division, int | float | np.number):
        value = float(zero_division)
        if value in (0.0, 1.0) or math.isnan(value):
            return value
    raise ValueError(f"zero_division={zero_division!r} must be 'warn', 0.0, 1.0 or numpy.nan.")


def divide(a: FloatArray, b: FloatArray, fill: float) -> FloatArray:
    """Return a / b, and ``fill`` where b is zero."""
    result = np.full(len(a), fill)
    np.divide(a, b, out=result, where=b != 0)
    return result


def warn_undefined(place: str, name: str = "Precision or recall", stacklevel: int = 3) -> None:
    """Warn that there was a 0 / 0; with the default level, on the line that called the caller."""
    warnings.warn(
        f"{name} is ill-defined for {place} and is set to 0.0 there. Use zero_division to say what "
        f"it should be.",
        UndefinedMetricWarning,
        stacklevel=stacklevel,
    )


def mean(values: FloatArray, weight: FloatArray) -> float:
    """Weighted mean of the values that are not NaN; NaN where there are none."""
    known = ~np.isnan(values)
    total = weight[known].sum()
    # Not a dot product: BLAS adds up in an order that depends on its threads.
    return float((weight[known] * values[known]).sum() / total) if total > 0 else math.nan


def meeting_level(pair: Pair) -> IntArray:
    """Level of the lowest common ancestor of every row's two nodes; trees only."""
    tree, meeting = pair.hierarchy, np.zeros(len(pair.true), dtype=np.intp)
    for level in range(1, tree.depth + 1):
        a = tree._at_level(pair.true, level)
        meeting += (a == tree._at_level(pair.pred, level)) & (a >= 0)
    return meeting


def meeting_node(pair: Pair) -> IntArray:
    """Lowest common ancestor of every row's two nodes; trees only."""
    tree, node = pair.hierarchy, np.zeros(len(pair.true), dtype=np.intp)
    for level in range(1, tree.depth + 1):
        a = tree._at_level(pair.true, level)
        node = np.where((a == tree._at_level(pair.pred, level)) & (a >= 0), a, node)
    return node


def row_counts(pair: Pair | SetPair) -> Counts:
    """Sizes, per row, of the common, the predicted and the true set of nodes."""
    if isinstance(pair, SetPair):
        both = pair.true.multiply(pair.pred)
        return tuple(np.asarray(m.sum(axis=1)) for m in (both, pair.pred, pair.true))
    if pair.hierarchy.is_tree:
        size = pair.hierarchy.levels.astype(np.float64)
        return meeting_level(pair).astype(np.float64), size[pair.pred], size[pair.true]
    (true, pred), inverse = _distinct_pairs(pair)
    a, b = closure(pair.hierarchy, true), closure(pair.hierarchy, pred)
    return tuple(m.sum(axis=1)[inverse] for m in (a.multiply(b), b, a))


def is_exact(pair: Pair | SetPair) -> FloatArray:
    """Whether, per row, the prediction is exactly the truth: 0 or 1."""
    if isinstance(pair, SetPair):
        both, pred, true = row_counts(pair)
        return ((both == pred) & (both == true)).astype(np.float64)
    return (pair.true == pair.pred).astype(np.float64)


def node_counts(pair: Pair | SetPair) -> Counts:
    """Total weight, per node, of the rows in which it is both, predicted, and true."""
    if isinstance(pair, SetPair):
        both = sparse.csr_array(pair.true.multiply(pair.pred))
        return tuple(m.T @ pair.weight for m in (both, pair.pred, pair.true))
    hierarchy = pair.hierarchy
    if hierarchy.is_tree:
        ends = meeting_node(pair), pair.pred, pair.true
        return tuple(sum_upwards(hierarchy, total_by(v, pair.weight, hierarchy)) for v in ends)
    (true, pred), inverse = _distinct_pairs(pair)
    weight = np.bincount(inverse, weights=pair.weight)
    a, b = closure(hierarchy, true), closure(hierarchy, pred)
    return tuple(m.T @ weight for m in (a.multiply(b), b, a))


def total_by(nodes: IntArray, weight: FloatArray, hierarchy: Hierarchy) -> FloatArray:
    """Total weight of the rows of every node, one node being given per row."""
    total = np.bincount(nodes, weights=weight, minlength=hierarchy.n_nodes)
    return total.astype(np.float64, copy=False)


def sum_upwards(hierarchy: Hierarchy, values: FloatArray) -> FloatArray:
    """Add to the value of every node of a tree those of all nodes below it."""
    total = values.copy()
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return total


def _distinct_pairs(pair: Pair) -> tuple[tuple[IntArray, IntArray], IntArray]:
    """Distinct pairs of nodes, and for every row the place of its pair among them."""
    n = pair.hierarchy.n_nodes
    distinct, inverse = np.unique(pair.true * n + pair.pred, return_inverse=True)
    return np.divmod(distinct, n), inverse


def closure(hierarchy: Hierarchy, nodes: IntArray) -> Any:
    """Sparse rows of ones at a node and its ancestors, the root left out."""
    distinct, inverse = np.unique(nodes, return_inverse=True)
    sets = [[v, *hierarchy.ancestors(v)[1:].tolist()] if v else [] for v in distinct.tolist()]
    indptr = np.concatenate([[0], np.cumsum([len(s) for s in sets])])
    indices = np.array([v for s in sets for v in s], dtype=np.intp)
    shape = (len(distinct), hierarchy.n_nodes)
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)[inverse]
