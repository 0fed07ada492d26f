"""Which local problems are there? Pure functions from encoded labels to rows and targets.

A strategy (per node, per parent node, per level, flat) is a generator of :class:`LocalProblem`. The
six policies of the per-node strategy are rows of a table. Nothing here sees X, labels or
estimators.

Two facts keep the bookkeeping small. Nodes are numbered in preorder, so one stable sort of the rows
by their node makes the rows of every subtree a contiguous run. And the ways to go on from a node,
its *options*, are its children with training rows plus, where rows end at the node, the node
itself: "stop here" is one option more, written as the number of the node.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hiclass._state import Options
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy

POLICIES = (
    "exclusive",
    "less_exclusive",
    "less_inclusive",
    "inclusive",
    "siblings",
    "exclusive_siblings",
)

#: The most rows that all classifiers per node may learn together, each row once per classifier. At
#: a million rows a second, which no classifier reaches, it would take eleven days.
_MOST_ROWS = 1e12


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
        The class of each of these rows, 0 .. k - 1.
    classes : ndarray of int
        What the classes mean: nodes, where the owner itself says "stop here". For a binary problem
        per node, -1 (not this node) and the node; for a gate, -1 (go on) and the node.
    gate : bool
        Whether this is the question "stop here?" of the per-node strategy.
    """

    owner: int
    rows: IntArray | None
    target: IntArray
    classes: IntArray
    gate: bool = False


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


class SortedRows:
    """The rows of every node of a tree, from one stable sort; no array has an entry per node.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    nodes : ndarray of int
        The most specific node of every row.
    """

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


class RowIndex(SortedRows, RowCounts):
    """The training rows of every node of a tree, and their numbers.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    nodes : ndarray of int
        The most specific node of every row.
    """

    def __init__(self, hierarchy: Hierarchy, nodes: IntArray) -> None:
        SortedRows.__init__(self, hierarchy, nodes)
        RowCounts.__init__(self, hierarchy, np.bincount(nodes, minlength=hierarchy.n_nodes))

    def _first(self, node: int) -> int:
        # Known from counting, without a search.
        return int(self._start[node])


