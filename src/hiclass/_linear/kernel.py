"""The part of the solver that numba compiles, in one file because numba's cache depends on it.

Dual coordinate descent visits one row after the other (Hsieh, Chang, Lin, Keerthi and Sundararajan,
"A dual coordinate descent method for large-scale linear SVM", ICML 2008). One-vs-rest has one
problem per class, but all of them have the same rows. Here, one visit of a row updates all classes
of a block: weights are stored by column and then by class, so that an entry of the row is read
once, followed by arithmetic on a few contiguous numbers.

One call solves many problems on rows of the same matrix, because a small problem takes less time
than the NumPy calls that would prepare it: rows are copied and their columns numbered here, too.
The random generator belongs to the call, so threads do not matter.

Functions are plain Python, which tests also run without numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: The largest number of classes solved at once: more take memory and gain little. It must not
#: depend on threads, because the result depends on it.
BLOCK = 64
#: Larger than any gradient or bound.
_FAR = 1e30
#: The optimisations that the compiler may use: the same in every call, and exact for finite
#: numbers.
_ARITHMETIC = {"contract", "reassoc", "nsz", "arcp"}


@lru_cache(maxsize=1)
def compiled() -> Callable[..., Any] | None:
    """:func:`solve_problems`, compiled, or None if numba is not installed.

    It releases the lock of the interpreter. The machine code is stored in numba's cache on disk. If
    its folder is not writable, every process compiles again.
    """
    try:
        from numba import njit
        from numba.extending import register_jitable
    except ImportError:  # not installed, or not for this version of NumPy
        return None
    options = {"fastmath": _ARITHMETIC, "error_model": "numpy"}
    for part in (_narrow, solve_block, _shuffle, _finish_pass):
        register_jitable(**options)(part)
    try:
        solve: Callable[..., Any] = njit(solve_problems, cache=True, nogil=True, **options)
    except RuntimeError:  # no writable folder
        solve = njit(solve_problems, nogil=True, **options)
    return solve


def solve_problems(
    data: AnyArray,
    indices: IntArray,
    n_features: int,
    starts: IntArray,
    stops: IntArray,
    row_ends: IntArray,
    target: IntArray,
    sample_weight: AnyArray,
    n_classes: IntArray,
    class_weight: AnyArray,
    settings: AnyArray,
    states: IntArray,
    most_columns: int,
    like: AnyArray,
) -> tuple[IntArray, IntArray, AnyArray, AnyArray, IntArray]:
    """Solve problems on rows of one matrix.

    Parameters
    ----------
    data, indices, n_features
        The matrix.
    starts, stops : ndarray of int64
        Where the entries of rows begin and end, for the rows of one problem after the other.
    row_ends : ndarray of int64 of shape (n_problems,)
        How many rows there are up to the end of each problem.
    target, sample_weight : ndarray of the shape of starts
        The class of each row, and a factor of its cost.
    n_classes : ndarray of int64 of shape (n_problems,)
        The number of classes of each problem.
    class_weight : ndarray
        Factors of the cost for the classes of all problems.
    settings : ndarray of shape (n_problems, 5)
        A :class:`Problem` in each row.
    states : ndarray of uint64
        Where the generators of all blocks begin.
    most_columns : int
        A problem whose rows have more columns than this has weights for all columns.
    like : ndarray
        Of the type of the result.

    Returns
    -------
    columns : ndarray of int32
        The columns of those problems that have weights for some of them.
    n_columns : ndarray of int64
        How many columns each problem has weights for.
    weights : ndarray
        By problem, column and class.
    intercept : ndarray
        By problem and class.
    n_iter : ndarray of int64
        By problem and class: passes until it was done, 0 if it is not.
    """
    number = like.dtype.type
    n_problems = len(row_ends)
    values, places, begins, squares, columns, n_columns = _narrow(
        data, indices, n_features, starts, stops, row_ends, most_columns, like
    )
    n_weights = n_outs = 0
    for p in range(n_problems):
        n_out = 1 if n_classes[p] == 2 else n_classes[p]
        n_outs += n_out
        n_weights += n_out * n_columns[p]
    weights = np.empty(n_weights, like.dtype)
    intercept = np.empty(n_outs, like.dtype)
    n_iter = np.zeros(n_outs, np.int64)
    least = 1 / _FAR
    first_row = first_class = first_out = first_weight = block = 0
    for p in range(n_problems):
        n_rows, k = row_ends[p] - first_row, n_classes[p]
        n_out = 1 if k == 2 else k
        bias = settings[p, 3]
        length = np.empty(n_rows, like.dtype)
        cost = np.empty((n_rows, 2), like.dtype)
        own = np.empty(n_rows, np.int64)
        order = np.empty(n_rows, np.uint32)
        for i in range(n_rows):
            r = first_row + i
            length[i] = number(max(squares[r] + bias * bias, least))
            per_row = settings[p, 1] * sample_weight[r]
            others = class_weight[first_class] if n_out == 1 else 1.0
            cost[i, 0] = number(max(per_row * others, least))
            cost[i, 1] = number(max(per_row * class_weight[first_class + target[r]], least))
        for first in range(0, n_out, BLOCK):
            n_here = min(BLOCK, n_out - first)
            # Processors handle eight numbers at once.
            width = n_here if n_here <= 3 else (n_here + 7) // 8 * 8
            for i in range(n_rows):
                order[i] = i
                # Of two classes, the second is positive.
                own[i] = target[first_row + i] - (first if n_out > 1 else 1)
            found = np.zeros((n_columns[p], width), like.dtype)
            biases = np.zeros(width, like.dtype)
            solve_block(
                values,
                places,
                begins[first_row : first_row + n_rows + 1],
                length,
                cost,
                order,
                own,
                settings[p, 0] != 0,
                bias,
                settings[p, 2],
                int(settings[p, 4]),
                states[block : block + 1],
                found,
                biases,
                n_iter[first_out + first : first_out + first + n_here],
            )
            block += 1
            for c in range(n_columns[p]):
                at = first_weight + c * n_out + first
                for j in range(n_here):
                    weights[at + j] = found[c, j]
            for j in range(n_here):
                intercept[first_out + first + j] = biases[j]
        first_row += n_rows
        first_class += k
        first_out += n_out
        first_weight += n_columns[p] * n_out
    return columns, n_columns, weights, intercept, n_iter


def _narrow(
    data: AnyArray,
    indices: IntArray,
    n_features: int,
    starts: IntArray,
    stops: IntArray,
    row_ends: IntArray,
    most_columns: int,
    like: AnyArray,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray, AnyArray]:
    """Copy the rows of problems, and number the columns that occur in each problem.

    Returns
    -------
    values, places, begins : ndarray
        The rows of all problems as a CSR matrix, with numbers for columns.
    squares : ndarray of float64
        The squared length of each row.
    columns, n_columns : ndarray
        As :func:`solve_problems` returns them.
    """
    n_entries = 0
    squares = np.empty(len(starts), np.float64)
    for r in range(len(starts)):
        n_entries += stops[r] - starts[r]
        # Not where rows are copied: there, the compiler may use two orders of summation.
        total = 0.0
        for e in range(starts[r], stops[r]):
            total += np.float64(data[e]) * np.float64(data[e])
        squares[r] = total
    values = np.empty(n_entries, like.dtype)
    places = np.empty(n_entries, np.uint32)
    begins = np.zeros(len(starts) + 1, np.uint64)
    columns = np.empty(n_entries + len(row_ends), np.int32)
    n_columns = np.empty(len(row_ends), np.int64)
    # The number of a column plus one, or 0; and whether any of 64 columns occurs.
    number_of = np.zeros(n_features, np.int32)
    touched = np.zeros(n_features // 64 + 1, np.uint8)
    first_row = n_found = n_copied = 0
    for p in range(len(row_ends)):
        for r in range(first_row, row_ends[p]):
            for e in range(starts[r], stops[r]):
                number_of[indices[e]] = 1
                touched[indices[e] // 64] = 1
        n_own = 0
        for part in range(len(touched)):
            if touched[part]:
                touched[part] = 0
                for c in range(64 * part, min(64 * part + 64, n_features)):
                    if number_of[c]:
                        columns[n_found + n_own] = c
                        n_own += 1
                        number_of[c] = n_own
        if n_own == 0:  # estimators reject a matrix without columns
            columns[n_found] = 0
            n_own = 1
        all_columns = n_own > most_columns
        for r in range(first_row, row_ends[p]):
            for e in range(starts[r], stops[r]):
                c = indices[e]
                values[n_copied] = data[e]
                places[n_copied] = c if all_columns else number_of[c] - 1
                n_copied += 1
            begins[r + 1] = n_copied
        for k in range(n_found, n_found + n_own):
            number_of[columns[k]] = 0
        n_columns[p] = n_features if all_columns else n_own
        n_found += 0 if all_columns else n_own
        first_row = row_ends[p]
    return values, places, begins, squares, columns[:n_found], n_columns


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
    """Separate each class of a block from all others.

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
            if n_classes == 1:  # without a loop over classes, it takes half the time
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
            # The squared loss increases the length of a row; the other loss bounds its variables.
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
            if kept == zero:  # check it again when all remaining rows are done
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
    """Record and count classes that are done, on all rows or on those that were not shrunk."""
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
