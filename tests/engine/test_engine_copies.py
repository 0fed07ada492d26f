"""Copies of liblinear: a random generator for every thread."""

import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from hiclass._compat import svm_liblinear
from hiclass._engine import copies as _copies
from hiclass._engine.copies import Copies, copy_of


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
    pool = Copies(svm_liblinear)

    def work(number):
        with pool.one() as module:
            return [fit(module, *p) for p in problems]

    with ThreadPoolExecutor(3) as threads:
        for found in threads.map(work, range(3)):
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_copies_are_lent_to_one_caller_at_a_time_and_used_again(copies):
    pool = Copies(svm_liblinear)
    assert pool.can_be_made()
    with pool.one() as first:
        with pool.one() as second:
            assert len({id(first), id(second), id(svm_liblinear)}) == 3
        with pool.one() as third:
            assert third is second
    for _ in range(3):
        with pool.one() as module:
            assert module is first
    with pytest.raises(ArithmeticError), pool.one() as module:
        raise ArithmeticError
    with pool.one() as again:
        assert again is module


def test_no_file_is_left(copies, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert copy_of(svm_liblinear) is not None
    assert list(tmp_path.iterdir()) == []


def test_without_copies_callers_use_the_module_in_turn(monkeypatch):
    tried = []
    monkeypatch.setattr(_copies, "copy_of", lambda module: tried.append(module))
    pool = Copies(svm_liblinear)
    assert not pool.can_be_made()
    inside = []

    def work(number):
        with pool.one() as module:
            inside.append(number)
            assert module is svm_liblinear
            assert len(inside) == 1
            inside.remove(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(50)))
    with pool.one(), pool.one() as module:  # the same thread may come back
        assert module is svm_liblinear
    assert len(tried) == 1  # it is not tried again


def test_what_cannot_be_copied_gives_none(tmp_path):
    assert copy_of(sys) is None  # built in, without a file
    module = types.ModuleType("broken")
    module.__file__ = str(tmp_path / "broken.so")
    assert copy_of(module) is None
    (tmp_path / "broken.so").write_bytes(b"not a library")
    assert copy_of(module) is None


def test_a_folder_that_is_missing_gives_none(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert copy_of(svm_liblinear) is None


def test_on_windows_there_are_no_copies(monkeypatch):
    """The file of a module that is loaded cannot be deleted there."""
    with monkeypatch.context() as patch:
        patch.setattr(_copies.os, "name", "nt")
        found = copy_of(svm_liblinear)
    assert found is None
