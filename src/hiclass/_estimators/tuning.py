"""``tune_confidence``: a threshold chosen on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._compat import check_is_fitted
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.held_out import decide_held_out
from hiclass._estimators.sets import are_sets
from hiclass._inference.selections import curve_of, smallest_precise
from hiclass._inference.sets import best_nodes, set_node_proba
from hiclass._rows import n_rows_of
from hiclass._targets.paths import check_n_labels
from hiclass._targets.sets import known_sets
from hiclass._typing import FloatArray
from hiclass._wrapping import named, unwrap


def tune_confidence(model: Any, X: Any, y: Any, precision: float = 0.95) -> float:
    """Choose ``min_confidence`` so that a given share of the predicted labels is correct.

    For models that predict sets of classes, ``threshold`` is chosen instead.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one. Its current
        ``min_confidence`` is ignored.
    X : rows
        Validation rows, not those that the model was fitted on.
    y : array-like
        Their true labels.
    precision : float, default=0.95
        The hierarchical precision (hP) to reach: the share of predicted labels, over all levels,
        that are on the true path.

    Returns
    -------
    float
        The smallest value that reaches the precision on these rows, for
        ``model.set_params(min_confidence=...)`` or, for sets of classes,
        ``model.set_params(threshold=...)``. In a pipeline, set the parameter of the last step:
        ``pipeline[-1].set_params(...)``. For sets of classes, all predicted classes count,
        including ancestors. For one label per row in a DAG, the value is a multiple of 0.01.

    Raises
    ------
    ValueError
        If no threshold reaches the precision.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, tune_confidence
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [["A", "x"], ["A", "z"], ["B", "y"], ["B", "y"]]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> threshold = tune_confidence(model, X, y, precision=1.0)
    >>> model.set_params(min_confidence=threshold).score(X, y) > 0
    True
    """
    if not 0 < precision <= 1:
        raise ValueError(f"precision must be a number above 0 and at most 1; got {precision!r}.")
    inside = unwrap(model)
    if isinstance(inside.model, BaseHierarchicalClassifier) and inside.model._is_about_sets():
        check_is_fitted(inside.model)
        return _tune_threshold(inside.model, inside.transform(X), y, float(precision))
    held_out = decide_held_out(model, X, y, "tune_confidence")
    decision, paths = held_out.decision, held_out.model.hierarchy_._paths
    right = paths[decision.nodes] == paths[held_out.true]
    given = ~np.isnan(decision.confidence)
    if not given.any():
        raise ValueError(
            "The model predicts only empty paths for these rows, so no precision can be computed. "
            "Pass other rows, or fit the model on more rows."
        )
    confidence, right = decision.confidence[given], right[given]
    order = np.argsort(-confidence, kind="stable")
    confidence, right = confidence[order], right[order]
    reached = np.cumsum(right) / np.arange(1, len(right) + 1)
    # A threshold applies to all labels with the same confidence or to none of them.
    last_of_value = np.append(confidence[1:] != confidence[:-1], True)
    good = np.flatnonzero(last_of_value & (reached >= precision))
    if not len(good):
        raise ValueError(
            f"No threshold reaches a precision of {precision}; the best is "
            f"{reached[last_of_value].max():.3f}. Use a lower precision, or improve the model."
        )
    return float(confidence[good[-1]])


def _tune_threshold(model: Any, X: Any, y: Any, precision: float) -> float:
    """The smallest threshold of a model of sets that reaches a precision."""
    if "threshold" not in model.get_params(deep=False):
        raise TypeError(
            f"model must be a hierarchical classifier with threshold; got a {named(model)}."
        )
    X = model._check_rows(X)
    closed, _ = known_sets(y, model.hierarchy_, model.multi_label)
    check_n_labels(closed.shape[0], n_rows_of(X))
    parts = model._map(lambda chunk: set_node_proba(model._models, chunk), X)
    proba = np.concatenate(parts)
    if are_sets(model):
        kept = sp.csc_array(proba)
        curve = curve_of(kept, sp.csc_array(closed), np.ones(len(proba)), 0.0, whole=True)
    else:
        curve = _curve_of_labels(proba, closed, model._models)
    threshold, best = smallest_precise(curve, precision)
    if threshold is None:
        raise ValueError(
            f"No threshold reaches a precision of {precision}; the best is {best:.3f}. Use a lower "
            f"precision, or improve the model."
        )
    return threshold


def _curve_of_labels(proba: FloatArray, closed: Any, models: Any) -> FloatArray:
    """As :func:`curve_of`, at multiples of 0.01, for one predicted label per row.

    The predicted classes are then not simply those that reach the threshold.
    """
    points = []
    for threshold in np.arange(100, 0, -1) / 100:
        nodes = best_nodes(proba, np.full(proba.shape[1], threshold), models)
        predicted = models.hierarchy._closure[nodes][:, 1:].astype(np.float64)
        right = predicted.multiply(closed[:, 1:]).sum()
        points.append((threshold, right, predicted.sum()))
    return np.array(points)
