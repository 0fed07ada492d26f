"""The label columns of a file: they are checked, and errors name the place."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from hiclass._cli._errors import CommandError
from hiclass._cli._paths import split_paths
from hiclass._cli._tables import Table


def read_labels(
    table: Table,
    target: list[str],
    *,
    separator: str | None = None,
    truncate_gaps: bool = False,
    skip_unlabelled: bool = False,
) -> tuple[Table, Any]:
    """Return the labelled rows of a table and their paths.

    Parameters
    ----------
    table : Table
        The rows.
    target : list of str
        The columns of the labels, the first level first.
    separator : str, default=None
        The separator of levels in a single column of whole paths.
    truncate_gaps : bool, default=False
        Whether a path with a gap ends there; otherwise it is an error.
    skip_unlabelled : bool, default=False
        Whether rows without any label are left out; otherwise they are an error.

    Returns
    -------
    labelled : Table
        The rows that have a label.
    y : ndarray of shape (n_rows, n_levels)
        Their paths; ``""`` or ``None`` after their end.

    Raises
    ------
    CommandError
        If a label is missing where one is needed, or is neither a text nor a whole number.
    """
    twice = next((name for name in target if target.count(name) > 1), None)
    if twice is not None:
        raise CommandError(f"--target names the column {twice!r} twice. Name every level once.")
    if separator is None:
        y = np.column_stack([table.column(name) for name in target])
        y = np.vectorize(whole, otypes=[object])(y)
    else:
        y = split_paths(table, target[0], separator)
    for (row, level), label in np.ndenumerate(y):
        # A model file cannot hold other types of labels; for Python, a bool is an int.
        if label is not None and type(label) not in (str, int):
            raise CommandError(
                f"{table.place(row)}: {shown(label)} in {target[level]!r} cannot be a label: "
                "labels must be texts or whole numbers, but this is of the type "
                f"{type(label).__name__}. Convert the column to texts, or name another --target."
            )
    missing = np.frompyfunc(lambda label: label is None, 1, 1)(y).astype(bool)
    gap = missing[:, :-1] & ~missing[:, 1:]
    if truncate_gaps:
        missing = np.logical_or.accumulate(missing, axis=1)
    elif gap.any():
        row, level = (int(i) for i in np.argwhere(gap)[0])
        raise CommandError(
            f"{table.place(row)}: {target[level + 1]!r} has a label ({y[row, level + 1]!r}) but "
            f"{target[level]!r}, one level up, is empty. Fill it in, or use --truncate-gaps to end "
            f"such paths at the gap."
        )
    empty = missing[:, 0]
    if empty.any() and not skip_unlabelled:
        row = int(np.argmax(empty))
        raise CommandError(
            f"{table.place(row)}: no label in {target[0]!r}. Fill it in, or use --skip-unlabelled "
            f"to leave such rows out."
        )
    if empty.all():
        raise CommandError(
            f"{table.name}: no row has a label in {target[0]!r}. Fill in labels, or name another "
            "--target."
        )
    has_texts_only = all(isinstance(label, str) for label in y[~missing])
    y[missing] = "" if has_texts_only else None
    rows = np.flatnonzero(~empty)
    return table.take(rows), y[rows]


def check_types(table: Table, target: list[str], y: Any) -> None:
    """Reject labels of different types in one column, which cannot form a hierarchy."""
    for level, name in enumerate(target):
        first: dict[type, int] = {}
        for row, label in enumerate(y[:, level]):
            if label is not None and label != "":
                first.setdefault(type(label), row)
        if len(first) > 1:
            (one, row), (other, place) = list(first.items())[:2]
            labels = table.column(name)
            raise CommandError(
                f"{table.place(place)}: {shown(labels[place])} in {name!r} is of the type "
                f"{other.__name__}, but {shown(labels[row])} above it is of the type "
                f"{one.__name__}. Convert all labels of a column to texts, or all to whole "
                "numbers."
            )


def shown(value: Any) -> str:
    """A value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 50 else f"{text[:47]}..."


def whole(label: Any) -> Any:
    """The label, with 3.0 as 3: pandas converts integers next to empty cells to floats."""
    if isinstance(label, float | Decimal) and math.isfinite(label):
        numerator, denominator = label.as_integer_ratio()
        return numerator if denominator == 1 else label
    return label


def like(y: Any, hierarchy: Any, levels: list[str], table: Table) -> Any:
    """Convert labels to the types of the model: a CSV file holds integers as text.

    Parameters
    ----------
    y : ndarray of shape (n_rows, n_levels)
        Labels as they were read.
    hierarchy : Hierarchy
        The hierarchy of the model.
    levels : list of str
        The names of the levels in messages.
    table : Table
        The table with the labels.

    Returns
    -------
    ndarray of shape (n_rows, n_levels)
        As many levels as before, and at least those of the names.
    """
    if y.shape[1] < len(levels):
        lacking = np.full((len(y), len(levels) - y.shape[1]), None, dtype=object)
        y = np.hstack([y, lacking])
    known = [
        {type(label) for label in hierarchy.labels[hierarchy.levels == level].tolist()}
        for level in range(1, y.shape[1] + 1)
    ]
    missing = "" if set().union(*known) == {str} else None
    converted = y.copy()
    for (row, level), label in np.ndenumerate(y):
        if label is None or label == "":
            converted[row, level] = missing
        elif known[level] == {str}:
            converted[row, level] = str(label)
        elif known[level] == {int}:
            try:
                converted[row, level] = int(label)
            except ValueError:
                raise CommandError(
                    f"{table.place(row)}: the label {label!r} in {levels[level]!r} is not a whole "
                    f"number, as the labels of the model at this level are. Correct it."
                ) from None
    return converted
