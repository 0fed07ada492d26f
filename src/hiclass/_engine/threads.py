"""Threads of this process: nothing to start, nothing to copy.

Only where the user wants them: liblinear (``LinearSVC``) has one random generator per process, so
what it finds depends on what else is being fitted. In return, the classes of a large problem of a
``LinearSVC`` are divided among the threads: the root often takes as long as all other problems
together.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import joblib
import scipy.sparse as sp
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from hiclass._engine.liblinear import SomeClasses, divide, put_together
from hiclass._engine.packed import NarrowProblem, narrowed
from hiclass._rows import n_rows_of, take_rows

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
    narrow: dict[tuple[int, bool], NarrowProblem] = {}
    if shared.checkpoint_dir is None:
        batches = _divided(batches, X, shared, n_threads, narrow)
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
            yield from _put_together(results(pool), narrow)
        finally:
            pool.shutdown(cancel_futures=True)


def _limited(worker: Callable[..., list[Fitted]], *args: Any) -> list[Fitted]:
    # BLAS is limited for the whole process, OpenMP for the thread that starts its threads.
    with thread_pools(len(sys.modules)).select(user_api="openmp").limit(limits=1):
        return worker(*args)


def _divided(
    batches: Iterator[list[Task]],
    X: Any,
    shared: Shared,
    n_threads: int,
    narrow: dict[tuple[int, bool], NarrowProblem],
) -> Iterator[list[Task]]:
    """Divide the classes of large problems, which are batches by themselves, where possible.

    Those that are fitted on the columns of their rows are noted in ``narrow``, by owner and gate.
    """
    large = n_rows_of(X) // (2 * n_threads)
    for batch in batches:
        task = batch[0]
        parts: list[SomeClasses] = []
        if len(batch) == 1 and len(task.target) > large:
            parts = divide(task.estimator, X, task.target, shared.fit_params, 2 * n_threads)
        if not parts:
            yield batch
            continue
        rows = X if task.rows is None else take_rows(X, task.rows)  # liblinear only reads them
        problem = narrowed(task.estimator, rows) if sp.issparse(rows) else None
        if problem is not None:
            narrow[task.owner, task.gate] = problem
            rows = problem.rows
        for part in parts:
            yield [replace(task, estimator=part, X=rows)]


def _put_together(
    results: Iterable[Fitted], narrow: dict[tuple[int, bool], NarrowProblem]
) -> Iterator[Fitted]:
    """Put the parts of an estimator together as soon as all are there."""
    waiting: dict[tuple[int, bool], list[SomeClasses]] = defaultdict(list)
    for done in results:
        part = done.estimator
        if not isinstance(part, SomeClasses):
            yield done
            continue
        key = (done.owner, done.gate)
        waiting[key].append(part)
        if len(waiting[key]) == part.n_parts:
            estimator, problem = put_together(waiting.pop(key)), narrow.pop(key, None)
            yield replace(done, estimator=problem.packed() if problem else estimator)
