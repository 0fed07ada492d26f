"""The parameters of the default forest of a global model, chosen by its rows and its target.

The forest is made of extra trees, without a bootstrap: its trees differ because every split tries
one random threshold per feature, and takes the best of these. That fails where the threshold has no
effect. A feature of two values can be split in one way only, so that all trees that look at all
features would choose the same splits, but for ties; and where most rows have the same value, as in
counts of words, nearly all thresholds lead to nearly the same split. There, a split must look at
some of the features only, drawn at random, which is ``max_features="sqrt"``. Where thresholds do
vary, looking at all features is better: the trees are strong, and different all the same.

What tells the two apart is how often two rows have the same value (:func:`same_value`). It depends
neither on the scale of the features nor on the shape of their distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._rows import n_rows_of, take_rows
from hiclass._typing import AnyArray

#: The parameters that are chosen.
FOREST_PARAMS = ("max_features", "max_leaf_nodes", "min_samples_leaf")
#: What the trees may hold together. A tree keeps one number of eight bytes per node of its own and
#: class.
_MOST_BYTES = 2e9
#: From this probability on that two rows have the same value, a split looks at some features only.
#: Features of two values have at least 0.5, of three equally frequent ones 0.33, of four 0.25.
_OFTEN_THE_SAME = 0.3
#: So many rows and columns are enough to find out; more are drawn from.
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
    # A tree has two nodes per leaf, and each holds a number per column.
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

    Features that are the same in all rows do not count, as no tree splits on them. Missing values
    are equal to each other. Of very many rows or features, some are drawn, always the same ones.

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
