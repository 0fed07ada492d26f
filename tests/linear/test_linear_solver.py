"""The solver as plain Python, which is what numba compiles: it finds the optimum."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from linear_helpers import objective, problem
from sklearn.svm import LinearSVC

from hiclass._linear.kernel import BLOCK, solve_problems
from hiclass._linear.solver import Problem, Solution, precision, train


def settings(**changes):
    usual = {"squared": True, "cost": 1.0, "tol": 1e-3, "bias": 1.0, "max_iter": 1000}
    return Problem(**usual | changes)


def solve(X, target, settings=settings(), seed=0, dtype=np.float64):  # noqa: B008
    """Solve one problem on all rows, for all columns."""
    n_classes = np.array([target.max() + 1])
    rows = np.arange(X.shape[0])
    (found,) = train(solve_problems, X, [settings], [seed], [rows], target, n_classes, dtype=dtype)
    assert found.columns is None
    return found[1:]


@pytest.mark.parametrize(
    ("squared", "bias", "n_classes"), list(product([True, False], [0.0, 2.0], [2, 3]))
)
def test_finds_the_minimum(squared, bias, n_classes):
    X, target = problem(24, n_classes)
    weights, intercept, n_iter = solve(X, target, settings(squared=squared, bias=bias))
    svc = LinearSVC(
        loss="squared_hinge" if squared else "hinge",
        dual=True,
        tol=1e-8,
        max_iter=100_000,
        fit_intercept=bool(bias),
        intercept_scaling=bias or 1.0,
        random_state=0,
    ).fit(X, target)
    n_out = 1 if n_classes == 2 else n_classes
    assert weights.shape == (n_out, X.shape[1])
    assert intercept.shape == n_iter.shape == (n_out,)
    assert n_iter.min() > 0
    np.testing.assert_allclose(weights, svc.coef_, atol=2e-3)
    for k in range(n_out):
        sign = np.where(target == (1 if n_out == 1 else k), 1, -1)
        theirs = np.broadcast_to(svc.intercept_, n_out)[k]
        best = objective(svc.coef_[k], theirs, X, sign, squared, bias)
        mine = objective(weights[k], bias * intercept[k], X, sign, squared, bias)
        assert mine <= best * (1 + 1e-3)


def test_a_smaller_tolerance_gives_a_smaller_gap():
    X, target = problem(24, 3)
    best = solve(X, target, settings(tol=1e-6))[0]
    far, near = (np.abs(solve(X, target, settings(tol=tol))[0] - best).max() for tol in (0.5, 0.01))
    assert near < far
    assert near < 0.01


def test_the_seed_decides_on_the_order_and_nothing_else_does():
    X, target = problem(24, 3)
    first, again, other = (solve(X, target, settings(tol=0.5), seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_classes_are_solved_in_blocks():
    n_classes = BLOCK + 3
    X, target = problem(2 * n_classes, n_classes, n_features=20)
    weights, _, n_iter = solve(X, target, settings(tol=0.05))
    svc = LinearSVC(dual=True, tol=1e-6, random_state=0, max_iter=10_000).fit(X, target)
    assert weights.shape == svc.coef_.shape
    assert weights.flags.f_contiguous
    assert n_iter.min() > 0
    np.testing.assert_allclose(weights, svc.coef_, atol=0.05)


def test_passes_are_limited():
    X, target = problem(24, 3)
    weights, _, n_iter = solve(X, target, settings(tol=1e-9, max_iter=2))
    assert n_iter.tolist() == [0, 0, 0]
    assert np.isfinite(weights).all()


def test_single_precision_is_for_short_rows_and_coarse_tolerances():
    assert precision(0.1, 2.0) is precision(1e-3, 1e4) is np.float32
    assert precision(1e-4, 2.0) is precision(0.1, 1.01e4) is np.float64
    X, target = problem(24, 3)
    single, double = (solve(X, target, dtype=dtype)[0] for dtype in (np.float32, np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, double, atol=2e-3)


@pytest.mark.parametrize("squared", [True, False])
def test_rows_without_entries(squared):
    X = sp.csr_matrix((6, 4))
    weights, intercept, n_iter = solve(
        X, np.arange(6) % 3, settings(squared=squared, bias=0.0), dtype=np.float32
    )
    assert not weights.any()
    assert not intercept.any()
    assert n_iter.min() > 0


def wide(n_classes, seed):
    """A problem whose rows have few of 200 columns."""
    X, target = problem(12 * n_classes, n_classes, seed, n_features=25)
    places = np.sort(np.random.default_rng(seed).choice(200, 25, replace=False))
    return sp.csr_matrix((X.data, places[X.indices], X.indptr), (X.shape[0], 200)), target


def test_problems_of_one_call_have_the_solutions_that_each_has_alone():
    parts = [wide(n_classes, seed) for seed, n_classes in enumerate((2, 5, 3))]
    X = sp.vstack([rows for rows, _ in parts], format="csr")
    draw = np.random.default_rng(0).permutation(X.shape[0])  # rows of a problem lie anywhere
    X = X[draw]
    ends = np.cumsum([len(target) for _, target in parts])
    rows = [np.argsort(draw)[end - len(t) : end] for end, (_, t) in zip(ends, parts, strict=True)]
    problems = [settings(tol=0.1), settings(squared=False, tol=0.01), settings(bias=0.0, cost=3)]
    found = train(
        solve_problems,
        X,
        problems,
        [0, 1, 2],
        rows,
        np.concatenate([target for _, target in parts]),
        np.array([2, 5, 3]),
        dtype=np.float32,
        most_columns=100,
    )
    for seed, ((alone, target), part) in enumerate(zip(parts, found, strict=True)):
        weights, intercept, n_iter = solve(alone, target, problems[seed], seed, np.float32)
        assert isinstance(part, Solution)
        np.testing.assert_array_equal(part.columns, np.unique(alone.indices))
        np.testing.assert_array_equal(part.weights, weights[:, part.columns])
        assert part.weights.flags.f_contiguous
        np.testing.assert_array_equal(part.intercept, intercept)
        np.testing.assert_array_equal(part.n_iter, n_iter)
        rest = np.setdiff1d(np.arange(200), part.columns)
        assert not weights[:, rest].any()


@pytest.mark.parametrize(("most", "expected"), [(24, [None]), (25, [25]), (-1, [None])])
def test_all_columns_are_kept_where_more_than_some_occur(most, expected):
    X, target = wide(3, 0)
    rows = [np.arange(X.shape[0])]
    found = train(
        solve_problems, X, [settings()], [0], rows, target, np.array([3]), dtype=np.float32,
        most_columns=most,
    )  # fmt: skip
    assert [None if f.columns is None else len(f.columns) for f in found] == expected


def test_a_problem_without_entries_has_the_first_column():
    X = sp.csr_matrix((6, 4))
    (found,) = train(
        solve_problems, X, [settings()], [0], [np.arange(6)], np.arange(6) % 3, np.array([3]),
        dtype=np.float32, most_columns=2,
    )  # fmt: skip
    assert found.columns.tolist() == [0]
    assert found.weights.shape == (3, 1)
