"""Copies of an extension module, each with static data of its own.

liblinear has one random generator per process, in the static data of the extension module of
scikit-learn that contains it. The same file, loaded once more from another place, has static data
of its own, so that each thread can have a generator to itself: what it finds then does not depend
on other threads. A copy takes two milliseconds and a third of a megabyte.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType


def copy_of(module: ModuleType) -> ModuleType | None:
    """Load an extension module once more, with static data of its own.

    Parameters
    ----------
    module : module
        An extension module, for example that of liblinear.

    Returns
    -------
    module or None
        The copy, which ``import`` does not know. None where a file cannot be copied, or code cannot
        be loaded from the folder for temporary files.
    """
    origin = getattr(module, "__file__", None)
    if origin is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="hiclass-"))
    try:
        file = str(shutil.copy(origin, folder))
        loader = ExtensionFileLoader(module.__name__, file)
        spec = importlib.util.spec_from_file_location(module.__name__, file, loader=loader)
        if spec is None:
            return None
        copy = importlib.util.module_from_spec(spec)
        loader.exec_module(copy)
    except (OSError, ImportError):
        return None
    finally:
        # What is loaded stays loaded, except on Windows, where the file cannot be deleted.
        shutil.rmtree(folder, ignore_errors=True)
    return copy if copy is not module else None
