"""The state of the desk: people take rows, code them, skip them and undo decisions.

The state follows from the entries of the journal. Only the reservations of rows are not in the
journal. An entry is written to disk first and then applied, so that nothing is shown as done that
is not on disk. All calls come from one thread.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hiclass._serving.desk.journal import Journal
from hiclass._serving.desk.queue import Queue
from hiclass._serving.desk.search import ClassIndex
from hiclass.hierarchy import Hierarchy

#: Seconds for which a row stays reserved after the last message of its page.
LEASE = 180
#: The number of classes listed at a time, the longest comment, and the number of rows coded at
#: once.
_LISTED, _LONGEST, _MOST_AT_ONCE = 200, 2000, 10_000
#: The node of rows that are waiting, and of rows that were skipped.
WAITING, SKIPPED = 0, -1
_STATUS = {WAITING: 0, SKIPPED: 2}
_CODED = 1


class DeskError(Exception):
    """A request that the desk rejects, with the reason; ``kind`` is the reason in one word."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Decision:
    """An entry of the journal about rows that were coded or skipped.

    Attributes
    ----------
    rows : tuple of int
        The rows, starting at 0.
    node : int
        The class, or ``SKIPPED``.
    comment : str
        The comment of the person.
    by : str
        The session.
    at : str
        The time, in UTC.
    before : tuple of int
        The number of the entry that was valid for each row before; 0 for none.
    """

    rows: tuple[int, ...]
    node: int
    comment: str
    by: str
    at: str
    before: tuple[int, ...]


