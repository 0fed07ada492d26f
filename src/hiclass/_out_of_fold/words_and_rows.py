"""How much words count against rows: learned out of fold, by how many rows a class has.

The score of a class is a sum: the logarithm of the probability that each model that learns from
rows has for it, and the similarities that each model by words knows, each times a weight that
depends on how many rows the class and its siblings have. All weights are learned together. Some
classes are held out as a whole, so that it is known what the models can do for a class without
rows.
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

#: Weights are learned from about so many numbers of a fold, and from so many rows at least and at
#: most.
_MOST_NUMBERS, _FEWEST_ROWS, _MOST_ROWS = 2_000_000, 96, 2000
#: By how many rows the weight of a model that learns from rows is drawn to what serves where
#: nothing is learned.
_STRENGTH = 1000.0
#: With so many rows, a class is half way from one without rows to one with many.
_FEW_ROWS = 4
#: The kinds of models: those that learn from rows, those that know words, and those that know what
#: words mean, by an encoder.
ROWS, WORDS, MEANINGS = "rows", "words", "meanings"
#: What serves where nothing is learned, by the kinds that are there; ``benchmarks/class_texts.py
#: --defaults`` learns it from training rows of three taxonomies. Of a model that learns from rows:
#: its weight for classes with many rows, with few beside siblings with many, and with few as all
#: siblings. Of the others: what ``FEATURE`` names.
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
#: What serves for a model by words that is used alone.
_ALONE = {WORDS: OF_WORDS, MEANINGS: OF_MEANINGS}


@dataclass(frozen=True)
class Mixture:
    """The parameters of an ensemble: what they start from, and what they belong to.

    Attributes
    ----------
    kinds : sequence of str
        ``ROWS``, ``WORDS`` or ``MEANINGS`` for each model.
    start : ndarray of shape (n_parameters,)
        What serves where nothing is learned.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each belongs to; ``BIAS`` for what is added.
    strength : ndarray of shape (n_parameters,)
        By how many rows what is learned is drawn to the start.
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
        """The model that finds equal texts: the first that knows words, or what they mean."""
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
    """What the parameters of a model that learns from rows are multiplied by, for each class."""
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

    What similarities are worth is part of the models by words; so their probabilities count as they
    are. The first of them adds ``same`` for equal texts.
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
    """Learn how much each model counts, by how many rows a class has.

    Parameters
    ----------
    held_out : list of (EnsembleModels, ndarray of int)
        Ensembles that were fitted on other rows, and the rows to score.
    X : rows
        All training rows.
    vectors : list
        The rows as each of the models by words knows them; None for the other models.
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
        Both of each model by words, if it is used alone; without numbers for other models.
    """
    parts: list[Held] = []
    weights = mean_one(weights)
    for joint, out in held_out:
        rest = np.delete(nodes, out)
        rest = rest[np.isin(rest, joint.options.ends)]
        out = out[np.isin(nodes[out], joint.options.ends) & (weights[out] > 0)]
        has_rows = np.isin(nodes[out], rest)
        seen, unseen = (_some(rows, joint) for rows in (out[has_rows], out[~has_rows]))
        # Where no class has rows, all are alike.
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
) -> tuple[float, float]:
    """Count the rows that are equal to another row or to a text, and those of the same class.

    All classes are compared: what is learned from a part of the taxonomy would miss most of the
    names that belong to several classes.

    Parameters
    ----------
    rows, texts : sequence of str
        Rows, and texts of final classes.
    nodes, of_texts : ndarray of int
        Their classes.
    weights : ndarray
        Weights of the rows.

    Returns
    -------
    n_equal, n_right : float
        Sums of weights.
    """
    keys = [" ".join(text.lower().split()) for text in (*rows, *texts)]
    classes = [*nodes.tolist(), *of_texts.tolist()]
    n_of_text, n_of_both = Counter(keys), Counter(zip(keys, classes, strict=True))
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
    """What the scores of some rows are made of, by an ensemble that has not seen them."""
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
    """Whether most classes have no rows left where a fold is held out: there are too few rows."""
    left = [np.isin(nodes[fold == k], nodes[fold != k]) for k in np.unique(fold[fold >= 0])]
    return not left or bool(np.concatenate(left).mean() < 0.5)


def _some(rows: IntArray, joint: EnsembleModels) -> IntArray:
    """Some of the rows, evenly."""
    wanted = int(np.clip(_MOST_NUMBERS // len(joint.options.ends), _FEWEST_ROWS, _MOST_ROWS))
    n_rows = min(len(rows), wanted)
    return rows[np.linspace(0, len(rows) - 1, n_rows).astype(np.intp)]
