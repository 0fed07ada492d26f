"""joblib's backends: processes of this machine (loky, multiprocessing) or of a Dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from hiclass._compat import TerminatedWorkerError


def run_in_processes(
    worker: Callable[[list[Any], Any, Any], list[Any]],
    batches: Iterator[list[Any]],
    X: Any,
    shared: Any,
    n_jobs: int,
) -> Iterator[Any]:
    """Call a worker on batches with joblib's active backend; an error stops the rest."""
    backend, _ = get_active_backend()
    streams = getattr(backend, "supports_return_generator", False)
    parallel = Parallel(
        n_jobs=n_jobs, batch_size=1, return_as="generator_unordered" if streams else "list"
    )
    work = delayed(worker)
    results: Any = None
    try:
        results = parallel(work(batch, X, shared) for batch in batches)
        yield from chain.from_iterable(results)
    except TerminatedWorkerError as error:
        error.add_note(
            "A worker process was killed while fitting, most often because memory ran out. Use "
            "fewer jobs. With checkpoint_dir, the next fit resumes where this one stopped."
        )
        raise
    finally:
        if streams and results is not None:
            with warnings.catch_warnings():
                # Running tasks are cancelled, which is intended here.
                warnings.simplefilter("ignore", UserWarning)
                results.close()
