"""Which columns of a file are features, of which kind, and why the others are not.

Columns that the user names are taken as they are. Otherwise every column is judged by its cells:
what tells rows apart without saying anything about other rows (ids, dates, one value per row) is
left out, and a column that alone gives the target away is reported.
"""

from __future__ import annotations

import datetime
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hiclass._cli._errors import CommandError
from hiclass._cli._features import KINDS, Columns, to_number
from hiclass._cli._tables import Table

# A column of strings is text from so many words per cell on, and a category up to so many values.
_WORDS, _VALUES, _SHARE = 4, 50, 0.1
# From so many rows on, numbers that count the rows, rise or fall are an id; fewer may do so by
# chance.
_COUNTED = 20
# From this share of different values on, nearly every row has a value of its own.
_UNIQUE = 0.9
# Cells of fewer words per cell are names or codes instead of short texts.
_SHORT_TEXT = 1.5
_ID_NAME = re.compile(
    r"(?i:(^|[\W_])(id|uuid|guid)s?$)|[a-z\d](Id|ID|Uuid|UUID|Guid|GUID)s?$", flags=re.ASCII
)
# A column gives a level away if it alone finds so large a part of its labels, and at least half of
# those that the commonest label misses.
_GIVES_AWAY = 0.85
# Rows that are enough to measure that; into how many ranges numbers are put.
_MEASURED, _RANGES, _ROWS_PER_RANGE = 20_000, 100, 10


@dataclass(frozen=True)
class Choice:
    """Which columns are features.

    Attributes
    ----------
    columns : dict
        The features by kind.
    reasons : dict
        Why each of them was taken; empty if the user named them.
    left_out : dict
        The other columns, and why they are not features.
    """

    columns: Columns
    reasons: dict[str, str]
    left_out: dict[str, str]


def choose_columns(
    table: Table, target: list[str], named: Columns, ignored: Iterable[str]
) -> Choice:
    """Decide which columns are features, and of which kind.

    Parameters
    ----------
    table : Table
        The rows to learn from, those with labels.
    target : list of str
        The columns of the labels.
    named : dict
        The columns that the user named, by kind. If there is any, no other column is used.
    ignored : iterable of str
        Columns that are not features.

    Returns
    -------
    Choice

    Raises
    ------
    CommandError
        If a column does not exist or is named twice, or if no column can be a feature.
    """
    ignored = list(ignored)
    for name in [*chain.from_iterable(named.values()), *ignored]:
        table.column(name)  # which must exist
    seen: dict[str, str] = dict.fromkeys(target, "target")
    for kind, names in named.items():
        for name in names:
            if name in seen:
                raise CommandError(
                    f"The column {name!r} is named twice, as {seen[name]} and as {kind}. Name it "
                    f"once."
                )
            if name in ignored:
                raise CommandError(
                    f"The column {name!r} is named with --{kind} and with --ignore. Name it once."
                )
            seen[name] = kind
    others = [name for name in table.frame.columns if name not in seen]
    if any(named.values()):
        columns = {kind: list(named.get(kind, [])) for kind in KINDS}
        return Choice(columns, {}, dict.fromkeys(others, "not named"))
    return _guess_all(table, others, ignored)


def _guess_all(table: Table, names: list[str], ignored: list[str]) -> Choice:
    columns: Columns = {kind: [] for kind in KINDS}
    reasons: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name in names:
        kind, reason = (None, "--ignore") if name in ignored else _guess(name, table.column(name))
        if kind is None:
            left_out[name] = reason
        else:
            columns[kind].append(name)
            reasons[name] = reason
    if not reasons:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise CommandError(
            f"{table.name} has no column that can be a feature ({why or 'only targets'}). Name "
            f"one with --text, --numbers or --categories."
        )
    return Choice(columns, reasons, left_out)


# -- one column --------------------------------------------------------------------------------


