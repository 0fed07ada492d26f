"""The command ``compare``: whether new rows still resemble those of the model."""

from __future__ import annotations

import argparse
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._inputs import features_of, read_rows
from hiclass._cli._models import load_model
from hiclass._cli._recipe import set_jobs
from hiclass._cli._tables import check_output, format_of, write_table
from hiclass._inspect.use import UseComparison, compare_use


def compare(args: argparse.Namespace) -> None:
    """Compare two files as a model sees them, and write what has changed."""
    if args.file == args.now == "-":
        raise CommandError("Only one of the two files can be standard input.")
    if args.output == "-":
        raise CommandError("-o needs the name of a file, because standard output has the changes.")
    format = ""
    if args.output is not None:
        check_output(args.output, args.model_file, args.file, args.now)
        format = format_of(args.output, args.output_format, output=True)
    model = load_model(args.model_file)
    then, now = (features_of(model, read_rows(args, path)) for path in (args.file, args.now))
    classifier = model.opened.model
    set_jobs(classifier, args.jobs)
    found = compare_use(
        classifier,
        then,
        now,
        max_false_alarms=args.max_false_alarms,
        feature_names=model.opened.names_out(None),
    )
    for line in str(found).split("\n"):
        _screen.write(_screen.one_line(line))
    if args.output is not None:
        write_table(_table(found), args.output, format=format)
        _screen.note(f"Wrote {args.output}: all comparisons", args.quiet)


def _table(found: UseComparison) -> Any:
    """All tests, followed by the classes and features that have changed most."""
    import pandas as pd

    alarms = set(found.alarms)
    parts = (("test", found.shifts), ("class", found.classes), ("feature", found.features))
    rows = [
        {
            "kind": kind,
            "what": shift.what,
            "then": shift.then,
            "now": shift.now,
            "p_value": shift.p_value,
            # Classes and features are tested together, not one by one.
            "changed": str(shift in alarms).lower() if kind == "test" else None,
        }
        for kind, shifts in parts
        for shift in shifts
    ]
    return pd.DataFrame(rows)
