"""Evidence of models that learn from batches, registered for their type.

Their classifiers must know classes before there are rows of them. They therefore have columns for
more than the options, and only the columns of the options are used. A binary classifier of a class
that was added later may have seen rows of one class only, and a naive Bayes classifier may have too
few rows for probabilities. None of this happens after ``fit``, and then nothing here is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._inference.evidence import choice, class_proba, normalised, positive, rows_at
from hiclass._inference.paths import (
    binary_evidence,
    query,
    strategy_of,
    unrestricted,
    width_for,
    width_of,
)
from hiclass._problems.index import child_branches
from hiclass._rows import protect
from hiclass._state import BatchModels, LocalModels, Options
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The share of the remaining probability for a class whose own classifier cannot be queried yet.
_HARDLY = 1e-6


def known_options(models: LocalModels) -> Options:
    """The classes that the classifiers can distinguish: the options, or more in a stream."""
    return models.layout if isinstance(models, BatchModels) else models.options


def has_seen_both(models: Any, key: int) -> bool:
    """Whether the binary classifier of a node, or the gate of ``~node``, has seen both classes."""
    models = unrestricted(models)
    return not isinstance(models, BatchModels) or key not in models.one_sided


@width_of.register
def _width(models: BatchModels) -> int:
    return models.hierarchy.n_nodes if models.is_direct else width_for(models, models.layout)


@query.register
def _query(models: BatchModels, owner: int, X: Any, k: int, scored: bool = False) -> FloatArray:
    strategy, estimator = strategy_of(models), models.classifiers[owner]
    known = strategy.classes(owner, models.layout, models.hierarchy)
    wanted = strategy.classes(owner, models.options, models.hierarchy)
    if models.soft:
        found = _proba(estimator, X, len(known))
    else:  # its prediction might be a class that is not an option
        scored = scored or hasattr(estimator, "decision_function")
        found = choice(models, estimator, X, len(known), scored)
    if np.array_equal(known, wanted):
        return found
    order = np.argsort(known)
    place = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    nothing = 0.0 if models.soft else -np.inf  # evidence for a class that has none
    return np.where(known[place] == wanted, found[:, place], nothing)


def _proba(estimator: Any, X: Any, k: int) -> FloatArray:
    """Probabilities of a classifier that may have seen too few rows to estimate them."""
    # Some naive Bayes classifiers take the logarithm of 0, the share of a class without rows.
    with np.errstate(divide="ignore", invalid="ignore"):
        proba = class_proba(estimator, X, k)
    if not np.isfinite(proba).all():
        raise ValueError(
            f"{type(estimator).__name__} returned a probability of NaN, because a class had too "
            f"few rows to estimate a variance. Call partial_fit with rows of every class, start "
            f"over with several rows in the first batch, or use another local classifier."
        )
    return proba


@binary_evidence.register
def _binary(models: BatchModels, X: Any, node: int, rows: IntArray) -> FloatArray:
    children = child_branches(models.options, node)
    can_stop = models.options.can_stop[node]
    gate = models.gates.get(node) if can_stop else None
    evidence = np.ones((len(rows), len(children) + can_stop))
    if len(children) < 2 and gate is None:
        return evidence
    X = rows_at(X, rows)
    if len(children) > 1:
        ready = np.array(
            [c in models.classifiers and c not in models.one_sided for c in children.tolist()]
        )
        for j in np.flatnonzero(ready).tolist():
            evidence[:, j] = positive(models, models.classifiers[int(children[j])], protect(X))
        waiting = np.flatnonzero(~ready)
        if len(waiting):
            known = evidence[:, np.flatnonzero(ready)]
            evidence[:, waiting] = _left_over(models, known, children, waiting)
    if gate is not None:
        one_sided = ~node in models.one_sided
        evidence[:, -1] = _stops(models, node) if one_sided else positive(models, gate, protect(X))
    return evidence


@positive.register
def _positive(models: BatchModels, estimator: Any, X: Any) -> FloatArray:
    if models.soft:
        return normalised(_proba(estimator, X, 2))[:, 1]
    return positive.dispatch(object)(models, estimator, X)


def _left_over(
    models: BatchModels, known: FloatArray, children: IntArray, waiting: IntArray
) -> FloatArray:
    """Evidence for children whose classifiers cannot be queried: part of what the others leave.

    The other classifiers may not have seen rows of these children, and leave much of the
    probability of every row that they are uncertain about. Therefore only rows that all of them
    reject go to these children. Scores cannot show this.
    """
    if not models.soft:
        return np.full((len(known), len(waiting)), -np.inf if known.shape[1] else 0.0)
    n_below = _n_below(models, children)
    left = np.maximum(1 - known.sum(axis=1, keepdims=True), 0)
    return left * (_HARDLY * n_below[waiting] / n_below.sum())


def _stops(models: BatchModels, node: int) -> float:
    """Evidence for stopping at a node without its gate: the share of rows that ended there."""
    share = float(models.n_own[node] / _n_below(models, np.array([node]))[0])
    return share if models.soft else share - 0.5


def _n_below(models: BatchModels, nodes: IntArray) -> AnyArray:
    """The number of training rows at or below some nodes."""
    end = models.hierarchy.subtree_end
    return np.array([models.n_own[v : end[v]].sum() for v in nodes.tolist()])
