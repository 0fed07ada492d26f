"""Which rows to label next, so that a model learns most from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._estimators.offers import require_paths
from hiclass._labels.columns import read_labels
from hiclass._targets.paths import nodes_of
from hiclass._typing import FloatArray, IntArray
from hiclass._wrapping import unwrap_fitted


def choose_for_review(
    model: Any, X: Any, n_rows: int | None = None, *, by: str = "diverse"
) -> IntArray:
    """Choose the rows whose labels would improve a model most (active learning).

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier with probabilities, or a pipeline or search that ends in
        one.
    X : rows
        Rows without labels.
    n_rows : int or None, default=None
        The number of rows to choose. By default, all rows are ranked.
    by : {"diverse", "margin", "uncertainty"}, default="diverse"
        The order. "uncertainty": rows with the least probable best path first. "margin": rows with
        the smallest difference between the two best paths, at the node where they part, first.
        "diverse": by margin, alternating between the predicted final classes.

    Returns
    -------
    ndarray of int
        Row numbers, in the order of review.

    Raises
    ------
    ValueError
        If ``by`` is unknown, or ``n_rows`` is not a positive integer.

    See Also
    --------
    triage : Separate the rows for human review, with suggestions.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, choose_for_review
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> model = LocalClassifierPerParentNode().fit(X, [["A"], ["A"], ["B"], ["B"]])
    >>> choose_for_review(model, [[0.0], [4.6], [9.0]], 1, by="margin")
    array([1])
    """
    is_int = isinstance(n_rows, int | np.integer) and not isinstance(n_rows, bool)
    if n_rows is not None and not (is_int and n_rows >= 1):
        raise ValueError(f"n_rows must be an integer of at least 1, or None; got {n_rows!r}.")
    if by not in _SCORES:
        raise ValueError(f"by={by!r} is unknown. Use one of {', '.join(map(repr, _SCORES))}.")
    opened = unwrap_fitted(model)
    require_paths(opened.model, "choose_for_review")
    rows = opened.transform(X)
    paths, proba = opened.model.predict_paths(rows, k=2)
    tree = opened.model.hierarchy_
    nodes = np.column_stack([nodes_of(read_labels(paths[:, i]), tree) for i in (0, 1)])
    score = _SCORES[by](tree, nodes, proba)
    order = np.lexsort((np.arange(len(score)), score))
    if by == "diverse":
        order = _taking_turns(order, nodes[:, 0])
    return order if n_rows is None else order[:n_rows]


def _certainty(tree: Any, nodes: IntArray, proba: FloatArray) -> FloatArray:
    return proba[:, 0]


def _margin(tree: Any, nodes: IntArray, proba: FloatArray) -> FloatArray:
    """The difference between the two best paths; smaller if they part early, which matters more."""
    first, second = (tree._paths[nodes[:, i]] for i in (0, 1))
    shared = ((first == second) & (first >= 0)).sum(axis=1) / max(tree.depth, 1)
    margin: FloatArray = proba[:, 0] - proba[:, 1] + 1e-3 * shared
    return margin


def _taking_turns(order: IntArray, classes: IntArray) -> IntArray:
    """The same order, but the first row of every class comes before the second row of any class."""
    ordered = classes[order]
    by_class = np.argsort(ordered, kind="stable")
    start = np.searchsorted(ordered[by_class], ordered[by_class])
    turn = np.empty(len(order), dtype=np.intp)
    turn[by_class] = np.arange(len(order)) - start
    return order[np.argsort(turn, kind="stable")]


_SCORES = {"diverse": _margin, "margin": _margin, "uncertainty": _certainty}
