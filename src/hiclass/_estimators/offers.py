"""Conditions under which a model has a method; an error states why it does not."""

from __future__ import annotations

from typing import Any


def has_proba(model: Any) -> None:
    """Raise an error that states why there are no probabilities, before and after fit."""
    models = model.__dict__.get("_models")
    if not (models.has_proba if models is not None else model._promises_proba()):
        raise AttributeError(
            f"{type(model).__name__} has no probabilities because its local classifier has no "
            f"predict_proba. {model._how_to_get_proba}"
        )


def has_paths(model: Any) -> None:
    """Raise an error that states why there is no path or no probability, before and after fit."""
    if model._is_about_sets():
        raise AttributeError(
            f"This {type(model).__name__} predicts sets of classes, which have no paths and no "
            f"columns per level. Use predict_node_proba, which has a column per class, or "
            f"predict_paths, which ranks the classes."
        )
    has_proba(model)


def adapts(model: Any) -> None:
    """Raise an error that states why class shares do not apply, before and after fit."""
    if model._is_about_sets():
        raise AttributeError(
            f"This {type(model).__name__} predicts sets of classes, whose shares need not sum to "
            f"one. To predict classes more or less often, change the threshold: threshold=0.3, or "
            f"threshold='tuned' for one per class."
        )
    has_proba(model)


def require_paths(model: Any, name: str) -> None:
    """Reject models of sets of classes, for functions that require one path per row."""
    if model._is_about_sets():
        raise ValueError(
            f"{name} requires one path per row in a tree, but this {type(model).__name__} predicts "
            f"sets of classes (multi_label=True, or a DAG). For those, use predict_paths, which "
            f"ranks labels, threshold=('precision', 0.9), or ConformalClassifier(model, "
            f"kind='false_discoveries')."
        )
