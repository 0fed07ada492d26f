"""Classes and their texts, as a file of classes has them."""

from __future__ import annotations

import argparse
from typing import Any

from hiclass._automatic.joined_texts import JoinedTexts
from hiclass._cli._columns import Choice
from hiclass._cli._errors import CommandError
from hiclass._cli._features import Columns
from hiclass._cli._inputs import labelled_rows, read_rows
from hiclass._cli._labels import check_types, like
from hiclass.hierarchy import Hierarchy

#: The name of the text column if neither rows nor ``--text`` name one.
_TEXT = "text"


def check_class_texts(args: argparse.Namespace) -> None:
    """Reject options of ``fit`` that conflict with ``--class-texts`` or require it."""
    if args.class_texts is None:
        return
    if args.model not in (None, "auto"):
        raise CommandError(
            f"--class-texts is for --model auto; --model {args.model} learns from rows only. Leave "
            f"one of the two out."
        )
    for kind in ("numbers", "categories", "dates"):
        if getattr(args, kind):
            raise CommandError(
                f"--{kind} and --class-texts cannot be combined: texts of classes are compared "
                f"with texts. Name the columns of text with --text."
            )
    if args.update is not None:
        raise CommandError(
            "--update and --class-texts cannot be combined. Fit all rows again, with --add."
        )
    if args.file is None:
        for option in ("cv", "groups", "add", "ignore"):
            if getattr(args, option) is not None:
                raise CommandError(
                    f"--{option} needs a FILE of rows. Name one, or leave the option out."
                )


def text_columns(choice: Choice, table: Any) -> tuple[JoinedTexts, Choice]:
    """The transformer that makes one text of every row, and the choice of text columns."""
    texts = choice.columns["text"]
    if not texts:
        raise CommandError(
            f"{table.name} has no column of text to compare with the texts of classes. Name one "
            "with --text."
        )
    others = [name for kind, names in choice.columns.items() if kind != "text" for name in names]
    why = dict.fromkeys(others, "class texts are compared with texts")
    columns: Columns = {kind: texts if kind == "text" else [] for kind in choice.columns}
    reasons = {name: reason for name, reason in choice.reasons.items() if name in texts}
    return JoinedTexts(texts), Choice(columns, reasons, {**choice.left_out, **why})


def text_columns_without_rows(args: argparse.Namespace) -> JoinedTexts:
    """The transformer that makes one text of every row to predict, without training rows."""
    return JoinedTexts(list(args.text or [_TEXT])).fit()


def hierarchy_with_texts(args: argparse.Namespace, y: Any) -> Hierarchy:
    """The classes of some rows and, with ``--class-texts``, those of a file, with their texts.

    Parameters
    ----------
    args : Namespace
        With ``class_texts``, the file; the columns of the labels are called as in the rows.
    y : ndarray or None
        The paths of the rows; None where there are none.

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
    rows = [] if y is None else y.tolist()
    table, paths = labelled_rows(
        args, read_rows(args, args.class_texts), args.target, args.path_separator
    )
    if args.path_separator is None:
        # The files may have different formats, and only some formats have numbers.
        if y is not None:
            paths = like(paths, Hierarchy.from_paths(y), list(args.target), table)
        check_types(table, list(args.target), paths)
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
    everything = [_path(labels) for labels in rows] + list(texts)
    tree = Hierarchy.from_paths([list(path) for path in everything])
    try:
        return tree.with_texts({path: several for path, several in texts.items() if several})
    except ValueError as error:
        raise CommandError(f"{table.name}: {error}") from error


def _path(labels: list[Any]) -> tuple[Any, ...]:
    return tuple(label for label in labels if label not in (None, ""))
