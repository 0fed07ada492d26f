"""y <-> node numbers: labels are converted to nodes of a hierarchy, and nodes back to labels.

Only this room and ``_labels`` see labels. Everything between :func:`encode` and :func:`decode`
works on integers.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from hiclass._labels.columns import (
    LabelColumns,
    check_paths,
    object_array,
    plain,
    read_labels,
    read_paths,
    refuse_path_tuples,
)
from hiclass._labels.identity import group_by_identity
from hiclass._labels.merging import merge_labels
from hiclass._state import LabelFormat
from hiclass._typing import AnyArray, IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._lookup import nodes_with_label, unknown_class

#: The first step of a path that is not in a hierarchy: row, level, node and label.
Unknown = tuple[int, int, int, Any]

#: Nodes are converted to labels in parts; this is the number of nodes on the paths of a part.
_NUMBERS_AT_A_TIME = 1 << 21


@dataclass(frozen=True)
class Target:
    """Encoded labels: the most specific node of every row, and the format of the labels.

    :class:`~hiclass._targets.sets.SetTarget` is the same for sets of nodes. Both have
    ``hierarchy``, ``format``, ``n_rows``, ``some`` and ``of_sets``, which distinguishes them.
    """

    hierarchy: Hierarchy
    nodes: IntArray
    format: LabelFormat

    of_sets: ClassVar[Literal[False]] = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.nodes)

    def some(self, rows: IntArray) -> Target:
        """The labels of some rows."""
        return replace(self, nodes=self.nodes[rows])


def as_hierarchy(source: Any) -> Hierarchy:
    """Convert the parameter ``hierarchy`` to a hierarchy."""
    if isinstance(source, Hierarchy):
        return source
    if isinstance(source, Mapping):
        return Hierarchy.from_dict(source)
    if not isinstance(source, str | bytes | type):  # a class has the attributes of its instances
        if hasattr(source, "is_directed"):
            return Hierarchy.from_networkx(source)
        if hasattr(source, "__iter__"):
            return Hierarchy.from_edges(source)
    raise TypeError(
        f"hierarchy must be a Hierarchy, a networkx.DiGraph, a dict of children or a list of "
        f"edges; got {type(source).__name__}."
    )


def hierarchy_for_files(source: Any) -> Any:
    """A graph as a :class:`Hierarchy`, because skops cannot save graphs; others unchanged."""
    if isinstance(source, type) or not hasattr(source, "is_directed"):
        return source
    try:
        return as_hierarchy(source)
    except (TypeError, ValueError):  # not fitted yet: fit rejects it
        return source


def encode(y: Any, hierarchy: Any = None) -> Target:
    """Encode training labels; without a hierarchy, read it from the labels.

    Parameters
    ----------
    y : array-like
        Labels in any form.
    hierarchy : Hierarchy, DiGraph, dict, edges or None
        The hierarchy to use.

    Returns
    -------
    Target
    """
    if type(y) is np.ndarray and y.dtype == object and y.ndim in (1, 2) and y.size:
        shared = group_by_identity(y)
        if shared is not None:
            # Once: edges may be an iterator.
            hierarchy = None if hierarchy is None else as_hierarchy(hierarchy)
            with suppress(TypeError, ValueError):  # again, with all rows: the message names the row
                return _encode(y[shared[0]], hierarchy).some(shared[1])
    return _encode(y, hierarchy)


def _encode(y: Any, hierarchy: Any) -> Target:
    columns = read_paths(y)
    dtype = columns.dtype
    if hierarchy is None:
        refuse_path_tuples(columns, "use multi_label=True")
        hierarchy, nodes = Hierarchy._from_columns(columns)
        warn_of_similar_labels(hierarchy)
    else:
        hierarchy = as_hierarchy(hierarchy)
        nodes = nodes_of(columns, hierarchy)
        # Labels that y does not contain may be predicted: the type is kept only if it can hold
        # them.
        if not can_hold(dtype, hierarchy.labels[1:]):
            dtype = np.dtype(object)
    n_levels = len(columns.codes) if columns.ndim == 2 else hierarchy.depth
    return Target(hierarchy, nodes, LabelFormat(columns.ndim, n_levels, dtype, columns.missing))


def can_hold(dtype: np.dtype[Any], labels: AnyArray) -> bool:
    """Whether an array of a type returns these labels unchanged."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # NumPy 1: an integer overflow
            back = labels.astype(dtype).tolist()
    except (DeprecationWarning, OverflowError, TypeError, ValueError):
        return False
    return all(type(a) is type(b) and a == b for a, b in zip(back, labels.tolist(), strict=True))


