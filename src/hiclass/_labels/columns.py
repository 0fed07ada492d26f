"""Labels of users -> one column of integer codes per level.

This is where strings enter. Whatever holds the labels (lists, ragged lists, NumPy, pandas, polars,
Arrow), the result is a :class:`LabelColumns`: per level, the sorted distinct labels and, per row,
the rank of its label among them, or -1 if the label is missing. Nothing here knows about trees.

Strings are encoded with a dict in one pass and are never converted to fixed-width unicode. Integers
are encoded by a table or a sort. A dict would merge ``1``, ``True`` and ``1.0``, so types are
checked first, and a level that mixes them is rejected.
"""

from __future__ import annotations

import itertools
import numbers
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._labels.identity import group_by_identity
from hiclass._typing import AnyArray, IntArray

#: Kinds of labels whose values can all be compared with each other.
_TOTAL_ORDER = ("str", "int", "bool", "float", "bytes", "date")

#: The entry of a place that a shorter row does not have: missing, but without a value.
_ABSENT = type("Absent", (), {"__repr__": lambda self: "<absent>"})()


@dataclass(frozen=True)
class LabelColumns:
    """Labels of some rows, as one column of codes per level.

    Attributes
    ----------
    codes : list of ndarray of shape (n_rows,)
        Per level, the rank of each row's label among ``values``; -1 if it is missing.
    values : list of ndarray
        Per level, the distinct labels in ascending order.
    ndim : {1, 2}
        Whether the rows were single labels (1) or paths (2).
    dtype : dtype
        The type in which complete labels are returned.
    missing : object
        The first missing value that was found, or the usual one for these labels.
    """

    codes: list[IntArray]
    values: list[AnyArray]
    ndim: int
    dtype: np.dtype[Any]
    missing: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes[0])


def is_missing(value: Any) -> bool:
    """Whether a single label is a missing value."""
    if value is None or value is _ABSENT:
        return True
    if isinstance(value, str | bytes):
        return not value
    if isinstance(value, float | np.floating):
        return bool(value != value)
    # pandas.NA and pandas.NaT, without importing pandas.
    return type(value).__name__ in ("NAType", "NaTType")


def read_labels(y: Any, name: str = "y") -> LabelColumns:
    """Read labels from any supported container.

    Parameters
    ----------
    y : array-like
        One label per row (1-D), or one path per row (2-D, or a list of lists of any lengths).
    name : str, default="y"
        The name of the argument in error messages.

    Returns
    -------
    LabelColumns
    """
    columns, ndim = split_columns(y, name)
    check_not_empty(len(columns[0]), name)
    encoded = [
        _encode(column, name if ndim == 1 else f"Level {level} of {name}", name)
        for level, column in enumerate(columns, start=1)
    ]
    codes, values, first_missing = map(list, zip(*encoded, strict=True))
    missing = _missing_label(values, first_missing)
    return LabelColumns(codes, values, ndim, _common_dtype(values), missing)


def read_paths(y: Any, name: str = "y") -> LabelColumns:
    """Read one path per row: at least one label, and missing ones only at its end."""
    columns = read_labels(y, name)
    check_paths(columns, name=name)
    return columns


def check_paths(columns: LabelColumns, *, allow_empty: bool = False, name: str = "y") -> IntArray:
    """Check that labels are missing only at the end; return the length of every path."""
    codes = columns.codes
    length = np.zeros(columns.n_rows, dtype=np.intp)
    for level, column in enumerate(codes):
        present = column >= 0
        gap = present & (length < level)
        if gap.any():
            row = int(np.argmax(gap))
            raise ValueError(
                f"Row {row} of {name} has a label at level {level + 1} "
                f"({plain(columns.values[level][column[row]])!r}) but none at level "
                f"{int(length[row]) + 1}. Fill level {int(length[row]) + 1} or end the path there "
                f"(hiclass.truncate_at_gap({name}) does that for every such row)."
            )
        length += present
    if not allow_empty and not length.all():
        row = int(np.argmin(length > 0))
        raise ValueError(
            f"Row {row} of {name} has no label at all. "
            f"Remove such rows, or give them at least a label of level 1."
        )
    return length


def refuse_path_tuples(columns: LabelColumns, remedy: str, name: str = "y") -> None:
    """Reject lists of path tuples, which are several labels per row but read as one path of tuples.

    For labels without a hierarchy: in a given hierarchy, tuples may be labels.
    """
    present = [values for values in columns.values if len(values)]
    if columns.ndim == 2 and present and all(isinstance(values[0], tuple) for values in present):
        row = int(np.argmax(columns.codes[0] >= 0))
        raise ValueError(
            f"Row {row} of {name} is a list of path tuples, several labels: {remedy}. A single "
            "path is a list or tuple of labels. If tuples are labels themselves, pass "
            f"hierarchy=Hierarchy.from_paths({name})."
        )


