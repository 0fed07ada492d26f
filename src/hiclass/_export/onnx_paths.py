"""Probabilities of the nodes of a tree as an ONNX graph: local classifiers, products along paths.

Linear classifiers are matrix products, with as many classifiers at once as possible. All others are
converted by skl2onnx, one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from hiclass._engine.packed import dense_narrow
from hiclass._export.onnx_graph import Graph
from hiclass._export.onnx_steps import parts_of, transformed
from hiclass._inference.evidence import TINY
from hiclass._inference.paths import strategy_of
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._problems.index import branches
from hiclass._state import LocalModels, Packed
from hiclass._typing import FloatArray, IntArray

#: The decision functions of scikit-learn's linear classifiers; most inherit the first one.
_LINEAR = (
    LogisticRegression.decision_function,
    LinearDiscriminantAnalysis.decision_function,
    FastLinearSVC.decision_function,
)


@dataclass(frozen=True)
class TreeNames:
    """Names of values in the graph that describe the tree.

    Attributes
    ----------
    nodes, final : str
        Probabilities of nodes, and of ``options.ends``.
    steps : tuple of Step
        The choices at the nodes; none in a flat model.
    """

    nodes: str
    final: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Choice:
    """Options that a local classifier chooses from. "Stop here" is first, because it wins ties.

    For a packed one, the narrow classifier and its columns.
    """

    owner: int
    options: IntArray
    order: IntArray
    estimator: Any
    columns: IntArray | None


def _choice(models: LocalModels, owner: int, options: IntArray, order: IntArray) -> Choice:
    fitted = models.classifiers[owner]
    if isinstance(fitted, Packed):
        return Choice(owner, options, order, dense_narrow(fitted), fitted.columns)
    return Choice(owner, options, order, fitted, None)


@dataclass(frozen=True)
class Step:
    """Nodes with the same number of options: P(option | node) of shape (n, nodes, options).

    For a joint model, the logarithm of the share of each option separately.
    """

    choices: tuple[Choice, ...]
    proba: str


def per_parent(graph: Graph, models: LocalModels) -> TreeNames:
    """The probabilities of a model that is queried node by node."""
    hierarchy, options = models.hierarchy, models.options
    n_nodes = hierarchy.n_nodes
    stops = np.flatnonzero(options.can_stop)
    parent = np.concatenate([hierarchy.parent, stops])
    n_options = np.diff(options.indptr)
    choices = []
    # Columns of certain values: 1 for the root and only branches, 0 for classes without rows.
    certain = np.zeros(len(parent), dtype=bool)
    certain[0] = True
    for node in np.flatnonzero(n_options).tolist():
        here, order = branches(options, node).copy(), np.arange(n_options[node])
        if options.can_stop[node]:
            here[-1] = n_nodes + np.searchsorted(stops, node)
            order = np.roll(order, 1)
        if len(here) == 1:
            certain[here] = True
        else:
            choices.append(_choice(models, node, here[order], order))
    steps = _query(graph, models, choices)
    blocks = [_as_columns(graph, step) for step in steps]
    chosen = np.concatenate([q.options for step in steps for q in step.choices] or [np.arange(0)])
    column = np.where(certain, len(chosen), len(chosen) + 1)
    column[chosen.astype(np.intp)] = np.arange(len(chosen))
    operation, certainty = ("Add", 0.0) if models.joint else ("Mul", 1.0)
    conditional = graph.concat([*blocks, graph.same_for_all_rows(np.array([certainty, 0.0]))])
    along = along_paths(graph, operation, graph.pick(conditional, column), parent)
    ends = options.ends.copy()
    is_stop = options.can_stop[ends]
    ends[is_stop] = n_nodes + np.searchsorted(stops, ends[is_stop])
    final = graph.pick(along, ends)
    if models.joint:
        tree = _summed_up(graph, models, graph.op("Softmax", final, axis=1))
        stopping = graph.pick(tree.final, np.searchsorted(options.ends, stops))
        return replace(tree, steps=_read_off(graph, graph.concat([tree.nodes, stopping]), steps))
    return TreeNames(graph.pick(along, np.arange(n_nodes)), final, tuple(steps))


def _as_columns(graph: Graph, step: Step) -> str:
    """P(option | node) with one column per node and option."""
    # The width as a number: without rows, -1 cannot be inferred.
    return graph.reshape(step.proba, [0, sum(len(q.options) for q in step.choices)])


def _read_off(graph: Graph, proba: str, steps: list[Step]) -> tuple[Step, ...]:
    """The same choices, from probabilities of nodes and of stopping at them."""
    read = []
    for step in steps:
        options = np.concatenate([q.options for q in step.choices])
        n_choices = len(step.choices)
        shape = [0, n_choices, len(options) // n_choices]
        read.append(replace(step, proba=graph.reshape(graph.pick(proba, options), shape)))
    return tuple(read)


def flat(graph: Graph, models: LocalModels) -> TreeNames:
    """The probabilities of a flat model."""
    ends = models.options.ends
    if len(ends) == 1:
        return _summed_up(graph, models, graph.same_for_all_rows(np.ones(1)))
    (step,) = _query(graph, models, [_choice(models, 0, ends, np.arange(len(ends)))])
    final = _as_columns(graph, step)
    if models.joint:
        final = graph.op("Softmax", final, axis=1)
    return _summed_up(graph, models, final)


def _summed_up(graph: Graph, models: LocalModels, final: str) -> TreeNames:
    """Probabilities of nodes from those of all final classes."""
    ends, hierarchy = models.options.ends, models.hierarchy
    # The final classes below a node have consecutive numbers: a difference of cumulative sums.
    axis = graph.constant(np.array(1))
    total = graph.concat([graph.same_for_all_rows(np.zeros(1)), graph.op("CumSum", final, axis)])
    first = np.searchsorted(ends, np.arange(hierarchy.n_nodes))
    last = np.searchsorted(ends, hierarchy.subtree_end)
    nodes = graph.op("Sub", graph.pick(total, last), graph.pick(total, first))
    return TreeNames(nodes, final)


def along_paths(graph: Graph, operation: str, value: str, parent: IntArray) -> str:
    """Products or sums of values from the root, which must be neutral, down to every node."""
    while parent.any():
        value = graph.op(operation, value, graph.pick(value, parent))
        parent = parent[parent]
    return value


# -- local classifiers -------------------------------------------------------------------------


def _query(graph: Graph, models: LocalModels, choices: list[Choice]) -> list[Step]:
    """Combine the choices with the same number of options and the same kind of evidence."""
    linear = {q.owner: _linear(q, models) for q in choices}

    def kind(choice: Choice) -> tuple[int, bool, bool]:
        return len(choice.options), linear[choice.owner] is not None, choice.columns is not None

    steps = []
    for (k, is_linear, _), group in groupby(sorted(choices, key=kind), key=kind):
        alike = tuple(group)
        if is_linear:
            parts = [part for q in alike if (part := linear[q.owner]) is not None]
            product = _product(graph, [q.columns for q in alike], [coef for coef, _ in parts])
            intercept = np.concatenate([intercept for _, intercept in parts])
            evidence = graph.op("Add", product, graph.constant(intercept))
        else:
            evidence = graph.concat([_converted(graph, q, models) for q in alike])
        evidence = graph.reshape(evidence, [0, len(alike), k])
        steps.append(Step(alike, _link(graph, models, evidence, k, is_linear)))
    return steps


def _product(graph: Graph, columns: list[IntArray | None], coef: list[FloatArray]) -> str:
    """The rows times weights: in one product, or for packed classifiers, each with its columns."""
    own = [c for c in columns if c is not None]
    if not own:
        return graph.op("MatMul", graph.x, graph.constant(np.hstack(coef)))
    # Columns that are rows of the transpose are copied in blocks.
    parts = [
        graph.op("MatMul", graph.constant(weights.T), graph.take(graph.transposed_x, c, 0))
        for weights, c in zip(coef, map(graph.indices, own), strict=True)
    ]
    return graph.op("Transpose", graph.concat(parts, axis=0))


def _linear(choice: Choice, models: LocalModels) -> tuple[FloatArray, FloatArray] | None:
    """Weights and intercepts of each option, if the softmax of these scores is P(option)."""
    k = len(choice.options)
    *scalers, last = parts_of(choice.estimator)
    if any(type(scaler) is not StandardScaler for scaler in scalers):
        return None
    if models.joint and hasattr(last, "predict_proba"):  # scores are not odds: see evidence.py
        return None
    if models.temperature is None and not _is_softmax(last, k):
        return None
    if getattr(type(last), "decision_function", None) not in _LINEAR:
        return None
    coef = last.coef_.toarray() if sp.issparse(last.coef_) else last.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(last.intercept_, dtype=np.float64), len(coef))
    for scaler in reversed(scalers):
        if scaler.with_std:
            coef = coef / scaler.scale_
        if scaler.with_mean:
            intercept = intercept - coef @ scaler.mean_
    if k == 2:
        first = -1.0 if models.joint else 0.0
        coef = np.vstack([first * coef, coef])
        intercept = np.append(first * intercept, intercept)
    return coef[choice.order].T, intercept[choice.order]


def _is_softmax(estimator: Any, k: int) -> bool:
    """Whether probabilities are the softmax of the scores."""
    if type(estimator) is LinearDiscriminantAnalysis:
        return True
    if type(estimator) is not LogisticRegression:
        return False
    # Old versions of scikit-learn have other options.
    usual = getattr(estimator, "multi_class", "deprecated") in ("deprecated", "auto")
    return usual and (k == 2 or estimator.solver != "liblinear")


def _link(graph: Graph, models: LocalModels, evidence: str, k: int, is_linear: bool) -> str:
    """Convert evidence of shape (n, nodes, options) to probabilities."""
    if not is_linear:
        evidence = _normalised(graph, evidence)
        if models.temperature is None:
            return evidence
        tiny = graph.constant(np.array(TINY / 2 if models.joint else TINY / k))
        likely = graph.op("Log", graph.op("Add", evidence, tiny))
        if models.joint:
            against = graph.op("Sub", graph.constant(np.array(1.0)), evidence)
            unlikely = graph.op("Log", graph.op("Add", against, tiny))
            likely = graph.op("Sub", likely, unlikely)
        evidence = likely
    if models.temperature is not None:
        evidence = graph.op("Div", evidence, graph.constant(np.array(models.temperature)))
    if models.joint:  # the logarithm of a sigmoid
        return graph.op("Neg", graph.op("Softplus", graph.op("Neg", evidence)))
    return graph.op("Softmax", evidence, axis=2)


def _normalised(graph: Graph, proba: str) -> str:
    """Options scaled to sum to one; zeros become uniform."""
    axis = graph.constant(np.array([2]))
    total = graph.op("ReduceSum", proba, axis, keepdims=1)
    some = graph.op("Greater", total, graph.constant(np.array(0.0)))
    proba = graph.op("Where", some, proba, graph.constant(np.array(1.0)))
    return graph.op("Div", proba, graph.op("ReduceSum", proba, axis, keepdims=1))


def _converted(graph: Graph, choice: Choice, models: LocalModels) -> str:
    """Probabilities of a local classifier that skl2onnx converts, of shape (n, options)."""
    estimator = choice.estimator
    where = strategy_of(models).describe(models.hierarchy, choice.owner)
    name = f"The local classifier of {where}, a {type(estimator).__name__},"
    scored = hasattr(estimator, "decision_function")
    if models.joint:
        scored = not hasattr(estimator, "predict_proba")
    if models.temperature is not None and scored:
        raise ValueError(
            f"{name} is calibrated by its decision_function, which can be converted to ONNX for "
            "linear classifiers only. Use a linear classifier, or calibration=None."
        )
    *before, last = parts_of(estimator)
    if getattr(last, "weights", None) == "distance":
        raise ValueError(
            f"{name} weights neighbours by their distance, which skl2onnx does not support. Use "
            f"weights='uniform'."
        )
    try:
        rows = graph.with_a_row()
        rows = rows if choice.columns is None else graph.pick(rows, choice.columns)
        rows = transformed(graph, rows, before)
        proba = graph.without_it(graph.convert_classifier(last, rows))
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{name} cannot be converted to ONNX ({type(error).__name__}: {reason}). Use another "
            f"local classifier there."
        ) from error
    if np.array_equal(choice.order, np.arange(len(choice.order))):
        return proba
    return graph.pick(proba, choice.order)
