"""Which columns of a file are features, and which of them reveal the target.

Columns that the user names are the only features. Otherwise, the kind of every column is inferred
from its cells, and a column that reveals the target on its own is reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hiclass._automatic.cells import array_cells, as_dates, day_first_of, split_columns, to_number
from hiclass._automatic.kinds import KINDS, choose_kinds
from hiclass._cli._errors import CommandError
from hiclass._cli._features import Columns, by_kind
from hiclass._cli._tables import Table

# A column reveals a level if it alone determines this share of its labels, and at least half of
# those that the most frequent label misses.
_GIVES_AWAY = 0.85
# The number of rows used to measure this, and the number of ranges of numeric columns.
_MEASURED, _RANGES, _ROWS_PER_RANGE = 20_000, 100, 10
# The smallest number of rows with a value, and their smallest share of all rows.
_FEWEST, _SHARE = 20, 0.1


@dataclass(frozen=True)
class Choice:
    """Which columns are features.

    Attributes
    ----------
    columns : dict
        The features by kind.
    reasons : dict
        The reason for each of them; empty if the user named them.
    left_out : dict
        The other columns, and why they are not features.
    """

    columns: Columns
    reasons: dict[str, str]
    left_out: dict[str, str]


def choose_columns(
    table: Table, target: list[str], named: Columns, reserved: Mapping[str, str]
) -> Choice:
    """Decide which columns are features, and of which kind.

    Parameters
    ----------
    table : Table
        The labelled rows.
    target : list of str
        The label columns.
    named : dict
        The columns that the user named, by kind. If there is any, no other column is used.
    reserved : mapping
        Columns that are not features, and the option that names them.

    Returns
    -------
    Choice

    Raises
    ------
    CommandError
        If a column does not exist or is named twice, or if no column can be a feature.
    """
    for name in [*chain.from_iterable(named.values()), *reserved]:
        table.column(name)  # which must exist
    seen: dict[str, str] = dict.fromkeys(target, "target")
    for kind, names in named.items():
        for name in names:
            if name in seen:
                raise CommandError(
                    f"The column {name!r} is named twice, as {seen[name]} and as {kind}. Name it "
                    f"once."
                )
            if name in reserved:
                raise CommandError(
                    f"The column {name!r} is named with --{kind} and with {reserved[name]}. Name "
                    f"it once."
                )
            seen[name] = kind
    others = [name for name in table.frame.columns if name not in seen]
    if any(named.values()):
        columns = {kind: list(named.get(kind, [])) for kind in KINDS}
        return Choice(columns, {}, {name: reserved.get(name, "not named") for name in others})
    return _guess_all(table, others, reserved)


def _guess_all(table: Table, names: list[str], reserved: Mapping[str, str]) -> Choice:
    frame = split_columns(table.frame[names])
    assert frame is not None  # a frame is never a matrix
    choice = choose_kinds(frame, {}, [name for name in reserved if name in names])
    if not choice.kinds:
        raise CommandError(
            f"{table.name} has no column that can be a feature "
            f"({choice.why_none or 'only targets'}). Name one with --text, --numbers, --categories "
            f"or --dates."
        )
    left_out = {name: reserved.get(name, why) for name, why in choice.left_out.items()}
    return Choice(by_kind(choice.kinds), choice.reasons, left_out)


# -- a column and the target -------------------------------------------------------------------


@dataclass(frozen=True)
class GivenAway:
    """A level that one column alone almost determines."""

    column: str
    level: int
    share: float
    commonest: float


def find_given_away(table: Table, columns: Columns, y: Any) -> list[GivenAway]:
    """Find the columns that alone almost determine a level, each with the deepest such level.

    Parameters
    ----------
    table : Table
        The labelled rows.
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
            forms = _forms(table.column(name)[some], kind)
            for level in reversed(range(y.shape[1])):
                share, commonest = max(_measure(values, paths, level) for values in forms)
                if share >= max(_GIVES_AWAY, (1 + commonest) / 2):
                    found.append(GivenAway(name, level, share, commonest))
                    break
    return found


def _measure(
    values: Sequence[Hashable], paths: list[tuple[Any, ...]], level: int
) -> tuple[float, float]:
    """The number of labels of a level that a column determines, and that of the most frequent.

    A label is determined if it is the most frequent one among the other rows with the same value.
    Rows without a value, and rows whose path does not reach the level, are not counted.
    """
    groups: defaultdict[Hashable, Counter[Any]] = defaultdict(Counter)
    total: Counter[Any] = Counter()
    for value, path in zip(values, paths, strict=True):
        if value is not None and path[level] not in (None, ""):
            groups[value][path[: level + 1]] += 1
            total[path[: level + 1]] += 1
    n_rows = total.total()
    # With a single class, there is nothing to reveal.
    if len(total) < 2 or n_rows < max(_FEWEST, _SHARE * len(paths)):
        return 0.0, 1.0
    right = 0
    for labels in groups.values():
        (_, most), *others = labels.most_common(2)
        # Without its own row, the most frequent label must still be the most frequent one.
        if most - 1 > (others[0][1] if others else 0):
            right += most
    return right / n_rows, max(total.values()) / n_rows


def _forms(cells: Any, kind: str) -> list[Sequence[Hashable]]:
    """The values by which rows are compared: cells, or numbers both as they are and in ranges."""
    if kind == "numbers":
        return _as_groups(np.array([to_number(cell) for cell in cells], dtype=np.float64))
    if kind == "dates":
        dates = array_cells(cells)
        return _as_groups(as_dates(dates, "", day_first_of(dates)))
    return [cells.tolist()]


def _as_groups(numbers: Any) -> list[Sequence[Hashable]]:
    """Numbers as they are, which may be codes, and as ranges with about the same number of rows."""
    missing = np.isnan(numbers)
    parts = max(min(_RANGES, len(numbers) // _ROWS_PER_RANGE), 1)
    edges = np.nanquantile(numbers, np.linspace(0, 1, parts + 1)[1:-1])
    ranges = np.searchsorted(edges, numbers, side="right")
    return [
        [None if lost else value for value, lost in zip(form.tolist(), missing, strict=True)]
        for form in (numbers, ranges)
    ]
