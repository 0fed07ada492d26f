"""Models that are conditional on what is known already: only some classes are allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hiclass._inference.paths import strategy_of
from hiclass._state import (
    AdaptedModels,
    AnySetModels,
    LocalModels,
    Options,
    RestrictedModels,
    RestrictedSetModels,
)
from hiclass._typing import AnyArray


def allowed_nodes(models: Any, classes: Any) -> AnyArray:
    """Which nodes are one of some classes, labels or path tuples, or below one, as a mask."""
    allowed = _inside(models.hierarchy, classes)
    _check_any(allowed[models.options.ends])
    return allowed


def _inside(hierarchy: Any, classes: Any) -> AnyArray:
    """Some classes and everything below them, as a mask."""
    if isinstance(classes, str | bytes | type) or not hasattr(classes, "__iter__"):
        raise ValueError(f"classes must be a list of labels or paths; got {classes!r}.")
    classes = list(classes)
    if not classes:
        raise ValueError("classes is empty. Give at least one label or path.")
    inside = np.zeros(hierarchy.n_nodes, dtype=bool)
    for name in classes:
        node = hierarchy.find(name)
        inside[node] = True
        inside[hierarchy.descendants(node)] = True
    return inside


def _check_any(possible: AnyArray) -> None:
    if not possible.any():
        raise ValueError(
            "None of the given classes can be predicted: they have no training rows, or the model "
            "is restricted to other classes."
        )


def restrict_sets(models: AnySetModels, classes: Any) -> RestrictedSetModels:
    """A model of sets of classes in which all labels are among some classes, or below them.

    Parameters
    ----------
    models : SetModels, SetEnsembleModels or RestrictedSetModels
        The fitted model.
    classes : iterable of labels or path tuples
        The classes that are possible, each with everything below it.

    Returns
    -------
    RestrictedSetModels
    """
    hierarchy = models.hierarchy
    inside = _inside(hierarchy, classes) & models.populated
    if isinstance(models, RestrictedSetModels):
        inside &= models.inside
    _check_any(inside[1:])
    # What is above a class inside can be predicted, too, but for the sake of that class only.
    reached = np.asarray(hierarchy._closure[inside].sum(axis=0)).reshape(-1) > 0
    ends = models.ends[inside[models.ends]]
    return RestrictedSetModels(hierarchy, reached, ends, models, inside)


def restrict(models: Any, allowed: AnyArray) -> RestrictedModels | AdaptedModels:
    """A model conditional on ending at one of the allowed nodes (a mask over nodes)."""
    if isinstance(models, AdaptedModels):
        return _restrict_adapted(models, allowed)
    hierarchy, old = models.hierarchy, models.options
    ends = old.ends[allowed[old.ends]]
    # A subtree is an interval of numbers: which ones have an end in them?
    reached = np.searchsorted(ends, hierarchy.subtree_end) > np.searchsorted(
        ends, np.arange(hierarchy.n_nodes)
    )
    can_stop = old.can_stop & allowed
    source = np.repeat(np.arange(hierarchy.n_nodes), np.diff(old.indptr))
    keep = np.where(source == old.indices, can_stop[old.indices], reached[old.indices])
    counts = np.bincount(source[keep], minlength=hierarchy.n_nodes)
    options = Options(
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        indices=old.indices[keep],
        can_stop=can_stop,
        ends=ends,
    )
    return RestrictedModels(hierarchy, options, _prune(models, reached))


def _restrict_adapted(models: AdaptedModels, allowed: AnyArray) -> AdaptedModels:
    """The restricted model, adapted: the weights of classes do not depend on the others."""
    base = restrict(models.base, allowed)
    some = allowed[models.options.ends]
    shares = models.shares[some]
    if not shares.sum() > 0:
        raise ValueError("None of the given classes can be predicted, because their shares are 0.")
    return replace(
        models,
        options=base.options,
        base=base,
        shares=shares / shares.sum(),
        log_weights=models.log_weights[some],
    )


def _prune(models: Any, reached: AnyArray) -> Any:
    """Leave out the nodes at which a restricted model is never queried."""
    if not isinstance(models, LocalModels):
        return models
    strategy = strategy_of(models)
    if strategy.is_direct or strategy.shared:
        return models
    keep = np.repeat(reached, np.diff(models.options.indptr))
    counts = np.where(reached, np.diff(models.options.indptr), 0)
    pruned = replace(
        models.options,
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        indices=models.options.indices[keep],
    )
    return replace(models, options=pruned)
