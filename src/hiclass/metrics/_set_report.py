"""The numbers of the classification report where rows are sets: no paths, so no wrong steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._labels.columns import plain
from hiclass.metrics._pairs import SetPair, divide, mean, node_counts

#: A table: the same keys in every row.
Rows = list[dict[str, Any]]


def set_scores(pair: SetPair, fill: float) -> tuple[Rows, Rows, int]:
    """Scores of every level and of every class that occurs, and how often they met 0 / 0."""
    graph = pair.hierarchy
    tp, pred, true = node_counts(pair)
    present = 1 + np.flatnonzero((pred + true)[1:])
    tp, pred, true = tp[present], pred[present], true[present]
    scores = {
        "precision": divide(tp, pred, fill),
        "recall": divide(tp, true, fill),
        "f1": divide(2 * tp, pred + true, fill),
    }
    paths = graph.identity == "path"
    classes = [
        {
            "class": graph.path(v) if paths else plain(graph.labels[v]),
            "level": int(graph.levels[v]),
            **{name: float(values[i]) for name, values in scores.items()},
            "support": float(true[i]),
            "predicted": float(pred[i]),
        }
        for i, v in enumerate(present.tolist())
    ]
    levels = []
    for level in range(1, graph.depth + 1):
        here = graph.levels[present] == level
        ones = np.ones(int(here.sum()))
        averages = {name: mean(values[here], ones) for name, values in scores.items()}
        support = float(true[here].sum())
        levels.append({"level": level, "n_classes": len(ones), **averages, "support": support})
    undefined = int(np.count_nonzero(pred == 0) + np.count_nonzero(true == 0))
    return levels, classes, undefined
