"""Runs local problems: slices X, fits one child per problem, brings the fitted ones back.

The worker, ``fit_batch``, is a plain function on arrays. Who calls it is the engine's business:
this process, its threads, joblib's active backend (loky, Dask), or Ray natively. X is shared, never
sent per task: a task brings row numbers and slices its own rows. What cannot be shared (frames,
lists) travels as the rows of a task. Problems come largest first, and small ones travel in batches.
"""

from __future__ import annotations

import pickle
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from hiclass._compat import TerminatedWorkerError
from hiclass._engine.checkpoints import checkpoint_key, load_checkpoint, save_checkpoint
from hiclass._engine.liblinear import (
    can_be_divided,
    check_weights,
    fit_classes,
    fit_linear_svc,
    put_together,
)
from hiclass._engine.local_classifiers import named_for_fit
from hiclass._engine.progress import Progress
from hiclass._problems.index import LocalProblem
from hiclass._rows import n_rows_of, take_rows
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass._wrapping import unwrap

Name = str | Callable[[], str]  # a name that is worked out only where it is needed

#: With fewer rows than this a fit is often over before other processes could help: it starts here,
#: and only what is left after a while is handed to them.
_FEW_ROWS = 1000
_A_WHILE = 0.5
_MOST_TASKS = 256


@dataclass(frozen=True)
class FitSettings:
    """How local problems are fitted.

    Attributes
    ----------
    n_jobs : int or None
        Number of parallel jobs, with joblib's meaning.
    checkpoint_dir : str or None
        Where finished models are kept.
    verbose : int
        Whether to show progress.
    title : str
        What the progress bar says.
    """

    n_jobs: int | None = None
    checkpoint_dir: str | None = None
    verbose: int = 0
    title: str = "Fitting"


@dataclass(frozen=True)
class Part:
    """Some classes of a child that several threads fit, and what was found for them."""

    classes: IntArray
    n_parts: int
    found: Any = None


@dataclass(frozen=True)
class Task:
    """One child to fit. ``X`` is None where the rows are sliced from the shared X."""

    owner: int
    gate: bool
    estimator: Any
    rows: IntArray | None
    target: IntArray
    name: Name
    X: Any = None
    part: Part | None = None


@dataclass(frozen=True)
class Fitted:
    """One fitted child, and what there is to say about its checkpoint; or a part of a child."""

    owner: int
    gate: bool
    estimator: Any
    remarks: tuple[str, ...] = ()
    part: Part | None = None


@dataclass(frozen=True)
class Shared:
    """What all tasks of a fit have in common, apart from X."""

    fit_params: dict[str, Any]
    per_row: frozenset[str]
    checkpoint_dir: str | None


