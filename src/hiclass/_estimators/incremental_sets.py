"""Learning sets of classes from batches: ``partial_fit`` with several labels per row, or a DAG.

Every class is a separate binary problem. As long as a classifier has seen only one of its two
classes, counts decide: a class without rows has probability 0, and a class of all rows is certain.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from hiclass._engine.fit import fit_problems
from hiclass._engine.local_classifiers import copy_estimator
from hiclass._estimators.fitting import Recipe, check_local_parameters, local_recipe, route_params
from hiclass._estimators.set_fitting import check_has_proba
from hiclass._inference.selections import read_threshold
from hiclass._inference.sets import column_proba
from hiclass._problems.index import LocalProblem, SetIndex
from hiclass._problems.policies import POLICIES, Policy, as_policy, read_policy
from hiclass._problems.set_batches import SetLayout, batch_of_sets, set_layout
from hiclass._rows import check_X, n_rows_of, protect, take_rows
from hiclass._state import SetBatchModels
from hiclass._targets.paths import as_hierarchy, check_n_labels
from hiclass._targets.sets import SetTarget, encode_in_dag, encode_sets
from hiclass._typing import AnyArray, FloatArray
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy


class ColumnLearners(ClassifierMixin, BaseEstimator):
    """One binary clone of a classifier per column of the target, which learns from batches.

    Parameters
    ----------
    estimator : classifier
        The classifier to clone, with ``partial_fit`` and ``predict_proba``.

    Attributes
    ----------
    estimators_ : list
        The copies, one per column.
    counts_ : ndarray of int of shape (n_columns, 2)
        The numbers of rows of 0 and of 1 that each clone has learned.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def partial_fit(self, X: Any, y: Any, **params: Any) -> ColumnLearners:
        """Update the clone of every column of y, which holds 0 and 1."""
        if not hasattr(self, "estimators_"):
            self.estimators_ = [copy_estimator(self.estimator) for _ in range(y.shape[1])]
            self.counts_ = np.zeros((y.shape[1], 2), dtype=np.intp)
        n_positive = y.sum(axis=0)
        for estimator, column in zip(self.estimators_, np.ascontiguousarray(y.T), strict=True):
            # A separate copy of the rows, because an estimator may modify them.
            estimator.partial_fit(take_rows(X, None), column, classes=np.arange(2), **params)
        self.counts_ = self.counts_ + np.column_stack([len(y) - n_positive, n_positive])
        return self

    @property
    def classes_(self) -> AnyArray:
        """The classes: whether a row belongs to a class."""
        return np.arange(2)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of 1 in every column; for one column, those of 0 and 1."""
        proba = np.empty((n_rows_of(X), len(self.estimators_)))
        for j, (estimator, counts) in enumerate(zip(self.estimators_, self.counts_, strict=True)):
            if counts.all():
                proba[:, j] = column_proba(estimator, protect(X), 1)[:, 0]
            else:
                proba[:, j] = float(counts[1] > 0)
        return np.hstack([1 - proba, proba]) if proba.shape[1] == 1 else proba


class _Learner:
    """The estimator that the engine fits: it continues learning, as a copy."""

    def __init__(self, learners: ColumnLearners) -> None:
        self.learners = learners

    def fit(self, X: Any, y: Any, **params: Any) -> _Learner:
        self.learners = copy.deepcopy(self.learners).partial_fit(X, y, **params)
        return self


def learns_sets(model: Any) -> bool:
    """Whether batches of a model contain sets of classes."""
    if model.multi_label or isinstance(model.__dict__.get("_models"), SetBatchModels):
        return True
    return model.hierarchy is not None and not as_hierarchy(model.hierarchy).is_tree


def learn_sets(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Learn one batch of rows with several labels, or with one label in a DAG."""
    check_local_parameters(model)
    _check_parameters(model)
    models: SetBatchModels | None = model.__dict__.get("_models")
    X = check_X(model, X, model._input_tags(), reset=models is None)
    params = route_params(model, X, sample_weight, {}, "partial_fit")
    recipe = local_recipe(model, params)
    target = _encode(model, y, classes, models)
    check_n_labels(target.n_rows, n_rows_of(X))
    index = SetIndex(target.hierarchy, target.closed, target.own)
    if models is None:
        models = _begin(recipe, target.hierarchy, index)
    _check_policy(models, recipe, index)
    models = _update(recipe, models, index, X)
    format = model.__dict__.get("_format", target.format)
    model._remember(models, format)
    model._stream = None


def _check_parameters(model: Any) -> None:
    """Reject parameters that batches of sets do not support."""
    models = model.__dict__.get("_models")
    if models is not None and not isinstance(models, SetBatchModels):
        raise ValueError(
            "This model was fitted with fit, or derived from another model. For sets of classes, "
            "partial_fit cannot continue from there. Clone the model, and call partial_fit of the "
            "clone."
        )
    for name, value in (
        ("calibration", model.calibration),
        ("checkpoint_dir", model.checkpoint_dir),
        ("min_coef", model.min_coef or None),
    ):
        if value is not None:
            raise ValueError(
                f"{name}={value!r} is supported by fit, but not by partial_fit. Leave {name} out, "
                f"or call fit."
            )
    if read_threshold(model.threshold).is_learned:
        raise ValueError(
            f"threshold={model.threshold!r} is learned out of fold, which partial_fit cannot do. "
            f"Use a number, which tune_confidence can choose on held-out rows, or ('top', 3)."
        )


