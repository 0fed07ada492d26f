"""Several labels per row in a file: in one cell, in several columns, or as an indicator."""

from __future__ import annotations

import argparse
import difflib
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._labels import shown, whole
from hiclass._cli._paths import split_cell
from hiclass._cli._tables import Table
from hiclass.hierarchy import Hierarchy

#: The values of cells of an indicator, in lower case.
_YES, _NO = {"1", "1.0", "true", "yes", "y", "x"}, {"0", "0.0", "false", "no", "n"}

#: Other possible separators of labels.
_SEPARATORS = (";", ",", "|", "@", "\t", "/")


@dataclass(frozen=True)
class Several:
    """The form of several labels per row in a file.

    Attributes
    ----------
    kind : {"separator", "columns", "indicator"}
        In one cell with a separator; a label, or a list of labels, in every column; or a column of
        zeros and ones per class.
    separator : str or None
        The separator of the labels in a cell.
    """

    kind: Literal["separator", "columns", "indicator"]
    separator: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The form in a model file."""
        return asdict(self)


def several_of(args: argparse.Namespace) -> Several | None:
    """The form of several labels per row in the file of a command; None if a row has one path.

    Parameters
    ----------
    args : Namespace
        With ``label_separator``, ``multi_label``, ``hierarchy``, ``target``, ``path_separator``.

    Returns
    -------
    Several or None

    Raises
    ------
    CommandError
        If options do not go together.
    """
    separator, kind = args.label_separator, args.multi_label
    if separator is None and kind is None:
        if args.hierarchy is not None:
            raise CommandError(
                "--hierarchy is for several labels per row. Add --label-separator, or "
                "--multi-label columns, which also accepts one column with one label per row. "
                "With one path per row, the hierarchy is read from the columns of --target."
            )
        return None
    if separator is not None and kind is not None:
        raise CommandError(
            f"--label-separator and --multi-label {kind} cannot be combined: labels are in one "
            f"cell or in several columns. Leave one out."
        )
    refuse_gaps(args)
    if args.path_separator == "":
        raise CommandError(
            '--path-separator is empty. Give the text between levels, such as " > ".'
        )
    twice = next((name for name in args.target if args.target.count(name) > 1), None)
    if twice is not None:
        raise CommandError(f"--target names the column {twice!r} twice. Name every column once.")
    if separator is None:
        return Several(kind)
    if not separator:
        raise CommandError('--label-separator is empty. Use the text between labels, such as ";".')
    if separator == args.path_separator:
        raise CommandError(
            f"--label-separator and --path-separator are both {separator!r}, so labels and levels "
            "cannot be distinguished. Use different separators."
        )
    if len(args.target) > 1:
        raise CommandError(
            f"--label-separator is for one column with several labels, but --target names "
            f"{len(args.target)}: {', '.join(args.target)}. Name one column, or use --multi-label "
            f"columns."
        )
    return Several("separator", separator)


def refuse_gaps(args: argparse.Namespace) -> None:
    """Reject ``--truncate-gaps`` if levels are not in columns."""
    if args.truncate_gaps:
        raise CommandError(
            "--truncate-gaps is for levels in columns, but here a row has several labels. Leave "
            "it out."
        )


def read_label_sets(
    table: Table,
    target: list[str],
    several: Several,
    *,
    path_separator: str | None = None,
    hierarchy: Hierarchy | None = None,
    skip_unlabelled: bool = False,
) -> tuple[Table, Any]:
    """Return the labelled rows of a table and the labels of each.

    Parameters
    ----------
    table : Table
        The rows.
    target : list of str
        The columns of the labels.
    several : Several
        The form of the labels.
    path_separator : str, default=None
        The separator of levels if labels are whole paths.
    hierarchy : Hierarchy, default=None
        The only classes that labels may be, in their types. None: any.
    skip_unlabelled : bool, default=False
        Whether rows without any label are left out; otherwise they are an error. A row of an
        indicator that has only zeros has no class and is kept.

    Returns
    -------
    labelled : Table
        The rows that have labels.
    y : ndarray of lists
        Their labels; tuples if these are paths.

    Raises
    ------
    CommandError
        If a cell is no label, a class is not in the hierarchy, or a row has no label.
    """
    columns = [table.column(name) for name in target]
    sets: list[list[Any]] = []
    empty = np.zeros(len(table.frame), dtype=bool)
    for row in range(len(table.frame)):
        cells = [column[row] for column in columns]
        if several.kind == "indicator":
            empty[row] = all(cell is None for cell in cells)
            names = [] if empty[row] else _true_columns(cells, target, table, row)
            labels: list[Any] = list(names)
        else:
            labels, names = _labels_of(cells, target, several, table, row)
            empty[row] = not labels
        if path_separator is not None:
            labels = [
                tuple(split_cell(label, path_separator, table, name, row))
                for label, name in zip(labels, names, strict=True)
            ]
        sets.append(list(dict.fromkeys(labels)))
    if empty.any() and not skip_unlabelled:
        row = int(np.argmax(empty))
        raise CommandError(
            f"{table.place(row)}: no label in {', '.join(map(repr, target[:3]))}"
            f"{' ...' if len(target) > 3 else ''}. Fill it in, or use --skip-unlabelled to leave "
            f"such rows out."
        )
    if empty.all():
        raise CommandError(
            f"{table.name}: no row has a label in {target[0]!r}. Fill in labels, or name another "
            "--target."
        )
    rows = np.flatnonzero(~empty)
    labelled, kept = table.take(rows), [sets[row] for row in rows.tolist()]
    if hierarchy is not None:
        kept = _in_hierarchy(kept, hierarchy, labelled)
    elif path_separator is None:
        _check_one_type(kept, labelled)
    y = np.empty(len(kept), dtype=object)
    y[:] = kept
    return labelled, y


def warn_of_separator(
    table: Table, name: str, several: Several, y: Any, path_separator: str | None, quiet: bool
) -> None:
    """Warn that no cell has several labels, and name a likely separator."""
    separator = several.separator
    if separator is None or any(len(labels) > 1 for labels in y):
        return
    texts = [cell for cell in table.column(name) if isinstance(cell, str)]
    others = [other for other in _SEPARATORS if other not in (path_separator or "")]
    n_found = {other: sum(other in text for text in texts) for other in others}
    likely = max(n_found, key=n_found.__getitem__)
    hint = "Check --label-separator."
    if n_found[likely] and likely != separator:
        rows = "row has" if n_found[likely] == 1 else "rows have"
        hint = f"{n_found[likely]:,} {rows} {likely!r}: did you mean --label-separator {likely!r}?"
    _screen.warning(
        f"{table.name}: no cell of {name!r} contains {separator!r}, so every row has one label. "
        f"{hint}",
        quiet,
    )


def _labels_of(
    cells: list[Any], target: list[str], several: Several, table: Table, row: int
) -> tuple[list[Any], list[str]]:
    """The labels of a row, and the column of each."""
    labels: list[Any] = []
    names: list[str] = []
    for cell, name in zip(cells, target, strict=True):
        found = list(cell) if isinstance(cell, list | tuple | np.ndarray) else [cell]
        if several.kind == "separator" and isinstance(cell, str):
            assert several.separator is not None
            found = [part.strip() for part in cell.split(several.separator)]
        for label in map(whole, found):
            if label is None or label == "":
                continue
            if type(label) not in (str, int):
                raise CommandError(
                    f"{table.place(row)}: {shown(label)} in {name!r} cannot be a label: labels "
                    "must be texts or whole numbers, but this is of the type "
                    f"{type(label).__name__}. Convert the column to texts, or name another "
                    "--target."
                )
            labels.append(label)
            names.append(name)
    return labels, names


def _true_columns(cells: list[Any], target: list[str], table: Table, row: int) -> list[str]:
    """The columns of an indicator that are true."""
    found = []
    for cell, name in zip(cells, target, strict=True):
        text = "" if cell is None else str(cell).strip().lower()
        if text in _YES:
            found.append(name)
        elif text not in _NO:
            what = "an empty cell" if cell is None else shown(cell)
            raise CommandError(
                f"{table.place(row)}: {what} in {name!r} is neither yes nor no. In an indicator, "
                "every column of --target must hold 0 and 1, true and false, or yes and no."
            )
    return found


def _check_one_type(sets: list[list[Any]], table: Table) -> None:
    """Reject a mix of texts and whole numbers, which cannot form a hierarchy."""
    first: dict[type, tuple[int, Any]] = {}
    for row, labels in enumerate(sets):
        for label in labels:
            first.setdefault(type(label), (row, label))
    if len(first) > 1:
        (row, one), (place, other) = first.values()
        raise CommandError(
            f"{table.place(place)}: the label {shown(other)} is of the type "
            f"{type(other).__name__}, but {shown(one)} of {table.place(row)} is of the type "
            f"{type(one).__name__}. Convert all labels to texts, or all to whole numbers."
        )


def _in_hierarchy(sets: list[list[Any]], hierarchy: Hierarchy, table: Table) -> list[list[Any]]:
    """Labels in the types of a hierarchy; all of them must exist in it."""
    if hierarchy.identity == "path" and hierarchy.depth > 1:
        return sets  # paths may be new, because they define their own classes
    known = hierarchy.labels.tolist()[1:]
    types = {type(label) for label in known}
    names = {str(label): label for label in known}
    converted = []
    for row, labels in enumerate(sets):
        found = []
        for label in labels:
            if len(types) == 1 and str(label) in names:
                found.append(names[str(label)])
            elif hierarchy.identity == "path":
                found.append(label)
            else:
                close = difflib.get_close_matches(str(label), list(names), n=1)
                remedy = f"Did you mean {close[0]!r}?" if close else "Correct it, or add it there."
                raise CommandError(
                    f"{table.place(row)}: the hierarchy has no class {shown(label)}. {remedy}"
                )
        converted.append(found)
    return converted


def join_labels(labels: list[Any], separator: str, path_separator: str | None) -> str:
    """Labels as one text, with paths in the form in which they were read."""
    texts = [
        (path_separator or " > ").join(map(str, label)) if isinstance(label, tuple) else str(label)
        for label in labels
    ]
    return separator.join(texts)


def check_separable(hierarchy: Hierarchy, several: Several, path: str) -> None:
    """Reject classes that contain the separator of labels: predictions could not be read again."""
    if several.separator is None:
        return
    for label in hierarchy.labels.tolist()[1:]:
        if several.separator.strip() and several.separator in str(label):
            raise CommandError(
                f"{path}: the class {shown(label)} contains {several.separator!r}, which is the "
                "--label-separator. Use another separator."
            )
