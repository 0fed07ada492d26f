"""Files that appear completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def write_whole(target: Path) -> Iterator[IO[bytes]]:
    """Write a temporary file next to the target, and rename it at the end.

    Parameters
    ----------
    target : Path
        The file, with links resolved. Its mode stays; a device or a pipe is written to as it is.

    Yields
    ------
    file : binary file
        The open file.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    draft = target.with_name(f".hiclass-{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with draft.open("x+b") as file:
            yield file
        if target.exists():
            shutil.copymode(target, draft)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
