"""The nodes of labels seen before: the batches of a stream repeat the same labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The largest number of paths that are remembered.
_MOST = 1 << 20


class Finder:
    """Finds the nodes of labels: integers by a table, strings and paths of strings by a dictionary.

    Paths are only found if they were seen and checked before; single strings if exactly one class
    has this label. Other types are not remembered: to a dictionary, 1, True and 1.0 are the same.

    Parameters
    ----------
    hierarchy : Hierarchy
        The classes.
    ndim : int
        1 for single labels, 2 for paths.
    allowed : ndarray of bool
        By node, whether rows may have it: only such nodes are found.
    """

    def __init__(self, hierarchy: Hierarchy, ndim: int, allowed: AnyArray) -> None:
        self._ndim = ndim
        self._allowed = allowed
        self._nodes: dict[Any, int] = {}
        self._ascending: Any = None
        self._order: Any = None
        if ndim == 1:
            self._ascending, self._order = _integers(hierarchy)
            self._nodes = {k: v for k, v in _strings(hierarchy).items() if allowed[v]}

    def find(self, y: Any) -> IntArray | None:
        """The nodes of labels; None if not all of them are known."""
        if isinstance(y, np.ndarray) and y.dtype.kind == "i":
            return self._find_integers(y)
        keys = self._keys(y)
        if keys is None:
            return None
        try:
            return np.fromiter(map(self._nodes.__getitem__, keys), np.intp, len(keys))
        except (KeyError, TypeError):  # unknown, or not hashable
            return None

    def note(self, y: Any, nodes: IntArray) -> None:
        """Remember paths whose nodes were found in another way."""
        if self._ndim == 1:
            return  # all labels are known from the start
        for key, node in zip(self._keys(y) or (), nodes.tolist(), strict=False):
            if len(self._nodes) == _MOST:
                return
            if self._allowed[node] and all(isinstance(part, str) for part in key):
                self._nodes[key] = node

    def _keys(self, y: Any) -> list[Any] | None:
        """The keys of labels; None for forms that are rare in streams."""
        if isinstance(y, np.ndarray):
            if not len(y) or y.dtype.kind not in "OU" or y.ndim not in (1, self._ndim):
                return None
            y = y.tolist()
        elif not isinstance(y, list) or not y:
            return None
        if self._ndim == 1:
            return y if isinstance(y[0], str) else None
        return list(map(tuple, y)) if all(isinstance(path, list | tuple) for path in y) else None

    def _find_integers(self, y: Any) -> IntArray | None:
        if self._ascending is None or y.ndim != 1 or not len(y):
            return None
        place = np.minimum(np.searchsorted(self._ascending, y), len(self._ascending) - 1)
        nodes: IntArray = 1 + self._order[place]
        known = (self._ascending[place] == y) & self._allowed[nodes]
        return nodes if known.all() else None


def _integers(hierarchy: Hierarchy) -> tuple[Any, Any]:
    """All labels in ascending order and where they stand, if they are different integers."""
    labels = hierarchy.labels[1:].tolist()
    usable = all(type(label) is int and abs(label) < 2**63 for label in labels)
    if not usable or len(set(labels)) < len(labels):
        return None, None
    order = np.argsort(labels)
    return np.array(labels, dtype=np.int64)[order], order


def _strings(hierarchy: Hierarchy) -> dict[str, int]:
    """The nodes of labels that are strings, where a label stands for one node."""
    found = hierarchy._label_index.items()
    return {label: nodes[0] for (kind, label), nodes in found if kind is str and len(nodes) == 1}
