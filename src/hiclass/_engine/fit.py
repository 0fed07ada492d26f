"""Fits one estimator per local problem: here, in threads, in other processes or on a cluster.

Problems become tasks, each with an unfitted estimator. An engine, chosen by joblib's active
backend, passes batches of tasks to a worker, :func:`fit_batch`, and the results are collected. The
worker is a plain function on arrays, the same for every engine. X is shared and never sent per
task: a task has row numbers and slices its own rows. If X cannot be shared (frames, lists), the
rows are sent with a task. Problems come largest first, and small ones are sent in batches.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from joblib.parallel import default_parallel_config, get_active_backend
from sklearn.svm import LinearSVC

from hiclass._engine.callbacks import LocalFits
from hiclass._engine.checkpoints import checkpoint_key, load_checkpoint, save_checkpoint
from hiclass._engine.liblinear import alone, check_weights, fit_linear_svc, fits_in_threads
from hiclass._engine.local_classifiers import named_for_fit, with_groups
from hiclass._engine.packed import fit_packed, refuse_min_coef
from hiclass._engine.processes import run_in_processes
from hiclass._engine.progress import Progress
from hiclass._engine.ray import connect, run_on_ray
from hiclass._engine.threads import run_in_threads, thread_pools
from hiclass._engine.together import fit_tasks
from hiclass._linear.fast_svc import FastLinearSVC, fit_checked
from hiclass._problems.index import LocalProblem
from hiclass._rows import largest_norm, n_rows_of, take_rows
from hiclass._typing import IntArray
from hiclass._warnings import warn_user
from hiclass._wrapping import unwrap

#: With fewer rows, a fit often ends before other processes could help. It starts in this process,
#: and only the rest after a while is passed to others.
_FEW_ROWS = 1000
_A_WHILE = 0.5
_MOST_TASKS = 256


@dataclass(frozen=True)
class FitSettings:
    """Settings of the engine.

    Attributes
    ----------
    n_jobs : int or None
        Number of parallel jobs, with joblib's meaning.
    checkpoint_dir : str or None
        The directory for finished models.
    verbose : int
        Whether to show progress.
    title : str
        The title of the progress bar.
    min_coef : float
        The smallest absolute value of a weight that linear classifiers of sparse rows keep.
    listening : callable or None
        ``(title, n_problems, hand_on=...)`` to a listener that is told about every fit, or None.
    """

    n_jobs: int | None = None
    checkpoint_dir: str | None = None
    verbose: int = 0
    title: str = "Fitting"
    min_coef: float = 0.0
    listening: Callable[..., LocalFits] | None = None


def fit_problems(
    problems: Iterable[LocalProblem],
    n_problems: int,
    X: Any,
    make_estimator: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    fit_params: dict[str, Any],
    settings: FitSettings,
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Fit one estimator per local problem.

    Parameters
    ----------
    problems : iterable of LocalProblem
        The problems, largest first; consumed lazily.
    n_problems : int
        The number of problems.
    X : rows
        All training rows.
    make_estimator : callable
        Returns an unfitted estimator for a problem.
    describe : callable
        Returns the name of a problem for error messages.
    fit_params : dict
        Keyword arguments for every ``fit``; those with one entry per row are sliced.
    settings : FitSettings
        The settings of the engine.

    Returns
    -------
    classifiers, gates : dict
        Fitted estimators by owner, in the order of the owners.
    """
    n_rows = n_rows_of(X)
    per_row = frozenset(k for k, v in fit_params.items() if is_per_row(v, n_rows))
    norm = largest_norm(X)
    shared = Shared(fit_params, per_row, settings.checkpoint_dir, settings.min_coef, norm)
    progress = None
    if settings.verbose > 0:
        progress = Progress(n_problems, settings.title, enabled=True)
    listener = None
    if settings.listening is not None:
        # A checkpoint, or another process, must not get state of the surrounding fit.
        here = effective_n_jobs(settings.n_jobs) == 1 and settings.checkpoint_dir is None
        listener = settings.listening(settings.title, n_problems, hand_on=here)
    tasks = _tasks(problems, make_estimator, describe, progress, listener)
    run = _run(tasks, n_problems, X, shared, settings.n_jobs)
    classifiers: dict[int, Any] = {}
    gates: dict[int, Any] = {}
    remarks: set[str] = set()
    # Closed immediately after an error, so that the engine stops its workers.
    with progress or nullcontext(), listener or nullcontext(), closing(run):
        for done in run:
            (gates if done.gate else classifiers)[done.owner] = done.estimator
            if progress is not None:
                progress.finish((done.owner, done.gate))
            if listener is not None:
                listener.finish((done.owner, done.gate))
            for remark in done.remarks:
                if remark not in remarks:
                    remarks.add(remark)
                    warn_user(remark)
    return dict(sorted(classifiers.items())), dict(sorted(gates.items()))


