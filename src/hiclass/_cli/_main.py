"""The parser of the command line, and the one place that turns errors into exit codes.

0: it worked. 1: it did not, one line on standard error gives the reason and the remedy. 2: the
command was not understood.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError
from hiclass._version import __version__

DESCRIPTION = "Classify rows of a file into a hierarchy of classes."
EXAMPLES = """\
examples:
  hiclass demo
  hiclass tree data.csv --target product sub_product
  hiclass fit data.csv --target product sub_product --text narrative -o model.skops
  hiclass predict model.skops new.csv -o out.csv
  hiclass evaluate model.skops test.csv --report report.html

Every command has its own help: hiclass fit --help
"""
FIT_EXAMPLES = """\
examples:
  hiclass fit data.csv --target product sub_product --text narrative -o model.skops
  hiclass fit animals.parquet --target class order family --cv 5 -o animals.skops
  hiclass fit data.jsonl.gz --target a b --text narrative --model parent -o model.skops

An empty cell in a column of labels ends the path of its row. Without --text, --numbers,
--categories and --dates, the other columns are features, except ids, columns with one value and
columns with a different value in every row. What was chosen is written to standard error with the
reasons, and a warning names every column that alone nearly determines the target.
"""
PREDICT_EXAMPLES = """\
examples:
  hiclass predict model.skops new.csv -o out.csv
  hiclass predict model.skops new.csv.gz --min-confidence 0.8 --keep id -o out.parquet
  cat new.tsv | hiclass predict model.skops - --format tsv > out.csv

Two columns are added for every level: predicted_NAME and confidence_NAME, both empty where a path
has ended. In CSV and TSV, a text that a spreadsheet would run as a formula (it starts with = + - @,
a tab or a line break, and is not a number) gets an apostrophe in front; --unprotected leaves it as
it is. Loading a model runs no code.
"""
EVALUATE_EXAMPLES = """\
examples:
  hiclass evaluate model.skops test.csv
  hiclass evaluate model.skops test.csv --report report.html --min-confidence 0.8
  hiclass evaluate model.skops test.csv --report report.html --examples narrative

"classes here" are the classes of the level that a true or a predicted path of these rows has, and
"reached" is the share of rows whose predicted path gets to the level.
"""
TREE_EXAMPLES = """\
examples:
  hiclass tree data.csv --target product sub_product
  hiclass tree data.csv --target chapter block category --depth 2
"""
DEMO_EXAMPLES = """\
examples:
  hiclass demo                  animals (seconds), then ICD-10-CM (one to two minutes)
  hiclass demo --only animals   the first part alone
"""
_FORMATS = ("csv", "tsv", "parquet", "jsonl")
_NEEDED = ("pandas", "pyarrow", "skops")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status: 0, 1 if something failed, 2 if the arguments are wrong.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter shows its number instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        args = make_parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with warnings.catch_warnings(), _clean_up_when_terminated():
            _show_warnings_in_one_line()
            _run(args)
            sys.stdout.flush()
    except CommandError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # The reader of our output has seen enough: `hiclass tree ... | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail("interrupted", status=130)
    except Exception as error:
        if os.environ.get("HICLASS_TRACEBACK"):
            raise
        text = f"{type(error).__name__}: {error}"
        return _fail(f"{text} (HICLASS_TRACEBACK=1 shows where this happened)")
    return 0


@contextmanager
def _clean_up_when_terminated() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl+C does: what was begun is removed."""

    def stop(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(args: argparse.Namespace) -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"The command line needs {', '.join(missing)}. Install with: "
            f"pip install {' '.join(missing)}"
        )
    if args.command == "demo":
        from hiclass._cli._demo import demo

        demo(args)
        return
    from hiclass._cli import _commands

    getattr(_commands, args.command)(args)


def _fail(message: str, status: int = 1) -> int:
    line = _screen.one_line(" ".join(message.split()))
    sys.stderr.write(f"{_screen.paint('hiclass: error:', 'red', sys.stderr)} {line}\n")
    return status


