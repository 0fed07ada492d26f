"""Learning from batches: ``partial_fit`` of the estimators that fit local classifiers.

A batch is encoded, planned and learned as in ``fit``, by the same engine. This module handles what
happens between two batches: which classes are known (:class:`Stream`), how the tree grows, and that
a batch is learned completely or not at all. Classifiers therefore learn as copies, and after any
error, the model is restored to its state before the call.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hiclass._compat import offered_if
from hiclass._engine.fit import fit_problems
from hiclass._engine.packed import unpacked
from hiclass._estimators.fitting import (
    Recipe,
    check_all_scores,
    check_local_parameters,
    local_recipe,
    route_params,
)
from hiclass._estimators.incremental_sets import learn_sets, learns_sets
from hiclass._estimators.streams import (
    begin,
    check_batch,
    check_stream_parameters,
    classes_as_paths,
    format_for,
    stream_for,
    take_up,
)
from hiclass._labels.columns import LabelColumns, read_paths
from hiclass._problems.batches import (
    Guard,
    Plan,
    lacking_siblings,
    learns_by_counting,
    note_sides,
    plan_per_parent,
    rows_learned,
    warn_of_lack,
)
from hiclass._problems.index import (
    BatchIndex,
    LocalProblem,
    RowCounts,
    find_options,
    weight_by_node,
)
from hiclass._rows import check_X, n_rows_of
from hiclass._state import BatchModels, LabelFormat, LocalModels, Packed, Stream
from hiclass._typing import IntArray

_WITH_PARTIAL_FIT = (
    "SGDClassifier(loss='log_loss'), MultinomialNB, BernoulliNB, MLPClassifier or Perceptron"
)


def _has_partial_fit(self: Any) -> None:
    """Raise an error that states why there is no ``partial_fit``; callables are checked later."""
    if self._strategy.plan is None:
        raise AttributeError(
            f"{type(self).__name__} has no partial_fit because its strategy, "
            f"{self._strategy.name!r}, does not support batches. Call fit with all rows."
        )
    prototype = self._prototype()
    if not prototype.is_factory and not hasattr(prototype.typical, "partial_fit"):
        raise AttributeError(_without_partial_fit(type(self).__name__, prototype.typical))


def _without_partial_fit(name: str, estimator: Any) -> str:
    return (
        f"{name} has no partial_fit because its local classifier, {type(estimator).__name__}, has "
        f"none. Use one that learns from batches, for example {_WITH_PARTIAL_FIT}, or call fit "
        f"with all rows."
    )


class _Learner:
    """The estimator that the engine fits: a classifier that continues learning, as a copy."""

    def __init__(self, estimator: Any, n_classes: int | None) -> None:
        self.estimator = estimator
        self._n_classes = n_classes  # None: it has learned before

    def fit(self, X: Any, y: IntArray, **params: Any) -> _Learner:
        if self._n_classes is None:
            packed = isinstance(self.estimator, Packed)
            self.estimator = (unpacked if packed else copy.deepcopy)(self.estimator)
        else:
            params["classes"] = np.arange(self._n_classes)
        self.estimator.partial_fit(X, y, **params)
        return self


@offered_if(_has_partial_fit)
def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
    """Update the model with one batch of rows.

    Only the local classifiers that have rows in the batch are updated, so that the cost of a
    batch is proportional to its rows and their depth. If an error occurs, the model remains
    unchanged. A local classifier skips the batch if it would forget most of its classes because
    the batch has no rows of them. Only available if the local classifier has ``partial_fit``.

    Parameters
    ----------
    X : {array-like, sparse matrix, frame, list} of n_samples rows
        As in ``fit``, with the same features in every batch.
    y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
        As in ``fit``, in the same form in every batch.
    classes : array-like of labels or paths, or Hierarchy, default=None
        All classes that will ever occur, for the first call. ``hierarchy=`` has the same effect.
        By default, the classes of the first batch. Only ``LocalClassifierPerNode`` accepts new
        classes in later batches, and only for one path per row in a tree. Unless ``leaf_only`` is
        set, paths may stop at every inner node.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, passed to every local classifier by keyword.

    Returns
    -------
    self : object
        The updated estimator.

    Raises
    ------
    ValueError
        If the batch has a new class that the model cannot add, is empty or has other features
        than before. Also for parameters that only ``fit`` supports: ``calibration``,
        ``checkpoint_dir``, ``min_coef`` and, unless ``fit`` was called before or ``expected_f1`` is
        given, ``decoding="expected_f1"``.

    Warns
    -----
    UserWarning
        If local classifiers skip the batch, or may forget classes, because the batch has no rows
        of classes that they have learned. Include rows of all classes in every batch.

    Examples
    --------
    >>> from hiclass import LocalClassifierPerNode
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> model = LocalClassifierPerNode(MultinomialNB())
    >>> model = model.partial_fit([[9, 0], [0, 9]], [["Animal", "Cat"], ["Plant", "Fern"]])
    >>> model.partial_fit([[8, 1]], [["Animal", "Dog"]]).hierarchy_
    Hierarchy(tree, 5 classes, 2 levels, 3 leaves)
    """
    with learning(self):
        learn = learn_sets if learns_sets(self) else _learn
        learn(self, X, y, classes, sample_weight)
    return self


@contextmanager
def learning(model: Any) -> Iterator[None]:
    """Restore the model if learning fails; nothing is changed in place."""
    before = model.__dict__.copy()
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def _learn(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    check_local_parameters(model)
    check_stream_parameters(model)
    models = _models_so_far(model)
    X = check_X(model, X, model._input_tags(), reset=models is None)
    columns = read_paths(y, "y")
    check_batch(model, columns, n_rows_of(X))
    recipe = local_recipe(model, route_params(model, X, sample_weight, {}, "partial_fit"))
    given: LabelColumns | None = None
    declared = classes is not None or model.hierarchy is not None
    if models is None:
        models, given = begin(model, columns, classes)
    if classes is not None and given is None:
        models, _ = take_up(model, models, classes_as_paths(classes, models), "classes")
    models, nodes = take_up(model, models, columns, "y")
    stream = stream_for(model, models, nodes, given, declared)
    models = replace(models, layout=stream.layout)
    format = format_for(model, models, columns, given)
    index = BatchIndex(models.hierarchy, nodes)
    updated = _update(recipe, models, stream, index, X)
    check_all_scores(recipe, updated, index, X)
    model._stream = stream
    model.__dict__.pop("guarantee_", None)  # it belonged to the model before this batch
    model.__dict__.pop("_n_own", None)  # from now on counted with the batches
    if _is_unchanged(model, updated, format):
        model._models = updated
    else:
        model._remember(updated, format)


def _models_so_far(model: Any) -> BatchModels | None:
    """What was learned from earlier batches, or from the rows of ``fit``."""
    models = model.__dict__.get("_models")
    if models is None or isinstance(models, BatchModels):
        return models
    return BatchModels(**vars(models), layout=models.options, n_own=model._n_own)


def _is_unchanged(model: Any, models: BatchModels, format: LabelFormat) -> bool:
    """Whether a batch changed nothing visible; computing ``classes_`` visits every node."""
    old: LocalModels | None = model.__dict__.get("_models")
    if old is None or old.hierarchy is not models.hierarchy or format is not model._format:
        return False
    if old.options is models.options:
        return True
    levels = models.hierarchy.levels
    first_ends = [int(levels[m.options.ends].min()) for m in (old, models)]
    return format.ndim == 2 and first_ends[0] == first_ends[1]


# -- learning ------------------------------------------------------------------------------------


def _update(
    recipe: Recipe, models: BatchModels, stream: Stream, index: BatchIndex, X: Any
) -> BatchModels:
    """Update the classifiers that have rows in the batch."""
    hierarchy, describe = models.hierarchy, partial(recipe.describe, models.hierarchy)
    plan = _plan(recipe, stream, index)
    one_sided, guard = dict(models.one_sided), _guard(recipe, models, stream, index)

    def admitted() -> Iterator[LocalProblem]:
        for problem in plan.problems:
            old = _fitted(models, problem)
            if guard.admits(problem, may_forget=old is not None and not learns_by_counting(old)):
                yield problem

    learned = fit_problems(
        admitted(),
        plan.n_problems,
        X,
        _make_learners(recipe, models, one_sided),
        describe,
        recipe.fit_params,
        replace(recipe.settings, title="Learning a batch"),
    )
    soft, merged = models.soft, []
    for old, learners in zip((models.classifiers, models.gates), learned, strict=True):
        new = {owner: learner.estimator for owner, learner in learners.items()}
        both = {**old, **new}
        if len(both) > len(old):
            soft &= all(hasattr(c, "predict_proba") for c in new.values())
            both = dict(sorted(both.items()))
        merged.append(both)
    warn_of_lack(guard, describe)
    n_own = models.n_own.copy()
    known = np.ones(index.n_rows, dtype=np.intp)
    for rows in guard.unknown:
        known[rows] = 0
    np.add.at(n_own, index.nodes, known)
    own_weight = models.own_weight
    if own_weight is not None:
        weights = recipe.weights_of()
        known = known if weights is None else known * weights
        own_weight = own_weight + weight_by_node(hierarchy, index.nodes, known)
    options = models.options
    if len(options.can_stop) < len(n_own) or not models.n_own[index.distinct].all():
        options = find_options(RowCounts(hierarchy, n_own), leaf_only=recipe.leaf_only)
    return replace(
        models,
        options=options,
        classifiers=merged[0],
        gates=merged[1],
        soft=soft,
        n_own=n_own,
        own_weight=own_weight,
        expected_own=None,  # for models that have learned less
        one_sided=one_sided,
        learned=guard.learned,
    )


def _plan(recipe: Recipe, stream: Stream, index: BatchIndex) -> Plan:
    assert recipe.strategy.plan is not None
    return recipe.strategy.plan(index, stream)


def _guard(recipe: Recipe, models: BatchModels, stream: Stream, index: BatchIndex) -> Guard:
    """The guard that decides which classifiers learn; it includes the rows of ``fit``."""
    learned = models.learned
    if not learned and (models.classifiers or models.gates):
        nodes = np.flatnonzero(models.n_own)
        plan = _plan(recipe, stream, BatchIndex(models.hierarchy, nodes))
        owners = {*models.classifiers, *(~node for node in models.gates)}
        learned = rows_learned(plan, models.n_own[nodes], owners)
    if not recipe.strategy.is_binary:
        return Guard(learned)
    return Guard(learned, lacking_siblings(plan_per_parent(index, stream), learned))


def _make_learners(
    recipe: Recipe, models: BatchModels, one_sided: dict[int, int]
) -> Callable[[LocalProblem], _Learner]:
    """A function that creates what the engine fits, and records who has seen one class only."""
    make: list[Any] = []  # created when needed, because it may draw a random number

    def learner(problem: LocalProblem) -> _Learner:
        old = _fitted(models, problem)
        if recipe.strategy.is_binary:
            note_sides(problem, old is None, one_sided)
        if old is not None:
            return _Learner(old, None)
        if not make:
            make.append(recipe.factory(models.hierarchy, models.layout.ends, False))
        estimator = make[0](problem)
        if not hasattr(estimator, "partial_fit"):
            name = recipe.describe(models.hierarchy, problem)
            message = _without_partial_fit(recipe.owner, estimator)
            raise ValueError(f"{message} This is the classifier of {name}.")
        return _Learner(estimator, len(problem.classes))

    return learner


def _fitted(models: BatchModels, problem: LocalProblem) -> Any:
    """The classifier of a problem, if it has learned before."""
    return (models.gates if problem.gate else models.classifiers).get(problem.owner)
