"""From local models to probabilities and sets of nodes, where rows are sets.

Every node is a question of its own and nothing is normalised. What a node's classifier says becomes
a probability that never exceeds those of its parents:

- per parent node, the classifier of a parent answers P(c | parent): P(c) is the smallest of
  P(c | p) P(p) over the parents p;
- per node with a policy that trains inside the parents, P(c) is the answer times the smallest
  P(parent), each less the part that ends at the parent, where a gate says so;
- per node with the other policies, per level and flat, classifiers are trained on all rows: P(c) is
  the smaller of the answer and the smallest P(parent).

A set is then cut out by a threshold: it is closed because probabilities never rise on the way down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._closure import as_sets
from hiclass._inference.evidence import column_order
from hiclass._problems.strategies import STRATEGIES
from hiclass._rows import n_rows_of, protect, take_rows
from hiclass._state import SetEnsembleModels, SetModels
from hiclass._typing import FloatArray, IntArray

# -- asking a classifier -----------------------------------------------------------------------


def answers(estimator: Any, X: Any, k: int) -> FloatArray:
    """Probability of each of the k nodes of a classifier, which are independent questions."""
    found = estimator.predict_proba(X)
    if k == 1:
        classes = getattr(estimator, "classes_", None)
        if isinstance(found, list) and len(found) == 1:  # from what takes several outputs only
            found = found[0]
            classes = None if classes is None else classes[0]
        found = np.asarray(found, dtype=np.float64)
        if found.shape != (n_rows_of(X), 2):
            _refuse_shape(estimator, found.shape, (n_rows_of(X), 2))
        proba = found[:, [_column_of_yes(estimator, classes)]]
    elif isinstance(found, list):
        if len(found) != k:
            _refuse_shape(estimator, f"a list of {len(found)}", (n_rows_of(X), k))
        proba = np.column_stack([_yes(estimator, part, j) for j, part in enumerate(found)])
    else:
        proba = np.asarray(found, dtype=np.float64)
        if proba.ndim == 3 and proba.shape[2] == 2:  # outputs x rows x (no, yes)
            proba = proba[:, :, 1].T
        if proba.shape != (n_rows_of(X), k):
            _refuse_shape(estimator, proba.shape, (n_rows_of(X), k))
    if not np.isfinite(proba).all():
        raise ValueError(
            "A local classifier returned a probability that is not a number. Check X for extreme "
            "values, or use another local classifier."
        )
    return np.clip(proba, 0.0, 1.0)


def _yes(estimator: Any, part: Any, j: int) -> FloatArray:
    """The probability of class 1 in one of the arrays of a multi-output classifier."""
    part = np.asarray(part, dtype=np.float64)
    classes = getattr(estimator, "classes_", None)
    if part.ndim == 2 and part.shape[1] == 2:
        return part[:, _column_of_yes(estimator, None if classes is None else classes[j])]
    if part.ndim == 2 and part.shape[1] == 1 and classes is not None:
        # It has seen only one of the two classes.
        return part[:, 0] * float(np.asarray(classes[j]).reshape(-1)[0])
    return _refuse_shape(estimator, f"{part.shape} for output {j}", (len(part), 2))


def _column_of_yes(estimator: Any, classes: Any) -> int:
    """The column of class 1 out of two."""
    return 1 if column_order(classes, 2, type(estimator).__name__) is None else 0


def _refuse_shape(estimator: Any, found: Any, expected: tuple[int, int]) -> Any:
    raise ValueError(
        f"{type(estimator).__name__}.predict_proba returned an array of shape {found}; expected "
        f"{expected}."
    )


# -- probabilities of nodes --------------------------------------------------------------------


def set_node_proba(models: SetModels | SetEnsembleModels, X: Any, floor: float = 0.0) -> FloatArray:
    """Probability of every node for a chunk of rows; the root has 1.

    Where a probability is below ``floor``, nothing further down is asked, and may be given as 0.
    """
    if isinstance(models, SetEnsembleModels):
        return _ensemble(models, X)
    strategy = STRATEGIES[models.strategy]
    if strategy.is_binary:
        return _per_class(models, X, floor)
    if strategy.shared or strategy.is_direct:
        return _together(models, X)
    return _per_parent(models, X, floor)


def _start(models: SetModels | SetEnsembleModels, X: Any) -> FloatArray:
    # By columns: they are what is read and written below.
    proba = np.zeros((n_rows_of(X), models.hierarchy.n_nodes), order="F")
    proba[:, 0] = 1
    return proba


def _at_most(models: SetModels, proba: FloatArray, node: int) -> FloatArray:
    """The smallest probability of the parents of a node."""
    parents = models.hierarchy.parents(node)
    return proba[:, parents[0]] if len(parents) == 1 else proba[:, parents].min(axis=1)


def _worth_asking(bound: FloatArray, floor: float) -> IntArray:
    """The rows in which a node may have a probability that matters."""
    return np.flatnonzero(bound >= max(floor, np.finfo(float).tiny))


def _of_endings(models: SetModels, X: Any) -> FloatArray:
    """Where answers say "it ends here", a node is as probable as the likeliest ending below it."""
    proba = _start(models, X)
    ends = np.isin(np.arange(len(models.populated)), models.ends)
    for node in models.nodes[::-1].tolist():
        estimator = models.classifiers.get(node)
        if estimator is not None:
            found = answers(estimator, protect(X), 1)[:, 0]
            proba[:, node] = np.maximum(proba[:, node], found)
        elif ends[node]:  # without a negative row
            proba[:, node] = 1
        for parent in models.hierarchy.parents(node).tolist():
            proba[:, parent] = np.maximum(proba[:, parent], proba[:, node])
    return proba


def _per_class(models: SetModels, X: Any, floor: float) -> FloatArray:
    if models.of_final:
        return _of_endings(models, X)
    proba = _start(models, X)
    # What a node leaves to its children; the same array unless there are gates.
    passed = proba.copy(order="F") if models.gates else proba
    if 0 in models.gates:
        passed[:, 0] = 1 - answers(models.gates[0], protect(X), 1)[:, 0]
    for node in models.nodes.tolist():
        bound = _at_most(models, passed, node)
        rows = _worth_asking(bound, floor)
        if not len(rows):
            continue
        estimator, gate = models.classifiers.get(node), models.gates.get(node)
        X_here = None if estimator is gate is None else _rows(X, rows)
        bound = bound[rows]
        if estimator is not None:
            found = answers(estimator, protect(X_here), 1)[:, 0]
            bound = found * bound if models.inside_parent else np.minimum(found, bound)
        proba[rows, node] = bound
        if gate is not None:
            bound = bound * (1 - answers(gate, protect(X_here), 1)[:, 0])
        passed[rows, node] = bound
    return proba


def _per_parent(models: SetModels, X: Any, floor: float) -> FloatArray:
    proba = _start(models, X)
    proba[:, 1:] = models.populated[1:]
    for node in np.flatnonzero(models.populated & ~models.hierarchy.is_leaf).tolist():
        # All its parents have been here before, so its own probability is final.
        bound = proba[:, node]
        children = models.hierarchy.children(node)
        least = np.minimum(proba[:, children], bound[:, None])
        estimator = models.classifiers.get(node)
        rows = _worth_asking(bound, floor)
        if estimator is not None and len(rows):
            asked = models.classes[node]
            place = np.searchsorted(children, asked)
            found = answers(estimator, _rows(X, rows), len(asked)) * bound[rows, None]
            at = np.ix_(rows, place)
            least[at] = np.minimum(least[at], found)
        proba[:, children] = least
    return proba


def _together(models: SetModels, X: Any) -> FloatArray:
    """Ask every classifier for all its nodes; flat, there is one classifier for all levels."""
    proba = _start(models, X)
    proba[:, 1:] = models.populated[1:]
    for owner, estimator in models.classifiers.items():
        asked = models.classes[owner]
        proba[:, asked] = answers(estimator, protect(X), len(asked))
    for node in models.nodes.tolist():
        proba[:, node] = np.minimum(proba[:, node], _at_most(models, proba, node))
    return proba


def _ensemble(models: SetEnsembleModels, X: Any) -> FloatArray:
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


def _rows(X: Any, rows: IntArray) -> Any:
    """Rows of a chunk; no copy, but no right to write, where it is all of them."""
    return protect(X) if len(rows) == n_rows_of(X) else take_rows(X, rows)


def set_query_of_everyone(models: SetModels) -> Callable[[Any], Any] | None:
    """A query of one local classifier about rows, one that all rows pass; None if there is none."""
    strategy = STRATEGIES[models.strategy]
    if strategy.shared or strategy.is_direct:
        return None
    owners = models.hierarchy.children(0).tolist() if strategy.is_binary else [0]
    for owner in owners:
        estimator = models.classifiers.get(owner)
        if estimator is not None:
            k = 1 if strategy.is_binary else len(models.classes[owner])
            return lambda X: answers(estimator, X, k)
    return None


# -- decisions ---------------------------------------------------------------------------------


def decide_sets(models: SetModels, X: Any, thresholds: FloatArray) -> Any:
    """Closed sets for a chunk of rows: nodes that reach their thresholds, like all above them."""
    floor = float(thresholds[1:][models.populated[1:]].min(initial=1.0))
    return closed_by(set_node_proba(models, X, floor), thresholds, models)


def closed_by(proba: FloatArray, thresholds: FloatArray, models: SetModels) -> Any:
    """Nodes whose probability reaches the threshold, and that of every node above them, too."""
    chosen = (proba >= thresholds) & models.populated
    chosen[:, 0] = True
    if (thresholds[1:] != thresholds[1]).any():
        # With one threshold for all, sets are closed by the order of the probabilities alone.
        for node in models.nodes.tolist():
            chosen[:, node] &= chosen[:, models.hierarchy.parents(node)].all(axis=1)
    return as_sets(sp.csr_array(chosen))


def decide_nodes(models: SetModels, X: Any, thresholds: FloatArray) -> IntArray:
    """One most specific node for every row of a chunk.

    The node whose set, itself and all above it, has the largest sum of probability less threshold:
    where the nodes that reach their threshold lie on one path, the last of them at which a training
    row ends. Ties go to the lowest node.
    """
    above = sp.csr_array(models.hierarchy._closure[models.ends], dtype=np.float64)
    gain = set_node_proba(models, X) - thresholds
    gain[:, 0] = 0
    return models.ends[np.argmax(gain @ above.T, axis=1)]
