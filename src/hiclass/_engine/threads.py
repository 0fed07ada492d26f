"""Threads of this process: nothing to start, nothing to copy.

Used where the user wants them and, by themselves, for classifiers that are fitted outside of
Python's lock and do not depend on what else is being fitted.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import joblib
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from hiclass._engine.fit import Fitted, Shared, Task


@lru_cache(maxsize=1)
def thread_pools(n_modules: int) -> ThreadpoolController:
    """What has threads of its own in this process; looked for again after an import."""
    return ThreadpoolController()


def in_thread(config: dict[str, Any], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread of ours.

    Settings of scikit-learn belong to a thread, so those of the caller are handed on. So does the
    backend of joblib: an estimator that calls it gets no workers of its own, as in ``fit_batch``.
    """
    with config_context(**config), joblib.parallel_config(backend="sequential"):
        return function(*args)


def run_in_threads(
    worker: Callable[[list[Task], Any, Shared], list[Fitted]],
    batches: Iterator[list[Task]],
    X: Any,
    shared: Shared,
    n_threads: int,
) -> Iterator[Fitted]:
    """Call a worker on batches in threads.

    Not by joblib, which looks for results every hundredth of a second: many a fit is over by then.
    """
    # Warning filters belong to the process: nothing to hand on, and no thread may set them.
    work = partial(in_thread, get_config(), _limited, worker)

    def results(pool: ThreadPoolExecutor) -> Iterator[Fitted]:
        waiting = {pool.submit(work, batch, X, shared) for batch in islice(batches, 2 * n_threads)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                waiting |= {pool.submit(work, batch, X, shared) for batch in islice(batches, 1)}
                yield from future.result()

    # What threads may have changed for the whole process is put back.
    with (
        warnings.catch_warnings(),
        thread_pools(len(sys.modules)).limit(limits=1),
        ThreadPoolExecutor(n_threads) as pool,
    ):
        try:
            yield from results(pool)
        finally:
            pool.shutdown(cancel_futures=True)


def _limited(worker: Callable[..., list[Fitted]], *args: Any) -> list[Fitted]:
    # BLAS is limited for the whole process, OpenMP for the thread that starts its threads.
    with thread_pools(len(sys.modules)).select(user_api="openmp").limit(limits=1):
        return worker(*args)
