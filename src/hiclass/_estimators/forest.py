"""The parameters of the default forest of a global model, chosen by its rows and its target.

The forest consists of extra trees without bootstrap. Its trees differ because every split tries one
random threshold per feature and uses the best of these. This fails if the threshold has no effect.
A feature with two values can be split in only one way, so all trees that consider all features
would choose the same splits, except for ties. And if most rows have the same value, as in word
counts, almost all thresholds give almost the same split. In these cases, a split must consider a
random subset of the features: ``max_features="sqrt"``. If thresholds do have an effect, considering
all features is better: the trees are strong and still different.

The two cases are distinguished by how often two rows have the same value (:func:`same_value`). This
depends neither on the scale of the features nor on the shape of their distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._rows import n_rows_of, take_rows
from hiclass._typing import AnyArray

#: The parameters that are chosen.
FOREST_PARAMS = ("max_features", "max_leaf_nodes", "min_samples_leaf")
#: The memory limit of all trees together, in bytes. A tree stores one number of eight bytes per
#: node and class.
_MOST_BYTES = 2e9
#: If two rows have the same value with at least this probability, a split considers a subset of the
#: features. Features with two values have at least 0.5, with three equally frequent values 0.33,
#: with four 0.25.
_OFTEN_THE_SAME = 0.3
#: The number of rows and columns that are used; more are sampled.
_MOST_ROWS, _MOST_COLUMNS = 1000, 1000


def forest_params(X: Any, target: AnyArray, n_trees: int, *, sets: bool) -> dict[str, Any]:
    """Choose the parameters of the default forest.

    Sets are noisy: a few rows of a leaf say more about the shares of classes than a single one.
    Single paths are told apart best by leaves that are pure.

    Parameters
    ----------
    X : rows
        Numbers, dense or sparse.
    target : ndarray
        The target of the forest.
    n_trees : int
        The number of trees.
    sets : bool
        Whether predictions are sets of classes.

    Returns
    -------
    dict
        The parameters ``FOREST_PARAMS``.
    """
    fewest_rows = 5 if sets else 1
    # A tree has two nodes per leaf, and each node stores one number per column.
    most = int(_MOST_BYTES / (16 * n_trees * (target.shape[1] if target.ndim == 2 else 1)))
    enough = most >= len(target) // fewest_rows
    return {
        "max_features": features_per_split(X),
        "max_leaf_nodes": None if enough else max(most, 2),
        "min_samples_leaf": fewest_rows,
    }


def features_per_split(X: Any) -> float | str:
    """Choose ``max_features`` of extra trees: "sqrt", or 1.0 for all features."""
    return "sqrt" if same_value(X) >= _OFTEN_THE_SAME else 1.0


def same_value(X: Any) -> float:
    """The probability that two rows have the same value, as the mean over features.

    Parameters
    ----------
    X : rows
        Numbers, dense or sparse.

    Returns
    -------
    float
        The mean over features, 0 if none varies.
    """
    sample = _sample(X)
    n_rows = len(sample)
    counts = [np.unique(column, return_counts=True)[1] for column in sample.T]
    found = [c @ (c - 1) / (n_rows * (n_rows - 1)) for c in counts if len(c) > 1]
    return float(np.mean(found)) if found else 0.0


def _sample(X: Any) -> AnyArray:
    """Some rows and columns as a dense array."""
    rng = np.random.default_rng(0)
    rows = _some(n_rows_of(X), _MOST_ROWS, rng)
    part: Any = take_rows(X, rows)
    sparse = sp.issparse(part)
    part = part.tocsc() if sparse else np.asarray(part, dtype=np.float32)
    part = part[:, _some(part.shape[1], _MOST_COLUMNS, rng)]
    return np.asarray(part.toarray() if sparse else part)


def _some(n: int, most: int, rng: np.random.Generator) -> AnyArray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
