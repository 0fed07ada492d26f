"""The entry point of the command line, and the only place that converts errors to exit codes.

0: success. 2: the command, a file or its content is invalid; one line on standard error names the
problem, the place and the remedy. 1: another failure.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError, require
from hiclass._cli._parser import make_parser

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
        The exit status: 0, 2 if the command or its input is wrong, 1 if something else failed.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal without a character shows its code instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        # Without a command, the list of commands is what is wanted.
        args = make_parser().parse_args((sys.argv[1:] if argv is None else argv) or ["--help"])
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with warnings.catch_warnings(), _clean_up_when_terminated():
            _show_warnings_in_one_line()
            _run(args)
            sys.stdout.flush()
    except CommandError as error:
        return _fail(str(error), status=2)
    except BrokenPipeError:
        # The reader of the output has stopped: `hiclass tree ... | head`.
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
    """Let SIGTERM end the program like Ctrl+C: unfinished files are removed."""

    def stop(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(args: argparse.Namespace) -> None:
    require(_NEEDED, "The command line")
    # A command imports only what it needs.
    if args.command == "demo":
        from hiclass._cli._demo import demo

        demo(args)
    elif args.command == "fit":
        from hiclass._cli._sets import several_of

        several = several_of(args)
        if several is None:
            from hiclass._cli._fit import fit

            fit(args)
        else:
            from hiclass._cli._fit_sets import fit_sets

            fit_sets(args, several)
    elif args.command == "label-errors":
        from hiclass._cli._label_errors import find

        find(args)
    elif args.command == "compare":
        from hiclass._cli._compare import compare

        compare(args)
    elif args.command == "compare-flat":
        from hiclass._cli._compare_flat import compare

        compare(args)
    elif args.command == "guarantee":
        from hiclass._cli._guarantee import guarantee

        guarantee(args)
    elif args.command == "serve":
        from hiclass._cli._serve import serve

        serve(args)
    elif args.command == "triage":
        from hiclass._cli._triage import triage

        triage(args)
    elif args.command == "review":
        from hiclass._cli._review import review

        review(args)
    else:
        from hiclass._cli import _commands

        getattr(_commands, args.command)(args)


def _fail(message: str, status: int = 1) -> int:
    line = _screen.one_line(" ".join(message.split()))
    sys.stderr.write(f"{_screen.paint('hiclass: error:', 'red', sys.stderr)} {line}\n")
    return status


def _show_warnings_in_one_line() -> None:
    """Write every warning once, in one line."""
    seen: set[str] = set()

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in seen:
            seen.add(line)
            _screen.warning(line)

    warnings.simplefilter("default", UserWarning)
    # A warning of scikit-learn about labels with few rows each, which is usual in a hierarchy.
    warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
    warnings.showwarning = show
