"""The command ``triage``: sure rows with their codes go to one file, the others to a queue."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._commands import added_columns
from hiclass._cli._errors import CommandError
from hiclass._cli._features import placed, prepare
from hiclass._cli._guarantee import level_number, read_costs
from hiclass._cli._inputs import features_of, labelled_for, read_rows
from hiclass._cli._models import Model, load_model
from hiclass._cli._recipe import set_jobs
from hiclass._cli._review import model_mark
from hiclass._cli._tables import Table, check_output, format_of, write_table
from hiclass._estimators.guarantees import guarantee_of
from hiclass._estimators.promising import guarantee_error
from hiclass._inference.confidence import is_set
from hiclass._inspect.queues import queue_columns
from hiclass._inspect.triage import Triage
from hiclass._inspect.triage import triage as triage_rows


def triage(args: argparse.Namespace) -> None:
    """Write the sure rows to one file, and a queue of the other rows to another file."""
    outputs = (args.output, args.review)
    for path in outputs:
        if path == "-":
            raise CommandError(
                "-o and --review need names of files, because there are two results."
            )
        check_output(path, args.model_file, args.file, args.labelled, args.costs)
        format_of(path, None, output=True, option=False)
    # A file may have several names, and the queue would replace the sure rows.
    if len({Path(path).resolve() for path in outputs}) < 2:
        raise CommandError(f"-o and --review are both {args.output}. Use two different files.")
    model = load_model(args.model_file)
    table = read_rows(args)
    found = _find(args, model, table)
    done = added_columns(model, found.predicted, found.confidence.round(6))
    sure = found.sure.nonzero()[0]
    marks = queue_columns(found, model.features.columns_, model_mark(args.model_file))
    # Both are created before one is written, so that an error leaves no partial result.
    queue = _joined(table, found.review, marks)
    coded = _joined(table, sure, {name: cells[sure] for name, cells in done.items()})
    for frame, path in ((queue, args.review), (coded, args.output)):
        write_table(frame, path, format=format_of(path, None, output=True))
    _describe(args, found)


def _find(args: argparse.Namespace, model: Model, table: Table) -> Triage:
    """Separate the rows by the thresholds that the options set."""
    classifier = model.opened.model
    level = None if args.level is None else level_number(args.level, model.levels)
    _set_thresholds(args, model, level)
    costs = None if args.costs is None else read_costs(args, model.levels)
    X = prepare(table, model.features.columns_)
    set_jobs(classifier, args.jobs)
    options: dict[str, Any] = {"k": args.suggestions, "order": args.order, "costs": costs}
    try:
        with placed(table):
            return triage_rows(model.pipeline, X, level=level, **options)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error


def _set_thresholds(args: argparse.Namespace, model: Model, level: int | None) -> None:
    """Set the thresholds: the given ones, or those for a limit of errors."""
    classifier = model.opened.model
    for option, value in (("--labelled", args.labelled), ("--certainty", args.certainty)):
        if value is not None and args.max_error is None:
            raise CommandError(f"{option} requires --max-error. Add --max-error E.")
    if args.max_error is None:
        if args.min_confidence is not None:
            classifier.set_params(min_confidence=args.min_confidence)
        thresholds = classifier.get_params(deep=False).get("min_confidence", 0.0)
        if not is_set(thresholds) and guarantee_of(model.pipeline) is None:
            raise CommandError(
                f"{args.model_file} has no thresholds, so every row would be sure. Use --max-error "
                "0.05 with --labelled FILE, --min-confidence, or a model of hiclass guarantee."
            )
        return
    if args.min_confidence is not None:
        raise CommandError(
            "--max-error and --min-confidence cannot be combined, because both set thresholds. "
            "Leave one of them out."
        )
    if args.labelled is None:
        _check_promise(args, model, level)
        return
    table, y, _ = labelled_for(args, model, args.labelled)
    try:
        found = guarantee_error(
            classifier,
            features_of(model, table),
            y,
            args.max_error,
            certainty=args.certainty or 0.95,
            levels=level,
        )
    except (ValueError, TypeError) as error:
        raise CommandError(f"{table.name}: {error}") from error
    for line in str(found).split("\n"):
        _screen.note(line, args.quiet)
    found.apply(classifier)


def _check_promise(args: argparse.Namespace, model: Model, level: int | None) -> None:
    """Reject a limit that the guarantee of the model does not cover."""
    found = guarantee_of(model.pipeline)
    remedy = (
        "Pass labelled rows with --labelled FILE, or create a model with such a guarantee: "
        f"hiclass guarantee {args.model_file} FILE --max-error {args.max_error:g} -o MODEL."
    )
    if found is None or found.kind != "error":
        raise CommandError(f"{args.model_file} has no guarantee about errors. {remedy}")
    if args.certainty is not None and found.certainty < args.certainty:
        raise CommandError(
            f"The guarantee of {args.model_file} has a certainty of {found.certainty:g}, not "
            f"{args.certainty:g}. {remedy}"
        )
    for number in range(1, len(model.levels) + 1) if level is None else [level]:
        limits = [promise.limit for promise in found.promises if promise.level == number]
        if not limits:
            raise CommandError(
                f"{args.model_file} has no guarantee for level {number}, "
                f"{model.levels[number - 1]!r}. {remedy}"
            )
        if max(limits) > args.max_error:
            raise CommandError(
                f"{args.model_file} guarantees an error of at most {max(limits):.4g} at level "
                f"{number}, not {args.max_error:g}. {remedy}"
            )


def _joined(table: Table, rows: Any, added: dict[str, Any]) -> Any:
    """Some rows of a table with further columns, as a frame."""
    import pandas as pd

    frame = table.frame.iloc[rows]
    columns = {name: frame[name].to_numpy(dtype=object) for name in frame.columns}
    for name in added:
        if name in columns:
            raise CommandError(
                f"{table.name} already has a column {name!r}, which triage adds. Rename it."
            )
    columns |= added
    return pd.DataFrame({n: pd.Series(cells, dtype=cells.dtype) for n, cells in columns.items()})


def _describe(args: argparse.Namespace, found: Triage) -> None:
    n_sure, n_rows = int(found.sure.sum()), len(found.sure)
    _screen.note(
        f"{n_sure:,} of {n_rows:,} rows ({n_sure / n_rows:.1%}) are sure: wrote {args.output}. "
        f"{_screen.count(len(found.review), 'row')} for review: wrote {args.review}",
        args.quiet,
    )
    if found.note:
        _screen.note(found.note, args.quiet)
    if len(found.review):
        _screen.note(
            f"Code them with: hiclass review {args.review} --model {args.model_file} -o FILE",
            args.quiet,
        )
