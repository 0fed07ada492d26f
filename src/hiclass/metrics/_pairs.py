"""True and predicted nodes of all rows, the input of every metric of labels.

:func:`encode` converts labels to nodes. It drops rows of weight zero, so that for every metric, a
weight of zero is equivalent to removing the row. The counts below need memory for at most rows x
depth entries, never for rows x nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from hiclass._targets.paths import encode_pair
from hiclass._targets.sets import encode_set_pair
from hiclass._typing import FloatArray, IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy

#: True positives, predicted and true, per node or per row.
Counts = tuple[FloatArray, ...]


@dataclass(frozen=True)
class Pair:
    """Rows of a tree: their true node, predicted node (0: no prediction) and weight (above zero).

    ``keep`` is a mask that selects them from the rows that were passed.
    """

    hierarchy: Hierarchy
    true: IntArray
    pred: IntArray
    weight: FloatArray
    keep: npt.NDArray[np.bool_]

    of_sets: ClassVar[Literal[False]] = False

    def meeting_node(self) -> IntArray:
        """Lowest common ancestor of the two nodes of every row."""
        tree, node = self.hierarchy, np.zeros(len(self.true), dtype=np.intp)
        for level in range(1, tree.depth + 1):
            a = tree._at_level(self.true, level)
            node = np.where((a == tree._at_level(self.pred, level)) & (a >= 0), a, node)
        return node

    def meeting_level(self) -> IntArray:
        """Level of that ancestor."""
        return self.hierarchy.levels[self.meeting_node()]

    def row_counts(self) -> Counts:
        """Sizes, per row, of the common, the predicted and the true set of nodes."""
        size = self.hierarchy.levels.astype(np.float64)
        return size[self.meeting_node()], size[self.pred], size[self.true]

    def node_counts(self) -> Counts:
        """Total weight, per node, of the rows in which it is both, predicted, and true."""
        tree = self.hierarchy
        last = self.meeting_node(), self.pred, self.true
        return tuple(sum_upwards(tree, total_by(nodes, self.weight, tree)) for nodes in last)

    def is_exact(self) -> FloatArray:
        """Whether the prediction of every row is exactly correct: 0 or 1."""
        return (self.true == self.pred).astype(np.float64)


@dataclass(frozen=True)
class SetPair:
    """Rows with their true and predicted sets of nodes, without the root, and their weight.

    The sets are sparse rows of ones. ``keep`` and all methods are as in :class:`Pair`.
    """

    hierarchy: Hierarchy
    true: Any
    pred: Any
    weight: FloatArray
    keep: npt.NDArray[np.bool_]

    of_sets: ClassVar[Literal[True]] = True

    def _sets(self) -> tuple[Any, Any, Any]:
        return sparse.csr_array(self.true.multiply(self.pred)), self.pred, self.true

    def row_counts(self) -> Counts:
        """Sizes, per row, of the common, the predicted and the true set of nodes."""
        return tuple(sets.sum(axis=1) for sets in self._sets())

    def node_counts(self) -> Counts:
        """Total weight, per node, of the rows in which it is both, predicted, and true."""
        return tuple(sets.T @ self.weight for sets in self._sets())

    def is_exact(self) -> FloatArray:
        """Whether the prediction of every row is exactly correct: 0 or 1."""
        both, pred, true = self.row_counts()
        return ((both == pred) & (both == true)).astype(np.float64)


def encode(
    y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any, multi_label: bool = False
) -> Pair | SetPair:
    """Convert labels to nodes of a tree, or to sets of nodes; drop the rows of weight zero.

    With several labels per row, or several parents of a class, rows are sets of nodes.
    """
    graph, true, pred = (encode_set_pair if multi_label else encode_pair)(y_true, y_pred, hierarchy)
    weight = check_weight(sample_weight, true.shape[0])
    keep = weight > 0
    if not keep.all():
        true, pred, weight = true[keep], pred[keep], weight[keep]
    if not multi_label:
        if graph.is_tree:
            return Pair(graph, true, pred, weight, keep)
        true, pred = graph._closure[true], graph._closure[pred]
    return SetPair(graph, without_root(true), without_root(pred), weight, keep)


def without_root(closed: Any) -> Any:
    """Sets of nodes as rows of ones, without the root."""
    sets = sparse.csr_array(closed, dtype=np.float64)
    sets.data[sets.indices == 0] = 0
    sets.eliminate_zeros()
    return sets


def encode_tree(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any, name: str) -> Pair:
    """Convert labels to nodes of a tree; reject DAGs and several paths per row."""
    _refuse_lists_of_paths(y_true, name)
    pair = encode(y_true, y_pred, hierarchy, sample_weight)
    if pair.of_sets:
        raise ValueError(
            f"{name} is defined on trees, but {pair.hierarchy._shared_label()!r} has several "
            "parents. Use precision, recall or f1, which compare sets of classes."
        )
    return pair


def _refuse_lists_of_paths(y: Any, name: str) -> None:
    """Reject rows that are lists of tuples, which would be read as paths."""
    rows = y.tolist() if isinstance(y, np.ndarray) and y.dtype == object else y
    for i, row in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(row, list) and row and all(isinstance(label, tuple) for label in row):
            raise ValueError(
                f"Row {i} of y_true is {row!r}, a list of paths. {name} compares one path per row; "
                f"for several, use precision, recall or f1 with multi_label=True."
            )


def check_weight(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return the weights as an array, or ones if none are given."""
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
            f"sample_weight has shape {weight.shape} but there are {n_rows} rows. Pass one weight "
            "per row."
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight has {weight[row]} in row {row}; weights must be finite and not "
            "negative."
        )
    if not weight.any():
        raise ValueError(
            "sample_weight is zero in every row. At least one row must have a positive weight."
        )
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
    """Return a / b, or ``fill`` where b is zero."""
    result = np.full(len(a), fill)
    np.divide(a, b, out=result, where=b != 0)
    return result


def warn_undefined(place: str, name: str = "Precision or recall") -> None:
    """Warn that there was a 0 / 0."""
    warn_user(
        f"{name} is ill-defined for {place} and is set to 0.0 there. Set zero_division to choose "
        "another value and to silence this warning.",
        UndefinedMetricWarning,
    )


def mean(values: FloatArray, weight: FloatArray) -> float:
    """Weighted mean of the values that are not NaN; NaN where there are none."""
    known = ~np.isnan(values)
    total = weight[known].sum()
    # Not a dot product, because the order of BLAS sums depends on its threads.
    return float((weight[known] * values[known]).sum() / total) if total > 0 else math.nan


def total_by(nodes: IntArray, weight: FloatArray, hierarchy: Hierarchy) -> FloatArray:
    """Total weight of the rows of every node, given the node of each row."""
    total = np.bincount(nodes, weights=weight, minlength=hierarchy.n_nodes)
    return total.astype(np.float64, copy=False)


def sum_upwards(hierarchy: Hierarchy, values: FloatArray) -> FloatArray:
    """Add the values of all descendants to the value of every node."""
    total = values.copy()
    for nodes in reversed(hierarchy.nodes_by_level[1:]):
        np.add.at(total, hierarchy.parent[nodes], total[nodes])
    return total
