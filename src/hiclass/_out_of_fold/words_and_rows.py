"""The weights of models by words and of models that learn from rows, learned out of fold.

The score of a class is a weighted sum: of the log probabilities of the models that learn from rows,
and of the similarities of the models by words. The weights depend on the number of rows of the
class and of its siblings. All weights are learned together. Some classes are held out completely,
to learn the weights of classes without rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hiclass._inference.class_texts import (
    FEATURE,
    N_SIMILARITIES,
    OF_MEANINGS,
    OF_WORDS,
    SAME,
    STRENGTH,
    profiles_of,
)
from hiclass._inference.mixing import BIAS, class_weights
from hiclass._inference.paths import final_proba, floored_logs
from hiclass._out_of_fold.class_texts import text_factors, with_parameters
from hiclass._out_of_fold.mixtures import Held, hold, learn_mixture, unseen_weight, weigh_same
from hiclass._out_of_fold.temperatures import mean_one
from hiclass._rows import take_rows
from hiclass._state import EnsembleModels, TextModels
from hiclass._typing import AnyArray, FloatArray, IntArray
from hiclass.hierarchy import Hierarchy

#: About so many numbers (rows times classes) of a fold are used to learn the weights, but at least
#: and at most so many rows.
_MOST_NUMBERS, _FEWEST_ROWS, _MOST_ROWS = 2_000_000, 96, 2000
#: The pull of the weight of a model that learns from rows to its default, as a number of rows.
_STRENGTH = 1000.0
#: With so many rows, the weights of a class are halfway between those without and with many rows.
_FEW_ROWS = 4
#: The kinds of models: models that learn from rows, models by words with the default encoder, and
#: models by words with another encoder.
ROWS, WORDS, MEANINGS = "rows", "words", "meanings"
#: Default parameters, for each combination of kinds; ``benchmarks/class_texts.py --defaults``
#: learns them from training rows of three taxonomies. A model that learns from rows has three
#: weights: for classes with many rows, with few rows but siblings with many, and with few rows like
#: all siblings. The parameters of the others are in the order of ``FEATURE``.
STARTS: dict[frozenset[str], dict[str, tuple[float, ...]]] = {
    frozenset([WORDS]): {
        ROWS: (1.0, 1.2, 1.2),
        WORDS: (5.0, 0.8, 7.6, 2.0, 0.1, 5.3, 0.0, 0.0, 0.0, 0.8, 0.2, 0.0, 0.1, 2.1),
    },
    frozenset([MEANINGS]): {
        ROWS: (1.0, 1.2, 1.1),
        MEANINGS: (8.3, 0.8, 3.9, 3.7, 0.1, 4.7, 0.0, 0.0, 0.0, 0.9, 0.1, 0.0, -0.1, 2.1),
    },
    frozenset([WORDS, MEANINGS]): {
        ROWS: (0.9, 1.1, 1.0),
        WORDS: (0.5, 0.4, 3.7, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3),
        MEANINGS: (7.9, 0.5, 1.8, 3.6, 0.1, 4.9, 0.0, 0.0, 0.0, 1.0, 0.1, 0.0, 0.0, 1.9),
    },
}
#: Default parameters of a model by words that is used alone.
_ALONE = {WORDS: OF_WORDS, MEANINGS: OF_MEANINGS}


@dataclass(frozen=True)
class Mixture:
    """The parameters of an ensemble: their defaults, and the features that they belong to.

    Attributes
    ----------
    kinds : sequence of str
        ``ROWS``, ``WORDS`` or ``MEANINGS`` for each model.
    start : ndarray of shape (n_parameters,)
        The default parameters.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each belongs to; ``BIAS`` for a constant.
    strength : ndarray of shape (n_parameters,)
        The pull to the start, as a number of rows.
    of_model : list of slice
        The parameters of each model.
    """

    kinds: Sequence[str]
    start: FloatArray
    feature: IntArray
    strength: FloatArray
    of_model: list[slice]

    @property
    def compares(self) -> int:
        """The model that finds equal texts: the first with the default encoder, if there is one."""
        kind = WORDS if WORDS in self.kinds else MEANINGS
        return self.kinds.index(kind)

    def own(self, i: int) -> slice:
        """The parameters of a model."""
        return self.of_model[i]


def mixture_of(kinds: Sequence[str]) -> Mixture:
    """The parameters of an ensemble of such models."""
    starts = STARTS[frozenset(kinds) - {ROWS}]
    start: list[float] = []
    feature: list[int] = []
    strength: list[float] = []
    of_model, n_features = [], 0
    for kind in kinds:
        parameters = np.array(starts[kind]) / kinds.count(kind)
        of_model.append(slice(len(start), len(start) + len(parameters)))
        if kind == ROWS:
            feature += [n_features] * len(parameters)
            strength += [_STRENGTH] * len(parameters)
            n_features += 1
        else:
            feature += np.where(FEATURE == BIAS, BIAS, FEATURE + n_features).tolist()
            strength += STRENGTH.tolist()
            n_features += N_SIMILARITIES
        start += parameters.tolist()
    return Mixture(kinds, np.array(start), np.array(feature), np.array(strength), of_model)


def factors_of(hierarchy: Hierarchy, ends: IntArray, nodes: IntArray) -> FloatArray:
    """The factors of the parameters of a model that learns from rows, for each class."""
    own = np.bincount(nodes, minlength=hierarchy.n_nodes)
    total = np.concatenate([[0], np.cumsum(own)])
    below = total[hierarchy.subtree_end] - total[:-1]
    n_rows, n_siblings = own[ends], below[hierarchy.parent[ends]] - own[ends]
    few, alone = 1 / (1 + n_rows / _FEW_ROWS), 1 / (1 + n_siblings / _FEW_ROWS)
    return np.stack([1 - few, few * (1 - alone), few * alone])


def with_class_weights(
    joint: EnsembleModels, mixture: Mixture, parameters: FloatArray, same: float, nodes: IntArray
) -> EnsembleModels:
    """The ensemble with the weights that follow from parameters, and from the nodes of rows.

    Models by words contain the weights of their similarities, so their weight in the ensemble is 1.
    The first of them adds ``same`` for equal texts.
    """
    factors = factors_of(joint.hierarchy, joint.options.ends, nodes)
    weights, members = np.ones((len(joint.members), factors.shape[1])), list(joint.members)
    for i, member in enumerate(joint.members):
        own = parameters[mixture.own(i)]
        if isinstance(member, TextModels):
            members[i] = with_parameters(member, own, same if i == mixture.compares else 0.0)
        else:
            weights[i] = class_weights(own, factors, np.zeros(len(own), dtype=np.intp), 1)[0]
    bias = np.zeros(factors.shape[1])
    return replace(joint, members=tuple(members), class_weights=weights, class_bias=bias)


def learn_words_and_rows(
    held_out: list[tuple[EnsembleModels, IntArray]],
    X: Any,
    vectors: list[Any],
    nodes: IntArray,
    weights: AnyArray,
    mixture: Mixture,
    equal: tuple[float, float],
) -> tuple[FloatArray, float, list[tuple[FloatArray, float]]]:
    """Learn the weights of the models, which depend on the number of rows of a class.

    Parameters
    ----------
    held_out : list of (EnsembleModels, ndarray of int)
        Ensembles that were fitted on other rows, and the rows to score.
    X : rows
        All training rows.
    vectors : list
        The vectors of the rows in each model by words; None for the other models.
    nodes : ndarray of int
        Their most specific nodes.
    weights : ndarray
        Their sample weights.
    mixture : Mixture
        The parameters.
    equal : (float, float)
        From :func:`count_equal`.

    Returns
    -------
    parameters : ndarray
        Of all models together.
    same : float
        What is added to the score of a class that has a text equal to the row.
    alone : list of (ndarray, float)
        Both for each model by words, if it is used alone. Empty for other models.
    """
    parts: list[Held] = []
    weights = mean_one(weights)
    for joint, out in held_out:
        rest = np.delete(nodes, out)
        rest = rest[np.isin(rest, joint.options.ends)]
        out = out[np.isin(nodes[out], joint.options.ends) & (weights[out] > 0)]
        has_rows = np.isin(nodes[out], rest)
        seen, unseen = (_some(rows, joint) for rows in (out[has_rows], out[~has_rows]))
        # If no class has rows, all rows have the same weight.
        weight = unseen_weight(len(seen), len(unseen)) if len(rest) else 1.0
        if not weight:
            unseen = unseen[:0]
        rows = np.concatenate([seen, unseen])
        each = np.concatenate([weights[seen], weights[unseen] * weight])
        parts += hold_rows(joint, mixture, X, vectors, nodes, rows, each, rest)
    alone = []
    for kind, own in zip(mixture.kinds, mixture.of_model, strict=True):
        learned, same = np.empty(0), 0.0
        if kind != ROWS:
            some = [part.of(own) for part in parts]
            learned = learn_mixture(some, FEATURE, _ALONE[kind], STRENGTH)
            same = weigh_same(some, learned, equal)
        alone.append((learned, same))
    parameters = learn_mixture(parts, mixture.feature, mixture.start, mixture.strength)
    return parameters, weigh_same(parts, parameters, equal), alone


def count_equal(
    rows: Sequence[str],
    nodes: IntArray,
    weights: AnyArray,
    texts: Sequence[str],
    of_texts: IntArray,
    groups: IntArray | None = None,
) -> tuple[float, float]:
    """Count the rows that are equal to another row or to a text, and those of the same class.

    Rows of one group are not compared with each other. All classes are compared. A part of the
    taxonomy would miss most of the names that belong to several classes.

    Parameters
    ----------
    rows, texts : sequence of str
        Rows, and texts of final classes.
    nodes, of_texts : ndarray of int
        Their classes.
    weights : ndarray
        Weights of the rows.
    groups : ndarray of int, default=None
        The groups of the rows. By default, every row is a group of its own.

    Returns
    -------
    n_equal, n_right : float
        Sums of weights.
    """
    keys = [" ".join(text.lower().split()) for text in (*rows, *texts)]
    classes = [*nodes.tolist(), *of_texts.tolist()]
    unit = np.arange(len(rows)) if groups is None else groups
    units = [*unit.tolist(), *range(-len(texts), 0)]
    n_of_text = Counter(key for key, _ in set(zip(keys, units, strict=True)))
    n_of_both = Counter(found[:2] for found in set(zip(keys, classes, units, strict=True)))
    n_equal = n_right = 0.0
    for key, node, weight in zip(keys, classes, mean_one(weights).tolist(), strict=False):
        if n_of_text[key] > 1:
            n_equal += weight
            n_right += weight * (n_of_both[key, node] > 1)
    return n_equal, n_right


def hold_rows(
    joint: EnsembleModels,
    mixture: Mixture,
    X: Any,
    vectors: list[Any],
    nodes: IntArray,
    rows: IntArray,
    weights: AnyArray,
    rest: IntArray,
) -> list[Held]:
    """The features of some rows, from an ensemble that was not fitted on them."""
    ends = joint.options.ends
    of_rows = factors_of(joint.hierarchy, ends, rest)
    factors = [text_factors(m) if isinstance(m, TextModels) else of_rows for m in joint.members]
    size = max(1, _MOST_NUMBERS // len(ends))
    parts, nearest = [], int(mixture.feature[mixture.own(mixture.compares)][0])
    for start in range(0, len(rows), size):
        some, features = rows[start : start + size], []
        for member, known in zip(joint.members, vectors, strict=True):
            if isinstance(member, TextModels):
                features += list(profiles_of(member).similarities(known[some]))
            else:
                features.append(floored_logs(final_proba(member, take_rows(X, some))))
        right = np.searchsorted(ends, nodes[some])
        each = weights[start : start + size]
        known_parameters = mixture.feature, mixture.start
        both = np.stack(features), np.concatenate(factors)
        parts.append(hold(*both, *known_parameters, right, each, features[nearest] >= SAME))
    return parts


def most_lose_all(nodes: IntArray, fold: IntArray) -> bool:
    """Whether most rows of a fold have a class without any row in the other folds."""
    left = [np.isin(nodes[fold == k], nodes[fold != k]) for k in np.unique(fold[fold >= 0])]
    return not left or bool(np.concatenate(left).mean() < 0.5)


def _some(rows: IntArray, joint: EnsembleModels) -> IntArray:
    """Some of the rows, evenly."""
    wanted = int(np.clip(_MOST_NUMBERS // len(joint.options.ends), _FEWEST_ROWS, _MOST_ROWS))
    n_rows = min(len(rows), wanted)
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]
