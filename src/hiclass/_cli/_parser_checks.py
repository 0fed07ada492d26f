"""The parsers of the commands that check a model: its guarantee, its labels and its use."""

from __future__ import annotations

from typing import Any

from hiclass._cli import _help
from hiclass._cli._options import (
    add_command,
    add_feature_columns,
    add_groups,
    add_input,
    add_jobs,
    add_label_options,
    add_model_file,
    add_output_format,
    add_path_separator,
    add_target,
    at_least,
    inner_share,
)


def add_guarantee(commands: Any) -> None:
    """Add ``hiclass guarantee``."""
    command = add_command(
        commands,
        "guarantee",
        "choose thresholds that guarantee a limit on wrong labels",
        _help.GUARANTEE,
        "MODEL FILE [--max-error E] [--level NAME ...] -o FILE [options]",
    )
    add_model_file(command)
    add_input(command)
    add_label_options(command)
    promise = command.add_argument_group("promise")
    promise.add_argument(
        "--max-error",
        type=inner_share,
        metavar="E",
        help="the share of the predicted labels that may be wrong (default: 0.05)",
    )
    promise.add_argument(
        "--certainty",
        type=inner_share,
        default=0.95,
        metavar="P",
        help="the probability that the guarantee holds (default: 0.95)",
    )
    promise.add_argument(
        "--level",
        nargs="+",
        metavar="LEVEL",
        help="the levels of the guarantee, by name or number; by default all",
    )
    promise.add_argument(
        "--branch-level",
        metavar="LEVEL",
        help="make a separate guarantee for every class of this level with enough rows",
    )
    promise.add_argument(
        "--costs",
        metavar="FILE",
        help="limit the mean cost instead: a file with the columns of the levels and a column cost "
        "with the cost of a wrong label for rows of a class (other classes: 1)",
    )
    promise.add_argument(
        "--max-cost", type=float, metavar="C", help="the mean cost that is allowed"
    )
    add_jobs(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the new model file: the same model with these thresholds",
    )


def add_label_errors(commands: Any) -> None:
    """Add ``hiclass label-errors``."""
    command = add_command(
        commands,
        "label-errors",
        "find labels that are probably wrong",
        _help.LABEL_ERRORS,
        "MODEL FILE [-o FILE] [--rows N] [options]",
    )
    add_model_file(command)
    add_input(command)
    add_label_options(command)
    command.add_argument(
        "--cv",
        type=at_least(2),
        default=5,
        metavar="FOLDS",
        help="every row is scored by a model fitted on the other folds (default: 5)",
    )
    command.add_argument(
        "--rows",
        type=at_least(1),
        metavar="N",
        help="write only the N most suspicious rows; by default all",
    )
    add_jobs(command)
    command.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="the output file (default: standard output)",
    )
    add_output_format(command)


def add_compare(commands: Any) -> None:
    """Add ``hiclass compare``."""
    command = add_command(
        commands,
        "compare",
        "check without labels whether new rows still resemble the old ones",
        _help.COMPARE,
        "MODEL THEN NOW [-o FILE] [options]",
    )
    add_model_file(command)
    add_input(command, "THEN", "a file with old rows that the model was not fitted on")
    command.add_argument("now", metavar="NOW", help="a file with new rows, in the same format")
    command.add_argument(
        "--max-false-alarms",
        type=inner_share,
        default=0.01,
        metavar="P",
        help="the probability of an alarm if nothing has changed (default: 0.01)",
    )
    add_jobs(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", help="a table of all comparisons, with p-values"
    )
    add_output_format(command)


def add_compare_flat(commands: Any) -> None:
    """Add ``hiclass compare-flat``."""
    command = add_command(
        commands,
        "compare-flat",
        "check by cross-validation whether the hierarchy helps",
        _help.COMPARE_FLAT,
        "FILE --target COLUMN COLUMN [COLUMN ...] [options]",
    )
    add_input(command)
    add_target(command)
    add_path_separator(add_label_options(command))
    add_feature_columns(command)
    add_groups(command)
    command.add_argument(
        "--cv", type=at_least(2), default=3, metavar="FOLDS", help="number of folds (default: 3)"
    )
    command.add_argument(
        "--seed", type=int, default=0, help="the same seed gives the same result (default: 0)"
    )
    add_jobs(command)


def add_checks(command: Any) -> None:
    """Add the options of a report about label errors and changes."""
    command.add_argument(
        "--label-errors",
        action="store_true",
        help="show the rows whose label is probably wrong, found by fitting copies of the model on "
        "five folds of FILE",
    )
    command.add_argument(
        "--compare",
        metavar="THEN",
        help="show what has changed from THEN, old rows that the model was not fitted on, to FILE",
    )
