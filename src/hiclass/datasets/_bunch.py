"""The result of every loader: a Bunch, or the pair X and y, as arrays or frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch


def is_integer(value: Any) -> bool:
    """Whether a value is an integer and not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a number and not a boolean."""
    return is_integer(value) or isinstance(value, float | np.floating)


def check_flags(**flags: Any) -> None:
    """Reject options that are neither True nor False, by their names."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False; got {value!r}.")


def make_bunch(
    data: Any,
    target: Any,
    *,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    description: str,
    as_frame: bool,
    return_X_y: bool,
    per_row: Mapping[str, Any] | None = None,
    **extra: Any,
) -> Any:
    """Put data and paths into the form that the options choose.

    Parameters
    ----------
    data : ndarray, sparse matrix or dict of columns
        The features; an array of one dimension holds texts.
    target : ndarray of shape (n_samples, n_levels), or list of lists
        The paths, or the labels of every row.
    feature_names, target_names : sequence of str
        Names of the features and of the columns of ``target``.
    description : str
        The description of the data, ``DESCR`` of the Bunch.
    as_frame, return_X_y : bool
        The options of the loaders.
    per_row : mapping of str to array, default=None
        Further values of every row, which are also columns of ``frame``.
    **extra : dict
        Further entries of the Bunch.

    Returns
    -------
    Bunch, or tuple of data and target
    """
    check_flags(as_frame=as_frame, return_X_y=return_X_y)
    frame = None
    if as_frame:
        data, target, frame = _as_frames(data, target, feature_names, target_names, per_row or {})
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(feature_names),
        target_names=list(target_names),
        DESCR=description,
        **(per_row or {}),
        **extra,
    )


def _as_frames(
    data: Any,
    target: Any,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    per_row: Mapping[str, Any],
) -> tuple[Any, Any, Any]:
    """Return data, target and both together as objects of pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True requires pandas. Install it with: pip install pandas. Or use "
            "as_frame=False."
        ) from error

    pd: Any = pandas
    if hasattr(data, "tocsr"):
        data = pd.DataFrame.sparse.from_spmatrix(data, columns=feature_names)
    elif isinstance(data, np.ndarray) and data.ndim == 1:
        data = pd.Series(data, name=feature_names[0])
    else:
        data = pd.DataFrame(data, columns=list(feature_names))
    if isinstance(target, np.ndarray):
        target = pd.DataFrame(target, columns=list(target_names))
    else:
        target = pd.Series(target, name=target_names[0], dtype=object)
    more = pd.DataFrame(dict(per_row), index=data.index)
    return data, target, pd.concat([data, target, more], axis=1)


def paths_to_array(paths: Sequence[Sequence[Any]], depth: int = 1) -> npt.NDArray[Any]:
    """Return paths as an array of objects with at least this many levels, "" after their end."""
    y = np.full((len(paths), max([depth, *map(len, paths)])), "", dtype=object)
    for row, path in enumerate(paths):
        y[row, : len(path)] = path
    return y
