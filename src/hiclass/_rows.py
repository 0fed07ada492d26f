"""X as rows: check, count, slice, chunk.

X is passed to the local classifiers. Numeric arrays, nested lists of numbers and sparse matrices
are checked once; frames, texts and all other containers are only sliced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from hiclass._compat import check_sample_weight, safe_indexing, validate_data
from hiclass._compat import n_rows_of as count_rows
from hiclass._typing import AnyArray, IntArray

_CHUNK_BYTES = 1 << 28
#: A chunk has 256 rows even if that takes more memory, because every call of a classifier has a
#: fixed cost. But this many times more, as with a million classes, would fill the memory.
_MOST_CHUNK_BYTES = 1 << 29
_MOST_INT32 = np.iinfo(np.int32).max
#: The cost of searching a column, relative to filling an entry of a table of all columns, and of
#: writing the number of a column into the table.
_SEARCH_COST, _COLUMN_COST = 128, 32
#: Rows of a sparse matrix with about this few entries are taken without checking its index.
_FEW_ENTRIES = 8192
#: Fewer rows do not justify a thread.
_FEWEST_ROWS = 256


def n_rows_of(X: Any) -> int:
    """The number of rows of X."""
    if (type(X) is np.ndarray and X.ndim) or is_csr(X):
        return int(X.shape[0])
    return count_rows(X)


def check_X(estimator: Any, X: Any, tags: Any, *, reset: bool, numbers: bool = False) -> Any:
    """Check X if it consists of numbers, and its columns against those in ``fit``.

    With ``numbers``, rows must be finite numbers in two dimensions, and frames are converted: for
    classifiers that have only some of the columns and do not see the others.
    """
    finite = numbers or (tags is not None and not tags.input_tags.allow_nan)
    if sp.issparse(X):
        X = validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=finite)
        return _as_shared(X)
    if isinstance(X, str | bytes):
        raise TypeError("X is a single text. Pass a list of texts, one per row.")
    if isinstance(X, type):
        raise TypeError(f"X is the class {X.__name__}. Pass rows instead.")
    if isinstance(X, Mapping | Set):
        raise TypeError(
            f"X is a {type(X).__name__}, which is not a sequence of rows. Pass an array, a frame "
            "(for columns by name, pandas.DataFrame(X)) or a list of rows."
        )
    if isinstance(X, list | tuple) and len(X):
        X = _numbers_or_as_is(X)
    elif not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufc":
        if not reset and is_as_fitted(estimator, X, finite=finite):
            return X
        return validate_data(
            estimator, X, reset=reset, allow_nd=not numbers, ensure_all_finite=finite, dtype=None
        )
    if n_rows_of(X) == 0:
        raise ValueError("X is empty: found array with 0 sample(s) while 1 is required.")
    if len(getattr(X, "shape", ())) > 1:
        if X.shape[1] == 0:
            raise ValueError(
                f"Found 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
            )
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    if numbers:
        X = check_array(X, accept_sparse="csr", estimator=estimator, input_name="X")
    return _as_shared(X) if sp.issparse(X) else X


def _as_shared(X: Any) -> Any:
    """A sorted CSR matrix, because a local classifier must not sort shared rows in place."""
    return _with_small_indices(X if X.has_sorted_indices else X.sorted_indices())


def _with_small_indices(X: Any) -> Any:
    """The same rows with 32-bit indices if possible, because some classifiers accept no others."""
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(X.nnz, X.shape[1]) > _MOST_INT32:
        return X
    X = _shallow(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def is_as_fitted(estimator: Any, X: Any, *, finite: bool) -> bool:
    """Whether X is obviously a valid array; a quick check for single rows.

    Otherwise, scikit-learn checks X and explains what is wrong. With ``finite``, the values are
    checked, too.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "iuf" or not len(X):
        return False
    params = vars(estimator)
    if params.get("n_features_in_") != X.shape[1] or "feature_names_in_" in params:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not finite or X.dtype.kind != "f" or bool(np.isfinite(X.sum()))


