"""The command ``guarantee``: thresholds that bound errors or costs, chosen on a labelled file."""

from __future__ import annotations

import argparse
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._cli._inputs import features_of, labelled_for
from hiclass._cli._models import load_model, save_model
from hiclass._cli._recipe import set_jobs
from hiclass._cli._tables import check_output, read_table
from hiclass._estimators.promising import guarantee_cost, guarantee_error


def guarantee(args: argparse.Namespace) -> None:
    """Choose thresholds on a labelled file, and save the model with them."""
    if args.output == "-":
        raise CommandError("-o needs the name of a file, such as sure.skops.")
    check_output(args.output, args.file, args.costs)
    if (args.costs is None) != (args.max_cost is None):
        raise CommandError(
            "--costs and --max-cost must be used together. Use both, or --max-error."
        )
    if args.costs is not None and (args.max_error is not None or args.branch_level is not None):
        raise CommandError(
            "--max-error and --branch-level cannot be combined with --costs. Leave --costs out, "
            "or use --max-cost instead."
        )
    model = load_model(args.model_file)
    levels = [level_number(name, model.levels) for name in args.level or []] or None
    branch_level = (
        None if args.branch_level is None else level_number(args.branch_level, model.levels)
    )
    costs = None if args.costs is None else read_costs(args, model.levels)
    table, y, _ = labelled_for(args, model)
    classifier = model.opened.model
    features = features_of(model, table)
    set_jobs(classifier, args.jobs)
    common: dict[str, Any] = {"certainty": args.certainty, "levels": levels}
    try:
        if costs is None:
            limit = 0.05 if args.max_error is None else args.max_error
            found = guarantee_error(
                classifier, features, y, limit, branch_level=branch_level, **common
            )
        else:
            found = guarantee_cost(classifier, features, y, args.max_cost, costs=costs, **common)
    except (ValueError, TypeError) as error:
        raise CommandError(f"{table.name}: {error}") from error
    for line in str(found).split("\n"):
        _screen.write(_screen.one_line(line))
    found.apply(classifier)
    set_jobs(classifier, None)
    save_model(model, args.output)
    _screen.note(f"Wrote {args.output}: the same model with these thresholds", args.quiet)


def level_number(name: str, levels: list[str]) -> int:
    """The number of a level, given by number or name."""
    if name in levels:
        return levels.index(name) + 1
    if name.isdecimal() and 1 <= int(name) <= len(levels):
        return int(name)
    raise CommandError(
        f"{name!r} is not a level of this model. Use one of {', '.join(levels)}, or a number from "
        f"1 to {len(levels)}."
    )


def read_costs(args: argparse.Namespace, levels: list[str]) -> dict[tuple[Any, ...], float]:
    """The cost of a wrong label per class, from a file with columns of levels and ``cost``."""
    table = read_table(args.costs, format=None, encoding=args.encoding, separator=args.separator)
    if "cost" not in table.frame.columns:
        raise CommandError(
            f"{table.name} has no column 'cost'. Give this name to the column with the costs."
        )
    columns = [name for name in levels if name in table.frame.columns]
    if columns != levels[: len(columns)] or not columns:
        raise CommandError(
            f"{table.name} has no column {levels[0]!r}. It needs the columns of the levels, "
            "starting with the first level, and 'cost'."
        )
    cells, values = [table.column(name) for name in columns], table.column("cost")
    costs: dict[tuple[Any, ...], float] = {}
    for row, value in enumerate(values):
        path = [column[row] for column in cells]
        try:
            costs[tuple(label for label in path if label not in (None, ""))] = float(value)
        except (TypeError, ValueError) as error:
            raise CommandError(
                f"{table.place(row)}: the cost {value!r} is not a number. Correct it."
            ) from error
    return costs
