"""The weights of similarities between rows and classes, learned from held-out rows.

No encoder is fitted again: a row is compared with the class texts and with the rows of the other
folds. Some classes are held out completely, to learn the weights of classes without rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hiclass._inference.class_texts import (
    FEATURE,
    N_SIMILARITIES,
    SAME,
    STRENGTH,
    Profiles,
    factors_of,
)
from hiclass._inference.mixing import class_weights
from hiclass._out_of_fold.folds import N_FOLDS
from hiclass._out_of_fold.mixtures import Held, hold, learn_mixture, unseen_weight, weigh_same
from hiclass._out_of_fold.temperatures import mean_one
from hiclass._state import TextModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Similarities are learned from about so many numbers, and from so many rows at least and at most.
_MOST_NUMBERS, _FEWEST_ROWS, _MOST_ROWS = 1_000_000, 96, 2000


def learn_similarities(
    models: TextModels, nodes: IntArray, fold: IntArray, weights: AnyArray, start: FloatArray
) -> TextModels:
    """Learn the weights of similarities, and return the model with them.

    Parameters
    ----------
    models : TextModels
        The model with all rows, and no weights yet.
    nodes : ndarray of int
        The most specific node of every row, as ordered in the model.
    fold : ndarray of int
        The fold of every row. All rows of some classes are in one fold.
    weights : ndarray
        Weights of the rows.
    start : ndarray
        The default parameters.

    Returns
    -------
    TextModels
        The model with weights.
    """
    models, weights = replace(models, parameters=start), mean_one(weights)
    parts = _without_rows(models, nodes, weights)
    for k in range(N_FOLDS):
        parts += _held_out(models, nodes, fold, weights, k)
    parameters = learn_mixture(parts, FEATURE, start, STRENGTH)
    return with_parameters(models, parameters, weigh_same(parts, parameters))


def with_parameters(models: TextModels, parameters: FloatArray, same: float = 0.0) -> TextModels:
    """The model with the weights that follow from parameters, and the bonus of equal texts."""
    weights, bias = class_weights(parameters, text_factors(models), FEATURE, N_SIMILARITIES)
    return replace(models, parameters=parameters, weights=weights, bias=bias, same=same)


def text_factors(models: TextModels) -> FloatArray:
    """The factor of every parameter, for each final class of a model."""
    ends, n_nodes = models.options.ends, models.hierarchy.n_nodes
    n_rows = np.bincount(models.row_nodes, minlength=n_nodes)[ends]
    return factors_of(n_rows, np.bincount(models.text_nodes, minlength=n_nodes)[ends])


def _without_rows(models: TextModels, nodes: IntArray, weights: AnyArray) -> list[Held]:
    """The similarities of some rows to texts alone, as if no class had rows."""
    out = np.flatnonzero(np.isin(nodes, models.text_nodes) & (weights > 0))
    without = replace(models, rows=models.rows[:0], row_nodes=models.row_nodes[:0])
    return _similarities(without, models, nodes, _some(out, models), weights)


def _held_out(
    models: TextModels, nodes: IntArray, fold: IntArray, weights: AnyArray, k: int
) -> list[Held]:
    """The similarities of some rows of a fold to the texts and the rows of the other folds."""
    out = np.flatnonzero((fold == k) & (weights > 0))
    rest = np.flatnonzero(fold != k)
    without = replace(models, rows=models.rows[rest], row_nodes=models.row_nodes[rest])
    has_rows = np.isin(nodes[out], nodes[rest])
    seen, unseen = out[has_rows], out[~has_rows & np.isin(nodes[out], models.text_nodes)]
    seen, unseen = _some(seen, models), _some(unseen, models)
    weight = unseen_weight(len(seen), len(unseen))
    unseen = unseen if weight else unseen[:0]
    return _similarities(without, models, nodes, seen, weights) + _similarities(
        without, models, nodes, unseen, weights * weight
    )


def _some(rows: IntArray, models: TextModels) -> IntArray:
    """Some rows, evenly from all classes: they are ordered by class."""
    wanted = int(np.clip(_MOST_NUMBERS // len(models.options.ends), _FEWEST_ROWS, _MOST_ROWS))
    n_rows = min(wanted // N_FOLDS, len(rows))
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]


def _similarities(
    without: TextModels, models: TextModels, nodes: IntArray, rows: IntArray, weights: AnyArray
) -> list[Held]:
    """The similarities of some rows to classes of a model without them."""
    profiles, factors = Profiles(without), text_factors(without)
    right = np.searchsorted(models.options.ends, nodes[rows])
    found = []
    for part in profiles.chunks(rows):
        features = profiles.similarities(models.rows[rows[part]])
        some = right[part], weights[rows[part]], features[0] >= SAME
        found.append(hold(features, factors, FEATURE, models.parameters, *some))
    return found
