"""A queue as data: rows, suggested classes and reasons. It is read once and never changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hiclass._inspect.queues import (
    MODEL,
    REASONS,
    TAXONOMY,
    parse_path,
    probability_column,
    suggestion_column,
    taxonomy_mark,
)
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

_RESTORE = "Restore the cell, or create a new queue with hiclass triage."


class QueueError(Exception):
    """A problem with a queue, and its row if there is one."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True)
class Queue:
    """Rows that wait for people.

    Attributes
    ----------
    cells : dict
        The columns of the rows by name, without those added by triage.
    features : tuple of str
        The columns that the model uses.
    suggestions : ndarray of shape (n_rows, k)
        Nodes in order of decreasing probability; -1 if there are fewer.
    probabilities : ndarray of shape (n_rows, k)
        Their probabilities.
    reasons : ndarray of shape (n_rows,)
        JSON, or None.
    """

    cells: Mapping[str, AnyArray]
    features: tuple[str, ...]
    suggestions: IntArray
    probabilities: FloatArray
    reasons: AnyArray

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.suggestions)

    @cached_property
    def _groups(self) -> tuple[IntArray, IntArray, IntArray]:
        """The group of every row, and the rows of all groups in order."""
        codes: dict[Any, int] = {}
        columns = [self.cells[name] for name in self.features]
        group = np.array(
            [codes.setdefault(tuple(map(str, row)), len(codes)) for row in zip(*columns)],  # noqa: B905
            dtype=np.intp,
        )
        starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
        return group, starts, np.argsort(group, kind="stable")

    def identical(self, row: int) -> list[int]:
        """The rows with the same features as a row, including the row itself."""
        group, starts, order = self._groups
        here = group[row]
        return [int(other) for other in order[starts[here] : starts[here + 1]]]


def read_queue(
    columns: Mapping[str, AnyArray], features: Sequence[str], hierarchy: Hierarchy, model: str
) -> Queue:
    """Check the columns of a queue.

    Parameters
    ----------
    columns : mapping
        The cells of every column, as arrays of objects with None for empty cells.
    features : sequence of str
        The columns that the model uses.
    hierarchy : Hierarchy
        The tree of the model.
    model : str
        The identifier of the model.

    Returns
    -------
    Queue

    Raises
    ------
    QueueError
        If a column is missing, or the queue belongs to another model or other classes.
    """
    needed = [MODEL, TAXONOMY, suggestion_column(1), probability_column(1), *features]
    for name in needed:
        if name not in columns:
            raise QueueError(
                f"The queue has no column {name!r}. Use a file written by hiclass triage, with all "
                "of its columns."
            )
    _check_mark(columns[TAXONOMY], taxonomy_mark(hierarchy), _OTHER_CLASSES)
    _check_mark(columns[MODEL], model, _OTHER_MODEL)
    suggestions, probabilities = _read_suggestions(columns, hierarchy)
    n_rows = len(suggestions)
    reasons = columns.get(REASONS, np.full(n_rows, None, dtype=object))
    for row, cell in enumerate(reasons):
        if cell is not None and not _is_reasons(cell):
            raise QueueError(
                f"{cell!r:.60} in {REASONS!r} is not the format of hiclass triage. {_RESTORE}", row
            )
    k = suggestions.shape[1]
    added = {MODEL, TAXONOMY, REASONS}
    added |= {name(i) for name in (suggestion_column, probability_column) for i in range(1, k + 1)}
    cells = {name: values for name, values in columns.items() if name not in added}
    return Queue(cells, tuple(features), suggestions, probabilities, reasons)


_OTHER_CLASSES = (
    "The suggestions of this row are from a taxonomy other than that of the model. Create a new "
    "queue with hiclass triage, or use the model that created this queue."
)
_OTHER_MODEL = (
    "This row is from a model other than the given one (the classes are the same). Use the model "
    "that created this queue, or create a new queue with hiclass triage."
)


def _check_mark(cells: AnyArray, expected: str, problem: str) -> None:
    for row, cell in enumerate(cells):
        if cell != expected:
            raise QueueError(problem, row)


def _read_suggestions(
    columns: Mapping[str, AnyArray], hierarchy: Hierarchy
) -> tuple[IntArray, FloatArray]:
    k = 1
    while suggestion_column(k + 1) in columns and probability_column(k + 1) in columns:
        k += 1
    n_rows = len(columns[MODEL])
    nodes = np.full((n_rows, k), -1, dtype=np.intp)
    probabilities = np.zeros((n_rows, k), dtype=np.float64)
    known: dict[Any, int] = {}
    for j in range(k):
        name, share = suggestion_column(j + 1), probability_column(j + 1)
        for row, (cell, p) in enumerate(zip(columns[name], columns[share], strict=True)):
            if cell is None:
                continue
            if cell not in known:
                known[cell] = _node_of(cell, name, hierarchy, row)
            nodes[row, j] = known[cell]
            probabilities[row, j] = _probability(p, share, row)
    return nodes, probabilities


def _node_of(cell: Any, name: str, hierarchy: Hierarchy, row: int) -> int:
    path = parse_path(cell)
    if path is None:
        raise QueueError(
            f"{cell!r:.60} in {name!r} is not a path in the format of hiclass triage.", row
        )
    try:
        return int(hierarchy.find(path))
    except ValueError:
        raise QueueError(
            f"{cell:.60} in {name!r} is not a class of the model. {_RESTORE}", row
        ) from None


def _probability(cell: Any, name: str, row: int) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value <= 1:
        raise QueueError(f"{cell!r:.60} in {name!r} is not a probability. {_RESTORE}", row)
    return value


def _is_reasons(cell: Any) -> bool:
    try:
        found = json.loads(cell)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("features"), list)
