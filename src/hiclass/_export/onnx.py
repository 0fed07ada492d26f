"""A fitted model as one ONNX graph, for serving without Python.

The graph has the steps of prediction: evidence of the local classifiers, a softmax or a
normalisation per node (for a joint model, one over all final classes), products along the paths, a
decision. Three things keep it small:

- Linear classifiers of nodes with the same number of options, also after a scaler, are one matrix
  product; a packed one is a separate product of its own columns.
- Products and sums along paths take ``log2(depth)`` steps for all nodes at once: what a node has
  gathered from the 2^i nodes above it, times what the next 2^i have.
- "Stop here" is a node below its node, so that a path that ends early is a path like any other.

Everything else is converted by skl2onnx, one local classifier at a time.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from hiclass._compat import check_is_fitted
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._export.onnx_decisions import DECISIONS, node_labels, path_table, truncate, written
from hiclass._export.onnx_graph import Graph, n_features_of
from hiclass._export.onnx_paths import flat, per_parent
from hiclass._export.onnx_sets import put_sets
from hiclass._export.onnx_steps import put_before
from hiclass._inference.batches import known_options
from hiclass._inference.confidence import as_json
from hiclass._inference.decodings import DECODINGS, as_decoding
from hiclass._inference.paths import strategy_of
from hiclass._state import AdaptedModels, RestrictedModels
from hiclass._version import __version__
from hiclass._wrapping import unwrap


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
    tree = flat(graph, models) if strategy_of(models).is_direct else per_parent(graph, models)
    node = DECISIONS[as_decoding(model.decoding).name](graph, model, tree)
    table = path_table(model)
    node, confidence = truncate(graph, tree.nodes, node, table, model._thresholds)
    graph.output("node", node, np.int64, [])
    labels = node_labels(model)
    graph.output("labels", written(graph, labels, node), labels.dtype, labels.shape[1:])
    graph.output("confidence", confidence, np.float64, table.shape[1:])
    graph.output("node_probabilities", tree.nodes, np.float64, [models.hierarchy.n_nodes])
    return graph.model(_metadata(model, first))


def _check_model(model: Any) -> Any:
    """Reject models that cannot be converted, with the reason; return the local models."""
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
            "A model that is adapted to other class shares cannot be converted to ONNX. Convert "
            "the original model, or fit with sample weights instead."
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
    model._decision_of_chunk()  # rejects missing requirements of the decoding
    return models


def _check_strategy(model: Any) -> None:
    """Reject models that have neither a classifier per parent node nor one for everything."""
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
    """Reject decodings that cannot be converted, such as functions."""
    decoding = as_decoding(model.decoding)
    if decoding.name in DECISIONS and DECODINGS.get(decoding.name) == decoding:
        return
    steps = not isinstance(model, FlatClassifier)
    *others, last = [repr(d) for d in DECISIONS if steps or not DECODINGS[d].step_by_step]
    raise ValueError(
        f"decoding={model.decoding!r} cannot be converted to ONNX. Set decoding to "
        f"{', '.join(others)} or {last}."
    )


def _metadata(model: Any, first: Any) -> dict[str, str]:
    """Information about the outputs for a server."""
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
