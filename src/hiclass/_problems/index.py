"""Which training rows are in which class: one view of the rows for trees, DAGs and sets of labels.

A policy or a strategy needs two things only. ``own(c)`` are the rows whose most specific class is
``c`` (with several labels per row: that have ``c`` among their most specific classes), and
``below(c)`` the rows of ``c`` or of a class below it. Everything else follows from these.

In a tree with one path per row, one stable sort of the rows by their node gives both: nodes are
numbered in preorder, so that the rows of every subtree are a contiguous run (:class:`TreeIndex`).
Otherwise the columns of sparse matrices do (:class:`SetIndex`).
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
        The node, or the level, that the problem belongs to.
    rows : ndarray of int, or None
        The training rows, ascending; ``None`` for all of them.
    target : ndarray of int
        The class of each of these rows, 0 .. k - 1; where rows are sets of classes, one column of 0
        and 1 per class.
    classes : ndarray of int
        What the classes mean: nodes, where the owner itself means "stop here". For a binary problem
        per node, -1 (not this node) and the node; for a gate, -1 (go on) and the node.
    gate : bool
        Whether a binary problem of the per-node strategy is "stop here, or go on?".
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
        Whether a row is in one child of a node at most, as in a tree with one path per row. Then
        siblings exclude one another: their probabilities are normalised, and an only child is
        certain.
    """

    hierarchy: Hierarchy
    n_rows: int
    exclusive: bool

    @abstractmethod
    def own(self, node: int) -> IntArray:
        """Rows whose most specific class is the node, ascending."""

    @abstractmethod
    def below(self, node: int) -> IntArray:
        """Rows of the node or of a class below it, ascending."""

    def members(
        self, nodes: IntArray, rows: IntArray | None = None, *, own: bool = False
    ) -> Iterator[AnyArray]:
        """For each of some nodes, which of some rows are below it, or ``own`` it, as a mask.

        Parameters
        ----------
        nodes : ndarray of int
            The nodes.
        rows : ndarray of int, default=None
            The rows, ascending; all by default.
        own : bool, default=False
            Whether only rows count whose most specific class is the node.
        """
        find = self.own if own else self.below
        for node in nodes.tolist():
            mask = np.zeros(self.n_rows, dtype=bool)
            mask[find(node)] = True
            yield mask if rows is None else mask[rows]

    def rows_of_children(self, parents: IntArray, *, own: bool = False) -> IntArray:
        """Rows below any child of some nodes, or whose most specific class is one, ascending."""
        find = self.own if own else self.below
        mask = np.zeros(self.n_rows, dtype=bool)
        for parent in parents.tolist():
            for child in self.hierarchy.children(parent).tolist():
                mask[find(child)] = True
        return np.flatnonzero(mask)


class RowCounts:
    """How many rows every node of a tree has.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    n_own : ndarray of int
        How many rows have each node as their most specific one.

    Attributes
    ----------
    n_below : ndarray of int
        How many rows are in each node or below it.
    """

    def __init__(self, hierarchy: Hierarchy, n_own: IntArray) -> None:
        self.hierarchy = hierarchy
        self.n_own = n_own
        # In preorder the nodes below a node follow it, so totals are differences of running sums.
        self._start: IntArray = np.concatenate([[0], np.cumsum(n_own)])
        self.n_below: IntArray = self._start[hierarchy.subtree_end] - self._start[:-1]


