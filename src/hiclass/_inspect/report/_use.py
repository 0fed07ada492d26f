"""The part of the page about changes: all tests, and what has changed most."""

from __future__ import annotations

from typing import Any

from hiclass._inspect.shifts import Shift
from hiclass._inspect.use import OUTSIDE, UseComparison


def collect_use(found: Any) -> dict[str, Any] | None:
    """All comparisons, most significant first, and the classes and features behind them.

    Parameters
    ----------
    found : UseComparison or None
        The result of ``compare_use``; None to omit the section.

    Returns
    -------
    dict or None
        "then", "now": the numbers of rows; "max_false_alarms": the probability of an alarm if
        nothing has changed; "changed": how many of the comparisons have; "tests": all of them;
        "outside": the place of the outside score among these, None if it was not compared;
        "classes", "features": those that have changed most; "guarantee": what follows for it;
        "not_compared": columns that could not be compared, and why.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if found is None:
        return None
    if not isinstance(found, UseComparison):
        raise TypeError(f"use must be the result of compare_use; got a {type(found).__name__}.")
    tests = sorted(found.shifts, key=lambda shift: shift.p_value)
    names = [shift.what for shift in tests]
    return {
        "then": found.n_then,
        "now": found.n_now,
        "max_false_alarms": found.max_false_alarms,
        # The comparisons are in the order of Holm's procedure, so the alarms come first.
        "changed": len(found.alarms),
        "tests": [
            {**_row(shift), "adjusted": adjusted, "test": shift.test}
            for shift, adjusted in zip(tests, _adjusted(tests), strict=True)
        ],
        "outside": names.index(OUTSIDE) if OUTSIDE in names else None,
        "classes": [_row(shift) for shift in found.classes],
        "features": [_row(shift) for shift in found.features],
        "guarantee": found.guarantee,
        "not_compared": list(found.not_compared),
    }


def _row(shift: Shift) -> dict[str, Any]:
    return {"what": shift.what, "then": shift.then, "now": shift.now, "p_value": shift.p_value}


def _adjusted(tests: list[Shift]) -> list[float]:
    """P-values for all tests together (Holm): values within the limit are alarms."""
    adjusted: list[float] = []
    for place, shift in enumerate(tests):
        own = min(1.0, shift.p_value * (len(tests) - place))
        adjusted.append(max([own, *adjusted[-1:]]))
    return adjusted
