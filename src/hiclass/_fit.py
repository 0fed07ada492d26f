"""Runs local problems: slices X, fits one child per problem, brings the fitted ones back.

The worker, ``fit_batch``, is a plain function on arrays. Who calls it is the engine's business:
this process, joblib's active backend (loky, threads, Dask), or Ray natively. X is shared, never
sent per task: a task brings row numbers and slices its own rows. Problems come largest first, and
small ones travel in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from hiclass._checkpoint import checkpoint_key, load_checkpoint, save_checkpoint
from hiclass._labels import IntArray
from hiclass._problems import LocalProblem
from hiclass._progress import Progress
from hiclass._validation import n_rows_of, take_rows

Fitted = tuple[int, bool, Any]  # owner, whether it is a gate, the fitted estimator
Name = str | Callable[[], str]  # a name that is worked out only where it is needed

#: Below this many rows sending the work to another process costs more than doing it.
_FEW_ROWS = 1000
_MOST_TASKS = 256
#: Classifiers that release the GIL while they fit: threads then beat processes.
_RELEASES_GIL = frozenset(
    {
        "LinearSVC",
        "SGDClassifier",
        "Perceptron",
        "PassiveAggressiveClassifier",
        "RandomForestClassifier",
        "ExtraTreesClassifier",
        "DecisionTreeClassifier",
        "ExtraTreeClassifier",
    }
)


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
class Task:
    """One child to fit. ``X`` is None where the rows are sliced from the shared X."""

    owner: int
    gate: bool
    estimator: Any
    rows: IntArray | None
    target: IntArray
    name: Name
    X: Any = None


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
    make_child: Callable[[LocalProblem], Any],
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
    make_child : callable
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
    tasks = (
        Task(p.owner, p.gate, make_child(p), p.rows, p.target, partial(describe, p))
        for p in problems
    )
    fitted: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
    with Progress(n_problems, settings.title, enabled=settings.verbose > 0) as progress:
        for (owner, gate, estimator), name in _run(tasks, X, shared, settings.n_jobs):
            fitted[gate][owner] = estimator
            progress.step(name)
    return dict(sorted(fitted[0].items())), dict(sorted(fitted[1].items()))


def _run(
    tasks: Iterator[Task], X: Any, shared: Shared, n_jobs: int | None
) -> Iterator[tuple[Fitted, Name]]:
    """Hand the tasks to the engine that joblib's settings ask for."""
    backend, _ = get_active_backend()
    if type(backend).__module__.startswith("ray."):
        from hiclass._ray import run_on_ray

        yield from run_on_ray(fit_batch, _batches(tasks, X, effective_n_jobs(n_jobs)), X, shared)
        return
    jobs = effective_n_jobs(n_jobs)
    if jobs == 1 or n_rows_of(X) < _FEW_ROWS:
        with _one_blas_thread():
            for task in tasks:
                yield _fit_one(task, X, shared), task.name
        return
    first = next(tasks, None)
    if first is None:
        return
    tasks = chain([first], tasks)
    threads = type(first.estimator).__name__ in _RELEASES_GIL
    parallel = Parallel(
        n_jobs=n_jobs,
        prefer="threads" if threads else None,
        batch_size=1,
        return_as="generator_unordered",
    )
    one_memory = getattr(parallel._backend, "supports_sharedmem", False)
    shares = one_memory or _can_be_shared(X)
    batches = _batches(tasks, X, jobs, bring_rows=not shares)
    limit = threadpool_limits(1) if one_memory else nullcontext()
    try:
        with limit:
            for done in parallel(
                delayed(fit_batch)(batch, X if shares else None, shared) for batch in batches
            ):
                yield from done
    except TerminatedWorkerError as error:
        error.add_note(
            "A worker process was killed while fitting, most often because memory ran out. Use "
            "fewer jobs; with checkpoint_dir, the next fit continues where this one stopped."
        )
        raise


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Local problems are small: more BLAS threads only get into each other's way."""
    return threadpool_limits(1, user_api="blas")


def _can_be_shared(X: Any) -> bool:
    """Whether joblib hands X to other processes as a memory map."""
    return isinstance(X, np.ndarray) or sp.issparse(X)


def _batches(
    tasks: Iterator[Task], X: Any, n_jobs: int, *, bring_rows: bool = False
) -> Iterator[list[Task]]:
    """Group small tasks, so that sending them costs little beside fitting them."""
    enough = max(n_rows_of(X) // (4 * n_jobs), 1)
    batch: list[Task] = []
    size = 0
    for task in tasks:
        brought = take_rows(X, task.rows) if bring_rows else None
        batch.append(replace(task, name=_text(task.name), X=brought))
        size += len(task.target)
        if size >= enough or len(batch) >= _MOST_TASKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _text(name: Name) -> str:
    return name if isinstance(name, str) else name()


def fit_batch(batch: list[Task], X: Any, shared: Shared) -> list[tuple[Fitted, Name]]:
    """Fit some tasks, wherever this runs."""
    return [(_fit_one(task, X, shared), task.name) for task in batch]


def _fit_one(task: Task, X: Any, shared: Shared) -> Fitted:
    rows, estimator = task.rows, task.estimator
    params = {
        k: take_rows(v, rows) if k in shared.per_row else v for k, v in shared.fit_params.items()
    }
    X_here = take_rows(X, rows) if task.X is None else task.X
    try:
        if shared.checkpoint_dir is None:
            estimator.fit(X_here, task.target, **params)
        else:
            estimator = _fit_or_load(task, X_here, params, shared.checkpoint_dir)
    except Exception as error:
        error.add_note(f"while fitting the classifier of {_text(task.name)}")
        raise
    return task.owner, task.gate, estimator


def _fit_or_load(task: Task, X: Any, params: dict[str, Any], directory: str) -> Any:
    key = checkpoint_key(task.estimator, X, task.target, params)
    estimator = load_checkpoint(directory, key)
    if estimator is None:
        estimator = task.estimator
        estimator.fit(X, task.target, **params)
        save_checkpoint(directory, key, estimator)
    return estimator


def is_per_row(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row, as scikit-learn decides it."""
    if isinstance(value, str | bytes | dict) or not (
        hasattr(value, "__len__") or hasattr(value, "shape")
    ):
        return False
    return bool(n_rows_of(value) == n_rows)
