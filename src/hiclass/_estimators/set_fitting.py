"""Fits the local problems of rows that are sets, with the engine of all other local problems.

A problem with several nodes is passed to the classifier unchanged if it supports several labels per
row. Otherwise, :class:`OneVsRest` fits one clone per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from hiclass._engine.class_weights import keep_columns
from hiclass._engine.fit import FitSettings, fit_problems
from hiclass._engine.local_classifiers import copy_estimator, estimator_tags, named_for_fit
from hiclass._engine.packed import Kind
from hiclass._inference.sets import column_proba
from hiclass._problems.index import LocalProblem, SetIndex
from hiclass._problems.policies import Policy
from hiclass._problems.strategies import Strategy
from hiclass._rows import protect, take_rows
from hiclass._state import SetModels
from hiclass._targets.sets import SetTarget
from hiclass._typing import IntArray
from hiclass._warnings import warn_user

#: With at least this many classes, forests of scikit-learn are slow.
_MANY_FOR_TREES = 1_000


class OneVsRest(ClassifierMixin, BaseEstimator):
    """One binary clone of a classifier per column of the target.

    Parameters
    ----------
    estimator : classifier
        The classifier to clone, with ``predict_proba``.

    Attributes
    ----------
    estimators_ : list
        The fitted copies, one per column.
    """

    #: All clones see the same columns.
    packing: ClassVar[Kind] = Kind(
        parts=lambda model: [model.estimator], fitted_parts=lambda model: model.estimators_
    )

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def stands_for(self) -> Any:
        """The estimator that arguments of ``fit`` are for."""
        return self.estimator

    def fit(self, X: Any, y: Any, **fit_params: Any) -> OneVsRest:
        """Fit a clone to every column of y, which holds 0 and 1."""
        self.estimators_ = []
        for j, column in enumerate(np.ascontiguousarray(y.T)):
            estimator = copy_estimator(self.estimator)
            keep_columns(estimator, [j], single=True)
            # A separate copy of the rows, because an estimator may modify them.
            estimator.fit(take_rows(X, None), column, **named_for_fit(estimator, fit_params))
            self.estimators_.append(estimator)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of 1 in every column."""
        return np.hstack([column_proba(e, protect(X), 1) for e in self.estimators_])


def takes_sets(estimator: Any) -> bool:
    """Whether a classifier supports several labels per row."""
    tags = estimator_tags(estimator)
    if tags is None:
        return False
    many = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(many or tags.target_tags.multi_output)


def _warn_of_slow_forest(estimator: Any, n_classes: int) -> None:
    """Warn of a forest that stores two numbers per class and node, and name an alternative."""
    # By name, because importing forests is expensive.
    kinds = {kind.__name__ for kind in type(estimator).__mro__}
    if n_classes < _MANY_FOR_TREES or "ForestClassifier" not in kinds:
        return
    name = type(estimator).__name__
    warn_user(
        f"{name} needs minutes and gigabytes for {n_classes:,} classes, because every node of its "
        f"trees stores two numbers per class. Use hiclass.MultiLabelForestClassifier, which is "
        f"fitted in seconds."
    )


def check_has_proba(estimator: Any, calibration: str | None = None) -> Any:
    """Reject an estimator without probabilities, by which sets of classes are selected.

    A calibration computes them from scores.
    """
    if hasattr(estimator, "predict_proba"):
        return estimator
    name, scored = type(estimator).__name__, hasattr(estimator, "decision_function")
    if calibration is None or not scored:
        remedy = "Use calibration='sigmoid', or wrap it" if scored else "Wrap it"
        raise ValueError(
            f"Sets of classes are selected by probability, but {name} has no predict_proba. "
            f"{remedy}: sklearn.calibration.CalibratedClassifierCV({name}())."
        )
    return estimator


def fit_set_problems(
    strategy: Strategy,
    policy: Policy | None,
    X: Any,
    target: SetTarget,
    make_estimator: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    fit_params: dict[str, Any],
    settings: FitSettings,
    rows: IntArray | None = None,
) -> SetModels:
    """Fit the classifiers of the whole hierarchy, on some of the rows.

    Parameters
    ----------
    strategy : Strategy
        The strategy, which defines the local problems.
    policy : Policy or None
        The policy of binary classifiers.
    X : rows
        All training rows.
    target : SetTarget
        Their sets of nodes.
    make_estimator, describe : callable
        Return the unfitted classifier, and the name, of a problem.
    fit_params : dict
        Keyword arguments for every ``fit``.
    settings : FitSettings
        The settings of the engine.
    rows : ndarray of int, default=None
        The rows to fit on; all by default.

    Returns
    -------
    SetModels
    """
    closed = target.closed if rows is None else target.closed[rows]
    own = target.own if rows is None else target.own[rows]
    index = SetIndex(target.hierarchy, closed, own)
    classes: dict[int, IntArray] = {}

    def problems() -> Iterator[LocalProblem]:
        for problem in strategy.set_problems(index, policy, rows is not None):
            if not problem.gate:
                classes[problem.owner] = problem.classes
            if rows is None:
                yield problem
            else:
                here = rows if problem.rows is None else rows[problem.rows]
                yield replace(problem, rows=here)

    def make(problem: LocalProblem) -> Any:
        estimator = make_estimator(problem)
        tags = estimator_tags(estimator)
        if problem.target.ndim == 1 and tags is not None and not tags.target_tags.single_output:
            raise ValueError(
                f"{type(estimator).__name__} supports only several labels per row, but "
                f"{describe(problem)} is a single binary problem. Pass the classifier inside it; "
                "one clone is then fitted per class."
            )
        several = problem.target.ndim == 2 and not takes_sets(estimator)
        if problem.target.ndim == 2:
            _warn_of_slow_forest(estimator, problem.target.shape[1])
        return OneVsRest(estimator) if several else estimator

    classifiers, gates = fit_problems(
        problems(), strategy.count_sets(index), X, make, describe, fit_params, settings
    )
    inner = ~target.hierarchy.is_leaf
    return SetModels(
        strategy.name,
        target.hierarchy,
        classifiers,
        classes,
        index.n_below > 0,
        1 + np.flatnonzero(index.n_own[1:]),
        inside_parent=policy is not None and policy.inside_parent,
        gates=gates,
        of_final=policy is not None
        and policy.own
        and not policy.inside_parent
        and bool(index.n_own[inner].any()),
    )