def plain(label: Any) -> Any:
    """Return a label as a plain Python object, which prints without its NumPy type."""
    return label.item() if isinstance(label, np.generic) else label


def object_array(items: list[Any]) -> AnyArray:
    """Create a 1-D array of arbitrary objects."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


# -- reading containers ------------------------------------------------------------------------


def library_of(y: Any) -> str:
    """The name of the package of a container."""
    return type(y).__module__.partition(".")[0]


def refuse_none(y: Any, name: str) -> None:
    """Reject missing labels, with the message that scikit-learn expects."""
    if y is None:
        raise ValueError(f"This estimator requires y to be passed, but the target {name} is None.")


def check_not_empty(n_rows: int, name: str) -> None:
    """Reject empty labels."""
    if n_rows == 0:
        raise ValueError(
            f"{name} is empty: it holds 0 labels (0 sample(s)) while a minimum of 1 is required."
        )


def split_columns(y: Any, name: str) -> tuple[list[Any], int]:
    """Split a container into columns, arrays of a plain type or lists of objects.

    Also returns whether its rows were single values, 1, or sequences, 2.
    """
    refuse_none(y, name)
    # A scalar (pandas.NA), a class or an unevaluated query (LazyFrame) holds no labels.
    library = library_of(y) if hasattr(y, "__len__") and not isinstance(y, type) else ""
    if library in _FRAMES:
        read_column, columns_of = _FRAMES[library]
        if hasattr(y, "columns"):
            return _check_width([read_column(column) for column in columns_of(y)], name), 2
        return _split_sequence(read_column(y), name)
    if isinstance(y, np.ma.MaskedArray):
        y = y.tolist()  # None where a label is masked
    elif hasattr(y, "__array__") and not isinstance(y, type):
        y = np.asarray(y)
    bare = isinstance(y, str | bytes | dict | set | type) or not hasattr(y, "__len__")
    if bare or type(y).__module__.startswith("scipy.sparse"):
        raise TypeError(
            f"{name} must be array-like, one label or one path of labels per row; got "
            f"{type(y).__name__}. Several labels per row require multi_label=True, if available."
        )
    if isinstance(y, np.ndarray):
        if y.ndim == 1:
            return _split_sequence(y, name)
        if y.ndim != 2:
            raise ValueError(
                f"{name} must have one or two dimensions; got shape {y.shape}. Several paths per "
                f"row are lists of tuples, with multi_label=True: {lists_of_paths(name)}."
            )
        return _check_width([y[:, j] for j in range(y.shape[1])], name), 2
    return _split_sequence(list(y), name)


def lists_of_paths(name: str) -> str:
    """The code that converts an array of rows, paths and levels to a supported form."""
    return f"[[tuple(path) for path in row if path[0]] for row in {name}.tolist()]"


def _check_width(columns: list[Any], name: str) -> list[Any]:
    if not columns:
        raise ValueError(f"{name} has no columns. Pass one column per level.")
    return columns


def _split_sequence(y: Any, name: str) -> tuple[list[Any], int]:
    """Split a sequence of labels or of paths."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        return [y], 1
    rows = y.tolist() if isinstance(y, np.ndarray) else y
    types = set(map(type, rows))
    nested = {t for t in types if issubclass(t, list | tuple | np.ndarray)}
    if not nested:
        return [rows], 1
    if nested != types:
        is_path = [type(row) in nested for row in rows]
        row = is_path.index(not is_path[0])
        raise ValueError(
            f"{name} mixes single labels and paths: row 0 is {rows[0]!r}, row {row} is "
            f"{rows[row]!r}. Use a path for every row, for example [{'label'!r}]."
        )
    if isinstance(rows[0], np.ndarray) and len(set(map(_array_type, rows))) == 1:
        return split_columns(np.stack(rows), name)
    depth = max(1, *map(len, rows))
    return [[row[j] if j < len(row) else _ABSENT for row in rows] for j in range(depth)], 2


def _array_type(row: Any) -> Any:
    return (row.shape, row.dtype) if isinstance(row, np.ndarray) else None