def encode_pair(
    y_true: Any, y_pred: Any, hierarchy: Any = None
) -> tuple[Hierarchy, IntArray, IntArray]:
    """Encode true and predicted labels over one hierarchy; predictions may be empty (node 0).

    Without a hierarchy, the one spanned by both sets of labels is used, so that labels may be only
    true or only predicted.
    """
    true, pred = read_labels(y_true, "y_true"), read_labels(y_pred, "y_pred")
    check_pair(true.n_rows, pred.n_rows)
    check_paths(true, name="y_true")
    check_paths(pred, allow_empty=True, name="y_pred")
    if hierarchy is not None:
        hierarchy = as_hierarchy(hierarchy)
        nodes_true = nodes_of(true, hierarchy, "y_true")
        return hierarchy, nodes_true, nodes_of(pred, hierarchy, "y_pred")
    both, nodes = Hierarchy._from_columns(merge_labels(true, pred, ("y_true", "y_pred")))
    return both, nodes[: true.n_rows], nodes[true.n_rows :]


def check_n_labels(n_labels: int, n_rows: int) -> None:
    """Check that X and y have the same number of rows."""
    if n_labels != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {n_labels} (inconsistent numbers of samples). Pass one "
            "label or path per row."
        )


def check_pair(n_true: int, n_pred: int) -> None:
    """Check that true and predicted labels have the same number of rows."""
    if n_true != n_pred:
        raise ValueError(
            f"y_true and y_pred have different lengths: {n_true} and {n_pred} rows "
            f"(inconsistent numbers of samples). Pass one prediction per true label."
        )


def nodes_of(columns: LabelColumns, hierarchy: Hierarchy, name: str = "y") -> IntArray:
    """Find the node of every row in a given hierarchy; an empty path is the root."""
    node, unknown = find_nodes(columns, hierarchy)
    if unknown is None:
        return node
    row, level, parent, label = unknown
    if columns.ndim == 1:
        try:
            hierarchy.find(label)
        except ValueError as error:
            raise ValueError(f"Row {row} of {name}: {error}") from None
    above = (hierarchy.describe(parent),) if parent else ()
    reason = unknown_class(hierarchy, label, above, hierarchy.children(parent))
    remedy = _remedy_for_labels(hierarchy, label, name)
    raise ValueError(f"Row {row} of {name}, level {level + 1}: {reason}{remedy}")


def _remedy_for_labels(hierarchy: Hierarchy, label: Any, name: str) -> str:
    """The remedy if a label of the hierarchy, or a path, was read as a step of a path."""
    if isinstance(label, tuple):
        return " If rows are lists of path tuples (several labels per row), use multi_label=True."
    nodes = nodes_with_label(hierarchy, label)
    if not nodes:
        return ""
    whole = "the most specific label alone, in one dimension"
    if hierarchy.is_tree:
        whole = f"the whole path, {list(hierarchy.path(nodes[0]))!r}"
    return (
        f" {name} is read as paths from the root: write {whole}; or, if every row is a list of "
        f"labels, use multi_label=True."
    )


def known_nodes(y: Any, hierarchy: Hierarchy) -> IntArray:
    """The deepest node of every path that is in the hierarchy; 0 if no part of the path is.

    For rows that are not for training: unseen classes are not an error here.
    """
    return find_nodes(read_paths(y), hierarchy)[0]