def find_options(counts: RowCounts, *, leaf_only: bool) -> Options:
    """Work out the options of every node from the numbers of training rows.

    With ``leaf_only`` a row that ends at an inner node says nothing about what is below it. Only
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


def count_problems(strategy: str, options: Options, hierarchy: Hierarchy) -> int:
    """How many problems a strategy has."""
    n_options = np.diff(options.indptr)
    if strategy == "parent":
        return int((n_options > 1).sum())
    if strategy == "node":
        n_children = n_options - options.can_stop
        gates = options.can_stop & (n_children > 0)
        return int(n_children[n_children > 1].sum() + gates.sum())
    if strategy == "level":
        per_level = np.bincount(hierarchy.levels, weights=n_options)
        return int((per_level > 1).sum())
    return int(len(options.ends) > 1)


def local_classes(strategy: str, owner: int, options: Options, hierarchy: Hierarchy) -> IntArray:
    """What the classes of the problem of a node or level mean: ``LocalProblem.classes``."""
    if strategy == "parent":
        return options.of(owner)
    if strategy == "node":
        return np.array([-1, owner])
    if strategy == "level":
        return level_classes(options, hierarchy.nodes_by_level[owner - 1])
    return options.ends


def largest_first(nodes: IntArray, n_below: IntArray) -> list[int]:
    """Nodes by their number of rows: a large problem that starts last would keep others waiting."""
    order = np.argsort(-n_below[nodes], kind="stable")
    return nodes[order].tolist()


# -- strategies --------------------------------------------------------------------------------


def problems_per_parent(index: RowIndex, options: Options) -> Iterator[LocalProblem]:
    """One multi-class problem per node from which there are several ways to go on."""
    for node in largest_first(np.flatnonzero(np.diff(options.indptr) > 1), index.n_below):
        rows, target = _rows_of_options(index, options, node)
        yield LocalProblem(node, all_as_none(rows, index.n_rows), target, options.of(node))


def _rows_of_options(index: SortedRows, options: Options, node: int) -> tuple[IntArray, IntArray]:
    """Rows that go on from a node and the position of the option that each one takes."""
    children = options.children_of(node)
    rows = index.below(node, strictly=not options.can_stop[node])
    taken = _child_of(index, rows, children)
    return rows, np.where(taken < 0, len(children), taken)


def _child_of(index: SortedRows, rows: IntArray, children: IntArray) -> IntArray:
    """Which of the children of a node each row belongs to; -1 for a row of the node itself."""
    # Siblings are disjoint intervals of node numbers.
    if len(rows) < index.hierarchy.n_nodes:
        return np.searchsorted(children, index.nodes[rows], side="right") - 1
    of_node = np.searchsorted(children, np.arange(index.hierarchy.n_nodes), side="right") - 1
    return of_node[index.nodes[rows]]


def problems_per_level(index: RowIndex, options: Options) -> Iterator[LocalProblem]:
    """One multi-class problem per level, over the options of all nodes of the level above."""
    hierarchy = index.hierarchy
    level_of_row = hierarchy.levels[index.nodes]
    for level, parents in enumerate(hierarchy.nodes_by_level[:-1], start=1):
        classes = level_classes(options, parents)
        if len(classes) < 2:
            continue
        here = level_of_row >= level
        if options.can_stop[parents].any():
            here |= (level_of_row == level - 1) & options.can_stop[index.nodes]
        rows = np.flatnonzero(here)
        nodes = index.nodes[rows]
        # A row that ends above this level takes the stop option of its own node.
        taken = hierarchy._at_level(nodes, level)
        taken = np.where(taken < 0, nodes, taken)
        column = np.empty(hierarchy.n_nodes, dtype=np.intp)
        column[classes] = np.arange(len(classes))
        yield LocalProblem(level, all_as_none(rows, index.n_rows), column[taken], classes)


def level_classes(options: Options, parents: IntArray) -> IntArray:
    """Classes of a level: the options of its parents, one parent after the other."""
    return np.concatenate([options.of(p) for p in parents.tolist()])


def problems_flat(index: RowIndex, options: Options) -> Iterator[LocalProblem]:
    """One multi-class problem over all nodes at which a path may end."""
    if len(options.ends) < 2:
        return
    column = np.full(index.hierarchy.n_nodes, -1, dtype=np.intp)
    column[options.ends] = np.arange(len(options.ends))
    target = column[index.nodes]
    rows = np.flatnonzero(target >= 0)
    yield LocalProblem(0, all_as_none(rows, index.n_rows), target[rows], options.ends)


def problems_per_node(index: RowIndex, options: Options, policy: str) -> Iterator[LocalProblem]:
    """One binary problem per node with siblings, and a gate where paths may stop.

    Raises
    ------
    ValueError
        If the policy leaves a class without positive or without negative rows.
    """
    hierarchy = index.hierarchy
    inner = ~hierarchy.is_leaf
    literal = bool(index.n_own[inner].any())
    if not literal:
        policy = simplify(policy)
    _check_work(index, options)
    sets = _POLICY_SETS[policy]
    for parent in largest_first(np.flatnonzero(inner), index.n_below):
        children = options.children_of(parent)
        if len(children) > 1:
            for node, (rows, positive) in zip(
                children.tolist(), sets(index, parent, children), strict=True
            ):
                if positive.all() or not positive.any():
                    missing = "negative" if positive.any() else "positive"
                    raise ValueError(
                        f"The class {hierarchy.describe(node)} has no {missing} training rows "
                        f"under binary_policy={policy!r}. Use binary_policy='siblings', which "
                        f"always has both."
                    )
                classes = np.array([-1, node])
                yield LocalProblem(node, rows, positive.astype(np.intp), classes)
        if options.can_stop[parent] and len(children):
            rows = index.below(parent)
            stops = (index.nodes[rows] == parent).astype(np.intp)
            classes = np.array([-1, parent])
            yield LocalProblem(parent, all_as_none(rows, index.n_rows), stops, classes, gate=True)


def _check_work(index: RowIndex, options: Options) -> None:
    """Refuse, before any work, what would never end: many siblings, each asked about all rows."""
    n_children = np.diff(options.indptr) - options.can_stop
    # At least: most policies take more. An only child needs no classifier.
    rows = np.where(n_children > 1, n_children.astype(float), 0) * index.n_below
    if rows.sum() >= _MOST_ROWS:
        node = int(np.argmax(rows))
        raise ValueError(
            f"One binary classifier per node would have to learn {rows.sum():.1e} rows in all, "
            f"which is not below the limit of {_MOST_ROWS:.0e}: {index.hierarchy.describe(node)} "
            f"has {n_children[node]} children with {index.n_below[node]} rows. Use "
            f"LocalClassifierPerParentNode, or group the children."
        )


def simplify(policy: str) -> str:
    """Where no row ends at an inner node, "most specific class c" reads as "c or below"."""
    same = {
        "exclusive": "less_inclusive",
        "less_exclusive": "less_inclusive",
        "exclusive_siblings": "siblings",
    }.get(policy)
    if same is None:
        return policy
    warnings.warn(
        f"No training row ends at an inner node, so binary_policy={policy!r} is the same as "
        f"{same!r}: 'exclusive' and 'less_exclusive' equal 'less_inclusive', and "
        f"'exclusive_siblings' equals 'siblings'.",
        UserWarning,
        stacklevel=2,
    )
    return same


# -- the six policies --------------------------------------------------------------------------
# Each yields, for every child of a parent, the rows (None: all) and which of them are positive.

RowsAndPositive = tuple[IntArray | None, AnyArray]


def _siblings(index: SortedRows, parent: int, children: IntArray) -> Iterator[RowsAndPositive]:
    rows = index.below(parent, strictly=True)
    child = _child_of(index, rows, children)
    shared = all_as_none(rows, index.n_rows)
    for position in range(len(children)):
        yield shared, child == position


def _exclusive_siblings(
    index: SortedRows, parent: int, children: IntArray
) -> Iterator[RowsAndPositive]:
    rows = np.sort(np.concatenate([index.own(c) for c in children.tolist()]))
    for node in children.tolist():
        yield all_as_none(rows, index.n_rows), index.nodes[rows] == node


def _less_inclusive(
    index: SortedRows, parent: int, children: IntArray
) -> Iterator[RowsAndPositive]:
    for node in children.tolist():
        yield None, _mask(index, index.below(node))


def _exclusive(index: SortedRows, parent: int, children: IntArray) -> Iterator[RowsAndPositive]:
    for node in children.tolist():
        yield None, _mask(index, index.own(node))


def _less_exclusive(
    index: SortedRows, parent: int, children: IntArray
) -> Iterator[RowsAndPositive]:
    for node in children.tolist():
        rows = np.flatnonzero(~_mask(index, index.below(node, strictly=True)))
        yield all_as_none(rows, index.n_rows), index.nodes[rows] == node


def _inclusive(index: SortedRows, parent: int, children: IntArray) -> Iterator[RowsAndPositive]:
    above = [parent, *index.hierarchy.ancestors(parent).tolist()]
    rows = np.flatnonzero(~np.isin(index.nodes, above))
    shared = all_as_none(rows, index.n_rows)
    for node in children.tolist():
        yield shared, _mask(index, index.below(node))[rows]


_POLICY_SETS: dict[str, Callable[[SortedRows, int, IntArray], Iterator[RowsAndPositive]]] = {
    "exclusive": _exclusive,
    "less_exclusive": _less_exclusive,
    "less_inclusive": _less_inclusive,
    "inclusive": _inclusive,
    "siblings": _siblings,
    "exclusive_siblings": _exclusive_siblings,
}


def _mask(index: SortedRows, rows: IntArray) -> AnyArray:
    mask = np.zeros(index.n_rows, dtype=bool)
    mask[rows] = True
    return mask


def all_as_none(rows: IntArray, n_rows: int) -> IntArray | None:
    """Some of so many rows as ``LocalProblem.rows``."""
    return None if len(rows) == n_rows else rows