def _encode(model: Any, y: Any, classes: Any, models: SetBatchModels | None) -> SetTarget:
    """The labels of a batch, in the hierarchy of the first batch."""
    hierarchy = None if models is None else models.hierarchy
    if hierarchy is None and model.hierarchy is not None:
        hierarchy = as_hierarchy(model.hierarchy)
    if classes is not None:
        hierarchy = _declared(classes, hierarchy)
    try:
        if model.multi_label:
            return encode_sets(y, hierarchy)
        assert hierarchy is not None  # a DAG is always given
        return encode_in_dag(y, hierarchy)
    except ValueError as error:
        if models is None:
            raise
        raise ValueError(
            f"{error} With several labels per row or a DAG, partial_fit needs all classes in the "
            f"first batch. Start again with hierarchy=, or with classes= in the first call."
        ) from None


def _declared(classes: Any, hierarchy: Hierarchy | None) -> Hierarchy:
    """The hierarchy of the announced classes; they must be in a known hierarchy if there is one."""
    if isinstance(classes, Hierarchy):
        if hierarchy is not None and not classes._same_classes(hierarchy):
            raise ValueError(
                "classes differs from the hierarchy of the model, which cannot change between "
                "batches. Leave classes out, or start again."
            )
        return classes if hierarchy is None else hierarchy
    return encode_sets([[name] for name in classes], hierarchy).hierarchy


def _begin(recipe: Recipe, hierarchy: Hierarchy, index: SetIndex) -> SetBatchModels:
    """A model that has not seen any rows."""
    policy: Any = ""
    if recipe.policy is not None:
        read = read_policy(recipe.policy, ends_early=_ends_early(index))
        policy = read.name if read in POLICIES.values() else recipe.policy.select
    layout = set_layout(recipe.strategy, hierarchy)
    nothing = np.zeros(hierarchy.n_nodes, dtype=np.intp)
    return SetBatchModels(
        recipe.strategy.name,
        hierarchy,
        {},
        layout.classes,
        nothing > 0,
        nothing[:0],
        everywhere=tuple(sorted(layout.everywhere)),
        policy=policy,
        given_policy="" if recipe.policy is None else recipe.policy.name,
        n_own=nothing,
        n_below=nothing,
    )


def _ends_early(index: SetIndex) -> bool:
    return bool(index.n_own[~index.hierarchy.is_leaf].any())


def _policy_of(models: SetBatchModels) -> Policy | None:
    return as_policy(models.policy) if models.policy else None


def _check_policy(models: SetBatchModels, recipe: Recipe, index: SetIndex) -> None:
    if recipe.policy is None:
        return
    if recipe.policy.name != models.given_policy:
        raise ValueError(
            f"binary_policy must not change after the first batch; it was {models.given_policy!r} "
            f"and is {recipe.policy.name!r} now. Clone the model to start again."
        )
    read = _policy_of(models)
    inner = ~models.hierarchy.is_leaf
    if (
        read is not None
        and read.name != recipe.policy.name
        and _ends_early(index)
        and not models.n_own[inner].any()
    ):
        warn_user(
            f"Rows end at inner nodes for the first time. The first batch had no such rows, so "
            f"binary_policy={recipe.policy.name!r} has been read as {read.name!r} from the "
            f"beginning and remains so. To apply the policy literally, start again with a batch in "
            f"which rows end at inner nodes."
        )


def _update(recipe: Recipe, models: SetBatchModels, index: SetIndex, X: Any) -> SetBatchModels:
    """Update the classifiers that have rows in the batch."""
    hierarchy, policy = models.hierarchy, _policy_of(models)
    make: list[Any] = []  # created when needed, because it may draw a random number

    def learner(problem: LocalProblem) -> _Learner:
        known = (models.gates if problem.gate else models.classifiers).get(problem.owner)
        if known is not None:
            return _Learner(known)
        if not make:
            make.append(recipe.factory(hierarchy, None, True))
        estimator = check_has_proba(make[0](problem))
        if not hasattr(estimator, "partial_fit"):
            raise ValueError(
                f"{recipe.owner} has no partial_fit because its local classifier, "
                f"{type(estimator).__name__}, has none. Use one that learns from batches, or call "
                f"fit with all rows."
            )
        return _Learner(ColumnLearners(estimator))

    layout = SetLayout(models.classes, frozenset(models.everywhere))
    problems = list(batch_of_sets(recipe.strategy, policy, layout, index))
    learned = fit_problems(
        problems,
        len(problems),
        X,
        learner,
        partial(recipe.describe, hierarchy),
        recipe.fit_params,
        replace(recipe.settings, title="Learning a batch"),
    )
    classifiers, gates = (
        dict(sorted({**old, **{owner: new.learners for owner, new in fitted.items()}}.items()))
        for old, fitted in zip((models.classifiers, models.gates), learned, strict=True)
    )
    n_own, n_below = models.n_own + index.n_own, models.n_below + index.n_below
    inside = policy is not None and policy.inside_parent
    return replace(
        models,
        classifiers=classifiers,
        gates=gates,
        populated=n_below > 0,
        ends=1 + np.flatnonzero(n_own[1:]),
        inside_parent=inside,
        of_final=policy is not None and policy.own and not inside,
        n_own=n_own,
        n_below=n_below,
    )
