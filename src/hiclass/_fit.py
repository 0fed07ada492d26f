"""Runs local problems: slices X, fits one child per problem, brings the fitted ones back.

The worker is a plain function on arrays. ``n_jobs`` has joblib's meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from hiclass._problems import LocalProblem
from hiclass._validation import n_rows_of, take_rows

Fitted = tuple[int, bool, Any]  # owner, whether it is a gate, the fitted estimator


def fit_problems(
    problems: Iterable[LocalProblem],
    X: Any,
    make_child: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    fit_params: dict[str, Any],
    n_jobs: int | None,
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Fit one child per local problem.

    Parameters
    ----------
    problems : iterable of LocalProblem
        The problems; consumed lazily.
    X : rows
        All training rows.
    make_child : callable
        Returns an unfitted estimator for a problem.
    describe : callable
        Returns the name of a problem for error messages.
    fit_params : dict
        Keyword arguments for every ``fit``; those with one entry per row are sliced.
    n_jobs : int or None
        Number of parallel jobs.

    Returns
    -------
    classifiers, gates : dict
        Fitted estimators by owner.
    """
    n_rows = n_rows_of(X)
    per_row = {k for k, v in fit_params.items() if is_per_row(v, n_rows)}
    classifiers: dict[int, Any] = {}
    gates: dict[int, Any] = {}
    for owner, gate, estimator in _run(
        problems, X, make_child, describe, fit_params, per_row, n_jobs
    ):
        (gates if gate else classifiers)[owner] = estimator
    return classifiers, gates


def _run(
    problems: Iterable[LocalProblem],
    X: Any,
    make_child: Callable[[LocalProblem], Any],
    describe: Callable[[LocalProblem], str],
    fit_params: dict[str, Any],
    per_row: set[str],
    n_jobs: int | None,
) -> Iterator[Fitted]:
    """Fit in this process if there is one job, otherwise with joblib's active backend."""
    if effective_n_jobs(n_jobs) == 1:
        for problem in problems:
            yield _fit_one(make_child(problem), X, problem, fit_params, per_row, describe)
        return
    yield from Parallel(n_jobs=n_jobs)(
        delayed(_fit_one)(make_child(problem), X, problem, fit_params, per_row, describe(problem))
        for problem in problems
    )


def _fit_one(
    estimator: Any,
    X: Any,
    problem: LocalProblem,
    fit_params: dict[str, Any],
    per_row: set[str],
    name: str | Callable[[LocalProblem], str],
) -> Fitted:
    rows = problem.rows
    params = {k: take_rows(v, rows) if k in per_row else v for k, v in fit_params.items()}
    try:
        estimator.fit(take_rows(X, rows), problem.target, **params)
    except Exception as error:
        place = name if isinstance(name, str) else name(problem)
        error.add_note(f"while fitting the classifier of {place}")
        raise
    return problem.owner, problem.gate, estimator


def is_per_row(value: Any, n_rows: int) -> bool:
    """Whether a fit parameter has one entry per row, as scikit-learn decides it."""
    if isinstance(value, str | bytes | dict) or not (
        hasattr(value, "__len__") or hasattr(value, "shape")
    ):
        return False
    return bool(n_rows_of(value) == n_rows)
