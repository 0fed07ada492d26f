"""The classification report: how good, by level and by branch, and where paths go wrong.

The numbers are gathered in a plain dict first; the text is written from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hiclass._labels import plain
from hiclass.metrics._pairs import (
    Pair,
    SetPair,
    as_set_pair,
    check_zero_division,
    divide,
    encode,
    mean,
    meeting_level,
    node_counts,
    row_counts,
    warn_undefined,
)
from hiclass.metrics._paths import scores_by_level
from hiclass.metrics._set_report import set_report, set_tables

_NAME_WIDTH = 44


def classification_report(
    y_true: Any,
    y_pred: Any,
    *,
    hierarchy: Any = None,
    multi_label: bool = False,
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    max_depth: int | None = None,
    max_rows: int | None = 50,
    zero_division: Any = "warn",
) -> str | dict[str, Any]:
    """Report precision, recall and F1 by level and by branch, and where paths go wrong.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` takes.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels; a path may be empty.
    hierarchy : Hierarchy, networkx.DiGraph, dict, edges or None, default=None
        The hierarchy of the labels. By default the one that both sets of paths span.
    multi_label : bool, default=False
        Whether rows have several labels, written as for ``fit`` with ``multi_label=True``. Then,
        and where a class has several parents, there are no paths: the report has no accuracy and
        no mistakes, and names a class by its label and level.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    digits : int, default=2
        Digits after the point in the text.
    output_dict : bool, default=False
        Whether to return the numbers as a dict instead of a text.
    max_depth : int or None, default=None
        Show classes down to this level only. None: all levels.
    max_rows : int or None, default=50
        Show at most this many classes, those with the most rows. None: all.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        What 0 / 0 is, as in :func:`precision`.

    Returns
    -------
    str or dict
        The text shows, in this order, the measures over all levels, those of every level (the mean
        over its classes), and those of every class that occurs. "mistakes" counts the rows that are
        right down to a class and wrong at the next step, and "most often" names the commonest of
        these steps, as "true -> predicted"; "(end)" is a path that ends there. Every wrong row is
        counted once, so the mistakes add up to all rows that are not an exact match.

        The dict holds the same numbers, always of all classes: "overall" is a dict, "levels" and
        "classes" are lists of dicts, ready for ``pandas.DataFrame``. A class is named by "path";
        the empty path is the root.

    Examples
    --------
    >>> from hiclass.metrics import classification_report
    >>> y_true = [["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Oak"]]
    >>> y_pred = [["Animal", "Cat"], ["Animal", "Cat"], ["Plant", "Oak"]]
    >>> print(classification_report(y_true, y_pred, zero_division=0))
                precision  recall    f1  exact match  support
    all levels       0.83    0.83  0.83         0.67        3
    <BLANKLINE>
    level  classes  accuracy  precision  recall    f1  support
        1        2      1.00       1.00    1.00  1.00        3
        2        3      0.67       0.50    0.67  0.56        3
    <BLANKLINE>
    class        precision  recall    f1  support  mistakes  most often
    (top)                                       3         0
    ├── Animal        1.00    1.00  1.00        2         1  Dog -> Cat (1)
    │   ├── Cat       0.50    1.00  0.67        1         0
    │   └── Dog       0.00    0.00  0.00        1         0
    └── Plant         1.00    1.00  1.00        1         0
        └── Oak       1.00    1.00  1.00        1         0
    """
    for name, limit in (("max_depth", max_depth), ("max_rows", max_rows), ("digits", digits)):
        if limit is not None and (not isinstance(limit, int | np.integer) or limit < 0):
            raise ValueError(f"{name}={limit!r} must be a whole number that is not negative.")
    fill = check_zero_division(zero_division)
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    if isinstance(pair, SetPair) or not pair.hierarchy.is_tree:
        report, undefined = set_report(as_set_pair(pair), fill)
        if undefined and isinstance(zero_division, str):
            warn_undefined(f"{undefined} class(es) that are never predicted or never true")
        return report if output_dict else _set_text(report, digits, max_depth, max_rows)
    levels, undefined = scores_by_level(pair, "macro", fill)
    if undefined and isinstance(zero_division, str):
        warn_undefined(f"{undefined} class(es) that are never predicted or never true")
    report = {
        "overall": _overall(pair, fill),
        "levels": _rows(levels),
        "classes": _rows(_class_scores(pair, fill)),
    }
    return report if output_dict else _text(report, digits, max_depth, max_rows)


# -- numbers -----------------------------------------------------------------------------------


def _overall(pair: Pair, fill: float) -> dict[str, float]:
    tp, pred, true = (np.array([(pair.weight * count).sum()]) for count in row_counts(pair))
    return {
        "precision": float(divide(tp, pred, fill)[0]),
        "recall": float(divide(tp, true, fill)[0]),
        "f1": float(divide(2 * tp, pred + true, fill)[0]),
        "exact_match": mean((pair.true == pair.pred).astype(np.float64), pair.weight),
        "support": float(pair.weight.sum()),
    }


def _class_scores(pair: Pair, fill: float) -> dict[str, Any]:
    """Columns of the table of classes: the root, then all that occur, in preorder."""
    tree = pair.hierarchy
    tp, pred, true = node_counts(pair)
    mistakes, most_often = _mistakes(pair)
    keep = np.flatnonzero(pred + true > 0)
    columns = {
        "precision": divide(tp, pred, fill),
        "recall": divide(tp, true, fill),
        "f1": divide(tp, (pred + true) / 2, fill),
        "support": true,
        "predicted": pred,
        "mistakes": mistakes,
    }
    for name in ("precision", "recall", "f1"):
        columns[name][0] = np.nan  # every row is in the root, so its scores say nothing
    return {
        "path": [tree.path(v) for v in keep.tolist()],
        **{name: column[keep] for name, column in columns.items()},
        "most_often": [most_often.get(v) for v in keep.tolist()],
    }


def _mistakes(pair: Pair) -> tuple[Any, dict[int, dict[str, Any]]]:
    """Weight of the rows that go wrong just below every node, and the commonest such step."""
    tree, level = pair.hierarchy, meeting_level(pair)
    n, wrong = tree.n_nodes, pair.true != pair.pred
    # One column more, as a path that reaches the deepest level has no next step: -1.
    table = np.pad(tree.ancestor_table, ((0, 0), (0, 1)), constant_values=-1)
    a, b = (table[nodes[wrong], level[wrong]] for nodes in (pair.true, pair.pred))
    distinct, inverse = np.unique((a + 1) * (n + 1) + b + 1, return_inverse=True)
    a, b = (x - 1 for x in np.divmod(distinct, n + 1))
    weight = np.bincount(inverse, weights=pair.weight[wrong], minlength=len(distinct))
    below = np.where(a >= 0, tree.parent[a], tree.parent[b])
    most_often: dict[int, dict[str, Any]] = {}
    # The heaviest step first; among equals the first in the order of nodes.
    for i in np.argsort(-weight, kind="stable").tolist():
        step = {
            "true": plain(tree.labels[a[i]]) if a[i] >= 0 else None,
            "predicted": plain(tree.labels[b[i]]) if b[i] >= 0 else None,
            "weight": float(weight[i]),
        }
        most_often.setdefault(int(below[i]), step)
    return np.bincount(below, weights=weight, minlength=n), most_often


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn a dict of columns into a list of rows of plain numbers."""
    return [
        dict(zip(columns, map(plain, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


# -- text --------------------------------------------------------------------------------------


def _text(report: dict[str, Any], digits: int, max_depth: int | None, max_rows: int | None) -> str:
    overall, levels, classes = report["overall"], report["levels"], report["classes"]
    weights = [row["support"] for row in classes] + [row["mistakes"] for row in classes]
    whole = all(float(w).is_integer() for w in weights)

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
        ["all levels", *scores(overall), exact, support],
    ]
    by_level = [["level", "classes", "accuracy", *header, "support"]]
    for row in levels:
        start = [str(row["level"]), str(row["n_classes"]), score(row["accuracy"])]
        by_level.append([*start, *scores(row), weight(row["support"])])
    shown = _largest(classes, max_depth, max_rows)
    by_class = [["class", *header, "support", "mistakes", "most often"]]
    for row, name in zip(shown, _branches([row["path"] for row in shown]), strict=True):
        values = scores(row) if row["path"] else ["", "", ""]
        end = [weight(row["support"]), weight(row["mistakes"]), _step(row["most_often"], weight)]
        by_class.append([name, *values, *end])
    parts = [
        _table(top, left=(0,)),
        _table(by_level, left=()),
        _table(by_class, left=(0, 6)),
    ]
    if len(shown) < len(classes):
        parts.append(
            f"{len(classes) - len(shown)} more classes are not shown; see max_depth and max_rows."
        )
    return "\n\n".join(parts)


def _set_text(
    report: dict[str, Any], digits: int, max_depth: int | None, max_rows: int | None
) -> str:
    tables, n_hidden = set_tables(report, digits, max_depth, max_rows)
    parts = [_table(rows, left=(0,) if rows[0][0] != "level" else ()) for rows in tables]
    if n_hidden:
        parts.append(f"{n_hidden} more classes are not shown; see max_depth and max_rows.")
    return "\n\n".join(parts)


def _largest(
    classes: list[dict[str, Any]], max_depth: int | None, max_rows: int | None
) -> list[dict[str, Any]]:
    """The classes with the most rows, in their order; a parent is never left out before a child."""
    depth = len(classes) if max_depth is None else max_depth
    shown = [row for row in classes if len(row["path"]) <= depth]
    if max_rows is None or len(shown) <= max_rows + 1:
        return shown
    size = np.array([max(row["support"], row["predicted"]) for row in shown])
    first = np.sort(np.argsort(-size, kind="stable")[: max_rows + 1])
    return [shown[i] for i in first.tolist()]


def _branches(paths: list[tuple[Any, ...]]) -> Iterable[str]:
    """Names of classes with lines that draw the tree; paths in preorder, the root first."""
    last = {path[:-1]: path for path in paths if path}
    for path in paths:
        if not path:
            yield "(top)"
            continue
        ends = [last[path[:i]] == path[: i + 1] for i in range(len(path))]
        lines = "".join("    " if end else "│   " for end in ends[:-1])
        name = f"{lines}{'└── ' if ends[-1] else '├── '}{path[-1]}"
        yield name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"


def _step(step: dict[str, Any] | None, weight: Any) -> str:
    if step is None:
        return ""
    true, predicted = (
        "(end)" if step[side] is None else str(step[side]) for side in ("true", "predicted")
    )
    return f"{true} -> {predicted} ({weight(step['weight'])})"


def _table(rows: list[list[str]], left: tuple[int, ...]) -> str:
    """Align columns: those in ``left`` to the left, all others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if j in left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
