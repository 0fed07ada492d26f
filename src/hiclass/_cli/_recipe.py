"""The models of ``--model``: the automatic one and the single models."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from hiclass._automatic.classifier import HierarchicalClassifier
from hiclass._cli._errors import CommandError
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.local import (
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)

MODELS = {
    "auto": "compares a flat model, one per parent node and both, and explains the choice",
    "parent": "one classifier per inner node; the fastest, good with many classes",
    "node": "one binary classifier per class",
    "level": "one classifier per level",
    "flat": "one classifier over all leaves; the baseline",
    "batches": "one binary classifier per class, which --update can extend with more rows",
}
DEFAULT_MODEL = "auto"
OPTIMIZE = {
    "path": "exact match of whole paths",
    "f1": "the hierarchical F-score; uncertain paths stop early",
}
EFFORTS = {
    "quick": "one model by fixed rules",
    "balanced": "compares a few models",
    "best": "compares more models",
}
_SINGLE: dict[str, Any] = {
    "parent": LocalClassifierPerParentNode,
    "node": LocalClassifierPerNode,
    "level": LocalClassifierPerLevel,
    "flat": FlatClassifier,
}


def make_model(
    name: str,
    *,
    optimize: str | None = None,
    effort: str | None = None,
    n_jobs: int | None = None,
    min_confidence: Any = 0.0,
    random_state: int = 0,
    verbose: int = 0,
) -> Any:
    """Create a model for ``--model``.

    Parameters
    ----------
    name : str
        A key of ``MODELS``.
    optimize, effort : str or None, default=None
        Keys of ``OPTIMIZE`` and ``EFFORTS``, for ``"auto"`` only; None is what that does by itself.
    n_jobs, min_confidence, random_state, verbose
        As in the estimators.

    Returns
    -------
    estimator
        A hierarchical classifier with calibrated probabilities.

    Raises
    ------
    CommandError
        If a single model gets what only ``"auto"`` takes.
    """
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    if name != "auto":
        _refuse_choices(name, optimize, effort)
        if name == "batches":
            local = SGDClassifier(loss="log_loss", random_state=random_state)
            return LocalClassifierPerNode(local, min_confidence=min_confidence, **common)
        common["calibration"] = "temperature"
        return _SINGLE[name](_linear_svc(), min_confidence=min_confidence, **common)
    return HierarchicalClassifier(
        optimize=optimize,
        effort=effort or "balanced",
        min_confidence=min_confidence,
        **common,
    )


def make_set_model(
    name: str,
    *,
    optimize: str | None = None,
    effort: str | None = None,
    threshold: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Any:
    """Create a model for ``--model``, for several labels per row.

    Parameters
    ----------
    name : str
        A key of ``MODELS``.
    optimize, effort : str or None, default=None
        Keys of ``OPTIMIZE`` and ``EFFORTS``, for ``"auto"`` only; None is what that does by itself.
    threshold : float, str, tuple or None, default=None
        How classes are selected, as in the estimators; None: by a threshold per class, tuned out of
        fold, but for "auto" with the effort "quick".
    n_jobs, random_state, verbose
        As in the estimators.

    Returns
    -------
    estimator
        A hierarchical classifier that predicts sets of classes.

    Raises
    ------
    CommandError
        If the model cannot do that, or gets what another one takes.
    """
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    common["multi_label"] = True
    if name == "auto":
        if optimize == "path":
            raise CommandError(
                "--optimize path needs one path per row, but here a row has several labels. Use "
                "--optimize f1, or leave it out."
            )
        return HierarchicalClassifier(
            optimize=optimize, effort=effort or "balanced", threshold=threshold, **common
        )
    _refuse_choices(name, optimize, effort)
    if name == "batches":
        raise CommandError(
            "--model batches needs one path per row, but here a row has several labels. Use auto, "
            "parent, node, level or flat."
        )
    local = LogisticRegression(max_iter=1000)
    return _SINGLE[name](local, threshold="tuned" if threshold is None else threshold, **common)


def _refuse_choices(name: str, optimize: str | None, effort: str | None) -> None:
    """Reject options that only ``"auto"`` supports."""
    for option, value in (("--optimize", optimize), ("--effort", effort)):
        if value is not None:
            raise CommandError(
                f"{option} {value} is for --model auto; --model {name} is a fixed model. Leave one "
                f"of the two out."
            )


def make_baseline(*, n_jobs: int | None = None) -> FlatClassifier:
    """Create the baseline: the same classifier over all leaves, without calibration."""
    return FlatClassifier(_linear_svc(), n_jobs=n_jobs, random_state=0)


def _linear_svc() -> LinearSVC:
    # A looser tolerance does not change the scores and takes half the time.
    return LinearSVC(tol=0.01, max_iter=5000)


def set_jobs(model: Any, n_jobs: int | None, verbose: int = 0) -> None:
    """Set the number of jobs, and whether progress is shown, for a model and its parts."""
    names = model.get_params()
    values = {"n_jobs": n_jobs, "verbose": verbose}
    model.set_params(
        **{
            name: values[name.rpartition("__")[2]]
            for name in names
            # Those of the hierarchical models, not of their local classifiers.
            if name.rpartition("__")[2] in values and "local_classifier" not in name
        }
    )
    # The fitted models are clones, which parameters do not reach.
    for member in (
        *getattr(model, "named_models_", {}).values(),
        *([model.model_] if hasattr(model, "model_") else []),
    ):
        set_jobs(member, n_jobs, verbose)
