"""Threads of this process, which need no start and no copies.

Used if the user chooses them and, automatically, for classifiers that release Python's lock and
whose results do not depend on other fits.
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
    """The thread pools of libraries in this process; searched again after an import."""
    return ThreadpoolController()


def in_thread(config: dict[str, Any], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a worker thread.

    Settings of scikit-learn belong to a thread, so those of the caller are set there. The same
    holds for the backend of joblib: an estimator that calls it gets no workers, as in
    ``fit_batch``.
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

    Without joblib, which polls for results every 10 ms: many fits take less.
    """
    # Warning filters belong to the process, and no thread may set them.
    work = partial(in_thread, get_config(), _limited, worker)

    def results(pool: ThreadPoolExecutor) -> Iterator[Fitted]:
        waiting = {pool.submit(work, batch, X, shared) for batch in islice(batches, 2 * n_threads)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                waiting |= {pool.submit(work, batch, X, shared) for batch in islice(batches, 1)}
                yield from future.result()

    # Restore what threads may have changed for the whole process.
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
    # The limit of BLAS applies to the whole process, that of OpenMP to the thread that starts its
    # threads.
    with thread_pools(len(sys.modules)).select(user_api="openmp").limit(limits=1):
        return worker(*args)
