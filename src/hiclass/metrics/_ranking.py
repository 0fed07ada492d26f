"""How well node probabilities rank the classes of a row: coverage error and ranking loss.

The true classes of a row are its labels and all of their ancestors except the root. They should be
ranked before all other classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hiclass._typing import FloatArray
from hiclass.metrics._pairs import mean
from hiclass.metrics._probabilistic import check_proba, columns_of


def coverage_error(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> float:
    """Compute how far down the ranking of classes one must go to find all true classes.

    The result is the mean over rows of the number of classes that are at least as probable as the
    least probable true class. The best value is the mean number of true classes, including
    ancestors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root. Any other score that ranks the nodes of a row also works.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, each as a path or a unique label. The root is always excluded.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The mean number of classes. A row without a true class counts as 0.

    Raises
    ------
    ValueError
        If the probabilities do not match the hierarchy, or every true node is excluded.

    See Also
    --------
    ranking_loss : The share of pairs of classes that are in the wrong order.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import coverage_error
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"], ["Owl"]])
    >>> proba = [[1.0, 0.8, 0.2, 0.1], [1.0, 0.6, 0.3, 0.4]]
    >>> coverage_error([["Cat"], ["Dog"]], proba, hierarchy=h)
    2.0
    """
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, False
    )
    columns = columns_of(tree, exclude, truth)
    truth = truth[:, columns]
    counts = np.zeros(len(proba))
    for row in np.flatnonzero(np.diff(truth.indptr)).tolist():
        scores = proba[row, columns]
        true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        counts[row] = np.count_nonzero(scores >= scores[true].min())
    return mean(counts, weight)


def ranking_loss(
    y_true: Any,
    node_proba: Any,
    *,
    hierarchy: Any,
    multi_label: bool = False,
    exclude: Iterable[Any] = (),
    sample_weight: Any = None,
) -> float:
    """Compute the share of pairs of a true and another class that are in the wrong order.

    A pair is in the wrong order if the true class is not more probable than the other class; equal
    probabilities count as wrong. The result is the mean share over rows; 0 is best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    node_proba : array-like of shape (n_samples, n_nodes)
        Node probabilities as returned by ``predict_node_proba``: one column per node, starting with
        the root. Any other score that ranks the nodes of a row also works.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict
        The hierarchy that the columns refer to: ``hierarchy_`` of a fitted estimator.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    exclude : iterable of paths or labels, default=()
        Nodes to exclude, each as a path or a unique label. The root is always excluded.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The mean share of pairs. A row in which no class, or every class, is true counts as 0.

    Raises
    ------
    ValueError
        If the probabilities do not match the hierarchy, or every true node is excluded.

    See Also
    --------
    coverage_error : The rank of the last true class.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> from hiclass.metrics import ranking_loss
    >>> h = Hierarchy.from_paths([["Cat"], ["Dog"], ["Owl"]])
    >>> proba = [[1.0, 0.8, 0.2, 0.1], [1.0, 0.6, 0.5, 0.4]]
    >>> ranking_loss([["Cat"], ["Dog"]], proba, hierarchy=h)
    0.25
    """
    tree, truth, proba, weight = check_proba(
        y_true, node_proba, hierarchy, multi_label, sample_weight, False
    )
    columns = columns_of(tree, exclude, truth)
    truth = truth[:, columns]
    losses: FloatArray = np.zeros(len(proba))
    for row in np.flatnonzero(np.diff(truth.indptr)).tolist():
        true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        others = np.sort(np.delete(proba[row, columns], true))
        if len(others):
            below = np.searchsorted(others, proba[row, columns[true]], side="left")
            losses[row] = 1 - below.mean() / len(others)
    return mean(losses, weight)
