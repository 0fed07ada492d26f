"""Fitting local classifiers: the parameters, the children, and where their rows come from.

A subclass says which local problems there are and what they are called. ``fit`` reads as a story:
check, encode, work out the problems, fit them, and, if asked for, learn from out-of-fold answers.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from hiclass._compat import (
    UNUSED,
    Interval,
    MetadataRouter,
    MethodMapping,
    StrOptions,
    process_routing,
    routing_enabled,
)
from hiclass._engine.class_weights import Weights, read_class_weights, set_class_weights
from hiclass._engine.fit import FitSettings, fit_problems
from hiclass._engine.local_classifiers import (
    check_accepts_weights,
    check_local_classifier,
    copy_estimator,
    estimator_tags,
    may_name_classes,
    set_random_state,
)
from hiclass._estimators.base import BaseHierarchicalClassifier
from hiclass._estimators.decision import check_parameters
from hiclass._estimators.set_fitting import fit_set_models
from hiclass._inference.evidence import check_scores
from hiclass._labels.columns import plain
from hiclass._out_of_fold.temperatures import fit_out_of_fold
from hiclass._out_of_fold.thresholds import tune_thresholds
from hiclass._problems.index import BatchIndex, LocalProblem, TreeIndex, find_options
from hiclass._problems.policies import Policy, as_policy
from hiclass._problems.strategies import Strategy
from hiclass._rows import as_weights, check_X, n_rows_of
from hiclass._state import LocalModels, Options, RestrictedModels, SetModels
from hiclass._targets.paths import Target, check_n_labels
from hiclass._targets.sets import SetTarget
from hiclass._typing import IntArray
from hiclass.hierarchy import Hierarchy


class BaseLocalClassifier(BaseHierarchicalClassifier):
    """Base of the classifiers that fit one child per local problem; not for direct use."""

    _strategy: ClassVar[Strategy]
    #: The parameter that holds the child, and what it may be.
    _estimator_parameter: ClassVar[str] = "local_classifier"
    _estimator_kinds: ClassVar[str] = (
        "a classifier with fit and predict_proba, or a callable that takes the path of a node and "
        "returns one"
    )
    #: What it is by default, as a user writes it.
    _default_name: ClassVar[str] = "LogisticRegression()"
    #: The methods of the local classifiers that are handed metadata by methods of the same name.
    _routed_methods: ClassVar[tuple[str, ...]] = ("fit",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseHierarchicalClassifier._parameter_constraints,
        "local_classifier": "no_validation",
        "hierarchy": "no_validation",
        "multi_label": ["boolean"],
        "threshold": [Interval(Real, 0, 1, closed="right"), StrOptions({"tuned"})],
        "leaf_only": ["boolean"],
        "calibration": [StrOptions({"temperature", "joint"}), None],
        "temperature": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "checkpoint_dir": [str, PathLike, None],
        "verbose": ["verbose"],
    }
    # fit hands sample weights on to the local classifiers and makes no other use of them.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    local_classifier: Any
    hierarchy: Any
    calibration: str | None
    temperature: float | None = None  # also of models that were saved before there was one
    n_jobs: int | None
    checkpoint_dir: Any
    verbose: int
    random_state: Any

    # -- what a subclass says ------------------------------------------------------------------

    def _owner_name(self, problem: LocalProblem, hierarchy: Hierarchy) -> str:
        """What messages call the classifier of a problem."""
        name = self._strategy.describe(hierarchy, problem.owner)
        return f"stopping at {name}" if problem.gate else name

    def _policy(self) -> Policy | None:
        """Which rows train a binary classifier; None where classifiers are not binary."""
        return as_policy(self.binary_policy) if self._strategy.is_binary else None

    # -- parameters ----------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Any:
        """Set parameters of this estimator and, behind ``__``, of its local classifier.

        Parameters
        ----------
        **params : dict
            Parameters by name, as ``get_params`` lists them.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If there is no such parameter, or if the local classifier has none.
        """
        name = self._estimator_parameter
        child = params.get(name, getattr(self, name))
        inner = next((key for key in params if key.startswith(f"{name}__")), None)
        if inner is not None and not hasattr(child, "set_params"):
            default = self._default_name
            meaning = f", which stands for {default}," if child is None else ""
            raise ValueError(
                f"{inner!r} cannot be set, because {name}={child!r}{meaning} has no parameters. "
                f"Give the estimator whose parameters are meant, for example "
                f"{type(self).__name__}({default})."
            )
        return super().set_params(**params)

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Fit one local classifier per local problem.

        Parameters
        ----------
        X : {array-like, sparse matrix, frame, list} of n_samples rows
            Whatever the local classifier takes. Rows are sliced and otherwise passed through.
        y : array-like of shape (n_samples,) or (n_samples, n_levels), frame or list of lists
            One label per row, or one path per row from the top of the hierarchy down. Labels may be
            missing at the end of a path, written as ``""``, ``None``, ``NaN``, ``pandas.NA`` or by
            a shorter list.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, handed to every local classifier by keyword; in a pipeline, or a
            search over one, to its last step.
        **fit_params : dict
            More keyword arguments for the ``fit`` of every local classifier; what has one entry per
            row is sliced. With metadata routing enabled, what the local classifier requested.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._forget()
        try:
            self._fit(X, y, sample_weight, fit_params)
        except BaseException:
            self._forget()
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> None:
        self._check_parameters()
        X = check_X(self, X, self._input_tags(), reset=True)
        target = self._encode(y)
        check_n_labels(target.n_rows, n_rows_of(X))
        params = self._params_of_estimators(X, sample_weight, fit_params)
        if target.of_sets:
            self._fit_sets(X, target, params)
            return
        models = self._fit_models(X, target, params)
        f = None
        learns = self.calibration is not None and self.temperature is None
        if learns or self._learns_f:
            temperature, f = fit_out_of_fold(
                lambda rows: self._fit_fold(X, target, params, rows),
                X,
                target.nodes,
                target.hierarchy,
                params.get("sample_weight"),
                calibrate=learns,
                leaf_only=self.leaf_only,
            )
            if learns:
                models = replace(models, temperature=temperature)
        self._remember(models, target.format, f)

    def _fit_sets(self, X: Any, target: SetTarget, params: dict[str, Any]) -> None:
        """Fit a model whose predictions are sets of nodes."""
        if not self._is_factory():
            self._check_has_proba(self._child())
        models = self._fit_set_models(X, target, params)
        if self.threshold == "tuned":
            self.thresholds_ = tune_thresholds(
                lambda rows: self._fit_set_models(X, target, params, rows),
                X,
                target,
                params.get("sample_weight"),
            )
        self._remember_sets(models, target.format)

    def _fit_set_models(
        self, X: Any, target: SetTarget, params: dict[str, Any], rows: IntArray | None = None
    ) -> SetModels:
        make = self._estimator_factory(target.hierarchy)

        def make_with_proba(problem: LocalProblem) -> Any:
            return self._check_has_proba(make(problem))

        with warnings.catch_warnings():
            if rows is not None:  # said once, by the fit on all rows
                warnings.filterwarnings("ignore", message="No training row ends at an inner node")
            return fit_set_models(
                self._strategy,
                self._policy(),
                X,
                target,
                make_with_proba,
                lambda problem: self._owner_name(problem, target.hierarchy),
                params,
                self._settings("Fitting" if rows is None else "Fitting a fold"),
                rows,
            )

    def _check_has_proba(self, child: Any) -> Any:
        """Refuse a child without probabilities, which sets of classes are cut out of."""
        if not hasattr(child, "predict_proba"):
            name = type(child).__name__
            raise ValueError(
                f"A set of classes is cut out of probabilities, but {name} has no predict_proba. "
                f"Wrap it: sklearn.calibration.CalibratedClassifierCV({name}())."
            )
        return child

    def _settings(self, title: str) -> FitSettings:
        directory = None if self.checkpoint_dir is None else str(self.checkpoint_dir)
        return FitSettings(self.n_jobs, directory, self.verbose, title)

    def _fit_models(
        self, X: Any, target: Target, params: dict[str, Any], rows: IntArray | None = None
    ) -> LocalModels:
        """Fit the classifiers of the whole tree, on some of the rows."""
        nodes = target.nodes if rows is None else target.nodes[rows]
        index = TreeIndex(target.hierarchy, nodes)
        options = find_options(index, leaf_only=self.leaf_only)
        problems = self._strategy.problems(index, options, self._policy())
        if rows is not None:
            problems = (replace(p, rows=rows if p.rows is None else rows[p.rows]) for p in problems)
        classifiers, gates = fit_problems(
            problems,
            self._strategy.count(options, target.hierarchy),
            X,
            self._estimator_factory(target.hierarchy, options if rows is None else None),
            lambda problem: self._owner_name(problem, target.hierarchy),
            params,
            self._settings("Fitting" if rows is None else "Fitting a fold"),
        )
        soft = all(hasattr(c, "predict_proba") for c in (*classifiers.values(), *gates.values()))
        models = LocalModels(
            self._strategy.name,
            target.hierarchy,
            options,
            classifiers,
            gates,
            soft,
            temperature=None if self.temperature is None else float(self.temperature),
            joint=self.calibration == "joint",
            is_direct=self._strategy.is_direct or self.calibration == "joint",
            n_own=index.n_own,
        )
        if rows is None:  # those of a fold are of the same kind
            self._check_scores(models, index, X)
        return models

    def _check_scores(self, models: LocalModels, index: BatchIndex, X: Any) -> None:
        """Refuse local classifiers whose scores are needed and are not one per class."""
        chosen = self._strategy.takes_choices and models.layout is None
        if self.calibration is None and (models.soft or self._strategy.is_binary or chosen):
            return
        for owner, estimator in models.classifiers.items():
            joint = self.calibration == "joint" and hasattr(estimator, "predict_proba")
            if joint or not hasattr(estimator, "decision_function"):
                continue
            classes = self._strategy.classes(owner, models.known, models.hierarchy)
            find_rows = partial(_rows_of_classes, index, classes)
            try:
                check_scores(estimator, len(classes), X, find_rows)
            except ValueError as error:
                problem = LocalProblem(owner, None, classes, classes)
                error.add_note(f"in {self._owner_name(problem, models.hierarchy)}")
                raise

    def _fit_fold(
        self, X: Any, target: Target, params: dict[str, Any], rows: IntArray
    ) -> LocalModels:
        with warnings.catch_warnings():
            # Said once, by the fit on all rows.
            warnings.filterwarnings("ignore", message="No training row ends at an inner node")
            try:
                return self._fit_models(X, target, params, rows)
            except Exception as error:
                error.add_note("while fitting a fold to learn from out-of-fold answers")
                raise

    def _check_parameters(self) -> None:
        check_parameters(self, tuple(self._parameter_constraints))
        self._check_decision_parameters()
        if self.temperature is not None and self.calibration is None:
            raise ValueError(
                f"temperature={self.temperature!r} is for calibrated models. Set "
                f"calibration='temperature', too, or leave it out."
            )
        if not self._is_factory():
            child = check_local_classifier(
                self._child(), self._estimator_parameter, self._estimator_kinds
            )
            self._check_capability(child)

    def _check_capability(self, child: Any) -> None:
        """Refuse, before any work, a child that could not answer at predict time."""
        name = type(child).__name__
        if hasattr(child, "predict_proba"):
            return
        scored = hasattr(child, "decision_function")
        if self.calibration is not None and scored:
            return
        remedy = (
            f"Use {'calibration=' + repr('temperature') if scored else 'another classifier'}, or "
            f"wrap it: sklearn.calibration.CalibratedClassifierCV({name}())."
        )
        if self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration!r} needs predict_proba or decision_function; "
                f"{name} has neither. {remedy}"
            )
        wish = self._needs_probabilities(self._strategy.is_direct)
        if wish:
            raise ValueError(
                f"{wish} needs probabilities, but {name} has no predict_proba. {remedy}"
            )
        if not self._strategy.takes_choices and not scored:
            raise ValueError(
                f"{type(self).__name__} needs predict_proba or decision_function; {name} has "
                f"neither. {remedy}"
            )
        if not hasattr(child, "predict"):
            raise ValueError(f"{type(self).__name__} needs predict; {name} has no such method.")

    # -- children ------------------------------------------------------------------------------

    def _is_factory(self) -> bool:
        """Whether ``local_classifier`` is a callable that makes classifiers."""
        child = getattr(self, self._estimator_parameter)
        return callable(child) and not hasattr(child, "fit") and not isinstance(child, type)

    def _child(self) -> Any:
        # An unfitted forest has a length of 0, so "or" would replace it.
        if self.local_classifier is not None:
            return self.local_classifier
        child = LogisticRegression()
        return child.set_fit_request(sample_weight=True) if routing_enabled() else child

    def _promises_proba(self) -> bool:
        child = None if self._is_factory() else self._child()
        scored = self.calibration is not None and hasattr(child, "decision_function")
        return child is None or scored or hasattr(child, "predict_proba")

    def _input_tags(self) -> Any:
        return None if self._is_factory() else estimator_tags(self._child())

    def _estimator_factory(self, hierarchy: Hierarchy, options: Options | None = None) -> Any:
        """A function that makes the unfitted classifier of a local problem.

        With options, it warns of weights of classes that have no effect: once, not in every fold.
        """
        final = options.ends if options is not None and self._strategy.is_direct else None

        def weights_of(estimator: Any) -> Weights:
            if not may_name_classes(estimator):
                return {}
            return read_class_weights(estimator, hierarchy, final)

        seed = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
        shared = None if self._is_factory() else weights_of(self._child())

        def make(problem: LocalProblem) -> Any:
            if self._is_factory():
                key = self._strategy.key(hierarchy, problem.owner)
                name = f"local_classifier({key!r})"
                child = check_local_classifier(
                    self.local_classifier(key), name, self._estimator_kinds
                )
                self._check_capability(child)
            else:
                child = self._child()
            child = copy_estimator(child)
            weights = weights_of(child) if shared is None else shared
            if weights:
                set_class_weights(child, weights, problem, self._strategy, hierarchy)
            if seed is not None:
                # By name, not by position: a new class leaves the other classifiers as they are.
                name = f"{self._strategy.key(hierarchy, problem.owner)!r} {problem.gate}"
                set_random_state(child, zlib.crc32(name.encode(), seed) & 0x7FFFFFFF)
            return child

        return make

    def _params_of_estimators(
        self, X: Any, sample_weight: Any, fit_params: dict[str, Any], method: str = "fit"
    ) -> dict[str, Any]:
        """What a method of the local classifiers is given by keyword."""
        params = dict(fit_params)
        if sample_weight is not None:
            params["sample_weight"] = as_weights(sample_weight, X)
        if self._is_factory():
            return params
        if routing_enabled():
            routed = process_routing(self, method, **params)
            return dict(routed[self._estimator_parameter][method])
        for name in params:
            check_accepts_weights(self._child(), name, method)
        return params

    @property
    def local_classifiers_(self) -> LocalClassifiers:
        """The fitted local classifiers by path, label or level."""
        if "_models" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted yet.")
        return LocalClassifiers(self._models.classifiers, self._models.hierarchy)

    @property
    def local_classes_(self) -> dict[Any, IntArray]:
        """What the classes of every local classifier mean, by the keys of ``local_classifiers_``.

        Entry ``j`` is the node of ``hierarchy_`` that class ``j`` stands for. The node that a
        classifier belongs to (per level: any node of the level above) means "stop here"; -1, which
        only ``LocalClassifierPerNode`` has, means "not this node". A restricted model leaves out
        the classifiers that it never asks.
        """
        keys = list(self.local_classifiers_)
        models = self._models
        if models.of_sets:
            return {k: models.classes[v] for k, v in zip(keys, models.classifiers, strict=True)}
        while isinstance(models, RestrictedModels):
            models = models.base

        def classes(owner: int, options: Options) -> IntArray:
            return self._strategy.classes(owner, options, models.hierarchy)

        return {
            key: classes(owner, models.known)
            for key, owner in zip(keys, models.classifiers, strict=True)
            if len(classes(owner, models.options))
        }

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata the local classifier and ``score`` want.

        Returns
        -------
        MetadataRouter
            Encapsulates the routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if not self._is_factory():
            mapping = MethodMapping()
            for method in self._routed_methods:
                mapping.add(caller=method, callee=method)
            router.add(**{self._estimator_parameter: self._child()}, method_mapping=mapping)
        return router


def _rows_of_classes(index: BatchIndex, classes: IntArray) -> IntArray:
    """Rows of some nodes or below them, ascending."""
    return np.unique(np.concatenate([index.below(node) for node in classes.tolist()]))


class LocalClassifiers(Mapping[Any, Any]):
    """The local classifiers of a fitted model, looked up by path, label or level.

    Parameters
    ----------
    estimators : dict
        Fitted estimators by node number.
    hierarchy : Hierarchy
        The hierarchy, to find nodes.
    """

    def __init__(self, estimators: dict[int, Any], hierarchy: Hierarchy) -> None:
        self._estimators = estimators
        self._hierarchy = hierarchy

    def __getitem__(self, key: Any) -> Any:
        try:
            node = self._hierarchy.find(key)
        except ValueError as error:
            raise KeyError(str(error)) from None
        if node not in self._estimators:
            raise KeyError(
                f"{self._hierarchy.describe(node)} has no classifier: there was nothing to decide."
            )
        return self._estimators[node]

    def __iter__(self) -> Iterator[Any]:
        return (
            plain(self._hierarchy.labels[node])
            if self._hierarchy.identity == "label" and node
            else self._hierarchy.path(node)
            for node in self._estimators
        )

    def __len__(self) -> int:
        return len(self._estimators)

    def __repr__(self) -> str:
        return f"LocalClassifiers({len(self)} classifiers)"
