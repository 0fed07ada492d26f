"""Several labels per row <-> closed sets of nodes, the counterpart of ``paths``."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from hiclass._closure import from_entries, most_specific
from hiclass._labels.columns import object_array, read_paths
from hiclass._labels.merging import merge_labels
from hiclass._labels.sets import SetLabels, read_sets, strip_missing
from hiclass._state import LabelFormat, SetFormat
from hiclass._targets.paths import as_hierarchy, check_pair, encode
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._lookup import membership, names_of, to_sets


@dataclass(frozen=True)
class SetTarget:
    """Encoded labels of rows that are sets of nodes.

    Attributes
    ----------
    hierarchy : Hierarchy
        A tree, or a DAG.
    closed : sparse array of bool, of shape (n_rows, n_nodes)
        The nodes of every row: its classes and all of their ancestors, including the root.
    own : sparse array of bool
        The most specific of these.
    format : SetFormat or LabelFormat
        The format of the labels; the latter for one label per row in a DAG.
    """

    hierarchy: Hierarchy
    closed: Any
    own: Any
    format: SetFormat | LabelFormat

    of_sets: ClassVar[Literal[True]] = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.closed.shape[0])

    def some(self, rows: IntArray) -> SetTarget:
        """The labels of some rows."""
        return replace(self, closed=self.closed[rows], own=self.own[rows])


def encode_sets(y: Any, hierarchy: Any = None) -> SetTarget:
    """Encode several labels per row; without a hierarchy, read it from the paths.

    Parameters
    ----------
    y : list of lists, or indicator
        Several labels per row.
    hierarchy : Hierarchy, DiGraph, dict, edges or None
        The hierarchy to use.

    Returns
    -------
    SetTarget
    """
    labels = read_sets(y)
    if hierarchy is None:
        hierarchy, closed = _own_hierarchy([labels], ("y",))
        closed = closed[0]
    else:
        hierarchy = as_hierarchy(hierarchy)
        closed = membership(labels, hierarchy)
    return SetTarget(hierarchy, closed, most_specific(closed, hierarchy), labels.format)


def known_sets(y: Any, hierarchy: Hierarchy, multi_label: bool) -> tuple[Any, IntArray]:
    """Closed sets of the known classes, and the number of unknown classes of each row.

    If a path is not known to its end, its known part is used.
    """
    if not multi_label:
        target = encode_in_dag(y, hierarchy)
        return target.closed, np.zeros(target.n_rows, dtype=np.intp)
    labels = read_sets(y)
    if labels.names is None:
        return membership(labels, hierarchy), np.zeros(labels.n_rows, dtype=np.intp)
    found = np.zeros((2, len(labels.names)), dtype=np.intp)
    for code, name in enumerate(labels.names):
        found[:, code] = _known_part(name, hierarchy, labels.format.as_paths)
    nodes, lacking = found[:, labels.codes]
    n_lacking = np.bincount(labels.rows, lacking, minlength=labels.n_rows).astype(np.intp)
    return to_sets(labels, nodes, hierarchy), n_lacking


def _known_part(name: Any, hierarchy: Hierarchy, as_path: bool) -> tuple[int, int]:
    """The node of a name, or of the known beginning of a path, and how much of it is unknown."""
    path = list(name) if as_path else [name]
    for n_lacking in range(len(path)):
        part = tuple(path[: len(path) - n_lacking]) if as_path else name
        try:
            return int(hierarchy.find(part)), n_lacking
        except ValueError:
            continue
    return 0, len(path)


def encode_in_dag(y: Any, hierarchy: Hierarchy) -> SetTarget:
    """Encode one label per row if a class may have several parents and therefore several paths."""
    target = encode(y, hierarchy)
    if target.format.ndim == 2:
        raise ValueError(
            f"y holds paths, but the hierarchy is a DAG: {hierarchy._shared_label()!r} has several "
            "parents and several paths. Pass the most specific label of every row or, with "
            "multi_label=True, a list of labels."
        )
    n_rows = target.n_rows
    own = from_entries(np.arange(n_rows), target.nodes, (n_rows, hierarchy.n_nodes))
    return SetTarget(hierarchy, hierarchy._closure[target.nodes], own, target.format)


def encode_set_pair(y_true: Any, y_pred: Any, hierarchy: Any = None) -> tuple[Hierarchy, Any, Any]:
    """Encode true and predicted sets over one hierarchy, that of the labels if none is given."""
    true, pred = read_sets(y_true, "y_true"), read_sets(y_pred, "y_pred")
    check_pair(true.n_rows, pred.n_rows)
    if hierarchy is None:
        tree, sets = _own_hierarchy([true, pred], ("y_true", "y_pred"))
        return tree, sets[0], sets[1]
    graph = as_hierarchy(hierarchy)
    return graph, membership(true, graph, "y_true"), membership(pred, graph, "y_pred")


def _own_hierarchy(sides: list[SetLabels], titles: tuple[str, ...]) -> tuple[Hierarchy, list[Any]]:
    """The hierarchy that names span, and the closed sets of the rows in it.

    Path tuples span a tree. Labels alone are all at level 1, because nothing is known about their
    parents.
    """
    columns, counts = None, []
    for side, title in zip(sides, titles, strict=True):
        if side.names is None:
            raise ValueError(
                f"{title} is an indicator matrix, whose columns are the nodes of a hierarchy. Pass "
                "that hierarchy (hierarchy=...), or a frame whose columns are labels or paths."
            )
        counts.append(len(side.names))
        if side.names:
            paths = [list(n) if side.format.as_paths else [n] for n in side.names]
            read = read_paths(paths, title)
            columns = read if columns is None else merge_labels(columns, read, ("y_true", title))
    if columns is None:
        raise ValueError(
            f"No row of {titles[0]} has a label, so there is nothing to learn. Pass rows with "
            "labels, or a hierarchy."
        )
    hierarchy, nodes = Hierarchy._from_columns(columns)
    parts = np.split(nodes, np.cumsum(counts)[:-1])
    sets = [
        to_sets(side, part[side.codes], hierarchy) for side, part in zip(sides, parts, strict=True)
    ]
    return hierarchy, sets


def set_classes(
    hierarchy: Hierarchy, populated: AnyArray, final: IntArray, format: SetFormat | LabelFormat
) -> AnyArray:
    """Names of the classes that can be predicted, in node order.

    These are the nodes with training rows; for one label per row, the final classes.
    """
    if not format.of_sets:
        return hierarchy.labels[final].astype(format.dtype)
    return write_nodes(1 + np.flatnonzero(populated[1:]), hierarchy, format)


def write_nodes(nodes: IntArray, hierarchy: Hierarchy, format: SetFormat | LabelFormat) -> AnyArray:
    """Names of nodes, labels or path tuples as in ``predict``; -1 is a missing label.

    Without lists of names, paths are used only if labels are not unique.
    """
    homonyms = len(hierarchy._label_index) < hierarchy.n_nodes - 1
    as_paths = homonyms or _has_path_names(hierarchy, format)
    written: AnyArray = object_array([*names_of(hierarchy, as_paths), format.missing])[nodes]
    return written


def _has_path_names(hierarchy: Hierarchy, format: Any) -> bool:
    """Whether classes are identified by path tuples, which may not be labels themselves."""
    return getattr(format, "as_paths", False) and not isinstance(hierarchy.labels[1], tuple)


def write_sets(closed: Any, hierarchy: Hierarchy, format: SetFormat) -> Any:
    """Write closed sets in the form of ``y``.

    Lists contain only the most specific classes, in the order of the nodes. Indicators are closed.
    """
    if format.kind == "sparse":
        return closed
    if format.kind == "dense":
        return closed.toarray()
    if format.kind == "frame":
        return _framed(closed.toarray(), hierarchy, format)
    specific = most_specific(closed, hierarchy)
    names = names_of(hierarchy, _has_path_names(hierarchy, format))
    flat = [names[v] for v in specific.indices.tolist()]
    bounds = specific.indptr.tolist()
    return object_array([flat[a:b] for a, b in itertools.pairwise(bounds)])


def write_confidence(closed: Any, proba: AnyArray, hierarchy: Hierarchy, format: SetFormat) -> Any:
    """Write probabilities in place of the classes that :func:`write_sets` writes.

    In an indicator, a class that is not in the set has 0.
    """
    if format.kind == "lists":
        specific = most_specific(closed, hierarchy)
        values = proba[specific.nonzero()].tolist()
        return object_array([values[a:b] for a, b in itertools.pairwise(specific.indptr.tolist())])
    if format.kind == "sparse":
        return sp.csr_array((proba[closed.nonzero()], closed.indices, closed.indptr), closed.shape)
    values = np.where(closed.toarray(), proba, 0.0)
    return values if format.kind == "dense" else _framed(values, hierarchy, format)


def _framed(values: AnyArray, hierarchy: Hierarchy, format: SetFormat) -> Any:
    """The columns of a frame, from those of all nodes."""
    names = [strip_missing(c) if format.as_paths else c for c in format.columns]
    return _frame(values[:, [hierarchy.find(n) for n in names]], format)


def _frame(values: AnyArray, format: SetFormat) -> Any:
    """A frame of the library of ``y``."""
    if format.library == "polars":
        import polars

        return polars.DataFrame(dict(zip(format.columns, values.T, strict=True)))
    import pandas

    columns: Any = list(format.columns)
    if format.as_paths:
        columns = pandas.MultiIndex.from_tuples(columns)
    return pandas.DataFrame(values, columns=columns)
