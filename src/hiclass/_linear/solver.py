"""Solves the dual problems of linear support vector machines for several classes at once.

Dual coordinate descent visits one row after the other (Hsieh, Chang, Lin, Keerthi and Sundararajan,
"A dual coordinate descent method for large-scale linear SVM", ICML 2008). To tell one class from
all others is a problem for each class, but all have the same rows. Here one visit of a row serves
all classes of a block: weights are stored by column and then by class, so that an entry of the row
is read once, and what follows is arithmetic on a few numbers that lie side by side.

The generator of random numbers belongs to the call: threads do not matter. Functions are plain
Python, which :func:`compiled` has numba compile, where that is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: How many classes are solved at once, at most: more take memory, and gain little. Never a matter
#: of threads, since the result depends on it.
BLOCK = 64
#: Larger than any gradient or bound.
_FAR = 1e30
#: What the compiler may do with arithmetic: the same on every call, and finite numbers stay exact.
_ARITHMETIC = {"contract", "reassoc", "nsz", "arcp"}


@lru_cache(maxsize=1)
def compiled() -> Callable[..., None] | None:
    """:func:`solve_block`, compiled, or None where numba is not installed.

    It releases the lock of the interpreter. The machine code is kept in numba's cache on disk;
    where no folder for it can be written, it is compiled in every process.
    """
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:  # not there, or not for this version of NumPy
        return None
    for part in (_shuffle, _finish_pass):
        register_jitable(part)
    options = {"nogil": True, "fastmath": _ARITHMETIC, "error_model": "numpy"}
    try:
        solve: Callable[..., None] = njit(solve_block, cache=True, **options)
    except RuntimeError:  # no folder
        solve = njit(solve_block, **options)
    return solve


@dataclass(frozen=True)
class Problem:
    """What is solved, beside the rows and their classes.

    Attributes
    ----------
    squared : bool
        Whether the hinge loss is squared.
    cost : float
        The weight of the loss.
    tol : float
        A class is done when projected gradients of all rows differ by no more than this.
    bias : float
        The value of an additional column for the intercept; 0 for none.
    max_iter : int
        The largest number of passes over the rows.
    """

    squared: bool
    cost: float
    tol: float
    bias: float
    max_iter: int


def train(
    solve: Callable[..., None],
    problem: Problem,
    X: Any,
    target: IntArray,
    class_weight: AnyArray,
    sample_weight: AnyArray | None,
    seed: int,
    narrow: bool,
) -> tuple[AnyArray, AnyArray, IntArray]:
    """Tell every class from all others; of two classes, the second from the first.

    Parameters
    ----------
    solve : callable
        :func:`solve_block`, compiled or not.
    problem : Problem
        What is solved.
    X : CSR matrix without duplicate entries
        The rows.
    target : ndarray of int
        The class of each row, out of 0..k-1.
    class_weight : ndarray of shape (k,)
        Factors of the cost of the rows of each class, where it is told from the others.
    sample_weight : ndarray of shape (n_rows,) or None
        Factors of the cost of rows; those without weight are left out.
    seed : int
        For the order in which rows are visited.
    narrow : bool
        Whether single precision may be used; see :func:`precision`.

    Returns
    -------
    weights : ndarray of shape (k, n_features), or (1, n_features) for two classes
        In Fortran order.
    intercept : ndarray of shape (k,) or (1,)
        Weights of the additional column.
    n_iter : ndarray of int
        Passes over the rows until a class was done, 0 if it is not.
    """
    n_rows = X.shape[0]
    if sample_weight is None:
        counted = np.arange(n_rows, dtype=np.uint32)
        sample_weight = np.ones(n_rows)
    else:
        counted = np.flatnonzero(sample_weight > 0).astype(np.uint32)
    squares = np.maximum(_squares(X) + problem.bias**2, 1 / _FAR)
    dtype = precision(problem.tol, squares.max()) if narrow else np.float64
    n_out = 1 if len(class_weight) == 2 else len(class_weight)
    others = class_weight[0] if n_out == 1 else 1.0
    share = np.column_stack([np.full(n_rows, others), class_weight[target]])
    # Rows without weight are never visited.
    cost = problem.cost * share * np.where(sample_weight > 0, sample_weight, 1)[:, None]
    rows = (
        # Code for arrays that cannot be written, as of other processes, would be compiled anew.
        np.require(X.data, dtype, "W"),
        np.require(X.indices, np.int32, "W").view(np.uint32),
        X.indptr.astype(np.uint64),
        squares.astype(dtype),
        np.maximum(cost, 1 / _FAR).astype(dtype),
    )
    weights = np.empty((X.shape[1], n_out), dtype)
    intercept = np.empty(n_out, dtype)
    n_iter = np.zeros(n_out, np.int64)
    own = target.astype(np.int64)
    for block, first in enumerate(range(0, n_out, BLOCK)):
        last = min(first + BLOCK, n_out)
        found = np.zeros((X.shape[1] + 1, _width(last - first)), dtype)
        solve(
            *rows,
            counted.copy(),
            # Of two classes the second is the positive one.
            own - (first if n_out > 1 else 1),
            problem.squared,
            problem.bias,
            problem.tol,
            problem.max_iter,
            _state(seed, block),
            found[:-1],
            found[-1],
            n_iter[first:last],
        )
        weights[:, first:last] = found[:-1, : last - first]
        intercept[first:last] = found[-1, : last - first]
    return weights.T, intercept, n_iter


def precision(tol: float, largest: float) -> Any:
    """Single precision where gradients are exact enough for the tolerance, else double.

    Parameters
    ----------
    tol : float
        The tolerance.
    largest : float
        The squared length of the longest row.

    Returns
    -------
    type
    """
    return np.float32 if tol >= 1e-3 and largest <= 1e4 else np.float64


def _width(n_classes: int) -> int:
    """For how many classes weights are stored: processors take eight numbers at once."""
    return n_classes if n_classes <= 3 else -(-n_classes // 8) * 8


def _squares(X: Any) -> AnyArray:
    """The squared length of each row."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(row, np.square(X.data, dtype=np.float64), X.shape[0])


