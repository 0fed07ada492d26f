"""Training a network further: what is stored for it, and what must not have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hiclass._targets.paths import as_hierarchy
from hiclass.torch._fit import Trained

if TYPE_CHECKING:
    from hiclass.torch._classifier import HierarchicalSoftmaxClassifier as Classifier

#: Parameters that determine the outputs and layers of a network.
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
    """Plain data about a network, for later batches."""
    params = {name: getattr(estimator, name) for name in _OF_THE_NETWORK}
    params["hidden_layers"] = tuple(params["hidden_layers"])
    counts = {"n_rows": trained.n_rows, "n_learned": trained.n_learned}
    found = {**counts, "params": params, **trained.trainer.inputs.state()}
    return found if trained.moments is None else {**found, "moments": vars(trained.moments)}


def check_same_network(estimator: Classifier) -> None:
    """Refuse parameters that differ from those of the existing network."""
    past = vars(estimator).get("_past")
    if not past:  # nothing yet, or an old file
        return
    for name, before in past["params"].items():
        now = getattr(estimator, name)
        if (tuple(now) if name == "hidden_layers" else now) != before:
            raise ValueError(
                f"{name} is {now!r}, but the network was created with {before!r}, and batches "
                f"cannot change it. Call fit to start again, or set {name}={before!r}."
            )
    if estimator.hierarchy is not None:
        hierarchy = as_hierarchy(estimator.hierarchy)
        if not hierarchy._same_classes(estimator.hierarchy_):
            raise ValueError(
                f"hierarchy is {hierarchy!r}, but the network has the classes of "
                f"{estimator.hierarchy_!r}, and batches cannot change them. Call fit to start "
                f"again, or restore the hierarchy."
            )
