"""Columns of codes that differ in every row: whether their parts separate classes.

Such a column is an id, or its first or last letters carry information, as the tail number of an
aircraft does about its owner. The cells alone do not show this, and ids would cost any model
several points, so it is tested on some of the training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from hiclass._automatic.kernels import by_chance, some_held_out
from hiclass._automatic.kinds import is_code
from hiclass._typing import AnyArray, FloatArray, IntArray

_N_TREES = 50


def find_codes(left_out: dict[Any, str]) -> list[Any]:
    """The columns that were excluded because their codes are different in every row."""
    return [name for name, reason in left_out.items() if is_code(reason)]


def are_useful(
    without: FloatArray,
    with_codes: FloatArray,
    nodes: IntArray,
    fold: IntArray,
    weights: AnyArray,
    seed: int,
) -> bool:
    """Whether a forest is significantly better with features of codes.

    Parameters
    ----------
    without, with_codes : ndarray of shape (n_rows, n_features)
        The features of the same rows.
    nodes : ndarray of int
        Their final classes.
    fold : ndarray of int
        Their folds; some rows of the first one are held out.
    weights : ndarray
        Their sample weights.
    seed : int
        For the choice of rows, and for the forests.

    Returns
    -------
    bool
    """
    fitted, held_out = some_held_out(nodes, fold, weights, seed)
    if not len(held_out):
        return False
    shares = []
    for X in (without, with_codes):
        # The square root of the number of columns at every split: sufficient for a decision, and
        # codes have many.
        forest = ExtraTreesClassifier(_N_TREES, min_samples_leaf=2, random_state=seed)
        forest.fit(X[fitted], nodes[fitted], weights[fitted])
        right = forest.predict(X[held_out]) == nodes[held_out]
        shares.append(float(np.average(right, weights=weights[held_out])))
    return shares[1] > shares[0] + by_chance(len(held_out))
