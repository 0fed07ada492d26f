"""The nodes of labels that came before: streams have the same labels over and over again."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy

#: So many different labels or paths are remembered.
_MOST = 1 << 20


class Finder:
    """Finds the nodes of labels: integers by a table, strings and paths of strings by a dictionary.

    Strings are only found if they came before, and were checked then. Other types are not
    remembered: a dictionary takes 1, True and 1.0 for the same.

    Parameters
    ----------
    hierarchy : Hierarchy
        The classes.
    ndim : int
        1 for single labels, 2 for paths.
    """

    def __init__(self, hierarchy: Hierarchy, ndim: int) -> None:
        self._ndim = ndim
        self._nodes: dict[Any, int] = {}
        self._ascending: Any = None
        self._order: Any = None
        if ndim == 1:
            self._ascending, self._order = _integers(hierarchy)

    def find(self, y: Any) -> IntArray | None:
        """The nodes of labels; None if not all of them are known."""
        if isinstance(y, np.ndarray) and y.dtype.kind == "i":
            return self._find_integers(y)
        keys = self._keys(y)
        if keys is None:
            return None
        found = list(map(self._nodes.get, keys))
        return None if None in found else np.array(found, dtype=np.intp)

    def note(self, y: Any, nodes: IntArray) -> None:
        """Remember labels whose nodes have been found otherwise."""
        for key, node in zip(self._keys(y) or (), nodes.tolist(), strict=False):
            parts = (key,) if self._ndim == 1 else key
            if len(self._nodes) < _MOST and all(isinstance(part, str) for part in parts):
                self._nodes[key] = node

    def _keys(self, y: Any) -> list[Any] | None:
        """What labels are remembered by; None for forms that are rare in streams."""
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
        return nodes if (self._ascending[place] == y).all() else None


def _integers(hierarchy: Hierarchy) -> tuple[Any, Any]:
    """All labels in ascending order and where they stand, if they are different integers."""
    labels = hierarchy.labels[1:].tolist()
    usable = all(type(label) is int and abs(label) < 2**63 for label in labels)
    if not usable or len(set(labels)) < len(labels):
        return None, None
    order = np.argsort(labels)
    return np.array(labels, dtype=np.int64)[order], order
