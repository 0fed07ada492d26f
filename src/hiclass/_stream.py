"""Batches of a stream: which classifiers a batch updates, and with which rows.

Pure functions on integers, as in ``_problems``, whose policies are used as they are. What differs
from ``fit`` is what is known when. A classifier must know its classes before there are rows of all
of them. So there are two sets of options: the *layout*, all that the classifiers can tell apart,
and the options proper, of which there have been rows. Targets count in the layout; predictions
choose among the options, so that a class without rows has the probability 0 as after ``fit``.

The work of a batch grows with its rows and their depth, not with the number of nodes: nothing here
looks at a node without rows in the batch, but for the policies that want every row at every node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hiclass._graph import gather
from hiclass._labels import AnyArray, IntArray
from hiclass._problems import (
    _POLICY_SETS,
    LocalProblem,
    Options,
    RowCounts,
    SortedRows,
    _rows_of_options,
    find_options,
    simplify,
)
from hiclass.hierarchy import Hierarchy

#: Policies that train a class on rows from all over the tree, so that no batch leaves it alone.
_OF_ALL_ROWS = frozenset({"exclusive", "less_exclusive", "less_inclusive", "inclusive"})


class BatchIndex(SortedRows):
    """The rows of every node in a batch.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree.
    nodes : ndarray of int
        The most specific node of every row.
    """

    def __init__(self, hierarchy: Hierarchy, nodes: IntArray) -> None:
        super().__init__(hierarchy, nodes)
        self.distinct = np.unique(nodes)

    def reached(self) -> IntArray:
        """The root and all nodes that have rows at or below them, ascending."""
        nodes = np.unique(self.hierarchy.ancestor_table[self.distinct])
        return np.concatenate([[0], nodes[nodes > 0]])


def make_layout(hierarchy: Hierarchy, stops: AnyArray) -> Options:
    """All children of every node, and "stop here" at the inner nodes of a mask."""
    wanted = hierarchy.is_leaf | stops
    wanted[0] = False
    return find_options(RowCounts(hierarchy, wanted.astype(np.intp)), leaf_only=False)


@dataclass(frozen=True)
class LevelColumns:
    """The columns of the classifiers per level.

    Attributes
    ----------
    classes : list of ndarray
        Per level, from 1, what its columns mean.
    child, stop : ndarray of int
        By node: its column among the classes of its level, and the column of stopping at it among
        those of the next level.
    """

    classes: list[IntArray]
    child: IntArray
    stop: IntArray


def level_columns(hierarchy: Hierarchy, layout: Options) -> LevelColumns:
    """Number the classes of every level: the options of its parents, one after the other."""
    classes = []
    child, stop = np.zeros((2, hierarchy.n_nodes), dtype=np.intp)
    for level, parents in enumerate(hierarchy.nodes_by_level[:-1], start=1):
        here = gather(layout.indptr, layout.indices, parents)
        column = np.arange(len(here))
        goes_on = hierarchy.levels[here] == level
        child[here[goes_on]] = column[goes_on]
        stop[here[~goes_on]] = column[~goes_on]
        classes.append(here)
    return LevelColumns(classes, child, stop)


# -- the problems of a batch -------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What a batch updates: so many problems, made one by one."""

    n_problems: int
    problems: Iterator[LocalProblem]


def plan_per_parent(index: BatchIndex, layout: Options) -> Plan:
    """The touched nodes from which there are several ways to go on."""
    reached = index.reached()
    reached = reached[_lengths(layout.indptr, reached) > 1]
    problems = []
    for node in reached.tolist():
        rows, target = _rows_of_options(index, layout, node)
        if len(rows):
            problems.append(LocalProblem(node, rows, target, layout.of(node)))
    return _as_plan(problems)


def plan_per_level(index: BatchIndex, layout: Options, columns: LevelColumns) -> Plan:
    """The levels that rows reach, or stop just above."""
    hierarchy, nodes = index.hierarchy, index.nodes
    level_of_row = hierarchy.levels[nodes]
    problems = []
    for level, classes in enumerate(columns.classes, start=1):
        stops = (level_of_row == level - 1) & layout.can_stop[nodes]
        rows = np.flatnonzero((level_of_row >= level) | stops)
        if len(rows) and len(classes) > 1:
            at = nodes[rows]
            taken = columns.child[hierarchy.ancestor_table[at, level - 1]]
            target = np.where(level_of_row[rows] >= level, taken, columns.stop[at])
            problems.append(LocalProblem(level, rows, target, classes))
    return _as_plan(problems)