def _show_warnings_in_one_line() -> None:
    """Write every warning once, as a line."""
    seen: set[str] = set()

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in seen:
            seen.add(line)
            _screen.warning(line)

    warnings.simplefilter("default", UserWarning)
    # Of scikit-learn, about labels with few rows each: usual in a hierarchy.
    warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
    warnings.showwarning = show


# -- the parser --------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser that explains where the file goes: an option with several values takes it as one."""

    def error(self, message: str) -> NoReturn:
        greedy = [a.option_strings[-1] for a in self._actions if a.nargs in ("+", "*")]
        if greedy and "required" in message and "FILE" in message:
            message += f". FILE comes before options that take several columns: {', '.join(greedy)}"
        super().error(message)


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    parser = _Parser(
        prog="hiclass",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hiclass {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="command", required=True, title="commands"
    )
    _add_fit(commands)
    _add_predict(commands)
    _add_evaluate(commands)
    _add_tree(commands)
    _add_demo(commands)
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
    from hiclass._cli._recipe import MODELS

    command = _add_command(
        commands,
        "fit",
        "fit a model on a labelled file",
        FIT_EXAMPLES,
        "FILE --target COLUMN [COLUMN ...] -o FILE [options]",
    )
    _add_input(command)
    _add_target(command)
    _add_label_options(command)
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
    model = command.add_argument_group("model")
    listed = "; ".join(f"{name}: {text}" for name, text in MODELS.items())
    model.add_argument(
        "--model",
        choices=list(MODELS),
        default="recommended",
        help=f"{listed} (default: recommended)",
    )
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
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the model file, such as model.skops"
    )


def _add_predict(commands: Any) -> None:
    command = _add_command(
        commands,
        "predict",
        "predict paths and confidences for a file",
        PREDICT_EXAMPLES,
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
        EVALUATE_EXAMPLES,
        "MODEL FILE [--report FILE] [options]",
    )
    _add_model_file(command)
    _add_input(command)
    _add_label_options(command)
    _add_decision(command)
    report = command.add_argument_group("report")
    report.add_argument("--report", metavar="FILE", help="also write a report as HTML")
    report.add_argument(
        "--examples",
        metavar="COLUMN",
        help="show this column of some rows that the model gets wrong in the report; by default "
        "no row is in it",
    )


def _add_tree(commands: Any) -> None:
    command = _add_command(
        commands,
        "tree",
        "show the hierarchy of a file with counts",
        TREE_EXAMPLES,
        "FILE --target COLUMN [COLUMN ...] [options]",
    )
    _add_input(command)
    _add_target(command)
    _add_label_options(command)
    command.add_argument(
        "--depth", type=_at_least(1), metavar="LEVEL", help="show no class below this level"
    )


def _add_demo(commands: Any) -> None:
    command = _add_command(
        commands, "demo", "fit, score and predict on built-in data", DEMO_EXAMPLES, "[options]"
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


def _add_model_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("model_file", metavar="MODEL", help="a file that hiclass fit wrote")


def _add_input(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file",
        metavar="FILE",
        help="CSV, TSV, Parquet or JSON lines, also compressed (.gz); - is standard input; it "
        "comes before the options",
    )
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


def _add_label_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("labels")
    group.add_argument(
        "--truncate-gaps",
        action="store_true",
        help="end a path at its first empty cell although labels follow",
    )
    group.add_argument(
        "--skip-unlabelled", action="store_true", help="leave out rows without any label"
    )


def _add_decision(command: Any) -> None:
    command.add_argument(
        "--jobs", type=_jobs, metavar="N", help="number of parallel jobs; -1 is all processors"
    )
    command.add_argument(
        "--min-confidence",
        type=_share,
        metavar="P",
        help="end a path after its deepest class with at least this probability",
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


_share = _number(float, lambda value: 0 <= value <= 1, "a number from 0 to 1 is needed")
_jobs = _number(int, bool, "a number of jobs is needed, or -1 for all processors")
