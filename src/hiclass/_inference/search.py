"""The most probable final classes of every row, exactly and with bounded memory.

Probabilities never increase along a path. A node below the k-th best final class found so far
therefore cannot lead to a better one. A first pass follows a few of the best nodes of each level,
which finds good final classes. A second pass is a depth-first search that expands all nodes above
that bound. It holds the branches of one path at a time. If the probabilities are so close that
nothing can be omitted, it visits all nodes.

No local classifier is queried more than twice per chunk, and never twice about a row. If so many
final classes are requested that tracking the best ones costs more than computing all, all are
computed and then selected from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._inference.paths import Queries, shares_classifiers, width_of
from hiclass._problems.index import branches
from hiclass._rows import n_rows_of
from hiclass._state import LocalModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The first pass follows at most this many branches of a level per row.
_MOST_FOLLOWED = 1024


@dataclass
class _Frame:
    """The known probabilities of some children of one node, for some rows.

    Attributes
    ----------
    rows : ndarray of int
        The rows in ascending order.
    reached : ndarray of shape (n_rows,)
        The probabilities of the node.
    children : ndarray of int
        The children at which paths do not have to end.
    proba : ndarray of shape (n_rows, n_children)
        Their probabilities; -1 for children that have been expanded.
    place : int
        The number of children that have been visited.
    """

    rows: IntArray
    reached: FloatArray
    children: IntArray
    proba: FloatArray
    place: int = 0

    def join(self, other: _Frame | None) -> _Frame:
        """Combine two frames of one node with different rows."""
        if other is None or not len(other.rows):
            return self
        if not len(self.rows):
            return other
        rows = np.concatenate([self.rows, other.rows])
        order = np.argsort(rows)
        return _Frame(
            rows[order],
            np.concatenate([self.reached, other.reached])[order],
            self.children,
            np.concatenate([self.proba, other.proba])[order],
        )

    def only(self, possible: AnyArray, wanted: AnyArray) -> _Frame:
        """Select possible entries (rows x children), and children that are needed in any case."""
        rows, columns = possible.any(axis=1), possible.any(axis=0) | wanted
        if rows.all() and columns.all():
            return self
        return _Frame(
            self.rows[rows],
            self.reached[rows],
            self.children[columns],
            self.proba[np.ix_(rows, columns)],
        )


class _Best:
    """The k best final classes of every row so far."""

    def __init__(self, n: int, k: int) -> None:
        self.nodes = np.zeros((n, k), dtype=np.intp)
        # An empty place is worse than a final class of probability 0.
        self.proba = np.full((n, k), -1.0)

    def may_beat(self, rows: IntArray, proba: FloatArray, nodes: Any) -> AnyArray:
        """Whether a node or a descendant may be better than the k-th best of a row.

        ``proba`` is one number per row, or one per row and node.
        """
        bound, node = self.proba[rows, -1], self.nodes[rows, -1]
        if proba.ndim == 2:
            bound, node = bound[:, None], node[:, None]
        return (proba > bound) | ((proba == bound) & (nodes < node))

    def add(self, rows: IntArray, nodes: IntArray, proba: FloatArray) -> IntArray:
        """Add final classes of some rows; return the rows with a new best class."""
        k = self.nodes.shape[1]
        if k == 1:
            better = self.may_beat(rows, proba[:, 0], nodes[:, 0])
            rows = rows[better]
            self.nodes[rows], self.proba[rows] = nodes[better], proba[better]
            return rows
        before = self.nodes[rows, 0]
        nodes = np.hstack([self.nodes[rows], nodes])
        proba = np.hstack([self.proba[rows], proba])
        order = np.lexsort([nodes, -proba])[:, :k]
        self.nodes[rows] = np.take_along_axis(nodes, order, axis=1)
        self.proba[rows] = np.take_along_axis(proba, order, axis=1)
        return rows[self.nodes[rows, 0] != before]


def k_best(values: FloatArray, k: int) -> IntArray:
    """Columns of the k largest values of every row, best first; ties go to the first columns."""
    n, width = values.shape
    if k == 1:
        return values.argmax(axis=1)[:, None]
    if k >= width:
        return np.argsort(-values, axis=1, kind="stable")
    least = np.partition(values, width - k, axis=1)[:, width - k, None]
    above, level = values > least, values == least
    missing = k - above.sum(axis=1, keepdims=True)
    above |= level & (np.cumsum(level, axis=1) <= missing)
    columns = np.nonzero(above)[1].reshape(n, k)
    order = np.argsort(-np.take_along_axis(values, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def width_of_search(models: LocalModels, k: int) -> int:
    """The number of values per row that a search for k final classes holds, in units of four.

    The size of chunks is chosen for a few arrays of this width.
    """
    hierarchy = models.hierarchy
    n_inner = int((np.diff(models.options.indptr) > 0).sum())
    # The stored children of the nodes that the first pass expanded, and of one path.
    n_followed = _n_followed(models, k)
    kept = min(n_followed * width_of(models) * hierarchy.depth, n_inner)
    kept += min(width_of(models) * hierarchy.depth, n_inner)
    # The first pass chooses from this many; each has six values, and copies of them.
    kept += 16 * min(n_followed * min(n_followed, width_of(models)), n_inner)
    kept += 2 * hierarchy.depth if k == 1 else 12 * k
    if shares_classifiers(models):
        kept += hierarchy.n_nodes
    if _wants_all(models, k):
        kept += 4 * len(models.options.ends)
    return width_of(models) + kept // 4 + 1


def _wants_all(models: LocalModels, k: int) -> bool:
    """Whether to compute all final classes: k are replaced k log(n) times, at a cost of k."""
    return k > 1 and k * k >= len(models.options.ends)


def _n_followed(models: LocalModels, k: int) -> int:
    """The number of nodes of a level that the first pass follows per row."""
    return min(k, max(1, _MOST_FOLLOWED // width_of(models)))


def search(models: LocalModels, X: Any, k: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Find the k most probable final classes of every row, exactly.

    Parameters
    ----------
    models : LocalModels
        Models that are queried node by node.
    X : rows
        A chunk of rows.
    k : int
        The number of final classes to find.

    Returns
    -------
    nodes : ndarray of shape (n_rows, k)
        The final classes, best first; ties go to the lowest node. 0 if there are fewer.
    proba : ndarray of shape (n_rows, k)
        Their probabilities.
    along : ndarray of shape (n_rows, depth)
        For k = 1, the probabilities of the nodes on the path, NaN after its end; otherwise empty.
    """
    if _wants_all(models, k):
        return _all_of_them(models, X, k)
    work = _Search(models, X, k)
    work.follow_the_best()
    work.open_what_is_left()
    return work.best.nodes, np.maximum(work.best.proba, 0), work.along


