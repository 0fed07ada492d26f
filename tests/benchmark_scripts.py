"""The scripts of the benchmarks as modules: no package, they find one another by the path."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@contextmanager
def importable(*folders: Path) -> Iterator[None]:
    """Let the scripts of these folders be imported; afterwards, forget them and their paths."""
    before, path = set(sys.modules), list(sys.path)
    sys.path[:0] = map(str, folders)
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and BENCHMARKS in Path(file).parents:
                del sys.modules[name]
