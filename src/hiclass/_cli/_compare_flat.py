"""The command ``compare-flat``: whether the hierarchy of a file helps."""

from __future__ import annotations

import argparse
from itertools import chain

from hiclass._automatic.kinds import KINDS
from hiclass._cli import _screen
from hiclass._cli._columns import choose_columns
from hiclass._cli._errors import CommandError
from hiclass._cli._features import make_features, prepare
from hiclass._cli._fit import describe_columns, read_group_column, reserved_columns
from hiclass._cli._inputs import labelled_rows, read_rows
from hiclass._cli._labels import check_types
from hiclass._cli._paths import check_separator
from hiclass._inspect.flat_comparison import compare_flat


def compare(args: argparse.Namespace) -> None:
    """Cross-validate a flat model, a local model and both on a file, and write the result."""
    check_separator(args.path_separator, args.target)
    table, y = labelled_rows(args, read_rows(args), args.target, args.path_separator)
    check_types(table, args.target, y)
    groups = read_group_column(args, table)
    named = {kind: list(getattr(args, kind) or []) for kind in KINDS}
    choice = choose_columns(table, args.target, named, reserved_columns(args))
    describe_columns(args, choice)
    try:
        found = compare_flat(
            prepare(table, chain.from_iterable(choice.columns.values())),
            y,
            features=make_features(choice.columns),
            cv=args.cv,
            groups=groups,
            n_jobs=args.jobs,
            random_state=args.seed,
            progress=lambda n: _screen.note(f"Fold {n} of {args.cv}", args.quiet),
        )
    except (ValueError, TypeError) as error:
        raise CommandError(f"{table.name}: {error}") from error
    rows = _screen.count(found.n_samples, "row")
    _screen.heading(f"Does the hierarchy help? {args.cv} folds, {rows}")
    _screen.write(str(found))
