"""Labels of batches: a hierarchy that grows with new classes, and a format that widens.

Not needed by ``fit``, which knows all labels in advance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._labels.columns import LabelColumns, object_array, plain
from hiclass._state import LabelFormat
from hiclass._targets.paths import can_hold, follow_paths
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._builders import order_nodes


def grow(hierarchy: Hierarchy, columns: LabelColumns) -> tuple[Hierarchy, IntArray, IntArray]:
    """Add the classes of some rows to a tree of paths.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree whose nodes are identified by their parent and label.
    columns : LabelColumns
        The labels of the rows.

    Returns
    -------
    hierarchy : Hierarchy
        The tree with the new classes.
    moved : ndarray of int
        The new number of every existing node.
    nodes : ndarray of int
        The most specific node of every row, in new numbers.

    Raises
    ------
    ValueError
        If a label has another type than those of its level.
    """
    _check_types(hierarchy, columns)
    labels = hierarchy.labels.tolist()
    below: list[list[int]] = [hierarchy.children(v).tolist() for v in range(hierarchy.n_nodes)]
    number = dict(hierarchy._child_index)

    def step(parent: int, label: Any) -> int:
        name = (parent, type(label), label)
        if name not in number:
            number[name] = len(labels)
            below[parent].append(len(labels))
            below.append([])
            labels.append(label)
        return number[name]

    nodes, _ = follow_paths(columns, step)
    order, parents = order_nodes(labels, below)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    grown = Hierarchy(object_array([labels[v] for v in order]), parents, "path")
    if hierarchy.has_texts:
        old = hierarchy.n_nodes
        grown = grown._with_text_array([hierarchy.texts[v] if v < old else () for v in order])
    return grown, rank[: hierarchy.n_nodes], rank[nodes]


def _check_types(hierarchy: Hierarchy, columns: LabelColumns) -> None:
    """Reject labels of another type than those of their level."""
    for level, values in enumerate(columns.values[: hierarchy.depth], start=1):
        old = hierarchy.labels[hierarchy.nodes_by_level[level][0]]
        if len(values) and type(plain(values[0])) is not type(old):
            new = plain(values[0])
            raise ValueError(
                f"Level {level} of y holds {type(new).__name__} labels ({new!r}), but so far it "
                f"held {type(old).__name__} labels ({old!r}). Use one type within a level."
            )


def check_form(columns: LabelColumns, format: LabelFormat) -> None:
    """Reject paths after single labels, and single labels after paths."""
    if columns.ndim != format.ndim:
        now, before = ("single labels", "paths")[:: 1 if columns.ndim == 1 else -1]
        raise ValueError(
            f"y holds {now}, but the rows before this batch had {before}. Use the same form of y "
            "in every batch."
        )


def first_format(
    columns: LabelColumns, given: LabelColumns | None, hierarchy: Hierarchy
) -> LabelFormat:
    """The format of labels: that of the first batch, or otherwise that of the given classes."""
    missing = columns.missing
    if given is not None and not _has_missing(columns) and _has_missing(given):
        missing = given.missing
    dtype = columns.dtype
    if given is not None and given.dtype.kind == dtype.kind:
        dtype = np.result_type(dtype, given.dtype)
    start = LabelFormat(columns.ndim, len(columns.codes), dtype, missing)
    return widen_format(start, columns, hierarchy)


def _has_missing(columns: LabelColumns) -> bool:
    return any((codes < 0).any() for codes in columns.codes)


def widen_format(old: LabelFormat, columns: LabelColumns, hierarchy: Hierarchy) -> LabelFormat:
    """A format for the labels of all batches so far and a new one."""
    n_levels = hierarchy.depth
    if old.ndim == 2:
        n_levels = max(old.n_levels, len(columns.codes), n_levels)
    dtype = np.dtype(object)
    if columns.dtype.kind == old.dtype.kind:
        dtype = np.result_type(old.dtype, columns.dtype)
    # Labels that no batch contained may be predicted: the type is kept only if it can hold them.
    if not can_hold(dtype, hierarchy.labels[1:]):
        dtype = np.dtype(object)
    return LabelFormat(old.ndim, n_levels, dtype, old.missing)