def is_per_row(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row, by the rule of scikit-learn."""
    if isinstance(value, str | bytes | dict | set) or getattr(value, "shape", None) == ():
        return False
    if not (hasattr(value, "__len__") or hasattr(value, "shape")):
        return False
    return bool(n_rows_of(value) == n_rows)


# -- tasks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One estimator to fit. ``X`` is None if the rows are sliced from the shared X."""

    owner: int
    gate: bool
    estimator: Any
    rows: IntArray | None
    target: IntArray
    name: str | Callable[[], str]  # computed only when needed
    X: Any = None


@dataclass(frozen=True)
class Shared:
    """What all tasks of a fit have in common, except X."""

    fit_params: dict[str, Any]
    per_row: frozenset[str]
    checkpoint_dir: str | None
    min_coef: float = 0.0
    norm: float = np.inf  # the largest number of entries in a row


@dataclass(frozen=True)
class Fitted:
    """One fitted estimator, and remarks about its checkpoint, which become warnings."""

    owner: int
    gate: bool
    estimator: Any
    remarks: tuple[str, ...] = ()


def _tasks(
    problems: Iterable[LocalProblem],
    make_estimator: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    progress: Progress | None,
    listener: LocalFits | None = None,
) -> Iterator[Task]:
    """Create the tasks of problems, one after the other."""
    for p in problems:
        name = partial(describe, p)
        if progress is not None:
            progress.begin((p.owner, p.gate), name, len(p.target))
        estimator = make_estimator(p)
        if listener is not None:
            listener.begin((p.owner, p.gate), name, estimator)
        yield Task(p.owner, p.gate, estimator, p.rows, p.target, name)


# -- engines -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Engine:
    """A place where local classifiers are fitted.

    Attributes
    ----------
    name : str
        The name of the engine.
    claims : callable
        ``(joblib's active backend)`` to whether it selects this engine.
    run : callable
        ``(worker, batches, X, shared, n_workers)`` to fitted estimators, in any order. Calls
        ``worker(batch, X, shared)``, which returns a list of them, for every batch. X is None if
        tasks have their rows.
    n_workers : callable
        ``(n_jobs)`` to the number of workers.
    sees_memory : bool, default=False
        Whether workers share the memory of this process, so that nothing has to be sent.
    elsewhere : bool, default=False
        Whether even a small fit, or one job, runs there and not in this process.
    """

    name: str
    claims: Callable[[Any], bool]
    run: Callable[..., Iterator[Fitted]]
    n_workers: Callable[[int | None], int] = effective_n_jobs
    sees_memory: bool = False
    elsewhere: bool = False


#: All engines, by name; the last one that claims joblib's active backend is used.
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("joblib", lambda backend: True, run_in_processes),
        Engine(
            "threads",
            lambda backend: bool(getattr(backend, "supports_sharedmem", False)),
            run_in_threads,
            sees_memory=True,
        ),
        Engine(
            "ray",
            lambda backend: type(backend).__module__.startswith("ray."),
            run_on_ray,
            n_workers=connect,
            elsewhere=True,
        ),
    )
}