def plan_flat(index: BatchIndex, layout: Options) -> Plan:
    """The one problem, if rows end where a path may end."""
    ends = layout.ends
    place = np.minimum(np.searchsorted(ends, index.nodes), len(ends) - 1)
    rows = np.flatnonzero(ends[place] == index.nodes)
    if len(ends) < 2 or not len(rows):
        return _as_plan([])
    return _as_plan([LocalProblem(0, rows, place[rows], ends)])


def plan_per_node(index: BatchIndex, layout: Options, policy: str) -> Plan:
    """The binary problems that a policy gives rows of the batch, and the gates that they pass."""
    hierarchy = index.hierarchy
    reached = index.reached()
    if policy in _OF_ALL_ROWS:
        parents = np.flatnonzero(~hierarchy.is_leaf)
    elif policy == "exclusive_siblings":
        parents = np.unique(hierarchy.parent[index.distinct])
    else:
        # A row that ends at a node says nothing about the children of that node.
        parents = np.unique(hierarchy.parent[reached[1:]])
    gates = reached[layout.can_stop[reached]]
    n_children = _lengths(hierarchy.child_indptr, parents)
    parents, n_children = parents[n_children > 1], n_children[n_children > 1]

    def problems() -> Iterator[LocalProblem]:
        for parent in parents.tolist():
            children = layout.children_of(parent)
            found = _POLICY_SETS[policy](index, parent, children)
            for node, (rows, positive) in zip(children.tolist(), found, strict=True):
                if len(positive):
                    target = positive.astype(np.intp)
                    yield LocalProblem(node, rows, target, np.array([-1, node]))
        for node in gates.tolist():
            rows = index.below(node)
            stops = (index.nodes[rows] == node).astype(np.intp)
            yield LocalProblem(node, rows, stops, np.array([-1, node]), gate=True)

    return Plan(int(n_children.sum()) + len(gates), problems())


def _lengths(indptr: IntArray, rows: IntArray) -> IntArray:
    return indptr[rows + 1] - indptr[rows]


def _as_plan(problems: list[LocalProblem]) -> Plan:
    return Plan(len(problems), iter(problems))


def read_policy(policy: str, ends_early: bool) -> str:
    """The policy that a stream follows from its beginning; see ``problems_per_node``."""
    return policy if ends_early else simplify(policy)


# -- what a batch must not bring, and what it leaves open --------------------------------------


def check_layout(hierarchy: Hierarchy, layout: Options, nodes: IntArray, leaf_only: bool) -> None:
    """Refuse rows of classes that had no rows in ``fit``, so that no classifier knows them."""
    known = np.zeros(hierarchy.n_nodes, dtype=bool)
    known[layout.indices] = True
    remedy = (
        "A model that fit has begun knows only classes of which fit had rows. Call fit with such "
        "rows, or start anew with partial_fit and classes=."
    )
    path = hierarchy.ancestor_table[nodes]
    unknown = (path >= 0) & ~known[path]
    if unknown.any():
        row, level = (int(i[0]) for i in np.nonzero(unknown))
        name = hierarchy.describe(int(path[row, level]))
        raise ValueError(f"Row {row} of y: the classifiers do not know the class {name}. {remedy}")
    stops = ~hierarchy.is_leaf[nodes] & ~layout.can_stop[nodes]
    if stops.any() and not leaf_only:
        row = int(np.argmax(stops))
        name = hierarchy.describe(int(nodes[row]))
        raise ValueError(f"Row {row} of y ends at {name}, where no path has ended before. {remedy}")


def note_sides(problem: LocalProblem, is_new: bool, one_sided: dict[int, int]) -> None:
    """Note in ``one_sided`` whether a binary classifier has seen rows of one class only."""
    key = ~problem.owner if problem.gate else problem.owner
    low, high = int(problem.target.min()), int(problem.target.max())
    if is_new and low == high:
        one_sided[key] = low
    elif not low == high == one_sided.get(key):
        one_sided.pop(key, None)