def fit_problems(
    problems: Iterable[LocalProblem],
    n_problems: int,
    X: Any,
    make_estimator: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    fit_params: dict[str, Any],
    settings: FitSettings,
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Fit one child per local problem.

    Parameters
    ----------
    problems : iterable of LocalProblem
        The problems, largest first; consumed lazily.
    n_problems : int
        How many there are.
    X : rows
        All training rows.
    make_estimator : callable
        Returns an unfitted estimator for a problem.
    describe : callable
        Returns the name of a problem for error messages.
    fit_params : dict
        Keyword arguments for every ``fit``; those with one entry per row are sliced.
    settings : FitSettings
        How to fit.

    Returns
    -------
    classifiers, gates : dict
        Fitted estimators by owner, in the order of the owners.
    """
    n_rows = n_rows_of(X)
    per_row = frozenset(k for k, v in fit_params.items() if is_per_row(v, n_rows))
    shared = Shared(fit_params, per_row, settings.checkpoint_dir)
    fitted: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    said: set[str] = set()
    with Progress(n_problems, settings.title, enabled=settings.verbose > 0) as progress:

        def tasks() -> Iterator[Task]:
            for p in problems:
                name = partial(describe, p)
                progress.begin((p.owner, p.gate), name, len(p.target))
                yield Task(p.owner, p.gate, make_estimator(p), p.rows, p.target, name)

        # Closed at once when something goes wrong here: the engine then stops its workers.
        with closing(_run(tasks(), n_problems, X, shared, settings.n_jobs)) as run:
            for done in run:
                fitted[done.gate][done.owner] = done.estimator
                progress.finish((done.owner, done.gate))
                for remark in done.remarks:
                    if remark not in said:
                        said.add(remark)
                        warn_user(remark)
    return dict(sorted(fitted[0].items())), dict(sorted(fitted[1].items()))


def _run(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int | None
) -> Generator[Fitted, None, None]:
    """Hand the tasks to the engine that joblib's settings ask for."""
    backend, _ = get_active_backend()
    engine = next(engine for engine in ENGINES.values() if engine.claims(backend))
    if not engine.elsewhere:
        jobs = effective_n_jobs(n_jobs)
        if jobs == 1 or n_rows_of(X) < _FEW_ROWS:
            start = time.monotonic()
            with _one_thread() if n_problems > 1 else nullcontext():
                for task in tasks:
                    yield _fit_one(task, X, shared)
                    if jobs > 1 and time.monotonic() - start > _A_WHILE:
                        break
                else:
                    return
    first = next(tasks, None)
    if first is not None:
        yield from engine.run(chain([first], tasks), n_problems, X, shared, n_jobs)


def _run_on_ray(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int | None
) -> Iterator[Fitted]:
    """Hand the tasks to Ray, natively: its joblib backend costs seconds on every call."""
    from hiclass._engine.ray import connect, run_on_ray

    _, configured = get_active_backend()
    at_once = connect(configured if n_jobs is None else n_jobs)
    shares = _can_be_shared(X)
    batches = _batches(tasks, n_problems, X, at_once, bring_rows=not shares)
    yield from run_on_ray(fit_batch, batches, X if shares else None, shared, at_once)


def _run_on_joblib(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int | None
) -> Iterator[Fitted]:
    """Hand the tasks to joblib's active backend."""
    backend, _ = get_active_backend()
    jobs = effective_n_jobs(n_jobs)
    streams = getattr(backend, "supports_return_generator", False)
    shares = _can_be_shared(X)
    batches = _batches(tasks, n_problems, X, jobs, bring_rows=not shares)
    parallel = Parallel(
        n_jobs=n_jobs,
        batch_size=1,
        return_as="generator_unordered" if streams else "list",
    )
    work = delayed(fit_batch)
    results: Any = None
    try:
        results = parallel(work(batch, X if shares else None, shared) for batch in batches)
        yield from chain.from_iterable(results)
    except TerminatedWorkerError as error:
        error.add_note(
            "A worker process was killed while fitting, most often because memory ran out. Use "
            "fewer jobs; with checkpoint_dir, the next fit continues where this one stopped."
        )
        raise
    finally:
        if streams and results is not None:
            with warnings.catch_warnings():
                # Tasks that are still running are cancelled, as is meant here.
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def _run_in_threads(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int | None
) -> Iterator[Fitted]:
    """Fit in threads of this process.

    Only where the user asks for them: liblinear (``LinearSVC``) has one random generator per
    process, so what it finds would depend on what else is being fitted. Not by joblib, which looks
    for results every hundredth of a second: many a fit is over by then.
    """
    jobs = effective_n_jobs(n_jobs)
    if shared.checkpoint_dir is None:
        tasks = _divided(tasks, X, shared, jobs)
    batches = _batches(tasks, n_problems, X, jobs, bring_rows=False)
    # Warning filters belong to the process: nothing to hand on, and no thread may set them.
    work = partial(in_thread, get_config(), _fit_in_thread)

    def results(pool: ThreadPoolExecutor) -> Iterator[Fitted]:
        waiting = {pool.submit(work, batch, X, shared) for batch in islice(batches, 2 * jobs)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                waiting |= {pool.submit(work, batch, X, shared) for batch in islice(batches, 1)}
                yield from future.result()

    with _threads(), ThreadPoolExecutor(jobs) as pool:
        try:
            yield from _joined(results(pool))
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Engine:
    """One place where local classifiers are fitted.

    Attributes
    ----------
    name : str
        What it is called.
    claims : callable
        ``(joblib's active backend)`` to whether the user asks for this engine by it.
    run : callable
        ``(tasks, n_problems, X, shared, n_jobs)`` to fitted classifiers, in any order.
    elsewhere : bool, default=False
        Whether even a small fit, or one job, runs there and not in this process.
    """

    name: str
    claims: Callable[[Any], bool]
    run: Callable[[Iterator[Task], int, Any, Shared, int | None], Iterator[Fitted]]
    elsewhere: bool = False


#: All engines, by name; the first one that claims joblib's active backend runs.
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "ray",
            lambda backend: type(backend).__module__.startswith("ray."),
            _run_on_ray,
            elsewhere=True,
        ),
        Engine(
            "threads",
            lambda backend: bool(getattr(backend, "supports_sharedmem", False)),
            _run_in_threads,
        ),
        Engine("joblib", lambda backend: True, _run_on_joblib),
    )
}


def _divided(tasks: Iterator[Task], X: Any, shared: Shared, n_jobs: int) -> Iterator[Task]:
    """Divide the classes of large problems among threads, where that is possible.

    The problem of the root often takes as long as all others together.
    """
    large = n_rows_of(X) // (2 * n_jobs)
    for task in tasks:
        n_classes = int(task.target.max()) + 1
        n_parts = min(2 * n_jobs, n_classes)
        if (
            len(task.target) > large
            and n_parts > 2
            and can_be_divided(task.estimator, X, task.target, shared.fit_params)
        ):
            classes = np.arange(n_classes, dtype=task.target.dtype)
            for some in np.array_split(classes, n_parts):
                yield replace(task, part=Part(some, n_parts))
        else:
            yield task


