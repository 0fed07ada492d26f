"""Putting the nodes of a hierarchy into order: plain functions on numbers and lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from hiclass._labels.columns import is_hashable, is_missing, plain
from hiclass._typing import IntArray


def number_nodes(
    names: Iterable[Any], edges: list[tuple[Any, Any]]
) -> tuple[list[Any], list[list[int]]]:
    """Number labelled nodes; return their labels and the children of each. None is the root, 0."""
    number: dict[Any, int] = {(type(None), None): 0}
    labels: list[Any] = [None]
    below: list[list[int]] = [[]]
    has_parent = [True]

    def add(name: Any) -> int:
        name = plain(name)
        if not is_hashable(name):
            raise TypeError(
                f"{name!r} is a {type(name).__name__}, which cannot be the label of a class."
            )
        if name is not None and is_missing(name):
            raise ValueError(f"{name!r} cannot be the label of a class: it spells 'missing'.")
        key = (type(name), name)  # 1, True and 1.0 are three labels
        if key not in number:
            number[key] = len(labels)
            labels.append(name)
            below.append([])
            has_parent.append(False)
        return number[key]

    for name in names:
        add(name)
    for parent, child in edges:
        p, c = add(parent), add(child)
        if c == 0:
            raise ValueError(f"The edge ({parent!r}, None) has no child.")
        below[p].append(c)
        has_parent[c] = True
    below[0] += [v for v in range(len(labels)) if not has_parent[v]]
    if len(labels) == 1:
        raise ValueError("The hierarchy has no classes.")
    return labels, below


def order_nodes(labels: list[Any], below: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Sort nodes so that parents come first; return the order and, in it, everyone's parents."""
    for p, kids in enumerate(below):
        if len(set(kids)) < len(kids):
            twice = next(v for v in kids if kids.count(v) > 1)
            raise ValueError(f"The edge ({labels[p]!r}, {labels[twice]!r}) is given twice.")
        kids.sort(key=_sort_key(labels, kids))
    order = _topological_order(labels, below)
    rank = {v: i for i, v in enumerate(order)}
    parents: list[list[int]] = [[] for _ in order]
    for p in order:  # ascending, so that parents are listed in ascending order
        for c in below[p]:
            parents[rank[c]].append(rank[p])
    return order, parents


def gather(indptr: IntArray, indices: IntArray, rows: IntArray) -> IntArray:
    """Concatenate the entries of some rows of a CSR structure, without a loop."""
    counts = indptr[rows + 1] - indptr[rows]
    shift = np.repeat(indptr[rows] - np.cumsum(counts) + counts, counts)
    return indices[shift + np.arange(len(shift))]


def unique_keys(key: IntArray, space: int) -> tuple[IntArray, IntArray]:
    """Distinct keys ascending and the rank of each key, by a table if the space is small."""
    if space > 4 * len(key):
        distinct, rank = np.unique(key, return_inverse=True)
        return distinct, rank
    seen = np.zeros(space, dtype=bool)
    seen[key] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[key]


def preorder(parent: IntArray, starts: list[int]) -> IntArray:
    """Preorder numbers of nodes that are numbered level by level, siblings together."""
    spans = list(itertools.pairwise(starts[1:]))
    size = np.ones(len(parent), dtype=np.intp)
    for a, b in reversed(spans):
        np.add.at(size, parent[a:b], size[a:b])
    number = np.zeros(len(parent), dtype=np.intp)
    for a, b in spans:
        before = np.cumsum(size[a:b]) - size[a:b]
        first = np.searchsorted(parent[a:b], parent[a:b], side="left")
        number[a:b] = number[parent[a:b]] + 1 + before - before[first]
    return number


def _sort_key(labels: list[Any], kids: list[int]) -> Any:
    """Sort siblings by label; labels of several types by type first."""
    if len({type(labels[v]) for v in kids}) > 1:
        return lambda v: (type(labels[v]).__name__, str(labels[v]))
    try:
        sorted(labels[v] for v in kids)
    except TypeError:
        return lambda v: str(labels[v])
    return lambda v: labels[v]


def _topological_order(labels: list[Any], below: list[list[int]]) -> list[int]:
    """Parents before children; in a tree the preorder. Reverse postorder, without recursion."""
    state = [0] * len(labels)  # 1: on the current way down, 2: done
    order: list[int] = []
    for start in range(len(labels)):
        stack = [(start, len(below[start]))] if not state[start] else []
        state[start] = state[start] or 1
        while stack:
            v, left = stack.pop()
            if not left:
                state[v] = 2
                order.append(v)
                continue
            stack.append((v, left - 1))
            c = below[v][left - 1]  # the last child first, because the order is reversed
            if state[c] == 1:
                cycle = [u for u, _ in stack]
                names = [*(repr(labels[u]) for u in cycle[cycle.index(c) :]), repr(labels[c])]
                raise ValueError(f"The hierarchy has a cycle: {' -> '.join(names)}.")
            if not state[c]:
                state[c] = 1
                stack.append((c, len(below[c])))
    return order[::-1]
