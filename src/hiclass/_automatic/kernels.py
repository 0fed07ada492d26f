"""Scale and width of kernel machines, chosen on some of the training rows.

Trying a few values on about two thousand rows is cheap for tasks of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from hiclass._linear.kernel_ridge import (
    KernelRidgeClassifier,
    median_squared_distance,
    solve_similar,
)
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The values that are tried besides the defaults.
_OTHERS = {"width": (0.5, 2.0), "alpha": (0.1, 0.001)}
_MOST_FITTED, _MOST_HELD_OUT = 1_500, 750
#: If the spreads of columns differ by more than this factor, the columns have different units.
_MOST_RATIO = 3.0
#: A single column whose spread is this many times the usual one has another unit.
_FAR_OUT = 10.0
#: The approximate share of rows in which two models differ.
_DIFFERENT = 0.1


def make_scaler(X: FloatArray) -> StandardScaler | None:
    """A fitted scaler if the columns of dense rows have different scales.

    Columns of 0 and 1 have no unit: encoded categories next to scaled numbers are on the same
    scale.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)
    if not np.isfinite(spread).all():
        column = int(np.argmax(~np.isfinite(spread)))
        raise ValueError(
            f"Column {column} of X has numbers as large as {np.abs(X[:, column]).max():.3g}, whose "
            f"squares overflow. Divide the column by a power of ten."
        )
    spread = spread[(spread > 0) & ((X != 0) & (X != 1)).any(axis=0)]
    if not len(spread):
        return None
    low, high = np.percentile(spread, [10, 90])
    differ = high > _MOST_RATIO * low or spread.max() > _FAR_OUT * np.median(spread)
    return StandardScaler().set_output(transform="default").fit(X) if differ else None


def tune_kernel(
    X: FloatArray, nodes: IntArray, fold: IntArray, weights: AnyArray, seed: int
) -> dict[str, Any]:
    """Parameters of kernel machines, by the out-of-fold accuracy of final classes.

    Parameters
    ----------
    X : ndarray
        Dense rows on one scale.
    nodes : ndarray of int
        Their final classes.
    fold : ndarray of int
        Their folds; those of the first one are held out.
    weights : ndarray
        Their sample weights.
    seed : int
        For the choice of rows.

    Returns
    -------
    dict
        ``width``, ``alpha`` or both; empty where there is nothing to tell apart, or where nothing
        is better than the default by more than chance: what serves some of the rows best is often
        too smooth for all of them.
    """
    fitted, held_out = some_held_out(nodes, fold, weights, seed)
    if not len(held_out) or len(np.unique(nodes[fitted])) < 2:
        return {}

    share = _make_share(
        (X[fitted], X[held_out]),
        (nodes[fitted], nodes[held_out]),
        (weights[fitted], weights[held_out]),
        seed,
    )

    params: dict[str, Any] = {}
    best = share(params) + by_chance(len(held_out))
    for name, values in _OTHERS.items():  # one after the other
        for value in values:
            tried = params | {name: value}
            if (found := share(tried)) > best + 1e-9:
                best, params = found, tried
    return params


def _make_share(
    X: tuple[FloatArray, FloatArray],
    nodes: tuple[IntArray, IntArray],
    weights: tuple[AnyArray, AnyArray],
    seed: int,
) -> Callable[[dict[str, Any]], float]:
    """The share of rows held out that a kernel machine has right, as a function of its parameters.

    Of fitted rows and of rows held out. Their distances, which all machines share, are computed
    once.
    """
    classes, target = np.unique(nodes[0], return_inverse=True)
    # In double precision, as KernelRidgeClassifier computes: similar rows need it.
    centre = X[0].mean(axis=0, dtype=np.float64)
    fitted, held_out = X[0] - centre, X[1] - centre
    among = euclidean_distances(fitted, squared=True)
    between = euclidean_distances(held_out, fitted, squared=True)
    usual = median_squared_distance(fitted, weights[0], check_random_state(seed))
    shares = np.bincount(target, weights[0]) / weights[0].sum()
    # KernelRidgeClassifier has twice these scores, less one.
    goal = np.eye(len(classes))[target] - shares
    default = KernelRidgeClassifier()

    def share(params: dict[str, Any]) -> float:
        width, alpha = (params.get(name, getattr(default, name)) for name in ("width", "alpha"))
        gamma = 1 / (width**2 * usual)
        coef = solve_similar(np.exp(-gamma * among), goal, weights[0], alpha)
        scores = np.exp(-gamma * between) @ coef + shares
        right = classes[scores.argmax(axis=1)] == nodes[1]
        return float(np.average(right, weights=weights[1]))

    return share


def by_chance(n_rows: float) -> float:
    """By how much one of two models may seem better by chance: a standard error.

    For two models that differ in one row of ten.
    """
    return float(np.sqrt(_DIFFERENT / n_rows))


def some_held_out(
    nodes: IntArray, fold: IntArray, weights: AnyArray, seed: int
) -> tuple[IntArray, IntArray]:
    """Some rows to fit, and some held-out rows of the first fold, of the same classes."""
    rng = np.random.default_rng(seed)
    fitted = _some(np.flatnonzero((fold != 0) & (weights > 0)), _MOST_FITTED, rng)
    known = np.flatnonzero((fold == 0) & (weights > 0) & np.isin(nodes, nodes[fitted]))
    return fitted, _some(known, _MOST_HELD_OUT, rng)


def _some(rows: IntArray, most: int, rng: Any) -> IntArray:
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows
