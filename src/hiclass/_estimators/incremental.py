"""Learning from batches: ``partial_fit`` of the estimators that fit local classifiers.

A batch is encoded, planned and learned as in ``fit``, by the same engine. What is added here lies
between two batches: which classes are known (:class:`Stream`), how the tree grows, and that a batch
is learned as a whole or not at all. For that, classifiers learn as copies, and whatever goes wrong
puts back the model as it was before the call.
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
from hiclass._labels.columns import LabelColumns, read_paths, refuse_path_tuples
from hiclass._problems.batches import (
    Guard,
    Plan,
    check_layout,
    lacking_siblings,
    learns_by_counting,
    make_layout,
    note_sides,
    plan_per_parent,
    renumbered,
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
from hiclass._problems.policies import POLICIES, as_policy, read_policy
from hiclass._rows import check_X, n_rows_of
from hiclass._state import (
    AdaptedModels,
    BatchModels,
    LabelFormat,
    LocalModels,
    Options,
    Packed,
    RestrictedModels,
    RestrictedSetModels,
    Stream,
)
from hiclass._targets.growth import check_form, first_format, grow, widen_format
from hiclass._targets.paths import (
    as_hierarchy,
    check_n_labels,
    find_nodes,
    nodes_of,
    warn_of_similar_labels,
)
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy

_WITH_PARTIAL_FIT = (
    "SGDClassifier(loss='log_loss'), MultinomialNB, BernoulliNB, MLPClassifier or Perceptron"
)


def _has_partial_fit(self: Any) -> None:
    """Say why there is no ``partial_fit``; a callable is checked when it makes one."""
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
    """What the engine fits: a classifier that goes on learning, as a copy."""

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
        than before. Also for parameters that need all rows at once: ``calibration``,
        ``checkpoint_dir`` and, unless ``fit`` was called before or ``expected_f1`` is given,
        ``decoding="expected_f1"``.

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
    """Put the model back as it was if learning fails: nothing is changed in place."""
    before = model.__dict__.copy()
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def _learn(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    check_local_parameters(model)
    _check_stream_parameters(model)
    models = _models_so_far(model)
    X = check_X(model, X, model._input_tags(), reset=models is None)
    columns = read_paths(y, "y")
    _check_form(model, columns, n_rows_of(X))
    recipe = local_recipe(model, route_params(model, X, sample_weight, {}, "partial_fit"))
    given: LabelColumns | None = None
    declared = classes is not None or model.hierarchy is not None
    if models is None:
        models, given = _begin(model, columns, classes)
    if classes is not None and given is None:
        models, _ = _take_up(model, models, _classes_as_paths(classes, models), "classes")
    models, nodes = _take_up(model, models, columns, "y")
    stream = _stream_for(model, models, nodes, given, declared)
    models = replace(models, layout=stream.layout)
    format = _format_for(model, models, columns, given)
    index = BatchIndex(models.hierarchy, nodes)
    updated = _update(recipe, models, stream, index, X)
    check_all_scores(recipe, updated, index, X)
    model._stream = stream
    model.__dict__.pop("guarantee_", None)  # it was about the model before this batch
    model.__dict__.pop("_n_own", None)  # from now on counted with the batches
    if _is_unchanged(model, updated, format):
        model._models = updated
    else:
        model._remember(updated, format)


def _models_so_far(model: Any) -> BatchModels | None:
    """What was learned from batches before, or from the rows of ``fit``."""
    models = model.__dict__.get("_models")
    if models is None or isinstance(models, BatchModels):
        return models
    return BatchModels(**vars(models), layout=models.options, n_own=model._n_own)


def _is_unchanged(model: Any, models: BatchModels, format: LabelFormat) -> bool:
    """Whether a batch changed nothing that a user sees: ``classes_`` looks at every node."""
    old: LocalModels | None = model.__dict__.get("_models")
    if old is None or old.hierarchy is not models.hierarchy or format is not model._format:
        return False
    if old.options is models.options:
        return True
    levels = models.hierarchy.levels
    first_ends = [int(levels[m.options.ends].min()) for m in (old, models)]
    return format.ndim == 2 and first_ends[0] == first_ends[1]


# -- what is known ------------------------------------------------------------------------------


def check_learns(model: Any) -> None:
    """Refuse batches for a restricted model, and where an F-score to decide by would be missing."""
    light = {
        RestrictedModels: "restricted to some classes",
        RestrictedSetModels: "restricted to some classes",
        AdaptedModels: "adapted to other shares of classes",
    }.get(type(model.__dict__.get("_models")))
    if light is not None:
        raise ValueError(
            f"A model that is {light} cannot be updated. Call partial_fit of the model that it was "
            f"made from."
        )
    if model._decoding.needs_f and model._f_to_expect() is None:
        raise ValueError(
            f"decoding={model.decoding!r} needs an out-of-fold F-score, which partial_fit cannot "
            f"compute. Call fit on some rows before partial_fit, set expected_f1 (for example "
            f"0.8), or use another decoding."
        )


def _check_stream_parameters(model: Any) -> None:
    if model.threshold != 0.5:
        model._refuse_threshold()
    if model.calibration is not None:
        raise ValueError(
            f"calibration={model.calibration!r} needs all rows at once, but partial_fit gets "
            f"batches. Set calibration=None, or call fit."
        )
    if model.min_coef:
        raise ValueError(
            f"partial_fit keeps all weights; min_coef={model.min_coef!r} is for fit only. Set "
            f"min_coef=0; a fitted model continues with the weights that it has."
        )
    check_learns(model)
    models = model.__dict__.get("_models")
    if models is not None and not isinstance(models, LocalModels):
        raise ValueError(
            "This model was fitted on sets of classes, but multi_label=False with a tree means one "
            "path per row. Set multi_label=True, or clone the model to start again."
        )
    if models is not None and models.temperature is not None:
        raise ValueError(
            "This model was calibrated by fit, and its temperature would be wrong after more rows. "
            "Call fit with calibration=None before partial_fit."
        )
    if model.checkpoint_dir is not None:
        raise ValueError(
            "checkpoint_dir is for fit only. Set checkpoint_dir=None, and pickle the model between "
            "batches."
        )
    stream = model.__dict__.get("_stream")
    if stream is not None and stream.settings != _stream_settings(model):
        raise ValueError(
            f"{', '.join(_setting_names(model))} must not change after the first batch: "
            f"{stream.settings} then, {_stream_settings(model)} now. Call fit to start again."
        )


def _setting_names(model: Any) -> list[str]:
    return ["leaf_only", *(["binary_policy"] if model._strategy.is_binary else [])]


def _stream_settings(model: Any) -> tuple[Any, ...]:
    return tuple(getattr(model, name) for name in _setting_names(model))


def _check_form(model: Any, columns: LabelColumns, n_rows: int) -> None:
    check_n_labels(columns.n_rows, n_rows)
    if "_format" in model.__dict__:
        check_form(columns, model._format)


def _begin(
    model: Any, columns: LabelColumns, classes: Any
) -> tuple[BatchModels, LabelColumns | None]:
    """A model that has seen nothing, and the paths, if any, that it got its hierarchy from."""
    given = None
    if model.hierarchy is not None or isinstance(classes, Hierarchy):
        hierarchy = as_hierarchy(classes if model.hierarchy is None else model.hierarchy)
    else:
        given = columns if classes is None else read_paths(classes, "classes")
        name = "y" if classes is None else "classes"
        refuse_path_tuples(given, "partial_fit learns one path per row; fit takes them", name)
        hierarchy, _ = Hierarchy._from_columns(given)
        warn_of_similar_labels(hierarchy)
    if not hierarchy.is_tree:
        raise ValueError(
            f"The hierarchy is a DAG: {hierarchy._shared_label()!r} has several parents. Give it "
            f"as a parameter of the estimator, hierarchy=..., not as classes."
        )
    n_own = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    options = find_options(RowCounts(hierarchy, n_own), leaf_only=model.leaf_only)
    models = BatchModels(
        model._strategy.name,
        hierarchy,
        options,
        {},
        {},
        True,
        is_direct=model._strategy.is_direct,
        layout=options,
        n_own=n_own,
        own_weight=np.zeros(hierarchy.n_nodes),
    )
    return models, given


def _take_up(
    model: Any, models: BatchModels, columns: LabelColumns, name: str
) -> tuple[BatchModels, IntArray]:
    """Find the node of every row; where the model can grow, it does so."""
    old = models.hierarchy
    nodes, unknown = find_nodes(columns, old)
    if unknown is None:
        return models, nodes
    reason = _cannot_grow(model, old, columns)
    if reason:
        try:
            nodes_of(columns, old, name)
        except ValueError as error:
            raise ValueError(f"{error} {reason}") from None
    hierarchy, moved, nodes = grow(old, columns)
    new = np.ones(hierarchy.n_nodes, dtype=bool)
    new[moved] = False
    warn_of_similar_labels(hierarchy, new)
    n_own = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    n_own[moved] = models.n_own
    own_weight = models.own_weight
    if own_weight is not None:
        own_weight = np.zeros(hierarchy.n_nodes)
        own_weight[moved] = models.own_weight
    models = replace(
        models,
        hierarchy=hierarchy,
        classifiers={int(moved[node]): c for node, c in models.classifiers.items()},
        gates={int(moved[node]): c for node, c in models.gates.items()},
        n_own=n_own,
        own_weight=own_weight,
        expected_own=None,
        one_sided=renumbered(models.one_sided, moved),
        learned=renumbered(models.learned, moved),
    )
    return models, nodes


def _cannot_grow(model: Any, hierarchy: Hierarchy, columns: LabelColumns) -> str:
    """Why a new class is an error, and what to do about it; empty if it is none."""
    if not model._strategy.is_binary:
        return (
            f"{type(model).__name__} needs all classes in the first batch. Start again and give "
            f"them with classes= in the first call or with hierarchy=, or use "
            f"LocalClassifierPerNode, which accepts new classes in later batches."
        )
    if model.hierarchy is not None:
        return "With hierarchy=, the classes are fixed. Add the class there and start again."
    if hierarchy.identity == "label":
        return (
            "A hierarchy whose nodes are identified by label cannot grow. Start again with the new "
            "class in it, or with a hierarchy from Hierarchy.from_paths."
        )
    if columns.ndim == 1 and hierarchy.depth > 1:
        return "A new class needs its whole path; a single label is not enough."
    return ""


def _stream_for(
    model: Any, models: BatchModels, nodes: IntArray, given: LabelColumns | None, declared: bool
) -> Stream:
    """What is known at a batch: as before, or more."""
    stream: Stream | None = model.__dict__.get("_stream")
    ends_early = bool((~models.hierarchy.is_leaf[nodes]).any())
    if stream is None:
        stream = _first_stream(model, models, nodes, given, declared)
    elif _outgrown(model, stream, models, nodes):
        stream = replace(stream, layout=_layout(model, models, nodes, stream.complete))
    if model._strategy.is_binary:
        if ends_early and not stream.ended_early and stream.policy != model.binary_policy:
            _warn_of_late_stops(model.binary_policy, stream.policy)
        return replace(stream, ended_early=stream.ended_early or ends_early)
    if not stream.complete:
        check_layout(models.hierarchy, stream.layout, nodes, model.leaf_only)
    return stream


def _first_stream(
    model: Any, models: BatchModels, nodes: IntArray, given: LabelColumns | None, declared: bool
) -> Stream:
    inner = ~models.hierarchy.is_leaf
    after_fit = "_models" in model.__dict__
    # Per node, what was not announced is taken up as it comes; the others must know it now.
    complete = not after_fit and (declared or not model._strategy.is_binary)
    if after_fit and not model._strategy.is_binary:
        layout = models.options
    else:
        layout = _layout(model, models, nodes, complete)
    policy, ended_early = "", False
    if model._strategy.is_binary:
        ends = nodes if given is None else find_nodes(given, models.hierarchy)[0]
        ended_early = bool((inner & (models.n_own > 0)).any() or inner[ends].any())
        read = read_policy(as_policy(model.binary_policy), ends_early=ended_early)
        policy = read.name if read in POLICIES.values() else model.binary_policy
    columns = None
    if model._strategy.columns is not None:
        columns = model._strategy.columns(models.hierarchy, layout)
    return Stream(layout, columns, complete, policy, _stream_settings(model), ended_early)


def _outgrown(model: Any, stream: Stream, models: BatchModels, nodes: IntArray) -> bool:
    """Whether a batch brings something that the layout has no place for; per node only."""
    if len(stream.layout.can_stop) < models.hierarchy.n_nodes:
        return True
    if stream.complete or model.leaf_only or not model._strategy.is_binary:
        return False
    return bool((~models.hierarchy.is_leaf[nodes] & ~stream.layout.can_stop[nodes]).any())


def _layout(model: Any, models: BatchModels, nodes: IntArray, complete: bool) -> Options:
    """All children; stops everywhere, or where there have been some, or nowhere."""
    stops = np.full(models.hierarchy.n_nodes, complete and not model.leaf_only)
    if not complete and not model.leaf_only:
        stops = models.n_own > 0
        stops[nodes] = True
    return make_layout(models.hierarchy, stops)


def _format_for(
    model: Any, models: BatchModels, columns: LabelColumns, given: LabelColumns | None
) -> LabelFormat:
    old: LabelFormat | None = model.__dict__.get("_format")
    if old is None:
        return first_format(columns, given, models.hierarchy)
    same_type = columns.dtype.kind == old.dtype.kind
    fits = len(columns.codes) <= old.n_levels and (
        old.dtype == object or (same_type and np.result_type(columns.dtype, old.dtype) == old.dtype)
    )
    if fits and models.hierarchy is model._models.hierarchy:
        return old
    return widen_format(old, columns, models.hierarchy)


# -- learning ------------------------------------------------------------------------------------


def _update(
    recipe: Recipe, models: BatchModels, stream: Stream, index: BatchIndex, X: Any
) -> BatchModels:
    """Let the classifiers that have rows in the batch learn them."""
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
        expected_own=None,  # of models that have learned less
        one_sided=one_sided,
        learned=guard.learned,
    )


def _plan(recipe: Recipe, stream: Stream, index: BatchIndex) -> Plan:
    assert recipe.strategy.plan is not None
    return recipe.strategy.plan(index, stream)


def _guard(recipe: Recipe, models: BatchModels, stream: Stream, index: BatchIndex) -> Guard:
    """What decides which classifiers learn; after ``fit``, it counts the rows of that."""
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
    """A function that makes what the engine fits, and notes who has seen one class only."""
    make: list[Any] = []  # made when it is needed: it may draw a random number

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


def _classes_as_paths(classes: Any, models: BatchModels) -> LabelColumns:
    """Classes as paths to look up; given again, the hierarchy of the model has nothing to add."""
    if isinstance(classes, Hierarchy):
        known = classes._same_classes(models.hierarchy)
        leaves = classes.leaves()[:1] if known else classes.leaves()
        classes = [list(classes.path(v)) for v in leaves.tolist()]
    return read_paths(classes, "classes")


def _warn_of_late_stops(policy: str, read_as: str) -> None:
    warn_user(
        f"Rows end at inner nodes for the first time. The first batch had no such rows, so "
        f"binary_policy={policy!r} has been read as {read_as!r} from the beginning and remains so. "
        f"To apply the policy literally, start again with classes= that include paths which end at "
        f"inner nodes."
    )
