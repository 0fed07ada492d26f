"""The command ``review``: people code the rows of a queue on a local web page.

Decisions are written one by one to a journal next to the output. The output is created from the
journal when the desk starts and when it stops.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError, require
from hiclass._cli._inputs import read_unprotected
from hiclass._cli._models import load_summary
from hiclass._cli._paths import join_paths
from hiclass._cli._serve import NEEDED, open_port
from hiclass._cli._tables import cannot_write, check_output, format_of, write_table
from hiclass._inspect.queues import taxonomy_mark
from hiclass._serving.desk.app import Door, make_desk_app
from hiclass._serving.desk.desk import SKIPPED, Desk
from hiclass._serving.desk.journal import Journal, JournalError
from hiclass._serving.desk.queue import QueueError, read_queue
from hiclass._serving.server import address_of, run

#: The columns of a reviewed file besides those of the labels.
REVIEW, SUGGESTION = "review", "review_suggestion"
COMMENT, BY, AT = "review_comment", "review_by", "review_at"
#: The values of the first of them.
ACCEPTED, CORRECTED, SKIP = "accepted", "corrected", "skipped"


def review(args: argparse.Namespace) -> None:
    """Let people code a queue until Ctrl+C or SIGTERM, then write their decisions."""
    require(NEEDED, "hiclass review")
    if args.output == "-":
        raise CommandError(
            "-o needs the name of a file, because the journal is written next to it."
        )
    for path in (args.output, f"{args.output}.journal"):
        check_output(path, args.file, args.model)
    if Path(args.output).exists() and not Path(args.output).is_file():
        raise CommandError(
            f"{args.output} is not a regular file, so the journal cannot be written next to it. "
            "Choose another file."
        )
    format = format_of(args.output, None, output=True, option=False)
    desk, target, separator = open_desk(args)
    try:
        _describe(args, desk)
        if not args.write:
            _serve(args, desk)
        frame = reviewed_frame(desk, target, separator)
        write_table(frame, args.output, format=format)
    finally:
        desk.journal.close()
    skipped = int((frame[REVIEW] == SKIP).sum())
    more = f", {skipped:,} skipped" if skipped else ""
    learn = f" Learn from it with: hiclass fit DATA --add {args.output} ..."
    _screen.note(
        f"Wrote {args.output}: {_screen.count(len(frame) - skipped, 'row')} coded{more}."
        f"{learn if skipped < len(frame) else ''}",
        args.quiet,
    )


def open_desk(args: argparse.Namespace) -> tuple[Desk, list[str], str | None]:
    """Open the queue and the journal of a command.

    Parameters
    ----------
    args : Namespace
        The arguments of ``hiclass review``.

    Returns
    -------
    desk : Desk
        The desk.
    target : list of str
        The columns of the labels.
    separator : str or None
        The separator of levels if one column holds whole paths.
    """
    model = load_summary(args.model)
    table = read_unprotected(args)
    hierarchy = model.hierarchy
    columns = {name: table.column(name) for name in table.frame.columns}
    mark = model_mark(args.model)
    try:
        queue = read_queue(columns, model.features, hierarchy, mark)
    except QueueError as error:
        place = table.name if error.row is None else table.place(error.row)
        raise CommandError(f"{place}: {error}") from error
    header = {
        "hiclass": "review 1",
        "queue": _mark_of(columns),
        "taxonomy": taxonomy_mark(hierarchy),
    }
    path = Path(f"{args.output}.journal")
    try:
        journal = Journal(path, header)
    except JournalError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise cannot_write(path, error) from error
    if journal.torn:
        _screen.warning(
            f"{path}: the last line was unfinished when the desk was killed ({journal.torn} "
            "bytes). It had not been confirmed and was removed.",
            args.quiet,
        )
    title = Path(table.name).name
    desk = Desk(queue, hierarchy, journal, levels=model.levels, title=title)
    return desk, model.target, model.separator


def model_mark(path: str) -> str:
    """A short text that identifies a model file by its content."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _mark_of(columns: dict[str, Any]) -> str:
    """A short text that identifies a queue by its content."""
    total = hashlib.sha256()
    for name, cells in columns.items():
        total.update(repr(name).encode())
        for cell in cells:
            total.update(repr(cell).encode(errors="surrogatepass") + b"\n")
    return total.hexdigest()[:16]


def _describe(args: argparse.Namespace, desk: Desk) -> None:
    done = desk.progress()
    _screen.note(
        f"{_screen.count(done['total'], 'row')}: {done['coded']:,} coded, {done['skipped']:,} "
        f"skipped, {done['left']:,} left; decisions go to {desk.journal.path}",
        args.quiet,
    )


def _serve(args: argparse.Namespace, desk: Desk) -> None:
    opened = open_port("127.0.0.1", args.port)
    door = Door(opened.getsockname()[1])
    # Printed even with --quiet, because the address is the purpose of the command.
    _screen.note(f"Open {address_of(opened)}/?token={door.token}")
    _screen.note("Press Ctrl+C to stop and write the result.", args.quiet)
    run(make_desk_app(desk, door), opened)


def reviewed_frame(desk: Desk, target: list[str], separator: str | None) -> Any:
    """The rows with decisions, as a labelled table.

    Parameters
    ----------
    desk : Desk
        The queue and the decisions.
    target : list of str
        The columns of the labels.
    separator : str or None
        The separator of levels if one column holds whole paths.

    Returns
    -------
    DataFrame
        In the order of the queue. Rows that were skipped have no labels.
    """
    import pandas as pd

    decided = desk.decisions()
    rows = list(decided)
    labels = np.full((len(rows), len(desk.levels)), None, dtype=object)
    added: dict[str, list[Any]] = {name: [] for name in (REVIEW, SUGGESTION, COMMENT, BY, AT)}
    for place, (row, decision) in enumerate(decided.items()):
        rank = None
        if decision.node != SKIPPED:
            path = desk.hierarchy.path(decision.node)
            labels[place, : len(path)] = path
            suggested = desk.queue.suggestions[row].tolist()
            rank = suggested.index(decision.node) + 1 if decision.node in suggested else None
        kind = SKIP if decision.node == SKIPPED else ACCEPTED if rank == 1 else CORRECTED
        cells = (kind, rank, decision.comment or None, decision.by, decision.at)
        for name, cell in zip(added, cells, strict=True):
            added[name].append(cell)
    columns: dict[str, Any] = {name: cells[rows] for name, cells in desk.queue.cells.items()}
    if separator is not None:
        columns[target[0]] = join_paths(labels, separator)
    else:
        columns |= {name: labels[:, level] for level, name in enumerate(target)}
    columns |= added
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
