"""Batches of rows that are sets of classes: which classifiers a batch updates, with which rows.

Every class is a separate problem, so a batch may lack any class. The meaning of the columns of a
classifier is determined once, as if there were a row of every class. A batch then fills in its
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hiclass._closure import most_specific
from hiclass._problems.index import LocalProblem, SetIndex, all_as_none, gate_problem
from hiclass._problems.policies import Policy
from hiclass._problems.strategies import Strategy, families
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class SetLayout:
    """What the classifiers of a stream decide about.

    Attributes
    ----------
    classes : dict
        The nodes that each classifier decides about, by owner.
    everywhere : frozenset
        The owners whose classifiers learn from all rows; the others learn from the rows of their
        nodes.
    """

    classes: dict[int, IntArray]
    everywhere: frozenset[int]


def set_layout(strategy: Strategy, hierarchy: Hierarchy) -> SetLayout:
    """The classifiers of a hierarchy that learn from batches; empty for a binary strategy."""
    if strategy.is_binary:
        classes = {node: np.array([-1, node]) for node in range(1, hierarchy.n_nodes)}
        return SetLayout(classes, frozenset())
    problems = list(strategy.set_problems(_row_per_node(hierarchy), None, True))
    everywhere = frozenset(p.owner for p in problems if p.rows is None)
    return SetLayout({p.owner: p.classes for p in problems}, everywhere)


def _row_per_node(hierarchy: Hierarchy) -> SetIndex:
    """Rows that belong to one node and its ancestors each; the first row belongs to none."""
    closed = hierarchy._closure
    return SetIndex(hierarchy, closed, most_specific(closed, hierarchy))


def batch_of_sets(
    strategy: Strategy, policy: Policy | None, layout: SetLayout, index: SetIndex
) -> Iterator[LocalProblem]:
    """The problems that a batch updates; targets have one column per class.

    Parameters
    ----------
    strategy : Strategy
        The strategy, which defines the local problems.
    policy : Policy or None
        The policy of binary classifiers.
    layout : SetLayout
        What the classifiers decide about.
    index : SetIndex
        The rows of the batch.

    Yields
    ------
    LocalProblem
    """
    if policy is not None:
        yield from _of_nodes(policy, index)
        return
    for owner, nodes in layout.classes.items():
        rows = np.arange(index.n_rows)
        if owner not in layout.everywhere:
            at = strategy.nodes(index.hierarchy, owner)
            rows = np.unique(np.concatenate([index.below(node) for node in at.tolist()]))
        if len(rows):
            target = np.column_stack(list(index.members(nodes, rows))).astype(np.intp)
            yield LocalProblem(owner, all_as_none(rows, index.n_rows), target, nodes)


def _of_nodes(policy: Policy, index: SetIndex) -> Iterator[LocalProblem]:
    hierarchy = index.hierarchy
    for parents, children in families(_row_per_node(hierarchy)):
        selected = policy.select(index, parents, children)
        for node, (rows, positive) in zip(children.tolist(), selected, strict=True):
            if len(positive):
                target = positive.astype(np.intp).reshape(-1, 1)
                yield LocalProblem(node, rows, target, np.array([-1, node]))
    if policy.inside_parent:
        for node in np.flatnonzero(~hierarchy.is_leaf & (index.n_below > 0)).tolist():
            gate = gate_problem(index, node)
            yield LocalProblem(node, gate.rows, gate.target.reshape(-1, 1), gate.classes, gate=True)
