"""X as columns: frames, dicts, rows and texts of any library, one column at a time.

The cells of a column are numbers, dates (in seconds) or objects, with ``None`` for missing cells.
This module also converts cells to the kind of their feature; an error names the row of an invalid
cell.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._automatic.dates import is_day_first, to_seconds
from hiclass._labels.columns import is_missing, library_of, object_array
from hiclass._typing import AnyArray, FloatArray

# Values that mean a missing number or date; a text or a category may have these values.
_NO_NUMBER = {"", "na", "n/a", "nan", "nat", "null", "none", "-", "?"}
#: The largest number of characters of a cell in a message.
_SHOWN = 50


class CellError(ValueError):
    """A cell that does not have the kind of its feature: the place, the problem and the remedy."""

    def __init__(self, row: int, problem: str, column: Any = None) -> None:
        super().__init__(f"Row {row}: {problem}")
        self.row = row
        self.problem = problem
        self.column = column


@dataclass(frozen=True)
class Cells:
    """The cells of a column.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Numbers and seconds with NaN, or objects with None, for what is missing.
    kind : {"numbers", "dates", "categories"} or None
        The kind given by the type of the column; None if it must be inferred from the cells.
    """

    values: AnyArray
    kind: str | None = None


@dataclass(frozen=True)
class Columns:
    """X as columns.

    Attributes
    ----------
    names : list
        The names of the columns.
    n_rows : int
        The number of rows.
    read : function
        From the position of a column to its cells.
    form : {"frame", "rows", "texts"}
        With names, with positions that count, or a single column of texts.
    may_lack : bool, default=False
        Whether a name that is not there is a column of empty cells, as in dicts.
    """

    names: list[Any]
    n_rows: int
    read: Callable[[int], Cells]
    form: str
    may_lack: bool = False


# -- the columns of X --------------------------------------------------------------------------


def split_columns(X: Any) -> Columns | None:
    """Return the columns of X; None if it is a matrix of numbers.

    Parameters
    ----------
    X : frame, list of dicts, list of rows, texts, array or sparse matrix
        The rows.

    Returns
    -------
    Columns or None

    Raises
    ------
    TypeError
        If it is not a sequence of rows, or is a single text.
    ValueError
        If two columns have the same name, or rows have different lengths.
    """
    if sp.issparse(X):
        return None
    if isinstance(X, str | bytes):
        raise TypeError("X is a single text. Pass a list of texts, one per row.")
    if isinstance(X, Mapping | Set):
        raise TypeError(
            f"X is a {type(X).__name__}, which is not a sequence of rows. Pass a frame (for "
            f"columns by name, pandas.DataFrame(X)) or a list of dicts, one per row."
        )
    library = library_of(X)
    if library == "polars" and hasattr(X, "collect"):
        raise TypeError(
            "X is a polars LazyFrame, whose rows are not computed yet. Pass X.collect()."
        )
    if library in ("pandas", "polars", "pyarrow"):
        return _frame(X, library)
    if isinstance(X, list | tuple) and len(X):
        return _sequence(X)
    kind, X = type(X).__name__, np.asarray(X)
    if X.dtype.kind in "biufc":
        return None
    if X.ndim not in (1, 2):
        raise TypeError(
            f"X is a {kind}, which does not contain rows of cells. Pass a frame, a list of rows, "
            "dicts or texts, or a matrix of numbers."
        )
    if X.ndim == 1:
        return _texts(X.tolist())
    return _rows(X)


def without_mask(X: Any) -> Any:
    """The cells of a masked array, missing where they are masked; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if X.dtype.kind in "biuf":
        return np.where(np.ma.getmaskarray(X), np.nan, X.data)
    return np.array(X.tolist(), dtype=object)


def _frame(X: Any, library: str) -> Columns:
    if len(X.shape if hasattr(X, "shape") else (len(X),)) == 1:
        return _texts(_objects(X, library).tolist())
    names = list(X.column_names if library == "pyarrow" else X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has {names.count(twice)} columns with the name {twice!r}. Rename them."
        )
    read, select = _READERS[library]
    return Columns(names, len(X), lambda j: read(select(X, j)), "frame")


