"""Models inside pipelines and searches: which model predicts, and what transforms X before it.

A ``Pipeline`` has only the methods of scikit-learn's own classifiers, a search even fewer. The
additional methods of hierarchical classifiers (confidences, paths, probabilities of nodes) are
reached by unwrapping, which happens only here.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from hiclass._compat import get_routing_for_object, routing_enabled
from hiclass.hierarchy import Hierarchy


@dataclass(frozen=True)
class Unwrapped:
    """An estimator, taken out of its pipeline or search.

    Attributes
    ----------
    model : estimator
        The estimator that finally predicts.
    before : list of transformers
        The transformers that X passes first.
    searched : bool
        Whether an unfitted search still has to choose the parameters.
    """

    model: Any
    before: list[Any]
    searched: bool = False

    def transform(self, X: Any) -> Any:
        """Rows as the model sees them."""
        for step in self.before:
            X = step.transform(X)
        return X

    def names_out(self, names: list[str] | None) -> list[str] | None:
        """Names of the features that the model sees, given those of X; None if a step has none."""
        for step in self.before:
            try:
                names = [str(name) for name in step.get_feature_names_out(names)]
            except (AttributeError, ValueError, TypeError):
                # Some steps have no such method, others reject the names of the preceding step.
                names = None
        return names


def unwrap(model: Any, *, through_choices: bool = True) -> Unwrapped:
    """Take an estimator, fitted or not, out of pipelines, searches and ``FrozenEstimator``.

    Parameters
    ----------
    model : object
        Anything; what is not wrapped is returned as it is.
    through_choices : bool, default=True
        Whether a fitted ``HierarchicalClassifier`` is opened as well: a copy of what it has chosen
        is found then, and not the estimator itself.

    Returns
    -------
    Unwrapped

    Raises
    ------
    ValueError
        If a search was fitted without fitting its best model.
    """
    before: list[Any] = []
    searched = False
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif steps := _steps(model):
            before += [step for _, step in steps[:-1] if _transforms(step)]
            model = steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif through_choices and _has_chosen(model):
            steps_before, model = model._opened()
            before += steps_before
        elif _is_search(model):
            if hasattr(model, "cv_results_"):
                raise ValueError(
                    f"This {type(model).__name__} was fitted with refit={model.refit!r}, so it has "
                    "no fitted model. Fit it with refit=True."
                )
            model, searched = model.estimator, True
        else:
            return Unwrapped(model, before, searched)


def _steps(model: Any) -> list[tuple[str, Any]]:
    """The steps of a pipeline; empty for anything else, and for a pipeline without steps."""
    steps = getattr(model, "steps", None) if isinstance(model, Pipeline) else None
    pairs = isinstance(steps, list) and all(isinstance(s, tuple) and len(s) == 2 for s in steps)
    return list(steps) if steps and pairs else []


def _transforms(step: Any) -> bool:
    """Whether a step of a pipeline changes the rows that are predicted.

    Samplers, as in pipelines of imbalanced-learn, change only training rows.
    """
    return not (step is None or isinstance(step, str) or hasattr(step, "fit_resample"))


def _has_chosen(model: Any) -> bool:
    """Whether an object is a fitted ``HierarchicalClassifier``, which has features and a model."""
    return hasattr(type(model), "_opened") and "model_" in vars(model)


def _is_search(model: Any) -> bool:
    """Whether an object is a search, by its parameters; searches have no common base class."""
    parameters = ("estimator", "refit", "error_score")
    return isinstance(model, BaseEstimator) and all(hasattr(model, p) for p in parameters)


def is_fitted_classifier(model: Any) -> bool:
    """Whether an object is a fitted hierarchical classifier without a wrapper.

    Parameters
    ----------
    model : object
        Anything, also what a file of unknown content holds.

    Returns
    -------
    bool
    """
    return _is_classifier(model) and isinstance(getattr(model, "hierarchy_", None), Hierarchy)


def _is_classifier(model: Any) -> bool:
    """Whether something is a hierarchical classifier, fitted or not."""
    return isinstance(model, BaseEstimator) and hasattr(type(model), "predict_paths")


def unwrap_fitted(model: Any) -> Unwrapped:
    """Take a fitted hierarchical classifier out of its wrapping.

    Parameters
    ----------
    model : estimator
        A fitted hierarchical classifier, or a pipeline or search that ends in one.

    Returns
    -------
    Unwrapped

    Raises
    ------
    TypeError
        If there is no hierarchical classifier inside.
    NotFittedError
        If there is one that is not fitted.
    """
    opened = unwrap(model)
    if is_fitted_classifier(opened.model):
        return opened
    if _is_classifier(opened.model):
        check_is_fitted(opened.model)
    raise TypeError(
        f"model must be a fitted hierarchical classifier, or a pipeline or search that ends in "
        f"one; got a {named(model)}."
    )


def named(model: Any) -> str:
    """The type of a model, and of the estimator inside, for messages."""
    inner = unwrap(model).model
    inside = "" if inner is model else f", which ends in a {type(inner).__name__}"
    return f"{type(model).__name__}{inside}"


def detached(model: Any) -> Any:
    """A copy of a fitted model and its wrapper that does not change when the original learns.

    The model itself is copied shallowly, because learning replaces its state. Transformers may
    change in place and are copied deeply.
    """
    if isinstance(model, FrozenEstimator):
        return detached(model.estimator)
    again = copy.copy(model)
    if steps := _steps(model):
        before, (name, last) = steps[:-1], steps[-1]
        again.steps = [*copy.deepcopy(before), (name, detached(last))]
    elif hasattr(model, "best_estimator_"):
        again.best_estimator_ = detached(model.best_estimator_)
    return again


def name_for_fit(model: Any, parameter: str) -> str:
    """The name under which ``fit`` of a wrapper accepts a parameter for the model inside.

    Parameters
    ----------
    model : estimator
        A model, or a pipeline or search that ends in one.
    parameter : str
        A parameter of the ``fit`` of the model.

    Returns
    -------
    str
        For a pipeline ``step__parameter``.
    """
    prefix = ""
    while True:
        if steps := _steps(model):
            name, model = steps[-1]
            prefix += f"{name}__"
        elif _is_search(model):
            model = model.estimator
        else:
            return prefix + parameter


def name_for_groups(model: Any) -> str | None:
    """The name under which ``fit`` of a model accepts the groups of rows; None if it does not.

    Parameters
    ----------
    model : estimator
        A model, or a pipeline that ends in one.

    Returns
    -------
    str or None
        For the last step of a pipeline ``step__groups``; with metadata routing enabled, ``groups``
        where anything inside has requested them.
    """
    # Estimators that only pass arguments on define to which one.
    model = getattr(model, "stands_for", model)
    if routing_enabled():
        return "groups" if get_routing_for_object(model).consumes("fit", {"groups"}) else None
    prefix = ""
    while steps := _steps(model):
        name, model = steps[-1]
        prefix += f"{name}__"
    return f"{prefix}groups" if _is_search(model) or _names_groups(model) else None


def _names_groups(model: Any) -> bool:
    """Whether ``fit`` has a parameter of that name."""
    try:
        return "groups" in inspect.signature(model.fit).parameters
    except (AttributeError, TypeError, ValueError):
        return False  # a builtin without a signature, or an invalid step