def find_nodes(columns: LabelColumns, hierarchy: Hierarchy) -> tuple[IntArray, Unknown | None]:
    """Follow every path as far as it exists in a hierarchy; see :func:`follow_paths`."""
    if columns.ndim == 2:
        child_of = hierarchy._child_index
        return follow_paths(
            columns, lambda parent, label: child_of.get((parent, type(label), label), -1)
        )

    def only_node(parent: int, label: Any) -> int:
        nodes = nodes_with_label(hierarchy, label)
        return nodes[0] if len(nodes) == 1 else -1

    return follow_paths(columns, only_node)


def follow_paths(
    columns: LabelColumns, step: Callable[[int, Any], int]
) -> tuple[IntArray, Unknown | None]:
    """Follow the paths of all rows from the root, each distinct step once.

    Parameters
    ----------
    columns : LabelColumns
        The labels of the rows.
    step : callable
        Takes a node and the label of the next level and returns the next node, or -1.

    Returns
    -------
    nodes : ndarray of int
        The last node that was reached on every path.
    unknown : tuple or None
        Row, level, node and label of the first step that does not exist.
    """
    node = np.zeros(columns.n_rows, dtype=np.intp)
    alive = np.ones(columns.n_rows, dtype=bool)
    unknown = None
    for level, (codes, values) in enumerate(zip(columns.codes, columns.values, strict=True)):
        rows = np.flatnonzero(alive & (codes >= 0))
        key = node[rows] * max(len(values), 1) + codes[rows]
        distinct, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        found = np.empty(len(distinct), dtype=np.intp)
        for i, k in enumerate(distinct.tolist()):
            parent, code = divmod(k, len(values))
            label = plain(values[code])
            found[i] = step(parent, label)
            if found[i] < 0 and unknown is None:
                unknown = int(rows[first[i]]), level, parent, label
        reached = found[inverse]
        alive[rows[reached < 0]] = False
        node[rows[reached >= 0]] = reached[reached >= 0]
    return node, unknown


def decode(
    nodes: IntArray, hierarchy: Hierarchy, format: LabelFormat, *, may_end: bool
) -> AnyArray:
    """Convert nodes to labels, in the form of ``y``.

    Parameters
    ----------
    nodes : ndarray of int, any shape
        Nodes; 0 is the empty path.
    hierarchy : Hierarchy
        Their hierarchy.
    format : LabelFormat
        The form of ``y``.
    may_end : bool
        Whether paths may stop early. It determines the type of the array, which therefore never
        depends on the rows of a call.

    Returns
    -------
    ndarray
        The shape of ``nodes``, for paths with one more axis of ``n_levels``.

    Raises
    ------
    ValueError
        If a path stops early although ``may_end`` is false and the type has no missing label.
    """
    return label_writer(hierarchy, format, may_end=may_end)(nodes)