def _sequence(X: Sequence[Any]) -> Columns | None:
    first = next((row for row in X if not _is_absent(row)), None)
    if isinstance(first, Mapping):
        return _dicts(X)
    if isinstance(first, str | bytes) or first is None:
        return _texts(X)
    try:
        array = np.asarray(X)
    except ValueError:
        array = np.empty(0, dtype=object)  # rows of different lengths, or of several types
    if array.dtype.kind in "biufc" or array.ndim == 1:
        lengths = {len(row) if hasattr(row, "__len__") else 0 for row in X}
        if array.dtype.kind == "O" and len(lengths) > 1:
            raise ValueError(
                f"The rows of X have from {min(lengths)} to {max(lengths)} cells. Every row needs "
                "one cell per column, None if it is missing. Or pass a list of dicts."
            )
        return None
    # Once more, because NumPy converts numbers next to a text to texts.
    return _rows(np.array([list(row) for row in X], dtype=object))


def _rows(X: AnyArray) -> Columns:
    if not X.shape[1]:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    names = [f"x{j}" for j in range(X.shape[1])]
    return Columns(names, len(X), lambda j: array_cells(X[:, j]), "rows")


def _dicts(rows: Sequence[Any]) -> Columns:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"Row {i} of X is a {type(row).__name__} among dicts. Pass a dict for every row."
            )
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise ValueError("Found array with 0 feature(s): the dicts of X are empty.")

    def read(j: int) -> Cells:
        return _object_cells([row.get(names[j]) for row in rows])

    return Columns(names, len(rows), read, "frame", may_lack=True)


def _texts(X: Sequence[Any]) -> Columns:
    values = object_array([None if _is_absent(value) else value for value in X])
    for i, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise ValueError(
                "Expected 2D array, got 1D array instead: X has one cell per row, which must then "
                f"be a text, but row {i} is of the type {type(value).__name__}. Pass a frame, or a "
                "list of cells for each row."
            )
    return Columns(["text"], len(values), lambda j: Cells(values), "texts")


def _is_absent(value: Any) -> bool:
    """Whether a cell is missing: None, NaN, NaT, pandas.NA."""
    return not isinstance(value, str) and is_missing(value)


# -- the cells of a column ---------------------------------------------------------------------


def _objects(column: Any, library: str) -> AnyArray:
    if library == "pandas":
        values = np.array(column.astype(object), dtype=object)
        values[np.asarray(column.isna(), dtype=bool)] = None
        return values
    return object_array(column.to_list() if library == "polars" else column.to_pylist())


def _object_cells(values: Any) -> Cells:
    """Cells of any type; empty texts are missing, too."""
    cells = [None if is_missing(value) else value for value in values]
    return Cells(object_array(cells))


def _pandas_cells(column: Any) -> Cells:
    kind = getattr(column.dtype, "kind", "O")
    if str(column.dtype) == "category":
        return Cells(_object_cells(_objects(column, "pandas")).values, "categories")
    if kind in "biuf":
        return Cells(column.to_numpy(dtype=np.float64, na_value=np.nan), "numbers")
    if kind == "M" and getattr(column.dt, "tz", None) is not None:
        column = _without_time_zone(column)
    if kind in "mM":
        missing = np.array("NaT", dtype=f"{kind}8[us]")[()]
        return array_cells(column.to_numpy(dtype=f"{kind}8[us]", na_value=missing))
    return _object_cells(_objects(column, "pandas"))


