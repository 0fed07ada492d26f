"""Going on with a network: what has to be remembered for that, and what must not have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hiclass._targets.paths import as_hierarchy
from hiclass.torch._fit import Trained

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

#: What decides about the outputs and layers of a network.
_OF_THE_NETWORK = (
    "loss",
    "hidden_layers",
    "embedding_dim",
    "recursive",
    "standardize",
    "leaf_only",
    "multi_label",
)


def beginning(estimator: Classifier, trained: Trained) -> dict[str, Any]:
    """Plain data about how a network has begun, for the batches to come."""
    params = {name: getattr(estimator, name) for name in _OF_THE_NETWORK}
    params["hidden_layers"] = tuple(params["hidden_layers"])
    counts = {"n_rows": trained.n_rows, "n_learned": trained.n_learned}
    return {**counts, "params": params, **trained.trainer.inputs.state()}


def check_same_network(estimator: Classifier) -> None:
    """Refuse parameters that the network in hand does not have: batches do not rebuild it."""
    past = vars(estimator).get("_past")
    if not past:  # nothing yet, or an old file
        return
    for name, before in past["params"].items():
        now = getattr(estimator, name)
        if (tuple(now) if name == "hidden_layers" else now) != before:
            raise ValueError(
                f"{name} is {now!r}, but was {before!r} when this network began, and batches do "
                f"not rebuild a network. Call fit, which starts again, or set {name}={before!r}."
            )
    if estimator.hierarchy is not None:
        hierarchy = as_hierarchy(estimator.hierarchy)
        if not hierarchy._same_classes(estimator.hierarchy_):
            raise ValueError(
                f"hierarchy is {hierarchy!r} now, but this network has the classes of "
                f"{estimator.hierarchy_!r}, and batches do not rebuild a network. Call fit, which "
                f"starts again, or set hierarchy back."
            )
