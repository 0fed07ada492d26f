"""Solves the dual problem of linear support vector machines with a random generator of its own.

liblinear, which scikit-learn calls for ``LinearSVC``, has one generator per process: what it finds
depends on what other threads are fitting at the same time. The solver here finds the same weights
to the last bit, since it visits the rows in the same order and computes in the same order, but
every call has its own generator, so that it can run in any number of threads. It is the method of
Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale
linear SVM" (ICML 2008, algorithm 3, with shrinking), with the random numbers that scikit-learn's
liblinear draws: a Mersenne twister, brought into a range by multiplication (Lemire 2019).

It is compiled by numba, where that is installed (``pip install hiclass[fast]``). Without it,
:func:`solver` returns None and liblinear has to be called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: liblinear's numbers of the two problems, and whether the hinge is squared.
SQUARED = {1: True, 3: False}

_TWISTER_SIZE = 624
_TWISTER_SHIFT = 397
_LOW_32_BITS = 0xFFFFFFFF


@lru_cache(maxsize=1)
def solver() -> Callable[..., AnyArray] | None:
    """The compiled solver, or None where numba is not installed.

    Returns
    -------
    callable or None
        :func:`solve`, compiled. It releases the lock of the interpreter.
    """
    try:
        from numba import njit  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    compiled: Callable[..., AnyArray] = njit(cache=True, nogil=True)(solve)
    return compiled


def train(
    X: Any,
    target: IntArray,
    n_classes: int,
    *,
    squared: bool,
    tol: float,
    bias: float,
    cost: float,
    class_weight: AnyArray,
    sample_weight: AnyArray,
    max_iter: int,
    seed: int,
    solve: Callable[..., AnyArray],
) -> tuple[AnyArray, AnyArray]:
    """Tell every class from all others, as liblinear does.

    Parameters
    ----------
    X : CSR matrix of float64 with 32-bit indices
        The rows.
    target : ndarray of int
        The class of each row, all of 0..n_classes-1.
    n_classes : int
        The number of classes.
    squared : bool
        Whether the hinge loss is squared.
    tol : float
        Stop where the violation of optimality is below this.
    bias : float
        The value of an additional column for the intercept; there is none if it is not positive.
    cost : float
        The weight of the loss.
    class_weight : ndarray of shape (n_classes,)
        Factors of the cost.
    sample_weight : ndarray of shape (n_rows,)
        Factors of the cost; rows without weight are left out.
    max_iter : int
        The largest number of passes over the rows.
    seed : int
        The seed for liblinear, as it is drawn for each call.
    solve : callable
        What :func:`solver` returned.

    Returns
    -------
    weights : ndarray of shape (n_classes, n_features), or one column more for the intercepts
        In Fortran order; of two classes one row, which scores the second.
    n_iter : ndarray of int32
        Passes over the rows, for each row of weights.
    """
    counted = np.flatnonzero(sample_weight > 0)
    by_class = counted[np.argsort(target[counted], kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(target[counted], minlength=n_classes))])
    n_out = 1 if n_classes == 2 else n_classes
    weights = np.zeros((X.shape[1] + (bias > 0), n_out))
    n_iter = solve(
        X.data,
        X.indices.view(np.uint32),
        X.indptr[by_class].astype(np.uint64),
        X.indptr[by_class + 1].astype(np.uint64),
        start,
        sample_weight[by_class],
        cost * class_weight,
        cost,
        squared,
        tol,
        bias,
        max_iter,
        seed,
        weights,
    )
    return weights.T, n_iter


def solve(
    data: AnyArray,
    indices: IntArray,
    first: IntArray,
    last: IntArray,
    start: IntArray,
    sample_weight: AnyArray,
    class_cost: AnyArray,
    cost: float,
    squared: bool,
    tol: float,
    bias: float,
    max_iter: int,
    seed: int,
    weights: AnyArray,
) -> AnyArray:
    """Solve one problem of two classes after the other.

    It is compiled, so it is one function on arrays. Unsigned indices save a test for negative ones.

    Parameters
    ----------
    data : ndarray of float64
        The values of all rows.
    indices : ndarray of uint32
        Their columns.
    first, last : ndarray of uint64
        Where the values of each row begin and end; rows are grouped by class.
    start : ndarray of int
        Where the rows of each class begin, and the number of rows.
    sample_weight : ndarray of float64
        The weight of each row.
    class_cost : ndarray of float64
        The weight of the loss for rows of a class, where it is told from the others.
    cost : float
        The weight of the loss for the rows of the others, where there are more than two classes.
    squared : bool
        Whether the hinge loss is squared.
    tol, bias, max_iter, seed
        See :func:`train`.
    weights : ndarray of shape (n_features or one more, n_problems)
        Zeros; the result is written here, intercepts last.

    Returns
    -------
    ndarray of int32
        Passes over the rows for each problem.
    """
    n_rows = len(first)
    n_problems = weights.shape[1]
    has_bias = bias > 0
    n_columns = weights.shape[0] - 1 if has_bias else weights.shape[0]
    n_iter = np.zeros(n_problems, dtype=np.int32)
    w = np.empty(n_columns)
    length = np.empty(n_rows)  # squared
    alpha = np.empty(n_rows)
    sign = np.empty(n_rows)
    ridge = np.empty(n_rows)
    upper = np.empty(n_rows)
    index = np.empty(n_rows, dtype=np.uint32)
    twister = np.empty(_TWISTER_SIZE, dtype=np.int64)
    twister[0] = seed
    for i in range(1, _TWISTER_SIZE):
        before = twister[i - 1]
        twister[i] = (1812433253 * (before ^ (before >> 30)) + i) & _LOW_32_BITS
    position = _TWISTER_SIZE
    for problem in range(n_problems):
        # Of two classes the second is the positive one.
        positive = problem + 1 if n_problems == 1 else problem
        for i in range(n_rows):
            is_positive = start[positive] <= i < start[positive + 1]
            sign[i] = 1.0 if is_positive else -1.0
            if is_positive:
                cost_here = sample_weight[i] * class_cost[positive]
            else:
                cost_here = sample_weight[i] * (class_cost[0] if n_problems == 1 else cost)
            ridge_here = 0.5 / cost_here if squared else 0.0
            upper[i] = np.inf if squared else cost_here
            if problem == 0 or ridge_here != ridge[i]:
                ridge[i] = ridge_here
                squares = ridge_here
                for p in range(first[i], last[i]):
                    squares += data[p] * data[p]
                if has_bias:
                    squares += bias * bias
                length[i] = squares
            alpha[i] = 0.0
            index[i] = i
        w[:] = 0.0
        intercept = 0.0
        n_active = n_rows
        largest_before, smallest_before = np.inf, -np.inf
        n_passes = 0
        while n_passes < max_iter:
            # Shuffle the active rows.
            for i in range(n_active):
                n_left = n_active - i
                too_low = (4294967296 - n_left) % n_left
                while True:
                    if position == _TWISTER_SIZE:
                        position = 0
                        for j in range(_TWISTER_SIZE):
                            y = (twister[j] & 0x80000000) | (
                                twister[(j + 1) % _TWISTER_SIZE] & 0x7FFFFFFF
                            )
                            value = twister[(j + _TWISTER_SHIFT) % _TWISTER_SIZE] ^ (y >> 1)
                            twister[j] = value ^ 0x9908B0DF if y & 1 else value
                    y = twister[position]
                    position += 1
                    y ^= y >> 11
                    y ^= (y << 7) & 0x9D2C5680
                    y ^= (y << 15) & 0xEFC60000
                    y ^= y >> 18
                    product = y * n_left
                    if product & _LOW_32_BITS >= too_low:
                        break
                j = i + (product >> 32)
                index[i], index[j] = index[j], index[i]
            largest, smallest = -np.inf, np.inf
            s = 0
            while s < n_active:
                i = index[s]
                begin, end = first[i], last[i]
                gradient = 0.0
                for p in range(begin, end):
                    gradient += w[indices[p]] * data[p]
                if has_bias:
                    gradient += intercept * bias
                old = alpha[i]
                gradient = gradient * sign[i] - 1.0
                gradient += old * ridge[i]
                projected = gradient
                inactive = False
                if old == 0.0:
                    inactive = gradient > largest_before
                    projected = min(gradient, 0.0)
                elif old == upper[i]:
                    inactive = gradient < smallest_before
                    projected = max(gradient, 0.0)
                if inactive:
                    n_active -= 1
                    index[s], index[n_active] = index[n_active], index[s]
                    continue
                largest = max(largest, projected)
                smallest = min(smallest, projected)
                if abs(projected) > 1e-12:
                    new = min(max(old - gradient / length[i], 0.0), upper[i])
                    alpha[i] = new
                    change = (new - old) * sign[i]
                    for p in range(begin, end):
                        w[indices[p]] += change * data[p]
                    if has_bias:
                        intercept += change * bias
                s += 1
            n_passes += 1
            if largest - smallest <= tol:
                if n_active == n_rows:
                    break
                # Look at all rows again.
                n_active = n_rows
                largest_before, smallest_before = np.inf, -np.inf
                continue
            largest_before = largest if largest > 0 else np.inf
            smallest_before = smallest if smallest < 0 else -np.inf
        weights[:n_columns, problem] = w
        if has_bias:
            weights[n_columns, problem] = intercept
        n_iter[problem] = n_passes
    return n_iter