class Desk:
    """A queue, the decisions about it, and who is working on which row.

    Parameters
    ----------
    queue : Queue
        The rows.
    hierarchy : Hierarchy
        Their classes, a tree.
    journal : Journal
        The file for decisions. Its existing entries are applied.
    levels : list of str
        The names of the levels.
    title : str, default=""
        The title of the page.
    clock : callable, default=time.monotonic
        A function that returns seconds.
    """

    def __init__(
        self,
        queue: Queue,
        hierarchy: Hierarchy,
        journal: Journal,
        *,
        levels: list[str],
        title: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queue, self.hierarchy, self.journal = queue, hierarchy, journal
        self.levels, self.title = levels, title
        self._clock = clock
        self._index = ClassIndex(hierarchy)
        self._nodes = [WAITING] * queue.n_rows
        self._status = bytearray(queue.n_rows)
        self._latest = [0] * queue.n_rows
        self._decisions: dict[int, Decision] = {}
        self._number = 0
        self._by: dict[str, list[int]] = {}
        self._claims: dict[int, tuple[str, float]] = {}
        self._counts = dict.fromkeys(("coded", "skipped", "first", "above", "listed"), 0)
        for entry in journal.entries:
            self._apply(entry)
        journal.entries = []

    # -- the journal ---------------------------------------------------------------------------

    def _record(self, entry: dict[str, Any], by: str) -> None:
        """Write an entry to the journal, then apply it."""
        entry |= {"by": by, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        self.journal.append(entry)
        self._apply(entry)

    def _apply(self, entry: dict[str, Any]) -> None:
        self._number += 1
        if entry["kind"] == "undo":
            undone = self._decisions[entry["of"]]
            for row, number in zip(undone.rows, undone.before, strict=True):
                self._set(row, number)
            del self._decisions[entry["of"]]
            self._by[undone.by].remove(entry["of"])
            return
        coded = entry["kind"] == "code"
        node = int(self.hierarchy.find(tuple(entry["path"]))) if coded else SKIPPED
        rows = tuple(entry["rows"])
        before = tuple(self._latest[row] for row in rows)
        found = Decision(rows, node, entry["comment"], entry["by"], entry["at"], before)
        self._decisions[self._number] = found
        self._by.setdefault(found.by, []).append(self._number)
        for row in rows:
            self._set(row, self._number)

    def _set(self, row: int, number: int) -> None:
        """Set the entry that is valid for a row; 0 for none."""
        for name in self._facts(row):
            self._counts[name] -= 1
        self._latest[row] = number
        node = self._decisions[number].node if number else WAITING
        self._nodes[row] = node
        self._status[row] = _STATUS.get(node, _CODED)
        for name in self._facts(row):
            self._counts[name] += 1

    def _facts(self, row: int) -> list[str]:
        """The counts that include a row: its status and, if coded, its agreement."""
        node = self._nodes[row]
        if node in _STATUS:
            return ["skipped"] if node == SKIPPED else []
        suggested = self.queue.suggestions[row].tolist()
        found = ["coded", "listed"] if node in suggested else ["coded"]
        if node == suggested[0]:
            found.append("first")
        elif node <= suggested[0] < self.hierarchy.subtree_end[node]:
            found.append("above")
        return found

    def decisions(self) -> dict[int, Decision]:
        """The valid decision of every row that has one."""
        return {row: self._decisions[n] for row, n in enumerate(self._latest) if n}

    def progress(self) -> dict[str, int]:
        """The numbers of all, coded and skipped rows, and how often people agree with the model."""
        now = self._clock()
        taken = sum(until > now for _, until in self._claims.values())
        left = self.queue.n_rows - self._counts["coded"] - self._counts["skipped"]
        return {"total": self.queue.n_rows, "left": left, "taken": taken, **self._counts}

    # -- rows ----------------------------------------------------------------------------------

    def take(self, worker: str, *, skipped: bool = False, after: int = -1) -> dict[str, Any] | None:
        """Reserve the next row for a page, and return what the page shows.

        Parameters
        ----------
        worker : str
            The page. It has one row at a time.
        skipped : bool, default=False
            Whether to take a skipped row instead of one that nobody has seen.
        after : int, default=-1
            The last skipped row that was taken. Rows that are skipped again come last.

        Returns
        -------
        dict or None
            None if all remaining rows are reserved by others.
        """
        self.leave(worker)
        now = self._clock()
        self._claims = {row: claim for row, claim in self._claims.items() if claim[1] > now}
        wanted = bytes([_STATUS[SKIPPED if skipped else WAITING]])
        row = self._free(wanted, after + 1 if skipped else 0)
        if row < 0 and skipped:
            row = self._free(wanted, 0)
        return None if row < 0 else self._give(row, worker)

    def _free(self, wanted: bytes, start: int) -> int:
        """The first row from a position on that has a status and is not reserved; -1 for none."""
        row = self._status.find(wanted, start)
        while row in self._claims:
            row = self._status.find(wanted, row + 1)
        return row

    def _give(self, row: int, worker: str) -> dict[str, Any]:
        self._claims[row] = (worker, self._clock() + LEASE)
        return self.show(row)

    def stay(self, worker: str) -> None:
        """Renew the reservation of a page that is still open."""
        for row, (holder, _) in self._claims.items():
            if holder == worker:
                self._claims[row] = (worker, self._clock() + LEASE)

    def leave(self, worker: str) -> None:
        """Release the rows that a page has reserved."""
        self._claims = {r: claim for r, claim in self._claims.items() if claim[0] != worker}

    def decide(
        self,
        worker: str,
        by: str,
        row: int,
        node: int,
        *,
        comment: str = "",
        identical: bool = False,
    ) -> int:
        """Code or skip a row; the decision is on disk when this returns.

        Parameters
        ----------
        worker : str
            The page.
        by : str
            The session.
        row : int
            The row, starting at 0.
        node : int
            The class, at any level; ``SKIPPED`` to skip the row.
        comment : str, default=""
            A comment to store.
        identical : bool, default=False
            Whether to apply the decision to all waiting rows with the same features.

        Returns
        -------
        int
            The number of rows that the decision applies to.

        Raises
        ------
        DeskError
            If the row was decided differently, or another person has reserved it.
        OSError
            If the decision could not be written; the state is then unchanged.
        """
        if not 0 <= row < self.queue.n_rows:
            raise DeskError("unknown_row", f"There is no row {row}. Reload the page.")
        if node != SKIPPED and not 0 < node < self.hierarchy.n_nodes:
            raise DeskError("unknown_class", f"There is no class {node}. Reload the page.")
        if len(comment) > _LONGEST:
            raise DeskError(
                "too_long",
                f"The comment has {len(comment):,} characters, but at most {_LONGEST:,} are "
                "allowed. Shorten it.",
            )
        if self._nodes[row] > 0:
            found = self._decisions[self._latest[row]]
            if (found.by, found.node, found.comment) == (by, node, comment):
                self.leave(worker)
                return len(found.rows)
            if found.by == by:
                raise DeskError(
                    "taken",
                    "You have already coded this row differently. To change the decision, use "
                    "Undo.",
                )
        if self._nodes[row] > 0 or self._is_taken(row, worker):
            raise DeskError(
                "taken", "Another person has taken this row in the meantime. Take the next row."
            )
        rows = [row]
        if identical:
            others = self.queue.identical(row)
            free = [
                r for r in others if self._nodes[r] == WAITING and not self._is_taken(r, worker)
            ]
            rows = sorted({row, *free[:_MOST_AT_ONCE]})
        entry: dict[str, Any] = {"kind": "skip" if node == SKIPPED else "code", "rows": rows}
        if node != SKIPPED:
            entry["path"] = list(self.hierarchy.path(node))
        self._record({**entry, "comment": comment}, by)
        self.leave(worker)
        return len(rows)

    def _is_taken(self, row: int, worker: str) -> bool:
        """Whether a row is reserved by another page."""
        holder, until = self._claims.get(row, (worker, 0.0))
        return holder != worker and until > self._clock()

    def undo(self, worker: str, by: str) -> dict[str, Any]:
        """Undo the last decision of a session, and return its row and the decision.

        Parameters
        ----------
        worker : str
            The page, which gets the row.
        by : str
            The session.

        Returns
        -------
        dict
            As in :meth:`take`.

        Raises
        ------
        DeskError
            If the session has no valid decision.
        OSError
            If the entry could not be written; the state is then unchanged.
        """
        for number in reversed(self._by.get(by, [])):
            undone = self._decisions[number]
            free = not any(self._is_taken(row, worker) for row in undone.rows)
            if free and all(self._latest[row] == number for row in undone.rows):
                self._record({"kind": "undo", "of": number}, by)
                self.leave(worker)
                return {**self._give(undone.rows[0], worker), "comment": undone.comment}
        raise DeskError(
            "nothing", "There is nothing to undo, because you have not made any decision yet."
        )

    # -- the content of the page ---------------------------------------------------------------

    def show(self, row: int) -> dict[str, Any]:
        """A row with its suggestions and reasons, as plain data."""
        queue = self.queue
        pairs = zip(queue.suggestions[row].tolist(), queue.probabilities[row].tolist(), strict=True)
        reasons = queue.reasons[row]
        waiting = [other for other in queue.identical(row) if self._nodes[other] == WAITING]
        return {
            "row": row,
            "cells": [
                {"name": name, "text": _text(cells[row]), "feature": name in queue.features}
                for name, cells in queue.cells.items()
            ],
            "suggestions": [
                {"path": self.path(node), "probability": round(p, 6)}
                for node, p in pairs
                if node > 0
            ],
            "reasons": None if reasons is None else json.loads(reasons),
            "identical": len(set(waiting) - {row}),
            "comment": "",
        }

    def path(self, node: int) -> list[dict[str, Any]]:
        """The classes from level 1 down to a node."""
        above = [v for v in self.hierarchy.ancestors(node).tolist() if v]
        return [self._class(v) for v in [*above, node]]

    def _class(self, node: int) -> dict[str, Any]:
        texts = self.hierarchy.texts[node]
        label = str(self.hierarchy.labels[node])
        title = texts[0] if texts and texts[0] != label else ""
        return {"node": node, "label": label, "title": title}

    def find(self, query: str) -> list[dict[str, Any]]:
        """The classes that contain the words of a query, with their paths."""
        return [self._listed(node) for node in self._index.find(query)]

    def _listed(self, node: int) -> dict[str, Any]:
        return {"path": self.path(node), "below": self._n_below(node)}

    def _n_below(self, node: int) -> int:
        return int(self.hierarchy.subtree_end[node]) - node - 1

    def browse(self, node: int, start: int = 0) -> dict[str, Any]:
        """The children of a node, in portions.

        Parameters
        ----------
        node : int
            The node; 0 for the root.
        start : int, default=0
            The number of children to skip.

        Returns
        -------
        dict
            The path of the node, its children, and their total number.

        Raises
        ------
        DeskError
            If the node does not exist.
        """
        if not 0 <= node < self.hierarchy.n_nodes:
            raise DeskError("unknown_class", f"There is no class {node}. Reload the page.")
        children = self.hierarchy.children(node).tolist()
        shown = children[max(start, 0) :][:_LISTED]
        return {
            "path": self.path(node) if node else [],
            "children": [{**self._class(v), "below": self._n_below(v)} for v in shown],
            "total": len(children),
        }


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)
