"""One line on stderr that says how far a fit has come."""

from __future__ import annotations

import sys
import time
from typing import Any

_BAR = 24


class Progress:
    """A progress bar: redrawn in place in a terminal or notebook, now and then a line in a pipe.

    Parameters
    ----------
    total : int
        Number of steps.
    title : str
        What is being done.
    enabled : bool
        Whether to show anything.
    """

    def __init__(self, total: int, title: str, *, enabled: bool) -> None:
        self._total = total
        self._title = title
        self._enabled = enabled and total > 0
        self._done = 0
        self._start = self._shown = time.monotonic()
        self._in_place = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def step(self, name: Any) -> None:
        """Count one step; ``name``, or what it returns, says what was done."""
        self._done += 1
        now = time.monotonic()
        pause = 0.1 if self._in_place else 10.0
        if self._enabled and (now - self._shown >= pause):
            self._shown = now
            self._write(name if isinstance(name, str) else name())

    def __exit__(self, *exc: object) -> None:
        if not self._enabled:
            return
        self._write("done" if exc[0] is None else "stopped")
        if self._in_place:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _write(self, name: str) -> None:
        spent = time.monotonic() - self._start
        left = spent / max(self._done, 1) * (self._total - self._done)
        filled = _BAR * self._done // self._total
        when = f"{_clock(left)} left" if self._done < self._total else _clock(spent)
        line = (
            f"{self._title} [{'#' * filled}{'.' * (_BAR - filled)}] {self._done}/{self._total} "
            f"{when}  {name[:40]}"
        )
        if self._in_place:
            sys.stderr.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