def _guess(name: str, column: Any) -> tuple[str | None, str]:
    """The kind of a column, or None, and the reason."""
    values = [value for value in column.tolist() if value is not None]
    if not values:
        return None, "empty"
    numbers = [to_number(value) for value in values]
    if all(number is not None for number in numbers):
        return _guess_numbers(name, np.array(numbers, dtype=np.float64))
    # What spells a missing number spells a missing date; a category may be called so.
    given = [
        v for v, number in zip(values, numbers, strict=True) if number is None or number == number
    ]
    if all(is_date(value) for value in given):
        return None, "dates"
    types = sorted({type(value).__name__ for value in values})
    if len(types) > 1:
        return None, f"values of several types: {', '.join(types)}"
    if types != ["str"]:
        return None, f"values of the type {types[0]}"
    return _guess_strings(name, values)


def _guess_numbers(name: str, numbers: Any) -> tuple[str | None, str]:
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return None, "empty"
    distinct = np.unique(numbers)
    if len(distinct) == 1:
        return None, "the same value in every row"
    if not (distinct % 1).any():
        if all(_is_compact_date(number) for number in distinct.tolist()):
            return None, "dates"
        reason = _why_id(name, numbers, distinct)
        if reason:
            return None, reason
    return "numbers", "every cell is a number"


def _why_id(name: str, numbers: Any, distinct: Any) -> str:
    """Why whole numbers are an id instead of a feature; empty if they are a feature."""
    is_unique, is_long = len(distinct) == len(numbers), len(numbers) >= _COUNTED
    if is_unique and is_long and distinct[-1] - distinct[0] == len(distinct) - 1:
        return "it numbers the rows"
    if is_unique and _ID_NAME.search(name):
        return "an id: a different whole number in every row"
    if is_unique and is_long:
        steps = np.diff(numbers)
        does = "rise" if (steps > 0).all() else "fall" if (steps < 0).all() else ""
        if does:
            use = f"to use it: --numbers {shlex.quote(name)}"
            return f"whole numbers that only {does}, as those of an id may; {use}"
    if _is_many(len(distinct), len(numbers)) and _ID_NAME.search(name):
        return f"an id by its name, {len(distinct):,} different values"
    return ""


