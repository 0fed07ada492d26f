"""Copies of liblinear: a random generator for every thread."""

import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from hiclass._compat import svm_liblinear
from hiclass._engine.copies import copy_of


def fit(module, X, target):
    n_classes = target.max() + 1
    module.set_verbosity_wrap(0)
    return module.train_wrap(
        X,
        target.astype(np.float64),
        True,
        1,
        0.1,
        1.0,
        1.0,
        np.ones(n_classes),
        1000,
        7,
        0.1,
        np.ones(len(target)),
    )[0]


def problem(seed, n_rows=2000):
    X = sp.random(n_rows, 300, density=0.05, random_state=seed, format="csr")
    return X, np.random.default_rng(seed).permutation(np.arange(n_rows) % 6)


@pytest.fixture(scope="module")
def copies():
    found = [copy_of(svm_liblinear) for _ in range(3)]
    if None in found:
        pytest.skip("extension modules cannot be loaded from the folder for temporary files")
    return found


def test_a_copy_is_another_module_that_does_the_same(copies):
    X, target = problem(0)
    expected = fit(svm_liblinear, X, target)
    for module in copies:
        assert module is not svm_liblinear
        np.testing.assert_array_equal(fit(module, X, target), expected)
    assert sys.modules[svm_liblinear.__name__] is svm_liblinear


def test_every_thread_has_its_generator(copies):
    problems = [problem(seed) for seed in range(12)]
    expected = [fit(svm_liblinear, *p) for p in problems]

    def work(number):
        module = copies[number]
        return [fit(module, *p) for p in problems]

    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(work, range(3)):
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_what_cannot_be_copied_gives_none(tmp_path):
    assert copy_of(sys) is None  # built in, without a file
    module = types.ModuleType("broken")
    module.__file__ = str(tmp_path / "broken.so")
    assert copy_of(module) is None
    (tmp_path / "broken.so").write_bytes(b"not a library")
    assert copy_of(module) is None
