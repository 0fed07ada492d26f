"""The inside of fitted models, for `make_report` and `explain`.

A model may be inside a pipeline or a search, and may consist of several models, and so may its
local classifiers. This module unwraps all of them, down to what can be shown of a local classifier:
the weights of a linear one, the importances of a forest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.svm import SVC, NuSVC

from hiclass._engine.packed import widened
from hiclass._estimators.class_text import ClassTextClassifier
from hiclass._inference.paths import unrestricted
from hiclass._problems.strategies import STRATEGIES, Strategy
from hiclass._state import LocalModels, Packed
from hiclass._typing import FloatArray, IntArray
from hiclass._wrapping import Unwrapped, unwrap, unwrap_fitted


@dataclass(frozen=True)
class OpenModel(Unwrapped):
    """A hierarchical classifier, taken out of its pipeline or search.

    Attributes
    ----------
    names : list of str or None
        Names of the features that the classifier sees; None if they are unknown.
    name : str
        Its name in an ensemble, "outer / inner" in a nested ensemble; empty for a single model.
    """

    names: list[str] | None = None
    name: str = ""


def open_model(model: Any, feature_names: Any = None, *, of_sets: bool = False) -> OpenModel:
    """Unwrap a fitted model, and name its features.

    Parameters
    ----------
    model : estimator
        A hierarchical classifier, or a pipeline or search that ends in one.
    feature_names : sequence of str, default=None
        Names of the features that the classifier sees, where it cannot know them.
    of_sets : bool, default=False
        Whether a model that predicts sets of classes will do.

    Returns
    -------
    OpenModel
    """
    opened = unwrap_fitted(model)
    inner = opened.model
    if not of_sets and predicts_sets(inner):
        raise ValueError(
            f"This {type(inner).__name__} was fitted on a DAG or on several labels per row, but "
            f"one path per row in a tree is required here. For sets of classes, use make_report "
            f"and explain."
        )
    names = opened.names_out(None)
    if names is None and hasattr(inner, "feature_names_in_"):
        names = [str(name) for name in inner.feature_names_in_]
    if feature_names is not None:
        names = _check_names(feature_names, getattr(inner, "n_features_in_", None))
    return OpenModel(inner, opened.before, names=names)


def predicts_sets(model: Any) -> bool:
    """Whether a fitted model predicts sets of classes: several labels, or several parents."""
    return not model.hierarchy_.is_tree or bool(getattr(model, "multi_label", False))


def _check_names(feature_names: Any, n_features: int | None) -> list[str]:
    if isinstance(feature_names, str) or not hasattr(feature_names, "__len__"):
        raise TypeError(f"feature_names must be a list of names; got {feature_names!r}.")
    names = [str(name) for name in feature_names]
    if n_features is not None and len(names) != n_features:
        raise ValueError(
            f"feature_names has {len(names)} names, but the classifier has {n_features} features. "
            f"In a pipeline, name the outputs of the last transformer."
        )
    return names


def local_models(model: Any, name: str = "", *, words: bool = False) -> Iterator[OpenModel]:
    """Yield the models with local classifiers that a fitted model consists of.

    With ``words``, also the class-text models.
    """
    if hasattr(model, "named_models_"):
        for key, member in model.named_models_.items():
            yield from local_models(member, f"{name} / {key}" if name else key, words=words)
    elif hasattr(model, "model_") and hasattr(model, "threshold_"):
        opened = unwrap(model.model_)
        for member in local_models(opened.model, name, words=words):
            yield replace(member, before=opened.before + member.before)
    elif hasattr(model, "local_classes_") or (words and isinstance(model, ClassTextClassifier)):
        yield OpenModel(model, [], name=name)


def fitted_state(model: Any) -> tuple[LocalModels, Strategy]:
    """The fitted state of a model with all of its classes, and its strategy."""
    models = unrestricted(model._models)
    return models, STRATEGIES[models.strategy]


@dataclass(frozen=True)
class OpenEstimator(Unwrapped):
    """A fitted local classifier, taken out of its pipeline or search.

    Attributes
    ----------
    weights : ndarray of shape (n_classes, n_features) or None
        The weights of linear scores; None for other classifiers. With two classes, each gets half
        of the weights of the decision function, with opposite signs, so that the difference of
        scores decides here, too.
    intercepts : ndarray of shape (n_classes,)
        The intercepts of the scores; zeros without weights.
    importances : ndarray of shape (n_features,) or None
        The feature importances of a forest or another ensemble of trees.
    """

    weights: FloatArray | None = None
    intercepts: FloatArray = field(default_factory=lambda: np.zeros(0))
    importances: FloatArray | None = None

    @property
    def kind(self) -> str:
        """What is available: "linear", "forest" or "other"."""
        if self.weights is not None:
            return "linear"
        return "other" if self.importances is None else "forest"

    def names(self, names: list[str] | None) -> list[str]:
        """Names of the features that the classifier sees, given those of the rows."""
        names = self.names_out(names)
        shown = self.weights if self.weights is not None else self.importances
        n_features = 0 if shown is None else shown.shape[-1]
        if names is None or len(names) != n_features:
            return [f"x{j}" for j in range(n_features)]
        return names


def open_estimator(estimator: Any, n_classes: int) -> OpenEstimator:
    """Unwrap a fitted local classifier, and find its weights or importances."""
    # Not the copy that users may have changed.
    opened = unwrap(widened(estimator) if isinstance(estimator, Packed) else estimator)
    weights, intercepts = _linear(opened.model, n_classes)
    classes = getattr(opened.model, "classes_", None)
    if weights is not None and isinstance(classes, np.ndarray) and classes.shape == (n_classes,):
        order = np.argsort(classes)
        if (order[1:] < order[:-1]).any():  # rows need not be in the order of the classes
            weights, intercepts = weights[order], intercepts[order]
    importances = getattr(opened.model, "feature_importances_", None)
    if importances is not None:
        importances = np.asarray(importances, dtype=np.float64)
    return OpenEstimator(
        opened.model,
        opened.before,
        weights=weights,
        intercepts=intercepts,
        importances=importances,
    )


def _linear(estimator: Any, n_classes: int) -> tuple[FloatArray | None, FloatArray]:
    """Weights (None if not linear) and intercepts of a classifier, one row per class."""
    none = np.zeros(n_classes)
    if isinstance(estimator, MultinomialNB):
        return estimator.feature_log_prob_, estimator.class_log_prior_
    if isinstance(estimator, ComplementNB):
        return estimator.feature_log_prob_, none
    weights = getattr(estimator, "coef_", None)
    if weights is None or (isinstance(estimator, SVC | NuSVC) and n_classes > 2):
        return None, none  # not linear, or one row per pair of classes
    weights = weights.toarray() if sp.issparse(weights) else np.asarray(weights, dtype=np.float64)
    weights = np.atleast_2d(weights)
    intercepts = np.ravel(np.asarray(getattr(estimator, "intercept_", 0.0), dtype=np.float64))
    if n_classes == 2 and len(weights) == 1:
        return np.vstack([-weights, weights]) / 2, np.append(-intercepts, intercepts) / 2
    if len(weights) != n_classes:
        return None, none
    return weights, np.broadcast_to(intercepts, n_classes)


def strongest(values: FloatArray, n: int) -> IntArray:
    """Positions of the n values with the largest absolute value, largest first.

    Zeros, and values below a hundredth of the largest, are omitted.
    """
    size = np.abs(values)
    n = min(n, len(size))
    found = np.argpartition(-size, n - 1)[:n] if 0 < n < len(size) else np.arange(len(size))[:n]
    found = found[np.lexsort([found, -size[found]])]
    return found[size[found] > 0.01 * size[found[:1]].sum()]


def label_text(labels: Sequence[Any]) -> str:
    """A path as text."""
    return " > ".join(map(str, labels)) if len(labels) else "(no class)"
