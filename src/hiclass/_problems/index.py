"""Which training rows belong to which class: one view for trees, DAGs and sets of labels.

A policy or a strategy needs only two things. ``own(c)`` are the rows whose most specific class is
``c`` (with several labels per row: that have ``c`` among their most specific classes). ``below(c)``
are the rows of ``c`` or of a descendant. Everything else follows from these.

In a tree with one path per row, one stable sort of the rows by their node gives both: nodes are
numbered in preorder, so the rows of every subtree are contiguous (:class:`TreeIndex`). Otherwise,
they are the columns of sparse matrices (:class:`SetIndex`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hiclass._closure import rows_of
from hiclass._state import Options
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class LocalProblem:
    """One small classification problem.

    Attributes
    ----------
    owner : int
        The node or level of the problem.
    rows : ndarray of int, or None
        The training rows in ascending order; ``None`` for all rows.
    target : ndarray of int
        The class of each of these rows, 0 .. k - 1. If rows are sets of classes, one column of 0
        and 1 per class.
    classes : ndarray of int
        The meaning of the classes: nodes, where the owner itself means "stop here". For a binary
        problem per node, -1 (not this node) and the node. For a gate, -1 (continue) and the node.
    gate : bool
        Whether a binary problem of the per-node strategy decides between "stop here" and
        "continue".
    """

    owner: int
    rows: IntArray | None
    target: IntArray
    classes: IntArray
    gate: bool = False


class RowIndex(ABC):
    """The training rows of every class.

    Attributes
    ----------
    hierarchy : Hierarchy
        The classes.
    n_rows : int
        Number of training rows.
    exclusive : bool
        Whether a row belongs to at most one child of a node, as in a tree with one path per row.
        Siblings are then mutually exclusive: their probabilities are normalised, and an only child
        is certain.
    """

    hierarchy: Hierarchy
    n_rows: int
    exclusive: bool

    @abstractmethod
    def own(self, node: int) -> IntArray:
        """Rows whose most specific class is the node, in ascending order."""

    @abstractmethod
    def below(self, node: int) -> IntArray:
        """Rows of the node or of a descendant, in ascending order."""

    def members(
        self, nodes: IntArray, rows: IntArray | None = None, *, own: bool = False
    ) -> Iterator[AnyArray]:
        """For each of some nodes, which of some rows are below it, or ``own`` it, as a mask.

        Parameters
        ----------
        nodes : ndarray of int
            The nodes.
        rows : ndarray of int, default=None
            The rows in ascending order. By default, all rows.
        own : bool, default=False
            Whether only rows count whose most specific class is the node.
        """
        find = self.own if own else self.below
        for node in nodes.tolist():
            mask = np.zeros(self.n_rows, dtype=bool)
            mask[find(node)] = True
            yield mask if rows is None else mask[rows]

    def rows_of_children(self, parents: IntArray, *, own: bool = False) -> IntArray:
        """Rows below any child of some nodes, or ending at one, in ascending order."""
        find = self.own if own else self.below
        mask = np.zeros(self.n_rows, dtype=bool)
        for parent in parents.tolist():
            for child in self.hierarchy.children(parent).tolist():
                mask[find(child)] = True
        return np.flatnonzero(mask)


class RowCounts:
    """The number of rows of every node of a tree.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    n_own : ndarray of int
        The number of rows whose most specific node is each node.

    Attributes
    ----------
    n_below : ndarray of int
        The number of rows at or below each node.
    """

    def __init__(self, hierarchy: Hierarchy, n_own: IntArray) -> None:
        self.hierarchy = hierarchy
        self.n_own = n_own
        # In preorder, the descendants of a node follow it, so totals are differences of running
        # sums.
        self._start: IntArray = np.concatenate([[0], np.cumsum(n_own)])
        self.n_below: IntArray = self._start[hierarchy.subtree_end] - self._start[:-1]


class BatchIndex(RowIndex):
    """The rows of a batch in a tree, from one stable sort; no array has an entry per node.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    nodes : ndarray of int
        The most specific node of every row.
    """

    exclusive = True

    def __init__(self, hierarchy: Hierarchy, nodes: IntArray) -> None:
        self.hierarchy = hierarchy
        self.nodes = nodes
        self.n_rows = len(nodes)
        # NumPy sorts 16-bit numbers by counting, which is several times faster.
        small = nodes.astype(np.uint16) if hierarchy.n_nodes <= 1 << 16 else nodes
        self._order = np.argsort(small, kind="stable")

    @cached_property
    def _sorted(self) -> IntArray:
        return self.nodes[self._order]

    @cached_property
    def distinct(self) -> IntArray:
        """The distinct most specific nodes of the rows, in ascending order."""
        return np.unique(self.nodes)

    def reached(self) -> IntArray:
        """The root and all nodes with rows at or below them, in ascending order."""
        nodes = np.unique(self.hierarchy._paths[self.distinct])
        return np.concatenate([[0], nodes[nodes > 0]])

    def _first(self, node: int) -> int:
        """The position of the first row of a node, or of a node after it."""
        return int(self._sorted.searchsorted(node))

    def own(self, node: int) -> IntArray:
        """Rows whose most specific class is the node, in ascending order."""
        return self._order[self._first(node) : self._first(node + 1)]

    def below(self, node: int, *, strictly: bool = False) -> IntArray:
        """Rows at or below the node (or only below it), in ascending order."""
        start = self._first(node + strictly)
        stop = self._first(int(self.hierarchy.subtree_end[node]))
        if stop - start == self.n_rows:
            return np.arange(self.n_rows)
        return np.sort(self._order[start:stop])

    def child_of(self, rows: IntArray, children: IntArray) -> IntArray:
        """The child of a node to which each row belongs; -1 for a row that ends at the node."""
        # Siblings are disjoint intervals of node numbers.
        if len(rows) < self.hierarchy.n_nodes:
            return np.searchsorted(children, self.nodes[rows], side="right") - 1
        of_node = np.searchsorted(children, np.arange(self.hierarchy.n_nodes), side="right") - 1
        return of_node[self.nodes[rows]]

    def members(
        self, nodes: IntArray, rows: IntArray | None = None, *, own: bool = False
    ) -> Iterator[AnyArray]:
        """As for all indexes; a subtree is an interval of node numbers."""
        if rows is None:
            yield from super().members(nodes, own=own)
            return
        at = self.nodes[rows]
        for node in nodes.tolist():
            yield at == node if own else (at >= node) & (at < self.hierarchy.subtree_end[node])

    def rows_of_children(self, parents: IntArray, *, own: bool = False) -> IntArray:
        """As for all indexes; the rows below the children of one node are contiguous."""
        if own or len(parents) != 1:
            return super().rows_of_children(parents, own=own)
        return self.below(int(parents[0]), strictly=True)


class TreeIndex(BatchIndex, RowCounts):
    """The training rows of every node of a tree, and their numbers.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    nodes : ndarray of int
        The most specific node of every row.
    """

    def __init__(self, hierarchy: Hierarchy, nodes: IntArray) -> None:
        BatchIndex.__init__(self, hierarchy, nodes)
        RowCounts.__init__(self, hierarchy, np.bincount(nodes, minlength=hierarchy.n_nodes))

    def _first(self, node: int) -> int:
        # Known from counting, without a search.
        return int(self._start[node])


class SetIndex(RowIndex):
    """The training rows of every node of a tree or a DAG, if a row may have several labels.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree or a DAG.
    closed, own : sparse arrays of shape (n_rows, n_nodes)
        All nodes of every row, and the most specific of them.

    Attributes
    ----------
    n_own, n_below : ndarray of int
        The number of rows that end at each node, and that belong to it.
    """

    exclusive = False

    def __init__(self, hierarchy: Hierarchy, closed: Any, own: Any) -> None:
        self.hierarchy = hierarchy
        self.n_rows = int(closed.shape[0])
        self._below, self._own = closed.tocsc(), own.tocsc()
        self.n_below: IntArray = np.diff(self._below.indptr)
        self.n_own: IntArray = np.diff(self._own.indptr)
        self._without_labels = np.flatnonzero(np.diff(closed.indptr) == 1)
        self.n_own[0] = len(self._without_labels)

    def own(self, node: int) -> IntArray:
        """Rows that have the node among their most specific ones, in ascending order.

        A row without labels ends at the root.
        """
        return rows_of(self._own, node) if node else self._without_labels

    def below(self, node: int) -> IntArray:
        """Rows that belong to the node, in ascending order."""
        return rows_of(self._below, node)

    def undecided(self, nodes: IntArray, n_rows: int) -> IntArray:
        """The nodes to which some, but not all, of the rows belong."""
        return nodes[(self.n_below[nodes] > 0) & (self.n_below[nodes] < n_rows)]

    def target(self, rows: IntArray | None, nodes: IntArray) -> IntArray:
        """Membership of some rows in some nodes as 0 or 1; 1-D for a single node.

        The rows must contain all rows of these nodes.
        """
        n_rows = self.n_rows if rows is None else len(rows)
        target = np.zeros((n_rows, len(nodes)), dtype=np.intp)
        for j, node in enumerate(nodes.tolist()):
            here = self.below(node)
            target[here if rows is None else np.searchsorted(rows, here), j] = 1
        return target[:, 0] if len(nodes) == 1 else target


# -- branches of nodes -------------------------------------------------------------------------


def rows_by_node(target: Any) -> IntArray | None:
    """The number of rows that end at each node; None if rows are sets."""
    if target.of_sets:
        return None
    return np.bincount(target.nodes, minlength=target.hierarchy.n_nodes)


def weight_by_node(hierarchy: Hierarchy, nodes: IntArray, weights: Any) -> FloatArray:
    """The weight of the rows that end at each node; without weights, their number."""
    counts = np.bincount(nodes, weights=weights, minlength=hierarchy.n_nodes)
    return counts.astype(np.float64, copy=False)


def find_options(counts: RowCounts, *, leaf_only: bool) -> Options:
    """Determine the options of every node from the numbers of training rows.

    With ``leaf_only``, a row that ends at an inner node carries no information about the classes
    below it. A path may end at an inner node only if no row continues from there.
    """
    hierarchy = counts.hierarchy
    inner = ~hierarchy.is_leaf
    populated = counts.n_below > 0
    goes_on = counts.n_below > counts.n_own
    can_stop = inner & populated & (~goes_on if leaf_only else counts.n_own > 0)
    node = np.arange(hierarchy.n_nodes)
    child = np.flatnonzero(populated)[1:]
    stop = np.flatnonzero(can_stop)
    source = np.concatenate([hierarchy.parent[child], stop])
    # Children come first in ascending order, the stop last, because the sort is stable.
    order = np.argsort(source, kind="stable")
    n_options = np.bincount(source, minlength=hierarchy.n_nodes)
    ends = node[can_stop | (hierarchy.is_leaf & populated)]
    return Options(
        indptr=np.concatenate([[0], np.cumsum(n_options)]),
        indices=np.concatenate([child, stop])[order],
        can_stop=can_stop,
        ends=ends,
    )


def branches(options: Options, node: int) -> IntArray:
    """The branches of a node: its children with training rows and, last, itself for "stop here"."""
    return options.indices[options.indptr[node] : options.indptr[node + 1]]


def child_branches(options: Options, node: int) -> IntArray:
    """The branches of a node without "stop here"."""
    stop = options.indptr[node + 1] - options.can_stop[node]
    return options.indices[options.indptr[node] : stop]


def all_as_none(rows: IntArray, n_rows: int) -> IntArray | None:
    """The value of ``LocalProblem.rows``: None if these are all rows."""
    return None if len(rows) == n_rows else rows


def largest_first(nodes: IntArray, n_below: IntArray) -> list[int]:
    """Nodes by number of rows, largest first, so that no large problem starts last."""
    order = np.argsort(-n_below[nodes], kind="stable")
    return nodes[order].tolist()


def rows_of_options(index: BatchIndex, options: Options, node: int) -> tuple[IntArray, IntArray]:
    """Rows that continue from a node, and the position of the option of each row."""
    children = child_branches(options, node)
    rows = index.below(node, strictly=not options.can_stop[node])
    taken = index.child_of(rows, children)
    return rows, np.where(taken < 0, len(children), taken)


def first_parents(hierarchy: Hierarchy, nodes: Any) -> Any:
    """The parent of one or several nodes; in a DAG, the first parent; for the root, the root."""
    # The root points to the first entry, which is the parent of node 1: the root.
    return hierarchy.parent_indices[hierarchy.parent_indptr[nodes]]


def options_of(options: Options, nodes: IntArray) -> IntArray:
    """The options of several nodes, one node after the other."""
    return np.concatenate([branches(options, node) for node in nodes.tolist()])


def gate_problem(index: RowIndex, node: int) -> LocalProblem:
    """The problem "does the path stop here?", over all rows of a node."""
    rows = index.below(node)
    (stops,) = index.members(np.array([node]), rows, own=True)
    rows_or_none = all_as_none(rows, index.n_rows)
    return LocalProblem(node, rows_or_none, stops.astype(np.intp), np.array([-1, node]), gate=True)
