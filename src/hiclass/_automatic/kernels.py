"""Scale and width of kernel machines: found out on some of the training rows.

A few values on some two thousand rows costs little, whatever the size of the task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from hiclass._linear.kernel_ridge import KernelRidgeClassifier
from hiclass._typing import AnyArray, FloatArray, IntArray

#: What is tried beside the defaults.
_OTHERS = {"width": (0.5, 2.0), "alpha": (0.1, 0.001)}
_MOST_FITTED, _MOST_HELD_OUT = 1_500, 750
#: Columns whose spreads differ by more than this are in units of their own.
_MOST_RATIO = 3.0
#: A single column whose spread is larger than this many usual ones is in another unit.
_FAR_OUT = 10.0
#: The share of rows in which two models differ, about.
_DIFFERENT = 0.1


def make_scaler(X: FloatArray) -> StandardScaler | None:
    """A fitted scaler where the columns of dense rows are not on one scale.

    Columns of 0 and 1 have no unit: categories that were encoded, beside numbers that were scaled,
    are on one scale with them.
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
    return StandardScaler().fit(X) if differ else None


def tune_kernel(
    X: FloatArray, nodes: IntArray, fold: IntArray, weights: AnyArray, seed: int
) -> dict[str, Any]:
    """Parameters of kernel machines, by the share of final classes that are right out of fold.

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

    def share(params: dict[str, Any]) -> float:
        model = KernelRidgeClassifier(**params, random_state=seed)
        model.fit(X[fitted], nodes[fitted], weights[fitted])
        right = model.predict(X[held_out]) == nodes[held_out]
        return float(np.average(right, weights=weights[held_out]))

    params: dict[str, Any] = {}
    best = share(params) + by_chance(len(held_out))
    for name, values in _OTHERS.items():  # one after the other
        for value in values:
            tried = params | {name: value}
            if (found := share(tried)) > best + 1e-9:
                best, params = found, tried
    return params


def by_chance(n_rows: float) -> float:
    """By how much one of two models may seem better: by a standard error of the difference.

    That of two models that differ in one row of ten.
    """
    return float(np.sqrt(_DIFFERENT / n_rows))


def some_held_out(
    nodes: IntArray, fold: IntArray, weights: AnyArray, seed: int
) -> tuple[IntArray, IntArray]:
    """Some rows to fit, and some of the first fold that are held out, of the same classes."""
    rng = np.random.default_rng(seed)
    fitted = _some(np.flatnonzero((fold != 0) & (weights > 0)), _MOST_FITTED, rng)
    known = np.flatnonzero((fold == 0) & (weights > 0) & np.isin(nodes, nodes[fitted]))
    return fitted, _some(known, _MOST_HELD_OUT, rng)


def _some(rows: IntArray, most: int, rng: Any) -> IntArray:
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows
