"""The part of the page about labels that are probably wrong: the most suspicious rows."""

from __future__ import annotations

from typing import Any

from hiclass._inspect.label_errors import LabelErrors

#: The number of rows that are shown.
_MOST_ROWS = 50


def collect_suspects(found: Any) -> dict[str, Any] | None:
    """The first rows of a ranking, and the share of wrong labels at each level.

    Parameters
    ----------
    found : LabelErrors or None
        The result of ``find_label_errors``; None to omit the section.

    Returns
    -------
    dict or None
        "rows": the number of all rows; "likely": how many labels are more probably wrong than
        right; "shares": the share of wrong labels by level; "table": the most suspicious rows.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if found is None:
        return None
    if not isinstance(found, LabelErrors):
        raise TypeError(
            f"label_errors must be the result of find_label_errors; got a {type(found).__name__}."
        )
    table = [
        {
            "row": int(found.rows[k]),
            "probability": round(float(found.probability[k]), 4),
            "level": int(found.level[k]),
            "given": [str(label) for label in found.given[k]],
            "suggested": [str(label) for label in found.suggested[k]],
            "confidence": [round(float(p), 4) for p in found.confidence[k]],
        }
        for k in range(min(_MOST_ROWS, len(found)))
    ]
    return {
        "rows": len(found),
        "likely": int((found.probability > 0.5).sum()),
        "shares": [round(float(share), 4) for share in found.shares],
        "table": table,
    }
