"""Whether a cell is a date, as people and programs write dates."""

from __future__ import annotations

import datetime
import re
from typing import Any

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


def is_compact_date(number: float) -> bool:
    """Whether a number is a date of the years 1900 to 2099 without marks: 20140109."""
    return _COMPACT.fullmatch(f"{number:.0f}") is not None and number % 1 == 0
