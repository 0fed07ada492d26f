"""Which features speak for one suggested class and against another, for many rows at once.

Two paths part at some node, and the local classifier there prefers one of its branches. If it is
linear, the difference of the two scores is a sum over features, as in :mod:`reasons`. Rows are
taken node by node, so that every local classifier is opened once, and one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._inspect.models import OpenModel, local_models, strongest
from hiclass._inspect.reasons import ReasonFinder
from hiclass._rows import take_rows
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class PairReason:
    """What speaks for the first of two classes, and what for the second.

    Attributes
    ----------
    first, second : str
        The labels at which the two paths part; "stopping here" for a path that ends above.
    features : list of (str, float)
        Names, and what each adds to the difference of scores. Those that speak for the first are
        positive and come first; on both sides the strongest lead.
    """

    first: str
    second: str
    features: list[tuple[str, float]]


def parting(hierarchy: Hierarchy, first: int, second: int) -> tuple[int, int, int]:
    """Where two paths of a tree part: the node above, and its branch on the way to each.

    A branch is a child, or the node above itself where a path ends there.
    """
    paths = [[*hierarchy.ancestors(node).tolist(), node] for node in (first, second)]
    n_same = sum(a == b for a, b in zip(*paths, strict=False))
    above = paths[0][n_same - 1]
    one, other = (path[n_same] if len(path) > n_same else above for path in paths)
    return above, one, other


def reasons_of_pairs(
    opened: OpenModel, X: Any, first: IntArray, second: IntArray, top: int
) -> list[PairReason | None]:
    """Find what speaks for the first and for the second of two classes of every row.

    Parameters
    ----------
    opened : OpenModel
        The model, with the names of its features.
    X : rows
        Rows as the classifier sees them.
    first, second : ndarray of int
        Two different nodes of every row; -1 where there is none.
    top : int
        How many features to find for each of the two.

    Returns
    -------
    list of PairReason or None
        None where nothing linear decides between the two.
    """
    found: list[PairReason | None] = [None] * len(first)
    member = _linear_member(opened)
    if member is None:
        return found
    tree = opened.model.hierarchy_
    rows_of: dict[tuple[int, int, int], list[int]] = {}
    for row in np.flatnonzero((first > 0) & (second > 0)).tolist():
        rows_of.setdefault(parting(tree, int(first[row]), int(second[row])), []).append(row)
    finder, node = None, -1
    for (above, one, other), rows in sorted(rows_of.items()):
        if finder is None or node != above:
            names = member.names_out(opened.names)
            finder, node = ReasonFinder("", member.model, None, None, names, top), above
        compared = finder.compare(above, one, other)
        if compared is None:
            continue
        weights, estimator = compared
        here = estimator.transform(member.transform(take_rows(X, np.array(rows))))
        names = estimator.names(finder.names)
        one_name, other_name = (
            "stopping here" if v == above else str(tree.labels[v]) for v in (one, other)
        )
        for place, row in enumerate(rows):
            terms = _strongest(here, place, weights, names, top)
            found[row] = PairReason(one_name, other_name, terms)
    return found


def _linear_member(opened: OpenModel) -> OpenModel | None:
    """The first of the models that a model is made of whose classifiers decide at every node."""
    for member in local_models(opened.model):
        finder = ReasonFinder("", member.model, None, None, None, 0)
        if not finder.strategy.is_direct and not hasattr(member.model, "column_scales_"):
            return member
    return None


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
