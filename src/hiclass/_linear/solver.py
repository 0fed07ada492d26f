"""Linear support vector machines as problems of the solver: from arrays to weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hiclass._linear.kernel import BLOCK
from hiclass._typing import AnyArray, IntArray


class Problem(NamedTuple):
    """The parameters of a problem, besides the rows and their classes.

    Attributes
    ----------
    squared : bool
        Whether the hinge loss is squared.
    cost : float
        The weight of the loss.
    tol : float
        A class is done if the projected gradients of all rows differ by at most this.
    bias : float
        The value of an additional column for the intercept; 0 for none.
    max_iter : int
        The maximum number of passes over the rows.
    """

    squared: bool
    cost: float
    tol: float
    bias: float
    max_iter: int


class Solution(NamedTuple):
    """The solution of one problem.

    Attributes
    ----------
    columns : ndarray of int32 or None
        The columns that occur in its rows, in ascending order, at least one; None for all columns.
    weights : ndarray of shape (k, n_columns), or (1, n_columns) for two classes
        In Fortran order.
    intercept : ndarray of shape (k,) or (1,)
        The weights of the additional column.
    n_iter : ndarray of int
        The number of passes over the rows until a class was done; 0 if it is not.
    """

    columns: IntArray | None
    weights: AnyArray
    intercept: AnyArray
    n_iter: IntArray


def train(
    solve: Callable[..., Any],
    X: Any,
    problems: Sequence[Problem],
    seeds: Sequence[int],
    rows: Sequence[IntArray],
    target: IntArray,
    n_classes: IntArray,
    class_weight: AnyArray | None = None,
    sample_weight: AnyArray | None = None,
    *,
    dtype: Any,
    most_columns: int = -1,
) -> list[Solution]:
    """Separate every class of each problem from all others; of two classes, the second.

    Parameters
    ----------
    solve : callable
        ``solve_problems`` of the kernel, compiled or not.
    X : CSR matrix without duplicate entries
        The rows of all problems.
    problems : sequence of Problem
        The problems.
    seeds : sequence of int
        For the order in which rows are visited, for each problem.
    rows : sequence of ndarray of int
        The numbers of its rows.
    target : ndarray of int
        The class of each row, out of 0..k-1, all of which occur; those of all problems in a row.
    n_classes : ndarray of int
        The number of classes of each problem.
    class_weight : ndarray or None
        Factors of the cost of the rows of each class, where it is told from the others; those of
        all problems in a row.
    sample_weight : ndarray or None
        Factors of the cost of rows, above 0; those of all problems in a row.
    dtype : type
        In which precision to calculate; see :func:`precision`.
    most_columns : int, default=-1
        A problem whose rows have more columns than this has weights for all columns.

    Returns
    -------
    list of Solution
    """
    n_out = np.where(n_classes == 2, 1, n_classes)
    if class_weight is None:
        class_weight = np.ones(n_classes.sum())
    if sample_weight is None:
        sample_weight = np.ones(len(target))
    row = np.concatenate(rows)
    n_blocks = (-(-n_out // BLOCK)).tolist()
    columns, n_columns, weights, intercept, n_iter = solve(
        # For read-only arrays, as of other processes, the code would be compiled again.
        np.require(X.data, requirements="W"),
        np.require(X.indices, np.int32, "W"),
        X.shape[1],
        X.indptr[row].astype(np.int64),
        X.indptr[row + 1].astype(np.int64),
        np.cumsum([len(part) for part in rows]),
        target.astype(np.int64, copy=False),
        sample_weight,
        n_classes,
        class_weight,
        np.array(problems, dtype=np.float64),
        np.array([_state(s, b) for s, n in zip(seeds, n_blocks, strict=True) for b in range(n)]),
        most_columns,
        np.empty(0, dtype),
    )
    found = []
    n_before = n_weights = first = 0
    for n, k in zip(n_columns.tolist(), n_out.tolist(), strict=True):
        some = None
        if n < X.shape[1]:
            some = columns[n_before : n_before + n]
            n_before += n
        own = weights[n_weights : n_weights + n * k].reshape(n, k).T
        n_weights += n * k
        part = slice(first, first + k)
        first += k
        found.append(Solution(some, own, intercept[part], n_iter[part]))
    return found


def precision(tol: float, largest: float) -> Any:
    """Single precision if gradients are exact enough for the tolerance, otherwise double.

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


def _state(seed: int, block: int) -> Any:
    """The initial state of the generator of a block: a step of splitmix64."""
    z = (seed + (block + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return np.uint64(z ^ (z >> 31) or 1)
