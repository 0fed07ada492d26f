"""Follows the best paths of every row from level to level, without asking about all classes.

The score of a path is the sum of the logarithms of the shares along it. None is positive, so a path
never scores above any of its beginnings. A beam keeps the best few nodes of every row and drops the
others; the largest score that was dropped is a bound for everything that was not looked at. Where
the best final class is not below that bound, it is the best of all: :func:`best_final` looks again,
with a wider beam, at the rows where that is not so, and is exact.

On every level the rows are grouped by node, so that a classifier is called once, with the rows for
which its node is in play.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._rows import n_rows_of, take_rows
from hiclass._state import Options
from hiclass._typing import AnyArray, FloatArray, IntArray

LogShares = Callable[[int, Any], FloatArray]


@dataclass(frozen=True)
class Beam:
    """The best final classes that were found for every row.

    Attributes
    ----------
    nodes : ndarray of shape (n_rows, width)
        Final classes, the best one first; -1 where fewer were found.
    scores : ndarray of shape (n_rows, width)
        Logarithms of the products of shares along their paths; minus infinity where there is none.
    bound : ndarray of shape (n_rows,)
        No other final class scores above this.
    """

    nodes: IntArray
    scores: FloatArray
    bound: FloatArray


def search_beam(options: Options, X: Any, log_shares: LogShares, width: int) -> Beam:
    """Follow the best nodes of every row down to final classes.

    Parameters
    ----------
    options : Options
        How a path can go on from every node.
    X : rows
        The rows.
    log_shares : callable
        ``(node, rows)`` to the logarithms of the shares of the options of a node, none above 0.
    width : int
        How many nodes of a row are kept on each level.

    Returns
    -------
    Beam
    """
    n = n_rows_of(X)
    n_options = np.diff(options.indptr)
    rows, nodes = np.arange(n), np.zeros(n, dtype=np.intp)
    scores, final = np.zeros(n), np.zeros(n, dtype=bool)
    bound = np.full(n, -np.inf)
    while not final.all():
        going, done = np.flatnonzero(~final), np.flatnonzero(final)
        going = going[np.argsort(nodes[going], kind="stable")]
        count = n_options[nodes[going]]
        logs = _logs_by_node(X, rows[going], nodes[going], count, log_shares)
        begin = np.cumsum(count) - count
        logs += np.repeat(scores[going], count)
        # Options that cannot be among the best of their row need not be sorted.
        worth = np.flatnonzero(_may_stay(rows[going], logs, begin, count, width, bound))
        pair = np.repeat(np.arange(len(going)), count)[worth]
        before, nth = going[pair], worth - begin[pair]
        reached = options.indices[options.indptr[nodes[before]] + nth]
        is_final = (reached == nodes[before]) | (n_options[reached] == 0)
        rows = np.concatenate([rows[done], rows[before]])
        scores = np.concatenate([scores[done], logs[worth]])
        nodes = np.concatenate([nodes[done], reached])
        final = np.concatenate([final[done], is_final])
        kept = _best_per_row(rows, scores, width, bound)
        rows, nodes, scores, final = rows[kept], nodes[kept], scores[kept], final[kept]
    return _as_beam(n, rows, nodes, scores, width, bound)


def best_final(
    options: Options, X: Any, log_shares: LogShares, width: int = 4
) -> tuple[IntArray, FloatArray]:
    """The final class with the highest score, exactly.

    Parameters
    ----------
    options : Options
        How a path can go on from every node.
    X : rows
        The rows.
    log_shares : callable
        See :func:`search_beam`.
    width : int, default=4
        The first width of the beam; it is doubled for rows that may have a better final class.

    Returns
    -------
    nodes : ndarray of shape (n_rows,)
        Final classes.
    scores : ndarray of shape (n_rows,)
        Their scores.
    """
    nodes = np.full(n_rows_of(X), -1, dtype=np.intp)
    scores = np.full(len(nodes), -np.inf)
    left = np.arange(len(nodes))
    rows = X
    while len(left):
        found = search_beam(options, rows, log_shares, width)
        nodes[left], scores[left] = found.nodes[:, 0], found.scores[:, 0]
        unsure = np.flatnonzero(found.scores[:, 0] < found.bound)
        left, rows, width = left[unsure], take_rows(rows, unsure), 2 * width
    return nodes, scores


def _logs_by_node(
    X: Any, rows: IntArray, nodes: IntArray, count: IntArray, log_shares: LogShares
) -> FloatArray:
    """The shares of the options of every (row, node), one after the other; nodes are sorted."""
    ordered = take_rows(X, rows)
    begins = np.flatnonzero(np.concatenate([[True], nodes[1:] != nodes[:-1]])).tolist()
    parts = [
        np.ravel(log_shares(int(nodes[begin]), ordered[begin:end]))
        for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True)
    ]
    assert sum(map(len, parts)) == count.sum()
    return np.concatenate(parts)


def _may_stay(
    rows: IntArray,
    logs: FloatArray,
    begin: IntArray,
    count: IntArray,
    width: int,
    bound: FloatArray,
) -> AnyArray:
    """Which options are not below the best options of ``width`` nodes of their row.

    ``bound`` learns of the best one that is.
    """
    full = np.bincount(rows, minlength=len(bound)) >= width
    needed = np.where(full, np.inf, -np.inf)
    np.minimum.at(needed, rows, np.maximum.reduceat(logs, begin))
    stays: AnyArray = logs >= np.repeat(needed[rows], count)
    best_dropped = np.maximum.reduceat(np.where(stays, -np.inf, logs), begin)
    np.maximum.at(bound, rows, best_dropped)
    return stays


def _best_per_row(rows: IntArray, scores: FloatArray, width: int, bound: FloatArray) -> IntArray:
    """The ``width`` best entries of every row; ``bound`` learns of the best one that is dropped."""
    order = np.lexsort((-scores, rows))
    place = _places(rows[order])
    first_dropped = order[place == width]
    at = rows[first_dropped]
    bound[at] = np.maximum(bound[at], scores[first_dropped])
    return order[place < width]


def _places(rows: IntArray) -> IntArray:
    """The place of every entry among those of its row; rows are sorted."""
    begins = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    lengths = np.diff(np.concatenate([begins, [len(rows)]]))
    return np.arange(len(rows)) - np.repeat(begins, lengths)


def _as_beam(
    n: int, rows: IntArray, nodes: IntArray, scores: FloatArray, width: int, bound: FloatArray
) -> Beam:
    order = np.lexsort((nodes, -scores, rows))
    rows = rows[order]
    place = _places(rows)
    found = np.full((n, width), -1, dtype=np.intp)
    found[rows, place] = nodes[order]
    best = np.full((n, width), -np.inf)
    best[rows, place] = scores[order]
    return Beam(found, best, bound)
