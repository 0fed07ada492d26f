"""The parser of the command line: which commands there are, and what they take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from hiclass._cli import _help
from hiclass._cli._thresholds import read_min_confidence
from hiclass._version import __version__

_FORMATS = ("csv", "tsv", "parquet", "jsonl")


class _Parser(argparse.ArgumentParser):
    """A parser that explains where the file goes: an option with several values takes it as one."""

    def error(self, message: str) -> NoReturn:
        greedy = [a.option_strings[-1] for a in self._actions if a.nargs in ("+", "*")]
        if greedy and "required" in message and "FILE" in message:
            message += f". FILE comes before options that take several columns: {', '.join(greedy)}"
        super().error(message)


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    from hiclass._cli._parser_checks import (
        add_compare,
        add_compare_flat,
        add_guarantee,
        add_label_errors,
    )
    from hiclass._cli._parser_desk import add_review, add_triage

    parser = _Parser(
        prog="hiclass",
        description=_help.DESCRIPTION,
        epilog=_help.GENERAL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hiclass {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="command", required=True, title="commands"
    )
    for add in (
        _add_tree,
        _add_fit,
        _add_evaluate,
        _add_explain,
        _add_report,
        _add_tune,
        add_guarantee,
        add_label_errors,
        add_compare,
        add_compare_flat,
        _add_predict,
        add_triage,
        add_review,
        _add_serve,
        _add_demo,
    ):
        add(commands)
    return parser


def _add_command(
    commands: Any, name: str, text: str, examples: str, usage: str
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        # By default the file comes last, where an option with several values would take it.
        usage=f"%(prog)s {usage}",
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("-q", "--quiet", action="store_true", help="write results and errors only")
    return command


def _add_fit(commands: Any) -> None:
    command = _add_command(
        commands,
        "fit",
        "fit a model on a labelled file",
        _help.FIT,
        "FILE --target COLUMN [COLUMN ...] -o FILE [options]",
    )
    _add_input(command)
    _add_target(command)
    _add_path_separator(_add_label_options(command))
    _add_feature_columns(command)
    reviewed = command.add_argument_group("reviewed rows")
    reviewed.add_argument(
        "--add",
        metavar="FILE",
        help="also learn these rows, which hiclass review has written; with --cv, scores are given "
        "with and without them",
    )
    reviewed.add_argument(
        "--update",
        metavar="MODEL",
        help="learn the rows of --add on top of this model, without those of FILE; a model that "
        "cannot is fitted on all rows",
    )
    _add_model_options(command)
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the model file, such as model.skops"
    )


def _add_groups(command: Any) -> None:
    command.add_argument(
        "--groups",
        metavar="COLUMN",
        help="rows with the same value here, such as a patient, stay together wherever some rows "
        "are held out; the column is not a feature",
    )


def _add_feature_columns(command: argparse.ArgumentParser) -> None:
    columns = command.add_argument_group(
        "features",
        "Chosen by their cells. If --text, --numbers, --categories or --dates name any, these are "
        "all.",
    )
    columns.add_argument("--text", nargs="+", metavar="COLUMN", help="columns of text")
    columns.add_argument("--numbers", nargs="+", metavar="COLUMN", help="columns of numbers")
    columns.add_argument("--categories", nargs="+", metavar="COLUMN", help="columns of categories")
    columns.add_argument("--dates", nargs="+", metavar="COLUMN", help="columns of dates")
    columns.add_argument(
        "--ignore", nargs="+", metavar="COLUMN", help="columns that are not features"
    )


def _add_model_options(command: argparse.ArgumentParser) -> None:
    from hiclass._cli._recipe import EFFORTS, MODELS, OPTIMIZE

    model = command.add_argument_group("model")
    model.add_argument(
        "--model", choices=list(MODELS), default="auto", help=f"{_listed(MODELS)} (default: auto)"
    )
    model.add_argument(
        "--optimize",
        choices=list(OPTIMIZE),
        help=f"what the predictions of auto are best at; {_listed(OPTIMIZE)} (default: path)",
    )
    model.add_argument(
        "--effort",
        choices=list(EFFORTS),
        help=f"how much auto tries out; {_listed(EFFORTS)} (default: balanced)",
    )
    _add_groups(model)
    model.add_argument(
        "--cv",
        type=_at_least(2),
        metavar="FOLDS",
        help="first write scores by cross-validation with so many folds",
    )
    model.add_argument(
        "--seed", type=int, default=0, help="the same one gives the same model (default: 0)"
    )
    _add_decision(model)


def _listed(choices: dict[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in choices.items())


def _add_predict(commands: Any) -> None:
    command = _add_command(
        commands,
        "predict",
        "predict paths and confidences for a file",
        _help.PREDICT,
        "MODEL FILE [-o FILE] [options]",
    )
    _add_model_file(command)
    _add_input(command)
    _add_decision(command)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="by default standard output; compressed if its name ends with .gz",
    )
    output.add_argument(
        "--output-format",
        choices=_FORMATS,
        help="by default told by the name of the output; csv if it has no extension",
    )
    output.add_argument(
        "--keep",
        nargs="*",
        metavar="COLUMN",
        help="columns of the input to copy; by default all, with --keep alone none",
    )
    output.add_argument(
        "--unprotected",
        action="store_true",
        help="do not protect cells that a spreadsheet would run as formulas",
    )


def _add_evaluate(commands: Any) -> None:
    command = _add_command(
        commands,
        "evaluate",
        "score a model on a labelled file",
        _help.EVALUATE,
        "MODEL FILE [--baseline FILE] [--report FILE] [options]",
    )
    _add_model_file(command)
    _add_input(command)
    _add_label_options(command)
    _add_decision(command)
    command.add_argument(
        "--baseline",
        metavar="FILE",
        help="also score a flat model of the same features, fitted on this file: the labelled rows "
        "that the model was fitted on",
    )
    report = command.add_argument_group("report")
    report.add_argument("--report", metavar="FILE", help="also write a report as HTML")
    _add_examples(report)


def _add_examples(group: Any) -> None:
    group.add_argument(
        "--examples",
        metavar="COLUMN",
        help="show this column of some rows that the model gets wrong in the report; by default "
        "no row is in it",
    )


def _add_explain(commands: Any) -> None:
    command = _add_command(
        commands,
        "explain",
        "explain the prediction of one row",
        _help.EXPLAIN,
        "MODEL FILE [--row N] [-o FILE] [options]",
    )
    _add_model_file(command)
    _add_input(command)
    command.add_argument(
        "--row",
        type=_at_least(1),
        default=1,
        metavar="N",
        help="which row of the file, from 1; a header is not counted (default: 1)",
    )
    command.add_argument(
        "--top",
        type=_at_least(0),
        default=5,
        metavar="N",
        help="so many features at every step (default: 5)",
    )
    command.add_argument(
        "--runners-up",
        type=_at_least(0),
        default=3,
        metavar="N",
        help="so many other classes at every step (default: 3)",
    )
    command.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="a page if its name ends with .html, data if it ends with .json, otherwise text; by "
        "default text on standard output",
    )


def _add_report(commands: Any) -> None:
    from hiclass._cli._parser_checks import add_checks

    command = _add_command(
        commands,
        "report",
        "write a report on a model as one HTML file",
        _help.REPORT,
        "MODEL FILE -o FILE [options]",
    )
    _add_model_file(command)
    _add_input(command)
    _add_label_options(command)
    _add_decision(command)
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the report, such as report.html"
    )
    command.add_argument("--title", help="the title of the report; by default the name of the file")
    _add_examples(command)
    add_checks(command)


def _add_tune(commands: Any) -> None:
    command = _add_command(
        commands,
        "tune",
        "choose the confidence below which predicted paths end",
        _help.TUNE,
        "MODEL FILE [--precision P] -o FILE [options]",
    )
    _add_model_file(command)
    _add_input(command)
    _add_label_options(command)
    command.add_argument(
        "--precision",
        type=_positive_share,
        default=0.95,
        metavar="P",
        help="the share of predicted labels that has to be right (default: 0.95)",
    )
    _add_jobs(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the new model file: the same model with another min_confidence",
    )


def _add_serve(commands: Any) -> None:
    from hiclass._serving.service import Limits

    command = _add_command(
        commands,
        "serve",
        "predict over HTTP: JSON in, JSON out",
        _help.SERVE,
        "MODEL [--host HOST] [--port PORT] [options]",
    )
    _add_model_file(command)
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen at; by default 127.0.0.1, which only this machine can reach",
    )
    command.add_argument(
        "--port",
        type=_port,
        default=8000,
        help="the port to listen at; 0 is any that is free (default: 8000)",
    )
    _add_min_confidence(command)
    limits = command.add_argument_group("limits")
    limits.add_argument(
        "--max-rows",
        type=_at_least(1),
        default=Limits.max_rows,
        metavar="N",
        help=f"rows of one request (default: {Limits.max_rows:,})",
    )
    limits.add_argument(
        "--max-bytes",
        type=_at_least(1),
        default=Limits.max_bytes,
        metavar="N",
        help=f"length of one request (default: {Limits.max_bytes:,})",
    )
    limits.add_argument(
        "--timeout",
        type=_at_least(1),
        default=Limits.timeout,
        metavar="SECONDS",
        help="for a request to arrive, and for it to be predicted "
        f"(default: {Limits.timeout} each)",
    )
    limits.add_argument(
        "--threads",
        type=_at_least(1),
        default=Limits.threads,
        metavar="N",
        help=f"requests that are predicted at a time (default: {Limits.threads})",
    )


def _add_tree(commands: Any) -> None:
    command = _add_command(
        commands,
        "tree",
        "show the hierarchy of a file with counts",
        _help.TREE,
        "FILE --target COLUMN [COLUMN ...] [options]",
    )
    _add_input(command)
    _add_target(command)
    _add_path_separator(_add_label_options(command))
    command.add_argument(
        "--depth", type=_at_least(1), metavar="LEVEL", help="show no class below this level"
    )
    command.add_argument(
        "--class-texts",
        metavar="FILE",
        help="also show the titles of classes in this file, and its classes without rows: the "
        "columns of --target name a class, all others have texts of it",
    )


def _add_demo(commands: Any) -> None:
    command = _add_command(
        commands, "demo", "fit, score and predict on built-in data", _help.DEMO, "[options]"
    )
    command.add_argument("--only", choices=["animals", "icd10cm"], help="run this part alone")
    command.add_argument(
        "--jobs", type=_jobs, default=2, metavar="N", help="number of processes (default: 2)"
    )
    command.add_argument(
        "--report-dir",
        default=".",
        metavar="FOLDER",
        help="where the reports go (default: this folder)",
    )


# -- what commands share -----------------------------------------------------------------------


def _add_model_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("model_file", metavar="MODEL", help="a file that hiclass fit wrote")


_TABLE = (
    "CSV, TSV, Parquet or JSON lines, also compressed (.gz); - is standard input; it comes before "
    "the options"
)


def _add_input(command: argparse.ArgumentParser, metavar: str = "FILE", text: str = _TABLE) -> None:
    command.add_argument("file", metavar=metavar, help=text)
    group = command.add_argument_group("input")
    group.add_argument(
        "--format",
        choices=_FORMATS,
        help="by default told by the name of the file; csv for standard input",
    )
    group.add_argument(
        "--encoding", default="utf-8", help="encoding of text files (default: utf-8)"
    )
    group.add_argument(
        "--separator",
        metavar="CHARACTER",
        help="between the cells of CSV files; by default a comma, in TSV a tab",
    )


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="columns of the labels, from the first level to the last",
    )


def _add_label_options(command: argparse.ArgumentParser) -> Any:
    group = command.add_argument_group("labels")
    group.add_argument(
        "--truncate-gaps",
        action="store_true",
        help="end a path at its first empty cell although labels follow",
    )
    group.add_argument(
        "--skip-unlabelled", action="store_true", help="leave out rows without any label"
    )
    return group


def _add_path_separator(group: Any) -> None:
    group.add_argument(
        "--path-separator",
        metavar="TEXT",
        help='the one column of --target holds whole paths, such as "Loans > Car", with this '
        "between the levels",
    )


def _add_decision(command: Any) -> None:
    _add_jobs(command)
    _add_min_confidence(command)


def _add_jobs(command: Any) -> None:
    command.add_argument(
        "--jobs", type=_jobs, metavar="N", help="number of parallel jobs; -1 is all processors"
    )


def _add_min_confidence(command: Any) -> None:
    command.add_argument(
        "--min-confidence",
        type=read_min_confidence,
        metavar="P",
        help="end a path after its deepest class with at least this probability; also one number "
        "per level, such as 0.5,0.7,0.9, or a JSON file with one per class",
    )


def _number(convert: Callable[[str], Any], fits: Callable[[Any], bool], needed: str) -> Any:
    """Make the type of an argument that is a number within limits."""

    def read(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"{needed}, not {text!r}")
        return value

    return read


def _at_least(least: int) -> Any:
    return _number(int, lambda value: value >= least, f"an integer of at least {least} is needed")


_positive_share = _number(
    float, lambda value: 0 < value <= 1, "a number above 0 and up to 1 is needed"
)
_inner_share = _number(float, lambda value: 0 < value < 1, "a number above 0 and below 1 is needed")
_jobs = _number(int, bool, "a number of jobs is needed, or -1 for all processors")
_port = _number(int, lambda value: 0 <= value < 65536, "a port from 0 to 65535 is needed")
