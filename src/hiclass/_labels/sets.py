"""Several labels per row, as users write them -> pairs of row and name.

A row is a list of labels or a list of tuples, each tuple a path. Or all rows together are an
indicator: a sparse or boolean matrix with one column per node of a hierarchy, starting with the
root, or a frame whose columns are labels. An array of labels with two dimensions is one path per
row, as everywhere else. Nothing here knows about hierarchies: every distinct name is stored once,
so that it is looked up once, however often it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._labels.columns import (
    check_not_empty,
    check_paths,
    is_missing,
    library_of,
    lists_of_paths,
    plain,
    read_labels,
    refuse_none,
)
from hiclass._state import SetFormat
from hiclass._typing import AnyArray, IntArray


@dataclass(frozen=True)
class SetLabels:
    """Rows with any number of names.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    rows, codes : ndarray of int
        One entry per row and name: the row, and the place of the name in ``names``.
    names : list
        The distinct labels or path tuples; of a matrix without names, None: codes are nodes.
    n_columns : int
        Number of columns of a matrix without names.
    format : SetFormat
        The format of the labels.
    """

    n_rows: int
    rows: IntArray
    codes: IntArray
    names: list[Any] | None
    n_columns: int
    format: SetFormat


def read_sets(y: Any, name: str = "y") -> SetLabels:
    """Read several labels per row from any supported container."""
    refuse_none(y, name)
    if sp.issparse(y):
        return _from_matrix(sp.coo_array(y), "sparse", name)
    library = library_of(y)
    if library == "pyarrow" and hasattr(y, "to_pandas"):
        y, library = y.to_pandas(), "pandas"
    if library in ("pandas", "polars") and hasattr(y, "columns"):
        return _from_frame(y, name)
    if library == "polars":
        y = y.to_list()
    if hasattr(y, "__array__") and not isinstance(y, np.ndarray):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.ndim > 2:
        raise ValueError(
            f"{name} has {y.ndim} dimensions, shape {y.shape}. Pass a list of path tuples for "
            f"every row: {lists_of_paths(name)}."
        )
    if isinstance(y, np.ndarray) and y.ndim == 2:
        if y.dtype == bool:
            return _from_matrix(sp.coo_array(y), "dense", name)
        _refuse_unmarked_indicator(y, name)
        return _from_paths(y, name)
    if isinstance(y, str | bytes | dict | set) or not hasattr(y, "__len__"):
        raise TypeError(
            f"{name} must hold a list of labels, or of path tuples, for every row, or be an "
            f"indicator matrix or frame; got {type(y).__name__}."
        )
    y = list(y)
    _refuse_lists_of_indicators(y, name)
    return _from_lists(y, name)


def _refuse_unmarked_indicator(y: AnyArray, name: str) -> None:
    """Reject an integer matrix of 0 and 1: it may be an indicator, or one path per row."""
    if y.size and y.shape[1] > 1 and _is_binary(y.ravel()).all():
        raise ValueError(
            f"{name} is a matrix of 0 and 1 with {y.shape[1]} columns: an indicator, or a path of "
            f"the labels 0 and 1 per row? {_indicator_remedy(name)} Paths are written as "
            f"[[tuple(row)] for row in {name}.tolist()]."
        )


def _refuse_lists_of_indicators(y: list[Any], name: str) -> None:
    """Reject rows of 0 and 1 of equal length with repeated values: not lists of labels."""
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in y]
    if not rows or not all(isinstance(row, list | tuple) for row in rows):
        return
    if len(set(map(len, rows))) > 1 or not all(_is_flag(item) for row in rows for item in row):
        return
    repeats = [len(set(row)) < len(row) for row in rows]
    if any(repeats):
        i = repeats.index(True)
        row = [plain(item) for item in rows[i]]
        raise ValueError(
            f"Every row of {name} holds {len(row)} times 0 or 1, and row {i}, {row!r}, "
            f"repeats a label: this seems to be an indicator, not lists of the labels 0 and "
            f"1. {_indicator_remedy(f'np.array({name})')} Lists of labels name each label once; a "
            f"path is a tuple in a list, [{tuple(row)!r}]."
        )


def _indicator_remedy(name: str) -> str:
    return (
        f"Pass an indicator as a frame whose columns are labels, such as pandas.DataFrame({name}, "
        f"columns=...), or as {name}.astype(bool) with one column per node of hierarchy=..., "
        "starting with the root. The original lists of labels work as well."
    )


def _from_matrix(matrix: Any, kind: str, name: str) -> SetLabels:
    check_not_empty(matrix.shape[0], name)
    entries = matrix.data
    _check_binary(entries, lambda i: f"{name} has {plain(entries[i])!r} in row {matrix.row[i]}")
    keep = np.asarray(entries, dtype=bool)
    rows, columns = matrix.row[keep].astype(np.intp), matrix.col[keep].astype(np.intp)
    return SetLabels(matrix.shape[0], rows, columns, None, matrix.shape[1], SetFormat(kind))


def _from_frame(y: Any, name: str) -> SetLabels:
    names = [plain(column) for column in y.columns]
    check_not_empty(len(y), name)
    as_paths = bool(names) and all(isinstance(n, tuple) for n in names)
    rows, codes = [], []
    for j, column in enumerate(names):
        values = y.iloc[:, j].to_numpy() if hasattr(y, "iloc") else y.get_columns()[j].to_numpy()
        _check_binary(
            values,
            lambda i, values=values, column=column: (
                f"The column {column!r} of {name} has {plain(values[i])!r} in row {i}"
            ),
        )
        found = np.flatnonzero(values.astype(bool))
        rows.append(found)
        codes.append(np.full(len(found), j))
    format = SetFormat("frame", as_paths, tuple(names), library_of(y))
    clean = [strip_missing(n) if as_paths else n for n in names]
    none = np.empty(0, dtype=np.intp)
    at, code = np.concatenate([none, *rows]), np.concatenate([none, *codes])
    return SetLabels(len(y), at, code, clean, 0, format)


def _check_binary(values: AnyArray, place: Any) -> None:
    """Reject an indicator with values other than 0 and 1."""
    good = _is_binary(np.asarray(values))
    if not np.all(good):
        raise ValueError(
            f"{place(int(np.argmin(good)))}; an indicator must hold only 0 and 1, or False and "
            "True. For paths of labels, pass a list of tuples per row."
        )


def _is_binary(values: AnyArray) -> AnyArray:
    """Which of some values are 0 or 1."""
    if values.dtype.kind in "biuf":
        return np.asarray((values == 0) | (values == 1))
    return np.array([_is_flag(value) for value in values.tolist()])


def _is_flag(value: Any) -> bool:
    return isinstance(plain(value), bool | int | float) and value in (0, 1)


def _from_paths(y: Any, name: str) -> SetLabels:
    """One path per row."""
    columns = read_labels(y, name)
    length = check_paths(columns, allow_empty=True, name=name)
    steps = [
        [plain(values[c]) if c >= 0 else None for c in codes.tolist()]
        for codes, values in zip(columns.codes, columns.values, strict=True)
    ]
    paths = zip(zip(*steps, strict=True), length.tolist(), strict=True)
    rows = [[path[:n]] if n else [] for path, n in paths]
    return _from_lists(rows, name)


def _from_lists(y: list[Any], name: str) -> SetLabels:
    check_not_empty(len(y), name)
    code_of: dict[Any, int] = {}
    names: list[Any] = []
    rows, codes = [], []
    kinds: dict[bool, int] = {}
    for i, row in enumerate(y):
        for item in _items(row, i, name):
            item = plain(item)
            is_path = isinstance(item, tuple)
            kinds.setdefault(is_path, i)
            if is_path:
                item = strip_missing(item)
                key: Any = (tuple, *((type(x), x) for x in item))
            else:
                key = (type(item), item)
            if is_missing(item) or (is_path and not item):
                raise ValueError(
                    f"Row {i} of {name} holds the missing label {item!r}. A row without labels "
                    "must be an empty list. Leave missing labels out."
                )
            try:
                code = code_of.setdefault(key, len(names))
            except TypeError:
                raise TypeError(
                    f"Row {i} of {name} holds {item!r}, a {type(item).__name__}, which cannot be a "
                    f"label. Write a path as a tuple: a row is a list of labels or of tuples."
                ) from None
            if code == len(names):
                names.append(item)
            rows.append(i)
            codes.append(code)
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes labels (row {kinds[False]}) and path tuples (row {kinds[True]}). Use "
            "the same form for every label of every row."
        )
    format = SetFormat("lists", as_paths=True in kinds)
    at, code_at = np.array(rows, dtype=np.intp), np.array(codes, dtype=np.intp)
    return SetLabels(len(y), at, code_at, names, 0, format)


def _items(row: Any, i: int, name: str) -> Any:
    """The names of one row."""
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return row.tolist()
    if isinstance(row, list):
        return row
    if isinstance(row, set | frozenset):
        return sorted(row, key=lambda item: (type(item).__name__, str(item)))
    if isinstance(row, tuple):
        raise ValueError(
            f"Row {i} of {name} is the tuple {row!r}, which is one path. With several labels per "
            f"row, write a list of paths, [{row!r}], or a list of labels, {list(row)!r}."
        )
    if is_missing(row):
        raise ValueError(
            f"Row {i} of {name} is {plain(row)!r}. A row without labels is an empty list, []; "
            f"a row whose labels are not known must be removed."
        )
    raise ValueError(
        f"Row {i} of {name} is {plain(row)!r}. With several labels per row, every row must be a "
        f"list of labels or of path tuples, for example [{plain(row)!r}]."
    )


def strip_missing(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """A path without the missing labels at its end."""
    labels = [plain(label) for label in path]
    while labels and is_missing(labels[-1]):
        labels.pop()
    return tuple(labels)
