"""The error class of the command line."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable


class CommandError(Exception):
    """What went wrong and what to do about it, in one line."""


def unknown_column(name: str, columns: Iterable[str], place: str) -> CommandError:
    """The error that a file has no such column, with the one that may be meant."""
    names = [str(column) for column in columns]
    close = difflib.get_close_matches(name, names, n=1)
    # First, as a whole header in one cell may be close to one of its columns.
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        remedy = "It seems to have another separator: see --separator."
    elif close:
        remedy = f"Did you mean {close[0]!r}?"
    else:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        remedy = f"Its columns are: {shown}."
    return CommandError(f"{place} has no column {name!r}. {remedy}")


def require(names: Iterable[str], what: str) -> None:
    """Refuse to go on where libraries are missing, with how to get them."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"{what} needs {', '.join(missing)}. Install with: pip install {' '.join(missing)}"
        )
