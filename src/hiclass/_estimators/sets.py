"""Predictions that are sets of classes: their parameters, and how they are selected and written."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._inference.confidence import is_set
from hiclass._inference.sets import decide_nodes, decide_sets
from hiclass._targets.paths import decode
from hiclass._targets.sets import write_sets
from hiclass._typing import FloatArray


def check_set_parameters(model: Any) -> None:
    """Refuse parameters that choose or truncate a single path, where predictions are sets."""
    own = inspect.signature(type(model)).parameters
    why = "the hierarchy is a DAG" if not model.multi_label else "multi_label=True"
    for name, remedy in (
        ("decoding", "leave it out: threshold decides"),
        ("expected_f1", "leave it out: threshold decides"),
        ("min_confidence", "use threshold" if "threshold" in own else "leave it out"),
        ("leaf_only", "leave it out: a set may end anywhere"),
        ("calibration", model._instead_of_calibration),
    ):
        value = getattr(model, name)
        given = name in own and (
            is_set(value) if name == "min_confidence" else value != own[name].default
        )
        if given:
            raise ValueError(
                f"{name}={value!r} is for one path per row in a tree, but {why}, so that a "
                f"prediction is a set of classes; {remedy}."
            )


def predict_sets(model: Any, X: Any) -> Any:
    """Predict the set of classes, or in a DAG with one label per row the class, of rows."""
    X = model._check_rows(X)
    model._check_decision_parameters()
    models, thresholds = model._models, _thresholds(model)
    hierarchy, format = model.hierarchy_, model._format
    if not format.of_sets:
        parts = model._map(lambda chunk: decide_nodes(models, chunk, thresholds), X)
        return decode(np.concatenate(parts), hierarchy, format, may_end=False)
    parts = model._map(lambda chunk: decide_sets(models, chunk, thresholds), X)
    return write_sets(sp.csr_array(sp.vstack(parts)), hierarchy, format)


def _thresholds(model: Any) -> FloatArray:
    """The threshold of every node."""
    if model.threshold != "tuned":
        return np.full(model.hierarchy_.n_nodes, float(model.threshold))
    if not hasattr(model, "thresholds_"):
        raise ValueError(
            "threshold='tuned' needs thresholds that are learned out of fold, which fit does "
            "with threshold='tuned'. Fit again with it."
        )
    thresholds: FloatArray = model.thresholds_
    return thresholds
