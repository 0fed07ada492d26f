"""Scale and width of kernel machines: found out on some of the training rows.

A grid of a few values on some two thousand rows costs little, whatever the size of the task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from hiclass._linear.kernel_ridge import KernelRidgeClassifier
from hiclass._typing import AnyArray, FloatArray, IntArray

_WIDTHS = (0.5, 1.0, 2.0)
_ALPHAS = (0.1, 0.01, 0.001)
_MOST_FITTED, _MOST_HELD_OUT = 1_500, 750
#: Columns whose spreads differ by more than this are in units of their own.
_MOST_RATIO = 3.0
#: A single column whose spread is larger than this many usual ones is in another unit.
_FAR_OUT = 10.0


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
        ``width`` and ``alpha``; empty where there is nothing to tell apart.
    """
    fitted, held_out = some_held_out(nodes, fold, weights, seed)
    if not len(held_out) or len(np.unique(nodes[fitted])) < 2:
        return {}
    best, params = -1.0, {}
    # Equal ones: the value in the middle.
    for width in sorted(_WIDTHS, key=lambda value: abs(np.log(value))):
        for alpha in sorted(_ALPHAS, key=lambda value: abs(np.log(value / 0.01))):
            model = KernelRidgeClassifier(width=width, alpha=alpha, random_state=seed)
            model.fit(X[fitted], nodes[fitted], weights[fitted])
            right = model.predict(X[held_out]) == nodes[held_out]
            share = float(np.average(right, weights=weights[held_out]))
            if share > best + 1e-9:
                best, params = share, {"width": width, "alpha": alpha}
    return params


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