def _joined(results: Iterable[Fitted]) -> Iterator[Fitted]:
    """Put the parts of a child together as soon as all are there."""
    waiting: dict[tuple[int, bool], list[Part]] = {}
    for done in results:
        if done.part is None:
            yield done
            continue
        parts = waiting.setdefault((done.owner, done.gate), [])
        parts.append(done.part)
        if len(parts) == done.part.n_parts:
            parts.sort(key=lambda part: part.classes[0])
            classes = np.concatenate([part.classes for part in parts])
            put_together(done.estimator, [part.found for part in parts], classes)
            yield replace(done, part=None)
            del waiting[done.owner, done.gate]


@contextmanager
def _threads() -> Iterator[None]:
    """Put back what threads may have changed for the whole process."""
    with warnings.catch_warnings(), _one_thread():
        yield


def _fit_in_thread(batch: list[Task], X: Any, shared: Shared) -> list[Fitted]:
    # BLAS is limited for the whole process, OpenMP for the thread that starts its threads.
    with _thread_pools(len(sys.modules)).select(user_api="openmp").limit(limits=1):
        return fit_batch(batch, X, shared)


def in_thread(config: dict[str, Any], function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread of ours.

    Settings of scikit-learn belong to a thread, so those of the caller are handed on. So does the
    backend of joblib: a child that calls it gets no workers of its own, as in ``fit_batch``.
    """
    with config_context(**config), joblib.parallel_config(backend="sequential"):
        return function(*args)


def _one_thread() -> AbstractContextManager[Any]:
    """Many problems are small: more threads of BLAS or OpenMP only get into each other's way."""
    return _thread_pools(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """What has threads of its own in this process; looked for again after an import."""
    return ThreadpoolController()


def _can_be_shared(X: Any) -> bool:
    """Whether other processes can see X without a copy: as a memory map or in Ray's store."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and not X.dtype.hasobject)


def _batches(
    tasks: Iterator[Task], n_problems: int, X: Any, n_jobs: int, *, bring_rows: bool
) -> Iterator[list[Task]]:
    """Group small tasks, so that sending them costs little beside fitting them."""
    enough = max(n_rows_of(X) // (4 * n_jobs), 1)
    # No batch may be so large that others wait for it in the end.
    most = min(max(n_problems // (8 * n_jobs), 1), _MOST_TASKS)
    batch: list[Task] = []
    size = 0
    for task in tasks:
        brought = take_rows(X, task.rows) if bring_rows else None
        batch.append(replace(task, name=_text(task.name), X=brought))
        size += len(task.target)
        if size >= enough or len(batch) >= most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _text(name: Name) -> str:
    return name if isinstance(name, str) else name()


def fit_batch(batch: list[Task], X: Any, shared: Shared) -> list[Fitted]:
    """Fit some tasks, wherever this runs.

    A child that calls joblib itself gets no workers of its own: they all have work already.
    """
    with joblib.parallel_config(backend="sequential"):
        return [_fit_one(task, X, shared) for task in batch]


def _fit_one(task: Task, X: Any, shared: Shared) -> Fitted:
    rows, estimator = task.rows, task.estimator
    params = {
        k: take_rows(v, rows) if k in shared.per_row else v for k, v in shared.fit_params.items()
    }
    if task.part is not None and rows is None:
        X_here = X  # liblinear only reads it
    else:
        X_here = take_rows(X, rows) if task.X is None else task.X
    remarks: list[str] = []
    failure = None
    try:
        if task.part is not None:
            found = fit_classes(estimator, X_here, task.target, params, task.part.classes)
            part = replace(task.part, found=found)
            return Fitted(task.owner, task.gate, estimator, part=part)
        if shared.checkpoint_dir is None:
            _fit_estimator(estimator, X_here, task.target, params)
        else:
            estimator = _fit_or_load(task, X_here, params, shared.checkpoint_dir, remarks)
    except Exception as error:
        error.add_note(f"while fitting the classifier of {_text(task.name)}")
        failure = _that_travels(error)
    if failure is not None:  # not inside the handler: the old error must not travel as its context
        raise failure
    return Fitted(task.owner, task.gate, estimator, tuple(remarks))


def _fit_estimator(estimator: Any, X: Any, target: IntArray, params: dict[str, Any]) -> None:
    if "sample_weight" in params:
        check_weights(unwrap(estimator).model, target, params)
    if not fit_linear_svc(estimator, X, target, params):
        estimator.fit(X, target, **named_for_fit(estimator, params))


def _that_travels(error: Exception) -> Exception:
    """The error, or its message where no process could send it to another, which would lose it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        again = RuntimeError(f"{type(error).__name__}: {error}")
        again.__notes__ = [*error.__notes__]
        return again
    return error


def _fit_or_load(
    task: Task, X: Any, params: dict[str, Any], directory: str, remarks: list[str]
) -> Any:
    key = checkpoint_key(task.estimator, X, task.target, params, remarks)
    estimator = load_checkpoint(directory, key, remarks)
    if estimator is None:
        estimator = task.estimator
        _fit_estimator(estimator, X, task.target, params)
        save_checkpoint(directory, key, estimator, remarks)
    return estimator


def is_per_row(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row, as scikit-learn decides it."""
    if isinstance(value, str | bytes | dict | set) or getattr(value, "shape", None) == ():
        return False
    if not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return bool(n_rows_of(value) == n_rows)