def _numbers_or_as_is(X: Any) -> Any:
    """Nested lists of numbers as an array; texts and mixed rows are unchanged."""
    if not _is_numeric(next(iter(X), 0.0)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return X
    return array if array.dtype.kind in "biufc" else X


def _is_numeric(row: Any) -> bool:
    """Whether a row of a nested list contains only numbers."""
    values = np.ravel(np.asarray(row, dtype=object)) if not isinstance(row, dict) else [row]
    return all(isinstance(value, int | float | np.number) for value in values)


def take_rows(X: Any, rows: IntArray | None) -> Any:
    """A copy of some rows of X, which a local classifier may modify; ``None`` for all rows."""
    if not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        if rows is None:
            return X.copy()
        few = is_csr(X) and len(rows) * X.nnz <= _FEW_ENTRIES * X.shape[0]
        return _take_few(X, rows) if few and rows.dtype.kind == "i" else X[rows]
    return safe_indexing(X, np.arange(n_rows_of(X)) if rows is None else rows)


def is_csr(X: Any) -> bool:
    """Whether X is a CSR matrix with two dimensions."""
    return sp.issparse(X) and X.format == "csr" and X.ndim == 2


def _take_few(X: Any, rows: IntArray) -> Any:
    """A few rows of a CSR matrix, without checking its index, which would take longer."""
    start = X.indptr.take(rows)
    length = X.indptr.take(rows + 1) - start
    indptr = np.zeros(len(rows) + 1, dtype=X.indptr.dtype)
    np.cumsum(length, out=indptr[1:])
    place = np.arange(indptr[-1], dtype=np.intp)
    place += np.repeat(start - indptr[:-1], length)
    return csr_like(X, X.data.take(place), X.indices.take(place), indptr, X.shape[1])


def one_in(rows: IntArray, step: int) -> IntArray:
    """One row of every ``step``, at random but always the same.

    Parameters
    ----------
    rows : ndarray of int
        Numbers of rows.
    step : int
        The number of rows per selected row; all rows are selected if it is not above 1.

    Returns
    -------
    ndarray of int
        As many as ``rows[::step]`` has, in the same order.
    """
    if step <= 1:
        return rows
    start = np.arange(0, len(rows), step)
    within = np.minimum(step, len(rows) - start)
    return rows[np.random.default_rng(0).integers(start, start + within)]


def select_columns(X: Any, columns: IntArray) -> Any:
    """Rows with only some of their columns.

    Parameters
    ----------
    X : ndarray or sparse matrix
        The rows.
    columns : ndarray of int32
        The columns in ascending order; at least one.

    Returns
    -------
    ndarray or sparse matrix of shape (n_rows, n_columns)
    """
    if not is_csr(X):
        return X[:, columns]
    indices = numbers_of(X, columns)
    kept = indices < len(columns)
    if kept.all():
        return csr_like(X, X.data, indices, X.indptr, len(columns))
    before = np.zeros(len(kept) + 1, dtype=X.indptr.dtype)  # the number of kept entries up to there
    np.cumsum(kept, out=before[1:])
    return csr_like(X, X.data[kept], indices[kept], before[X.indptr], len(columns))


def numbers_of(X: Any, columns: IntArray) -> IntArray:
    """The position of the column of every entry of a CSR matrix among some columns.

    For an entry of another column, the number of these columns.

    Parameters
    ----------
    X : CSR matrix
        The rows.
    columns : ndarray of int32
        The columns in ascending order; at least one.

    Returns
    -------
    ndarray of int, of the type of the indices of X
    """
    n = len(columns)
    if _SEARCH_COST * X.nnz < X.shape[1] + _COLUMN_COST * n:
        numbers = np.searchsorted(columns, X.indices)
        numbers[columns[np.minimum(numbers, n - 1)] != X.indices] = n
    else:  # so many entries that a table of all columns is faster
        table = np.full(X.shape[1], n, dtype=np.int32)
        table[columns] = np.arange(n, dtype=np.int32)
        numbers = table.take(X.indices)
    return numbers.astype(X.indptr.dtype, copy=False)


def largest_norm(X: Any) -> float:
    """The largest Euclidean norm of a row; infinite if X is not a CSR matrix."""
    if not is_csr(X):
        return float("inf")
    squares = csr_like(X, X.data.astype(np.float64) ** 2, X.indices, X.indptr, X.shape[1])
    return float(np.sqrt((squares @ np.ones(X.shape[1])).max(initial=0)))


def csr_like(X: Any, data: AnyArray, indices: IntArray, indptr: IntArray, n_columns: int) -> Any:
    """A CSR matrix of entries of X, in the same order within a row.

    Without the constructor, which would check all indices and take longer than the rest.
    """
    shape = (len(indptr) - 1, n_columns)
    if "_shape" not in vars(X):  # of SciPy, which may change it
        return type(X)((data, indices, indptr), shape=shape)
    found = _shallow(X)
    found.data, found.indices, found.indptr, found._shape = data, indices, indptr, shape
    return found


def _shallow(X: Any) -> Any:
    """A copy of the container of a sparse matrix: ``copy.copy`` in a tenth of its time."""
    found = object.__new__(type(X))
    found.__dict__.update(X.__dict__)
    return found


def protect(X: Any) -> Any:
    """The same data, protected against modification, without a copy."""
    if isinstance(X, np.ndarray):
        X = X.view()
        X.flags.writeable = False
    elif sp.issparse(X):
        X = _shallow(X)  # the constructor would check all indices again
        X.data = X.data.view()
        X.data.flags.writeable = False
    elif hasattr(X, "iloc"):
        # Since pandas 3, a shallow copy is copied when it is modified.
        X = X.copy(deep=int(sys.modules["pandas"].__version__.partition(".")[0]) < 3)
    return X


def chunks_of_rows(X: Any, width: int, n_jobs: int = 1) -> Iterator[slice]:
    """Split the rows so that a few arrays of ``width`` values per row stay small."""
    n_rows = n_rows_of(X)
    per_row = 8 * 4 * width + _bytes_per_row(X, n_rows)
    size = min(_CHUNK_BYTES // (n_jobs * per_row), -(-n_rows // n_jobs))
    fewest = min(_FEWEST_ROWS, n_rows) if n_jobs == 1 else _FEWEST_ROWS
    size = max(size, min(fewest, _MOST_CHUNK_BYTES // (n_jobs * per_row)), 1)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def map_chunks(function: Callable[[Any, slice], Any], X: Any, width: int) -> list[Any]:
    """Call a function on one chunk of rows after another, and on the slice of its rows.

    ``width`` is the number of values per row that the function holds in each of a few arrays.
    """
    return [function(slice_rows(X, rows), rows) for rows in chunks_of_rows(X, width)]


def _bytes_per_row(X: Any, n_rows: int) -> int:
    if sp.issparse(X):
        return 12 * X.nnz // n_rows + 4
    return int(X.nbytes) // n_rows if isinstance(X, np.ndarray) else 256


def slice_rows(X: Any, rows: slice) -> Any:
    """Contiguous rows, as a view if the container supports it."""
    if rows.start == 0 and rows.stop >= n_rows_of(X):
        return protect(X)
    if is_csr(X):
        first, last = X.indptr[[rows.start, min(rows.stop, X.shape[0])]].tolist()
        indptr = X.indptr[rows.start : rows.stop + 1] - X.indptr.dtype.type(first)
        part = csr_like(X, X.data[first:last], X.indices[first:last], indptr, X.shape[1])
        return protect(part)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return protect(X[rows])
    return safe_indexing(X, rows)


def as_weights(sample_weight: Any, X: Any) -> AnyArray | None:
    """Sample weights as an array with one entry per row, at least one of which is not zero."""
    if sample_weight is None:
        return None
    weights = check_sample_weight(sample_weight, X)
    if not weights.any():  # the message of scikit-learn since 1.8
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def check_weights(sample_weight: Any, X: Any) -> AnyArray | None:
    """The same, for estimators that require non-negative weights."""
    weights = as_weights(sample_weight, X)
    if weights is not None and (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {weights[row]}. Use 0 to leave a "
            f"row out."
        )
    return weights
