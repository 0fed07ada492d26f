"""The choices of a ``HierarchicalClassifier`` and the scores of its candidates, for a report."""

from __future__ import annotations

from typing import Any

from hiclass._wrapping import unwrap

#: The names of the scores of candidates, by objective.
_MEASURES = {None: "Exact match", "path": "Exact match", "f1": "Hierarchical F1"}


def collect_choices(model: Any) -> dict[str, Any] | None:
    """The choices with reasons, and the candidates; None for a model without choices.

    Parameters
    ----------
    model : estimator
        A fitted model, or a pipeline or search that ends in one.

    Returns
    -------
    dict or None
        "facts" (pairs of a subject and what was chosen), "measure" (what scores are), "candidates"
        (names), "scores" (what each reached out of fold) and "chosen" (the place of the one that
        was taken; None where nothing was measured).
    """
    inner = unwrap(model, through_choices=False).model
    choices = getattr(inner, "choices_", None)
    if not choices:
        return None
    scores = dict(inner.scores_)
    # The name of a candidate consists of those of its parts, which precede their descriptions.
    parts = (part.partition(": ")[0] for part in choices["model"].split("; "))
    chosen, names = " and ".join(parts), list(scores)
    optimize = inner.optimize if isinstance(inner.optimize, str | None) else "a scorer"
    return {
        "facts": [[str(subject), str(text)] for subject, text in choices.items()],
        "measure": _MEASURES.get(optimize, "Score"),
        "candidates": names,
        "scores": [float(score) for score in scores.values()],
        "chosen": names.index(chosen) if chosen in scores else None,
    }
