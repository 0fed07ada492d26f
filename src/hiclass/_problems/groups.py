"""Strategies that group nodes, with one classifier for all branches of a group.

Two functions define the groups: ``owner(hierarchy, nodes)`` returns the number of the group of one
node or of an array of nodes, and ``nodes(hierarchy, owner)`` the nodes of a group. No node of a
group may be an ancestor of another, so that a path takes at most one branch of a group. Everything
else follows: the problems of ``fit``, those of a batch, and those of rows that are sets of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._problems.batches import Plan
from hiclass._problems.index import (
    BatchIndex,
    LocalProblem,
    SetIndex,
    all_as_none,
    first_parents,
    options_of,
    rows_of_options,
)
from hiclass._state import Options, Stream
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class Groups:
    """Groups of nodes, and the local problems that follow from them.

    Attributes
    ----------
    owner : callable
        ``(hierarchy, nodes)`` to the group of one node or of each of an array of nodes, starting at
        0.
    nodes : callable
        ``(hierarchy, owner)`` to the nodes of a group in ascending order.
    """

    owner: Callable[[Hierarchy, Any], Any]
    nodes: Callable[[Hierarchy, int], IntArray]

    def problems(
        self, index: BatchIndex, options: Options, policy: object = None
    ) -> Iterator[LocalProblem]:
        """One multi-class problem per group that rows reach, over all branches of its nodes."""
        reached = index.reached()
        goes_on = reached[options.indptr[reached + 1] > options.indptr[reached]]
        for owner in np.unique(self.owner(index.hierarchy, goes_on)).tolist():
            nodes = self.nodes(index.hierarchy, owner)
            classes = options_of(options, nodes)
            rows, target = _branches_taken(index, options, nodes)
            if len(classes) > 1 and len(rows):
                yield LocalProblem(owner, all_as_none(rows, index.n_rows), target, classes)

    def count(self, options: Options, hierarchy: Hierarchy) -> int:
        """The number of groups with several branches."""
        owner = self.owner(hierarchy, np.arange(hierarchy.n_nodes))
        return int((np.bincount(owner, weights=np.diff(options.indptr)) > 1).sum())

    def plan(self, index: BatchIndex, stream: Stream) -> Plan:
        """The groups that the rows of a batch reach, with all possible branches."""
        problems = list(self.problems(index, stream.layout))
        return Plan(len(problems), iter(problems))

    def set_problems(
        self, index: SetIndex, policy: object, lenient: bool
    ) -> Iterator[LocalProblem]:
        """One problem per group, over all children of its nodes and all rows."""
        classes, owner = self._undecided(index)
        for group in np.unique(owner).tolist():
            here = classes[owner == group]
            yield LocalProblem(group, None, index.target(None, here), here)

    def count_sets(self, index: SetIndex) -> int:
        """The number of groups with classes to decide about."""
        return len(np.unique(self._undecided(index)[1]))

    def _undecided(self, index: SetIndex) -> tuple[IntArray, IntArray]:
        """The classes to decide about, and the group of each, which is that of its first parent."""
        classes = index.undecided(np.arange(1, index.hierarchy.n_nodes), index.n_rows)
        return classes, self.owner(index.hierarchy, first_parents(index.hierarchy, classes))


def _branches_taken(
    index: BatchIndex, options: Options, nodes: IntArray
) -> tuple[IntArray, IntArray]:
    """Rows that continue from some nodes, and the position of the branch of each row."""
    parts = [rows_of_options(index, options, node) for node in nodes.tolist()]
    n_options = np.diff(options.indptr)[nodes]
    first = np.cumsum(n_options) - n_options
    rows = np.concatenate([rows for rows, _ in parts])
    target = np.concatenate([taken + start for (_, taken), start in zip(parts, first, strict=True)])
    order = np.argsort(rows)
    return rows[order], target[order]
