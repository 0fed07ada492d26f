"""A progress bar on stderr for a fit."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Hashable

_BAR = 20
#: Seconds between two updates: in a terminal or a notebook, and in a pipe or a file.
_PAUSE_IN_PLACE, _PAUSE_BY_LINE = 0.1, 10.0


class Progress:
    """A progress bar: redrawn in place in a terminal or notebook, an occasional line in a pipe.

    Parameters
    ----------
    total : int
        Number of steps.
    title : str
        The title of the bar.
    enabled : bool
        Whether to show anything.
    """

    def __init__(self, total: int, title: str, *, enabled: bool) -> None:
        self._total = total
        self._title = title
        self._enabled = enabled and total > 0 and sys.stderr is not None
        self._in_place = self._enabled and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._pause = _PAUSE_IN_PLACE if self._in_place else _PAUSE_BY_LINE
        # Steps in progress, oldest first: a name and a size each.
        self._open: dict[Hashable, tuple[Callable[[], str], int]] = {}
        self._done = self._size_done = self._last_size = self._width = 0
        self._start = self._shown = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def begin(self, key: Hashable, name: Callable[[], str], size: int) -> None:
        """Record that a step begins; engines may call this from another thread."""
        if self._enabled:
            self._open[key] = name, size
            if len(self._open) == 1:
                self._write_now_and_then()

    def update(self, key: Hashable, name: Callable[[], str]) -> None:
        """Rename a step in progress, and show it at intervals."""
        if self._enabled:
            self._open[key] = name, self._open[key][1]
            self._write_now_and_then()

    def finish(self, key: Hashable) -> None:
        """Count one step."""
        self._done += 1
        if self._enabled:
            _, self._last_size = self._open.pop(key)
            self._size_done += self._last_size
            if self._open:  # otherwise the next step begins immediately and has a name to show
                self._write_now_and_then()

    def __exit__(self, *exc: object) -> None:
        if self._enabled:
            self._write(exc[0] is not None, last=True)

    def _write_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._shown >= self._pause or (self._in_place and not self._width):
            self._shown = now
            self._write()

    def _write(self, failed: bool = False, last: bool = False) -> None:
        spent = time.monotonic() - self._start
        filled = _BAR * self._done // self._total
        line = f"{self._title} [{'#' * filled}{'.' * (_BAR - filled)}] {self._done}/{self._total}"
        if last:
            line += f", {'stopped after' if failed else 'done in'} {_clock(spent)}"
        else:
            if self._size_done:
                # Steps come largest first, so the remaining ones are not larger than the last one.
                left = spent / self._size_done * self._last_size * (self._total - self._done)
                line += f", {_clock(left)} left"
            names = [name for name, _ in list(self._open.values())[:1]]
            line += "".join(f": {_one_line(name())}" for name in names)
        if self._in_place:
            line = line[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write("\r" + line.ljust(self._width) + ("\n" if last else ""))
            self._width = len(line)
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _one_line(name: str) -> str:
    """A name without line breaks and other control characters."""
    return "".join(c if c.isprintable() else " " for c in name)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
