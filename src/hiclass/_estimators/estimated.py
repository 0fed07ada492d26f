"""``temperature="estimated"``: the models that support it, and what ``fit`` does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hiclass._engine.packed import smaller
from hiclass._out_of_fold.leave_one_out import estimate_temperature, why_not
from hiclass._state import LocalModels
from hiclass._typing import IntArray


def check_estimated(model: Any) -> None:
    """Reject, before any work, a model whose temperature cannot be estimated."""
    strategy = model._strategy
    if strategy.is_binary or (strategy.shared and not strategy.is_direct):
        raise ValueError(
            f"temperature='estimated' is for LocalClassifierPerParentNode and FlatClassifier. "
            f"Leave it out: {type(model).__name__} then learns it from out-of-fold fits."
        )
    if model.calibration != "joint":
        raise ValueError(
            f"temperature='estimated' is for calibration='joint', not for "
            f"calibration={model.calibration!r}. Leave it out: it is then learned from "
            f"out-of-fold fits."
        )
    for estimator in model._prototype().by_depth():
        _check_estimable(estimator)


def _check_estimable(estimator: Any) -> None:
    reason = why_not(estimator)
    if reason is not None:
        raise ValueError(
            f"temperature='estimated' is for linear support vector machines with the squared "
            f"hinge loss, solved with tol=0.1 or less, but {reason}. Leave temperature out: it is "
            f"then learned from out-of-fold fits."
        )


def refuse_groups(groups: Any) -> None:
    """Reject groups, because rows of a group are not independent."""
    if groups is not None:
        raise ValueError(
            "temperature='estimated' leaves out single rows, not whole groups, and cannot be "
            "combined with groups. Leave temperature out: it is then learned from folds of whole "
            "groups."
        )


def estimate(
    model: Any, models: LocalModels, X: Any, nodes: IntArray, weights: Any
) -> tuple[LocalModels, dict[str, Any]]:
    """Learn a temperature and an F-score from leave-one-out margins; drop small weights."""
    for classifier in models.classifiers.values():  # a callable may have returned any classifier
        _check_estimable(getattr(classifier, "estimator", classifier))
    temperature, f = estimate_temperature(models, X, nodes, weights, model.leaf_only)
    models = replace(models, temperature=temperature)
    if smallest := float(model.min_coef):
        for owner, classifier in models.classifiers.items():
            models.classifiers[owner] = smaller(classifier, X, smallest)
    return models, {"expected_f1": f}