def _run(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int | None
) -> Generator[Fitted, None, None]:
    """Pass the tasks to the engine that joblib's settings select."""
    backend, _ = get_active_backend()
    engine = next(e for e in reversed(ENGINES.values()) if e.claims(backend))
    free = not (engine.elsewhere or _is_chosen())
    if not engine.elsewhere:
        # A single problem does not justify starting processes, unless the user chose them.
        at_once = 1 if free and n_problems == 1 else effective_n_jobs(n_jobs)
        yield from _run_here(tasks, n_problems, X, shared, at_once)
    first = next(tasks, None)
    if first is None:
        return
    # Threads need no start. Decided by the largest problem, even if a factory creates others.
    fit_params = with_groups(first.estimator, shared.fit_params)
    if free and fits_in_threads(first.estimator, X, fit_params):
        engine = ENGINES["threads"]
    n_workers = engine.n_workers(n_jobs)
    tasks = chain([first], tasks)
    brings_rows = not (engine.sees_memory or _can_be_shared(X))
    if not engine.sees_memory:
        tasks = _travelling(tasks, X if brings_rows else None)
    batches = _batches(tasks, n_problems, n_rows_of(X), n_workers)
    yield from engine.run(fit_batch, batches, None if brings_rows else X, shared, n_workers)


def _is_chosen() -> bool:
    """Whether the user, or the caller in a worker, has chosen a joblib backend."""
    with joblib.parallel_config() as settings:
        return any(
            settings[name] is not default_parallel_config[name]
            for name in ("backend", "prefer", "require")
        )


def _run_here(
    tasks: Iterator[Task], n_problems: int, X: Any, shared: Shared, n_jobs: int
) -> Iterator[Fitted]:
    """Fit in this process: with one job everything, with several jobs a small fit, for a while."""
    if n_jobs > 1 and n_rows_of(X) >= _FEW_ROWS:
        return
    start = time.monotonic()
    # Many problems are small: further threads of BLAS or OpenMP only slow each other down.
    limit = thread_pools(len(sys.modules)).limit(limits=1) if n_problems > 1 else nullcontext()
    with limit:
        for batch in _batches(tasks, n_problems, n_rows_of(X), 1, lambda task: not _is_fast(task)):
            yield from _fit_all(batch, X, shared, _fit_one)
            if n_jobs > 1 and time.monotonic() - start > _A_WHILE:
                return


