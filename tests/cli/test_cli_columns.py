"""Which columns are features when none is named, and which give the target away."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from hiclass._automatic.dates import is_date
from hiclass._cli._columns import GivenAway, choose_columns, find_given_away
from hiclass._cli._tables import Table

N = 60


def make_table(**columns):
    cells = {}
    for name, values in columns.items():
        cells[name] = np.empty(len(values), dtype=object)
        cells[name][:] = list(values)
    return Table(pd.DataFrame(cells, dtype=object), "data.csv", None)


def choose(values, name="column"):
    """The kind of one column, or None, and the reason."""
    table = make_table(**{name: values}, other=["x", "y"] * (len(values) // 2))
    choice = choose_columns(table, [], {}, {})
    kinds = [kind for kind, names in choice.columns.items() if name in names]
    reasons = choice.reasons if kinds else choice.left_out
    return (kinds or [None])[0], reasons[name]


NUMBERS = np.random.default_rng(0).permutation(1000)[:N].tolist()
DAYS = [i % 28 + 1 for i in range(N)]
NUMBER = ("numbers", "every cell is a number")
ID = (None, "an id: a different whole number in every row")
UNIQUE = (None, "a different value in every row")
DATES = ("dates", "every cell is a date")
RISE, FALL = (
    f"whole numbers that only {does}, as those of an id may; to use it, name it"
    for does in ("rise", "fall")
)
# The name of a column, its cells, and the kind and the reason that are expected.
CASES = {
    "an id with gaps": ("complaint_id", [str(i) for i in NUMBERS], *ID),
    "an id in camel case": ("rowId", NUMBERS, *ID),
    "no id by its name": ("paid", NUMBERS, *NUMBER),
    "it only rises": ("weight_g", sorted(NUMBERS), None, RISE),
    "it only falls": ("weight g", sorted(NUMBERS)[::-1], None, FALL),
    "few rows rise by chance": ("n", sorted(NUMBERS[:18]), *NUMBER),
    "an id of few rows": ("ID", NUMBERS[:4], *ID),
    "an id that counts few rows": ("id", [1, 2, 3, 4], *ID),
    "it counts": ("n", [(7 * i) % N for i in range(N)], None, "it numbers the rows"),
    "no whole numbers": ("user_id", [i + 0.5 for i in NUMBERS], *NUMBER),
    "few rows differ by chance": ("n", list(range(10)), *NUMBER),
    "an id that recurs": ("user_id", NUMBERS * 2, None, "an id by its name, 60 different values"),
    "few ids are numbers": ("store_id", [i % 5 for i in range(N)], *NUMBER),
    "missing numbers only": ("n", ["-", "?"] * 30, None, "empty"),
    "constant numbers": ("n", ["1", None] * 30, None, "the same value in every row"),
    "names of users": (
        "user_id", [f"u{i % 55}" for i in range(110)],
        None, "an id by its name, 55 different values",
    ),
    "names of others": ("user", [f"u{i % 55}" for i in range(110)], "text", "55 different values"),
    "codes": ("code", [f"c-{i}" for i in range(N)], *UNIQUE),
    "codes with one twice": (
        "code", ["c-1", *(f"c-{i}" for i in range(N - 1))], None, f"almost {UNIQUE[1]}"
    ),
    "codes of two parts": ("code", [f"{'abcdef'[i % 6]} {i}" for i in range(N)], *UNIQUE),
    "short titles": (
        "title", [f"{a} farming {b}" for a in ("Rice", "Corn", "Bean") for b in "abcdefghij"],
        "text", "3 words per cell, which recur in other rows",
    ),
    "dates as texts": ("date", [f"2015-10-{day:02d}" for day in DAYS], *DATES),
    "dates and times": ("date", [f"2015-10-{day:02d}T10:00:00Z" for day in DAYS], *DATES),
    "dates with points": ("date", [f"{day}.10.2015" for day in DAYS], *DATES),
    "dates as dates": ("date", [datetime.date(2015, 10, day) for day in DAYS], *DATES),
    "dates without marks": ("date", [f"201510{day:02d}" for day in DAYS], *DATES),
    "dates without marks as floats": ("date", [20151000.0 + day for day in DAYS], *DATES),
    "nearly dates without marks": ("n", [20151300 + day for day in DAYS], *NUMBER),
    "dates and missing ones": (
        "date", [f"2015-10-{day:02d}" if i % 9 else "NA" for i, day in enumerate(DAYS)], *DATES
    ),
    "missing dates only": ("date", ["NA", "n/a"] * 30, None, "empty"),
    "months": ("month", ["May", "June"] * 30, "categories", "2 different values"),
    "years": ("year", [str(2000 + day) for day in DAYS], *NUMBER),
    "versions": ("version", ["1.2.3", "1.2.10"] * 30, "categories", "2 different values"),
    "decimal numbers": ("price", [Decimal(i) / 10 for i in NUMBERS], *NUMBER),
    "integers and strings": ("n", ["x", 1] * 30, None, "values of several types: int, str"),
    "lists": ("list", [[1], [2]] * 30, None, "values of the type list"),
    "text": ("text", ["one two three four", "five six seven eight"], "text", "4 words per cell"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_column_has_a_kind_or_is_left_out_with_a_reason(case):
    name, values, kind, reason = case
    assert choose(values, name) == (kind, reason)


NAMES = {
    "ID": True, "Id": True, "IDs": True, "Complaint ID": True, "Complaint_ID": True,
    "COMPLAINT_ID": True, "complaintID": True, "customerIds": True, "UUID": True, "GUID": True,
    "RowGuid": True, "row.uuid": True, "paid": False, "PAID": False, "valid": False,
    "Madrid": False, "Covid": False, "idea": False,
}  # fmt: skip


@pytest.mark.parametrize(("name", "is_id"), NAMES.items())
def test_names_of_ids_in_every_spelling(name, is_id):
    assert choose(NUMBERS, name) == (ID if is_id else NUMBER)


@pytest.mark.parametrize(
    "date",
    [
        "January 9, 2014", "1-Jan-24", "09JAN2014", "9. Jan. 2014", "9th May 2014", "Sept. 1 2014",
        "2014-Jan-09", "Thu, 9 Jan 2014 10:00:00 GMT", "Thursday, January 9, 2014 at 10:00 AM",
        "Thu Jan  9 10:00:00 2014", "Thu Jan 09 10:00:00 +0000 2014", "9/1/14, 10:00",
    ],
)  # fmt: skip
def test_dates_as_people_and_programs_write_them(date):
    assert is_date(date)
    assert is_date(date.upper())


@pytest.mark.parametrize(
    "text",
    ["May", "9 May", "Dec-2024", "1.2.3", "may 1 be late 24", "Marvin 9, 2014", "12:30", "9-3-1"],
)
def test_texts_that_are_not_dates(text):
    assert not is_date(text)


def test_what_is_ignored_or_not_named_is_said():
    table = make_table(a=["x", "y"], b=["x", "y"], c=["x", "y"], t=["1", "2"])
    named = choose_columns(table, ["t"], {"categories": ["a"]}, {"b": "--ignore"})
    assert named.columns == {"text": [], "numbers": [], "categories": ["a"], "dates": []}
    assert (named.reasons, named.left_out) == ({}, {"b": "--ignore", "c": "not named"})


def find(y, **columns):
    """The columns, all of them categories, that give a level away."""
    numbers = [name for name in columns if name.startswith("n")]
    categories = [name for name in columns if name not in numbers]
    kinds = {"text": [], "numbers": numbers, "categories": categories, "dates": []}
    y = np.array(y, dtype=object)
    return find_given_away(make_table(**columns), kinds, y)


def test_a_column_that_gives_a_level_away_by_hand():
    # Twenty rows: the copy is right for all, and says nothing about the second level.
    first = ["A"] * 8 + ["B"] * 12
    y = [[a, f"{a}{i % 2}"] for i, a in enumerate(first)]
    assert find(y, copy=[a.lower() for a in first]) == [GivenAway("copy", 0, 1.0, 12 / 20)]
    # One of the eight is wrong: 7 of 8 and 12 of 12 are found.
    wrong = ["b", *(a.lower() for a in first[1:])]
    assert find(y, copy=wrong) == [GivenAway("copy", 0, 19 / 20, 12 / 20)]
    # The deepest level is the one that is named.
    assert find(y, copy=[path[1] for path in y]) == [GivenAway("copy", 1, 1.0, 6 / 20)]


def test_columns_that_give_nothing_away():
    first = ["A"] * 8 + ["B"] * 12
    y = [[a] for a in first]
    # A value of its own in every row, of which no other row can learn.
    assert find(y, unique=[f"x{i}" for i in range(20)]) == []
    # Four of the eight are wrong: 16 of 20 are found, which is 80 %.
    assert find(y, weak=["b"] * 4 + [a.lower() for a in first[4:]]) == []
    # 18 of 20 are found, but 18 of 20 have the commonest label.
    assert find([["A"]] * 18 + [["B"]] * 2, one=["x"] * 20) == []
    # Empty cells are not counted, and 19 rows are too few.
    assert find(y, partly=[None, *(a.lower() for a in first[1:])]) == []


def test_numbers_give_a_level_away_in_ranges():
    rng = np.random.default_rng(0)
    n = rng.normal(size=2000)
    y = [["low" if x < 0 else "high"] for x in n]
    (found,) = find(y, n=n.tolist(), other=[None] * 2000)
    assert (found.column, found.level) == ("n", 0)
    assert found.share >= 0.99
    y = [["low" if x < 0 else "high"] for x in rng.normal(size=2000)]
    assert find(y, n=n.tolist()) == []
    # A few numbers are compared as they are: the code of a class.
    y = [["A"], ["B"], ["C"], ["D"]] * 10
    assert find(y, n=[3, 1, 4, 2] * 10) == [GivenAway("n", 0, 1.0, 0.25)]


def test_paths_that_end_early_are_not_counted_below():
    y = [["A", "x"]] * 15 + [["A", "z"]] * 15 + [["B", None]] * 30
    column = ["1"] * 15 + ["2"] * 15 + ["3"] * 30
    assert find(y, column=column) == [GivenAway("column", 1, 1.0, 0.5)]


def test_a_level_with_a_single_class_has_nothing_to_give_away():
    column = ["1", "2"] * 15
    assert find([["A", "x"]] * 30, column=column) == []
    # Only rows of A have a second level: the first one is what the column gives away.
    y = [["A", "x"], ["B", None]] * 15
    assert find(y, column=column) == [GivenAway("column", 0, 1.0, 0.5)]
