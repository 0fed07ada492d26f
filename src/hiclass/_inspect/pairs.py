"""Which features support one suggested class against another, for many rows at once.

Two paths part at some node, and the local classifier there prefers one of its branches. If it is
linear, the difference of the two scores is a sum over features, as in :mod:`reasons`. Rows are
processed node by node, so that every local classifier is opened once, and one at a time. A flat
linear model compares two final classes in the same way. Forests and kernel machines have no such
sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._inspect.models import (
    OpenEstimator,
    OpenModel,
    fitted_state,
    local_models,
    open_estimator,
    strongest,
)
from hiclass._inspect.reasons import ReasonFinder
from hiclass._rows import take_rows
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class PairReason:
    """The features that support the first of two classes, and those that support the second.

    Attributes
    ----------
    first, second : str
        The labels at which the two paths part; "stopping here" for a path that ends above.
    features : list of (str, float)
        Names and contributions to the difference of scores. Features that support the first class
        are positive and come first. On both sides, the strongest come first.
    """

    first: str
    second: str
    features: list[tuple[str, float]]


def parting(hierarchy: Hierarchy, first: int, second: int) -> tuple[int, int, int]:
    """Where two paths of a tree part: the node above, and the branch of each path.

    A branch is a child, or the node above itself if a path ends there.
    """
    paths = [[*hierarchy.ancestors(node).tolist(), node] for node in (first, second)]
    n_same = sum(a == b for a, b in zip(*paths, strict=False))
    above = paths[0][n_same - 1]
    one, other = (path[n_same] if len(path) > n_same else above for path in paths)
    return above, one, other


def reasons_of_pairs(
    opened: OpenModel,
    X: Any,
    first: IntArray,
    second: IntArray,
    top: int,
    level: int | None = None,
) -> list[PairReason | None]:
    """Find the features that support the first and the second of two classes of every row.

    Parameters
    ----------
    opened : OpenModel
        The model, with the names of its features.
    X : rows
        Rows as the classifier sees them.
    first, second : ndarray of int
        Two different nodes of every row; -1 where there is none.
    top : int
        The number of features for each of the two classes.
    level : int or None, default=None
        The level at which a node stands for all classes below it; None if each is a final class.

    Returns
    -------
    list of PairReason or None
        None where nothing linear decides between the two. Of an ensemble the first model counts
        that has a reason; one with a classifier per node comes before a flat one.
    """
    found: list[PairReason | None] = [None] * len(first)
    for member in _members(opened):
        finder = ReasonFinder("", member.model, None, None, member.names_out(opened.names), top)
        left = [row for row, reason in enumerate(found) if reason is None]
        rows = np.array([row for row in left if first[row] > 0 and second[row] > 0], dtype=np.intp)
        if not len(rows):
            break
        pairs = _Pairs(rows, first[rows], second[rows], level)
        here = member.transform(take_rows(X, rows))
        find = _of_final_classes if finder.strategy.is_direct else _of_nodes
        for row, reason in find(finder, pairs, here, top):
            found[row] = reason
    return found


def why_no_reasons(opened: OpenModel) -> str:
    """The classifiers of a model that are not linear, for a message; empty if all are linear."""
    names = []
    for member in _members(opened):
        models, _ = fitted_state(member.model)
        for fitted in [*models.classifiers.values()][:1]:
            estimator = open_estimator(fitted, 2)
            if not hasattr(estimator.model, "coef_") and estimator.kind != "linear":
                names.append(type(estimator.model).__name__)
    if not names and not _members(opened):
        names = [type(opened.model).__name__]
    return ", ".join(dict.fromkeys(names))


def _members(opened: OpenModel) -> list[OpenModel]:
    """The parts of a model that may be linear, those per node first."""
    members = [m for m in local_models(opened.model) if not hasattr(m.model, "column_scales_")]
    return sorted(members, key=lambda member: fitted_state(member.model)[1].is_direct)


@dataclass(frozen=True)
class _Pairs:
    """Rows with two nodes each."""

    rows: IntArray
    first: IntArray
    second: IntArray
    level: int | None


def _of_nodes(
    finder: ReasonFinder, pairs: _Pairs, X: Any, top: int
) -> Iterator[tuple[int, PairReason]]:
    """Reasons of a model with local classifiers: one that decides where two paths part."""
    tree, names = finder.tree, finder.names
    places_of: dict[tuple[int, int, int], list[int]] = {}
    for place, pair in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        places_of.setdefault(parting(tree, *pair), []).append(place)
    node = -1
    for (above, one, other), places in sorted(places_of.items()):
        if node != above:
            # Opened classifiers are as wide as X, so those of other nodes are released.
            finder, node = ReasonFinder("", finder.model, None, None, names, top), above
        compared = finder.compare(above, one, other)
        if compared is None:
            continue
        weights, estimator = compared
        here = estimator.transform(take_rows(X, np.array(places)))
        named = estimator.names(names)
        one_name, other_name = (
            "stopping here" if v == above else str(tree.labels[v]) for v in (one, other)
        )
        for i, place in enumerate(places):
            terms = _strongest(here, i, weights, named, top)
            yield int(pairs.rows[place]), PairReason(one_name, other_name, terms)


def _of_final_classes(
    finder: ReasonFinder, pairs: _Pairs, X: Any, top: int
) -> Iterator[tuple[int, PairReason]]:
    """Reasons of a flat linear model: the scores of two final classes are compared."""
    estimator, final = finder.final_classes()
    if estimator is None or estimator.weights is None:
        return
    weights, named = estimator.weights, estimator.names(finder.names)
    here = estimator.transform(X)
    columns = [
        _final_columns(finder.tree, final, estimator, here, nodes, pairs.level)
        for nodes in (pairs.first, pairs.second)
    ]
    labels = [[str(finder.tree.labels[v]) for v in n] for n in (pairs.first, pairs.second)]
    places_of: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if min(pair) >= 0:
            places_of.setdefault(pair, []).append(place)
    for (one, other), places in places_of.items():
        difference = weights[one] - weights[other]
        for place in places:
            terms = _strongest(here, place, difference, named, top)
            yield int(pairs.rows[place]), PairReason(labels[0][place], labels[1][place], terms)


def _final_columns(
    tree: Hierarchy,
    final: IntArray,
    estimator: OpenEstimator,
    X: Any,
    nodes: IntArray,
    level: int | None,
) -> IntArray:
    """The column of the class of every row, or of the most probable final class below it."""
    assert estimator.weights is not None
    columns = np.full(len(nodes), -1, dtype=np.intp)
    for node in np.unique(nodes).tolist():
        stands_for_all = level is not None and tree.levels[node] == level
        end = tree.subtree_end[node] if stands_for_all else node + 1
        inside = np.flatnonzero((final >= node) & (final < end))
        rows = np.flatnonzero(nodes == node)
        if len(inside) == 1:
            columns[rows] = inside[0]
        elif len(inside):
            scores = take_rows(X, rows) @ estimator.weights[inside].T
            best = np.asarray(scores + estimator.intercepts[inside]).argmax(axis=1)
            columns[rows] = inside[best]
    return columns


def _strongest(
    X: Any, row: int, weights: FloatArray, names: list[str], top: int
) -> list[tuple[str, float]]:
    """The strongest terms of one row, those for the first class before those for the second."""
    if sp.issparse(X):
        start, end = X.indptr[row], X.indptr[row + 1]
        columns, values = X.indices[start:end], X.data[start:end]
    else:
        values = np.asarray(X.iloc[row] if hasattr(X, "iloc") else X[row], dtype=np.float64).ravel()
        columns = np.arange(len(values))
    terms = values * weights[columns]
    sides = [strongest(np.maximum(sign * terms, 0.0), top) for sign in (1, -1)]
    return [(names[columns[j]], float(terms[j])) for side in sides for j in side.tolist()]
