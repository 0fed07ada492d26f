"""The solver as plain Python, which is what numba compiles: it finds the optimum."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from linear_helpers import objective, problem
from sklearn.svm import LinearSVC

from hiclass._linear.solver import BLOCK, Problem, precision, solve_block, train


def settings(**changes):
    usual = {"squared": True, "cost": 1.0, "tol": 1e-3, "bias": 1.0, "max_iter": 1000}
    return Problem(**usual | changes)


def solve(X, target, settings=settings(), weight=None, seed=0, narrow=False, how=solve_block):  # noqa: B008
    class_weight = np.ones(target.max() + 1)
    return train(how, settings, X, target, class_weight, weight, seed, narrow)


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


def test_rows_without_weight_are_left_out():
    X, target = problem(24, 3)
    weight = np.arange(24) % 3 / 2
    kept = weight > 0
    some = solve(X, target, weight=weight)[0]
    alone = solve(X[kept], target[kept], weight=weight[kept])[0]
    np.testing.assert_allclose(some, alone, atol=2e-3)


def test_passes_are_limited():
    X, target = problem(24, 3)
    weights, _, n_iter = solve(X, target, settings(tol=1e-9, max_iter=2))
    assert n_iter.tolist() == [0, 0, 0]
    assert np.isfinite(weights).all()


def test_single_precision_is_for_short_rows_and_coarse_tolerances():
    assert precision(0.1, 2.0) is precision(1e-3, 1e4) is np.float32
    assert precision(1e-4, 2.0) is precision(0.1, 1.01e4) is np.float64
    X, target = problem(24, 3)
    assert solve(X, target, narrow=True)[0].dtype == np.float32
    assert solve(X, target, narrow=False)[0].dtype == np.float64
    assert solve(X * 1e3, target, settings(tol=0.1), narrow=True)[0].dtype == np.float64
    single, double = (solve(X, target, narrow=narrow)[0] for narrow in (True, False))
    np.testing.assert_allclose(single, double, atol=2e-3)


@pytest.mark.parametrize("squared", [True, False])
def test_rows_without_entries(squared):
    X = sp.csr_matrix((6, 4))
    weights, intercept, n_iter = solve(
        X, np.arange(6) % 3, settings(squared=squared, bias=0.0), narrow=True
    )
    assert not weights.any()
    assert not intercept.any()
    assert n_iter.min() > 0
