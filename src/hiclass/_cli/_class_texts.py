"""Classes and their texts, as a file of classes has them."""

from __future__ import annotations

import argparse
from typing import Any

from hiclass._cli._errors import CommandError
from hiclass._cli._inputs import labelled_rows, read_rows
from hiclass.hierarchy import Hierarchy


def hierarchy_with_texts(args: argparse.Namespace, y: Any) -> Hierarchy:
    """The classes of some rows and, with ``--class-texts``, those of a file, with their texts.

    Parameters
    ----------
    args : Namespace
        With ``class_texts``, the file; the columns of the labels are called as in the rows.
    y : ndarray
        The paths of the rows.

    Returns
    -------
    Hierarchy

    Raises
    ------
    CommandError
        If the file has no texts, or texts that are of no use.
    """
    if args.class_texts is None:
        return Hierarchy.from_paths(y)
    table, paths = labelled_rows(
        args, read_rows(args, args.class_texts), args.target, args.path_separator
    )
    columns = [name for name in table.frame.columns if name not in args.target]
    if not columns:
        raise CommandError(
            f"{table.name} has no column of texts besides {', '.join(map(repr, args.target))}. Add "
            f"columns with titles or descriptions of classes."
        )
    texts: dict[tuple[Any, ...], list[str]] = {}
    cells = zip(*(table.column(name) for name in columns), strict=True)
    for labels, row in zip(paths.tolist(), cells, strict=True):
        path = _path(labels)
        found = [str(cell) for cell in row if cell is not None and str(cell).strip()]
        texts.setdefault(path, []).extend(found)
    everything = [_path(labels) for labels in y.tolist()] + list(texts)
    tree = Hierarchy.from_paths([list(path) for path in everything])
    try:
        return tree.with_texts({path: several for path, several in texts.items() if several})
    except ValueError as error:
        raise CommandError(f"{table.name}: {error}") from error


def _path(labels: list[Any]) -> tuple[Any, ...]:
    return tuple(label for label in labels if label not in (None, ""))