def _pandas(column: Any) -> Any:
    """A pandas Series as an array of a plain type, or as a list of objects."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iubf":
        return column.to_numpy()
    # astype first: to_numpy would convert integer categories to floats if one is missing.
    return np.asarray(column.astype(object), dtype=object).tolist()


def _polars(column: Any) -> Any:
    """A polars Series as an array of a plain type, or as a list of objects."""
    if column.dtype.is_numeric() and column.null_count() == 0:
        return column.to_numpy()
    return column.to_list()


#: By library: how a column is read, and the columns of a frame.
_FRAMES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Iterable[Any]]]] = {
    "pandas": (_pandas, lambda frame: (frame.iloc[:, j] for j in range(frame.shape[1]))),
    "polars": (_polars, lambda frame: frame.get_columns()),
    "pyarrow": (lambda column: column.to_pylist(), lambda table: table.columns),
}


# -- encoding one column -----------------------------------------------------------------------

Encoded = tuple[IntArray, AnyArray, tuple[int, Any] | None]


def _encode(column: Any, place: str, name: str) -> Encoded:
    """Return codes, sorted distinct labels, and (row, value) of the first missing label."""
    if not isinstance(column, np.ndarray):
        return _encode_objects(column, place)
    kind = column.dtype.kind
    if kind in "iub":
        return *_encode_integers(column), None
    if kind == "f":
        return _encode_floats(column, place)
    if kind == "c":
        raise ValueError("Complex data not supported: labels cannot be complex numbers.")
    if kind == "V":
        raise TypeError(
            f"{place} is a structured array ({column.dtype}). For one path per row, pass its "
            f"fields as columns, for example pandas.DataFrame({name})."
        )
    if kind == "O" and (shared := group_by_identity(column)) is not None:
        return _encode_shared(column, *shared, place)
    items = column.tolist()
    if kind in "mM" and int in map(type, items):
        raise TypeError(
            f"{place} is of type {column.dtype}, which has no Python type. Convert it, for example "
            "to strings."
        )
    codes, values, first_missing = _encode_objects(items, place)
    return codes, values.astype(column.dtype) if kind in "US" else values, first_missing


def _encode_shared(column: AnyArray, first: IntArray, codes: IntArray, place: str) -> Encoded:
    """Encode rows that share objects: every object once."""
    with suppress(TypeError, ValueError):  # again, with all rows: the message names the row
        ranks, values, missing = _encode_objects(column[first].tolist(), place)
        return ranks[codes], values, missing and (int(first[missing[0]]), missing[1])
    return _encode_objects(column.tolist(), place)


def _encode_integers(column: AnyArray) -> tuple[IntArray, AnyArray]:
    """Rank integers."""
    if column.dtype.kind == "b":
        codes, values = _encode_integers(column.view(np.uint8))
        return codes, values.astype(bool)
    low, high = int(column.min()), int(column.max())
    # Differences of signed integers may overflow; as unsigned integers, they are correct.
    least = column.dtype.type(low)
    offset = (column - least).view(f"u{column.dtype.itemsize}")
    distinct, codes = rank_keys(offset, high - low + 1)
    return codes, (distinct.astype(least.dtype) + least).astype(column.dtype)


def rank_keys(keys: AnyArray, space: int) -> tuple[AnyArray, IntArray]:
    """Distinct keys in ascending order, and the rank of each key; a small range uses a table."""
    if space > 16 * len(keys):
        distinct, rank = np.unique(keys, return_inverse=True)
        return distinct, rank.astype(np.intp, copy=False)
    seen = np.zeros(space, dtype=bool)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    table = np.empty(space, dtype=np.intp)  # only touched where there are keys
    table[distinct] = np.arange(len(distinct))
    return distinct, table[keys]


def _encode_floats(column: AnyArray, place: str) -> Encoded:
    """Rank floats that represent integers; NaN is missing."""
    missing = np.isnan(column)
    first = (int(np.argmax(missing)), float("nan")) if missing.any() else None
    known = column[~missing]
    bad = ~np.isfinite(known) | (np.floor(known) != known)
    if bad.any():
        row = int(np.flatnonzero(~missing)[np.argmax(bad)])
        _refuse_float(float(column[row]), row, place)
    codes = np.full(len(column), -1, dtype=np.intp)
    values, codes[~missing] = np.unique(known, return_inverse=True)
    return codes, values, first


def _refuse_float(value: float, row: int, place: str) -> None:
    reason = "continuous" if np.isfinite(value) else "infinite"
    raise ValueError(
        f"Unknown label type: {reason}. {place} has {value} in row {row}; classes must be names or "
        "whole numbers. For a regression target use a regressor, or bin the values first."
    )


def _encode_objects(column: list[Any], place: str) -> Encoded:
    """Rank arbitrary objects of one kind with a dict."""
    seen: dict[Any, int] = defaultdict()
    seen.default_factory = seen.__len__  # type: ignore[attr-defined]
    try:
        codes = np.fromiter(map(seen.__getitem__, column), dtype=np.intp, count=len(column))
    except TypeError:
        row = next(i for i, v in enumerate(column) if not is_hashable(v))
        raise TypeError(
            f"{place} has {column[row]!r} in row {row}, a {type(column[row]).__name__}, which "
            "cannot be a label. Labels must be strings, integers or other hashable values."
        ) from None
    kinds = _kinds(seen)
    if kinds != {"str"}:  # 1, True and 1.0 are one key of a dict, so every value is checked
        kinds = _kinds(column)
    if len(kinds) > 1:
        kinds = _check_kinds(column, place)
    labels = [value for value in seen if not is_missing(value)]
    first = None
    if len(labels) < len(seen):
        spelled = ((i, v) for i, v in enumerate(column) if v is not _ABSENT and is_missing(v))
        first = next(spelled, None)
    kind = next(iter(kinds)) if kinds else "str"
    if kind == "float":
        for value in labels:
            if not np.isfinite(value) or int(value) != value:
                row = next(i for i, v in enumerate(column) if v is value)
                _refuse_float(float(value), row, place)
    labels = sort_labels(labels, kind, place)
    # Codes are in order of appearance; missing labels have rank -1.
    rank = np.full(len(seen), -1, dtype=np.intp)
    rank[[seen[label] for label in labels]] = np.arange(len(labels))
    codes = rank[codes]
    return codes, as_values(labels, kind), first


def sort_labels(labels: list[Any], kind: str, place: str) -> list[Any]:
    """Sort labels; reject labels that have no order, or (as sets) only a partial one."""
    try:
        labels = sorted(labels)
        if kind in _TOTAL_ORDER:
            return labels
        # A single label is never compared by a sort, and sets are compared by inclusion.
        ordered = not any(label < label for label in labels[:1])
        ordered = ordered and all(a < b for a, b in itertools.pairwise(labels))
    except (TypeError, ArithmeticError):  # ArithmeticError: NaN as a decimal number
        ordered = False
    if not ordered:
        raise TypeError(
            f"{place} holds labels of type {kind}, which cannot be sorted. Use strings or whole "
            "numbers."
        )
    return labels


def as_values(labels: list[Any], kind: str) -> AnyArray:
    """An array of labels: numbers as numbers if possible, everything else as objects."""
    labels = [plain(label) for label in labels]
    if kind in ("int", "bool", "float"):
        array = np.asarray(labels)
        # NumPy converts integers to floats if no integer type holds all of them.
        if array.dtype.kind in {"int": "iu", "bool": "b", "float": "f"}[kind]:
            return array
    return object_array(labels)


def _kind_of_type(t: type) -> str | None:
    """The kind of label of a type; None for types of missing values only."""
    if issubclass(t, str):
        return "str"
    if issubclass(t, bool | np.bool_):
        return "bool"
    if issubclass(t, numbers.Integral):
        return "int"
    if issubclass(t, float | np.floating):
        return "float"
    if t is type(None) or t is type(_ABSENT) or t.__name__ in ("NAType", "NaTType"):
        return None
    return t.__name__


def _kinds(values: Iterable[Any]) -> set[str]:
    return {kind for kind in map(_kind_of_type, set(map(type, values))) if kind is not None}


def _check_kinds(column: list[Any], place: str) -> set[str]:
    """Check again, value by value: an empty string or NaN next to integers is only missing."""
    seen: dict[str, int] = {}
    for row, value in enumerate(column):
        if not is_missing(value):
            seen.setdefault(_kind_of_type(type(value)) or "", row)
    if len(seen) > 1:
        (kind_a, row_a), (kind_b, row_b), *_ = seen.items()
        raise ValueError(
            f"{place} mixes types: row {row_a} has {plain(column[row_a])!r} ({kind_a}), row "
            f"{row_b} has {plain(column[row_b])!r} ({kind_b}). Use one type within a level, for "
            f"example by converting the column to strings."
        )
    return set(seen)


def is_hashable(value: Any) -> bool:
    """Whether a value has a hash; a tuple that contains a list does not."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def kind_of(values: AnyArray) -> str:
    """The kind of some labels of one level."""
    if values.dtype == object:
        return _kind_of_type(type(values[0])) or ""
    return {"i": "int", "u": "int", "b": "bool", "f": "float", "U": "str", "S": "bytes"}[
        values.dtype.kind
    ]


# -- all columns -----------------------------------------------------------------------------------


def _common_dtype(values: list[AnyArray]) -> np.dtype[Any]:
    """The type of an array that holds the labels of all levels."""
    dtypes = {v.dtype for v in values if len(v)}
    if len(dtypes) == 1:
        return dtypes.pop()
    same_kind = len({dtype.kind for dtype in dtypes}) == 1
    return np.result_type(*dtypes) if same_kind else np.dtype(object)


def _missing_label(values: list[AnyArray], first: list[tuple[int, Any] | None]) -> Any:
    """The first missing value in reading order, or the usual one for these labels."""
    spelled = [(found[0], level, found[1]) for level, found in enumerate(first) if found]
    if spelled:  # rows or levels differ, so values are never compared
        return min(spelled, key=lambda s: s[:2])[2]
    kinds = {kind_of(v) for v in values if len(v)}
    if "str" in kinds:
        return ""
    return float("nan") if kinds == {"float"} else None