class _Search:
    """A search for the k best final classes of a chunk of rows."""

    def __init__(self, models: LocalModels, X: Any, k: int) -> None:
        n = n_rows_of(X)
        self.models, self.k, self.n = models, k, n
        self.queries = Queries(models, X)
        self.best = _Best(n, k)
        self.goes_on = np.diff(models.options.indptr) > 0
        #: The known children of the nodes that the first pass expanded.
        self.known: dict[int, _Frame] = {}
        depth = models.hierarchy.depth if k == 1 else 0
        #: Probabilities of the nodes on the current path, and on the best path found.
        self.path, self.along = np.full((2, n, depth), np.nan)

    def follow_the_best(self) -> None:
        """Expand the best nodes of every level."""
        rows = np.arange(self.n)
        nodes, reached = np.zeros(self.n, dtype=np.intp), np.ones(self.n)
        while len(rows):
            frames = []
            for node, here in runs(nodes, rows):
                frame = self.open(node, rows[here], reached[here])
                if len(frame.children):
                    self.known[node] = frame
                    frames.append(frame)
            rows, nodes, reached = self._best_of_level(frames)

    def _best_of_level(self, frames: list[_Frame]) -> tuple[IntArray, IntArray, FloatArray]:
        """Remove the best children, over all frames of a level, from their frames."""
        n_followed = _n_followed(self.models, self.k)
        parts: list[tuple[AnyArray, ...]] = []
        for j, frame in enumerate(frames):
            column = k_best(frame.proba, min(n_followed, len(frame.children)))
            i = np.repeat(np.arange(len(frame.rows)), column.shape[1])
            column = column.ravel()
            of_frame = np.full(len(i), j)
            proba = frame.proba[i, column]
            parts.append((of_frame, i, column, frame.rows[i], frame.children[column], proba))
        if not parts:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
        joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        chosen: Any = slice(None)
        # otherwise a row is in one frame only, which has its best child
        if n_followed > 1 and len(frames) > 1:
            chosen = best_per_row(joined[3], joined[4], joined[5], n_followed)
        of_frame, i, column, rows, nodes, proba = (array[chosen] for array in joined)
        start = 0
        for j, stop in enumerate(np.searchsorted(of_frame, np.arange(len(frames)), "right")):
            frames[j].proba[i[start:stop], column[start:stop]] = -1
            start = int(stop)
        return rows, nodes, proba

    def open_what_is_left(self) -> None:
        """Search the tree depth-first for everything that may still be better."""
        none = np.empty(0, dtype=np.intp)
        stack = [self._visit(0, none, np.empty(0))] if 0 in self.known else []
        while stack:
            frame = stack[-1]
            if frame.place == len(frame.children):
                stack.pop()
                continue
            node, proba = int(frame.children[frame.place]), frame.proba[:, frame.place]
            frame.place += 1
            here = self.best.may_beat(frame.rows, proba, node)
            if node in self.known or here.any():
                stack.append(self._visit(node, frame.rows[here], proba[here]))

    def _visit(self, node: int, rows: IntArray, reached: FloatArray) -> _Frame:
        """Expand a node for some rows; return children that may be better, including known ones."""
        known = self.known.pop(node, None)
        if known is not None and not len(rows):
            frame = known
        else:
            frame = self.open(node, rows, reached).join(known)
        self._go_to(node, frame)
        possible = self.best.may_beat(frame.rows, frame.proba, frame.children)
        opened = np.array([child in self.known for child in frame.children.tolist()], dtype=bool)
        return frame.only(possible, opened)

    def _go_to(self, node: int, frame: _Frame) -> None:
        if self.k == 1 and node:
            self.path[frame.rows, self.models.hierarchy.levels[node] - 1] = frame.reached

    def open(self, node: int, rows: IntArray, reached: FloatArray) -> _Frame:
        """Query the classifiers of a node; store the final classes, return the other children."""
        joint, on = joint_of(self.queries, self.goes_on, node, rows, reached)
        options = branches(self.models.options, node)
        frame = _Frame(rows, reached, options[on], joint[:, on])
        self._go_to(node, frame)
        if not on.all():
            ends, proba = stop_first(options[~on], joint if not on.any() else joint[:, ~on])
            self._remember(node, rows, ends, proba)
        return frame

    def _remember(self, node: int, rows: IntArray, ends: IntArray, proba: FloatArray) -> None:
        """Store the best final classes of one node."""
        better = self.best.may_beat(rows, proba.max(axis=1), ends[0])
        if not better.any():
            return
        if not better.all():
            rows, proba = rows[better], proba[better]
        chosen = k_best(proba, min(self.k, len(ends)))
        new = self.best.add(rows, ends[chosen], np.take_along_axis(proba, chosen, axis=1))
        if self.k > 1 or not len(new):
            return
        levels = self.models.hierarchy.levels
        found = self.best.nodes[new, 0]
        self.along[new] = self.path[new]
        self.along[new, levels[node] :] = np.nan
        below = found != node  # otherwise the path stops at the node
        self.along[new[below], levels[node]] = self.best.proba[new[below], 0]


