"""Numbered nodes and the edges between them, as immutable arrays.

Node 0 is the root. A parent always has a smaller number than its children. In a tree, the numbers
are a preorder, so that the subtree of node ``v`` is the interval ``v .. subtree_end[v] - 1``.

This module contains everything that follows from the numbers alone: levels, ancestors, descendants
and siblings, and the numbering of trees of paths. Everything else is in ``_hierarchy``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from hiclass._closure import closure_matrix
from hiclass._labels.columns import LabelColumns, object_array, rank_keys
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy._texts import as_texts, pack_texts, unpack_texts

#: With at least this many entries, paths of nodes are walked instead of looked up in a table.
_MOST_TABLE = 1 << 23

_STATE = (
    "n_nodes",
    "labels",
    "levels",
    "identity",
    "parent_indptr",
    "parent_indices",
    "child_indptr",
    "child_indices",
)


class Nodes:
    """The nodes of a hierarchy as CSR arrays; see :class:`hiclass.Hierarchy`."""

    n_nodes: int
    labels: AnyArray
    levels: IntArray
    identity: str
    parent_indptr: IntArray
    parent_indices: IntArray
    child_indptr: IntArray
    child_indices: IntArray
    _texts: AnyArray | None = None

    def __init__(self, labels: AnyArray, parents: list[Any], identity: str) -> None:
        # Private: the builders order the nodes; parents[v] are the numbers of v's parents.
        counts = [len(p) for p in parents]
        indices = np.array([q for p in parents for q in p], dtype=np.intp)
        self._set_arrays(labels, np.concatenate([[0], np.cumsum(counts)]), indices, identity)

    @classmethod
    def _from_columns(cls, columns: LabelColumns) -> tuple[Self, IntArray]:
        """Build a tree from columns of codes; also return the deepest node of every row."""
        labels, parent, nodes = _tree_of_columns(columns)
        return cls._of_tree(labels, parent, "path"), nodes

    @classmethod
    def _of_tree(cls, labels: AnyArray, parent: IntArray, identity: str) -> Self:
        """Create a tree from the array of parents, nodes already in preorder; parent[0] is 0."""
        self = cls.__new__(cls)
        indptr = np.concatenate([[0], np.arange(len(parent))])
        self._set_arrays(labels, indptr, parent[1:], identity)
        return self

    def _set_arrays(
        self, labels: AnyArray, parent_indptr: IntArray, parent_indices: IntArray, identity: str
    ) -> None:
        n = len(labels)
        child = np.repeat(np.arange(n), np.diff(parent_indptr))
        order = np.argsort(parent_indices, kind="stable")
        child_counts = np.bincount(parent_indices, minlength=n)
        self.__dict__.update(
            n_nodes=n,
            labels=labels,
            identity=identity,
            parent_indptr=parent_indptr.astype(np.intp, copy=False),
            parent_indices=parent_indices.astype(np.intp, copy=False),
            child_indptr=np.concatenate([[0], np.cumsum(child_counts)]).astype(np.intp, copy=False),
            child_indices=child[order].astype(np.intp, copy=False),
        )
        self.__dict__["levels"] = self._compute_levels()
        self._freeze()

    def _compute_levels(self) -> IntArray:
        """Longest distance of every node from the root, by sweeps over the edges."""
        levels = np.zeros(self.n_nodes, dtype=np.intp)
        nodes = self.children(0)
        depth = 0
        while len(nodes):
            depth += 1
            levels[nodes] = depth
            nodes = gather(self.child_indptr, self.child_indices, nodes)
            if not self.is_tree:
                nodes = np.unique(nodes)
        return levels

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"A Hierarchy is immutable, so {name!r} cannot be set. Build a new one."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A Hierarchy is immutable, so {name!r} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k in _STATE}
        return state if self._texts is None else {**state, "texts": pack_texts(self._texts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state.items() if k in _STATE})
        if "texts" in state:  # not in older files
            self.__dict__["_texts"] = unpack_texts(state["texts"])
        self._freeze()

    def _with_text_array(self, texts: Iterable[tuple[str, ...]] | None) -> Self:
        """The same nodes with other texts, a tuple of strings for each of them."""
        new = type(self).__new__(type(self))
        new.__dict__.update({name: self.__dict__[name] for name in _STATE})
        if texts is not None:
            new.__dict__["_texts"] = as_texts(texts)
        return new

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @cached_property
    def is_tree(self) -> bool:
        """Whether every node except the root has exactly one parent."""
        return len(self.parent_indices) == self.n_nodes - 1

    @property
    def has_texts(self) -> bool:
        """Whether at least one class has a text."""
        return self._texts is not None

    @cached_property
    def texts(self) -> AnyArray:
        """The texts of every node, as a tuple of strings; empty for the root and without texts."""
        return as_texts(() for _ in range(self.n_nodes)) if self._texts is None else self._texts

    @cached_property
    def depth(self) -> int:
        """The deepest level."""
        return int(self.levels.max())

    @cached_property
    def is_leaf(self) -> AnyArray:
        """Whether a node has no children, as an array with one entry per node."""
        return _frozen(np.diff(self.child_indptr) == 0)

    @cached_property
    def parent(self) -> IntArray:
        """The parent of every node of a tree; 0 for the root itself."""
        self._require_tree("parent")
        return _frozen(np.concatenate([[0], self.parent_indices]).astype(np.intp, copy=False))

    @cached_property
    def subtree_end(self) -> IntArray:
        """The number after the last node of the subtree of every node of a tree."""
        self._require_tree("subtree_end")
        size = np.ones(self.n_nodes, dtype=np.intp)
        for nodes in reversed(self.nodes_by_level[1:]):
            np.add.at(size, self.parent[nodes], size[nodes])
        return _frozen(np.arange(self.n_nodes) + size)

    @cached_property
    def nodes_by_level(self) -> list[IntArray]:
        """The nodes of every level in ascending order; the first entry is the root."""
        order = _frozen(np.argsort(self.levels, kind="stable"))
        return np.split(order, np.cumsum(np.bincount(self.levels))[:-1])

    @cached_property
    def ancestor_table(self) -> IntArray:
        """For a tree, the ancestor-or-self of every node at levels 1, 2, ...; -1 below the node."""
        table = np.full((self.n_nodes, self.depth), -1, dtype=np.intp)
        for level, nodes in enumerate(self.nodes_by_level[1:]):
            table[nodes] = table[self.parent[nodes]]
            table[nodes, level] = nodes
        return _frozen(table)

    @cached_property
    def _paths(self) -> IntArray | _WalkedPaths:
        """The ``ancestor_table``, or a substitute if the table would be large."""
        if self.n_nodes * self.depth <= _MOST_TABLE:
            return self.ancestor_table
        return _WalkedPaths(self.parent, self.levels, self.depth)

    def _at_level(self, nodes: IntArray, level: int) -> IntArray:
        """For a tree, the ancestor-or-self of some nodes at a level from 1 on; -1 below a node."""
        if level > self.depth:
            return np.full(np.shape(nodes), -1, dtype=np.intp)
        if self.n_nodes * self.depth <= _MOST_TABLE:
            return self.ancestor_table[nodes, level - 1]
        # In preorder, a subtree follows its node: it is the last node of the level up to there.
        there = self.nodes_by_level[level]
        found = there[np.maximum(np.searchsorted(there, nodes, side="right") - 1, 0)]
        return np.where(self.levels[nodes] >= level, found, -1)

    def children(self, node: int) -> IntArray:
        """Return the children of a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the children in ascending order. In a tree, this is the order of their
            labels.
        """
        node = self._check_node(node)
        return self.child_indices[self.child_indptr[node] : self.child_indptr[node + 1]]

    def parents(self, node: int) -> IntArray:
        """Return the parents of a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the parents in ascending order. Empty for the root.
        """
        node = self._check_node(node)
        return self.parent_indices[self.parent_indptr[node] : self.parent_indptr[node + 1]]

    def ancestors(self, node: int) -> IntArray:
        """Return all nodes above a node, including the root.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the ancestors in ascending order, without the node itself.
        """
        return self._reach(node, self.parents)

    def descendants(self, node: int) -> IntArray:
        """Return all nodes below a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the descendants in ascending order, without the node itself.
        """
        if self.is_tree:
            return np.arange(self._check_node(node) + 1, self.subtree_end[node])
        return self._reach(node, self.children)

    def siblings(self, node: int) -> IntArray:
        """Return the siblings of a node: the other children of its parents.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the siblings in ascending order, without the node itself.
        """
        children = [self.children(int(p)) for p in self.parents(node)]
        union = np.unique(np.concatenate([*children, np.empty(0, dtype=np.intp)]))
        return union[union != node]

    def leaves(self, node: int = 0) -> IntArray:
        """Return the leaves at or below a node.

        Parameters
        ----------
        node : int, default=0
            Number of the node. By default, the root.

        Returns
        -------
        ndarray of int
            Numbers of the leaves in ascending order. For a leaf, the node itself.
        """
        below = np.concatenate([[self._check_node(node)], self.descendants(node)])
        return below[self.is_leaf[below]]

    @cached_property
    def _closure(self) -> Any:
        """Row ``v`` has ones at node ``v`` and its ancestors, including the root."""
        return closure_matrix(self)

    def _reach(self, node: int, step: Any) -> IntArray:
        seen = np.zeros(self.n_nodes, dtype=bool)
        stack = step(node).tolist()
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = True
                stack.extend(step(v).tolist())
        return np.flatnonzero(seen)

    def _check_node(self, node: int) -> int:
        if not isinstance(node, int | np.integer) or not 0 <= node < self.n_nodes:
            raise ValueError(
                f"{node!r} is not a node: nodes are the numbers 0 to {self.n_nodes - 1}. Use "
                "find() to get the number of a label or path."
            )
        return int(node)

    def _require_tree(self, what: str) -> None:
        if not self.is_tree:
            raise ValueError(
                f"{what} is available for trees only, but {self._shared_label()!r} has several "
                "parents."
            )

    def _shared_label(self) -> Any:
        """The label of the first node of a DAG that has several parents."""
        return self.labels[int(np.argmax(np.diff(self.parent_indptr) > 1))]


@dataclass(frozen=True)
class _WalkedPaths:
    """An ancestor table that is not stored: requested rows are computed by walking."""

    parent: IntArray
    levels: IntArray
    depth: int

    def __getitem__(self, nodes: IntArray) -> IntArray:
        at = np.array(nodes, dtype=np.intp).ravel()
        path = np.full((len(at), self.depth), -1, dtype=np.intp)
        for level in range(int(self.levels[at].max(initial=0)), 0, -1):
            here = np.flatnonzero(self.levels[at] == level)
            path[here, level - 1] = at[here]
            at[here] = self.parent[at[here]]
        return path.reshape(*np.shape(nodes), self.depth)


def _frozen(array: AnyArray) -> AnyArray:
    array.flags.writeable = False
    return array


def _tree_of_columns(columns: LabelColumns) -> tuple[AnyArray, IntArray, IntArray]:
    """Number the nodes of paths in preorder; a node is identified by its parent and label.

    Returns the label and the parent of every node, and the deepest node of every row.
    """
    node = np.zeros(columns.n_rows, dtype=np.intp)  # numbered level by level for now
    parent, label, starts = [np.zeros(1, dtype=np.intp)], [np.array([None])], [0, 1]
    for codes, values in zip(columns.codes, columns.values, strict=True):
        rows: Any = np.flatnonzero(codes >= 0)
        if not len(rows):
            continue
        if len(rows) == len(codes):
            rows = slice(None)
        key = (node[rows] - starts[-2]) * len(values) + codes[rows]
        distinct, rank = rank_keys(key, (starts[-1] - starts[-2]) * len(values))
        node[rows] = starts[-1] + rank
        parent.append(starts[-2] + distinct // len(values))
        # tolist: labels are plain Python objects from here on.
        label.append(object_array(values.tolist())[distinct % len(values)])
        starts.append(starts[-1] + len(distinct))
    parents, labels = np.concatenate(parent), np.concatenate(label)
    number = _preorder(parents, starts)
    order = np.argsort(number)
    return labels[order], number[parents[order]], number[node]


def gather(indptr: IntArray, indices: IntArray, rows: IntArray) -> IntArray:
    """Concatenate the entries of some rows of a CSR structure, without a loop."""
    counts = indptr[rows + 1] - indptr[rows]
    shift = np.repeat(indptr[rows] - np.cumsum(counts) + counts, counts)
    return indices[shift + np.arange(len(shift))]


def _preorder(parent: IntArray, starts: list[int]) -> IntArray:
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
