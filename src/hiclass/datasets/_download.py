"""Downloads that resume, verify the result, and never leave an incomplete file.

Bytes are written to ``NAME.part`` next to the file, with ``NAME.part.json`` for the version of the
remote file. Only a complete file gets its name, by an atomic rename. pooch is not used, because it
restarts an interrupted download from the first byte.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

CHUNK = 1 << 18
# Failures of a network, for which a retry may help.
_PASSING = (OSError, http.client.HTTPException)


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    timeout: float = 30.0,
    progress: bool | None = None,
) -> Path:
    """Download a file, starting where an earlier attempt stopped.

    Parameters
    ----------
    url : str
        An address that starts with ``http://`` or ``https://``.
    path : Path
        The path of the file. Its folder is created.
    sha256 : str, default=None
        The checksum of the file. By default, the length that the server announces is checked.
    n_retries : int, default=3
        The number of retries; every attempt resumes.
    delay : float, default=1.0
        Seconds before the first retry; twice as long before every other one.
    timeout : float, default=30.0
        Seconds without a byte after which an attempt counts as failed.
    progress : bool, default=None
        Whether to show progress on standard error; by default, if it is a terminal.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    OSError
        If the file did not arrive, or is not the one that was expected.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"url must start with http:// or https://; got {url!r}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    show = sys.stderr.isatty() if progress is None else progress
    attempts = 0
    while True:
        try:
            _attempt(url, part, timeout, path.name if show else None)
            break
        except _PASSING as error:
            if not _is_passing(error) or attempts == n_retries:
                raise OSError(_failure(url, part, error)) from error
            time.sleep(delay * 2**attempts)
            attempts += 1
    if sha256 is not None:
        _check_sum(part, sha256.lower(), url)
    os.replace(part, path)
    _notes(part).unlink(missing_ok=True)
    return path


def _attempt(url: str, part: Path, timeout: float, name: str | None) -> None:
    """Get the missing bytes, with progress if there is a name, or raise an error."""
    have, version = _state(part)
    response = _request(url, have, version, timeout)
    if response is None:
        return
    with response:
        start, total = _extent(response)
        if start not in (0, have):
            raise OSError(f"the server continued at byte {start} instead of {have}")
        _notes(part).write_text(json.dumps({"version": _version(response)}), encoding="utf-8")
        with part.open("ab" if start else "wb") as file:
            done, shown = start, 0.0
            # read1 returns available bytes, so that nothing is lost if the server stops sending.
            while chunk := response.read1(CHUNK):
                file.write(chunk)
                done += len(chunk)
                if name is not None and time.monotonic() >= shown + 0.1:
                    shown = time.monotonic()
                    _show(name, done, total)
            if name is not None:
                _show(name, done, total, end="\n")
    if total is not None and done != total:
        raise OSError(f"{done} of {total} bytes arrived")


def _request(url: str, have: int, version: str, timeout: float) -> Any:
    """Request everything after the existing bytes; None if there is nothing more."""
    headers = {"User-Agent": "hiclass", "Accept-Encoding": "identity"}
    if have:
        # If the version of the existing bytes is outdated, the server sends the whole file instead.
        headers |= {"Range": f"bytes={have}-", "If-Range": version}
    try:
        return urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        with error:
            if error.code != 416 or not have:
                raise
            complete = error.headers.get("Content-Range") == f"bytes */{have}"
    # Nothing follows the existing bytes: the file is complete, or they belong to another file.
    return None if complete else _request(url, 0, "", timeout)


def _state(part: Path) -> tuple[int, str]:
    """The number of existing bytes and their version; none if the version is unknown."""
    try:
        version = json.loads(_notes(part).read_text(encoding="utf-8"))["version"]
        return (part.stat().st_size, version) if version else (0, "")
    except (OSError, ValueError, LookupError, TypeError):
        return 0, ""


def _notes(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _version(response: Any) -> str | None:
    """The version of a file for If-Range: a strong ETag, or its date."""
    etag = response.headers.get("ETag")
    if etag and not etag.startswith("W/"):
        return str(etag)
    return response.headers.get("Last-Modified")


def _extent(response: Any) -> tuple[int, int | None]:
    """The first byte of a response, and the length of the whole file if known."""
    if response.status == 206:
        span = re.fullmatch(
            r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range") or ""
        )
        if span is None:
            raise OSError("the server sent a part of the file without stating which part")
        return int(span[1]), None if span[2] == "*" else int(span[2])
    length = response.headers.get("Content-Length")
    return 0, None if length is None else int(length)


def _is_passing(error: Exception) -> bool:
    """Whether a retry may help: not if the server rejects the request."""
    if isinstance(error, HTTPError):
        return error.code >= 500 or error.code in (408, 425, 429)
    # A full disk or a forbidden folder: these errors have a file name, network failures do not.
    return getattr(error, "filename", None) is None


def _failure(url: str, part: Path, error: Exception) -> str:
    have, _ = _state(part)
    remedy = (
        f"{have} bytes are stored. Call the function again to resume."
        if have
        else "Try again later."
    )
    if isinstance(error, HTTPError) and not _is_passing(error):
        remedy = "Check the address."
    return f"Downloading {url} failed ({str(error) or type(error).__name__}). {remedy}"


def _check_sum(part: Path, expected: str, url: str) -> None:
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        # These bytes are useless for a resumed download.
        part.unlink()
        _notes(part).unlink(missing_ok=True)
        raise OSError(
            f"{url} has the SHA-256 checksum {found}, not {expected}: it is not the expected file. "
            "The download was deleted."
        )


def _show(name: str, done: int, total: int | None, end: str = "") -> None:
    """Update the line on standard error that shows the progress."""
    share = f" of {total / 1e6:.1f} MB, {done / total:.0%}" if total else " MB"
    sys.stderr.write(f"\r{name}: {done / 1e6:.1f}{share} {end}")
    sys.stderr.flush()
