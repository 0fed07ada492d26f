"""The automation part of the page: how many rows are labelled, with how many errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._estimators.guarantees import guarantee_of
from hiclass._inspect.report._data import Rows
from hiclass.metrics._automation import curve_of

#: The number of steps of the slider, from no rows to all rows that can be labelled.
_N_STEPS = 100
_CERTAINTY = 0.95


def collect_automation(model: Any, rows: Rows) -> dict[str, Any]:
    """The curves of all levels at the steps of a slider, and the guarantee of the model.

    Parameters
    ----------
    model : estimator
        The model of the report.
    rows : Rows
        Rows with confidences.

    Returns
    -------
    dict
        "levels": for each level with an answer, columns with one entry per step: rows that are
        answered, how many of them are wrong, the interval of that share, the threshold. "rows":
        the number of all rows. "promises": what the guarantee of the model says, if it has one.
    """
    assert rows.confidence is not None
    levels = []
    for number, (true, pred, _) in enumerate(rows.levels(), start=1):
        here = pred >= 0
        if here.any():
            p, wrong = rows.confidence[here, number - 1], (true != pred)[here]
            levels.append(_steps(curve_of(number, p, wrong, len(here), _CERTAINTY)))
    return {"rows": len(rows.true), "levels": levels, "promises": _promises(model)}


def _steps(curve: Any) -> dict[str, Any]:
    """A curve at the points next to the steps of the slider."""
    wanted = np.arange(1, _N_STEPS + 1) / _N_STEPS * curve.n_answered[-1]
    at = np.searchsorted(curve.n_answered, wanted - 1e-9)
    return {
        "level": curve.level,
        "answered": [0, *curve.n_answered[at].tolist()],
        "wrong": [0, *np.rint(curve.error * curve.n_answered)[at].astype(int).tolist()],
        "lower": [None, *curve.lower[at].round(4).tolist()],
        "upper": [None, *curve.upper[at].round(4).tolist()],
        "threshold": [None, *curve.thresholds[at].round(4).tolist()],
    }


def _promises(model: Any) -> dict[str, Any] | None:
    found = guarantee_of(model)
    if found is None:
        return None
    return {
        "kind": found.kind,
        "certainty": found.certainty,
        "rows": found.n_rows,
        "table": [
            {
                "level": promise.level,
                "branch": " > ".join(map(str, promise.branch)),
                "limit": promise.limit,
                "threshold": promise.threshold,
                "share": promise.share,
                "loss": promise.mean_loss,
                "reason": promise.reason,
            }
            for promise in found.promises
        ],
    }