class BatchIndex(RowIndex):
    """The rows of a tree in a batch, from one stable sort; no array has an entry per node.

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
        # NumPy sorts numbers of 16 bits by counting, several times faster.
        small = nodes.astype(np.uint16) if hierarchy.n_nodes <= 1 << 16 else nodes
        self._order = np.argsort(small, kind="stable")

    @cached_property
    def _sorted(self) -> IntArray:
        return self.nodes[self._order]

    @cached_property
    def distinct(self) -> IntArray:
        """The most specific nodes of the rows, each once, ascending."""
        return np.unique(self.nodes)

    def reached(self) -> IntArray:
        """The root and all nodes that have rows at or below them, ascending."""
        nodes = np.unique(self.hierarchy._paths[self.distinct])
        return np.concatenate([[0], nodes[nodes > 0]])

    def _first(self, node: int) -> int:
        """Where the rows of a node, and of all nodes after it, begin in the order."""
        return int(self._sorted.searchsorted(node))

    def own(self, node: int) -> IntArray:
        """Rows whose most specific class is the node, ascending."""
        return self._order[self._first(node) : self._first(node + 1)]

    def below(self, node: int, *, strictly: bool = False) -> IntArray:
        """Rows of the node or below it (or only below it), ascending."""
        start = self._first(node + strictly)
        stop = self._first(int(self.hierarchy.subtree_end[node]))
        if stop - start == self.n_rows:
            return np.arange(self.n_rows)
        return np.sort(self._order[start:stop])

    def child_of(self, rows: IntArray, children: IntArray) -> IntArray:
        """Which of the children of a node each row belongs to; -1 for a row of the node itself."""
        # Siblings are disjoint intervals of node numbers.
        if len(rows) < self.hierarchy.n_nodes:
            return np.searchsorted(children, self.nodes[rows], side="right") - 1
        of_node = np.searchsorted(children, np.arange(self.hierarchy.n_nodes), side="right") - 1
        return of_node[self.nodes[rows]]

    def members(
        self, nodes: IntArray, rows: IntArray | None = None, *, own: bool = False
    ) -> Iterator[AnyArray]:
        """As for all indices; a subtree is an interval of node numbers."""
        if rows is None:
            yield from super().members(nodes, own=own)
            return
        at = self.nodes[rows]
        for node in nodes.tolist():
            yield at == node if own else (at >= node) & (at < self.hierarchy.subtree_end[node])

    def rows_of_children(self, parents: IntArray, *, own: bool = False) -> IntArray:
        """As for all indices; the rows below the children of one node are a run."""
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
    """The training rows of every node of a tree or a DAG, where a row may have several labels.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree or a DAG.
    closed, own : sparse arrays of shape (n_rows, n_nodes)
        All nodes of every row, and the most specific of them.

    Attributes
    ----------
    n_own, n_below : ndarray of int
        How many rows own each node, and how many are in it.
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
        """Rows that have the node among their most specific ones, ascending.

        A row without labels ends at the root.
        """
        return rows_of(self._own, node) if node else self._without_labels

    def below(self, node: int) -> IntArray:
        """Rows that are in the node, ascending."""
        return rows_of(self._below, node)

    def undecided(self, nodes: IntArray, n_rows: int) -> IntArray:
        """The nodes that some, but not all, of so many rows are in."""
        return nodes[(self.n_below[nodes] > 0) & (self.n_below[nodes] < n_rows)]

    def target(self, rows: IntArray | None, nodes: IntArray) -> IntArray:
        """Which of some rows are in which of some nodes: 0 or 1; one column is 1-D.

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
    """How many rows end at each node of an encoded target; None where rows are sets."""
    if target.of_sets:
        return None
    return np.bincount(target.nodes, minlength=target.hierarchy.n_nodes)


def weight_by_node(hierarchy: Hierarchy, nodes: IntArray, weights: Any) -> FloatArray:
    """The weight of the rows that end at each node; without weights, their number."""
    counts = np.bincount(nodes, weights=weights, minlength=hierarchy.n_nodes)
    return counts.astype(np.float64, copy=False)


def find_options(counts: RowCounts, *, leaf_only: bool) -> Options:
    """Work out the options of every node from the numbers of training rows.

    With ``leaf_only`` a row that ends at an inner node tells nothing about what is below it. Only
    where no row at all goes on from a node does a path still end there: nothing is known below.
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
    # Children come first and ascending, the stop last, because the sort is stable.
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
    """Some of so many rows as ``LocalProblem.rows``."""
    return None if len(rows) == n_rows else rows


def largest_first(nodes: IntArray, n_below: IntArray) -> list[int]:
    """Nodes by their number of rows: a large problem that starts last would keep others waiting."""
    order = np.argsort(-n_below[nodes], kind="stable")
    return nodes[order].tolist()


def rows_of_options(index: BatchIndex, options: Options, node: int) -> tuple[IntArray, IntArray]:
    """Rows that go on from a node, and the position of the option that each one takes."""
    children = child_branches(options, node)
    rows = index.below(node, strictly=not options.can_stop[node])
    taken = index.child_of(rows, children)
    return rows, np.where(taken < 0, len(children), taken)


def first_parents(hierarchy: Hierarchy, nodes: Any) -> Any:
    """The parent of one node or of several, the first one in a DAG; the root for itself."""
    # The first entry, to which the root points as well, is the parent of node 1: the root.
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
