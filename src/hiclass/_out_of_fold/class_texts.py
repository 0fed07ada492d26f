"""What similarities of rows and classes are worth: learned from rows that are held out.

Nothing is fitted anew: a row is compared with the texts, and with the rows of the other folds. Some
classes are held out as a whole, so that it is also learned what words are worth without rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hiclass._inference.class_texts import (
    DEFAULTS,
    FEATURE,
    N_SIMILARITIES,
    Profiles,
    factors_of,
)
from hiclass._inference.mixing import class_weights
from hiclass._out_of_fold.folds import N_FOLDS
from hiclass._out_of_fold.mixtures import Held, learn_mixture, limited_share
from hiclass._state import TextModels
from hiclass._typing import AnyArray, FloatArray, IntArray

#: Similarities are learned from about so many numbers, and from so many rows at least and at most.
_MOST_NUMBERS, _FEWEST_ROWS, _MOST_ROWS = 1_000_000, 96, 2000
#: By how many rows what is learned is drawn to what serves without rows.
_STRENGTH = 10.0


def learn_similarities(
    models: TextModels, nodes: IntArray, fold: IntArray, weights: AnyArray
) -> TextModels:
    """Learn what similarities are worth, and give the model these weights.

    Parameters
    ----------
    models : TextModels
        The model with all rows, and no weights yet.
    nodes : ndarray of int
        The most specific node of every row, as ordered in the model.
    fold : ndarray of int
        The fold of every row; some classes are in one fold as a whole.
    weights : ndarray
        Weights of the rows.

    Returns
    -------
    TextModels
        The model with weights.
    """
    parts = [_without_rows(models, nodes, weights)]
    for k in range(N_FOLDS):
        parts += _held_out(models, nodes, fold, weights, k)
    parts = [part for part in parts if len(part.right)]
    return with_parameters(models, learn_mixture(parts, FEATURE, DEFAULTS, _STRENGTH))


def with_parameters(models: TextModels, parameters: FloatArray) -> TextModels:
    """The model with the weights that follow from parameters."""
    weights, bias = class_weights(parameters, _factors(models), FEATURE, N_SIMILARITIES)
    return replace(models, parameters=parameters, weights=weights, bias=bias)


def _factors(models: TextModels) -> FloatArray:
    ends, n_nodes = models.options.ends, models.hierarchy.n_nodes
    n_rows = np.bincount(models.row_nodes, minlength=n_nodes)[ends]
    return factors_of(n_rows, np.bincount(models.text_nodes, minlength=n_nodes)[ends])


def _without_rows(models: TextModels, nodes: IntArray, weights: AnyArray) -> Held:
    """The similarities of some rows to texts alone, as if no class had rows."""
    out = np.flatnonzero(np.isin(nodes, models.text_nodes) & (weights > 0))
    without = replace(models, rows=models.rows[:0], row_nodes=models.row_nodes[:0])
    return _similarities(without, models, nodes, _some(out, models), weights)


def _held_out(
    models: TextModels, nodes: IntArray, fold: IntArray, weights: AnyArray, k: int
) -> list[Held]:
    """The similarities of some rows of a fold to all else: of classes with rows, and without."""
    out = np.flatnonzero((fold == k) & (weights > 0))
    rest = np.flatnonzero(fold != k)
    without = replace(models, rows=models.rows[rest], row_nodes=models.row_nodes[rest])
    has_rows = np.isin(nodes[out], nodes[rest])
    seen, unseen = out[has_rows], out[~has_rows & np.isin(nodes[out], models.text_nodes)]
    seen, unseen = _some(seen, models), _some(unseen, models)
    share = limited_share(len(seen), len(unseen))
    return [
        _similarities(without, models, nodes, seen, weights),
        _similarities(without, models, nodes, unseen if share else unseen[:0], weights * share),
    ]


def _some(rows: IntArray, models: TextModels) -> IntArray:
    """Some rows, evenly from all classes: they are ordered by class."""
    wanted = int(np.clip(_MOST_NUMBERS // len(models.options.ends), _FEWEST_ROWS, _MOST_ROWS))
    n_rows = min(wanted // N_FOLDS, len(rows))
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]


def _similarities(
    without: TextModels, models: TextModels, nodes: IntArray, rows: IntArray, weights: AnyArray
) -> Held:
    """The similarities of some rows to classes of a model without them."""
    profiles, vectors = Profiles(without), models.rows[rows]
    found = [profiles.similarities(vectors[part]) for part in profiles.chunks(vectors)]
    right = np.searchsorted(models.options.ends, nodes[rows])
    features = np.concatenate(found, axis=1) if found else np.empty((N_SIMILARITIES, 0, 0))
    return Held(features, _factors(without), right, weights[rows])
