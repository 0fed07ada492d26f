"""Predictions that are computed once: the probabilities of held-out rows, as a model.

Temperatures, weights, scores and the F-score are all learned from the same predictions, which take
most of the time. Rows are represented by their numbers here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hiclass._inference.paths import direct_final_proba, final_proba, width_of
from hiclass._rows import chunks_of_rows, slice_rows, take_rows
from hiclass._state import Options
from hiclass._typing import FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: The largest number of probabilities of one model that are kept.
_MOST_NUMBERS = 20_000_000


@dataclass(frozen=True)
class KnownModels:
    """Probabilities of the final classes of some rows, in place of the model that computed them.

    Attributes
    ----------
    hierarchy : Hierarchy
        The tree.
    options : Options
        The branches of every node.
    rows : ndarray of int
        The numbers of the rows, in ascending order.
    final : ndarray of shape (n_rows, n_final)
        Their probabilities.
    """

    hierarchy: Hierarchy
    options: Options
    rows: IntArray
    final: FloatArray

    of_sets = False
    temperature = None
    is_direct = has_proba = True


@direct_final_proba.register
def _of_known_models(models: KnownModels, X: Any) -> FloatArray:
    return np.asarray(models.final[np.searchsorted(models.rows, X[:, 0])])


def can_be_known(models: Any, n_rows: int) -> bool:
    """Whether a model has probabilities, and few enough of them to keep."""
    return bool(models.has_proba) and n_rows * len(models.options.ends) <= _MOST_NUMBERS


def know(models: Any, X: Any, rows: IntArray) -> KnownModels:
    """Query a model once about some rows, in ascending order."""
    some = take_rows(X, rows)
    # There are two arrays of probabilities at a time: those of nodes and those of final classes.
    width = 2 * max(width_of(models), models.hierarchy.n_nodes)
    parts = [final_proba(models, slice_rows(some, part)) for part in chunks_of_rows(some, width)]
    return KnownModels(models.hierarchy, models.options, rows, np.concatenate(parts))


def row_numbers(n_rows: int) -> IntArray:
    """The substitute for X if rows are represented by their numbers."""
    return np.arange(n_rows)[:, None]