def label_writer(
    hierarchy: Hierarchy, format: LabelFormat, *, may_end: bool
) -> Callable[[IntArray], AnyArray]:
    """The function that converts nodes to labels, as :func:`decode` does, for several calls."""
    lookup = labels_by_node(hierarchy, format, may_end=may_end)
    has_missing = lookup.dtype == label_dtype(format, may_end=True)
    n_levels = format.n_levels if format.ndim == 2 else 1
    width = min(n_levels, hierarchy.depth)
    step = max(1, _NUMBERS_AT_A_TIME // hierarchy.depth)

    def write(nodes: IntArray) -> AnyArray:
        every = nodes.reshape(-1)
        labels = np.full((len(every), n_levels), lookup[0], dtype=lookup.dtype)
        for start in range(0, len(every), step):
            at = every[start : start + step, None]
            if format.ndim == 2:
                at = np.maximum(hierarchy._paths[at[:, 0]][:, :width], 0)
            if not has_missing and (width < n_levels or not at.all()):
                _refuse_early_stop(every, at, start, hierarchy, lookup.dtype)
            labels[start : start + step, :width] = lookup[at]
        return labels.reshape(nodes.shape if format.ndim == 1 else (*nodes.shape, n_levels))

    return write


def labels_by_node(hierarchy: Hierarchy, format: LabelFormat, *, may_end: bool) -> AnyArray:
    """The label of every node; that of the root is the missing label if the type has one."""
    dtype = label_dtype(format, may_end)
    labels = np.zeros(hierarchy.n_nodes, dtype=dtype)
    labels[1:] = hierarchy.labels[1:]
    if dtype == label_dtype(format, may_end=True):
        labels[0] = format.missing
    return labels


def _refuse_early_stop(
    nodes: IntArray, at: IntArray, start: int, hierarchy: Hierarchy, dtype: np.dtype[Any]
) -> None:
    """Reject missing labels if the type of the labels has no value for them.

    ``at`` are the paths of the nodes from ``start`` on.
    """
    row = start + int(np.argmax(~at.all(axis=1)))
    name = hierarchy.describe(int(nodes[row]))
    raise ValueError(
        f"The path of row {row} ends at {name}, but labels of type {dtype} have no value for a "
        "missing label, and the decoding declares that its paths never stop early. If they may, "
        "declare this with fewest_labels (see hiclass._inference.decodings)."
    )


def label_dtype(format: LabelFormat, may_end: bool) -> np.dtype[Any]:
    """The type of an array of labels: object if the type of the labels has no missing value."""
    if not may_end or (format.dtype.kind in "US" and isinstance(format.missing, str | bytes)):
        return format.dtype
    if format.dtype.kind == "f" and isinstance(format.missing, float):
        return format.dtype
    return np.dtype(object)


def path_classes(hierarchy: Hierarchy, format: LabelFormat, final: IntArray) -> Any:
    """The labels that can be predicted: those of the final classes; for paths, per level."""
    if format.ndim == 2:
        return classes_by_level(hierarchy, format, final)
    return object_array(distinct_labels(hierarchy.labels[final])).astype(format.dtype)


def classes_by_level(hierarchy: Hierarchy, format: LabelFormat, final: IntArray) -> list[AnyArray]:
    """The sorted distinct labels per level, followed by the missing label if a path may have ended.

    ``final`` are the nodes at which a path may end.
    """
    first_final = int(hierarchy.levels[final].min())
    classes = []
    for level in range(1, format.n_levels + 1):
        nodes = hierarchy.nodes_by_level[level] if level <= hierarchy.depth else final[:0]
        labels = distinct_labels(hierarchy.labels[nodes])
        if level > first_final:
            labels.append(format.missing)
        dtype = label_dtype(format, level > first_final)
        classes.append(object_array(labels).astype(dtype))
    return classes


def distinct_labels(labels: AnyArray) -> list[Any]:
    """Distinct labels, in ascending order if they can be sorted."""
    distinct = list({(type(label), label): label for label in labels.tolist()}.values())
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda label: (type(label).__name__, str(label)))


def warn_of_similar_labels(hierarchy: Hierarchy, new: AnyArray | None = None) -> None:
    """Warn if siblings differ only by case, surrounding spaces or Unicode form.

    This usually is a typing error. With a mask of new nodes, only pairs with a new node are
    considered.
    """
    folded: dict[tuple[int, str], int] = {}
    pairs = []
    parent = hierarchy.parent.tolist()
    for node, label in enumerate(hierarchy.labels.tolist()):
        if isinstance(label, str):
            spelled = unicodedata.normalize("NFC", label).strip().casefold()
            twin = folded.setdefault((parent[node], spelled), node)
            if twin != node and (new is None or new[twin] or new[node]):
                pairs.append((hierarchy.labels[twin], label))
    if pairs:
        shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:3])
        more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
        warn_user(
            f"Some classes with the same parent differ only by case, surrounding spaces or Unicode "
            f"form: {shown}{more}. They are treated as different classes. Correct the labels if "
            f"they are the same class."
        )
