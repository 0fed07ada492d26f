"""Input files of commands: rows, labels and features, with a message about each file."""

from __future__ import annotations

import argparse
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._features import placed, prepare
from hiclass._cli._labels import like, read_labels
from hiclass._cli._models import Model
from hiclass._cli._paths import level_names
from hiclass._cli._tables import Table, format_of, original_cell, read_table
from hiclass._labels.separators import find_separator


def read_rows(args: argparse.Namespace, path: str | None = None) -> Table:
    """Read the file of a command, or another one in the same format."""
    table = read_table(
        args.file if path is None else path,
        format=args.format,
        encoding=args.encoding,
        separator=args.separator,
    )
    n_rows, n_columns = table.frame.shape
    shape = f"{_screen.count(n_rows, 'row')}, {_screen.count(n_columns, 'column')}"
    _screen.note(f"Read {table.name}: {shape}", args.quiet)
    return table


def read_unprotected(args: argparse.Namespace, path: str | None = None) -> Table:
    """Read a file that hiclass wrote, and remove the protection against spreadsheet formulas."""
    table = read_rows(args, path)
    if format_of(args.file if path is None else path, args.format) not in ("csv", "tsv"):
        return table
    import pandas as pd

    cells = {name: [original_cell(c) for c in table.column(name)] for name in table.frame.columns}
    # As objects: otherwise, pandas would convert None to NaN.
    return Table(pd.DataFrame(cells, dtype=object), table.name, table.lines)


def refuse_threshold(args: argparse.Namespace) -> None:
    """Reject ``--threshold`` if a row has one path."""
    if args.threshold is not None:
        raise CommandError(
            "--threshold is for several labels per row, but here a row has one path. Use "
            "--min-confidence instead."
        )


def labelled_rows(
    args: argparse.Namespace, table: Table, target: list[str], separator: str | None
) -> tuple[Table, Any]:
    """The rows that have labels, and their paths."""
    labelled, y = read_labels(
        table,
        list(target),
        separator=separator,
        truncate_gaps=args.truncate_gaps,
        skip_unlabelled=args.skip_unlabelled,
    )
    lost = len(table.frame) - len(labelled.frame)
    if lost:
        _screen.note(f"Left out {_screen.count(lost, 'row')} without labels", args.quiet)
    return labelled, y


def name_levels(args: argparse.Namespace, table: Table, y: Any) -> list[str]:
    """Name the levels of labels; report a separator that seems to be missing or wrong."""
    if args.path_separator is not None:
        column = args.target[0]
        if y.shape[1] == 1:
            raise CommandError(
                f"{table.name}: no cell of {column!r} contains {args.path_separator!r}; the first "
                f"one is {str(y[0, 0])!r:.80}. Use the separator of the paths, or leave "
                "--path-separator out."
            )
        return level_names(column, y.shape[1])
    found = find_separator(y[:, 0]) if len(args.target) == 1 else None
    if found is not None:
        separator, example = found
        _screen.warning(
            f"{args.target[0]!r} seems to hold whole paths, such as {example!r:.80}, but is read "
            f'as one flat level. To learn the levels, add: --path-separator "{separator}"',
            args.quiet,
        )
    return list(args.target)


def features_of(model: Model, table: Table) -> Any:
    """The rows of a file as features for the classifier of a model."""
    X = prepare(table, model.features.columns_)
    with placed(table):
        return model.opened.transform(X)


def labelled_for(
    args: argparse.Namespace, model: Model, path: str | None = None
) -> tuple[Table, Any, list[str]]:
    """Labelled rows for a model: the rows, their labels in the form of the model, level names."""
    table, y = labelled_rows(args, read_rows(args, path), model.target, model.separator)
    y = like(y, model.opened.model.hierarchy_, model.levels, table)
    # Paths in one column may be deeper than those of the model.
    deeper = model.separator is not None and y.shape[1] > len(model.levels)
    levels = level_names(model.target[0], y.shape[1]) if deeper else model.levels
    return table, y, levels
