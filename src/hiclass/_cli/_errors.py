"""The error class of the command line."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable


class CommandError(Exception):
    """An error and its remedy, in one line."""


def unknown_column(name: str, columns: Iterable[str], place: str) -> CommandError:
    """The error for a column that does not exist, with a similar name if there is one."""
    names = [str(column) for column in columns]
    close = difflib.get_close_matches(name, names, n=1)
    # First, because a whole header in one cell may resemble one of its columns.
    if separated := other_separator(names):
        remedy = separated
    elif close:
        remedy = f"Did you mean {close[0]!r}?"
    else:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        remedy = f"Its columns are: {shown}."
    return CommandError(f"{place} has no column {name!r}. {remedy}")


def other_separator(header: list[str]) -> str:
    """The remedy if the cells seem to have another separator; empty otherwise."""
    marks = [mark for mark in ";\t|," if len(header) == 1 and mark in header[0]]
    if not marks:
        return ""
    option = "--format tsv" if marks[0] == "\t" else f'--separator "{marks[0]}"'
    return f"It seems to have another separator: add {option}."


def require(names: Iterable[str], what: str) -> None:
    """Raise an error with installation instructions if libraries are missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"{what} needs {', '.join(missing)}. Install with: pip install {' '.join(missing)}"
        )