def _without_time_zone(column: Any) -> Any:
    """The wall-clock time. For types of pyarrow, pandas 2.2 would return that of UTC."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        dtype = column.dtype.pyarrow_dtype
        column = column.astype(pd.DatetimeTZDtype(dtype.unit, dtype.tz))
    return column.dt.tz_localize(None)


def _polars_cells(column: Any) -> Cells:
    import polars as pl

    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return Cells(column.cast(pl.Float64).to_numpy().astype(np.float64), "numbers")
    if dtype == pl.Date or dtype == pl.Datetime:
        if dtype == pl.Datetime:
            column = column.dt.replace_time_zone(None)
        return array_cells(column.cast(pl.Datetime("us")).to_numpy())
    if dtype == pl.Duration:
        return array_cells(column.cast(pl.Duration("us")).to_numpy())
    kind = "categories" if dtype == pl.Categorical or dtype == pl.Enum else None
    return Cells(_object_cells(column.to_list()).values, kind)


def array_cells(column: AnyArray) -> Cells:
    """The cells of a column of an array."""
    kind = column.dtype.kind
    if kind in "mM":
        values = column.astype(f"{kind}8[us]").astype(np.int64) / 1e6
        values[np.isnat(column)] = np.nan
        return Cells(values, "dates" if kind == "M" else "numbers")
    return _object_cells(column.tolist())


#: By library: how a column is read, and how it is selected from a frame.
_READERS: dict[str, tuple[Callable[[Any], Cells], Callable[[Any, int], Any]]] = {
    "pandas": (_pandas_cells, lambda frame, j: frame.iloc[:, j]),
    "polars": (_polars_cells, lambda frame, j: frame.to_series(j)),
    "pyarrow": (lambda column: _object_cells(column.to_pylist()), lambda table, j: table.column(j)),
}


# -- conversion
# --------------------------------------------------------------------------------------


def to_number(value: Any) -> float | None:
    """A cell as a number: NaN if it is missing, None if it is not a number."""
    if value is None:
        return np.nan
    if isinstance(value, str):
        if value.strip().lower() in _NO_NUMBER:
            return np.nan
        try:
            number = float(value)
        except ValueError:
            return None
        # float reads "1_000", which no spreadsheet writes, and "inf".
        return number if np.isfinite(number) and "_" not in value else None
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, int | float | bool | Decimal | np.number | np.bool_):
        try:
            number = float(value)
        except OverflowError:  # an integer in JSON may have hundreds of digits
            return None
        return number if np.isfinite(number) else None
    return None


def as_numbers(cells: Cells, name: Any) -> FloatArray:
    """Cells as numbers, with NaN for missing cells."""
    if cells.kind == "dates":
        raise ValueError(
            f"The column {name!r} holds dates instead of numbers. Name it as dates, or correct it."
        )
    if cells.kind == "numbers":
        values: FloatArray = cells.values
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise _wrong(row, values[row], name, "is not a finite number")
        return values
    numbers = np.empty(len(cells.values))
    for row, cell in enumerate(cells.values):
        number = to_number(cell)
        if number is None:
            large = isinstance(cell, int)
            raise _wrong(row, cell, name, f"is {'too large' if large else 'not'} a number")
        numbers[row] = number
    return numbers


def as_dates(cells: Cells, name: Any, day_first: bool) -> FloatArray:
    """Cells as seconds since 1970, with NaN for missing dates."""
    if cells.kind == "dates":
        return cells.values
    known: dict[Any, float] = {}  # dates are often repeated
    seconds = np.empty(len(cells.values))
    for row, cell in enumerate(cells.values):
        if cell is None or cell != cell or _spells_missing(cell):
            seconds[row] = np.nan
            continue
        if cell not in known:
            found = to_seconds(cell, day_first)
            if found is None:
                raise _wrong(row, cell, name, "is not a date")
            known[cell] = found
        seconds[row] = known[cell]
    return seconds


def day_first_of(cells: Cells) -> bool:
    """Whether dates such as 1/2/2014 begin with the day."""
    return cells.kind is not None or is_day_first(cells.values)


def _spells_missing(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in _NO_NUMBER


def as_texts(cells: Cells) -> AnyArray:
    """Cells as texts; a missing cell is empty, and an integer has no decimal point."""
    return object_array([_text(cell) for cell in cells.values.tolist()])


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        if cell.isascii():
            return cell
        # Lone surrogates, which JSON can express, become question marks, because model files cannot
        # hold them.
        return cell.encode("utf-8", "replace").decode("utf-8")
    if cell is None or cell != cell:
        return ""
    # Integers become floats if one of them is missing.
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _wrong(row: int, cell: Any, name: Any, problem: str) -> CellError:
    shown = str(cell)[:_SHOWN]
    return CellError(
        row,
        f"{shown!r} in the column {name!r} {problem}. Correct it, or leave the cell empty.",
        name,
    )
