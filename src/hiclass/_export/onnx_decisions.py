"""Decisions as an ONNX graph: the node at which each path ends, its confidence and its labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hiclass._export.onnx_graph import Graph
from hiclass._export.onnx_paths import TreeNames, along_paths
from hiclass._inference.confidence import Thresholds, is_set
from hiclass._targets.paths import labels_by_node
from hiclass._typing import AnyArray, IntArray

# Each returns the node at which each path ends, of shape (n,).


def _best_path(graph: Graph, model: Any, tree: TreeNames) -> str:
    """The most probable final class."""
    ends = graph.constant(model._models.options.ends)
    return graph.take(ends, graph.argmax(tree.final, 1), 0)


def _expected_f1(graph: Graph, model: Any, tree: TreeNames) -> str:
    """The largest sum over a path of P(node) - F / 2; the root is not counted."""
    models = model._models
    share = np.full(models.hierarchy.n_nodes, -model._f_to_expect() / 2)
    share[0] = -1
    value = graph.op("Add", tree.nodes, graph.constant(share))
    value = along_paths(graph, "Add", value, models.hierarchy.parent)
    allowed = models.options.ends if model.leaf_only else np.arange(1, models.hierarchy.n_nodes)
    best = graph.argmax(graph.pick(value, allowed), 1)
    return graph.take(graph.constant(allowed), best, 0)


def _top_down(graph: Graph, model: Any, tree: TreeNames) -> str:
    """Follow the best option of every node from the root on."""
    models, steps = model._models, tree.steps
    n_nodes = models.hierarchy.n_nodes
    stops = np.flatnonzero(models.options.can_stop)
    # The next node: the node itself at an end, an only branch, or the choice of its classifier.
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


#: The decodings that can be converted, by name.
DECISIONS: dict[str, Callable[[Graph, Any, TreeNames], str]] = {
    "top_down": _top_down,
    "best_path": _best_path,
    "expected_f1": _expected_f1,
}


def truncate(
    graph: Graph, proba: str, node: str, table: IntArray, min_confidence: Thresholds
) -> tuple[str, str]:
    """Truncate paths at their thresholds; return nodes, and the confidence of each level."""
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


def path_table(model: Any) -> IntArray:
    """The node of every level on the path of every node; -1 after its end."""
    hierarchy, n_levels = model.hierarchy_, model._format.n_levels
    table = np.full((hierarchy.n_nodes, n_levels), -1)
    width = min(n_levels, hierarchy.depth)
    table[:, :width] = hierarchy.ancestor_table[:, :width]
    return table


def node_labels(model: Any) -> AnyArray:
    """The labels of every node: numbers if all are numbers, otherwise text."""
    labels = labels_by_node(model.hierarchy_, model._format, may_end=model._may_end())
    exists = np.arange(len(labels)) > 0
    if model._format.ndim == 2:
        path = path_table(model)
        labels, exists = labels[np.maximum(path, 0)], path >= 0
    if labels.dtype.kind in "biu":
        kind = np.uint64 if labels.dtype == np.uint64 else np.int64
        return np.where(exists, labels.astype(kind), kind(0))
    if labels.dtype.kind == "f":
        return np.where(exists, labels, np.nan).astype(np.float64)
    text = np.full(labels.shape, "", dtype=object)
    text[exists] = [str(label) for label in labels[exists]]
    return text


def written(graph: Graph, labels: AnyArray, node: str) -> str:
    """The labels of some nodes."""
    if labels.ndim == 2:
        # Label by label: for a row of strings, Gather of ONNX Runtime copies only the first.
        n_levels = labels.shape[1]
        start = graph.op("Mul", graph.reshape(node, [-1, 1]), graph.constant(np.array(n_levels)))
        node = graph.op("Add", start, graph.constant(np.arange(n_levels)))
    return graph.take(graph.constant(labels.ravel()), node, 0)
