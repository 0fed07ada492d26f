"""Measures of paths: how far, how deep and where a prediction is wrong in a tree.

All of them use three nodes per row: the true node, the predicted node and their lowest common
ancestor (the root if they have no class in common). An empty prediction is the root.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.metrics._pairs import (
    Pair,
    check_zero_division,
    divide,
    encode,
    encode_tree,
    mean,
    total_by,
    warn_undefined,
)


def exact_match(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
) -> float:
    """Compute the share of rows whose path, or set of classes, is predicted exactly.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Empty paths are allowed.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        1 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import exact_match
    >>> exact_match([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal"]])
    0.5
    """
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return mean(pair.is_exact(), pair.weight)


def tree_distance(
    y_true: Any, y_pred: Any, *, hierarchy: Any = None, sample_weight: Any = None
) -> float:
    """Compute the mean number of edges between the true and the predicted node.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        0 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import tree_distance
    >>> tree_distance([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Animal"]])
    1.5
    """
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, "tree_distance")
    levels = pair.hierarchy.levels
    edges = levels[pair.true] + levels[pair.pred] - 2 * pair.meeting_level()
    return mean(edges.astype(np.float64), pair.weight)


def severity(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    mistakes_only: bool = False,
    sample_weight: Any = None,
) -> float:
    """Compute the mean height of the lowest common ancestor of the true and the predicted node.

    The height of a node is the number of edges down to its deepest leaf. A correct row has
    severity 0, an error between two sibling leaves 1, and an error at level 1 the depth of the
    tree.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels, which determines the heights. By default, it is built from the true
        and predicted paths.
    mistakes_only : bool, default=False
        Whether to average over the wrong rows only.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        0 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import severity
    >>> severity([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Plant", "Oak"]])
    1.5
    """
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, "severity")
    wrong = pair.true != pair.pred
    height = np.where(wrong, _heights(pair.hierarchy)[pair.meeting_node()], 0).astype(np.float64)
    if mistakes_only and wrong.any():
        return mean(height[wrong], pair.weight[wrong])
    return mean(height, pair.weight)


def h_loss(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    costs: str = "uniform",
    sample_weight: Any = None,
) -> float:
    """Compute the H-loss: a wrong node has a cost only if all of its ancestors are correct.

    The loss of a row is the sum of the costs of the nodes that are in only one of the two paths and
    whose parent is in both. These are the first true node that was missed and the first predicted
    node that is wrong, if they exist. Errors below them have no cost.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    costs : {"uniform", "siblings"}, default="uniform"
        The cost of a wrong node. "uniform": 1, so that the loss of a row is 0, 1 (the path is too
        short or too long) or 2 (the path takes a wrong branch). "siblings": the cost of the parent
        divided by its number of children, starting with 1 at the root. Errors near the root then
        cost more, and the loss of a row is at most 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over the rows; 0 if every path is correct.

    Raises
    ------
    ValueError
        If the costs are unknown.

    Examples
    --------
    >>> from hiclass.metrics import h_loss
    >>> h_loss([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Animal"]])
    1.5
    """
    if costs not in ("uniform", "siblings"):
        raise ValueError(f"costs={costs!r} is unknown. Use 'uniform' or 'siblings'.")
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, "h_loss")
    tree, level = pair.hierarchy, pair.meeting_level()
    cost = np.zeros(tree.n_nodes + 1)  # the last entry is for a path that has ended
    if costs == "uniform":
        cost[: tree.n_nodes] = 1.0
    else:
        cost[0] = 1.0
        n_children = np.diff(tree.child_indptr)
        for nodes in tree.nodes_by_level[1:]:
            cost[nodes] = cost[tree.parent[nodes]] / n_children[tree.parent[nodes]]
    # One additional column, because a path that reaches the deepest level has no next step.
    table = np.pad(tree.ancestor_table, ((0, 0), (0, 1)), constant_values=-1)
    loss = cost[table[pair.true, level]] + cost[table[pair.pred, level]]
    return mean(loss, pair.weight)


def lca_precision(
    y_true: Any, y_pred: Any, *, hierarchy: Any = None, sample_weight: Any = None
) -> float:
    """Compute the precision of paths below their lowest common ancestor.

    The precision of a row is ``1 / (1 + d)``, where ``d`` is the number of edges from the predicted
    node up to the lowest common ancestor of both nodes. The result is the mean over rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over the rows; 1 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import lca_precision
    >>> lca_precision([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Animal"]])
    0.75
    """
    return _lca("lca_precision", y_true, y_pred, hierarchy, sample_weight)


def lca_recall(
    y_true: Any, y_pred: Any, *, hierarchy: Any = None, sample_weight: Any = None
) -> float:
    """Compute the recall of paths below their lowest common ancestor.

    The recall of a row is ``1 / (1 + d)``, where ``d`` is the number of edges from the true node
    up to the lowest common ancestor of both nodes. The result is the mean over rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over the rows; 1 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import lca_recall
    >>> lca_recall([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Animal"]])
    0.5
    """
    return _lca("lca_recall", y_true, y_pred, hierarchy, sample_weight)


def lca_f1(y_true: Any, y_pred: Any, *, hierarchy: Any = None, sample_weight: Any = None) -> float:
    """Compute the F1 of paths below their lowest common ancestor.

    Unlike :func:`f1`, it does not count the ancestors that both nodes share, so that an error has
    the same cost at every level. The result is the mean over rows of the harmonic mean of
    :func:`lca_precision` and :func:`lca_recall`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. An empty path stands for the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Mean over the rows; 1 if every path is correct.

    Examples
    --------
    >>> from hiclass.metrics import lca_f1
    >>> lca_f1([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Dog"], ["Animal", "Dog"]])
    0.75
    """
    return _lca("lca_f1", y_true, y_pred, hierarchy, sample_weight)


def level_scores(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    average: str = "macro",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> dict[str, AnyArray]:
    """Compute accuracy, precision, recall and F1 for each level on its own.

    After the end of a path, its label is "missing". Two paths that have both ended agree.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Empty paths are allowed.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The tree of the labels. By default, it is built from the true and predicted paths.
    average : {"macro", "weighted"}, default="macro"
        How precision, recall and F1 are averaged over the classes of a level: equally, or weighted
        by how often a class is true.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        The value of 0 / 0, as in :func:`precision`.

    Returns
    -------
    dict of str to ndarray of shape (n_levels,)
        "level" (1, 2, ...), "n_classes" (number of classes that are true or predicted at the
        level, without "missing"), "support" (weight of the rows whose true path reaches the
        level), "accuracy", "precision", "recall" and "f1".

    Raises
    ------
    ValueError
        If the average is unknown.

    Examples
    --------
    >>> from hiclass.metrics import level_scores
    >>> scores = level_scores(
    ...     [["Animal", "Cat"], ["Plant"]], [["Plant"], ["Plant"]], zero_division=0
    ... )
    >>> scores["accuracy"]
    array([0.5, 0.5])
    """
    if average not in ("macro", "weighted"):
        raise ValueError(f"average={average!r} is unknown. Use 'macro' or 'weighted'.")
    fill = check_zero_division(zero_division)
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, "level_scores")
    scores, undefined = scores_by_level(pair, average, fill)
    if undefined and isinstance(zero_division, str):
        warn_undefined(f"{undefined} class(es) that are never predicted or never true")
    return scores


def scores_by_level(pair: Pair, average: str, fill: float) -> tuple[dict[str, AnyArray], int]:
    """Compute the result of :func:`level_scores`, and count how often 0 / 0 occurred."""
    names = ("n_classes", "support", "accuracy", "precision", "recall", "f1")
    columns: dict[str, list[float]] = {name: [] for name in names}
    undefined = 0
    # Node 0 stands for a path that has ended.
    for at_level in np.maximum(pair.hierarchy.ancestor_table, 0).T:
        a, b = at_level[pair.true], at_level[pair.pred]
        weights = pair.weight * (a == b), pair.weight, pair.weight
        tp, pred, true = (
            total_by(nodes, w, pair.hierarchy) for nodes, w in zip((a, b, a), weights, strict=True)
        )
        present = np.flatnonzero(true + pred)
        columns["n_classes"].append(int(np.count_nonzero(present)))
        columns["support"].append(true[1:].sum())
        columns["accuracy"].append(tp.sum() / true.sum())
        tp, pred, true = tp[present], pred[present], true[present]
        weight = true if average == "weighted" else np.ones(len(true))
        for name, divisor in (("precision", pred), ("recall", true), ("f1", (pred + true) / 2)):
            columns[name].append(mean(divide(tp, divisor, fill), weight))
            undefined += int(np.count_nonzero(divisor == 0))
    levels = np.arange(1, pair.hierarchy.depth + 1)
    return {
        "level": levels,
        **{name: np.array(values) for name, values in columns.items()},
    }, undefined


def _lca(name: str, y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Any) -> float:
    """All three measures: the two sets share one node, their lowest common ancestor."""
    pair = encode_tree(y_true, y_pred, hierarchy, sample_weight, name)
    levels, meet = pair.hierarchy.levels, pair.meeting_level()
    size = {
        "lca_precision": levels[pair.pred] - meet + 1.0,
        "lca_recall": levels[pair.true] - meet + 1.0,
        "lca_f1": (levels[pair.pred] + levels[pair.true]) / 2 - meet + 1.0,
    }
    return mean(1 / size[name], pair.weight)


def _heights(tree: Hierarchy) -> IntArray:
    """Number of edges from every node down to its deepest leaf."""
    height = np.zeros(tree.n_nodes, dtype=np.intp)
    for nodes in reversed(tree.nodes_by_level[1:]):
        np.maximum.at(height, tree.parent[nodes], height[nodes] + 1)
    return height
