"""The ``fit`` of estimators that clone another estimator for every local problem.

``fit`` checks the parameters, encodes the labels, fits the local problems, learns from held-out
rows, and stores the result. A :class:`Recipe` is everything that determines the local problems
except the rows. Folds are fitted with the same recipe and other rows.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from hiclass._compat import UNUSED, Interval, StrOptions, process_routing, routing_enabled
from hiclass._engine.callbacks import LocalFits, telling_callbacks
from hiclass._engine.class_weights import Weights, read_class_weights, set_class_weights
from hiclass._engine.fit import FitSettings, fit_problems
from hiclass._engine.local_classifiers import (
    Prototype,
    check_accepts_weights,
    copy_estimator,
    may_name_classes,
    set_random_state,
    with_groups,
)
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.estimated import check_estimated, estimate, refuse_groups
from hiclass._estimators.set_fitting import check_has_proba, fit_set_problems
from hiclass._estimators.sets import check_selects_one, check_set_parameters
from hiclass._inference.batches import known_options
from hiclass._inference.evidence import check_scores
from hiclass._inference.selections import make_rule, read_threshold
from hiclass._inference.set_calibrations import SET_CALIBRATIONS
from hiclass._out_of_fold.folds import check_groups, deal_paths, deal_sets
from hiclass._out_of_fold.temperatures import fit_out_of_fold
from hiclass._out_of_fold.thresholds import (
    calibrate_sets,
    score_out_of_fold,
    tune_thresholds,
)
from hiclass._problems.index import (
    BatchIndex,
    LocalProblem,
    TreeIndex,
    find_options,
    rows_by_node,
    weight_by_node,
)
from hiclass._problems.policies import Policy, as_policy
from hiclass._problems.strategies import Strategy
from hiclass._rows import as_weights, check_X, n_rows_of
from hiclass._state import BatchModels, LocalModels, SetModels
from hiclass._targets.paths import Target, as_hierarchy, check_n_labels, encode
from hiclass._targets.sets import SetTarget, encode_in_dag, encode_sets
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import read_groups

#: The temperature that is found without folds.
ESTIMATED = "estimated"

#: The parameters of all estimators with local classifiers.
LOCAL_CONSTRAINTS: dict[str, Any] = {
    **BaseHierarchicalClassifier._parameter_constraints,
    "local_classifier": "no_validation",
    "hierarchy": "no_validation",
    "multi_label": ["boolean"],
    "threshold": [Interval(Real, 0, 1, closed="right"), str, tuple, list],
    "min_coef": [Interval(Real, 0, None, closed="left")],
    "leaf_only": ["boolean"],
    "calibration": [StrOptions({"temperature", "joint", *SET_CALIBRATIONS}), None],
    "temperature": [Interval(Real, 0, None, closed="neither"), StrOptions({ESTIMATED}), None],
    "random_state": ["random_state"],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "checkpoint_dir": [str, PathLike, None],
    "verbose": ["verbose"],
}

#: The metadata that ``fit`` requests by default if metadata routing is enabled: groups, as in the
#: group splitters of scikit-learn. Sample weights are only passed to the local classifiers.
FIT_REQUESTS: dict[str, Any] = {"sample_weight": UNUSED, "groups": True}


# -- fit -----------------------------------------------------------------------------------------


def fit(
    self: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any
) -> Any:
    """Fit one local classifier per local problem.

    Parameters
    ----------
    X : {array-like, sparse matrix, frame, list} of n_samples rows
        The rows, in any form that the local classifier accepts. They are sliced, but not
        converted.
    y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
        One label per row, or one path per row from level 1 down. Labels at the end of a path may
        be missing: ``""``, ``None``, ``NaN``, ``pandas.NA`` or a shorter list. With
        ``multi_label=True``, lists of labels or an indicator matrix.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, passed to every local classifier by keyword. In a pipeline, or a
        search over one, they are passed to the last step.
    groups : array-like of shape (n_samples,), default=None
        The group of every row, such as a patient or a recording. Temperature, expected F-score
        and thresholds are then learned from folds of whole groups, which requires at least
        three groups. They are also passed to local classifiers that are searches or whose
        ``fit`` has a parameter ``groups``.
    **fit_params : dict
        Further keyword arguments for the ``fit`` of every local classifier. Arguments with one
        entry per row are sliced. With metadata routing enabled, the metadata that the local
        classifier requests.

    Returns
    -------
    self : object
        The fitted estimator.
    """
    with fitting(self, X, y):
        check_local_parameters(self)
        X = check_X(self, X, self._input_tags(), reset=True)
        target = encode_labels(self, y)
        check_n_labels(target.n_rows, n_rows_of(X))
        params = route_params(self, X, sample_weight, fit_params, groups=groups)
        recipe, fold = local_recipe(self, params), fold_of_rows(self, target, groups)
        models = fit_models(recipe, X, target)
        weights = recipe.weights_of()
        fit_fold = partial(fit_models, recipe, X, target)
        models, learned = learn_out_of_fold(self, fit_fold, models, X, target, weights, fold)
        self._remember(models, target.format, **learned)
        self._n_own = rows_by_node(target)
    return self


@contextmanager
def fitting(model: BaseHierarchicalClassifier, X: Any = None, y: Any = None) -> Iterator[None]:
    """Forget the earlier fit and, if fit fails, everything that it has set.

    Callbacks are called at the beginning and at the end, with the rows and labels if they are
    given.
    """
    model._forget()
    try:
        with telling_callbacks(model, X, y) if _has_callbacks(model) else nullcontext():
            yield
    except BaseException:
        model._forget()
        raise


def _has_callbacks(model: Any) -> bool:
    """Whether a model has callbacks of scikit-learn, or is fitted within one that has."""
    return not {"_skl_callbacks", "_parent_callback_ctx"}.isdisjoint(vars(model))


def encode_labels(
    model: BaseHierarchicalClassifier, y: Any, hierarchy: Hierarchy | None = None
) -> Target | SetTarget:
    """The labels as nodes, or as sets of nodes if a row may have several."""
    if hierarchy is None and model.hierarchy is not None:
        hierarchy = as_hierarchy(model.hierarchy)
    if model.multi_label:
        return encode_sets(y, hierarchy)
    if hierarchy is None or hierarchy.is_tree:
        if model._threshold != 0.5:
            model._refuse_threshold()
        if model.calibration in SET_CALIBRATIONS:
            raise ValueError(
                f"calibration={model.calibration!r} is for sets of classes (multi_label=True, or a "
                f"DAG), but this model predicts one path per row. {_calibration_of_paths(model)}"
            )
        target = encode(y, hierarchy)
        model._check_thresholds(target.hierarchy)
        return target
    check_set_parameters(model)
    check_selects_one(model)
    return encode_in_dag(y, hierarchy)


def _calibration_of_paths(model: Any) -> str:
    """The remedy for a calibration of sets if a prediction is one path."""
    options = model._parameter_constraints["calibration"]
    known = {name for option in options for name in getattr(option, "options", ())}
    instead = [repr(name) for name in ("temperature", "joint") if name in known]
    return f"Use calibration={' or '.join(instead)}." if instead else "Leave it out."


def route_params(
    model: Any,
    X: Any,
    sample_weight: Any,
    fit_params: dict[str, Any],
    method: str = "fit",
    groups: Any = None,
) -> dict[str, Any]:
    """The keyword arguments for a method of the local classifiers."""
    params = dict(fit_params)
    if sample_weight is not None:
        params["sample_weight"] = as_weights(sample_weight, X)
    prototype = model._prototype()
    if groups is not None:
        params["groups"] = groups
    if prototype.is_factory:
        return params  # whether a classifier accepts groups is only known when it exists
    if routing_enabled():
        routed = process_routing(model, method, **params)
        return dict(routed[prototype.parameter][method])
    params = with_groups(prototype.typical, params)
    for name in params:
        check_accepts_weights(prototype.typical, name, method)
    return params


# -- the recipe ----------------------------------------------------------------------------------

#: ``(hierarchy, final, of_sets)`` to a function that creates the unfitted estimator of a problem.
#: Given the final classes, it warns once, not in every fold, of class weights without effect.
Factory = Callable[[Hierarchy, IntArray | None, bool], Callable[[LocalProblem], Any]]


@dataclass(frozen=True)
class Recipe:
    """How local problems are defined and fitted: everything except the rows.

    Attributes
    ----------
    owner : str
        The name of the hierarchical classifier, for error messages.
    strategy : Strategy
        The strategy, which defines the local problems.
    policy : Policy or None
        The policy, which selects the rows of binary classifiers; None for other classifiers.
    factory : callable
        Creates the unfitted estimators.
    fit_params : dict
        Keyword arguments for every ``fit``.
    settings : FitSettings
        The settings of the engine.
    leaf_only : bool
        Whether every path must end at a leaf.
    calibration : str or None
        How scores are converted to probabilities.
    temperature : float or None
        The temperature of the calibration, if it is given.
    """

    owner: str
    strategy: Strategy
    policy: Policy | None
    factory: Factory
    fit_params: dict[str, Any]
    settings: FitSettings
    leaf_only: bool = False
    calibration: str | None = None
    temperature: float | None = None

    def weights_of(self, rows: IntArray | None = None) -> Any:
        """The sample weights of some rows, by default of all rows; None without weights."""
        weights = self.fit_params.get("sample_weight")
        return weights if weights is None or rows is None else weights[rows]

    def describe(self, hierarchy: Hierarchy, problem: LocalProblem) -> str:
        """The name of the classifier of a problem in messages."""
        name = self.strategy.describe(hierarchy, problem.owner)
        return f"stopping at {name}" if problem.gate else name


def local_recipe(model: Any, fit_params: dict[str, Any]) -> Recipe:
    """The recipe of an estimator with local classifiers."""
    strategy = model._strategy
    directory = None if model.checkpoint_dir is None else str(model.checkpoint_dir)
    return Recipe(
        type(model).__name__,
        strategy,
        as_policy(model.binary_policy) if strategy.is_binary else None,
        partial(make_estimators, model, strategy, check=partial(check_capability, model)),
        fit_params,
        # Small weights are dropped after the temperature is estimated, which needs all weights.
        FitSettings(
            model.n_jobs,
            directory,
            model.verbose,
            min_coef=0.0 if _is_estimated(model) else float(model.min_coef),
            listening=partial(LocalFits, model) if _has_callbacks(model) else None,
        ),
        model.leaf_only,
        model.calibration,
        None if model.temperature in (None, ESTIMATED) else float(model.temperature),
    )


def fit_models(
    recipe: Recipe, X: Any, target: Target | SetTarget, rows: IntArray | None = None
) -> Any:
    """Fit the classifiers of the whole hierarchy on all rows, or on those of a fold.

    Parameters
    ----------
    recipe : Recipe
        The recipe.
    X : rows
        All training rows.
    target : Target or SetTarget
        Their labels.
    rows : ndarray of int, default=None
        The rows of a fold.

    Returns
    -------
    LocalModels or SetModels
        The fitted models.
    """
    if rows is None:
        return _fit_rows(recipe, X, target, None)
    recipe = replace(recipe, settings=replace(recipe.settings, title="Fitting a fold"))
    with warnings.catch_warnings():
        # The fit on all rows has already warned.
        warnings.filterwarnings("ignore", message="No training row ends at an inner node")
        try:
            return _fit_rows(recipe, X, target, rows)
        except Exception as error:
            error.add_note("while fitting a fold to learn from out-of-fold scores")
            raise


def _fit_rows(
    recipe: Recipe, X: Any, target: Any, rows: IntArray | None
) -> LocalModels | SetModels:
    if target.of_sets:
        return _fit_sets(recipe, X, target, rows)
    strategy, hierarchy = recipe.strategy, target.hierarchy
    nodes = target.nodes if rows is None else target.nodes[rows]
    index = TreeIndex(hierarchy, nodes)
    options = find_options(index, leaf_only=recipe.leaf_only)
    problems = strategy.problems(index, options, recipe.policy)
    if rows is not None:
        problems = (replace(p, rows=rows if p.rows is None else rows[p.rows]) for p in problems)
    classifiers, gates = fit_problems(
        problems,
        strategy.count(options, hierarchy),
        X,
        recipe.factory(hierarchy, options.ends if rows is None else None, False),
        partial(recipe.describe, hierarchy),
        recipe.fit_params,
        recipe.settings,
    )
    models = LocalModels(
        strategy.name,
        hierarchy,
        options,
        classifiers,
        gates,
        all(hasattr(c, "predict_proba") for c in (*classifiers.values(), *gates.values())),
        temperature=recipe.temperature,
        joint=recipe.calibration == "joint",
        is_direct=strategy.is_direct or recipe.calibration == "joint",
        own_weight=weight_by_node(hierarchy, nodes, recipe.weights_of(rows)),
    )
    if rows is None:  # those of a fold are of the same kind
        check_all_scores(recipe, models, index, X)
    return models


def _fit_sets(recipe: Recipe, X: Any, target: SetTarget, rows: IntArray | None) -> SetModels:
    hierarchy = target.hierarchy
    return fit_set_problems(
        recipe.strategy,
        recipe.policy,
        X,
        target,
        recipe.factory(hierarchy, None, True),
        partial(recipe.describe, hierarchy),
        recipe.fit_params,
        recipe.settings,
        rows,
    )


def fold_of_rows(model: Any, target: Any, groups: Any) -> IntArray | None:
    """The fold of every row for out-of-fold learning; None if it is not required.

    Groups are checked in any case, and both before anything is fitted.
    """
    unit = None if groups is None else read_groups(groups, target.n_rows)
    if target.of_sets:
        learned = _learned_from_sets(model)
        if not learned:
            return None
        check_groups(unit, learned)
        return deal_sets(target, unit)
    if _is_estimated(model):
        refuse_groups(groups)
        return None
    learned = _learned_from_paths(model)
    if not learned:
        return None
    check_groups(unit, learned)
    return deal_paths(target.nodes, target.hierarchy, unit, keep_own=model._needs_own_rows())


def _is_estimated(model: Any) -> bool:
    return bool(getattr(model, "temperature", None) == ESTIMATED)


def _learned_from_paths(model: Any) -> dict[str, str]:
    """What is learned out of fold, and how to avoid it."""
    learned = {}
    if _calibrates(model):
        learned[f"calibration={model.calibration!r}"] = "set temperature"
    if model._learns_f:
        learned[f"decoding={model.decoding!r}"] = "set expected_f1"
    return learned


def _learned_from_sets(model: Any) -> dict[str, str]:
    """The same for sets of classes."""
    learned = {}
    if model.calibration in SET_CALIBRATIONS:
        learned[f"calibration={model.calibration!r}"] = "set calibration=None"
    if read_threshold(model.threshold).is_learned:
        learned[f"threshold={model.threshold!r}"] = "set threshold to a number"
    return learned


def _calibrates(model: Any) -> bool:
    return model.calibration is not None and model.temperature is None


def learn_out_of_fold(
    model: Any,
    fit_fold: Callable[[IntArray], Any],
    models: Any,
    X: Any,
    target: Any,
    weights: Any,
    fold: IntArray | None,
) -> tuple[Any, dict[str, Any]]:
    """Learn from held-out rows what the parameters require: temperature, F-score, thresholds.

    ``fit_fold`` fits the same models on some of the rows, ``fold`` is from :func:`fold_of_rows`.
    Returns the models, with their temperature and expected classes, and everything else that was
    learned, by name.
    """
    if _is_estimated(model):
        return estimate(model, models, X, target.nodes, weights)
    if fold is None:
        return models, {}
    if _learned_from_sets(model):
        return _learn_sets(model, fit_fold, models, X, target, weights, fold)
    calibrate = _calibrates(model)
    temperature, f, expected = fit_out_of_fold(
        fit_fold, X, target.nodes, fold, weights, calibrate=calibrate, leaf_only=model.leaf_only
    )
    models = replace(models, expected_own=expected)
    return replace(models, temperature=temperature) if calibrate else models, {"expected_f1": f}


def _learn_sets(
    model: Any,
    fit_fold: Callable[[IntArray], Any],
    models: Any,
    X: Any,
    target: SetTarget,
    weights: Any,
    fold: IntArray,
) -> tuple[Any, dict[str, Any]]:
    """Learn a calibration of sets, then thresholds, out of fold."""
    calibration, chosen = model.calibration, read_threshold(model.threshold)
    count = calibration is not None
    scored = score_out_of_fold(fit_fold, X, target, fold, weights, count=count)
    if count and scored is not None:
        models, scored = calibrate_sets(models, scored, calibration)
    if not chosen.is_learned:
        return models, {}
    learned = tune_thresholds(scored, target, weights)
    # Raise the error now, not during prediction, if it cannot be reached.
    make_rule(chosen, learned, target.hierarchy.n_nodes)
    return models, {"thresholds": learned.thresholds, "threshold_curve": learned.curve}


def check_all_scores(recipe: Recipe, models: LocalModels, index: BatchIndex, X: Any) -> None:
    """Reject local classifiers whose scores are needed and are not one per class."""
    strategy = recipe.strategy
    chosen = strategy.takes_choices and not isinstance(models, BatchModels)
    if recipe.calibration is None and (models.soft or strategy.is_binary or chosen):
        return
    for owner, estimator in models.classifiers.items():
        joint = recipe.calibration == "joint" and hasattr(estimator, "predict_proba")
        if joint or not hasattr(estimator, "decision_function"):
            continue
        classes = strategy.classes(owner, known_options(models), models.hierarchy)
        try:
            check_scores(estimator, len(classes), X, partial(_rows_of_classes, index, classes))
        except ValueError as error:
            problem = LocalProblem(owner, None, classes, classes)
            error.add_note(f"in {recipe.describe(models.hierarchy, problem)}")
            raise


def _rows_of_classes(index: BatchIndex, classes: IntArray) -> IntArray:
    """Rows at or below some nodes, in ascending order."""
    return np.unique(np.concatenate([index.below(node) for node in classes.tolist()]))


# -- the local classifiers -----------------------------------------------------------------------


def local_prototype(model: Any) -> Prototype:
    """The estimator that is cloned for ``local_classifier``; by default, a logistic regression."""
    given = model.local_classifier
    if given is None:  # not "or": an unfitted forest has length 0
        given = LogisticRegression()
        given = given.set_fit_request(sample_weight=True) if routing_enabled() else given
    return Prototype(
        given,
        "local_classifier",
        "LogisticRegression()",
        "a classifier with fit and predict_proba, a ByDepth of one, or a callable that takes the "
        "path of a node and returns one",
    )


def make_estimators(
    model: Any,
    strategy: Strategy,
    hierarchy: Hierarchy,
    final: IntArray | None,
    of_sets: bool = False,
    *,
    check: Callable[[Any], None] = lambda estimator: None,
) -> Callable[[LocalProblem], Any]:
    """A function that creates the unfitted estimator of a local problem; see ``Factory``.

    ``check`` rejects estimators that cannot predict what is needed.
    """
    prototype: Prototype = model._prototype()
    final = final if strategy.is_direct else None
    seed = None
    if model.random_state is not None:
        seed = check_random_state(model.random_state).randint(2**31 - 1)

    def weights_of(estimator: Any) -> Weights:
        if not may_name_classes(estimator):
            return {}
        return read_class_weights(estimator, hierarchy, final)

    shared = [(estimator, weights_of(estimator)) for estimator in prototype.by_depth()]
    if of_sets:
        for estimator, _ in shared:
            check_has_proba(estimator, model.calibration)

    def find(problem: LocalProblem) -> tuple[Any, Weights]:
        if len(shared) == 1:
            return shared[0]
        if shared:
            return shared[min(strategy.depth(problem, hierarchy), len(shared) - 1)]
        estimator = prototype.of(strategy.key(hierarchy, problem.owner))
        check(estimator)
        return estimator, weights_of(estimator)

    def make(problem: LocalProblem) -> Any:
        estimator, weights = find(problem)
        estimator = copy_estimator(estimator)
        if weights:
            set_class_weights(estimator, weights, problem, strategy, hierarchy)
        if seed is not None:
            # By name, not by position, so that a new class does not change the other classifiers.
            name = f"{strategy.key(hierarchy, problem.owner)!r} {problem.gate}"
            set_random_state(estimator, zlib.crc32(name.encode(), seed) & 0x7FFFFFFF)
        return check_has_proba(estimator, model.calibration) if of_sets else estimator

    return make


def check_local_parameters(model: Any) -> None:
    """Check all parameters of an estimator with local classifiers, before any work."""
    model._check_parameters()
    check_temperature(model)
    if _is_estimated(model):
        check_estimated(model)
    for estimator in model._prototype().by_depth():
        check_capability(model, estimator)


def check_temperature(model: Any) -> None:
    """Reject a temperature without a calibration."""
    if model.temperature is not None and model.calibration is None:
        raise ValueError(
            f"temperature={model.temperature!r} requires a calibration. Set "
            f"calibration='temperature' or 'joint', or leave temperature out."
        )


def check_capability(model: Any, estimator: Any) -> None:
    """Reject, before any work, a local classifier that cannot predict what is needed."""
    name, owner = type(estimator).__name__, type(model).__name__
    if hasattr(estimator, "predict_proba"):
        return
    scored = hasattr(estimator, "decision_function")
    if model.calibration is not None and scored:
        return
    remedy = (
        f"Use {'calibration=' + repr('temperature') if scored else 'another classifier'}, or "
        f"wrap it: sklearn.calibration.CalibratedClassifierCV({name}())."
    )
    if model.calibration is not None:
        raise ValueError(
            f"calibration={model.calibration!r} needs predict_proba or decision_function; "
            f"{name} has neither. {remedy}"
        )
    wish = model._needs_probabilities(model._strategy.is_direct)
    if wish:
        raise ValueError(f"{wish} needs probabilities, but {name} has no predict_proba. {remedy}")
    if not model._strategy.takes_choices and not scored:
        raise ValueError(
            f"{owner} needs predict_proba or decision_function; {name} has neither. {remedy}"
        )
    if not hasattr(estimator, "predict"):
        raise ValueError(f"{owner} needs predict; {name} has no such method.")
