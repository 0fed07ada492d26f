"""The classification report: scores by level and by class, and where paths go wrong.

The numbers are first collected in a dict, from which the text is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hiclass._labels.columns import plain
from hiclass._typing import FloatArray
from hiclass.metrics._pairs import (
    Counts,
    Pair,
    SetPair,
    check_zero_division,
    divide,
    encode,
    mean,
    warn_undefined,
)
from hiclass.metrics._paths import scores_by_level

#: A table: the same keys in every row.
Rows = list[dict[str, Any]]

_SCORES = ("precision", "recall", "f1")
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
    """Report precision, recall and F1 by level and by class, and where paths go wrong.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        True labels, in any form that ``fit`` accepts.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
        Predicted labels. Empty paths are allowed.
    hierarchy : Hierarchy, networkx.DiGraph, list of edges or dict, default=None
        The hierarchy of the labels. By default, it is built from the true and predicted paths.
    multi_label : bool, default=False
        Whether rows have several labels, in the form that ``fit`` accepts with
        ``multi_label=True``. With several labels, and in a DAG, the report has no accuracy and no
        errors, and a class is named by its label and level.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    digits : int, default=2
        Number of decimal places in the text.
    output_dict : bool, default=False
        Whether to return the numbers as a dict instead of text.
    max_depth : int or None, default=None
        The deepest level whose classes are shown. None shows all levels.
    max_rows : int or None, default=50
        The largest number of classes shown, those with the most rows. None shows all classes.
    zero_division : {"warn", 0.0, 1.0, numpy.nan}, default="warn"
        The value of 0 / 0, as in :func:`precision`.

    Returns
    -------
    str or dict
        The text shows scores over all levels, for every level (the mean over its classes), and for
        every class that occurs. "errors" counts the rows that are correct down to a class and
        wrong at the next level. "most often" names the most frequent of these errors as
        "true -> predicted", where "(end)" stands for a path that ends there. Every wrong row is
        counted once, so the errors sum to the number of rows that are not an exact match.

        The dict holds the same numbers for all classes: "overall" is a dict; "levels" and "classes"
        are lists of dicts, ready for ``pandas.DataFrame``. A class is identified by "path"; the
        empty path is the root.

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
    class        precision  recall    f1  support  errors  most often
    (top)                                       3       0
    ├── Animal        1.00    1.00  1.00        2       1  Dog -> Cat (1)
    │   ├── Cat       0.50    1.00  0.67        1       0
    │   └── Dog       0.00    0.00  0.00        1       0
    └── Plant         1.00    1.00  1.00        1       0
        └── Oak       1.00    1.00  1.00        1       0
    """
    for name, limit in (("max_depth", max_depth), ("max_rows", max_rows), ("digits", digits)):
        if limit is not None and (not isinstance(limit, int | np.integer) or limit < 0):
            raise ValueError(f"{name}={limit!r} must be a whole number that is not negative.")
    fill = check_zero_division(zero_division)
    pair = encode(y_true, y_pred, hierarchy, sample_weight, multi_label)
    classes = _class_scores(pair, fill)
    if pair.of_sets:
        levels = _level_scores(classes, pair.hierarchy.depth)
        undefined = sum(int(np.count_nonzero(classes[n] == 0)) for n in ("predicted", "support"))
    else:
        levels, undefined = scores_by_level(pair, "macro", fill)
    if undefined and isinstance(zero_division, str):
        warn_undefined(f"{undefined} class(es) that are never predicted or never true")
    tables = {"levels": _rows(levels), "classes": _rows(classes)}
    report = {"overall": _overall(pair, fill), **tables}
    if output_dict:
        return report
    return _text(report, pair.of_sets, digits, max_depth, max_rows)


# -- numbers -----------------------------------------------------------------------------------


def _overall(pair: Pair | SetPair, fill: float) -> dict[str, float]:
    counts = tuple(np.array([(pair.weight * count).sum()]) for count in pair.row_counts())
    return {
        **{name: float(score[0]) for name, score in _scores(counts, fill).items()},
        "exact_match": mean(pair.is_exact(), pair.weight),
        "support": float(pair.weight.sum()),
    }


def _scores(counts: Counts, fill: float) -> dict[str, FloatArray]:
    tp, pred, true = counts
    divisors = zip(_SCORES, (pred, true, (pred + true) / 2), strict=True)
    return {name: divide(tp, divisor, fill) for name, divisor in divisors}


def _class_scores(pair: Pair | SetPair, fill: float) -> dict[str, Any]:
    """Columns of the table of classes that occur, by node; for paths, including the root."""
    graph, counts = pair.hierarchy, pair.node_counts()
    found = np.flatnonzero(counts[1] + counts[2] > 0)
    tp, pred, true = (count[found] for count in counts)
    scores, sizes = _scores((tp, pred, true), fill), {"support": true, "predicted": pred}
    nodes = found.tolist()
    if pair.of_sets:
        paths = graph.identity == "path"
        names = [graph.path(v) if paths else plain(graph.labels[v]) for v in nodes]
        return {"class": names, "level": graph.levels[found], **scores, **sizes}
    for values in scores.values():
        values[0] = np.nan  # every row belongs to the root, so its scores mean nothing
    errors, most_often = _errors(pair)
    return {
        "path": [graph.path(v) for v in nodes],
        **scores,
        **sizes,
        "errors": errors[found],
        "most_often": [most_often.get(v) for v in nodes],
    }


def _level_scores(classes: dict[str, Any], depth: int) -> dict[str, Any]:
    """Columns of the table of levels for sets of classes: the means over the classes."""
    here = [np.flatnonzero(classes["level"] == level) for level in range(1, depth + 1)]
    return {
        "level": list(range(1, depth + 1)),
        "n_classes": [len(found) for found in here],
        **{
            name: [mean(classes[name][found], np.ones(len(found))) for found in here]
            for name in _SCORES
        },
        "support": [classes["support"][found].sum() for found in here],
    }


def _errors(pair: Pair) -> tuple[Any, dict[int, dict[str, Any]]]:
    """Weight of the rows with the first error just below every node; the most frequent error."""
    tree, level = pair.hierarchy, pair.meeting_level()
    n, wrong = tree.n_nodes, pair.true != pair.pred
    # One additional column, because a path that reaches the deepest level has no next step: -1.
    table = np.pad(tree.ancestor_table, ((0, 0), (0, 1)), constant_values=-1)
    a, b = (table[nodes[wrong], level[wrong]] for nodes in (pair.true, pair.pred))
    distinct, inverse = np.unique((a + 1) * (n + 1) + b + 1, return_inverse=True)
    a, b = (x - 1 for x in np.divmod(distinct, n + 1))
    weight = np.bincount(inverse, weights=pair.weight[wrong], minlength=len(distinct))
    below = np.where(a >= 0, tree.parent[a], tree.parent[b])
    most_often: dict[int, dict[str, Any]] = {}
    # The most frequent error first; ties in the order of nodes.
    for i in np.argsort(-weight, kind="stable").tolist():
        step = {
            "true": plain(tree.labels[a[i]]) if a[i] >= 0 else None,
            "predicted": plain(tree.labels[b[i]]) if b[i] >= 0 else None,
            "weight": float(weight[i]),
        }
        most_often.setdefault(int(below[i]), step)
    return np.bincount(below, weights=weight, minlength=n), most_often


def _rows(columns: dict[str, Any]) -> Rows:
    """Convert a dict of columns to a list of rows of plain numbers."""
    return [
        dict(zip(columns, map(plain, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


# -- text --------------------------------------------------------------------------------------


def _text(
    report: dict[str, Any], of_sets: bool, digits: int, max_depth: int | None, max_rows: int | None
) -> str:
    classes = report["classes"]
    counts = ("support", "predicted" if of_sets else "errors")
    # Weights have decimal places only if some are not whole.
    whole = all(float(row[name]).is_integer() for row in classes for name in counts)
    n_digits = dict.fromkeys(counts, 0 if whole else digits)
    shown = [row for row in classes if max_depth is None or _level_of(row) <= max_depth]
    # For paths, the root is shown in addition to max_rows classes.
    shown = _largest(shown, None if max_rows is None else max_rows + (not of_sets))

    def table(rows: Rows, *names: str) -> str:
        cells = [[_cell(row[name], n_digits.get(name, digits)) for name in names] for row in rows]
        return _aligned([list(names), *cells])

    overall = report["overall"]
    title = {"": "all classes" if of_sets else "all levels", "exact match": overall["exact_match"]}
    levels = [{"classes": row["n_classes"], **row} for row in report["levels"]]
    tables = [table([title | overall], "", *_SCORES, "exact match", "support")]
    if of_sets:
        named = [{**row, "class": _name(row["class"])} for row in shown]
        tables.append(table(levels, "level", "classes", *_SCORES, "support"))
        tables.append(table(named, "class", "level", *_SCORES, *counts))
    else:
        named = _drawn(shown, n_digits["support"])
        tables.append(table(levels, "level", "classes", "accuracy", *_SCORES, "support"))
        tables.append(table(named, "class", *_SCORES, *counts, "most often"))
    if len(shown) < len(classes):
        n_hidden = len(classes) - len(shown)
        tables.append(f"{n_hidden} more classes are not shown; see max_depth and max_rows.")
    return "\n\n".join(tables)


def _level_of(row: dict[str, Any]) -> int:
    return int(row["level"]) if "level" in row else len(row["path"])


def _name(name: Any) -> str:
    return " > ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _drawn(classes: Rows, n_digits: int) -> Rows:
    """The classes with names that draw the tree, and the most frequent error in words."""
    rows = []
    for row, name in zip(classes, _tree_names([row["path"] for row in classes]), strict=True):
        empty = {} if row["path"] else dict.fromkeys(_SCORES, "")
        step = _step(row["most_often"], n_digits)
        rows.append({**row, **empty, "class": name, "most often": step})
    return rows


def _largest(classes: Rows, n: int | None) -> Rows:
    """The classes with the most rows, in their order; no parent is dropped before its child."""
    if n is None or len(classes) <= n:
        return classes
    size = np.array([max(row["support"], row["predicted"]) for row in classes])
    first = np.sort(np.argsort(-size, kind="stable")[:n])
    return [classes[i] for i in first.tolist()]


def _tree_names(paths: list[tuple[Any, ...]]) -> Iterable[str]:
    """Names of classes with lines that draw the tree; paths in preorder, starting with the root."""
    last = {path[:-1]: path for path in paths if path}
    for path in paths:
        if not path:
            yield "(top)"
            continue
        ends = [last[path[:i]] == path[: i + 1] for i in range(len(path))]
        lines = "".join("    " if end else "│   " for end in ends[:-1])
        name = f"{lines}{'└── ' if ends[-1] else '├── '}{path[-1]}"
        yield name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"


def _step(step: dict[str, Any] | None, n_digits: int) -> str:
    if step is None:
        return ""
    true, predicted = (
        "(end)" if step[side] is None else str(step[side]) for side in ("true", "predicted")
    )
    return f"{true} -> {predicted} ({_cell(step['weight'], n_digits)})"


def _cell(value: Any, n_digits: int) -> str:
    return f"{value:.{n_digits}f}" if isinstance(value, float) else str(value)


def _aligned(rows: list[list[str]]) -> str:
    """Align columns by their titles: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = [title in ("", "class", "most often") for title in rows[0]]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    )