def _state(seed: int, block: int) -> IntArray:
    """Where the generator of a block begins: a step of splitmix64."""
    z = (seed + (block + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.array([z ^ (z >> 31) or 1], dtype=np.uint64)


def solve_block(
    data: AnyArray,
    indices: IntArray,
    indptr: IntArray,
    squares: AnyArray,
    cost: AnyArray,
    order: IntArray,
    own: IntArray,
    squared: bool,
    bias: float,
    tol: float,
    max_iter: int,
    state: IntArray,
    weights: AnyArray,
    intercept: AnyArray,
    n_iter: IntArray,
) -> None:
    """Tell each class of a block from all others.

    Parameters
    ----------
    data : ndarray of shape (n_entries,)
        The values of all rows.
    indices : ndarray of uint32
        Their columns.
    indptr : ndarray of uint64
        Where the entries of each row begin.
    squares : ndarray of shape (n_rows,)
        The squared length of each row, with the additional column; not 0.
    cost : ndarray of shape (n_rows, 2)
        The weight of the loss of each row: where another class is told from the rest, and where its
        own class is.
    order : ndarray of uint32
        The numbers of the rows that count; is shuffled.
    own : ndarray of int64
        The class of each row within the block; another number if it is not in the block.
    squared, bias, tol, max_iter
        See :class:`Problem`.
    state : ndarray of uint64 of shape (1,)
        Of the generator that orders the rows, not 0.
    weights : ndarray of shape (n_features, n_classes or more)
        Zeros; the result is written here.
    intercept : ndarray of shape (n_classes or more,)
        Zeros; the weights of the additional column are written here.
    n_iter : ndarray of int64 of shape (n_classes,)
        Zeros; passes until a class was done are written here, 0 if it is not.
    """
    n_rows = np.uint64(len(order))
    n_classes = weights.shape[1]
    number = weights.dtype.type
    zero, half, one, far, b = number(0), number(0.5), number(1), number(_FAR), number(bias)
    alpha = np.zeros((len(own), n_classes), weights.dtype)
    score = np.empty(n_classes, weights.dtype)
    change = np.empty(n_classes, weights.dtype)
    live = np.zeros(n_classes, weights.dtype)
    live[: len(n_iter)] = one
    quiet = np.zeros(n_classes, np.bool_)
    # The extreme projected gradients of this pass, and those that shrink rows in it.
    largest = np.empty(n_classes, weights.dtype)
    smallest = np.empty(n_classes, weights.dtype)
    above = np.full(n_classes, far)
    below = np.full(n_classes, -far)
    n_active = n_rows
    sees_all = True
    for n_passes in range(1, max_iter + 1):
        largest[:] = zero
        smallest[:] = zero
        _shuffle(order, n_active, state)
        s = np.uint64(0)
        while s < n_active:
            i = order[s]
            begin, end = indptr[i], indptr[i + np.uint32(1)]
            if n_classes == 1:  # without a loop over classes it takes half the time
                total = b * intercept[0]
                for p in range(begin, end):
                    total += data[p] * weights[indices[p], 0]
                score[0] = total
            else:
                for k in range(n_classes):
                    score[k] = b * intercept[k]
                for p in range(begin, end):
                    value = data[p]
                    w = weights[indices[p]]
                    for k in range(n_classes):
                        score[k] += value * w[k]
            k_own = own[i]
            # The squared loss adds to the length of a row, the other one bounds its variables.
            upper_own, upper_other = cost[i, 1], cost[i, 0]
            ridge_own = ridge_other = zero
            if squared:
                ridge_own, ridge_other = half / upper_own, half / upper_other
                upper_own = upper_other = far
            step_own, step_other = one / (squares[i] + ridge_own), one / (squares[i] + ridge_other)
            a = alpha[i]
            moved = kept = zero
            for k in range(n_classes):
                is_own = k == k_own
                sign = one if is_own else -one
                bound = upper_own if is_own else upper_other
                old = a[k]
                gradient = score[k] * sign - one + old * (ridge_own if is_own else ridge_other)
                at_zero, at_bound = old == zero, old >= bound
                settled = (at_zero and gradient > above[k]) or (at_bound and gradient < below[k])
                projected = gradient * live[k]
                if (at_zero and gradient > zero) or (at_bound and gradient < zero):
                    projected = zero
                new = old - gradient * (step_own if is_own else step_other)
                new = min(max(new, zero), bound)
                if projected == zero:
                    new = old
                a[k] = new
                change[k] = (new - old) * sign
                moved += abs(change[k])
                kept += zero if settled else live[k]
                largest[k] = max(largest[k], projected)
                smallest[k] = min(smallest[k], projected)
            if kept == zero:  # look at it again when all that are left are done
                n_active -= np.uint64(1)
                order[s], order[n_active] = order[n_active], order[s]
                continue
            if moved != zero:
                if n_classes == 1:
                    by = change[0]
                    for p in range(begin, end):
                        weights[indices[p], 0] += data[p] * by
                else:
                    for p in range(begin, end):
                        value = data[p]
                        w = weights[indices[p]]
                        for k in range(n_classes):
                            w[k] += value * change[k]
                for k in range(n_classes):
                    intercept[k] += b * change[k]
            s += np.uint64(1)
        n_live, n_quiet = _finish_pass(
            n_passes, sees_all, tol, far, largest, smallest, above, below, live, quiet, n_iter
        )
        if n_live == 0:
            break
        sees_all = n_live == n_quiet
        if sees_all:
            n_active = n_rows
            quiet[:] = False
            above[:] = far
            below[:] = -far


def _shuffle(order: IntArray, n: Any, state: IntArray) -> None:
    """Shuffle the first entries: Fisher and Yates, with Marsaglia's generator xorshift64."""
    x = state[0]
    for i in range(n):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = np.uint64(i) + ((x >> np.uint64(32)) * (n - np.uint64(i)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    state[0] = x


def _finish_pass(
    n_passes: int,
    sees_all: bool,
    tol: float,
    far: Any,
    largest: AnyArray,
    smallest: AnyArray,
    above: AnyArray,
    below: AnyArray,
    live: AnyArray,
    quiet: AnyArray,
    n_iter: IntArray,
) -> tuple[int, int]:
    """Note which classes are done, or are on the rows that were not shrunk, and count both."""
    n_live = n_quiet = 0
    for k in range(len(live)):
        if not live[k]:
            continue
        if largest[k] - smallest[k] <= tol:
            if sees_all:
                live[k] = 0
                n_iter[k] = n_passes
                continue
            quiet[k] = True
        n_live += 1
        n_quiet += quiet[k]
        above[k] = largest[k] if largest[k] > 0 else far
        below[k] = smallest[k] if smallest[k] < 0 else -far
    return n_live, n_quiet
