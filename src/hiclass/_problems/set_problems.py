"""Which local problems are there where rows are sets of nodes? Pure functions, as ``_problems``.

The same strategies and the same six policies, read by the closure: ``own(c)`` are the rows that
have class *c* among their most specific classes, ``below(c)`` those that have it at all, siblings
are the other children of any parent. A row may be in several children of a node, so each child is a
question of its own, and nothing is normalised. A problem over several nodes has one column of its
target per node. Nodes without training rows are asked nothing; a node that is in every row of its
problem is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hiclass._closure import rows_of
from hiclass._problems.problems import LocalProblem, all_as_none, largest_first, simplify
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy

#: Policies whose classifiers are trained among the rows of a node's parents only.
INSIDE_PARENT = ("siblings", "exclusive_siblings")


class SetIndex:
    """The training rows of every node.

    Parameters
    ----------
    hierarchy : Hierarchy
        A tree or a DAG.
    closed, own : sparse arrays of shape (n_rows, n_nodes)
        All nodes of every row, and the most specific of them.
    """

    def __init__(self, hierarchy: Hierarchy, closed: Any, own: Any) -> None:
        self.hierarchy = hierarchy
        self.closed = closed
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

    def children(self, node: int) -> IntArray:
        """Children of a node that have training rows."""
        children = self.hierarchy.children(node)
        return children[self.n_below[children] > 0]

    def siblings(self, node: int) -> IntArray:
        """Siblings of a node that have training rows."""
        siblings = self.hierarchy.siblings(node)
        return siblings[self.n_below[siblings] > 0]

    def union(self, rows_of: Callable[[int], IntArray], nodes: IntArray) -> IntArray:
        """Rows of any of some nodes, ascending."""
        parts = [rows_of(v) for v in nodes.tolist()]
        return np.unique(np.concatenate([np.empty(0, dtype=np.intp), *parts]))

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


def _asked(index: SetIndex, nodes: IntArray, n_rows: int) -> IntArray:
    """The nodes that some rows are in and some are not."""
    return nodes[(index.n_below[nodes] > 0) & (index.n_below[nodes] < n_rows)]


# -- strategies --------------------------------------------------------------------------------


def set_problems_per_parent(index: SetIndex) -> Iterator[LocalProblem]:
    """One problem per node: which of its children the rows of the node are in."""
    inner = np.flatnonzero(~index.hierarchy.is_leaf & (index.n_below > 0))
    for node in largest_first(inner, index.n_below):
        asked = _asked(index, index.children(node), int(index.n_below[node]))
        if len(asked):
            rows = all_as_none(index.below(node), index.n_rows)
            yield LocalProblem(node, rows, index.target(rows, asked), asked)


def set_problems_per_level(index: SetIndex) -> Iterator[LocalProblem]:
    """One problem per level, over all its nodes and all rows."""
    for level, nodes in enumerate(index.hierarchy.nodes_by_level[1:], start=1):
        asked = _asked(index, nodes, index.n_rows)
        if len(asked):
            yield LocalProblem(level, None, index.target(None, asked), asked)


def set_problems_flat(index: SetIndex) -> Iterator[LocalProblem]:
    """One problem over all nodes and all rows."""
    asked = _asked(index, np.arange(1, index.hierarchy.n_nodes), index.n_rows)
    if len(asked):
        yield LocalProblem(0, None, index.target(None, asked), asked)


def set_problems_per_node(
    index: SetIndex, policy: str, *, lenient: bool = False
) -> Iterator[LocalProblem]:
    """One binary problem per node that has both positive and negative rows.

    Raises
    ------
    ValueError
        If the policy leaves a class without positive rows; not with ``lenient``, for folds.
    """
    if not index.n_own[~index.hierarchy.is_leaf].any():
        policy = simplify(policy)
    select = _POLICY_SETS[policy]
    for node in largest_first(1 + np.flatnonzero(index.n_below[1:]), index.n_below):
        positive, negative = select(index, node)
        if len(positive) and len(negative):
            rows = np.concatenate([positive, negative])
            target = np.repeat([1, 0], [len(positive), len(negative)])
            order = np.argsort(rows)
            classes = np.array([-1, node])
            yield LocalProblem(node, all_as_none(rows[order], index.n_rows), target[order], classes)
        elif not len(positive) and not lenient and len(index.siblings(node)):
            raise ValueError(
                f"The class {index.hierarchy.describe(node)} has no positive training rows under "
                f"binary_policy={policy!r}: no row has it as its most specific class. Use "
                f"binary_policy='siblings' or 'less_inclusive'."
            )


def set_gates(index: SetIndex) -> Iterator[LocalProblem]:
    """One binary problem, "does it end here?", per inner node where some rows end and some go on.

    For policies that train inside the parents: among siblings nobody learns that a row may be in
    none of them.
    """
    inner = ~index.hierarchy.is_leaf & (index.n_own > 0) & (index.n_own < index.n_below)
    for node in largest_first(np.flatnonzero(inner), index.n_below):
        rows = index.below(node)
        ends = np.isin(rows, index.own(node), assume_unique=True).astype(np.intp)
        yield LocalProblem(
            node, all_as_none(rows, index.n_rows), ends, np.array([-1, node]), gate=True
        )


def count_set_problems(strategy: str, index: SetIndex) -> int:
    """How many problems a strategy has; per node at most that many."""
    hierarchy, n_below = index.hierarchy, index.n_below
    if strategy == "parent":
        child = np.repeat(np.arange(hierarchy.n_nodes), np.diff(hierarchy.parent_indptr))
        parent = hierarchy.parent_indices
        undecided = (n_below[child] > 0) & (n_below[child] < n_below[parent])
        return len(np.unique(parent[undecided]))
    asked = 1 + np.flatnonzero((n_below[1:] > 0) & (n_below[1:] < index.n_rows))
    if strategy == "level":
        return len(np.unique(hierarchy.levels[asked]))
    if strategy == "flat":
        return int(len(asked) > 0)
    gates = ~hierarchy.is_leaf & (index.n_own > 0) & (index.n_own < n_below)
    return int((n_below[1:] > 0).sum() + gates.sum())


# -- the six policies --------------------------------------------------------------------------
# Each returns the positive and the negative rows of a node. Positives win over negatives.

Rows = tuple[IntArray, IntArray]


def _exclusive(index: SetIndex, node: int) -> Rows:
    return index.own(node), _all_but(index, index.own(node))


def _less_exclusive(index: SetIndex, node: int) -> Rows:
    return index.own(node), _all_but(index, index.below(node))


def _less_inclusive(index: SetIndex, node: int) -> Rows:
    return index.below(node), _all_but(index, index.below(node))


def _inclusive(index: SetIndex, node: int) -> Rows:
    end_above = index.union(index.own, index.hierarchy.ancestors(node))
    return index.below(node), _all_but(index, index.below(node), end_above)


def _siblings(index: SetIndex, node: int) -> Rows:
    positive = index.below(node)
    others = index.union(index.below, index.siblings(node))
    return positive, np.setdiff1d(others, positive, assume_unique=True)


def _exclusive_siblings(index: SetIndex, node: int) -> Rows:
    positive = index.own(node)
    others = index.union(index.own, index.siblings(node))
    return positive, np.setdiff1d(others, positive, assume_unique=True)


_POLICY_SETS: dict[str, Callable[[SetIndex, int], Rows]] = {
    "exclusive": _exclusive,
    "less_exclusive": _less_exclusive,
    "less_inclusive": _less_inclusive,
    "inclusive": _inclusive,
    "siblings": _siblings,
    "exclusive_siblings": _exclusive_siblings,
}


def _all_but(index: SetIndex, *excluded: IntArray) -> IntArray:
    keep = np.ones(index.n_rows, dtype=bool)
    for rows in excluded:
        keep[rows] = False
    return np.flatnonzero(keep)
