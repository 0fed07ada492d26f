"""Truncation of paths that have a gap in the middle, in any container."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiclass._labels.columns import library_of, read_labels
from hiclass._typing import AnyArray


def truncate_at_gap(y: Any) -> Any:
    """Truncate every path at its first missing label.

    Parameters
    ----------
    y : array-like of shape (n_samples, n_levels), frame or list of lists
        Paths of labels. Labels after a missing label are removed.

    Returns
    -------
    y : same kind of container
        A copy in which no path has a gap. The input is not modified.

    Examples
    --------
    >>> from hiclass import truncate_at_gap
    >>> truncate_at_gap([["Animal", "", "Cat"], ["Animal", "Bird", "Owl"]])
    [['Animal'], ['Animal', 'Bird', 'Owl']]
    """
    columns = read_labels(y)
    present = np.column_stack([codes >= 0 for codes in columns.codes])
    keep = np.logical_and.accumulate(present, axis=1)
    drop = present & ~keep
    library = library_of(y)
    if library == "pandas" and hasattr(y, "columns"):
        return _mask_pandas(y, drop)
    if library == "polars" and hasattr(y, "columns"):
        import polars

        new = [
            polars.when(polars.Series(~drop[:, j])).then(polars.col(c)).alias(c)
            for j, c in enumerate(y.columns)
        ]
        return y.with_columns(new)
    if library == "pyarrow" and hasattr(y, "column_names"):
        import pyarrow.compute

        kept = [pyarrow.compute.if_else(~drop[:, j], c, None) for j, c in enumerate(y.columns)]
        return type(y).from_arrays(kept, schema=y.schema)
    if isinstance(y, np.ndarray) and y.ndim == 2:
        y = y.copy()
        if drop.any():
            y[drop] = columns.missing
        return y
    if columns.ndim == 1:
        return y
    return [list(path)[: int(n)] for path, n in zip(y, keep.sum(axis=1), strict=True)]


def _mask_pandas(frame: Any, drop: AnyArray) -> Any:
    """A copy of a frame without some of its labels; integers stay integers."""
    frame = frame.copy()
    for j in np.flatnonzero(drop.any(axis=0)).tolist():
        column = frame.iloc[:, j]
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
            column = column.astype(object)
        frame.isetitem(j, column.mask(drop[:, j]))
    return frame
