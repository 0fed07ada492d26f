"""Names and nodes: find the node of a path or label, or explain why there is none.

Also the inverse, the names of all nodes, and the sets of nodes for the names of many rows.
"""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from hiclass._closure import close, from_entries
from hiclass._labels.columns import is_hashable, plain
from hiclass._labels.sets import SetLabels
from hiclass._typing import IntArray

#: The number of characters of a label that are compared with others, for hints at similar names.
_COMPARED = 100


def find_node(hierarchy: Any, key: Any) -> int:
    """The number of the node with a path or a label."""
    if isinstance(key, np.ndarray):
        key = tuple(np.atleast_1d(key).tolist())
    for label in key if isinstance(key, list | tuple) else (key,):
        check_hashable(label)
    if isinstance(key, list | tuple) and not hierarchy._has_label(key):
        return _follow(hierarchy, key)
    nodes = nodes_with_label(hierarchy, plain(key))
    if len(nodes) == 1:
        return nodes[0]
    if not nodes:
        raise ValueError(unknown_class(hierarchy, key, (), np.arange(1, hierarchy.n_nodes)))
    paths = "; ".join(hierarchy.describe(v) for v in nodes[:4])
    raise ValueError(
        f"{len(nodes)} classes are called {key!r}: {paths}{'; ...' if len(nodes) > 4 else ''}. Use "
        "the whole path."
    )


def check_hashable(label: Any) -> None:
    """Reject objects that cannot be labels."""
    if not is_hashable(label):
        raise TypeError(
            f"{label!r} is a {type(label).__name__}, which cannot be the label of a class. Labels "
            "must be hashable."
        )


def nodes_with_label(hierarchy: Any, label: Any) -> list[int]:
    """All nodes with a label, wherever they are."""
    nodes: list[int] = hierarchy._label_index.get((type(label), label), [])
    return nodes


def _places(hierarchy: Any, nodes: list[int]) -> str:
    """Describe the levels of some nodes with the same label."""
    found = [f"at level {hierarchy.levels[v]}" for v in nodes[:3]]
    if hierarchy.is_tree:
        found = [f"{f} ({hierarchy.describe(v)})" for f, v in zip(found, nodes, strict=False)]
    more = f" and at {len(nodes) - 3} more places" if len(nodes) > 3 else ""
    return f"{hierarchy.labels[nodes[0]]!r} is {', '.join(found)}{more}"


def _follow(hierarchy: Any, path: list[Any] | tuple[Any, ...]) -> int:
    """The node at the end of a path from the top."""
    node = 0
    for depth, label in enumerate(path):
        label = plain(label)
        step = hierarchy._child_index.get((node, type(label), label))
        if step is None:
            above = tuple(path[:depth])
            raise ValueError(unknown_class(hierarchy, label, above, hierarchy.children(node)))
        node = step
    return node


def unknown_class(hierarchy: Any, label: Any, above: tuple[Any, ...], candidates: IntArray) -> str:
    """The message that a class does not exist below some others, with similar classes."""
    elsewhere = nodes_with_label(hierarchy, label)
    if elsewhere:
        place = f"below {' > '.join(map(str, above))}" if above else "at level 1"
        return f"The hierarchy has no class {label!r} {place}; {_places(hierarchy, elsewhere)}."
    # The beginning is sufficient: the time of a comparison grows with the square of the length.
    names: dict[str, dict[str, None]] = {}
    for v in candidates[:20_000].tolist():
        name = str(hierarchy.labels[v])[:_COMPARED]
        names.setdefault(name.casefold(), {})[name] = None
    found = difflib.get_close_matches(str(label)[:_COMPARED].casefold(), names, n=3)
    near = [name for folded in found for name in names[folded]][:3]
    place = f" below {' > '.join(map(str, above))}" if above else ""
    verb = "is" if len(near) == 1 else "are"
    hint = f" The nearest {verb} {', '.join(map(repr, near))}." if near else ""
    shown = repr(label)
    if len(shown) > 2 * _COMPARED:
        shown = f"{shown[:_COMPARED]}... ({len(shown)} characters)"
    return f"The hierarchy has no class {shown}{place}.{hint}"


def names_of(hierarchy: Any, as_paths: bool) -> list[Any]:
    """The name of every node in lists: its label, or its path."""
    if not as_paths or not hierarchy.is_tree:
        return list(hierarchy.labels.tolist())
    names: list[Any] = [()]
    for v in range(1, hierarchy.n_nodes):
        names.append((*names[hierarchy.parent[v]], hierarchy.labels[v]))
    return names


def membership(labels: SetLabels, hierarchy: Any, name: str = "y") -> Any:
    """Closed sets of nodes of a given hierarchy, one per row."""
    if labels.names is None:
        if labels.n_columns != hierarchy.n_nodes:
            raise ValueError(
                f"{name} is an indicator with {labels.n_columns} columns, but the hierarchy has "
                f"{hierarchy.n_nodes} nodes. It needs one column per node, starting with the root, "
                "as returned by Hierarchy.indicator(...)."
            )
        nodes = labels.codes
    else:
        _check_names(labels, hierarchy, name)
        found = [_find(labels, code, hierarchy, name) for code in range(len(labels.names))]
        nodes = np.array(found, dtype=np.intp)[labels.codes]
    return to_sets(labels, nodes, hierarchy)


def to_sets(labels: SetLabels, nodes: IntArray, hierarchy: Any) -> Any:
    """Closed sets, from the node of every entry."""
    sets = from_entries(labels.rows, nodes, (labels.n_rows, hierarchy.n_nodes))
    return close(sets, hierarchy)


def _check_names(labels: SetLabels, hierarchy: Any, name: str) -> None:
    names = labels.names or []
    if labels.format.as_paths and not hierarchy.is_tree:
        if not all(hierarchy._has_label(n) for n in names):
            raise ValueError(
                f"{name} holds paths, but the hierarchy is a DAG: a class with several parents "
                f"has several paths. Name classes by their label alone."
            )
    elif not labels.format.as_paths and len(hierarchy._label_index) < hierarchy.n_nodes - 1:
        twice = next(nodes for nodes in hierarchy._label_index.values() if len(nodes) > 1)
        raise ValueError(
            f"{name} holds labels, but {len(twice)} classes of the hierarchy are called "
            f"{hierarchy.labels[twice[0]]!r}. Use the path of every label, as a tuple."
        )


def _find(labels: SetLabels, code: int, hierarchy: Any, name: str) -> int:
    label = (labels.names or [])[code]
    try:
        return int(hierarchy.find(label))
    except ValueError as error:
        rows = labels.rows[labels.codes == code]
        place = f"Row {rows[0]} of {name}" if len(rows) else f"A column of {name}"
        raise ValueError(f"{place}: {error}") from None
