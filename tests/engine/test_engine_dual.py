"""The solver with a generator of its own: liblinear's weights, whatever else is running."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from hiclass._compat import svm_liblinear
from hiclass._engine.dual import SQUARED, solve, solver, train

needs_numba = pytest.mark.skipif(solver() is None, reason="numba is not installed")


def problem(n_rows, n_classes, seed=0, n_features=30):
    rng = np.random.default_rng(seed)
    X = sp.random(n_rows, n_features, density=0.2, random_state=seed, format="csr")
    target = rng.permutation(np.arange(n_rows) % n_classes)
    return X, target


def liblinear(
    X, target, number, bias=1.0, tol=0.1, cost=1.0, class_weight=None, weight=None, seed=7
):
    n_classes = target.max() + 1
    svm_liblinear.set_verbosity_wrap(0)
    return svm_liblinear.train_wrap(
        X,
        target.astype(np.float64),
        True,
        number,
        tol,
        bias,
        cost,
        np.ones(n_classes) if class_weight is None else class_weight,
        100,
        seed,
        0.1,
        np.ones(len(target)) if weight is None else weight,
    )


def ours(
    X, target, number, how, bias=1.0, tol=0.1, cost=1.0, class_weight=None, weight=None, seed=7
):
    n_classes = int(target.max()) + 1
    return train(
        X,
        target,
        n_classes,
        squared=SQUARED[number],
        tol=tol,
        bias=bias,
        cost=cost,
        class_weight=np.ones(n_classes) if class_weight is None else class_weight,
        sample_weight=np.ones(len(target)) if weight is None else weight,
        max_iter=100,
        seed=seed,
        solve=how,
    )


def assert_same(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.flags.f_contiguous == theirs.flags.f_contiguous
        np.testing.assert_array_equal(mine, theirs)


CASES = {
    "plain": {},
    "without intercept": {"bias": -1.0},
    "large intercept": {"bias": 5.0},
    "small tolerance": {"tol": 1e-4},
    "large cost": {"cost": 50.0},
    "small cost": {"cost": 0.01},
    "class weights": {"class_weight": np.array([0.5, 2.0, 1.0])},
    "row weights": {"weight": 0.5 + np.arange(40) % 3},
    "rows without weight": {"weight": np.where(np.arange(40) % 5 == 3, 0.0, 1.5)},
    "large seed": {"seed": 2**31 - 2},
}


@pytest.mark.parametrize("number", SQUARED)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("case", CASES)
def test_weights_are_those_of_liblinear_to_the_last_bit(case, n_classes, number):
    X, target = problem(40, n_classes)
    options = dict(CASES[case])
    if "class_weight" in options:
        options["class_weight"] = options["class_weight"][:n_classes]
    assert_same(ours(X, target, number, solve, **options), liblinear(X, target, number, **options))


@needs_numba
@pytest.mark.parametrize("number", SQUARED)
@pytest.mark.parametrize("case", CASES)
def test_compiled_weights_are_those_of_liblinear_to_the_last_bit(case, number):
    X, target = problem(40, 3)
    found = ours(X, target, number, solver(), **CASES[case])
    assert_same(found, liblinear(X, target, number, **CASES[case]))


@needs_numba
@pytest.mark.parametrize("n_classes", [2, 9])
def test_many_rows(n_classes):
    """So many that the generator is filled again, in the middle of a class."""
    X, target = problem(3000, n_classes, n_features=500)
    assert_same(ours(X, target, 1, solver()), liblinear(X, target, 1))


@needs_numba
def test_threads_do_not_change_anything():
    problems = [problem(400, 4, seed) for seed in range(20)]
    expected = [liblinear(X, target, 1) for X, target in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = pool.map(lambda args: ours(*args, 1, solver()), problems)
            for mine, theirs in zip(found, expected, strict=True):
                assert_same(mine, theirs)


def test_rows_without_entries():
    X = sp.csr_matrix((6, 4))
    target = np.array([0, 1, 2, 0, 1, 2])
    assert_same(ours(X, target, 1, solve), liblinear(X + 0 * X, target, 1, bias=1.0))
