"""The meaning of the outputs of a network: arrays of integers, computed once per hierarchy.

A tree with one label per row has a :class:`TreeLayout`. With ``loss="conditional"`` an output is an
*option*, a branch of a node (see ``_state.Options``), and the options of one node form a group; a
path is a chain of options. With ``loss="leaf"`` an output is a final class. Sets of classes
(several labels per row, or several parents) have a :class:`SetLayout`: an output per node.

Everything is NumPy and plain, so that a fitted network can be written to a file as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from hiclass._state import Options
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class TreeLayout:
    """The outputs for a tree with one final class per row.

    Attributes
    ----------
    loss : {"conditional", "leaf"}
        What an output is: an option, or a final class.
    n_outputs : int
        Number of outputs. With a recursive penalty and ``loss="leaf"`` the inner nodes have outputs
        after those of the final classes: only the penalty sees them.
    ends : ndarray of int
        The final classes: nodes at which a path may end, ascending.
    end_output : ndarray of int
        The last output on the path to each final class.
    group : ndarray of int
        The group of each output; groups are contiguous and ascending. One group for ``"leaf"``.
    group_start : ndarray of int
        Where each group starts, and the end of the last one.
    above : ndarray of int
        The output that leads to the group of an output, -1 at the top: a chain is a path.
    depth : ndarray of int
        The length of that chain, less one.
    first, last : ndarray of int
        By node, the target of a row that ends there: for ``"conditional"`` the last output of its
        path (twice), for ``"leaf"`` the first final class below it and the one after the last. -1
        where no row may end.
    edge_child, edge_parent : ndarray of int
        Pairs of outputs whose weights a recursive penalty pulls together; a parent of -1 is zero.
    edge_weight : ndarray of float
        The strength of each pair.
    """

    loss: str
    n_outputs: int
    ends: IntArray
    end_output: IntArray
    group: IntArray
    group_start: IntArray
    above: IntArray
    depth: IntArray
    first: IntArray
    last: IntArray
    edge_child: IntArray
    edge_parent: IntArray
    edge_weight: AnyArray

    of_sets: ClassVar[Literal[False]] = False
    #: Whether targets are a few numbers per row, which may stay on a device.
    is_compact: ClassVar[bool] = True

    def select(self, target: Any) -> IntArray:
        """The relevant part of encoded labels: the most specific node of every row."""
        return target.nodes

    def compared(self, nodes: IntArray) -> tuple[IntArray, ...]:
        """The final classes that rows of some nodes stand for: one each, or runs of several."""
        first = self.first[nodes]
        if not self._is_run[nodes].any():
            return (first,)
        return first, self.last[nodes]

    @cached_property
    def _is_run(self) -> AnyArray:
        """By node, whether a row of it stands for several final classes."""
        found: AnyArray = self.last - self.first > 1
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def chains(self) -> IntArray:
        """The outputs on the path to each output, the output itself first, then -1."""
        table = np.full((len(self.above), int(self.depth.max(initial=0)) + 1), -1, dtype=np.intp)
        table[:, 0] = np.arange(len(self.above))
        for j in range(1, table.shape[1]):
            before = table[:, j - 1]
            table[:, j] = np.where(before >= 0, self.above[before], -1)
        return table


def conditional_layout(hierarchy: Hierarchy, options: Options) -> TreeLayout:
    """Lay out a softmax for every node that has branches."""
    n_options = np.diff(options.indptr)
    owner = np.repeat(np.arange(hierarchy.n_nodes), n_options)
    is_stop = owner == options.indices
    place = np.arange(len(owner))
    into = np.full(hierarchy.n_nodes, -1, dtype=np.intp)  # the option that leads into a node
    into[options.indices[~is_stop]] = place[~is_stop]
    last = into.copy()
    last[options.indices[is_stop]] = place[is_stop]
    above = into[owner]
    owners = np.flatnonzero(n_options)
    return TreeLayout(
        loss="conditional",
        n_outputs=len(owner),
        ends=options.ends,
        end_output=last[options.ends],
        group=np.searchsorted(owners, owner),
        group_start=np.append(options.indptr[owners], len(owner)),
        above=above,
        depth=hierarchy.levels[owner],
        first=last,
        last=last,
        edge_child=place,
        edge_parent=above,
        edge_weight=np.ones(len(owner), dtype=np.float32),
    )


def leaf_layout(hierarchy: Hierarchy, options: Options, *, recursive: bool) -> TreeLayout:
    """Lay out one softmax over all final classes; for a recursive penalty, inner nodes too."""
    final = options.ends
    n_final = len(final)
    node = np.arange(hierarchy.n_nodes)
    first = np.searchsorted(final, node)
    last = np.searchsorted(final, hierarchy.subtree_end)
    # A stop stands before everything below its node, so it is the first of these.
    last[final] = first[final] + 1
    empty = first == last
    first[empty] = last[empty] = -1
    inner = np.flatnonzero(~hierarchy.is_leaf & (first >= 0))[1:] if recursive else final[:0]
    output = np.full(hierarchy.n_nodes, -1, dtype=np.intp)
    output[inner] = n_final + np.arange(len(inner))
    # A stop hangs under its own node, as a leaf does under its parent.
    over = np.where(hierarchy.is_leaf[final], hierarchy.parent[final], final)
    return TreeLayout(
        loss="leaf",
        n_outputs=n_final + len(inner),
        ends=final,
        end_output=np.arange(n_final),
        group=np.zeros(n_final, dtype=np.intp),
        group_start=np.array([0, n_final]),
        above=np.full(n_final, -1, dtype=np.intp),
        depth=np.zeros(n_final, dtype=np.intp),
        first=first,
        last=last,
        edge_child=np.arange(n_final + len(inner)),
        edge_parent=output[np.concatenate([over, hierarchy.parent[inner]])],
        edge_weight=np.ones(n_final + len(inner), dtype=np.float32),
    )


@dataclass(frozen=True)
class SetLayout:
    """The outputs where rows are sets of classes: one per node but the root.

    Attributes
    ----------
    loss : {"conditional", "leaf", "each"}
        How probabilities are made coherent: a node has at most the probability of its parents, or
        at least those of its descendants; with "each" the former, but only in predictions.
    n_outputs : int
        Number of outputs.
    nodes : ndarray of int
        The node of every output, ascending.
    level : ndarray of int
        The level of every output, from 1.
    edge_child, edge_parent : ndarray of int
        Outputs and the outputs of their parents; -1 where the only parent is the root.
    edge_weight : ndarray of float
        1 / number of parents.
    pair_above, pair_below : ndarray of int
        Every output with itself and with those below it; for ``"leaf"`` only.
    """

    loss: str
    n_outputs: int
    nodes: IntArray
    level: IntArray
    edge_child: IntArray
    edge_parent: IntArray
    edge_weight: AnyArray
    pair_above: IntArray
    pair_below: IntArray

    of_sets: ClassVar[Literal[True]] = True
    is_compact: ClassVar[bool] = False

    def select(self, target: Any) -> Any:
        """The relevant part of encoded labels: the set of every row, a column per output."""
        return target.closed[:, self.nodes]

    def compared(self, sets: Any) -> tuple[Any, ...]:
        """Whether each output should be on, as a sparse matrix: few of them should."""
        return (sets.astype(np.float32),)


def set_layout(hierarchy: Hierarchy, populated: AnyArray, loss: str) -> SetLayout:
    """Lay out one output for every populated node but the root."""
    nodes = 1 + np.flatnonzero(populated[1:])
    output = np.full(hierarchy.n_nodes, -1, dtype=np.intp)
    output[nodes] = np.arange(len(nodes))
    n_parents = np.diff(hierarchy.parent_indptr)
    child = np.repeat(np.arange(hierarchy.n_nodes), n_parents)
    keep = output[child] >= 0
    child, parent = child[keep], hierarchy.parent_indices[keep]
    pair_below, pair_above = (
        _closure_pairs(hierarchy, output) if loss == "leaf" else (nodes[:0],) * 2
    )
    return SetLayout(
        loss=loss,
        n_outputs=len(nodes),
        nodes=nodes,
        level=hierarchy.levels[nodes],
        edge_child=output[child],
        edge_parent=output[parent],
        edge_weight=(1 / n_parents[child]).astype(np.float32),
        pair_above=pair_above,
        pair_below=pair_below,
    )


def _closure_pairs(hierarchy: Hierarchy, output: IntArray) -> tuple[IntArray, IntArray]:
    below, above = hierarchy._closure.nonzero()
    below, above = output[below], output[above]
    keep = (below >= 0) & (above >= 0)
    return below[keep], above[keep]


Layout = TreeLayout | SetLayout


def same_layout(one: Any, other: Any) -> bool:
    """Whether two networks have outputs of the same meaning."""
    if type(one) is not type(other):
        return False
    names = [field.name for field in fields(one)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
