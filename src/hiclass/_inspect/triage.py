"""Which rows a model can code without review, and the order and suggestions for the other rows.

A row is sure if its predicted path ends where it would end without thresholds, so that no label was
omitted because of a low probability. The other rows get the most probable classes as suggestions,
and the features that support the first two of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._estimators.guarantees import guarantee_of
from hiclass._estimators.held_out import decide_both
from hiclass._estimators.offers import has_paths
from hiclass._inference.confidence import is_set
from hiclass._inspect.models import open_model
from hiclass._inspect.pairs import PairReason, parting, reasons_of_pairs, why_no_reasons
from hiclass._labels.columns import read_labels
from hiclass._rows import chunks_of_rows, n_rows_of, slice_rows, take_rows
from hiclass._targets.paths import nodes_of
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The orders of review.
ORDERS = {
    "uncertain": "lowest probability of the first suggestion first",
    "cost": "largest expected cost of the first suggestion first",
    "branch": "grouped by the class below which the first two suggestions differ, largest first",
}
#: The number of features for each of the first two suggestions.
_TOP = 5
#: Smaller probabilities of ending at a node are due to rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Triage:
    """Result of :func:`triage`.

    Parameters
    ----------
    sure : ndarray of bool of shape (n_samples,)
        Whether a row can be coded by the model without review.
    predicted : ndarray of shape (n_samples, n_levels), or (n_samples,) for 1-D ``y``
        The predicted paths of all rows in the form of ``predict``, down to the given level.
    confidence : ndarray of shape (n_samples, n_levels)
        The probabilities of the nodes on the predicted paths.
    review : ndarray of int
        The rows for human review, in the order of review.
    suggestions : ndarray of shape (n_review, k)
        For each row of ``review``, the nodes of the most probable classes, in descending order; -1
        if there are fewer than ``k``.
    probabilities : ndarray of shape (n_review, k)
        The probabilities of the suggestions; 0 if there are fewer than ``k``.
    reasons : list of PairReason or None
        The features that support the first and the second suggestion, or None if not available.
    hierarchy : Hierarchy
        The hierarchy of the nodes: ``hierarchy.path(node)`` is the path of a suggestion.
    note : str
        Why reasons are not available for some or all rows. Empty if all rows have reasons.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, triage
    >>> X, y = [[0], [1], [4], [5]], [["A", "a"], ["A", "b"], ["B", "c"], ["B", "d"]]
    >>> found = triage(LocalClassifierPerParentNode(min_confidence=0.5).fit(X, y), X)
    >>> found.sure.tolist(), found.review.tolist()
    ([True, False, False, True], [1, 2])
    """

    sure: AnyArray
    predicted: AnyArray
    confidence: FloatArray
    review: IntArray
    suggestions: IntArray
    probabilities: FloatArray
    reasons: list[PairReason | None]
    hierarchy: Hierarchy
    note: str = ""

    def __repr__(self) -> str:
        n_sure, n_rows = int(self.sure.sum()), len(self.sure)
        return f"Triage({n_sure:,} of {n_rows:,} rows are sure, {len(self.review):,} for review)"


def triage(
    model: Any,
    X: Any,
    *,
    level: int | None = None,
    k: int = 5,
    order: str = "uncertain",
    costs: Mapping[Any, float] | None = None,
    reasons: bool = True,
    feature_names: Any = None,
) -> Triage:
    """Separate the rows that a model can code from those for human review.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one. Its ``min_confidence``, set directly or by a guarantee, decides which rows are sure.
    X : rows
        The rows, in the form that ``model.predict`` accepts.
    level : int, default=None
        The level that has to be coded, starting at 1. By default, whole paths.
    k : int, default=5
        The number of suggestions per row, each a different class of that level.
    order : {"uncertain", "cost", "branch"}, default="uncertain"
        The order of review. "uncertain": lowest probability of the first suggestion first. "cost":
        largest expected cost of the first suggestion first. "branch": grouped by the class below
        which the first two suggestions differ, the largest group first. Identical rows are always
        adjacent.
    costs : mapping, default=None
        For ``order="cost"``, a mapping from classes (path tuples or labels) to the cost of missing
        a row of the class. A class without an entry has the cost of its nearest ancestor with one,
        otherwise 1.
    reasons : bool, default=True
        Whether to find the features that support the first and the second suggestion. They are
        available for linear classifiers, also in a flat model or an ensemble, but not for forests,
        kernel machines and networks; see ``note`` of the result.
    feature_names : sequence of str, default=None
        Names of the features of the classifier. By default, they are taken from the preceding steps
        of the pipeline, or from the frame that the classifier was fitted on.

    Returns
    -------
    Triage
        Predictions for all rows, and which of them are sure. For the other rows, an order of
        review, suggestions and reasons.

    Raises
    ------
    ValueError
        If the model has no thresholds, so that every row would be sure, or if a parameter is
        invalid.
    TypeError
        If ``costs`` is not a mapping.
    AttributeError
        If the model has no probabilities.

    See Also
    --------
    guarantee_error : Choose thresholds that bound the share of wrong labels.
    explain : Explain the prediction for one row.

    Notes
    -----
    A row is sure if no threshold truncates its path above the given level. If the model predicts
    that a path ends early, a guarantee covers the labels of the path, but not its end. Labels below
    the given level are omitted, because no guarantee covers them.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, triage
    >>> X = [[4, 0, 0.5], [4, 0, 1.2], [2, 2, 0.3], [0, 0, 2.5]]
    >>> y = [["Mammal", "Cat"], ["Mammal", "Dog"], ["Bird", "Owl"], ["Reptile", "Snake"]]
    >>> model = LocalClassifierPerParentNode(min_confidence=0.5).fit(X, y)
    >>> found = triage(model, [[4, 0, 1.0], [2, 2, 0.2]], k=2)
    >>> found
    Triage(1 of 2 rows are sure, 1 for review)
    >>> [found.hierarchy.path(node) for node in found.suggestions[0]]
    [('Mammal', 'Dog'), ('Mammal', 'Cat')]
    """
    opened = open_model(model, feature_names)
    classifier, tree = opened.model, opened.model.hierarchy_
    if not is_set(getattr(classifier, "min_confidence", 0.0)) and guarantee_of(model) is None:
        raise ValueError(
            "The model has no thresholds, so every row would be sure. Set them with "
            "guarantee_error(model, X, y, max_error=0.05).apply(model), on rows that it was not "
            "fitted on, or with min_confidence."
        )
    has_paths(classifier)
    _check(tree, level, k, order, costs)
    rows = opened.transform(X)
    cut, whole = decide_both(classifier, rows)
    ends = _at(tree, cut.nodes, level)
    sure = (ends == _at(tree, whole.nodes, level)) & (ends > 0)
    confidence = classifier._by_level(cut.confidence)
    if level is not None:
        confidence[:, level:] = np.nan
    review = np.flatnonzero(~sure)
    some = take_rows(rows, review)
    suggestions, proba = _suggest(classifier, some, level, k)
    if order == "cost":
        rank = -_expected_costs(classifier, some, suggestions[:, 0], level, costs or {})
    elif order == "branch":
        rank = _by_branch(tree, suggestions)
    else:
        rank = proba[:, 0]
    places = _together(np.lexsort([review, proba[:, 0], rank]), _keys(take_rows(X, review)))
    second = suggestions[places, 1] if k > 1 else np.full(len(places), -1)
    found: list[PairReason | None] = [None] * len(places)
    if reasons:
        found = reasons_of_pairs(
            opened, take_rows(some, places), suggestions[places, 0], second, _TOP, level
        )
    return Triage(
        sure=sure,
        predicted=classifier._labels_of(ends),
        confidence=confidence,
        review=review[places],
        suggestions=suggestions[places],
        probabilities=proba[places],
        reasons=found,
        hierarchy=tree,
        note=_note(opened, found, second) if reasons else "",
    )


def _note(opened: Any, found: list[PairReason | None], second: IntArray) -> str:
    """Why rows with two suggestions have no reasons; empty if all rows have reasons."""
    without = sum(reason is None for reason, v in zip(found, second.tolist(), strict=True) if v > 0)
    if not without:
        return ""
    names = why_no_reasons(opened)
    rows = "The rows" if without == int((second > 0).sum()) else f"{without:,} rows"
    why = f", which {names} does not have" if names else ", and none decides about these rows"
    return f"{rows} for review have no reasons, because reasons require linear classifiers{why}."


def _check(tree: Hierarchy, level: Any, k: Any, order: Any, costs: Any) -> None:
    for name, value, most in (("level", level, tree.depth), ("k", k, None)):
        is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is None and name == "level":
            continue
        if not is_int or value < 1 or (most is not None and value > most):
            upper = f"from 1 to {most}, the depth of the hierarchy" if most else "of at least 1"
            raise ValueError(f"{name} must be an integer {upper}; got {value!r}.")
    if not isinstance(order, str) or order not in ORDERS:
        raise ValueError(f"order must be one of {', '.join(ORDERS)}; got {order!r}.")
    if costs is not None and order != "cost":
        raise ValueError(f'costs are for order="cost"; got order={order!r}.')
    if costs is not None and not isinstance(costs, Mapping):
        raise TypeError(
            f"costs must be a mapping from classes to costs; got a {type(costs).__name__}."
        )


def _at(tree: Hierarchy, nodes: IntArray, level: int | None) -> IntArray:
    """The ancestors of nodes at a level; nodes above the level as they are."""
    if level is None:
        return nodes
    return np.where(tree.levels[nodes] >= level, tree._at_level(nodes, level), nodes)


# -- suggestions -------------------------------------------------------------------------------


def _suggest(classifier: Any, X: Any, level: int | None, k: int) -> tuple[IntArray, FloatArray]:
    """The most probable classes of every row, all different at the level."""
    tree = classifier.hierarchy_
    n_rows = n_rows_of(X)
    nodes, proba = np.full((n_rows, k), -1, dtype=np.intp), np.zeros((n_rows, k))
    if not n_rows:
        return nodes, proba
    if level is None or level == tree.depth:
        paths, proba = classifier.predict_paths(X, k)
        flat = paths.reshape(n_rows * k, *paths.shape[2:])
        nodes = nodes_of(read_labels(flat), tree).reshape(n_rows, k)
        return np.where(nodes > 0, nodes, -1), np.where(nodes > 0, proba, 0.0)
    # Whole subtrees at the level, and paths that end above it.
    for rows, mass in _masses(classifier, X):
        columns = np.arange(1, tree.n_nodes)
        at = _at(tree, columns, level)
        shares = np.zeros((len(mass), tree.n_nodes))
        np.add.at(shares.T, at, mass[:, 1:].T)
        best = np.argsort(-shares, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(shares, best, axis=1)
        nodes[rows, : best.shape[1]] = np.where(found > 0, best, -1)
        proba[rows, : best.shape[1]] = found
    return nodes, proba


def _masses(classifier: Any, X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """For chunks of rows, the probability that a path ends at each node."""
    tree = classifier.hierarchy_
    for rows in chunks_of_rows(X, 2 * tree.n_nodes) if n_rows_of(X) else ():
        proba = classifier.predict_node_proba(slice_rows(X, rows))
        mass = proba.copy()
        np.subtract.at(mass.T, tree.parent[1:], proba[:, 1:].T)
        mass[:, 0] = 0.0
        # Due to rounding, for a class at which no path ends.
        yield rows, np.where(mass > _ROUNDING, mass, 0.0)


# -- the order ---------------------------------------------------------------------------------


def _expected_costs(
    classifier: Any, X: Any, first: IntArray, level: int | None, costs: Mapping[Any, float]
) -> FloatArray:
    """The expected cost of coding every row as its first suggestion."""
    tree = classifier.hierarchy_
    of_class = _costs_of(tree, costs)
    code = _at(tree, np.arange(tree.n_nodes), level)
    expected = np.zeros(len(first))
    for rows, mass in _masses(classifier, X):
        missed = code[None, :] != first[rows, None]
        expected[rows] = (mass * missed) @ of_class
    return expected


def _costs_of(tree: Hierarchy, costs: Mapping[Any, float]) -> FloatArray:
    """The cost of every node: its own, or that of its nearest ancestor with a cost, otherwise 1."""
    found = np.full(tree.n_nodes, np.nan)
    found[0] = 1.0
    for name, cost in costs.items():
        if not (isinstance(cost, int | float | np.number) and 0 <= cost < np.inf):
            raise ValueError(f"The cost of {name!r} must be a non-negative number; got {cost!r}.")
        found[tree.find(name)] = float(cost)
    for node in np.flatnonzero(np.isnan(found)).tolist():  # parents come before their children
        found[node] = found[tree.parent[node]]
    return found


def _by_branch(tree: Hierarchy, suggestions: IntArray) -> FloatArray:
    """A rank by the node below which the first two suggestions differ: large groups first."""
    if suggestions.shape[1] < 2:
        return np.zeros(len(suggestions))
    doubtful = np.array(
        [parting(tree, a, b)[0] if b > 0 else tree.n_nodes for a, b in suggestions[:, :2].tolist()],
        dtype=np.intp,
    )
    size = np.bincount(doubtful, minlength=tree.n_nodes + 1)
    order = np.lexsort([np.arange(len(size)), -size])
    rank = np.empty(len(size))
    rank[order] = np.arange(len(size))
    ranks: FloatArray = rank[doubtful]
    return ranks


def _together(order: IntArray, keys: list[Any]) -> IntArray:
    """An order in which rows with the same key follow the first of them."""
    first: dict[Any, int] = {}
    for place in order.tolist():
        first.setdefault(keys[place], len(first))
    return np.array(sorted(order.tolist(), key=lambda place: first[keys[place]]), dtype=np.intp)


def _keys(X: Any) -> list[Any]:
    """A key that is equal for rows with the same content."""
    if sp.issparse(X):
        X = sp.csr_array(X)
        ends = X.indptr.tolist()
        return [
            (X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in itertools.pairwise(ends)
        ]
    if hasattr(X, "rows") and callable(X.rows):  # polars
        return [str(row) for row in X.rows()]
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.dtype != object:
        return [row.tobytes() for row in X]
    return [str(row.tolist() if isinstance(row, np.ndarray) else row) for row in X]
