"""Models that predict sets of classes as an ONNX graph: several labels per row, or several parents.

Every class is a binary problem with its own score. Probabilities are then limited by those of the
parents, from the top down, as in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from hiclass._engine.packed import widened
from hiclass._estimators.set_fitting import OneVsRest
from hiclass._estimators.sets import rule_of
from hiclass._export.onnx_graph import Graph
from hiclass._export.onnx_steps import parts_of, transformed
from hiclass._problems.strategies import STRATEGIES
from hiclass._state import Packed, SetModels
from hiclass._typing import FloatArray


def put_sets(graph: Graph, model: Any, models: Any) -> None:
    """Add the outputs of a model of sets: probabilities of nodes, and the predicted nodes."""
    _check(model, models)
    scores = _Scores(graph, models)
    per_parent = not STRATEGIES[models.strategy].is_direct
    nodes = (_per_parent if per_parent else _flat)(graph, models, scores)
    proba = graph.concat([nodes[v] for v in range(models.hierarchy.n_nodes)])
    graph.output("node_probabilities", proba, np.float64, [models.hierarchy.n_nodes])
    graph.output("predicted", _chosen(graph, model, models, nodes), bool, [len(nodes)])


def _check(model: Any, models: Any) -> None:
    """Reject models of sets that cannot be converted, with the reason."""
    name = type(model).__name__
    if type(models) is not SetModels:
        raise ValueError(
            f"This {name} predicts sets of classes and is calibrated, restricted or learned from "
            "batches, which cannot be converted to ONNX. Fit it without these, or save it with "
            "skops."
        )
    if model._set_options() is None:
        raise ValueError(
            f"This {name} predicts one label in a DAG, which cannot be converted to ONNX. Fit it "
            "with multi_label=True, or save it with skops."
        )
    if rule_of(model).n_best:
        raise ValueError(
            f"threshold={model.threshold!r} selects classes by their ranks, which cannot be "
            f"converted to ONNX. Set it to a number or to 'tuned'."
        )


class _Scores:
    """The probabilities of local classifiers, by classifier and column."""

    def __init__(self, graph: Graph, models: SetModels) -> None:
        self._graph = graph
        self._places: dict[tuple[int, int], tuple[str, int]] = {}
        linear: list[tuple[tuple[int, int], FloatArray, float]] = []
        for owner, fitted in models.classifiers.items():
            nodes = models.classes[owner].tolist()
            for node, estimator in zip(nodes, _copies(fitted, len(nodes)), strict=True):
                line = _line(estimator)
                if line is None:
                    proba = _converted(graph, estimator, models, node)
                    self._places[owner, node] = proba, 1
                else:
                    linear.append(((owner, node), *line))
        if linear:
            weights = np.column_stack([w for _, w, _ in linear])
            product = graph.op("MatMul", graph.x, graph.constant(weights))
            score = graph.op("Add", product, graph.constant(np.array([b for *_, b in linear])))
            together = graph.op("Sigmoid", score)
            for place, (key, *_) in enumerate(linear):
                self._places[key] = together, place

    def column(self, owner: int, node: int) -> str | None:
        """The probability of a node, of shape (n, 1); None if there is no decision about it."""
        if (owner, node) not in self._places:
            return None
        value, place = self._places[owner, node]
        return self._graph.pick(value, np.array([place]))


def _copies(fitted: Any, n_columns: int) -> list[Any]:
    """The binary classifiers of the columns."""
    estimator = widened(fitted) if isinstance(fitted, Packed) else fitted
    found = estimator.estimators_ if isinstance(estimator, OneVsRest) else [estimator]
    if len(found) != n_columns or not all(_is_binary(each) for each in found):
        raise ValueError(
            f"A {type(estimator).__name__} that handles several labels per row itself cannot be "
            "converted to ONNX. Use a binary local classifier, such as LogisticRegression, or "
            "save the model with skops."
        )
    return found


def _is_binary(estimator: Any) -> bool:
    classes = getattr(estimator, "classes_", None)
    return isinstance(classes, np.ndarray) and classes.tolist() == [0, 1]


def _line(estimator: Any) -> tuple[FloatArray, float] | None:
    """Weights and intercept, if the sigmoid of the score is the probability."""
    *scalers, last = parts_of(estimator)
    if type(last) is not LogisticRegression or any(type(s) is not StandardScaler for s in scalers):
        return None
    coef = last.coef_.toarray() if sp.issparse(last.coef_) else np.asarray(last.coef_, np.float64)
    weights, intercept = coef[0], float(last.intercept_[0])
    for scaler in reversed(scalers):
        if scaler.with_std:
            weights = weights / scaler.scale_
        if scaler.with_mean:
            intercept -= float(weights @ scaler.mean_)
    return weights, intercept


def _converted(graph: Graph, estimator: Any, models: SetModels, node: int) -> str:
    """Probabilities of a classifier that skl2onnx converts, of shape (n, 2)."""
    *before, last = parts_of(estimator)
    try:
        rows = transformed(graph, graph.with_a_row(), before)
        return graph.without_it(graph.convert_classifier(last, rows))
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"The local classifier of {models.hierarchy.describe(node)}, a "
            f"{type(estimator).__name__}, cannot be converted to ONNX ({type(error).__name__}: "
            f"{reason}). Use another local classifier there."
        ) from error


def _constant(graph: Graph, value: float) -> str:
    return graph.same_for_all_rows(np.array([value]))


def _per_parent(graph: Graph, models: SetModels, scores: _Scores) -> dict[int, str]:
    """The probability that each parent leaves to a node, and the smallest of these."""
    nodes = {0: _constant(graph, 1.0)}
    for v in range(1, models.hierarchy.n_nodes):  # parents come before their children
        if not models.populated[v]:
            nodes[v] = _constant(graph, 0.0)
            continue
        found = []
        for parent in models.hierarchy.parents(v).tolist():
            given = scores.column(parent, v)
            bound = nodes[parent]
            found.append(bound if given is None else graph.op("Mul", given, bound))
        nodes[v] = found[0] if len(found) == 1 else graph.op("Min", *found)
    return nodes


def _flat(graph: Graph, models: SetModels, scores: _Scores) -> dict[int, str]:
    """The score of a node, limited by those of its parents."""
    owner = {v: o for o, classes in models.classes.items() for v in classes.tolist()}
    nodes = {0: _constant(graph, 1.0)}
    for v in range(1, models.hierarchy.n_nodes):
        if not models.populated[v]:
            nodes[v] = _constant(graph, 0.0)
            continue
        own = scores.column(owner[v], v) if v in owner else None
        bounds = [nodes[parent] for parent in models.hierarchy.parents(v).tolist()]
        found = bounds if own is None else [own, *bounds]
        nodes[v] = found[0] if len(found) == 1 else graph.op("Min", *found)
    return nodes


def _chosen(graph: Graph, model: Any, models: SetModels, nodes: dict[int, str]) -> str:
    """Nodes that, with all ancestors, reach their thresholds."""
    n = models.hierarchy.n_nodes
    thresholds = rule_of(model).thresholds
    differ = (thresholds[1:] != thresholds[1]).any()
    chosen = {0: graph.cast(nodes[0], bool)}
    for v in range(1, n):
        if not models.populated[v]:
            chosen[v] = graph.cast(nodes[v], bool)
            continue
        limit = graph.constant(np.array([[thresholds[v]]], dtype=np.float64))
        chosen[v] = graph.op("GreaterOrEqual", nodes[v], limit)
        for parent in models.hierarchy.parents(v).tolist():
            if parent > 0 and differ:
                chosen[v] = graph.op("And", chosen[v], chosen[parent])
    return graph.concat([chosen[v] for v in range(n)])
