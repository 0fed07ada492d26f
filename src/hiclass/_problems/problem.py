"""One local problem, and the branches from which a path can go on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hiclass._problems.index import BatchIndex, RowCounts, RowIndex
from hiclass._state import Options
from hiclass._typing import IntArray


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


def all_as_none(rows: IntArray, n_rows: int) -> IntArray | None:
    """Some of so many rows as ``LocalProblem.rows``."""
    return None if len(rows) == n_rows else rows


def largest_first(nodes: IntArray, n_below: IntArray) -> list[int]:
    """Nodes by their number of rows: a large problem that starts last would keep others waiting."""
    order = np.argsort(-n_below[nodes], kind="stable")
    return nodes[order].tolist()


def rows_of_options(index: BatchIndex, options: Options, node: int) -> tuple[IntArray, IntArray]:
    """Rows that go on from a node, and the position of the option that each one takes."""
    children = options.children_of(node)
    rows = index.below(node, strictly=not options.can_stop[node])
    taken = index.child_of(rows, children)
    return rows, np.where(taken < 0, len(children), taken)


def options_of(options: Options, nodes: IntArray) -> IntArray:
    """The options of several nodes, one node after the other."""
    return np.concatenate([options.of(node) for node in nodes.tolist()])


def gate_problem(index: RowIndex, node: int) -> LocalProblem:
    """The question "does the path stop here?", asked of all rows of a node."""
    rows = index.below(node)
    (stops,) = index.members(np.array([node]), rows, own=True)
    rows_or_none = all_as_none(rows, index.n_rows)
    return LocalProblem(node, rows_or_none, stops.astype(np.intp), np.array([-1, node]), gate=True)
