"""Options that several commands take, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from hiclass._cli._thresholds import read_min_confidence, read_set_threshold

_FORMATS = ("csv", "tsv", "parquet", "jsonl")


def add_command(
    commands: Any, name: str, text: str, examples: str, usage: str
) -> argparse.ArgumentParser:
    """Add a command with its help, and ``--quiet``."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        # By default, the file comes last, where an option with several values would take it.
        usage=f"%(prog)s {usage}",
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("-q", "--quiet", action="store_true", help="write results and errors only")
    return command


def listed(choices: dict[str, str]) -> str:
    """Names with their descriptions, for the help of an option."""
    return "; ".join(f"{name}: {text}" for name, text in choices.items())


def add_examples(group: Any) -> None:
    """Add ``--examples``."""
    group.add_argument(
        "--examples",
        metavar="COLUMN",
        help="show this column for some wrongly classified rows; by default, the report contains "
        "no rows of the data",
    )


def add_model_file(command: argparse.ArgumentParser) -> None:
    """Add the argument MODEL."""
    command.add_argument("model_file", metavar="MODEL", help="a model file written by hiclass fit")


_TABLE = (
    "a CSV, TSV, Parquet or JSON lines file, also compressed (.gz), or - for standard input; must "
    "come before the options"
)


def add_input(
    command: argparse.ArgumentParser,
    metavar: str = "FILE",
    text: str = _TABLE,
    *,
    required: bool = True,
) -> None:
    """Add the argument FILE, and the options for its format."""
    command.add_argument("file", metavar=metavar, help=text, nargs=None if required else "?")
    group = command.add_argument_group("input")
    group.add_argument(
        "--format",
        choices=_FORMATS,
        help="the format of the file; by default, from its extension, and csv for standard input",
    )
    group.add_argument(
        "--encoding", default="utf-8", help="the encoding of text files (default: utf-8)"
    )
    group.add_argument(
        "--separator",
        metavar="CHARACTER",
        help="the separator between cells (default: a comma in CSV files, a tab in TSV files)",
    )


def add_class_texts(command: argparse.ArgumentParser, text: str) -> None:
    """Add ``--class-texts``."""
    command.add_argument("--class-texts", metavar="FILE", help=text)


def add_output_format(group: Any) -> None:
    """Add ``--output-format``."""
    group.add_argument(
        "--output-format",
        choices=_FORMATS,
        help="the format of the output; by default, from its extension, and csv without one",
    )


def add_target(command: argparse.ArgumentParser) -> None:
    """Add ``--target``."""
    command.add_argument(
        "--target",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="the columns with the labels, from the first level to the last",
    )


def add_label_options(command: argparse.ArgumentParser) -> Any:
    """Add options for incomplete labels; returns the group."""
    group = command.add_argument_group("labels")
    group.add_argument(
        "--truncate-gaps",
        action="store_true",
        help="if labels follow an empty cell, end the path at the empty cell",
    )
    group.add_argument("--skip-unlabelled", action="store_true", help="ignore rows without labels")
    return group


def add_path_separator(group: Any) -> None:
    """Add ``--path-separator``."""
    group.add_argument(
        "--path-separator",
        metavar="TEXT",
        help="the separator of the levels, if the single column of --target holds whole paths, "
        'such as "Loans > Car"',
    )


def add_label_forms(group: Any) -> None:
    """Add ``--path-separator``, and options for several labels per row."""
    add_path_separator(group)
    group.add_argument(
        "--label-separator",
        metavar="TEXT",
        help="the separator of the labels, if the single column of --target holds several labels "
        'per row, such as "cat; dog"',
    )
    group.add_argument(
        "--multi-label",
        choices=["columns", "indicator"],
        help="rows have several labels; columns: every column of --target holds a label or a list "
        "of labels, or is empty; indicator: every column of --target is a class, with the values 1 "
        "and 0, or yes and no",
    )
    group.add_argument(
        "--hierarchy",
        metavar="FILE",
        help="the hierarchy of the classes, if rows have several labels: a table with the columns "
        "parent and child, JSON, or an ontology (.obo); a class may have several parents",
    )


def add_threshold(command: Any) -> None:
    """Add ``--threshold``."""
    command.add_argument(
        "--threshold",
        type=read_set_threshold,
        metavar="P",
        help="if rows have several labels, predict the classes with at least this probability; by "
        "default, one tuned threshold per class; also micro_f1, precision:0.9, cost:1:5 (of a "
        "wrong and of a missed class) and top:3 (the number of classes)",
    )


def add_groups(command: Any) -> None:
    """Add ``--groups``."""
    command.add_argument(
        "--groups",
        metavar="COLUMN",
        help="a column of groups, such as patients; rows of one group are held out together; the "
        "column is not a feature",
    )


def add_feature_columns(command: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of the features."""
    columns = command.add_argument_group(
        "features",
        "By default, features are chosen automatically. With --text, --numbers, --categories or\n"
        "--dates, only the named columns are features.",
    )
    columns.add_argument("--text", nargs="+", metavar="COLUMN", help="columns of text")
    columns.add_argument("--numbers", nargs="+", metavar="COLUMN", help="columns of numbers")
    columns.add_argument("--categories", nargs="+", metavar="COLUMN", help="columns of categories")
    columns.add_argument("--dates", nargs="+", metavar="COLUMN", help="columns of dates")
    columns.add_argument(
        "--ignore", nargs="+", metavar="COLUMN", help="columns that are not features"
    )


def add_decision(command: Any) -> None:
    """Add ``--jobs`` and ``--min-confidence``."""
    add_jobs(command)
    add_min_confidence(command)


def add_jobs(command: Any) -> None:
    """Add ``--jobs``."""
    command.add_argument(
        "--jobs", type=jobs, metavar="N", help="number of parallel jobs; -1 uses all processors"
    )


def add_min_confidence(command: Any) -> None:
    """Add ``--min-confidence``."""
    command.add_argument(
        "--min-confidence",
        type=read_min_confidence,
        metavar="P",
        help="end a path after its deepest class with at least this probability; a number, one "
        "number per level, such as 0.5,0.7,0.9, or a JSON file with one number per class",
    )


def number(convert: Callable[[str], Any], fits: Callable[[Any], bool], needed: str) -> Any:
    """Create the type of an argument that is a number within limits."""

    def read(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"{needed}, not {text!r}")
        return value

    return read


def at_least(least: int) -> Any:
    """Create the type of an argument that is an integer with a minimum."""
    return number(int, lambda value: value >= least, f"an integer of at least {least} is needed")


positive_share = number(
    float, lambda value: 0 < value <= 1, "a number above 0 and up to 1 is needed"
)
inner_share = number(float, lambda value: 0 < value < 1, "a number above 0 and below 1 is needed")
jobs = number(int, bool, "a number of jobs is needed, or -1 for all processors")
port = number(int, lambda value: 0 <= value < 65536, "a port from 0 to 65535 is needed")
