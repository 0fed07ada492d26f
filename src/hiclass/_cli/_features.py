"""From the columns of a file to the features of a model; errors name the place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from hiclass._automatic.cells import CellError, array_cells, as_texts
from hiclass._automatic.features import TableFeatures
from hiclass._automatic.kinds import KINDS
from hiclass._cli._errors import CommandError
from hiclass._cli._tables import Table

Columns = dict[str, list[str]]


def make_features(columns: Columns) -> TableFeatures:
    """Create the features of columns whose kinds are known."""
    features = TableFeatures()
    return features.set_params(**{kind: names for kind, names in columns.items() if names})


def by_kind(kinds: dict[Any, str]) -> Columns:
    """The names of columns by kind, from the kind of every column."""
    return {kind: [name for name in kinds if kinds[name] == kind] for kind in KINDS}


def prepare(table: Table, names: Iterable[str]) -> Any:
    """Return the columns of the features as a frame; all of them must exist."""
    names = list(names)
    for name in names:
        table.column(name)
    return table.frame[names]


def texts(table: Table, name: str) -> Any:
    """Return a column as texts; a missing cell is an empty text."""
    return as_texts(array_cells(table.column(name)))


@contextmanager
def placed(table: Any) -> Iterator[None]:
    """Add the line of the file to an error about a cell or a column."""
    try:
        yield
    except CellError as error:
        raise CommandError(f"{table.place(error.row)}: {error.problem}") from error
    except ValueError as error:
        raise CommandError(f"{table.name}: {error}") from error
