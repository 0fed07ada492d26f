"""Held-out rows for the choice of thresholds: whole paths, confidences, and true classes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from hiclass._compat import check_is_fitted
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.offers import require_paths
from hiclass._inference.decodings import Decision, truncate
from hiclass._targets.paths import check_n_labels, known_nodes
from hiclass._typing import IntArray
from hiclass._wrapping import named, unwrap

NO_PROBA = (
    "The model has no probabilities. Use calibration='temperature' or a local classifier with "
    "predict_proba."
)


@dataclass(frozen=True)
class HeldOut:
    """The predictions of a model for held-out rows, and the true classes.

    Attributes
    ----------
    model : estimator
        The hierarchical classifier, without pipeline or search.
    decision : Decision
        Its paths without thresholds, and the confidence of each level.
    true : ndarray of int
        The deepest node of every true path that the model has.
    """

    model: Any
    decision: Decision
    true: IntArray


def decide_held_out(model: Any, X: Any, y: Any, caller: str) -> HeldOut:
    """Predict labelled rows without the thresholds of the model.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.
    X : rows
        Rows that it was not fitted on.
    y : array-like
        Their true labels.
    caller : str
        The name of the caller, for messages.

    Returns
    -------
    HeldOut

    Raises
    ------
    TypeError
        If the model has no ``min_confidence``.
    ValueError
        If its predictions are no paths, or cannot end early, or have no probabilities.
    """
    opened, name = unwrap(model), named(model)
    model = opened.model
    known = isinstance(model, BaseHierarchicalClassifier)
    if not known or "min_confidence" not in model.get_params(deep=False):
        raise TypeError(
            f"model must be a hierarchical classifier with min_confidence, or a pipeline or search "
            f"that ends in one; got a {name}."
        )
    check_is_fitted(model)
    require_paths(model, caller)
    if not model._models.has_proba:
        raise ValueError(NO_PROBA)
    if model.leaf_only:
        raise ValueError(
            "leaf_only=True requires every path to end at a leaf, but min_confidence stops paths "
            "early. Fit with leaf_only=False to use a threshold."
        )
    decision: Decision = without_thresholds(model)._decide(opened.transform(X))
    return HeldOut(model, decision, true_nodes(model, y, len(decision.nodes)))


def without_thresholds(model: Any) -> Any:
    """A fitted model without thresholds; the given model is not changed."""
    model = copy.copy(model)
    model.min_confidence = 0.0
    return model


def decide_both(model: Any, X: Any) -> tuple[Decision, Decision]:
    """Predict once: the decisions with the thresholds of a model, and without them.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier.
    X : rows
        Rows as it sees them.

    Returns
    -------
    cut, whole : Decision
        With and without thresholds.
    """
    model._check_decision_parameters()
    whole: Decision = without_thresholds(model)._decide(X)
    return truncate(whole, model.hierarchy_, model._thresholds), whole


def true_nodes(model: Any, y: Any, n_rows: int) -> IntArray:
    """The deepest known node of every true path."""
    nodes = known_nodes(y, model.hierarchy_)
    check_n_labels(len(nodes), n_rows)
    return nodes
