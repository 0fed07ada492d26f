"""The objectives: the values of ``optimize``, and which of them are available."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.metrics import get_scorer


@dataclass(frozen=True)
class Objective:
    """An objective.

    Attributes
    ----------
    decodings : tuple of str
        The decodings to choose from.
    scorer : callable or None
        ``(estimator, X, y)`` to a number, the larger the better; None for the share of right paths
        with ``best_path`` and the hierarchical F-score with ``expected_f1``.
    measure : str
        The name of the score.
    """

    decodings: tuple[str, ...]
    scorer: Callable[[Any, Any, Any], float] | None = None
    measure: str = "score"


OBJECTIVES = {
    None: Objective(("best_path",), measure="exact match"),
    "path": Objective(("best_path",), measure="exact match"),
    "f1": Objective(("expected_f1",), measure="hierarchical F1"),
}


def is_named(optimize: Any) -> bool:
    """Whether a value is one of our own objectives and not a scorer."""
    return (optimize is None or isinstance(optimize, str)) and optimize in OBJECTIVES


def find_objective(optimize: Any, effort: str) -> Objective:
    """Return the objective; raise an error if it is not available."""
    if is_named(optimize):
        return OBJECTIVES[optimize]
    if effort == "quick":
        raise ValueError(
            "effort='quick' compares nothing, so a scorer cannot be used. Use effort='balanced', "
            "or optimize='path' or 'f1'."
        )
    return Objective(("best_path", "expected_f1"), get_scorer(optimize))


def check_optimize(optimize: Any) -> None:
    """Reject values that are neither an objective nor a scorer."""
    if is_named(optimize):
        return
    try:
        get_scorer(optimize)
    except ValueError as error:
        raise ValueError(
            f"optimize={optimize!r} is neither 'path' nor 'f1' nor a scorer of scikit-learn. Use "
            f"one of these, or a function of (estimator, X, y)."
        ) from error


def check_scorer(optimize: Any, objective: Objective, *, of_paths: bool, weighted: bool) -> None:
    """Reject, before anything is fitted, a scorer that would fail or ignore the weights.

    Parameters
    ----------
    optimize : object
        The value given by the user.
    objective : Objective
        The objective for this value.
    of_paths : bool
        Whether there is a path per row, in columns.
    weighted : bool
        Whether rows have weights.
    """
    if objective.scorer is None:
        return
    if isinstance(optimize, str) and of_paths:
        raise ValueError(
            f"optimize={optimize!r} is a scorer of scikit-learn for single labels, but y has "
            f"paths. Use 'path', 'f1', or a function of (estimator, X, y)."
        )
    if weighted and "sample_weight" not in inspect.signature(objective.scorer).parameters:
        raise ValueError(
            f"optimize={optimize!r} has no parameter sample_weight, so the weights of the rows "
            "would be ignored in the choice. Add this parameter to it."
        )


def set_measure(optimize: Any) -> str:
    """The objective of models of sets of classes; objectives of whole paths are rejected."""
    if optimize not in (None, "average_precision", "f1"):
        raise ValueError(
            f"optimize={optimize!r} is for whole paths, but here predictions are sets of classes "
            "(multi_label=True, or a DAG). Use optimize='average_precision' or 'f1', or leave it "
            "out."
        )
    return optimize or "average_precision"
