"""Decisions on disk: an append-only file of JSON lines.

Every line starts with a checksum of itself and all preceding lines, so that a line that was
changed, removed or moved is detected. A line is on disk before :meth:`Journal.append` returns. If a
process was killed while it wrote the last line, that line was never confirmed and is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

#: Number of hexadecimal digits before the content of a line.
_DIGITS = 16


class JournalError(Exception):
    """A problem with a journal and its remedy, in one line."""


class Journal:
    """A journal that is open for writing by this process only.

    Parameters
    ----------
    path : Path
        The file. It is created if it does not exist.
    header : dict
        The subject of the journal: the first line of a new file, which must match in an existing
        one.

    Attributes
    ----------
    entries : list of dict
        The entries of the file when it was opened, without its header.
    torn : int
        The length in bytes of an unfinished last line, which was removed.

    Raises
    ------
    JournalError
        If another process has opened the file, its header differs, or a line was changed.
    OSError
        If the file cannot be read or written.
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
                self._write(b"\n")  # an editor has removed it, or the process was killed that early
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
            Data that JSON can hold.

        Raises
        ------
        OSError
            If the entry could not be written, for example because the disk is full. The file is
            unchanged.
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
            # This entry was not confirmed; the next one starts at the same position.
            os.ftruncate(self._file, self._end)
            raise
        self._end += len(line)
        return line[:_DIGITS].decode()

    def close(self) -> None:
        """Close the file, so that another process can open it."""
        os.close(self._file)


def line_of(entry: dict[str, Any], before: str) -> bytes:
    """The line of an entry that follows a line with this checksum."""
    content = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode()
    return checksum(before, content).encode() + b" " + content + b"\n"


def read_lines(raw: bytes, path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """Check the lines of a journal.

    Parameters
    ----------
    raw : bytes
        The content of the file.
    path : Path
        The name of the file, for messages.

    Returns
    -------
    contents : list of dict
        The contents of the lines.
    last : str
        The checksum of the last line; empty if there are no lines.
    end : int
        The end of the last complete line.

    Raises
    ------
    JournalError
        If a complete line was changed.
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
                f"{path}, line {number}: this line was changed, or a line before it is missing. "
                f"The {number - 2:,} entries before it are valid. Restore the file from a copy; or "
                f"keep a copy, and remove line {number} and all that follow to go on after entry "
                f"{number - 2:,}."
            )
        contents.append(json.loads(line[_DIGITS + 1 :]))
        last, end = total, end + len(line) + (not is_last)
    return contents, last, end


def checksum(before: str, content: bytes) -> str:
    """The checksum of a line, which includes that of the preceding line."""
    return hashlib.sha256(before.encode() + content).hexdigest()[:_DIGITS]


def _check_header(found: dict[str, Any], header: dict[str, Any], path: Path) -> None:
    for key, value in header.items():
        if found.get(key) != value:
            raise JournalError(
                f"{path} is the journal of another {key}. Choose another output with -o, or use "
                f"the {key} with which the review was started. The file was not changed."
            )


def _check_is_ours(raw: bytes, header: dict[str, Any], path: Path) -> None:
    """Reject a file without a complete line, unless it is the beginning of a first line."""
    if not line_of(header, "").startswith(raw) and raw.strip(b"\0"):
        raise _not_ours(path)


def _not_ours(path: Path) -> JournalError:
    return JournalError(
        f"{path} is not a journal of hiclass, or its first line was changed. Choose another output "
        "with -o, or restore the file from a copy. The file was not changed."
    )


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _sync_folder(folder: Path) -> None:
    """Write the directory entry of a new file to disk; not needed on Windows."""
    if sys.platform != "win32":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _lock(file: int, path: Path) -> None:
    """Lock the file against other processes; the lock ends with the process."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # One byte beyond the end of any file, so that others can still read all of it.
            os.lseek(file, 1 << 40, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise JournalError(
            f"{path} is open in another process, because this queue is already being reviewed. Use "
            "the address that the other process printed; several people can work there at the "
            "same time."
        ) from error
