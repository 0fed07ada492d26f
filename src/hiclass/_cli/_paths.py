"""Whole paths in one column, such as "Loans > Car": split into levels and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hiclass._cli._errors import CommandError
from hiclass._cli._tables import Table


def check_separator(separator: str | None, target: Sequence[str]) -> None:
    """Reject an empty separator, or more than one column of paths."""
    if separator is None:
        return
    if not separator:
        raise CommandError('--path-separator is empty. Use the text between levels, such as " > ".')
    if len(target) > 1:
        raise CommandError(
            f"--path-separator is for one column that holds whole paths, but --target names "
            f"{len(target)}: {', '.join(target)}. Name one column, or leave --path-separator out."
        )


def split_paths(table: Table, column: str, separator: str) -> Any:
    """Split the cells of a column into levels.

    Parameters
    ----------
    table : Table
        The rows.
    column : str
        The column of paths.
    separator : str
        The separator of levels; spaces around labels are removed.

    Returns
    -------
    ndarray of shape (n_rows, n_levels)
        Labels; ``None`` after the end of a path, and where a cell is empty.

    Raises
    ------
    CommandError
        If a level is empty, or a cell is not a text.
    """
    paths = [
        split_cell(cell, separator, table, column, row)
        for row, cell in enumerate(table.column(column))
    ]
    y = np.full((len(paths), max(map(len, paths), default=0) or 1), None, dtype=object)
    for row, path in enumerate(paths):
        y[row, : len(path)] = path
    return y


def split_cell(cell: Any, separator: str, table: Table, column: str, row: int) -> list[str]:
    """Split one cell into levels; none if it is empty."""
    if cell is None:
        return []
    if not isinstance(cell, str):
        raise CommandError(
            f"{table.place(row)}: {cell!r:.50} in {column!r} is of the type {type(cell).__name__}, "
            "but --path-separator splits texts. Convert the column to texts."
        )
    # With spaces added, \"Loans >\" has an empty second level if \" > \" is the separator.
    padded = f" {cell.strip()} " if separator.strip() else cell.strip()
    parts = [part.strip() for part in padded.split(separator)]
    if parts == [""]:
        return []
    if "" in parts:
        raise CommandError(
            f"{table.place(row)}: level {parts.index('') + 1} of {cell!r:.80} in {column!r} is "
            "empty. Fill it in, or end the path before it, without a separator at the end."
        )
    return parts


def join_paths(labels: Any, separator: str) -> Any:
    """Join the labels of every row; ``None`` for an empty path."""
    joined = np.full(len(labels), None, dtype=object)
    for row, path in enumerate(labels.tolist()):
        text = separator.join(label for label in path if label not in (None, ""))
        joined[row] = text or None
    return joined


def level_names(column: str, n_levels: int) -> list[str]:
    """The names of the levels of a column of paths: ``category_1``, ``category_2``."""
    return [f"{column}_{level}" for level in range(1, n_levels + 1)]
