"""Decisions on disk: a file of JSON lines that only grows.

Every line starts with a checksum of itself and of all lines before it, so that a line that was
changed, removed or moved is found. A line is on disk before :meth:`Journal.append` returns. What a
killed process has left of a last line was never confirmed, and is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

#: So many hexadecimal digits are before the content of a line.
_DIGITS = 16


class JournalError(Exception):
    """What is wrong with a journal, and what to do about it, in one line."""


class Journal:
    """A journal that is open for writing, by this process alone.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.
    header : dict
        What the journal is about: the first line of a new file, and what that of an old one must
        be.

    Attributes
    ----------
    entries : list of dict
        What was in the file when it was opened, without its header.
    torn : int
        The length in bytes of the unfinished line at its end, which was removed.

    Raises
    ------
    JournalError
        If another process has the file, if it is about something else, or if a line was changed.
    OSError
        If it cannot be read or written.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _lock(self._file, path)
            raw = _read_all(self._file)
            contents, self._sum, self._end = read_lines(raw, path)
            if contents:
                _check_header(contents[0], header, path)
            else:
                _check_is_ours(raw, header, path)
            self.torn = len(raw) - self._end
            if self.torn:
                os.ftruncate(self._file, self._end)
            if contents and raw[self._end - 1 : self._end] != b"\n":
                self._write(b"\n")  # an editor has removed it, or a kill was that early
            self.entries = contents[1:]
            if not contents:
                self.append(header)
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry, and return when it is on disk.

        Parameters
        ----------
        entry : dict
            What JSON can hold.

        Raises
        ------
        OSError
            If it could not be written: the disk is full, for example. The file is as it was.
        """
        self._sum = self._write(line_of(entry, self._sum))

    def _write(self, line: bytes) -> str:
        """Write a line, and return its checksum."""
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError:
            # Nothing of it was confirmed; the next entry starts where this one did.
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(line)
        return line[:_DIGITS].decode()

    def close(self) -> None:
        """Close the file, so that another process may open it."""
        os.close(self._file)


def line_of(entry: dict[str, Any], before: str) -> bytes:
    """The line of an entry, after a line with this checksum."""
    content = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
    return checksum(before, content).encode() + b" " + content + b"\n"


def read_lines(raw: bytes, path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """Check the lines of a journal.

    Parameters
    ----------
    raw : bytes
        The file.
    path : Path
        Its name, for messages.

    Returns
    -------
    contents : list of dict
        What the lines hold.
    last : str
        The checksum of the last of them; empty if there is none.
    end : int
        Where the last whole line ends: what follows was never finished.

    Raises
    ------
    JournalError
        If a whole line is not what was written.
    """
    contents: list[dict[str, Any]] = []
    last, end = "", 0
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=1):
        is_last = number == len(lines)
        total = checksum(last, line[_DIGITS + 1 :])
        if line[: _DIGITS + 1] != total.encode() + b" ":
            if is_last:
                break
            if number == 1:
                raise _not_ours(path)
            raise JournalError(
                f"{path}, line {number}: this line is not as it was written, or a line before it "
                f"is missing. The {number - 2:,} entries before it are in order. Restore "
                f"the file from a copy; or keep a copy, and remove line {number} and all that "
                f"follow to go on after entry {number - 2:,}."
            )
        contents.append(json.loads(line[_DIGITS + 1 :]))
        last, end = total, end + len(line) + (not is_last)
    return contents, last, end


def checksum(before: str, content: bytes) -> str:
    """The checksum of a line, which covers the one of the line before."""
    return hashlib.sha256(before.encode() + content).hexdigest()[:_DIGITS]


def _check_header(found: dict[str, Any], header: dict[str, Any], path: Path) -> None:
    for key, value in header.items():
        if found.get(key) != value:
            raise JournalError(
                f"{path} is the journal of another {key}. Give another output with -o, or the "
                f"{key} with which the review was begun; nothing was changed."
            )


def _check_is_ours(raw: bytes, header: dict[str, Any], path: Path) -> None:
    """Refuse a file without a whole line, unless it is the beginning of the first line."""
    if not line_of(header, "").startswith(raw) and raw.strip(b"\0"):
        raise _not_ours(path)


def _not_ours(path: Path) -> JournalError:
    return JournalError(
        f"{path} is not a journal of hiclass, or its first line was changed. Give another output "
        f"with -o, or restore the file from a copy; nothing was changed."
    )


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last; Windows has no such step."""
    if sys.platform != "win32":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _lock(file: int, path: Path) -> None:
    """Keep other processes out; the lock ends with the process, however that ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte behind the end of any file: others may still read all of it.
            os.lseek(file, 1 << 40, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError(
            f"{path} is open in another process: this queue is being reviewed already. Use the "
            f"address that it has printed; several people can work there at a time."
        ) from error