def _can_be_shared(X: Any) -> bool:
    """Whether other processes can access X without a copy: as a memory map or in Ray's store."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and not X.dtype.hasobject)


def _batches(
    tasks: Iterator[Task],
    n_problems: int,
    n_rows: int,
    n_workers: int,
    ends: Callable[[Task], bool] = lambda task: False,
) -> Iterator[list[Task]]:
    """Group small tasks, so that sending them is cheap compared to fitting them.

    ``ends`` tells which task is the last one of its batch.
    """
    enough = max(n_rows // (4 * n_workers), 1)
    # No batch may be so large that others wait for it in the end.
    most = min(max(n_problems // (8 * n_workers), 1), _MOST_TASKS)
    batch: list[Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += len(task.target)
        if size >= enough or len(batch) >= most or ends(task):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _travelling(tasks: Iterator[Task], X: Any) -> Iterator[Task]:
    """Tasks in the form for other processes: with names and, if X is given, their rows."""
    for task in tasks:
        rows = None if X is None else take_rows(X, task.rows)
        yield replace(task, name=_text(task.name), X=rows)


# -- the worker --------------------------------------------------------------------------------


def fit_batch(batch: list[Task], X: Any, shared: Shared) -> list[Fitted]:
    """Fit some tasks, wherever this runs.

    An estimator that calls joblib itself gets no workers, because all of them are busy.
    """
    with joblib.parallel_config(backend="sequential"):
        return _fit_all(batch, X, shared, _fit_beside_others)


def _fit_all(
    batch: list[Task], X: Any, shared: Shared, fit_one: Callable[[Task, Any, Shared], Fitted]
) -> list[Fitted]:
    """Fit some tasks: in one call if possible, otherwise one after the other."""
    found = fit_tasks(batch, X, shared) if any(map(_is_fast, batch)) else [None] * len(batch)
    return [
        fit_one(task, X, shared) if packed is None else Fitted(task.owner, task.gate, packed)
        for task, packed in zip(batch, found, strict=True)
    ]


def _is_fast(task: Task) -> bool:
    return type(task.estimator) is FastLinearSVC


def _fit_beside_others(task: Task, X: Any, shared: Shared) -> Fitted:
    """Fit one task while other threads of this process may fit other tasks."""
    with alone(task.estimator):
        return _fit_one(task, X, shared)


def _fit_one(task: Task, X: Any, shared: Shared) -> Fitted:
    """Fit one task on its rows; an error names the local classifier."""
    params = {
        k: take_rows(v, task.rows) if k in shared.per_row else v
        for k, v in shared.fit_params.items()
    }
    params = with_groups(task.estimator, params)
    X = take_rows(X, task.rows) if task.X is None else task.X
    estimator = task.estimator
    remarks: list[str] = []
    failure = None
    try:
        if shared.checkpoint_dir is None:
            estimator = _fit_estimator(estimator, X, task.target, params, shared)
        else:
            estimator, remarks = _fit_or_load(task, X, params, shared)
    except Exception as error:
        error.add_note(f"while fitting the classifier of {_text(task.name)}")
        failure = _that_travels(error)
    # not inside the handler, so that the old error is not sent as its context
    if failure is not None:
        raise failure
    return Fitted(task.owner, task.gate, estimator, tuple(remarks))


def _fit_or_load(
    task: Task, X: Any, params: dict[str, Any], shared: Shared
) -> tuple[Any, list[str]]:
    """The fitted estimator of a task, from its checkpoint if there is one, and remarks."""
    remarks: list[str] = []
    directory, min_coef = str(shared.checkpoint_dir), shared.min_coef
    decisive = {**params, "min_coef": min_coef} if min_coef else params
    key = checkpoint_key(task.estimator, X, task.target, decisive, remarks)
    estimator = load_checkpoint(directory, key, remarks)
    if estimator is None:
        estimator = _fit_estimator(task.estimator, X, task.target, params, shared)
        save_checkpoint(directory, key, estimator, remarks)
    return estimator, remarks


def _fit_estimator(
    estimator: Any, X: Any, target: IntArray, params: dict[str, Any], shared: Shared
) -> Any:
    """Fit an estimator; if it is linear, on the columns that occur in its rows, and packed."""
    if "sample_weight" in params:
        check_weights(unwrap(estimator).model, target, params["sample_weight"])

    def fit(rows: Any) -> None:
        if isinstance(estimator, LinearSVC):
            fit_linear_svc(estimator, rows, target, params)
        elif not (
            type(estimator) is FastLinearSVC and fit_checked(estimator, rows, target, params)
        ):
            estimator.fit(rows, target, **named_for_fit(estimator, params))

    # Other parameters, such as initial weights, may have one entry per column.
    packed = None
    if (sp.issparse(X) or shared.min_coef) and params.keys() <= {"sample_weight"}:
        packed = fit_packed(estimator, X, fit, min_coef=shared.min_coef, norm=shared.norm)
    if packed is None:
        if shared.min_coef:
            refuse_min_coef(estimator, X, shared.min_coef)
        fit(X)
    return packed or estimator


def _that_travels(error: Exception) -> Exception:
    """The error, or its message if the error cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        again = RuntimeError(f"{type(error).__name__}: {error}")
        again.__notes__ = [*error.__notes__]
        return again
    return error


def _text(name: str | Callable[[], str]) -> str:
    return name if isinstance(name, str) else name()
