"""The classification report where rows are sets of classes: no paths, so no steps that go wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._labels import plain
from hiclass.metrics._pairs import (
    SetPair,
    divide,
    is_exact,
    mean,
    node_counts,
    row_counts,
)


def set_report(pair: SetPair, fill: float) -> tuple[dict[str, Any], int]:
    """The numbers of the report, and how often they met 0 / 0."""
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
    return {"overall": _overall(pair, fill), "levels": levels, "classes": classes}, undefined


def _overall(pair: SetPair, fill: float) -> dict[str, float]:
    tp, pred, true = (np.array([(pair.weight * count).sum()]) for count in row_counts(pair))
    return {
        "precision": float(divide(tp, pred, fill)[0]),
        "recall": float(divide(tp, true, fill)[0]),
        "f1": float(divide(2 * tp, pred + true, fill)[0]),
        "exact_match": mean(is_exact(pair), pair.weight),
        "support": float(pair.weight.sum()),
    }


def set_tables(
    report: dict[str, Any], digits: int, max_depth: int | None, max_rows: int | None
) -> tuple[list[list[list[str]]], int]:
    """The three tables of the text, as rows of cells, and how many classes are left out."""
    overall, levels, classes = report["overall"], report["levels"], report["classes"]
    whole = all(row["support"].is_integer() and row["predicted"].is_integer() for row in classes)

    def score(value: float) -> str:
        return f"{value:.{digits}f}"

    def weight(value: float) -> str:
        return f"{value:.0f}" if whole else score(value)

    def scores(row: dict[str, Any]) -> list[str]:
        return [score(row[name]) for name in ("precision", "recall", "f1")]

    header = ["precision", "recall", "f1"]
    exact, support = score(overall["exact_match"]), weight(overall["support"])
    top = [
        ["", *header, "exact match", "support"],
        ["all classes", *scores(overall), exact, support],
    ]
    by_level = [["level", "classes", *header, "support"]]
    for row in levels:
        start = [str(row["level"]), str(row["n_classes"])]
        by_level.append([*start, *scores(row), weight(row["support"])])
    shown = [row for row in classes if max_depth is None or row["level"] <= max_depth]
    if max_rows is not None and len(shown) > max_rows:
        size = np.array([max(row["support"], row["predicted"]) for row in shown])
        first = np.sort(np.argsort(-size, kind="stable")[:max_rows])
        shown = [shown[i] for i in first.tolist()]
    by_class = [["class", "level", *header, "support", "predicted"]]
    for row in shown:
        name = row["class"]
        name = " > ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        end = [weight(row["support"]), weight(row["predicted"])]
        by_class.append([name, str(row["level"]), *scores(row), *end])
    return [top, by_level, by_class], len(classes) - len(shown)
