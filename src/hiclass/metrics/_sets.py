"""Precision, recall, F-score and Jaccard index of sets of nodes: hP, hR and hF of the paper.

A label stands for the set of its node and all ancestors except the root. Let T be the number of
true positives, P of predicted and Q of true nodes. Every score here is F_beta = (1 + beta^2) T / (P
+ beta^2 Q), where beta = 0 is the precision and infinite beta the recall. The Jaccard index is T /
(P + Q - T). ``average`` determines whether the three numbers are summed over everything, per row or
per node before dividing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hiclass._typing import FloatArray
from hiclass.metrics._pairs import (
    Pair,
    SetPair,
    check_zero_division,
    divide,
    encode,
    mean,
    warn_undefined,
)

_AVERAGES = ("micro", "samples", "macro", "weighted", None)


def precision(
    y_true: Any,
    y_pred: Any,
    average: str | None = "micro",
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> float | FloatArray:
    """Compute the hierarchical precision: the share of predicted nodes that are true.

    Let ``T`` be the true and ``P`` the predicted nodes of a row, including all ancestors except the
    root. The default is ``sum |T & P| / sum |P|`` over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Labels that are never true and empty paths are allowed.
    average : {"micro", "samples", "macro", "weighted"} or None, default="micro"
        "micro": sums over all rows before dividing (the formula of the paper). "samples": the mean
        over rows, called "macro" in HiClass 5. "macro": the mean over the nodes that are true or
        predicted in at least one row. "weighted": the same mean, weighted by how often a node is
        true. None: one value per node.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. A weight of 2 is equivalent to repeating the row.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        The value of 0 / 0. "warn" gives 0 and one warning. NaN is ignored in averages.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        The precision. With ``average=None``, one value per node of the hierarchy; NaN for the root
        and for nodes that are neither true nor predicted in any row.

    Examples
    --------
    >>> from hiclass.metrics import precision
    >>> precision([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal", "Cat"]])
    0.75
    """
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return _score(pair, "Precision", 0.0, average, zero_division)


def recall(
    y_true: Any,
    y_pred: Any,
    average: str | None = "micro",
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> float | FloatArray:
    """Compute the hierarchical recall: the share of true nodes that are predicted.

    Let ``T`` be the true and ``P`` the predicted nodes of a row, including all ancestors except the
    root. The default is ``sum |T & P| / sum |T|`` over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Labels that are never true and empty paths are allowed.
    average : {"micro", "samples", "macro", "weighted"} or None, default="micro"
        As in :func:`precision`.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        As in :func:`precision`.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        As in :func:`precision`.

    Examples
    --------
    >>> from hiclass.metrics import recall
    >>> recall([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal"]])
    0.75
    """
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return _score(pair, "Recall", math.inf, average, zero_division)


def f1(
    y_true: Any,
    y_pred: Any,
    average: str | None = "micro",
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> float | FloatArray:
    """Compute the hierarchical F1: the harmonic mean of hierarchical precision and recall.

    The default is ``2 sum |T & P| / (sum |T| + sum |P|)`` over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Labels that are never true and empty paths are allowed.
    average : {"micro", "samples", "macro", "weighted"} or None, default="micro"
        As in :func:`precision`. Means are over the F1 of rows or nodes.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        As in :func:`precision`. If every row has a true label, F1 is never 0 / 0.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        As in :func:`precision`.

    Examples
    --------
    >>> from hiclass.metrics import f1
    >>> f1([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal"]])
    0.8571428571428571
    """
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return _score(pair, "F1", 1.0, average, zero_division)


def fbeta(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float,
    hierarchy: Any = None,
    multi_label: bool = False,
    average: str | None = "micro",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> float | FloatArray:
    """Compute the hierarchical F-beta score, in which recall counts ``beta`` times as much.

    The default is ``(1 + beta^2) sum |T & P| / (beta^2 sum |T| + sum |P|)`` over all rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Labels that are never true and empty paths are allowed.
    beta : float
        Weight of recall, from 0 (precision only) to infinity (recall only).
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    average : {"micro", "samples", "macro", "weighted"} or None, default="micro"
        As in :func:`precision`. Means are over the F-beta of rows or nodes.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        As in :func:`precision`.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        As in :func:`precision`.

    Raises
    ------
    ValueError
        If ``beta`` is negative, or the average is unknown.

    Examples
    --------
    >>> from hiclass.metrics import fbeta
    >>> y_true, y_pred = [["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal"]]
    >>> round(fbeta(y_true, y_pred, beta=2.0), 4)
    0.7895
    """
    if not isinstance(beta, int | float | np.number) or not beta >= 0:
        raise ValueError(f"beta={beta!r} must be a number from 0 to infinity.")
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return _score(pair, "F-beta", float(beta), average, zero_division)


def jaccard(
    y_true: Any,
    y_pred: Any,
    average: str | None = "samples",
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> float | FloatArray:
    """Compute the Jaccard index: the overlap of true and predicted nodes.

    Let ``T`` be the true and ``P`` the predicted nodes of a row, including all ancestors except the
    root. The default is the mean of ``|T & P| / |T | P|`` over rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Labels that are never true and empty paths are allowed.
    average : {"micro", "samples", "macro", "weighted"} or None, default="samples"
        As in :func:`precision`.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        As in :func:`precision`. If every row has a true label, it is never 0 / 0.

    Returns
    -------
    float or ndarray of shape (n_nodes,)
        As in :func:`precision`.

    Examples
    --------
    >>> from hiclass.metrics import jaccard
    >>> jaccard([["Animal", "Cat"], ["Animal", "Dog"]], [["Animal", "Cat"], ["Animal"]])
    0.75
    """
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    return _score(pair, "Jaccard index", None, average, zero_division)


def _score(
    pair: Pair | SetPair, name: str, beta: float | None, average: str | None, zero_division: Any
) -> float | FloatArray:
    """Count, divide and average, for all functions above; ``beta=None`` is the Jaccard index."""
    if not isinstance(average, str | None) or average not in _AVERAGES:
        raise ValueError(
            f"average={average!r} is unknown. Use one of {', '.join(map(repr, _AVERAGES))}."
        )
    fill = check_zero_division(zero_division)
    per_row = average in ("micro", "samples")
    counts = pair.row_counts() if per_row else pair.node_counts()
    if average == "micro":
        tp, pred, true = (np.array([(pair.weight * count).sum()]) for count in counts)
    elif average == "samples":
        tp, pred, true = counts
    else:
        # The root is in every set and is not counted.
        present = 1 + np.flatnonzero((counts[1] + counts[2])[1:])
        tp, pred, true = (count[present] for count in counts)

    if beta is None:
        divisor = pred + true - tp
    else:
        share = 1 / (1 + beta * beta)  # of precision; the other ones are of recall
        divisor = share * pred + (1 - share) * true
    scores = divide(tp, divisor, fill)
    n_undefined = np.count_nonzero(divisor == 0)
    if n_undefined and isinstance(zero_division, str):
        things = {"micro": "the data", "samples": f"{n_undefined} row(s)"}
        lacking = "predictions" if beta == 0 else "true labels" if beta == math.inf else "labels"
        place = f"{things.get(average or '', f'{n_undefined} class(es)')} without {lacking}"
        warn_undefined(place, name)
    if average is not None:
        weights = {"samples": pair.weight, "weighted": true}
        return mean(scores, weights.get(average, np.ones(len(scores))))
    by_node = np.full(pair.hierarchy.n_nodes, np.nan)
    by_node[present] = scores
    return by_node
