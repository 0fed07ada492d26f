"""Finding the node that a user names by its path or label, and saying why there is none."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from hiclass._labels.columns import is_hashable, plain
from hiclass._typing import IntArray

#: So many characters of a label are compared with others, for a hint at the nearest names.
_COMPARED = 100


def find_node(hierarchy: Any, key: Any) -> int:
    """The number of the node with a path or a label."""
    if isinstance(key, np.ndarray):
        key = tuple(np.atleast_1d(key).tolist())
    for label in key if isinstance(key, list | tuple) else (key,):
        if not is_hashable(label):
            raise TypeError(
                f"{label!r} is a {type(label).__name__}, which cannot be the label of a class."
            )
    if isinstance(key, list | tuple) and not hierarchy._has_label(key):
        return _follow(hierarchy, key)
    nodes = nodes_with_label(hierarchy, plain(key))
    if len(nodes) == 1:
        return nodes[0]
    if not nodes:
        raise ValueError(unknown_class(hierarchy, key, (), np.arange(1, hierarchy.n_nodes)))
    paths = "; ".join(hierarchy.describe(v) for v in nodes[:4])
    raise ValueError(
        f"{len(nodes)} classes are called {key!r}: {paths}{'; ...' if len(nodes) > 4 else ''}. "
        f"Give the whole path."
    )


def nodes_with_label(hierarchy: Any, label: Any) -> list[int]:
    """All nodes with a label, wherever they are."""
    nodes: list[int] = hierarchy._label_index.get((type(label), label), [])
    return nodes


def _places(hierarchy: Any, nodes: list[int]) -> str:
    """Say at which levels some nodes of the same label are."""
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
    """Say that there is no class with a label below some others, and where or which is near."""
    elsewhere = nodes_with_label(hierarchy, label)
    if elsewhere:
        place = f"below {' > '.join(map(str, above))}" if above else "at level 1"
        return f"The hierarchy has no class {label!r} {place}; {_places(hierarchy, elsewhere)}."
    # The beginning is enough: a comparison takes time with the square of the length.
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
