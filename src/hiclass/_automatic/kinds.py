"""The kinds of columns: text, numbers, categories or dates, and why others are excluded.

Columns that the user names have the given kind. The kind of other columns is inferred from their
cells. Columns that identify rows without information about other rows (ids, one value per row) are
excluded.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._automatic.cells import Cells, Columns, to_number
from hiclass._automatic.dates import is_compact_date, is_date, is_day_first, to_seconds
from hiclass._typing import FloatArray

KINDS = ("text", "numbers", "categories", "dates")

# The smallest number of words per cell of a text column of strings, and the largest number of
# values of a category.
_WORDS, _VALUES, _SHARE = 4, 50, 0.1
# With at least this many rows, numbers that count the rows, increase or decrease are an id. With
# fewer rows, this may be chance.
_COUNTED = 20
# With at least this share of different values, almost every row has its own value.
_UNIQUE = 0.9
# Cells with fewer words are names or codes instead of short texts.
_SHORT_TEXT = 1.5
_ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|uuid|guid)s?$)|[a-z\d](Id|ID|Uuid|UUID|Guid|GUID)s?$", flags=re.ASCII
)
_CONSTANT = "the same value in every row"
_DIFFERENT = "a different value in every row"


@dataclass(frozen=True)
class Choice:
    """Which columns are features.

    Attributes
    ----------
    kinds : dict
        The kind of every feature by its column, in the order of the table.
    reasons : dict
        Why each of them was taken; without those that the user named.
    left_out : dict
        The other columns, and why they are not features.
    cells : dict
        The cells of the features.
    """

    kinds: dict[Any, str]
    reasons: dict[Any, str]
    left_out: dict[Any, str]
    cells: dict[Any, Cells]

    @property
    def why_none(self) -> str:
        """Why there is no feature at all."""
        return "; ".join(f"{name}: {reason}" for name, reason in self.left_out.items())


def choose_kinds(
    columns: Columns, named: Mapping[str, Iterable[Any]], ignore: Iterable[Any] = ()
) -> Choice:
    """Decide which columns are features, and of which kind.

    Parameters
    ----------
    columns : Columns
        The table.
    named : mapping
        The columns that the user named, by kind.
    ignore : iterable, default=()
        Columns that are not features.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError
        If a column does not exist or is named twice.
    """
    given = _named_once(columns, named, list(ignore))
    choice = Choice({}, {}, {}, {})
    for j, name in enumerate(columns.names):
        kind, reason = given.get(name), ""
        if kind == "ignore":
            choice.left_out[name] = "ignored"
            continue
        cells = columns.read(j)
        if kind is None:
            kind, reason = ("text", "texts") if columns.form == "texts" else guess(name, cells)
            if kind is None:
                choice.left_out[name] = reason
                continue
            choice.reasons[name] = reason
        choice.kinds[name] = kind
        choice.cells[name] = cells
    return choice


def _named_once(
    columns: Columns, named: Mapping[str, Iterable[Any]], ignore: list[Any]
) -> dict[Any, str]:
    """The kind of every column that the user named; ``"ignore"`` for excluded columns."""
    known = set(columns.names)
    kinds: dict[Any, str] = {}
    for kind, names in {**named, "ignore": ignore}.items():
        for name in names:
            if name not in known:
                shown = ", ".join(map(repr, columns.names[:10]))
                more = len(columns.names) - 10
                raise ValueError(
                    f"{kind} names the column {name!r}, which X does not have. Its columns are: "
                    f"{shown}{f' and {more} more' if more > 0 else ''}."
                )
            if name in kinds:
                raise ValueError(
                    f"The column {name!r} is named twice, as {kinds[name]} and as {kind}. Name it "
                    f"once."
                )
            kinds[name] = kind
    return kinds


# -- one column --------------------------------------------------------------------------------


def guess(name: Any, cells: Cells) -> tuple[str | None, str]:
    """The kind of a column, inferred from its cells, or None, and the reason."""
    if cells.kind in ("numbers", "dates"):
        known = cells.values[~np.isnan(cells.values)]
        if cells.kind == "numbers":
            return _guess_numbers(name, known)
        return _guess_dates(known)
    values = [value for value in cells.values.tolist() if value is not None]
    if not values:
        return None, "empty"
    if cells.kind == "categories":
        return _guess_categories(values)
    numbers = _all_numbers(values)
    if numbers is not None:
        return _guess_numbers(name, numbers[~np.isnan(numbers)])
    seconds = _all_dates(values)
    if seconds is not None:
        return _guess_dates(seconds)
    types = sorted({type(value).__name__ for value in values})
    if len(types) > 1:
        return None, f"values of several types: {', '.join(types)}"
    if types != ["str"]:
        return None, f"values of the type {types[0]}"
    return _guess_strings(name, values)


def _all_numbers(values: list[Any]) -> FloatArray | None:
    """The values as numbers, with NaN for missing values; None if one is not a number."""
    numbers = np.empty(len(values))
    for i, value in enumerate(values):
        number = to_number(value)
        if number is None:
            return None
        numbers[i] = number
    return numbers


def _all_dates(values: list[Any]) -> FloatArray | None:
    """The distinct values in seconds since 1970; None if one is not a date.

    Values that mean a missing number also mean a missing date, but a category may have them.
    """
    first = next(value for value in values if not _spells_missing(value))
    if not is_date(first) or not all(isinstance(v, str | datetime.date) for v in values):
        return None
    given = [value for value in dict.fromkeys(values) if not _spells_missing(value)]
    day_first = is_day_first(given)
    seconds = [to_seconds(value, day_first) for value in given]
    return None if None in seconds else np.array(seconds, dtype=np.float64)


def _spells_missing(value: Any) -> bool:
    number = to_number(value)
    return number is not None and number != number


def _guess_categories(values: list[Any]) -> tuple[str | None, str]:
    n_distinct = len(set(values))
    if n_distinct == 1:
        return None, _CONSTANT
    if n_distinct == len(values):
        return None, _DIFFERENT
    return "categories", f"a column of categories, {n_distinct:,} different values"


def _guess_dates(seconds: FloatArray) -> tuple[str | None, str]:
    if not len(seconds):
        return None, "empty"
    if seconds.min() == seconds.max():
        return None, _CONSTANT
    return "dates", "every cell is a date"


def _guess_numbers(name: Any, numbers: FloatArray) -> tuple[str | None, str]:
    if not len(numbers):
        return None, "empty"
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return None, _CONSTANT
    if np.isfinite(distinct[[0, -1]]).all() and not (distinct % 1).any():
        if is_compact_date(distinct[0]) and all(map(is_compact_date, distinct.tolist())):
            return "dates", "every cell is a date"
        reason = _why_id(str(name), numbers, distinct)
        if reason:
            return None, reason
    return "numbers", "every cell is a number"


def _why_id(name: str, numbers: FloatArray, distinct: FloatArray) -> str:
    """Why integers are an id and not a feature; empty if they are a feature."""
    is_unique, is_long = len(distinct) == len(numbers), len(numbers) >= _COUNTED
    if is_unique and is_long and distinct[-1] - distinct[0] == len(distinct) - 1:
        return "it numbers the rows"
    if is_unique and _ID_NAME.search(name):
        return "an id: a different whole number in every row"
    if is_unique and is_long:
        steps = np.diff(numbers)
        does = "rise" if (steps > 0).all() else "fall" if (steps < 0).all() else ""
        if does:
            return f"whole numbers that only {does}, as those of an id may; to use it, name it"
    if _is_many(len(distinct), len(numbers)) and _ID_NAME.search(name):
        return f"an id by its name, {len(distinct):,} different values"
    return ""


def _guess_strings(name: Any, values: list[str]) -> tuple[str | None, str]:
    n_distinct = len(set(values))
    if n_distinct == 1:
        return None, _CONSTANT
    words = float(np.mean([len(value.split()) for value in values]))
    many_words = f"{words:,.0f} words per cell"
    if words >= _WORDS:
        return "text", many_words
    if n_distinct == len(values) or n_distinct > max(_VALUES, _UNIQUE * len(values)):
        if words >= _SHORT_TEXT and _words_recur(values):
            return "text", f"{many_words}, which recur in other rows"
        nearly = "" if n_distinct == len(values) else "almost "
        return None, f"{nearly}{_DIFFERENT}"
    if not _is_many(n_distinct, len(values)):
        return "categories", f"{n_distinct:,} different values"
    if _ID_NAME.search(str(name)):
        return None, f"an id by its name, {n_distinct:,} different values"
    return "text", f"{n_distinct:,} different values"


def is_code(reason: str) -> bool:
    """Whether a column was excluded because almost every row has its own value."""
    return reason.endswith(_DIFFERENT)


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Whether a column has more values than categories have."""
    return n_distinct > max(_VALUES, _SHARE * n_rows)


def _words_recur(values: list[str]) -> bool:
    """Whether cells share words, so that they are words and not parts of codes."""
    words = [word for value in values for word in re.findall(r"[^\W\d_]{2,}", value.lower())]
    return len(words) >= len(values) and len(set(words)) <= len(words) / 2
