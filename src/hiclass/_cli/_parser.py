"""The parser of the command line: the commands and their arguments."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from hiclass._cli import _help
from hiclass._cli._options import (
    add_class_texts,
    add_command,
    add_decision,
    add_examples,
    add_feature_columns,
    add_groups,
    add_input,
    add_jobs,
    add_label_forms,
    add_label_options,
    add_min_confidence,
    add_model_file,
    add_output_format,
    add_target,
    add_threshold,
    at_least,
    jobs,
    listed,
    port,
    positive_share,
)
from hiclass._cli._parser_checks import (
    add_checks,
    add_compare,
    add_compare_flat,
    add_guarantee,
    add_label_errors,
)
from hiclass._cli._parser_desk import add_review, add_triage
from hiclass._version import __version__


class _Parser(argparse.ArgumentParser):
    """A parser that explains the place of FILE: an option with several values would take it."""

    def error(self, message: str) -> NoReturn:
        greedy = [a.option_strings[-1] for a in self._actions if a.nargs in ("+", "*")]
        if greedy and "required" in message and "FILE" in message:
            message += f". FILE comes before options that take several columns: {', '.join(greedy)}"
        super().error(message)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found = super().parse_known_args(args, namespace)
        # Class texts alone are sufficient to fit a model.
        if getattr(found[0], "file", "") is None and found[0].class_texts is None:
            self.error("the following arguments are required: FILE")
        return found


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
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


def _add_fit(commands: Any) -> None:
    command = add_command(
        commands,
        "fit",
        "fit a model on a labelled file",
        _help.FIT,
        "[FILE] --target COLUMN [COLUMN ...] -o FILE [options]",
    )
    add_input(command, required=False)
    add_target(command)
    add_label_forms(add_label_options(command))
    add_class_texts(
        command,
        "a file with texts of classes (titles, descriptions): the columns of --target name a "
        "class, all other columns are its texts; classes without rows can then be predicted, and "
        "FILE may be omitted",
    )
    add_feature_columns(command)
    reviewed = command.add_argument_group("reviewed rows")
    reviewed.add_argument(
        "--add",
        metavar="FILE",
        help="also fit on these rows, written by hiclass review; with --cv, scores are reported "
        "with and without them",
    )
    reviewed.add_argument(
        "--update",
        metavar="MODEL",
        help="update this model with the rows of --add instead of fitting on FILE; of its "
        "settings, only --min-confidence and --jobs can change; if the model does not support "
        "updates, a new model is fitted on all rows",
    )
    _add_model_options(command)
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the model file, such as model.skops"
    )


def _add_model_options(command: argparse.ArgumentParser) -> None:
    from hiclass._cli._recipe import DEFAULT_MODEL, EFFORTS, MODELS, OPTIMIZE

    model = command.add_argument_group("model")
    model.add_argument(
        "--model",
        choices=list(MODELS),
        help=f"{listed(MODELS)} (default: {DEFAULT_MODEL})",
    )
    model.add_argument(
        "--optimize",
        choices=list(OPTIMIZE),
        help=f"the score that auto optimises; {listed(OPTIMIZE)} (default: path)",
    )
    model.add_argument(
        "--effort",
        choices=list(EFFORTS),
        help=f"how many models auto tries; {listed(EFFORTS)} (default: balanced)",
    )
    add_groups(model)
    model.add_argument(
        "--cv",
        type=at_least(2),
        metavar="FOLDS",
        help="also report cross-validated scores, with this number of folds",
    )
    model.add_argument("--seed", type=int, help="the same seed gives the same model (default: 0)")
    add_decision(model)
    add_threshold(model)


def _add_predict(commands: Any) -> None:
    command = add_command(
        commands,
        "predict",
        "predict paths and confidences for a file",
        _help.PREDICT,
        "MODEL FILE [-o FILE] [options]",
    )
    add_model_file(command)
    add_input(command)
    add_decision(command)
    add_threshold(command)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="the output file, compressed if its name ends with .gz (default: standard output)",
    )
    add_output_format(output)
    output.add_argument(
        "--keep",
        nargs="*",
        metavar="COLUMN",
        help="the columns of the input to copy; by default all; --keep without columns copies none",
    )
    output.add_argument(
        "--unprotected",
        action="store_true",
        help="do not protect cells that a spreadsheet would run as formulas",
    )


def _add_evaluate(commands: Any) -> None:
    command = add_command(
        commands,
        "evaluate",
        "score a model on a labelled file",
        _help.EVALUATE,
        "MODEL FILE [--baseline FILE] [--report FILE] [options]",
    )
    add_model_file(command)
    add_input(command)
    add_label_options(command)
    add_decision(command)
    add_threshold(command)
    command.add_argument(
        "--baseline",
        metavar="FILE",
        help="also score a flat model with the same features, fitted on this file, which should be "
        "the one that the model was fitted on",
    )
    report = command.add_argument_group("report")
    report.add_argument(
        "--report",
        metavar="FILE",
        help="also write an HTML report, or a model card if the name ends with .md",
    )
    add_examples(report)
    add_checks(report)


def _add_explain(commands: Any) -> None:
    command = add_command(
        commands,
        "explain",
        "explain the prediction of one row",
        _help.EXPLAIN,
        "MODEL FILE [--row N] [-o FILE] [options]",
    )
    add_model_file(command)
    add_input(command)
    command.add_argument(
        "--row",
        type=at_least(1),
        default=1,
        metavar="N",
        help="the number of the row, starting at 1, without the header (default: 1)",
    )
    command.add_argument(
        "--top",
        type=at_least(0),
        default=5,
        metavar="N",
        help="number of features at every step (default: 5)",
    )
    command.add_argument(
        "--runners-up",
        type=at_least(0),
        default=3,
        metavar="N",
        help="number of other classes at every step (default: 3)",
    )
    command.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="the output file: HTML if its name ends with .html, JSON if it ends with .json, "
        "otherwise text (default: text on standard output)",
    )


def _add_report(commands: Any) -> None:
    command = add_command(
        commands,
        "report",
        "write a report on a model as one HTML file, or a model card",
        _help.REPORT,
        "MODEL FILE -o FILE [options]",
    )
    add_model_file(command)
    add_input(command)
    add_label_options(command)
    add_decision(command)
    add_threshold(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the report, such as report.html, or a model card if the name ends with .md",
    )
    command.add_argument("--title", help="the title of the report; by default the name of the file")
    add_examples(command)
    add_checks(command)


def _add_tune(commands: Any) -> None:
    command = add_command(
        commands,
        "tune",
        "choose the confidence at which predicted paths stop, for a given precision",
        _help.TUNE,
        "MODEL FILE [--precision P] -o FILE [options]",
    )
    add_model_file(command)
    add_input(command)
    add_label_options(command)
    command.add_argument(
        "--precision",
        type=positive_share,
        default=0.95,
        metavar="P",
        help="the minimum share of correct labels among the predicted labels (default: 0.95)",
    )
    add_jobs(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the new model file: the same model with the chosen min_confidence",
    )


def _add_serve(commands: Any) -> None:
    from hiclass._serving.service import Limits

    command = add_command(
        commands,
        "serve",
        "predict over HTTP: JSON in, JSON out",
        _help.SERVE,
        "MODEL [--host HOST] [--port PORT] [options]",
    )
    add_model_file(command)
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on (default: 127.0.0.1, reachable from this machine only)",
    )
    command.add_argument(
        "--port",
        type=port,
        default=8000,
        help="the port to listen on; 0 chooses a free port (default: 8000)",
    )
    add_min_confidence(command)
    limits = command.add_argument_group("limits")
    limits.add_argument(
        "--max-rows",
        type=at_least(1),
        default=Limits.max_rows,
        metavar="N",
        help=f"the maximum number of rows per request (default: {Limits.max_rows:,})",
    )
    limits.add_argument(
        "--max-bytes",
        type=at_least(1),
        default=Limits.max_bytes,
        metavar="N",
        help=f"the maximum size of a request in bytes (default: {Limits.max_bytes:,})",
    )
    limits.add_argument(
        "--timeout",
        type=at_least(1),
        default=Limits.timeout,
        metavar="SECONDS",
        help="the maximum time to receive a request, and to predict its rows "
        f"(default: {Limits.timeout} each)",
    )
    limits.add_argument(
        "--threads",
        type=at_least(1),
        default=Limits.threads,
        metavar="N",
        help=f"the number of requests predicted at the same time (default: {Limits.threads})",
    )


def _add_tree(commands: Any) -> None:
    command = add_command(
        commands,
        "tree",
        "show the hierarchy of a labelled file with counts",
        _help.TREE,
        "FILE --target COLUMN [COLUMN ...] [options]",
    )
    add_input(command)
    add_target(command)
    add_label_forms(add_label_options(command))
    command.add_argument(
        "--depth", type=at_least(1), metavar="LEVEL", help="hide classes below this level"
    )
    add_class_texts(
        command,
        "a file with texts of classes: the columns of --target name a class, all other columns are "
        "its texts; titles and classes without rows are shown as well",
    )


def _add_demo(commands: Any) -> None:
    command = add_command(
        commands, "demo", "fit, score and predict on built-in data", _help.DEMO, "[options]"
    )
    command.add_argument("--only", choices=["animals", "icd10cm"], help="run only this part")
    command.add_argument(
        "--jobs", type=jobs, default=2, metavar="N", help="number of processes (default: 2)"
    )
    command.add_argument(
        "--report-dir",
        default=".",
        metavar="FOLDER",
        help="the folder for the reports (default: this folder)",
    )
