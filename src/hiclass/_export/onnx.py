"""A fitted model as one ONNX graph, for serving without Python.

The graph does what prediction does, in the same steps: evidence of the local classifiers, a softmax
or a normalisation per node (of a joint model, one over all final classes), products along the
paths, a decision. Three things keep it small:

- Linear classifiers of nodes with equally many options, also behind a scaler, are one matrix
  product; a packed one is a product of its own, with its own columns only.
- Products and sums along paths take ``log2(depth)`` steps for all nodes at once: what a node has
  gathered from the 2^i nodes above it, times what the next 2^i have.
- "Stop here" is a node below its node, so that a path that ends early is a path like any other.

Everything else goes through skl2onnx, one local classifier at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from hiclass._compat import check_is_fitted
from hiclass._engine.packed import dense_narrow
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._export.onnx_graph import Graph, n_features_of
from hiclass._export.onnx_sets import put_sets
from hiclass._export.onnx_steps import parts_of, put_before, transformed
from hiclass._inference.batches import known_options
from hiclass._inference.confidence import Thresholds, as_json, is_set
from hiclass._inference.decodings import DECODINGS, as_decoding
from hiclass._inference.evidence import TINY
from hiclass._inference.paths import strategy_of
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._problems.index import branches
from hiclass._state import AdaptedModels, LocalModels, Packed, RestrictedModels
from hiclass._targets.paths import labels_by_node
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass._version import __version__
from hiclass._wrapping import unwrap

#: How the linear classifiers of scikit-learn get their scores; most inherit the first one.
_LINEAR = (
    LogisticRegression.decision_function,
    LinearDiscriminantAnalysis.decision_function,
    FastLinearSVC.decision_function,
)


def to_onnx(model: Any, *, dtype: Any = np.float64) -> Any:
    """Convert a fitted model to ONNX.

    Parameters
    ----------
    model : LocalClassifierPerParentNode or FlatClassifier
        A fitted model on numeric rows whose local classifiers are linear or can be converted by
        skl2onnx. The current values of ``decoding`` and ``min_confidence`` are built in. A pipeline
        or search that ends in such a model is converted with its transformers; columns that they
        select by name are selected by position.
    dtype : {float64, float32}, default=float64
        The type of the input. Linear classifiers compute in float64 in both cases.

    Returns
    -------
    onnx.ModelProto
        A graph with the input ``X`` of shape (n, n_features) and the outputs

        - ``node``, (n,): number of the last node of the predicted path;
        - ``labels``: the result of ``predict``. Numeric labels stay numbers if no label can be
          missing. Otherwise labels are strings, and a missing label is ``""``;
        - ``confidence``, (n, n_levels): the result of ``predict_confidence``;
        - ``node_probabilities``, (n, n_nodes): the result of ``predict_node_proba``.

        For a model that predicts sets of classes, the first three are replaced by ``predicted``,
        (n, n_nodes): the predicted nodes, including ancestors. The local classifiers must be
        binary, such as LogisticRegression, and ``threshold`` must be a number or "tuned".

        ``metadata_props`` hold the paths of the nodes (``hiclass.paths``, JSON), the decoding and
        the version of hiclass.

    Raises
    ------
    ImportError
        If onnx or skl2onnx is not installed.
    TypeError, ValueError
        If the model cannot be converted or, if ONNX Runtime is installed, cannot be loaded by it.
        The message names the local classifier that cannot be converted.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerParentNode, to_onnx
    >>> X = [[1, 2], [3, 4], [5, 9]]
    >>> y = [["Animal", "Mammal"], ["Animal", "Reptile"], ["Plant", "Fern"]]
    >>> model = LocalClassifierPerParentNode().fit(X, y)
    >>> content = to_onnx(model).SerializeToString()  # doctest: +SKIP
    """
    opened = unwrap(model)
    model = opened.model
    models = _check_model(model)
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32; got {dtype}.")
    first = opened.before[0] if opened.before else model
    graph = Graph(n_features_of(first), dtype)
    if opened.before:
        put_before(graph, opened.before, model.n_features_in_)
    if model.multi_label or not models.hierarchy.is_tree:
        put_sets(graph, model, models)
        return graph.model(_set_metadata(model, first))
    tree = _flat(graph, models) if strategy_of(models).is_direct else _per_parent(graph, models)
    node = _DECISIONS[as_decoding(model.decoding).name](graph, model, tree)
    table = _path_table(model)
    node, confidence = _truncate(graph, tree.nodes, node, table, model._thresholds)
    graph.output("node", node, np.int64, [])
    labels = _labels(model)
    graph.output("labels", _written(graph, labels, node), labels.dtype, labels.shape[1:])
    graph.output("confidence", confidence, np.float64, table.shape[1:])
    graph.output("node_probabilities", tree.nodes, np.float64, [models.hierarchy.n_nodes])
    return graph.model(_metadata(model, first))


def _check_model(model: Any) -> Any:
    """Refuse what has no graph, with the reason; return the local models."""
    if not isinstance(model, LocalClassifierPerParentNode | FlatClassifier):
        raise TypeError(
            f"Only LocalClassifierPerParentNode and FlatClassifier can be converted to ONNX; got "
            f"{type(model).__name__}. Use one of these, or save the model with skops."
        )
    check_is_fitted(model)
    name, models = type(model).__name__, model._models
    if models.of_sets:
        return models
    if isinstance(models, RestrictedModels):
        raise ValueError(
            "A model that is restricted to some classes cannot be converted to ONNX. Convert the "
            "whole model."
        )
    if isinstance(models, AdaptedModels):
        raise ValueError(
            "A model that is adapted to other shares of classes cannot be converted to ONNX. "
            "Convert the model that it was made from, or fit with sample weights instead."
        )
    if not models.has_proba:
        raise ValueError(
            f"This {name} has no probabilities, which ONNX export requires. Fit it again with "
            f"calibration='temperature', or with a local classifier that has predict_proba."
        )
    _check_strategy(model)
    _check_decoding(model)
    if not np.array_equal(known_options(models).indices, models.options.indices):
        raise ValueError(
            f"This {name} was fitted in batches, and some of its classes or final classes have no "
            f"rows yet. Call fit, or partial_fit with leaf_only=True and rows of all classes."
        )
    model._decision_of_chunk()  # refuses what the decoding cannot do without
    return models


def _check_strategy(model: Any) -> None:
    """Refuse models that have neither a classifier per parent node nor one for everything."""
    models, strategy = model._models, strategy_of(model._models)
    nodes = np.arange(models.hierarchy.n_nodes)
    if strategy.is_direct:
        return
    if strategy.is_binary or not np.array_equal(strategy.owner(models.hierarchy, nodes), nodes):
        raise ValueError(
            f"This {type(model).__name__} has the strategy {strategy.name!r}, which cannot be "
            f"converted to ONNX; only one classifier per parent node, or one for all leaves, can."
        )


def _check_decoding(model: Any) -> None:
    """Refuse decodings that have no graph, such as functions."""
    decoding = as_decoding(model.decoding)
    if decoding.name in _DECISIONS and DECODINGS.get(decoding.name) == decoding:
        return
    steps = not isinstance(model, FlatClassifier)
    *others, last = [repr(d) for d in _DECISIONS if steps or not DECODINGS[d].step_by_step]
    raise ValueError(
        f"decoding={model.decoding!r} cannot be converted to ONNX. Set decoding to "
        f"{', '.join(others)} or {last}."
    )


# -- probabilities -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tree:
    """Names of what the graph knows about the tree.

    Attributes
    ----------
    nodes, final : str
        Probabilities of nodes, and of ``options.ends``.
    steps : tuple of _Step
        The choices at the nodes; none in a flat model.
    """

    nodes: str
    final: str
    steps: tuple[_Step, ...] = ()


@dataclass(frozen=True)
class _Choice:
    """Options that a local classifier chooses among. "Stop here" is first, since it wins ties.

    Of a packed one, the narrow classifier and its columns.
    """

    owner: int
    options: IntArray
    order: IntArray
    estimator: Any
    columns: IntArray | None


def _choice(models: LocalModels, owner: int, options: IntArray, order: IntArray) -> _Choice:
    fitted = models.classifiers[owner]
    if isinstance(fitted, Packed):
        return _Choice(owner, options, order, dense_narrow(fitted), fitted.columns)
    return _Choice(owner, options, order, fitted, None)


@dataclass(frozen=True)
class _Step:
    """Nodes with equally many options: P(option | node) of shape (n, nodes, options).

    Of a joint model, the logarithm of the share of each option by itself.
    """

    choices: tuple[_Choice, ...]
    proba: str


def _per_parent(graph: Graph, models: LocalModels) -> _Tree:
    """The probabilities of a model that is queried node by node."""
    hierarchy, options = models.hierarchy, models.options
    n_nodes = hierarchy.n_nodes
    stops = np.flatnonzero(options.can_stop)
    parent = np.concatenate([hierarchy.parent, stops])
    n_options = np.diff(options.indptr)
    choices = []
    # Columns of what is certain: 1 for the root and only branches, 0 for classes without rows.
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
    along = _along_paths(graph, operation, graph.pick(conditional, column), parent)
    ends = options.ends.copy()
    is_stop = options.can_stop[ends]
    ends[is_stop] = n_nodes + np.searchsorted(stops, ends[is_stop])
    final = graph.pick(along, ends)
    if models.joint:
        tree = _summed_up(graph, models, graph.op("Softmax", final, axis=1))
        stopping = graph.pick(tree.final, np.searchsorted(options.ends, stops))
        return replace(tree, steps=_read_off(graph, graph.concat([tree.nodes, stopping]), steps))
    return _Tree(graph.pick(along, np.arange(n_nodes)), final, tuple(steps))


def _as_columns(graph: Graph, step: _Step) -> str:
    """P(option | node) with a column per node and option."""
    # The width in numbers: where there are no rows, -1 cannot be worked out.
    return graph.reshape(step.proba, [0, sum(len(q.options) for q in step.choices)])


def _read_off(graph: Graph, proba: str, steps: list[_Step]) -> tuple[_Step, ...]:
    """The same choices, between probabilities of nodes and of stopping at them."""
    read = []
    for step in steps:
        options = np.concatenate([q.options for q in step.choices])
        n_choices = len(step.choices)
        shape = [0, n_choices, len(options) // n_choices]
        read.append(replace(step, proba=graph.reshape(graph.pick(proba, options), shape)))
    return tuple(read)


def _flat(graph: Graph, models: LocalModels) -> _Tree:
    """The probabilities of a flat model."""
    ends = models.options.ends
    if len(ends) == 1:
        return _summed_up(graph, models, graph.same_for_all_rows(np.ones(1)))
    (step,) = _query(graph, models, [_choice(models, 0, ends, np.arange(len(ends)))])
    final = _as_columns(graph, step)
    if models.joint:
        final = graph.op("Softmax", final, axis=1)
    return _summed_up(graph, models, final)


def _summed_up(graph: Graph, models: LocalModels, final: str) -> _Tree:
    """Probabilities of nodes from those of all final classes."""
    ends, hierarchy = models.options.ends, models.hierarchy
    # The final classes below a node have consecutive numbers: a difference of running totals.
    axis = graph.constant(np.array(1))
    total = graph.concat([graph.same_for_all_rows(np.zeros(1)), graph.op("CumSum", final, axis)])
    first = np.searchsorted(ends, np.arange(hierarchy.n_nodes))
    last = np.searchsorted(ends, hierarchy.subtree_end)
    nodes = graph.op("Sub", graph.pick(total, last), graph.pick(total, first))
    return _Tree(nodes, final)


def _along_paths(graph: Graph, operation: str, value: str, parent: IntArray) -> str:
    """Products or sums of values from the root, which must be neutral, down to every node."""
    while parent.any():
        value = graph.op(operation, value, graph.pick(value, parent))
        parent = parent[parent]
    return value


# -- local classifiers -------------------------------------------------------------------------


def _query(graph: Graph, models: LocalModels, choices: list[_Choice]) -> list[_Step]:
    """Put the choices with equally many options, and the same kind of evidence, together."""
    linear = {q.owner: _linear(q, models) for q in choices}

    def kind(choice: _Choice) -> tuple[int, bool, bool]:
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
        steps.append(_Step(alike, _link(graph, models, evidence, k, is_linear)))
    return steps


def _product(graph: Graph, columns: list[IntArray | None], coef: list[FloatArray]) -> str:
    """The rows times weights: in one product, or of packed classifiers each with its columns."""
    own = [c for c in columns if c is not None]
    if not own:
        return graph.op("MatMul", graph.x, graph.constant(np.hstack(coef)))
    # Of columns that are rows of the transpose, whole blocks are copied.
    parts = [
        graph.op("MatMul", graph.constant(weights.T), graph.take(graph.transposed_x, c, 0))
        for weights, c in zip(coef, map(graph.indices, own), strict=True)
    ]
    return graph.op("Transpose", graph.concat(parts, axis=0))


def _linear(choice: _Choice, models: LocalModels) -> tuple[FloatArray, FloatArray] | None:
    """Weights and intercepts of an option each, if the softmax of such scores is P(option)."""
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
    # Old versions of scikit-learn have others.
    usual = getattr(estimator, "multi_class", "deprecated") in ("deprecated", "auto")
    return usual and (k == 2 or estimator.solver != "liblinear")


def _link(graph: Graph, models: LocalModels, evidence: str, k: int, is_linear: bool) -> str:
    """Evidence of shape (n, nodes, options) as probabilities."""
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
    """Options that sum to one; where all are 0, they become uniform."""
    axis = graph.constant(np.array([2]))
    total = graph.op("ReduceSum", proba, axis, keepdims=1)
    some = graph.op("Greater", total, graph.constant(np.array(0.0)))
    proba = graph.op("Where", some, proba, graph.constant(np.array(1.0)))
    return graph.op("Div", proba, graph.op("ReduceSum", proba, axis, keepdims=1))


def _converted(graph: Graph, choice: _Choice, models: LocalModels) -> str:
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
            f"linear classifiers only. Use one of these, or calibration=None."
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


# -- decisions ---------------------------------------------------------------------------------


# Each returns the node at which each path ends, of shape (n,).


def _best_path(graph: Graph, model: Any, tree: _Tree) -> str:
    """The most probable final class."""
    ends = graph.constant(model._models.options.ends)
    return graph.take(ends, graph.argmax(tree.final, 1), 0)


def _expected_f1(graph: Graph, model: Any, tree: _Tree) -> str:
    """The largest sum over a path of P(node) - F / 2; the root counts for nothing."""
    models = model._models
    share = np.full(models.hierarchy.n_nodes, -model._f_to_expect() / 2)
    share[0] = -1
    value = graph.op("Add", tree.nodes, graph.constant(share))
    value = _along_paths(graph, "Add", value, models.hierarchy.parent)
    allowed = models.options.ends if model.leaf_only else np.arange(1, models.hierarchy.n_nodes)
    best = graph.argmax(graph.pick(value, allowed), 1)
    return graph.take(graph.constant(allowed), best, 0)


def _top_down(graph: Graph, model: Any, tree: _Tree) -> str:
    """Follow the best option of every node from the root on."""
    models, steps = model._models, tree.steps
    n_nodes = models.hierarchy.n_nodes
    stops = np.flatnonzero(models.options.can_stop)
    # Where a node leads: to itself at an end, down an only branch, or where its classifier chooses.
    leads_to = np.arange(n_nodes)
    only = np.flatnonzero(np.diff(models.options.indptr) == 1)
    leads_to[only] = models.options.indices[models.options.indptr[only]]
    column = np.empty(n_nodes, dtype=np.intp)
    parts = []
    start = 0
    for step in steps:
        owners = np.array([q.owner for q in step.choices])
        table = np.concatenate([q.options for q in step.choices])
        table = np.concatenate([np.arange(n_nodes), stops])[table]
        offset = np.arange(len(owners)) * (len(table) // len(owners))
        best = graph.op("Add", graph.argmax(step.proba, 2), graph.constant(offset))
        parts.append(graph.take(graph.constant(table), best, 0))
        column[owners] = start + np.arange(len(owners))
        start += len(owners)
    others = np.setdiff1d(np.arange(n_nodes), [q.owner for s in steps for q in s.choices])
    column[others] = start + np.arange(len(others))
    leads = graph.concat([*parts, graph.same_for_all_rows(leads_to[others])])
    position = graph.constant(column)
    node = graph.same_for_all_rows(np.zeros(1, dtype=np.int64))
    for _ in range(models.hierarchy.depth):
        node = graph.op("GatherElements", leads, graph.take(position, node, 0), axis=1)
    return graph.reshape(node, [-1])


#: The decodings that have a graph, by name.
_DECISIONS: dict[str, Callable[[Graph, Any, _Tree], str]] = {
    "top_down": _top_down,
    "best_path": _best_path,
    "expected_f1": _expected_f1,
}


def _truncate(
    graph: Graph, proba: str, node: str, table: IntArray, min_confidence: Thresholds
) -> tuple[str, str]:
    """End paths where they are not sure enough; return nodes, and the confidence of each level."""
    path = graph.take(graph.constant(np.maximum(table, 0)), node, 0)
    exists = graph.take(graph.constant(table >= 0), node, 0)
    confidence = graph.op("GatherElements", proba, path, axis=1)
    if is_set(min_confidence):
        least = _least(graph, node, table, min_confidence)
        exists = graph.op("And", exists, graph.op("GreaterOrEqual", confidence, least))
        axis = graph.constant(np.array([1]))
        if not isinstance(min_confidence, float):
            # A path stops before the first node that does not reach its threshold.
            misses = graph.cast(graph.op("Not", exists), np.int64)
            missed = graph.op("CumSum", misses, graph.constant(np.array(1)))
            exists = graph.op("Equal", missed, graph.constant(np.array(0)))
        length = graph.op("ReduceSum", graph.cast(exists, np.int64), axis, keepdims=1)
        root = graph.same_for_all_rows(np.zeros(1, dtype=np.int64))
        node = graph.op("GatherElements", graph.concat([root, path]), length, axis=1)
        node = graph.reshape(node, [-1])
    return node, graph.op("Where", exists, confidence, graph.constant(np.array(np.nan)))


def _least(graph: Graph, node: str, table: IntArray, thresholds: Thresholds) -> str:
    """The threshold of all nodes, or of those on the paths to some nodes."""
    if isinstance(thresholds, float):
        return graph.constant(np.array(thresholds))
    return graph.take(graph.constant(thresholds[np.maximum(table, 0)]), node, 0)


def _path_table(model: Any) -> IntArray:
    """The node of every level on the path of every node; -1 below its end."""
    hierarchy, n_levels = model.hierarchy_, model._format.n_levels
    table = np.full((hierarchy.n_nodes, n_levels), -1)
    width = min(n_levels, hierarchy.depth)
    table[:, :width] = hierarchy.ancestor_table[:, :width]
    return table


def _labels(model: Any) -> AnyArray:
    """What is predicted for every node: numbers if all are numbers, else text."""
    labels = labels_by_node(model.hierarchy_, model._format, may_end=model._may_end())
    exists = np.arange(len(labels)) > 0
    if model._format.ndim == 2:
        path = _path_table(model)
        labels, exists = labels[np.maximum(path, 0)], path >= 0
    if labels.dtype.kind in "biu":
        kind = np.uint64 if labels.dtype == np.uint64 else np.int64
        return np.where(exists, labels.astype(kind), kind(0))
    if labels.dtype.kind == "f":
        return np.where(exists, labels, np.nan).astype(np.float64)
    text = np.full(labels.shape, "", dtype=object)
    text[exists] = [str(label) for label in labels[exists]]
    return text


def _written(graph: Graph, labels: AnyArray, node: str) -> str:
    """The labels of some nodes."""
    if labels.ndim == 2:
        # Label by label: of a row of strings, Gather of ONNX Runtime copies the first only.
        n_levels = labels.shape[1]
        start = graph.op("Mul", graph.reshape(node, [-1, 1]), graph.constant(np.array(n_levels)))
        node = graph.op("Add", start, graph.constant(np.arange(n_levels)))
    return graph.take(graph.constant(labels.ravel()), node, 0)


def _metadata(model: Any, first: Any) -> dict[str, str]:
    """What a server may want to know about the outputs."""
    hierarchy = model.hierarchy_
    paths = [[str(label) for label in hierarchy.path(v)] for v in range(hierarchy.n_nodes)]
    goes_by = {"hiclass.expected_f1": repr(model._f_to_expect())}
    return {
        "hiclass.version": __version__,
        "hiclass.estimator": type(model).__name__,
        "hiclass.decoding": as_decoding(model.decoding).name,
        **(goes_by if as_decoding(model.decoding).needs_f else {}),
        "hiclass.min_confidence": json.dumps(as_json(model.min_confidence), ensure_ascii=False),
        "hiclass.paths": json.dumps(paths, ensure_ascii=False),
        "hiclass.features": json.dumps(getattr(first, "feature_names_in_", np.empty(0)).tolist()),
    }


def _set_metadata(model: Any, first: Any) -> dict[str, str]:
    """The same for a model of sets, whose nodes may have several parents."""
    hierarchy = model.hierarchy_
    by_path = hierarchy.identity == "path"
    names = [
        list(map(str, hierarchy.path(v))) if by_path else [str(hierarchy.labels[v])]
        for v in range(1, hierarchy.n_nodes)
    ]
    return {
        "hiclass.version": __version__,
        "hiclass.estimator": type(model).__name__,
        "hiclass.threshold": str(model.threshold),
        "hiclass.paths": json.dumps([[], *names], ensure_ascii=False),
        "hiclass.features": json.dumps(getattr(first, "feature_names_in_", np.empty(0)).tolist()),
    }
