"""Predictions that are sets of classes: parameters, selection and output."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._inference.confidence import is_set
from hiclass._inference.selections import Learned, Rule, make_rule, read_threshold
from hiclass._inference.set_calibrations import SET_CALIBRATIONS
from hiclass._inference.sets import rank_final, set_node_proba
from hiclass._rows import n_rows_of
from hiclass._targets.paths import decode
from hiclass._targets.sets import write_confidence, write_nodes, write_sets
from hiclass._typing import AnyArray, FloatArray


def check_set_parameters(model: Any) -> None:
    """Reject parameters for single paths if predictions are sets."""
    own = inspect.signature(type(model)).parameters
    why = "the hierarchy is a DAG" if not model.multi_label else "multi_label=True"
    read_threshold(model._threshold)
    for name, remedy in (
        ("decoding", "leave it out: threshold selects the classes"),
        ("expected_f1", "leave it out: threshold selects the classes"),
        ("min_confidence", "use threshold" if "threshold" in own else "leave it out"),
        ("leaf_only", "leave it out: a set may end anywhere"),
        ("calibration", f"use one of {', '.join(map(repr, SET_CALIBRATIONS))}"),
        ("temperature", "leave it out: sets are calibrated by one function per class"),
    ):
        value = getattr(model, name, None)
        given = name in own and (
            is_set(value) if name == "min_confidence" else value != own[name].default
        )
        if name == "calibration" and value in SET_CALIBRATIONS:
            continue
        if given:
            raise ValueError(
                f"{name}={value!r} is for one path per row in a tree, but {why}, so the model "
                f"predicts sets of classes; {remedy}."
            )


def predict_sets(model: Any, X: Any) -> Any:
    """Predict the sets of classes of rows; in a DAG with one label per row, the classes."""
    X = model._check_rows(X)
    model._check_decision_parameters()
    models, rule = model._models, rule_of(model)
    hierarchy, format = model.hierarchy_, model._format
    if not are_sets(model):
        parts = model._map(lambda chunk: rule.nodes(models, chunk), X)
        return decode(np.concatenate(parts), hierarchy, format, may_end=False)
    parts = model._map(lambda chunk: rule.sets(models, chunk), X)
    return write_sets(sp.csr_array(sp.vstack(parts)), hierarchy, format)


def predict_set_confidence(model: Any, X: Any) -> Any:
    """The probability of every predicted class, in the form of the prediction."""
    X = model._check_rows(X)
    model._check_decision_parameters()
    models, rule = model._models, rule_of(model)
    hierarchy, format = model.hierarchy_, model._format
    if not are_sets(model):

        def of_node(chunk: Any) -> FloatArray:
            proba = set_node_proba(models, chunk)
            return proba[np.arange(len(proba)), rule.nodes_from(proba, models)]

        return np.concatenate(model._map(of_node, X))

    def of_sets(chunk: Any) -> Any:
        proba = set_node_proba(models, chunk)
        return write_confidence(rule.sets_from(proba, models), proba, hierarchy, format)

    return _stack(model._map(of_sets, X, hierarchy.n_nodes))


def _stack(parts: list[Any]) -> Any:
    """The results of chunks as one array, matrix or frame."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return sp.csr_array(sp.vstack(parts))
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "vstack"):  # polars
        import polars

        return polars.concat(parts)
    import pandas

    return pandas.concat(parts, ignore_index=True)


def rank_classes(model: Any, X: Any, k: int) -> tuple[AnyArray, FloatArray]:
    """The k most probable final classes of every row, by name, and their probabilities."""
    X = model._check_rows(X)
    models, hierarchy = model._models, model.hierarchy_
    n_rows = n_rows_of(X)
    out: list[AnyArray] = [np.empty((n_rows, k), dtype=np.intp), np.empty((n_rows, k))]
    width = hierarchy.n_nodes
    model._fill(out, lambda chunk: rank_final(models, chunk, k), X, width, everywhere=True)
    nodes, proba = out
    labels = write_nodes(nodes, hierarchy, model._format)
    dtype = getattr(model._format, "dtype", np.dtype(object))
    return labels.astype(dtype) if k <= len(models.ends) else labels, proba


def are_sets(model: Any) -> bool:
    """Whether a row has several labels; otherwise, it has one label in a DAG."""
    return bool(model._format.of_sets)


def check_selects_one(model: Any) -> None:
    """Reject a threshold that does not apply to one label per row."""
    selection = read_threshold(model._threshold).selection
    if selection is not None and selection.only_sets:
        raise ValueError(
            f"threshold={model.threshold!r} selects any number of classes, but here a row has one "
            "label. Use a number, or predict_paths, which ranks the labels."
        )


def rule_of(model: Any) -> Rule:
    """The selection of classes, from the parameters and what the model has learned."""
    if hasattr(model, "_own_rule"):
        rule: Rule = model._own_rule()
        return rule
    chosen = read_threshold(model._threshold)
    if not are_sets(model):
        check_selects_one(model)
    known = vars(model)
    learned = None
    if "thresholds_" in known:
        learned = Learned(model.thresholds_, known.get("threshold_curve_"))
    if not chosen.can_use(learned):
        raise ValueError(
            f"threshold={model.threshold!r} is learned out of fold during fit. Fit the model again "
            f"with this threshold."
        )
    return make_rule(chosen, learned, model.hierarchy_.n_nodes)
