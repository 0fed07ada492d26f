"""The command ``label-errors``: rows of a labelled file whose label is probably wrong."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._inputs import features_of, labelled_for
from hiclass._cli._models import load_model
from hiclass._cli._recipe import set_jobs
from hiclass._cli._tables import Table, check_output, format_of, write_table
from hiclass._inspect.label_errors import LabelErrors, find_label_errors


def find(args: argparse.Namespace) -> None:
    """Rank the rows of a file by the probability that their label is wrong."""
    import pandas as pd

    check_output(args.output, args.model_file, args.file)
    format = format_of(args.output, args.output_format, output=True)
    model = load_model(args.model_file)
    table, y, _ = labelled_for(args, model)
    if args.cv > len(y):
        raise CommandError(f"--cv {args.cv} is more than the {len(y)} rows. Use fewer folds.")
    classifier = model.opened.model
    set_jobs(classifier, args.jobs)
    found = errors_in(table, classifier, features_of(model, table), y, cv=args.cv)
    n_shown = len(found) if args.rows is None else min(args.rows, len(found))
    rows = found.rows[:n_shown]
    columns = {name: table.column(name)[rows] for name in table.frame.columns}
    added = {
        # The row number in the file, even if rows without labels are ignored.
        "row": table.frame.index.to_numpy()[rows] + 1,
        "label_error_probability": found.probability[:n_shown].round(6),
        "label_error_level": found.level[:n_shown],
        "suggested": np.array(
            [" > ".join(map(str, path)) for path in found.suggested[:n_shown]], dtype=object
        ),
    }
    taken = sorted(columns.keys() & added.keys())
    if taken:
        raise CommandError(f"{table.name} already has a column {taken[0]!r}. Rename it.")
    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in (columns | added).items()})
    write_table(frame, args.output, format=format, as_they_are=False)
    shares = ", ".join(f"{share:.1%} at level {i}" for i, share in enumerate(found.shares, start=1))
    _screen.note(f"Estimated share of wrong labels: {shares}", args.quiet)


def errors_in(table: Table, classifier: Any, X: Any, y: Any, *, cv: int = 5) -> LabelErrors:
    """The probably wrong labels of a table; copies of the model are fitted on folds."""
    try:
        return find_label_errors(classifier, X, y, cv=cv)
    except (ValueError, TypeError) as error:
        raise CommandError(f"{table.name}: {error}") from error
