"""Models that are conditional on known facts: only some classes are allowed."""

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
    """A mask of the nodes that are among some classes (labels or path tuples) or below them."""
    allowed = _inside(models.hierarchy, classes)
    _check_any(allowed[models.options.ends])
    return allowed


def _inside(hierarchy: Any, classes: Any) -> AnyArray:
    """A mask of some classes and all of their descendants."""
    if isinstance(classes, str | bytes | type) or not hasattr(classes, "__iter__"):
        raise ValueError(f"classes must be a list of labels or paths; got {classes!r}.")
    classes = list(classes)
    if not classes:
        raise ValueError("classes is empty. Pass at least one label or path.")
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
    """Restrict a model of sets: all labels are among some classes, or below them.

    Parameters
    ----------
    models : SetModels, SetEnsembleModels or RestrictedSetModels
        The fitted model.
    classes : iterable of labels or path tuples
        The possible classes. Each includes its descendants.

    Returns
    -------
    RestrictedSetModels
    """
    hierarchy = models.hierarchy
    inside = _inside(hierarchy, classes) & models.populated
    if isinstance(models, RestrictedSetModels):
        inside &= models.inside
    _check_any(inside[1:])
    # Ancestors of allowed classes can be predicted, too, but only together with such a class.
    reached = np.asarray(hierarchy._closure[inside].sum(axis=0)).reshape(-1) > 0
    ends = models.ends[inside[models.ends]]
    return RestrictedSetModels(hierarchy, reached, ends, models, inside)


def restrict(models: Any, allowed: AnyArray) -> RestrictedModels | AdaptedModels:
    """A model conditional on ending at one of the allowed nodes (a mask over nodes)."""
    if isinstance(models, AdaptedModels):
        return _restrict_adapted(models, allowed)
    hierarchy, old = models.hierarchy, models.options
    ends = old.ends[allowed[old.ends]]
    # A subtree is an interval of numbers: which intervals contain a final class?
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
    """The restricted model, adapted: the weights of classes do not depend on other classes."""
    base = restrict(models.base, allowed)
    some = allowed[models.options.ends]
    shares = models.shares[some]
    if not shares.sum() > 0:
        raise ValueError(
            "None of the given classes can be predicted, because their shares are 0. Name other "
            "classes, or adapt to other shares."
        )
    return replace(
        models,
        options=base.options,
        base=base,
        shares=shares / shares.sum(),
        log_weights=models.log_weights[some],
    )


def _prune(models: Any, reached: AnyArray) -> Any:
    """Omit the nodes at which a restricted model is never queried."""
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
