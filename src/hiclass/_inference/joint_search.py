"""Decisions of joint models from the classifiers that can matter, with a proof for every row.

A joint model multiplies shares along every path and normalises over all final classes, so every
probability depends on every classifier. A decision rarely does. No share is above one. Therefore,
no descendant of a node scores above it, and the total of the final classes below a node is at most
their number times the product of shares at the node.

A first pass follows the best branch of every row down to a final class. A second pass expands,
level by level, every node that may have more than a small part of the mass of that class, and adds
up the largest possible mass of everything omitted. This bounds the error of all probabilities. A
decision whose lead exceeds the bound is the same as with the full computation. For rows without
such a lead, more nodes are expanded. Rows that are still not proven get the full computation, and
so do all rows if too little can be omitted. Probabilities are always computed in full, because
computing them to a few digits requires almost all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from hiclass._inference.candidates import Candidates, best_values
from hiclass._inference.paths import branch_logs, strategy_of, width_for
from hiclass._rows import chunks_of_rows, n_rows_of, slice_rows, take_rows
from hiclass._state import LocalModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: A node is expanded if its descendants may have more than this part of the mass of the best final
#: class. Rows whose decision is not proven use smaller and smaller parts. Final classes, which are
#: already known, are kept above a hundredth of it. Steps are small, because each of them proves
#: most of the remaining rows, and expanding all nodes needs many calls even for few rows.
_LEAST_OPENED = tuple(10.0**-digits for digits in range(2, 9))
#: A further step is worthwhile if at most this share of all branches has been visited before.
_LARGEST_PART_AGAIN = 1 / 8
#: Smaller leads, relative to the best score, could be due to rounding.
_ROUNDING = 1e-9
#: The full computation is faster if fewer nodes than this have several branches (for the best class
#: only, and for the mass), or if more than this share of all branches would have to be visited.
_FEWEST_FOR_BEST, _FEWEST_FOR_MASS, _LARGEST_PART = 16, 64, 1 / 4
#: A search holds the branches of this many of the longest paths per row, and computes this many
#: branches of all rows at a time.
_N_PATHS, _BLOCK = 4, 1 << 17


@dataclass(frozen=True)
class Found:
    """The final classes of every row that have almost all of the mass.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    final : Candidates
        Final classes by row and node in ascending order, with their shares of the mass that was
        found.
    best : ndarray of shape (n,)
        The best score of every row.
    missed : ndarray of shape (n,)
        An upper bound of the total share of all other final classes, and thus of the error of every
        probability.
    n_seen : int
        The number of branches visited for all rows.
    """

    hierarchy: Any
    final: Candidates
    best: FloatArray
    missed: FloatArray
    n_seen: int

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.best)

    @property
    def rounding(self) -> FloatArray:
        """A lead that could be due to rounding, for every row."""
        return rounding_of(self.best)

    def proven(self, confidence: FloatArray, least: float | FloatArray) -> AnyArray:
        """Whether all probabilities of a row that are at least this large are known."""
        all_mass = (1 + self.missed)[:, None]
        low = confidence / all_mass - self.rounding[:, None]
        high = (confidence + self.missed[:, None]) / all_mass + self.rounding[:, None]
        return np.logical_not(((low < least) & (high >= least)).any(axis=1))

    @cached_property
    def levels(self) -> list[Candidates]:
        """All nodes on the paths to these final classes, by level, with their probabilities."""
        final, levels = self.final, []
        for level in range(self.hierarchy.depth):
            nodes = self.hierarchy._paths[final.nodes, level]
            deep = nodes >= 0
            rows, nodes, proba = final.rows[deep], nodes[deep], final.proba[deep]
            # A subtree is an interval, so the nodes of a level ascend as the final classes do.
            first = np.flatnonzero(np.diff(rows * self.hierarchy.n_nodes + nodes, prepend=-1))
            total = np.add.reduceat(proba, first) if len(first) else proba
            levels.append(Candidates(rows[first], nodes[first], total))
        return levels

    @staticmethod
    def join(parts: list[Found]) -> Found:
        """The results for several parts of the rows as one."""
        start = np.cumsum([0, *(part.n for part in parts)])
        return Found(
            parts[0].hierarchy,
            Candidates.join(
                [
                    Candidates(part.final.rows + first, part.final.nodes, part.final.proba)
                    for part, first in zip(parts, start, strict=False)
                ]
            ),
            np.concatenate([part.best for part in parts]),
            np.concatenate([part.missed for part in parts]),
            sum(part.n_seen for part in parts),
        )


def rounding_of(best: FloatArray) -> FloatArray:
    """A lead that could be due to rounding, given the best scores."""
    return _ROUNDING * (1 + np.abs(best))


def can_search(models: LocalModels, only_best: bool) -> bool:
    """Whether a joint model is queried node by node, at enough nodes to make a search faster."""
    strategy = strategy_of(models)
    if strategy.is_direct or strategy.shared:
        return False
    n_classifiers = int((np.diff(models.options.indptr) > 1).sum())
    return n_classifiers >= (_FEWEST_FOR_BEST if only_best else _FEWEST_FOR_MASS)


def width_of_search(models: LocalModels) -> int:
    """The number of values per row that a search holds, in units of four."""
    # A branch has three values and a bit, in two copies.
    return 2 * _n_held(models)


def _n_held(models: LocalModels) -> int:
    """The number of branches per row in a search: several times those of the longest path."""
    longest = width_for(models, models.options) * int(models.hierarchy.depth)
    return min(_N_PATHS * longest, int(models.hierarchy.n_nodes))


def settle(
    models: LocalModels,
    X: Any,
    only_best: bool,
    propose: Callable[[Found], tuple[tuple[AnyArray, ...], AnyArray]],
    compute: Callable[[Any], tuple[AnyArray, ...]],
    width: int,
) -> tuple[AnyArray, ...]:
    """Use the result of a search if it is proven, otherwise that of the full computation.

    Parameters
    ----------
    models : LocalModels
        A joint model that can be searched.
    X : rows
        A chunk of rows.
    only_best : bool
        Whether only the best final class is needed.
    propose : callable
        Maps the search result to arrays with one entry per row, and to a mask of proven rows.
    compute : callable
        Maps rows to the same arrays, from all final classes.
    width : int
        The number of values per row that ``compute`` holds in each of a few arrays.

    Returns
    -------
    tuple of ndarray
    """
    settled: tuple[AnyArray, ...] | None = None
    rows, left = X, np.arange(n_rows_of(X))
    most_held = len(left) * _n_held(models)
    for least in _LEAST_OPENED[:1] if only_best else _LEAST_OPENED:
        found = search_joint(models, rows, only_best, most_held, least)
        if found is None:
            break
        proposed, proven = propose(found)
        settled = _put(settled, left, proposed)
        left = left[~proven]
        if not len(left):
            return settled
        rows = take_rows(X, left)
        if not (found.missed > found.rounding)[~proven].any():  # they tie
            break
        if found.n_seen > _LARGEST_PART_AGAIN * found.n * models.hierarchy.n_nodes:
            break
    parts = [compute(slice_rows(rows, part)) for part in chunks_of_rows(rows, width)]
    computed = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return _put(settled, left, computed)


def _put(
    arrays: tuple[AnyArray, ...] | None, rows: IntArray, values: tuple[AnyArray, ...]
) -> tuple[AnyArray, ...]:
    """Arrays with the values of some rows; None stands for arrays of these rows only."""
    if arrays is None:
        return values
    for array, of_rows in zip(arrays, values, strict=True):
        array[rows] = of_rows
    return arrays


def search_joint(
    models: LocalModels,
    X: Any,
    only_best: bool,
    most_held: int | None = None,
    least: float = _LEAST_OPENED[0],
) -> Found | None:
    """Find the final classes that have almost all of the mass.

    Parameters
    ----------
    models : LocalModels
        A joint model that can be searched.
    X : rows
        A chunk of rows.
    only_best : bool
        Whether to search for the best final class only, instead of all with much of the mass.
    most_held : int, default=None
        The largest number of branches held. By default, as many as ``width_of_search`` allows.
    least : float
        The part of the mass of the best final class above which a node is expanded.

    Returns
    -------
    Found or None
        None if so many branches would have to be visited that the full computation is faster.
    """
    n = n_rows_of(X)
    most_held = n * _n_held(models) if most_held is None else most_held
    try:
        return _Search(models, X, only_best, most_held, least).run()
    except _DoesNotPayError:
        return None
    except _TooManyError:
        if n == 1:
            return None
    halves = [np.arange(n // 2), np.arange(n // 2, n)]
    parts = [
        search_joint(models, take_rows(X, half), only_best, most_held, least) for half in halves
    ]
    found = [part for part in parts if part is not None]
    return Found.join(found) if len(found) == len(parts) else None


class _DoesNotPayError(Exception):
    """The full computation is faster."""


class _TooManyError(Exception):
    """The results for these rows need too much memory."""


@dataclass(frozen=True)
class _Branches:
    """Branches of expanded nodes: row, node, score, and whether the path ends there."""

    rows: IntArray
    nodes: IntArray
    scores: FloatArray
    final: AnyArray

    def where(self, keep: AnyArray) -> _Branches:
        return _Branches(self.rows[keep], self.nodes[keep], self.scores[keep], self.final[keep])

    @staticmethod
    def join(parts: list[_Branches]) -> _Branches:
        if len(parts) == 1:
            return parts[0]
        return _Branches(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.nodes for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.final for part in parts]),
        )


class _Search:
    """A search in a chunk of rows."""

    def __init__(
        self, models: LocalModels, X: Any, only_best: bool, most_held: int, least: float
    ) -> None:
        self.models, self.X, self.n = models, X, n_rows_of(X)
        self.only_best, self.least = only_best, least
        options, hierarchy = models.options, models.hierarchy
        self.n_options = np.diff(options.indptr)
        before = np.searchsorted(options.ends, np.arange(hierarchy.n_nodes))
        #: The number of final classes at or below every node.
        self.n_final = np.searchsorted(options.ends, hierarchy.subtree_end) - before
        #: The largest numbers of branches to visit and to hold.
        self.most_seen = self.left_to_see = int(_LARGEST_PART * self.n * hierarchy.n_nodes)
        self.left_to_hold = most_held
        self.best = np.full(self.n, -np.inf)
        self.missed = np.zeros(self.n)

    def run(self) -> Found:
        # A branch may score far above the known ones. If all scores are minus infinity, nothing is
        # found, and the missed mass is NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._as_found(self._open_the_rest(self._follow_the_best()))

    def _as_found(self, final: _Branches) -> Found:
        final = final.where(np.isfinite(self.best[final.rows]))
        order = np.argsort(final.rows * len(self.n_final) + final.nodes)
        rows, nodes, scores = final.rows[order], final.nodes[order], final.scores[order]
        mass = np.exp(scores - self.best[rows])
        total = np.bincount(rows, mass, minlength=self.n)
        candidates = Candidates(rows, nodes, mass / total[rows])
        missed = self.missed / np.where(total > 0, total, np.nan)
        n_seen = self.most_seen - self.left_to_see
        return Found(self.models.hierarchy, candidates, self.best, missed, n_seen)

    def _follow_the_best(self) -> list[_Branches]:
        """Follow the best branch of every row to a final class; return the other branches."""
        passed = []
        at_root = np.zeros(self.n, dtype=np.intp)
        on = _Branches(np.arange(self.n), at_root, np.zeros(self.n), at_root.astype(bool))
        while len(on.rows):
            best, others = [], []
            for here in self._open(on):
                top = _first_best(here)
                left = np.ones(len(here.rows), dtype=bool)
                left[top] = here.final[top]
                best.append(here.where(top))
                others.append(self._hold(here.where(left)))
            passed.append(_Branches.join(others))
            reached = _Branches.join(best)
            self.best[reached.rows[reached.final]] = reached.scores[reached.final]
            on = reached.where(~reached.final)
        return passed

    def _open_the_rest(self, passed: list[_Branches]) -> _Branches:
        """Expand the other branches, level by level, if they may matter; return final classes."""
        final: list[_Branches] = []
        here, level = [self._keep(passed[0])], 0
        while here:
            kept, level = _Branches.join(here), level + 1
            final.append(kept.where(kept.final))
            here = [self._keep(of_level) for of_level in passed[level : level + 1]]
            for opened in self._open(kept.where(~kept.final)):
                here.append(self._hold(self._keep(opened)))
        return _Branches.join(final)

    def _keep(self, branches: _Branches) -> _Branches:
        """Omit branches that matter little, and add up their largest possible mass."""
        self._raise_best(branches)
        behind = branches.scores - self.best[branches.rows]
        if self.only_best:
            return branches.where(behind >= -2 * rounding_of(self.best)[branches.rows])
        mass = np.where(branches.final, 1, self.n_final[branches.nodes]) * np.exp(behind)
        out = mass <= np.where(branches.final, self.least / 100, self.least)
        self.missed += np.bincount(branches.rows[out], mass[out], minlength=self.n)
        return branches.where(~out)

    def _raise_best(self, branches: _Branches) -> None:
        """Update the best scores with those of final classes."""
        before = self.best.copy()
        np.maximum.at(self.best, branches.rows[branches.final], branches.scores[branches.final])
        self.missed *= np.exp(before - self.best)

    def _hold(self, branches: _Branches) -> _Branches:
        """Count branches that have to be held."""
        self.left_to_hold -= len(branches.rows)
        if self.left_to_hold < 0:
            raise _TooManyError
        return branches

    def _open(self, on: _Branches) -> Iterator[_Branches]:
        """Query the classifiers of some nodes, each about its rows; return blocks of branches."""
        order = np.argsort(on.nodes * self.n + on.rows)
        rows, nodes, scores = on.rows[order], on.nodes[order], on.scores[order]
        n_before = np.cumsum(self.n_options[nodes]) - self.n_options[nodes]
        self.left_to_see -= int(self.n_options[nodes].sum())
        if self.left_to_see < 0:
            raise _DoesNotPayError
        cuts = np.flatnonzero(np.diff(n_before // _BLOCK)) + 1
        for begin, end in pairwise([0, *cuts.tolist(), len(rows)]):
            if begin < end:
                yield self._open_block(rows[begin:end], nodes[begin:end], scores[begin:end])

    def _open_block(self, rows: IntArray, nodes: IntArray, scores: FloatArray) -> _Branches:
        """Query the classifiers of a few nodes."""
        options, n_own = self.models.options, self.n_options[nodes]
        begins = np.flatnonzero(np.diff(nodes, prepend=-1)).tolist()
        logs = [
            self._logs(int(nodes[begin]), rows[begin:end])
            for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True)
        ]
        place = np.repeat(options.indptr[nodes] - (np.cumsum(n_own) - n_own), n_own)
        reached = options.indices[place + np.arange(len(place))]
        final = (reached == np.repeat(nodes, n_own)) | (self.n_options[reached] == 0)
        total = np.concatenate(logs) + np.repeat(scores, n_own)
        return _Branches(np.repeat(rows, n_own), reached, total, final)

    def _logs(self, node: int, rows: IntArray) -> FloatArray:
        if self.n_options[node] == 1:  # certain
            return np.zeros(len(rows))
        return branch_logs(self.models, self.X, node, rows).ravel()


def _first_best(branches: _Branches) -> IntArray:
    """The position of the first best branch of every row; the branches of a row are contiguous."""
    begins = np.flatnonzero(np.diff(branches.rows, prepend=-1))
    best = np.maximum.reduceat(branches.scores, begins)
    lengths = np.diff(begins, append=len(branches.rows))
    places = np.flatnonzero(branches.scores == np.repeat(best, lengths))
    return places[np.flatnonzero(np.diff(branches.rows[places], prepend=-1))]


# -- decisions -----------------------------------------------------------------------------------


def leader(at: Candidates, margin: FloatArray) -> tuple[IntArray, AnyArray]:
    """The candidate of every row that leads all others by more than a margin, and if there is one.

    The lead must also hold against probability 0, for nodes that are not among the candidates.
    """
    n = len(margin)
    best = np.zeros(n)
    np.maximum.at(best, at.rows, at.proba)
    close = at.proba >= (best - margin)[at.rows]
    nodes = np.zeros(n, dtype=np.intp)
    nodes[at.rows[close]] = at.nodes[close]
    return nodes, (np.bincount(at.rows[close], minlength=n) == 1) & (best > margin)


def propose_best(found: Found) -> tuple[IntArray, AnyArray]:
    """The best final class of every row, and whether that is proven."""
    return leader(found.final, found.rounding)


def propose_expected_f1(found: Found, f: float) -> tuple[IntArray, AnyArray]:
    """The node that maximises the sum over its path of P(node) - f / 2; whether this is proven.

    Two nodes differ only below the last node that their paths share. Below it, the proposed node
    has at least its share of the largest possible mass, and the other node at most its own mass
    plus all that was missed.
    """
    nodes = best_values(found.hierarchy, found.levels, found.n, f)
    proven = _largest_lead_of_others(found, nodes, f) < -found.rounding
    return nodes, proven & (found.missed < f / 2)


def _largest_lead_of_others(found: Found, nodes: IntArray, f: float) -> FloatArray:
    """An upper bound of how much better any other node than that of a row may be."""
    hierarchy, n_nodes = found.hierarchy, found.hierarchy.n_nodes
    path, extra = hierarchy._paths[nodes], found.missed / (1 + found.missed)
    least = [
        Candidates(at.rows, at.nodes, at.proba * (1 - extra)[at.rows] - f / 2)
        for at in found.levels
    ]
    on_path = [at.nodes == path[at.rows, level] for level, at in enumerate(least)]
    # The difference of each node of the path, starting at the root, from its end.
    behind = np.zeros((found.n, hierarchy.depth + 1))
    for level, (at, on) in enumerate(zip(least, on_path, strict=True)):
        behind[at.rows[on], level + 1] = at.proba[on]
    behind = np.cumsum(behind, axis=1) - behind.sum(axis=1, keepdims=True)
    keys, leads = np.arange(found.n) * n_nodes, behind[:, 0]
    largest = leads + extra - f / 2  # for a node of level 1 that was not found
    for level, (at, on) in enumerate(zip(least, on_path, strict=True)):
        above = np.searchsorted(keys, at.rows * n_nodes + hierarchy.parent[at.nodes])
        lead = np.where(on, behind[at.rows, level + 1], leads[above] + at.proba + extra[at.rows])
        others = at.nodes != nodes[at.rows]
        np.maximum.at(largest, at.rows[others], lead[others])
        keys, leads = at.rows * n_nodes + at.nodes, lead
    return largest


def propose_top_down(found: Found, goes_on: AnyArray) -> tuple[IntArray, AnyArray]:
    """The best branch at every step from the root on, and whether this is proven.

    ``goes_on`` tells for every node whether it has branches.
    """
    parent, final = found.hierarchy.parent, found.final
    margin = found.missed + found.rounding
    nodes, proven = np.zeros(found.n, dtype=np.intp), np.ones(found.n, dtype=bool)
    on = np.full(found.n, goes_on[0])
    for at in found.levels:
        below = at.where(on[at.rows] & (parent[at.nodes] == nodes[at.rows]))
        stops = final.where(on[final.rows] & (final.nodes == nodes[final.rows]))
        best, leads = leader(Candidates.join([below, stops]), margin)
        proven &= leads | ~on
        on &= leads & (best != nodes)
        nodes = np.where(on, best, nodes)
        on &= goes_on[nodes]
    return nodes, proven
