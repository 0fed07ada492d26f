"""Models that learn from batches of rows: which models support it, and the first batch."""

from __future__ import annotations

from typing import Any

from hiclass._automatic.choice import settings_of
from hiclass._automatic.proposals import EFFORTS
from hiclass._estimators.local import LocalClassifierPerParentNode
from hiclass._estimators.streams import check_learns


def learns_batches(model: Any) -> None:
    """Raise an error that states why a model cannot learn batches of rows."""
    given = model._given
    if given is None or not hasattr(given.typical, "partial_fit"):
        raise AttributeError(
            "HierarchicalClassifier requires a local_classifier with partial_fit to learn from "
            f"batches, such as SGDClassifier(loss='log_loss'); got {model.local_classifier!r}."
        )


def check_learns_more(owner: Any) -> None:
    """Reject a batch if ``fit`` has chosen a model that cannot learn it."""
    check_learns(owner)
    model = owner.model_
    if not isinstance(model, LocalClassifierPerParentNode) or model.calibration is not None:
        raise ValueError(
            f"fit has chosen a model that cannot learn more rows "
            f"({owner.choices_['model']}). Call fit with all rows, start with partial_fit, or "
            f"use effort='quick'."
        )


def batch_model(owner: Any) -> Any:
    """The model of the first batch."""
    common = settings_of(owner, EFFORTS["quick"]).common | {"threshold": owner._threshold}
    return LocalClassifierPerParentNode(
        owner.local_classifier, hierarchy=owner.hierarchy, multi_label=owner.multi_label, **common
    )
