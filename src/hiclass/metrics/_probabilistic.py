"""Measures of node probabilities.

Node probabilities are the result of ``predict_node_proba``: one column per node of the hierarchy,
starting with the root. Every node is a separate binary problem, so these measures also apply to
DAGs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hiclass._labels.columns import read_paths
from hiclass._labels.sets import read_sets
from hiclass._targets.paths import as_hierarchy, nodes_of
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.hierarchy._lookup import membership
from hiclass.metrics._pairs import check_weight, without_root

#: Number of entries (rows x nodes) that are processed together.
_BLOCK = 1 << 20


def node_log_loss(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    per_node: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    """Compute the log loss of node probabilities, with one binary problem per node.

    The loss of a row is the sum over all nodes of ``-log p`` for true nodes, which are on the path
    of a true label, and of ``-log (1 - p)`` for other nodes. The result is the mean over rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    per_node : bool, default=False
        Whether to return the mean loss of each node instead of the sum over nodes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        The loss. With ``per_node=True``, one value per node, starting with the root.

    Notes
    -----
    As in scikit-learn, probabilities are clipped to ``[eps, 1 - eps]``, where ``eps`` is the
    machine epsilon of their type, so that the loss is finite.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import node_log_loss
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> round(node_log_loss([["Cat"]], [[1.0, 0.8, 0.2]], hierarchy=h), 4)
    0.4463
    """

    def loss(p: AnyArray, truth: AnyArray) -> AnyArray:
        eps = np.finfo(p.dtype).eps
        p = np.clip(p, eps, 1 - eps)
        return -np.log(np.where(truth, p, 1 - p))

    return _node_loss(loss, y_true, node_proba, hierarchy, multi_label, per_node, sample_weight)


def node_brier_score(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    per_node: bool = False,
    sample_weight: Any = None,
) -> float | FloatArray:
    """Compute the Brier score of node probabilities, with one binary problem per node.

    The score of a row is the sum over all nodes of ``(p - t)^2``, where ``t`` is 1 for nodes on the
    path of a true label and 0 for other nodes. The result is the mean over rows; 0 is best. With
    one level, it equals the multi-class Brier score of scikit-learn.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    per_node : bool, default=False
        Whether to return the mean score of each node instead of the sum over nodes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        The score. With ``per_node=True``, one value per node, starting with the root.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import node_brier_score
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"]])
    >>> round(node_brier_score([["Cat"]], [[1.0, 0.8, 0.2]], hierarchy=h), 4)
    0.08
    """

    def loss(p: AnyArray, truth: AnyArray) -> AnyArray:
        return np.square(p - truth)

    return _node_loss(loss, y_true, node_proba, hierarchy, multi_label, per_node, sample_weight)


def _node_loss(
    loss: Callable[[AnyArray, AnyArray], AnyArray],
    y_true: Any,
    node_proba: Any,
    hierarchy: Any,
    multi_label: bool,
    per_node: bool,
    sample_weight: Any,
) -> float | FloatArray:
    """Mean over rows of a loss per row and node, in blocks of rows."""
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, True
    )
    total = np.zeros(tree.n_nodes)
    step = max(1, _BLOCK // tree.n_nodes)
    for start in range(0, len(proba), step):
        rows = slice(start, start + step)
        losses = loss(proba[rows], truth[rows].toarray().astype(bool))
        total += (weight[rows, None] * losses).sum(axis=0)
    total /= weight.sum()
    total[0] = 0.0  # every row belongs to the root
    return total if per_node else float(total.sum())


def check_proba(
    y_true: Any,
    node_proba: Any,
    hierarchy: Any,
    multi_label: bool,
    sample_weight: Any,
    is_proba: bool,
) -> tuple[Hierarchy, Any, AnyArray, FloatArray]:
    """Check shapes and values; return hierarchy, true sets, probabilities and weights."""
    tree = as_hierarchy(hierarchy)
    if multi_label:
        truth = membership(read_sets(y_true, "y_true"), tree, "y_true")
    else:
        columns = read_paths(y_true, "y_true")
        truth = tree._closure[nodes_of(columns, tree, "y_true")]
    truth, n_rows = without_root(truth), truth.shape[0]
    proba = np.asarray(node_proba)
    if proba.dtype.kind != "f":
        proba = proba.astype(np.float64)
    if proba.shape != (n_rows, tree.n_nodes):
        raise ValueError(
            f"node_proba has shape {proba.shape}; expected ({n_rows}, {tree.n_nodes}): one row per "
            "entry of y_true and one column per node of the hierarchy, starting with the root, as "
            "returned by predict_node_proba."
        )
    good = np.isfinite(proba)
    if is_proba:
        # Sums of products of probabilities may exceed 1 by rounding.
        good &= (proba >= -1e-6) & (proba <= 1 + 1e-6)
    if not good.all():
        row, node = np.argwhere(~good)[0].tolist()
        what = "a probability" if is_proba else "a finite number"
        raise ValueError(
            f"node_proba has {proba[row, node]} in row {row} for node {node} "
            f"({tree.describe(node)}), which is not {what}."
        )
    weight = check_weight(sample_weight, n_rows)
    keep = weight > 0
    if not keep.all():
        truth, proba, weight = truth[keep], proba[keep], weight[keep]
    return tree, truth, proba, weight


def columns_of(hierarchy: Hierarchy, exclude: Iterable[Any], truth: Any) -> IntArray:
    """Numbers of the nodes that are not excluded; the root always is.

    ``truth`` holds the true sets of nodes. If all of them are excluded, an error is raised.
    """
    if isinstance(exclude, str):
        raise ValueError(f"exclude={exclude!r} must be a list of paths or labels: [{exclude!r}].")
    keep = np.ones(hierarchy.n_nodes, dtype=bool)
    keep[[0, *(hierarchy.find(key) for key in exclude)]] = False
    if not keep[truth.indices].any():
        raise ValueError(
            "exclude contains every node that is true in some row. Exclude fewer nodes."
        )
    return np.flatnonzero(keep)
