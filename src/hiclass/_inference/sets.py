"""From local models to probabilities and sets of nodes, for rows that are sets.

Every node is decided independently, and nothing is normalised. The result of its classifier becomes
a probability that never exceeds those of its parents:

- per parent node, the classifier of a parent predicts P(c | parent): P(c) is the smallest P(c | p)
  P(p) over the parents p;
- per node with a policy that trains inside the parents, P(c) is the predicted probability times the
  smallest P(parent), each reduced by the part that ends at the parent, if there is a gate;
- per node with the other policies, per level and flat, classifiers are trained on all rows: P(c) is
  the smaller of the predicted probability and the smallest P(parent).

Classes are then selected by thresholds. A set is closed because no child is more probable than a
parent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from hiclass._closure import as_sets
from hiclass._inference.evidence import column_order, rows_at
from hiclass._inference.paths import decider_of, node_proba
from hiclass._problems.strategies import STRATEGIES
from hiclass._rows import n_rows_of, protect
from hiclass._state import AnySetModels, RestrictedSetModels, SetEnsembleModels, SetModels
from hiclass._typing import AnyArray, FloatArray, IntArray

# -- querying a classifier ---------------------------------------------------------------------


def column_proba(estimator: Any, X: Any, k: int) -> FloatArray:
    """Probability of each of the k nodes that a classifier decides independently.

    For a classifier without probabilities, the sigmoid of its scores, which a calibration corrects.
    """
    if not hasattr(estimator, "predict_proba"):
        proba = expit(np.asarray(estimator.decision_function(X), dtype=np.float64))
        proba = proba.reshape(-1, 1) if proba.ndim == 1 else proba
        if proba.shape != (n_rows_of(X), k):
            raise ValueError(
                f"{type(estimator).__name__}.decision_function returned an array of shape "
                f"{proba.shape}; expected {(n_rows_of(X), k)}."
            )
        return proba
    found = estimator.predict_proba(X)
    if k == 1:
        classes = getattr(estimator, "classes_", None)
        # from classifiers with several outputs only
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
            classes = None if classes is None else classes[0]
        found = np.asarray(found, dtype=np.float64)
        if found.shape != (n_rows_of(X), 2):
            _refuse_shape(estimator, found.shape, (n_rows_of(X), 2))
        proba = found[:, [_positive_column(estimator, classes)]]
    elif isinstance(found, list):
        if len(found) != k:
            _refuse_shape(estimator, f"a list of {len(found)}", (n_rows_of(X), k))
        proba = np.column_stack([_positive(estimator, part, j) for j, part in enumerate(found)])
    else:
        proba = np.asarray(found, dtype=np.float64)
        if proba.ndim == 3 and proba.shape[2] == 2:  # outputs x rows x two classes
            proba = proba[:, :, 1].T
        if proba.shape != (n_rows_of(X), k):
            _refuse_shape(estimator, proba.shape, (n_rows_of(X), k))
    if not np.isfinite(proba).all():
        raise ValueError(
            "A local classifier returned a probability of NaN. Check X for extreme values, or use "
            "another local classifier."
        )
    return np.clip(proba, 0.0, 1.0)


def _positive(estimator: Any, part: Any, j: int) -> FloatArray:
    """The probability of class 1 in one array of a multi-output classifier."""
    part = np.asarray(part, dtype=np.float64)
    classes = getattr(estimator, "classes_", None)
    if part.ndim == 2 and part.shape[1] == 2:
        return part[:, _positive_column(estimator, None if classes is None else classes[j])]
    if part.ndim == 2 and part.shape[1] == 1 and classes is not None:
        # It has seen only one of the two classes.
        return part[:, 0] * float(np.asarray(classes[j]).reshape(-1)[0])
    return _refuse_shape(estimator, f"{part.shape} for output {j}", (len(part), 2))


def _positive_column(estimator: Any, classes: Any) -> int:
    """The column of class 1 out of two."""
    return 1 if column_order(classes, 2, type(estimator).__name__) is None else 0


def _refuse_shape(estimator: Any, found: Any, expected: tuple[int, int]) -> Any:
    raise ValueError(
        f"{type(estimator).__name__}.predict_proba returned an array of shape {found}; expected "
        f"{expected}."
    )


# -- probabilities of nodes --------------------------------------------------------------------


@singledispatch
def set_node_proba(models: Any, X: Any, floor: float = 0.0) -> FloatArray:
    """Probability of every node for a chunk of rows; the root has 1.

    If a probability is below ``floor``, no classifier further down is queried, and probabilities
    there may be reported as 0.
    """
    raise TypeError(f"{type(models).__name__} is not a fitted model of sets.")


@set_node_proba.register
def _of_set_models(models: SetModels, X: Any, floor: float = 0.0) -> FloatArray:
    strategy = STRATEGIES[models.strategy]
    if strategy.is_binary:
        return _per_class(models, X, floor)
    if strategy.shared or strategy.is_direct:
        return _together(models, X)
    return _per_parent(models, X, floor)


@node_proba.register
def _of_sets(models: AnySetModels, X: Any) -> FloatArray:
    return set_node_proba(models, X)


def _start(models: AnySetModels, X: Any) -> FloatArray:
    # By columns, which are read and written below.
    proba = np.zeros((n_rows_of(X), models.hierarchy.n_nodes), order="F")
    proba[:, 0] = 1
    return proba


def _nodes(models: AnySetModels) -> list[int]:
    """The nodes with training rows except the root, parents before their children."""
    return (1 + np.flatnonzero(models.populated[1:])).tolist()


def _at_most(models: AnySetModels, proba: FloatArray, node: int) -> FloatArray:
    """The smallest probability of the parents of a node."""
    parents = models.hierarchy.parents(node)
    return proba[:, parents[0]] if len(parents) == 1 else proba[:, parents].min(axis=1)


def _worth_querying(bound: FloatArray, floor: float) -> IntArray:
    """The rows in which a node may have a probability that matters."""
    return np.flatnonzero(bound >= max(floor, np.finfo(float).tiny))


def _of_final(models: SetModels, X: Any) -> FloatArray:
    """From the probabilities of ending at a node: the largest at or below it is that of a node."""
    proba = _start(models, X)
    ends = np.isin(np.arange(len(models.populated)), models.ends)
    for node in reversed(_nodes(models)):
        estimator = models.classifiers.get(node)
        if estimator is not None:
            found = column_proba(estimator, protect(X), 1)[:, 0]
            proba[:, node] = np.maximum(proba[:, node], found)
        elif ends[node]:  # without a negative row
            proba[:, node] = 1
        for parent in models.hierarchy.parents(node).tolist():
            proba[:, parent] = np.maximum(proba[:, parent], proba[:, node])
    return proba


def _per_class(models: SetModels, X: Any, floor: float) -> FloatArray:
    if models.of_final:
        return _of_final(models, X)
    proba = _start(models, X)
    # The probability that a node passes to its children; the same array unless there are gates.
    passed = proba.copy(order="F") if models.gates else proba
    if 0 in models.gates:
        passed[:, 0] = 1 - column_proba(models.gates[0], protect(X), 1)[:, 0]
    for node in _nodes(models):
        bound = _at_most(models, passed, node)
        rows = _worth_querying(bound, floor)
        if not len(rows):
            continue
        estimator, gate = models.classifiers.get(node), models.gates.get(node)
        X_here = None if estimator is gate is None else rows_at(X, rows)
        bound = bound[rows]
        if estimator is not None:
            found = column_proba(estimator, protect(X_here), 1)[:, 0]
            bound = found * bound if models.inside_parent else np.minimum(found, bound)
        proba[rows, node] = bound
        if gate is not None:
            bound = bound * (1 - column_proba(gate, protect(X_here), 1)[:, 0])
        passed[rows, node] = bound
    return proba


def _per_parent(models: SetModels, X: Any, floor: float) -> FloatArray:
    proba = _start(models, X)
    proba[:, 1:] = models.populated[1:]
    for node in np.flatnonzero(models.populated & ~models.hierarchy.is_leaf).tolist():
        # All its parents have been processed, so its own probability is final.
        bound = proba[:, node]
        children = models.hierarchy.children(node)
        least = np.minimum(proba[:, children], bound[:, None])
        estimator = models.classifiers.get(node)
        rows = _worth_querying(bound, floor)
        if estimator is not None and len(rows):
            nodes = models.classes[node]
            place = np.searchsorted(children, nodes)
            found = column_proba(estimator, rows_at(X, rows), len(nodes)) * bound[rows, None]
            at = np.ix_(rows, place)
            least[at] = np.minimum(least[at], found)
        proba[:, children] = least
    return proba


def _together(models: SetModels, X: Any) -> FloatArray:
    """Query every classifier for all its nodes; a flat model has one classifier for all levels."""
    proba = _start(models, X)
    proba[:, 1:] = models.populated[1:]
    for owner, estimator in models.classifiers.items():
        nodes = models.classes[owner]
        proba[:, nodes] = column_proba(estimator, protect(X), len(nodes))
    return at_most_parents(proba, models)


def at_most_parents(proba: FloatArray, models: AnySetModels) -> FloatArray:
    """Limit every probability by those of its parents, from the top down, in place."""
    for node in _nodes(models):
        proba[:, node] = np.minimum(proba[:, node], _at_most(models, proba, node))
    return proba


@set_node_proba.register
def _of_ensemble(models: SetEnsembleModels, X: Any, floor: float = 0.0) -> FloatArray:
    proba = _start(models, X)
    product = models.voting == "product"
    with np.errstate(divide="ignore"):
        for member, weight in zip(models.members, models.weights, strict=True):
            if weight:
                found = set_node_proba(member, protect(X))
                proba[:, 1:] += weight * (np.log(found[:, 1:]) if product else found[:, 1:])
    if product:
        proba[:, 1:] = np.exp(proba[:, 1:])
    return proba


@set_node_proba.register
def _of_restricted(models: RestrictedSetModels, X: Any, floor: float = 0.0) -> FloatArray:
    """Classes outside are impossible; an ancestor is in a set if an allowed class below it is."""
    proba = set_node_proba(models.base, X, floor)
    proba[:, ~models.inside] = 0
    for node in reversed(_nodes(models)):
        for parent in models.hierarchy.parents(node).tolist():
            if not models.inside[parent]:
                proba[:, parent] = np.maximum(proba[:, parent], proba[:, node])
    proba[:, 0] = 1
    return proba


def set_query_of_everyone(models: SetModels) -> Callable[[Any], Any] | None:
    """A query of one local classifier that all rows reach, or None."""
    strategy = STRATEGIES[models.strategy]
    if strategy.shared or strategy.is_direct:
        return None
    owners = models.hierarchy.children(0).tolist() if strategy.is_binary else [0]
    for owner in owners:
        estimator = models.classifiers.get(owner)
        if estimator is not None:
            k = 1 if strategy.is_binary else len(models.classes[owner])
            return lambda X: column_proba(estimator, X, k)
    return None


# -- decisions ---------------------------------------------------------------------------------


def _decider(models: AnySetModels) -> Any:
    """A decider on a device, or None; it supports whole models only."""
    return None if hasattr(models, "base") else decider_of(models)


def decide_sets(models: AnySetModels, X: Any, thresholds: FloatArray) -> Any:
    """Closed sets for a chunk of rows: nodes that, with all ancestors, reach their thresholds."""
    decider = _decider(models)
    if decider is not None:
        return decider.sets(X, thresholds)
    floor = float(thresholds[1:][models.populated[1:]].min(initial=1.0))
    return closed_by(set_node_proba(models, X, floor), thresholds, models)


def closed_by(proba: FloatArray, thresholds: FloatArray, models: AnySetModels) -> Any:
    """Nodes whose probability reaches the threshold, as those of all their ancestors do."""
    chosen = (proba >= thresholds) & models.populated
    chosen[:, 0] = True
    if (thresholds[1:] != thresholds[1]).any():
        # With a common threshold, sets are closed because children never exceed their parents.
        _close_down(chosen, models)
    return as_sets(sp.csr_array(chosen))


def _close_down(chosen: AnyArray, models: AnySetModels) -> None:
    """Remove nodes of which a parent was removed.

    Parents outside the classes that a model is restricted to are ignored: they come with the
    classes below them.
    """
    inside = getattr(models, "inside", models.populated)
    for node in _nodes(models):
        if inside[node]:
            parents = models.hierarchy.parents(node)
            chosen[:, node] &= chosen[:, parents[inside[parents]]].all(axis=1)
    for node in reversed(_nodes(models)):
        if not inside[node]:
            below = models.hierarchy.children(node)
            chosen[:, node] = chosen[:, below[models.populated[below]]].any(axis=1)


def decide_nodes(models: AnySetModels, X: Any, thresholds: FloatArray) -> IntArray:
    """One most specific node for every row of a chunk.

    It is the node whose set (the node and its ancestors) has the largest sum of probability minus
    threshold. If the nodes that reach their thresholds are on one path, this is the last of them at
    which a training row ends. Ties go to the lowest node.
    """
    decider = _decider(models)
    if decider is not None:
        return np.asarray(decider.nodes(X, thresholds))
    return best_nodes(set_node_proba(models, X), thresholds, models)


def best_nodes(proba: FloatArray, thresholds: FloatArray, models: AnySetModels) -> IntArray:
    """As :func:`decide_nodes`, from probabilities of nodes."""
    above = sp.csr_array(models.hierarchy._closure[models.ends], dtype=np.float64)
    gain = proba - thresholds
    gain[:, 0] = 0
    return models.ends[np.argmax(gain @ above.T, axis=1)]


def rank_final(models: AnySetModels, X: Any, k: int) -> tuple[IntArray, FloatArray]:
    """The k most probable final classes of every row of a chunk, and their probabilities.

    A final class is the most specific class of some training row. Ties go to the lowest node. If
    there are fewer classes, -1 and probability 0 follow.
    """
    proba = set_node_proba(models, X)[:, models.ends]
    n = min(k, proba.shape[1])
    order = np.argsort(-proba, axis=1, kind="stable")[:, :n]
    nodes = np.full((len(proba), k), -1, dtype=np.intp)
    values = np.zeros((len(proba), k))
    nodes[:, :n] = models.ends[order]
    values[:, :n] = np.take_along_axis(proba, order, axis=1)
    return nodes, values
