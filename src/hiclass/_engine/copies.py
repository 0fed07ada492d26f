"""Copies of an extension module with separate static data, each for one caller at a time.

liblinear has one random generator per process, in the static data of scikit-learn's extension
module. The same file, loaded again from another place, has its own static data. Each thread can
therefore have its own generator, and its results do not depend on other threads. A copy takes two
milliseconds and a third of a megabyte.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import Any


class Copies:
    """Copies of an extension module, each lent to one caller at a time.

    Parameters
    ----------
    module : module
        An extension module, for example that of liblinear.

    Attributes
    ----------
    original : threading.RLock
        Held while the module itself is used, by whoever uses it instead of a copy.
    """

    def __init__(self, module: Any) -> None:
        self.original = threading.RLock()
        self._module = module
        self._free: list[ModuleType] = []
        self._can_be_made = True  # as far as is known

    @contextmanager
    def one(self) -> Iterator[Any]:
        """A copy that nobody else uses; without copies, the module itself, one caller at a time."""
        copy = self._take()
        if copy is None:
            with self.original:
                yield self._module
            return
        try:
            yield copy
        finally:
            self._free.append(copy)

    def can_be_made(self) -> bool:
        """Whether copies are possible here, found by trying."""
        copy = self._take()
        if copy is not None:
            self._free.append(copy)
        return copy is not None

    def _take(self) -> ModuleType | None:
        try:
            return self._free.pop()  # no other thread gets the same one
        except IndexError:
            copy = copy_of(self._module) if self._can_be_made else None
            self._can_be_made = copy is not None
            return copy


def copy_of(module: Any) -> ModuleType | None:
    """Load an extension module again, with its own static data.

    Parameters
    ----------
    module : module
        An extension module.

    Returns
    -------
    module or None
        The copy, which ``import`` does not know. None where a file cannot be copied, or code cannot
        be loaded from the folder for temporary files; and on Windows, which does not let go of the
        file of a module that is loaded.
    """
    origin = getattr(module, "__file__", None)
    if origin is None or os.name == "nt":
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="hiclass-") as folder:
            return _load(module.__name__, str(shutil.copy(origin, folder)), module)
    except (OSError, ImportError):
        return None


def _load(name: str, file: str, original: ModuleType) -> ModuleType | None:
    loader = ExtensionFileLoader(name, file)
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    if spec is None:
        return None
    copy = importlib.util.module_from_spec(spec)
    loader.exec_module(copy)
    # A loader that knows the file already returns the module it has loaded before.
    return copy if copy is not original else None
