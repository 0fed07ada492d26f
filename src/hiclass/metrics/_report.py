"""The classification report: how good, by level and by branch, and where paths go wrong.

The numbers are gathered in a plain dict first; the text is written from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._labels.columns import plain
from hiclass.metrics._pairs import (
    Pair,
    SetPair,
    as_set_pair,
    check_zero_division,
    divide,
    encode,
    is_exact,
    mean,
    meeting_level,
    node_counts,
    row_counts,
    warn_undefined,
)
from hiclass.metrics._paths import scores_by_level
from hiclass.metrics._set_report import Rows, set_scores

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

    Raises
    ------
    ValueError
        If a limit is not a whole number.

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
        pair = as_set_pair(pair)
        levels, classes, undefined = set_scores(pair, fill)
        write = _set_text
    else:
        by_level, undefined = scores_by_level(pair, "macro", fill)
        levels, classes = _rows(by_level), _rows(_class_scores(pair, fill))
        write = _text
    if undefined and isinstance(zero_division, str):
        warn_undefined(f"{undefined} class(es) that are never predicted or never true")
    report = {"overall": _overall(pair, fill), "levels": levels, "classes": classes}
    return report if output_dict else write(report, digits, max_depth, max_rows)


# -- numbers -----------------------------------------------------------------------------------


def _overall(pair: Pair | SetPair, fill: float) -> dict[str, float]:
    tp, pred, true = (np.array([(pair.weight * count).sum()]) for count in row_counts(pair))
    return {
        "precision": float(divide(tp, pred, fill)[0]),
        "recall": float(divide(tp, true, fill)[0]),
        "f1": float(divide(2 * tp, pred + true, fill)[0]),
        "exact_match": mean(is_exact(pair), pair.weight),
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


def _rows(columns: dict[str, Any]) -> Rows:
    """Turn a dict of columns into a list of rows of plain numbers."""
    return [
        dict(zip(columns, map(plain, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


# -- text --------------------------------------------------------------------------------------


_SCORES = ("precision", "recall", "f1")


@dataclass(frozen=True)
class _Style:
    """How numbers are written: with so many digits, but weights without where all are whole."""

    digits: int
    whole: bool

    def score(self, value: float) -> str:
        return f"{value:.{self.digits}f}"

    def weight(self, value: float) -> str:
        return f"{value:.0f}" if self.whole else self.score(value)

    def scores(self, row: dict[str, Any]) -> list[str]:
        return [self.score(row[name]) for name in _SCORES]


def _style(digits: int, classes: Rows, *names: str) -> _Style:
    """The style for classes whose weights have these names."""
    return _Style(digits, all(float(row[name]).is_integer() for row in classes for name in names))


def _text(report: dict[str, Any], digits: int, max_depth: int | None, max_rows: int | None) -> str:
    classes = report["classes"]
    style = _style(digits, classes, "support", "mistakes")
    shown = [row for row in classes if max_depth is None or len(row["path"]) <= max_depth]
    # The root is shown beside the classes that are asked for.
    shown = _largest(shown, None if max_rows is None else max_rows + 1)
    by_class = [["class", *_SCORES, "support", "mistakes", "most often"]]
    for row, name in zip(shown, _branches([row["path"] for row in shown]), strict=True):
        values = style.scores(row) if row["path"] else ["", "", ""]
        end = [style.weight(row["support"]), style.weight(row["mistakes"])]
        by_class.append([name, *values, *end, _step(row["most_often"], style)])
    parts = [
        _table(_overall_cells(report["overall"], "all levels", style), left=(0,)),
        _table(_level_cells(report["levels"], style, "accuracy"), left=()),
        _table(by_class, left=(0, 6)),
    ]
    return _joined(parts, len(classes) - len(shown))


def _set_text(
    report: dict[str, Any], digits: int, max_depth: int | None, max_rows: int | None
) -> str:
    classes = report["classes"]
    style = _style(digits, classes, "support", "predicted")
    shown = [row for row in classes if max_depth is None or row["level"] <= max_depth]
    shown = _largest(shown, max_rows)
    by_class = [["class", "level", *_SCORES, "support", "predicted"]]
    for row in shown:
        name = row["class"]
        name = " > ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        end = [style.weight(row["support"]), style.weight(row["predicted"])]
        by_class.append([name, str(row["level"]), *style.scores(row), *end])
    parts = [
        _table(_overall_cells(report["overall"], "all classes", style), left=(0,)),
        _table(_level_cells(report["levels"], style), left=()),
        _table(by_class, left=(0,)),
    ]
    return _joined(parts, len(classes) - len(shown))


def _overall_cells(overall: dict[str, Any], name: str, style: _Style) -> list[list[str]]:
    exact, support = style.score(overall["exact_match"]), style.weight(overall["support"])
    return [
        ["", *_SCORES, "exact match", "support"],
        [name, *style.scores(overall), exact, support],
    ]


def _level_cells(levels: Rows, style: _Style, *more: str) -> list[list[str]]:
    """The cells of the table of levels, which may have more scores."""
    cells = [["level", "classes", *more, *_SCORES, "support"]]
    for row in levels:
        scores = [*(style.score(row[name]) for name in more), *style.scores(row)]
        counts = [str(row["level"]), str(row["n_classes"])]
        cells.append([*counts, *scores, style.weight(row["support"])])
    return cells


def _joined(parts: list[str], n_hidden: int) -> str:
    if n_hidden:
        parts = [*parts, f"{n_hidden} more classes are not shown; see max_depth and max_rows."]
    return "\n\n".join(parts)


def _largest(classes: Rows, n: int | None) -> Rows:
    """So many classes with the most rows, in their order; no parent is left out before a child."""
    if n is None or len(classes) <= n:
        return classes
    size = np.array([max(row["support"], row["predicted"]) for row in classes])
    first = np.sort(np.argsort(-size, kind="stable")[:n])
    return [classes[i] for i in first.tolist()]


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


def _step(step: dict[str, Any] | None, style: _Style) -> str:
    if step is None:
        return ""
    true, predicted = (
        "(end)" if step[side] is None else str(step[side]) for side in ("true", "predicted")
    )
    return f"{true} -> {predicted} ({style.weight(step['weight'])})"


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
