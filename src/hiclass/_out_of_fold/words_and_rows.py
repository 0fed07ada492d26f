"""How much words count against rows: learned out of fold, by how many rows a class has.

In a product of models, some of which know the words of classes, the weight of each model depends on
how many rows the class and its siblings have. Some classes are held out as a whole, so that it is
known what the models can do for a class without rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hiclass._inference.mixing import BIAS, class_weights
from hiclass._inference.paths import final_proba, floored_logs
from hiclass._out_of_fold.mixtures import Held, learn_mixture, limited_share, sharpen
from hiclass._rows import take_rows
from hiclass._state import EnsembleModels
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: Weights are learned from about so many numbers of a fold and model, and so many rows at least.
_MOST_NUMBERS, _FEWEST_ROWS = 500_000, 96
#: By how many rows what is learned is drawn to what serves where nothing is.
_STRENGTH = 10.0
#: With so many rows, a class is half way from one without rows to one with many.
_FEW_ROWS = 4
#: The weight of a model, of classes with many rows, with few beside siblings with many, and with
#: few as all siblings: of a model that learns from rows, of one that knows words, and of one that
#: knows what words mean, by an encoder: it errs in other ways than the first two.
ROWS, WORDS, MEANINGS = (0.8, 0.6, 0.5), (0.3, 0.4, 0.4), (0.4, 0.6, 0.7)
#: What is added for classes without rows.
_UNSEEN = 0.5


def start_of(kinds: Sequence[tuple[float, ...]]) -> tuple[FloatArray, IntArray]:
    """What serves where nothing is learned, and the model that each parameter belongs to."""
    models = np.repeat(np.arange(len(kinds)), 3)
    return np.array([*(weight for kind in kinds for weight in kind), _UNSEEN]), np.append(
        models, BIAS
    )


def factors_of(hierarchy: Hierarchy, ends: IntArray, nodes: IntArray, n_models: int) -> FloatArray:
    """What every parameter is multiplied by, for each final class, given the nodes of rows."""
    own = np.bincount(nodes, minlength=hierarchy.n_nodes)
    total = np.concatenate([[0], np.cumsum(own)])
    below = total[hierarchy.subtree_end] - total[:-1]
    n_rows, n_siblings = own[ends], below[hierarchy.parent[ends]] - own[ends]
    few, alone = 1 / (1 + n_rows / _FEW_ROWS), 1 / (1 + n_siblings / _FEW_ROWS)
    of_model = [1 - few, few * (1 - alone), few * alone]
    return np.stack([*(of_model * n_models), (n_rows == 0).astype(float)])


def with_class_weights(
    joint: EnsembleModels, parameters: FloatArray, models: IntArray, nodes: IntArray
) -> EnsembleModels:
    """The ensemble with the weights that follow from parameters, and from the nodes of rows."""
    factors = factors_of(joint.hierarchy, joint.options.ends, nodes, len(joint.members))
    weights, bias = class_weights(parameters, factors, models, len(joint.members))
    return replace(joint, class_weights=weights, class_bias=bias)


def learn_words_and_rows(
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    nodes: IntArray,
    weights: AnyArray,
    kinds: Sequence[tuple[float, ...]],
) -> tuple[FloatArray, IntArray]:
    """Learn how much each model counts, by how many rows a class has.

    Parameters
    ----------
    held_out : list of (EnsembleModels, ndarray of int)
        Ensembles that were fitted on other rows, and the rows to score.
    X : rows
        All training rows.
    nodes : ndarray of int
        Their most specific nodes.
    weights : ndarray
        Their sample weights.
    kinds : sequence of tuple
        ``ROWS``, ``WORDS`` or ``MEANINGS`` for each model.

    Returns
    -------
    parameters : ndarray
    models : ndarray of int
        The model that each of them belongs to.
    """
    start, models = start_of(kinds)
    parts = []
    for joint, out in held_out:
        rest = nodes[np.setdiff1d(np.arange(len(nodes)), out)]
        out = out[np.isin(nodes[out], joint.options.ends) & (weights[out] > 0)]
        has_rows = np.isin(nodes[out], rest)
        seen, unseen = (_some(rows, joint) for rows in (out[has_rows], out[~has_rows]))
        # Where no class has rows, all are alike.
        share = limited_share(len(seen), len(unseen)) if len(rest) else 1.0
        if not share:
            unseen = unseen[:0]
        rows = np.concatenate([seen, unseen])
        if not len(rows):
            continue
        each = np.concatenate([weights[seen], weights[unseen] * share])
        X_held = take_rows(X, rows)
        logs = np.stack([floored_logs(final_proba(member, X_held)) for member in joint.members])
        factors = factors_of(joint.hierarchy, joint.options.ends, rest, len(joint.members))
        right = np.searchsorted(joint.options.ends, nodes[rows])
        parts.append(Held(logs, factors, right, each))
    found = learn_mixture(parts, models, start, _STRENGTH)
    return sharpen(parts, models, found), models


def most_lose_all(nodes: IntArray, fold: IntArray) -> bool:
    """Whether most classes have no rows left where a fold is held out: there are too few rows."""
    left = [np.isin(nodes[fold == k], nodes[fold != k]) for k in np.unique(fold[fold >= 0])]
    return not left or bool(np.concatenate(left).mean() < 0.5)


def _some(rows: IntArray, joint: EnsembleModels) -> IntArray:
    """Some of the rows, evenly."""
    n_rows = min(len(rows), max(_FEWEST_ROWS, _MOST_NUMBERS // len(joint.options.ends)))
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]
