"""Hints at common problems in data: paths in one column, labels among the features."""

from __future__ import annotations

from typing import Any

from hiclass._labels.separators import find_separator
from hiclass._warnings import warn_user
from hiclass.hierarchy import Hierarchy


def hint_at_paths(hierarchy: Hierarchy) -> None:
    """Warn if labels of one level look like whole paths.

    Parameters
    ----------
    hierarchy : Hierarchy
        The hierarchy of one-dimensional labels.
    """
    found = find_separator(hierarchy.labels[1:])
    if found is not None:
        separator, example = found
        warn_user(
            f"The labels look like whole paths, such as {example!r:.80}, but y has one label per "
            f"row, so there is no hierarchy to learn. To learn the levels, split them: "
            f"y = [label.split({separator!r}) for label in y]"
        )


def hint_at_labels(X: Any, y: Any) -> None:
    """Warn if columns of the labels are among the features.

    Parameters
    ----------
    X : table
        Rows.
    y : frame or series
        Labels.
    """
    names: list[Any] = _names(y) or [getattr(y, "name", None)]
    found = [name for name in _names(X) if name in names]
    if found:
        listed = ", ".join(map(repr, found))
        warn_user(
            f"Columns of X have the names of label columns: {listed}. If they hold the labels, "
            f"remove them from X: new rows do not have them."
        )


def _names(table: Any) -> list[str]:
    """The names of columns; numbers are the names of unnamed columns."""
    if hasattr(table, "collect"):  # a lazy frame, which would compute them and warn
        return []
    names = getattr(table, "column_names", getattr(table, "columns", ()))
    return [name for name in names if isinstance(name, str)]