def _all_of_them(models: LocalModels, X: Any, k: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The k best from the probabilities of all final classes."""
    n, ends = n_rows_of(X), models.options.ends
    goes_on = np.diff(models.options.indptr) > 0
    queries, everyone = Queries(models, X), np.arange(n)
    proba = np.zeros((n, len(ends)))
    stack = [(0, np.ones(n))] if goes_on[0] else []
    while stack:
        node, reached = stack.pop()
        joint, on = joint_of(queries, goes_on, node, everyone, reached)
        options = branches(models.options, node)
        proba[:, np.searchsorted(ends, options[~on])] = joint[:, ~on]
        stack += [(int(options[j]), joint[:, j].copy()) for j in np.flatnonzero(on)[::-1]]
    return *k_best_ends(proba, ends, k), np.empty((n, 0))


def k_best_ends(proba: FloatArray, ends: IntArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k best final classes and their probabilities; node 0 if there are fewer."""
    chosen = k_best(proba, min(k, len(ends)))
    nodes, best = np.zeros((len(proba), k), dtype=np.intp), np.zeros((len(proba), k))
    nodes[:, : chosen.shape[1]] = ends[chosen]
    best[:, : chosen.shape[1]] = np.take_along_axis(proba, chosen, axis=1)
    return nodes, best


def joint_of(
    queries: Queries, goes_on: AnyArray, node: int, rows: IntArray, reached: FloatArray
) -> tuple[FloatArray, AnyArray]:
    """Probabilities of the options of a node for some rows, and which options continue."""
    options = branches(queries.models.options, node)
    on = goes_on[options] & (options != node)
    return queries.proba(node, rows) * reached[:, None], on


def stop_first(nodes: IntArray, proba: FloatArray) -> tuple[IntArray, FloatArray]:
    """Final classes in ascending order: "stop here" comes last but has the lowest number."""
    if nodes[-1] < nodes[0]:
        return np.roll(nodes, 1), np.roll(proba, 1, axis=1)
    return nodes, proba


def best_per_row(rows: IntArray, nodes: IntArray, proba: FloatArray, k: int) -> AnyArray:
    """Whether an entry (a row and a node) is among the k best of its row."""
    order = np.lexsort([nodes, -proba, rows])
    in_order = rows[order]
    rank = np.arange(len(rows)) - np.searchsorted(in_order, in_order)
    best = np.empty(len(rows), dtype=bool)
    best[order] = rank < k
    return best


def runs(nodes: IntArray, rows: IntArray) -> Iterator[tuple[int, IntArray]]:
    """The distinct nodes in ascending order, and the positions of each, by ascending rows."""
    if not len(nodes):
        return
    order = np.lexsort([rows, nodes])
    in_order = nodes[order]
    for here in np.split(order, np.flatnonzero(in_order[1:] != in_order[:-1]) + 1):
        yield int(nodes[here[0]]), here