def _guess_strings(name: str, values: list[str]) -> tuple[str | None, str]:
    n_distinct = len(set(values))
    if n_distinct == 1:
        return None, "the same value in every row"
    words = float(np.mean([len(value.split()) for value in values]))
    many_words = f"{words:,.0f} words per cell"
    if words >= _WORDS:
        return "text", many_words
    if n_distinct == len(values) or n_distinct > max(_VALUES, _UNIQUE * len(values)):
        if words >= _SHORT_TEXT and _words_recur(values):
            return "text", f"{many_words}, which recur in other rows"
        nearly = "" if n_distinct == len(values) else "almost "
        return None, f"{nearly}a different value in every row"
    if not _is_many(n_distinct, len(values)):
        return "categories", f"{n_distinct:,} different values"
    if _ID_NAME.search(name):
        return None, f"an id by its name, {n_distinct:,} different values"
    return "text", f"{n_distinct:,} different values"


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Whether a column has more values than categories have."""
    return n_distinct > max(_VALUES, _SHARE * n_rows)


def _words_recur(values: list[str]) -> bool:
    """Whether words are shared by cells: then they are words instead of parts of codes."""
    words = [word for value in values for word in re.findall(r"[^\W\d_]{2,}", value.lower())]
    return len(words) >= len(values) and len(set(words)) <= len(words) / 2


# -- dates, as people and programs write them --------------------------------------------------

_MONTH = (
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(t(ember)?)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)"
)
_WEEKDAY = r"(mon|tue(s)?|wed(nes)?|thu(r|rs)?|fri|sat(ur)?|sun)(day)?"
_DAY = r"\d{1,2}(st|nd|rd|th)?"
_YEAR = r"(\d{4}|'?\d{2})"
_TIME = r"\d{1,2}:\d{2}"
_DATE = re.compile(
    rf"""
    ({_WEEKDAY}[.,]?\s+)?
    (
        \d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}                     # 2014-01-09
      | \d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})           # 09.01.2014
      | {_DAY}[-/.,\s]*{_MONTH}[-/.,\s]*{_YEAR}                 # 9-Jan-14, 09JAN2014, 9th May, 2014
      | {_MONTH}[-/.,\s]+{_DAY}[-/.,\s]+{_YEAR}                 # January 9, 2014
      | \d{{4}}[-/.,\s]*{_MONTH}[-/.,\s]*\d{{1,2}}              # 2014-Jan-09
      | {_MONTH}\s+\d{{1,2}}\s+{_TIME}(:\S+)?(\s\S+)?\s\d{{4}}  # Jan 9 10:00:00 2014
    )
    ((T|,?\s+(at\s+)?){_TIME}.*)?                               # T10:00:00Z
    """,
    flags=re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", flags=re.ASCII)


def is_date(value: Any) -> bool:
    """Whether a cell is a date, with or without a time."""
    if isinstance(value, str):
        return _DATE.fullmatch(value.strip()) is not None
    return isinstance(value, datetime.date)


def _is_compact_date(number: float) -> bool:
    """Whether a number is a date of the years 1900 to 2099 without marks: 20140109."""
    return _COMPACT.fullmatch(f"{number:.0f}") is not None and number % 1 == 0


# -- a column and the target -------------------------------------------------------------------


@dataclass(frozen=True)
class GivenAway:
    """A level that one column alone nearly determines."""

    column: str
    level: int
    share: float
    commonest: float


def find_given_away(table: Table, columns: Columns, y: Any) -> list[GivenAway]:
    """Find the columns that alone nearly determine a level, each with the deepest such level.

    Parameters
    ----------
    table : Table
        The rows to learn from, those with labels.
    columns : dict
        The features by kind.
    y : ndarray of shape (n_rows, n_levels)
        Their paths; ``""`` or ``None`` after their end.

    Returns
    -------
    list of GivenAway
    """
    some = np.unique(np.linspace(0, len(y) - 1, min(len(y), _MEASURED)).astype(int))
    paths = [tuple(path) for path in y[some].tolist()]
    found = []
    for kind in KINDS:
        for name in columns[kind]:
            cells = table.column(name)[some].tolist()
            forms: list[Sequence[Hashable]] = _as_groups(cells) if kind == "numbers" else [cells]
            for level in reversed(range(y.shape[1])):
                share, commonest = max(_measure(values, paths, level) for values in forms)
                if share >= max(_GIVES_AWAY, (1 + commonest) / 2):
                    found.append(GivenAway(name, level, share, commonest))
                    break
    return found


def _measure(
    values: Sequence[Hashable], paths: list[tuple[Any, ...]], level: int
) -> tuple[float, float]:
    """How many labels of a level a column finds by itself, and how many the commonest label is.

    A label is found if it is the commonest one among the other rows with the same value. Rows
    without a value, or whose path does not reach the level, are not counted.
    """
    groups: defaultdict[Hashable, Counter[Any]] = defaultdict(Counter)
    total: Counter[Any] = Counter()
    for value, path in zip(values, paths, strict=True):
        if value is not None and path[level] not in (None, ""):
            groups[value][path[: level + 1]] += 1
            total[path[: level + 1]] += 1
    n_rows = total.total()
    # Of a single class there is nothing to give away.
    if len(total) < 2 or n_rows < max(_COUNTED, _SHARE * len(paths)):
        return 0.0, 1.0
    right = 0
    for labels in groups.values():
        (_, most), *others = labels.most_common(2)
        # Without a row of its own, the commonest label must still be the commonest one.
        if most - 1 > (others[0][1] if others else 0):
            right += most
    return right / n_rows, max(total.values()) / n_rows


def _as_groups(cells: list[Any]) -> list[Sequence[Hashable]]:
    """Numbers as they are, which may be codes, and as ranges with about as many rows each."""
    numbers = np.array([to_number(cell) for cell in cells], dtype=np.float64)
    missing = np.isnan(numbers)
    parts = max(min(_RANGES, len(numbers) // _ROWS_PER_RANGE), 1)
    edges = np.nanquantile(numbers, np.linspace(0, 1, parts + 1)[1:-1])
    ranges = np.searchsorted(edges, numbers, side="right")
    return [
        [None if lost else value for value, lost in zip(form.tolist(), missing, strict=True)]
        for form in (numbers, ranges)
    ]
