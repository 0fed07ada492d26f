"""Dates in the usual formats, and the numbers that a classifier can use.

A date is converted to seconds of wall-clock time: a time zone is ignored, so that the hour is the
one that was written.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from hiclass._typing import FloatArray

#: The parts of a date, besides the seconds since 1970.
PARTS = ("year", "month", "weekday", "hour")
_SECONDS_PER_DAY = 86_400
_EPOCH = datetime.datetime(1970, 1, 1)
# Years with two digits, as in POSIX: 69 is 1969 and 68 is 2068.
_CENTURY = 69

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(t(ember)?)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)"
)
_WEEKDAY = r"(mon|tue(s)?|wed(nes)?|thu(r|rs)?|fri|sat(ur)?|sun)(day)?"
_DAY = r"(?P<day>\d{1,2})(st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4}|'?\d{2})"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})"
_CLOCK = rf"((T|,?\s+(at\s+)?){_TIME}(:(?P<second>\d{{2}}))?.*)?"  # T10:00:00Z
_FORMS = [
    re.compile(rf"({_WEEKDAY}[.,]?\s+)?{form}", flags=re.ASCII | re.IGNORECASE)
    for form in (
        # 2014-01-09
        rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_CLOCK}",
        # 09.01.2014, 1/9/14
        rf"(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<two>\d{{1,2}})[-/.](?P<year>\d{{4}}|\d{{2}}){_CLOCK}",
        # 9-Jan-14, 09JAN2014, 9th May, 2014
        rf"{_DAY}[-/.,\s]*{_MONTH}[-/.,\s]*{_YEAR}{_CLOCK}",
        # January 9, 2014
        rf"{_MONTH}[-/.,\s]+{_DAY}[-/.,\s]+{_YEAR}{_CLOCK}",
        # 2014-Jan-09
        rf"(?P<year>\d{{4}})[-/.,\s]*{_MONTH}[-/.,\s]*(?P<day>\d{{1,2}}){_CLOCK}",
        # Jan 9 10:00:00 2014
        rf"{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}(:(?P<second>\d{{2}})\S*)?(\s\S+)?"
        r"\s(?P<year>\d{4})",
    )
]
#: The one of these in which only the numbers show which is the day.
_EITHER = _FORMS[1]
_COMPACT = re.compile(
    r"(?P<year>(19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(\.0)?",
    flags=re.ASCII,
)
_AFTERNOON = re.compile(r"(?i)\bp\.?m\b|\dpm\b")
_MORNING = re.compile(r"(?i)\ba\.?m\b|\dam\b")


def is_date(value: Any) -> bool:
    """Whether a cell is a date, with or without a time, in either order of day and month."""
    if isinstance(value, str):
        return any(to_seconds(value, order) is not None for order in (True, False))
    return isinstance(value, datetime.date)


def is_compact_date(number: float) -> bool:
    """Whether a number is a date of the years 1900 to 2099 without separators: 20140109."""
    return number % 1 == 0 and to_seconds(f"{number:.0f}", True) is not None


def to_seconds(value: Any, day_first: bool) -> float | None:
    """A date as seconds since 1970 of wall-clock time; None if it is not a date.

    Parameters
    ----------
    value : object
        A cell.
    day_first : bool
        Whether 1/2/2014 is in February.

    Returns
    -------
    float or None
    """
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return float((value - _EPOCH.date()).days * _SECONDS_PER_DAY)
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[s]").astype(np.int64))
    if isinstance(value, int | float | np.integer):
        value = f"{value:.0f}" if value % 1 == 0 else ""
    if not isinstance(value, str):
        return None
    text = value.strip()
    found = _match(text)
    return None if found is None else _seconds_of(found.groupdict(), text, day_first)


def _match(text: str) -> re.Match[str] | None:
    if not any(map(str.isdigit, text[:30])):  # most texts are not dates
        return None
    matches = (form.fullmatch(text) for form in (_COMPACT, *_FORMS))
    return next((found for found in matches if found is not None), None)


def _seconds_of(found: dict[str, str | None], text: str, day_first: bool) -> float | None:
    year = int((found["year"] or "").lstrip("'"))
    if year < 100:
        year += 1900 if year >= _CENTURY else 2000
    if found.get("mark"):
        pair = int(found["one"] or 0), int(found["two"] or 0)
        day, month = pair if day_first else pair[::-1]
    else:
        name = found.get("name")
        month = int(found["month"] or 0) if not name else _MONTHS.index(name[:3].lower()) + 1
        day = int(found["day"] or 0)
    hour, minute = int(found.get("hour") or 0), int(found.get("minute") or 0)
    if hour < 12 and _AFTERNOON.search(text):
        hour += 12
    elif hour == 12 and _MORNING.search(text):
        hour = 0
    try:
        when = datetime.datetime(year, month, day, hour, minute, int(found.get("second") or 0))
    except ValueError:  # the 30th of February
        return None
    return (when - _EPOCH).total_seconds()


def is_day_first(values: Iterable[Any]) -> bool:
    """Whether the day comes before the month in dates such as 1/2/2014 and 1.2.2014.

    A number above 12 tells. Without any, only dates with slashes begin with the month.

    Parameters
    ----------
    values : iterable
        The cells of a column.

    Returns
    -------
    bool
    """
    slashes = False
    for value in values:
        found = _EITHER.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            continue
        if int(found["one"]) > 12:
            return True
        if int(found["two"]) > 12:
            return False
        slashes = slashes or found["mark"] == "/"
    return not slashes


def parts_of(seconds: FloatArray) -> FloatArray:
    """Year, month, weekday (Monday is 0) and hour of dates; NaN where one is missing.

    Parameters
    ----------
    seconds : ndarray of shape (n_rows,)
        Seconds since 1970, NaN for a missing date.

    Returns
    -------
    ndarray of shape (n_rows, 4)
        A column for each of ``PARTS``.
    """
    missing = np.isnan(seconds)
    whole = np.floor(np.where(missing, 0.0, seconds)).astype(np.int64)
    days = whole // _SECONDS_PER_DAY
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    columns = months // 12 + 1970, months % 12 + 1, (days + 3) % 7, whole % _SECONDS_PER_DAY // 3600
    parts = np.column_stack(columns).astype(np.float64)
    parts[missing] = np.nan
    return parts
