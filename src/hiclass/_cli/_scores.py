"""Scores, as tables to read."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from hiclass import metrics
from hiclass._cli import _screen


def write_scores(y: Any, predicted: Any, target: list[str], hierarchy: Any = None) -> None:
    """Write a table with the scores per level, then those over all levels."""
    levels = metrics.level_scores(y, predicted, hierarchy=hierarchy, zero_division=0.0)
    reached = reached_levels(predicted)
    header = [
        "level",
        "name",
        "classes here",
        "rows",
        "reached",
        "accuracy",
        "precision",
        "recall",
        "F1",
    ]
    rows = []
    for i in range(len(levels["level"])):
        figures = [levels[name][i] for name in ("accuracy", "precision", "recall", "f1")]
        rows.append(
            [
                str(levels["level"][i]),
                _screen.one_line(target[i]),
                f"{int(levels['n_classes'][i]):,}",
                f"{int(levels['support'][i]):,}",
                f"{(reached > i).mean():.0%}",
                *(f"{figure:.3f}" for figure in figures),
            ]
        )
    _screen.write_table(header, rows, left=2)
    text = f"over all levels: {overall_text(y, predicted)}"
    _screen.write(_screen.paint(text, "bold", sys.stdout))


def overall_text(y: Any, predicted: Any) -> str:
    """The scores over all levels, in one line."""
    overall = {
        "hierarchical precision": metrics.precision(y, predicted, zero_division=0.0),
        "recall": metrics.recall(y, predicted, zero_division=0.0),
        "F1": metrics.f1(y, predicted, zero_division=0.0),
        "whole path right": metrics.exact_match(y, predicted),
    }
    return ", ".join(f"{name} {value:.3f}" for name, value in overall.items())


def reached_levels(predicted: Any) -> Any:
    """How many levels every predicted path has."""
    is_label = np.frompyfunc(lambda label: label is not None and label != "", 1, 1)
    return is_label(np.asarray(predicted, dtype=object)).astype(bool).sum(axis=1)
