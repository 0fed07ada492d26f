"""Weighted sums of features whose weights depend on the class, learned from held-out rows.

The score of a class is a sum of features (similarities, or log probabilities). The weight of a
feature depends on the class: on its number of rows, and on whether it has texts. Probabilities are
the softmax over final classes. Parameters are pulled to their defaults.

The smallest log loss does not give the most right predictions: a few rows whose class cannot be
found dominate it. So parameters are learned twice: first with the log loss, which is convex, and
from there with a loss that nearly ignores such rows (generalised cross entropy). Then all
parameters are scaled, which changes no prediction, so that the confidence of the predicted class
has the smallest log loss. The log loss of all classes would make confidences too small, because of
the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from hiclass._inference.mixing import BIAS, class_weights, sum_scores
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The share of held-out rows whose class has no other rows, by weight. It is larger than the share
#: of held-out classes, an eighth: classes with rows lose little, and the others gain much.
UNSEEN_SHARE = 1 / 5
#: Such a row counts as so many others at most.
_MOST_WEIGHT = 2.0
#: The number of candidates of a row: the classes with the largest scores by default parameters.
N_CANDIDATES = 128
#: The size of a sample of the other classes, which estimates their total probability.
_N_SAMPLED = 32
#: The power of the second loss, (1 - p ** power) / power; 0 would be the log loss.
_POWER = 0.7
#: The probability that the mixture gives to classes with an equal text counts as so many rows.
_BELIEVED = 10.0
#: At most so much is added to the score of a class with an equal text.
_MOST_ADDED = 5.0
#: The scales that are tried in the end, and their pull to 1 as a number of rows.
_SCALES, _DOUBT = np.exp(np.linspace(-2.0, 2.0, 81)), 100.0


@dataclass(frozen=True)
class Held:
    """The features of held-out rows, times the factors of the parameters.

    Attributes
    ----------
    design : ndarray of shape (n_parameters, n_rows, n_candidates)
        The value that each parameter is multiplied by. The first candidate is the true class.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    same : ndarray of bool of shape (n_rows, n_candidates)
        Whether a candidate has a text or a row that is equal to the row.
    rest : ndarray of shape (n_parameters, n_rows, n_sampled)
        As ``design``, for a sample of the classes that are not candidates.
    each : float
        The number of such classes that each class of the sample represents.
    """

    design: FloatArray
    weights: FloatArray
    same: AnyArray
    rest: FloatArray
    each: float

    def of(self, parameters: slice) -> Held:
        """The same rows, with some of the parameters."""
        return replace(self, design=self.design[parameters], rest=self.rest[parameters])

    def exponentials(self, parameters: FloatArray, scale: float = 1.0) -> tuple[FloatArray, Any]:
        """Exponentials of scaled scores: of the candidates, and their sum over all classes."""
        top, rest = scores_of(self.design, parameters), scores_of(self.rest, parameters)
        largest = top.max(axis=1, keepdims=True)
        found = np.exp(scale * (top - largest))
        total = found.sum(axis=1) + self.each * np.exp(scale * (rest - largest)).sum(axis=1)
        return found, total


def hold(
    features: FloatArray,
    factors: FloatArray,
    feature: IntArray,
    start: FloatArray,
    right: IntArray,
    weights: AnyArray,
    same: AnyArray,
) -> Held:
    """Keep the candidates of some rows, and a sample of the other classes.

    Parameters
    ----------
    features : ndarray of shape (n_features, n_rows, n_final)
        The features of rows and classes.
    factors : ndarray of shape (n_parameters, n_final)
        The factor of every parameter, for each class.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each parameter belongs to; ``BIAS`` for a constant.
    start : ndarray of shape (n_parameters,)
        The default parameters.
    right : ndarray of int of shape (n_rows,)
        The column of the true class.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    same : ndarray of bool of shape (n_rows, n_final)
        Whether a class has a text or a row that is equal to the row.

    Returns
    -------
    Held
    """
    n_rows, n_final = features.shape[1:]
    scores = sum_scores(features, *class_weights(start, factors, feature, len(features)))
    everyone = np.arange(n_rows)
    scores[everyone, right] = np.inf
    n_candidates = min(N_CANDIDATES, n_final)
    order = np.argpartition(-scores, n_candidates - 1, axis=1)
    found, others = order[:, :n_candidates], order[:, n_candidates:]
    n_others = others.shape[1]
    n_sampled = min(_N_SAMPLED, n_others)
    others = others[:, np.linspace(0, n_others - 1, n_sampled).astype(np.intp)]
    # The true class is among them, and becomes the first.
    place = (found == right[:, None]).argmax(axis=1)
    found[everyone, place] = found[:, 0]
    found[:, 0] = right
    design, rest = (_design(features, factors, feature, some) for some in (found, others))
    found_same = same[everyone[:, None], found]
    each = n_others / max(n_sampled, 1)
    return Held(design, np.asarray(weights, dtype=np.float64), found_same, rest, each)


def _design(
    features: FloatArray, factors: FloatArray, feature: IntArray, found: IntArray
) -> FloatArray:
    """The values that parameters are multiplied by, for some classes of every row."""
    design = np.empty((len(feature), *found.shape), dtype=np.float32)
    everyone = np.arange(len(found))[:, None]
    for j in np.unique(feature).tolist():
        values = 1.0 if j == BIAS else features[j][everyone, found]
        for p in np.flatnonzero(feature == j).tolist():
            design[p] = factors[p][found] * values
    return design


def unseen_weight(n_seen: int, n_unseen: int) -> float:
    """The weight of a row whose class has no other rows, so that such rows have their share.

    The weight is limited: if most classes have one row, most have none left when it is held out,
    which tells nothing about classes with one row.
    """
    if not n_seen or not n_unseen:
        return 0.0
    return min(_MOST_WEIGHT, n_seen * UNSEEN_SHARE / (1 - UNSEEN_SHARE) / n_unseen)


def learn_mixture(
    parts: list[Held], feature: IntArray, start: FloatArray, strength: float | FloatArray
) -> FloatArray:
    """Learn the parameters for which the true class has the largest score most often.

    Parameters
    ----------
    parts : list of Held
        Rows that were held out.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each parameter belongs to; ``BIAS`` for a constant. Parameters of features
        are not negative.
    start : ndarray of shape (n_parameters,)
        The default parameters.
    strength : float or ndarray of shape (n_parameters,)
        The pull of relative changes to ``start``, as a number of rows.

    Returns
    -------
    ndarray of shape (n_parameters,)
    """
    if not sum(float(part.weights.sum()) for part in parts) > 0:
        return start
    bounds = [(None, None) if j == BIAS else (0.0, None) for j in feature.tolist()]
    found, pull = start, np.broadcast_to(np.asarray(strength, dtype=np.float64), start.shape)
    for power in (0.0, _POWER):
        found = _least(parts, bounds, found, pull, power)
    losses = [_doubt(parts, found, t) for t in _SCALES.tolist()]
    return np.asarray(found * _SCALES[int(np.argmin(losses))])


def _doubt(parts: list[Held], parameters: FloatArray, scale: float) -> float:
    """The log loss of confidences: whether the class with the largest score is the true one."""
    # Without the pull, confidences would be 1 if all held-out rows are right.
    total = _DOUBT / 2 * np.log(scale) ** 2
    for part in parts:
        each, sums = part.exponentials(parameters, scale)
        confidence = np.clip(1 / sums, 1e-6, 1 - 1e-6)
        right = each[:, 0] == 1
        total -= float(part.weights @ np.log(np.where(right, confidence, 1 - confidence)))
    return float(total)


def weigh_same(
    parts: list[Held], parameters: FloatArray, counted: tuple[float, float] | None = None
) -> float:
    """Learn the bonus of a class that has a text or a row equal to the row to classify.

    The weight of a similarity cannot express this: in some taxonomies, equal texts have equal
    classes; in others, a name occurs twice only if it is ambiguous. With the bonus, the mean
    probability of such classes is the share of rows for which they are right.

    Parameters
    ----------
    parts : list of Held
        Rows that were held out.
    parameters : ndarray of shape (n_parameters,)
        The parameters of the mixture.
    counted : (float, float), default=None
        The number of rows that are equal to another row or text, and how many of these have the
        same class. By default, rows of ``parts`` are counted.

    Returns
    -------
    float
        0 if no row that was held out is equal to a text or another row.
    """
    proba, weights, right = [], [], []
    for part in parts:
        has = np.flatnonzero(part.same.any(axis=1))
        each, sums = part.exponentials(parameters)
        proba.append((each * part.same).sum(axis=1)[has] / sums[has])
        weights.append(part.weights[has])
        right.append(part.same[has, 0])
    if not sum(map(np.sum, weights)) > 0:
        return 0.0
    # Within limits, so that there is a bonus for every share.
    believed, weight = np.clip(np.concatenate(proba), 1e-6, 1 - 1e-6), np.concatenate(weights)
    n_rows, n_right = counted or (weight.sum(), float(weight @ np.concatenate(right)))
    mean = float(np.average(believed, weights=weight))
    share = (n_right + _BELIEVED * mean) / (n_rows + _BELIEVED)
    odds = logit(believed)

    def surplus(added: float) -> float:
        return float(np.average(expit(odds + added), weights=weight)) - share

    return float(np.clip(brentq(surplus, -40.0, 40.0), -_MOST_ADDED, _MOST_ADDED))


def _least(
    parts: list[Held],
    bounds: Sequence[tuple[float | None, None]],
    start: FloatArray,
    pull: FloatArray,
    power: float,
) -> FloatArray:
    """The parameters with the smallest loss, including the pull to the start."""
    total = sum(float(part.weights.sum()) for part in parts)
    # The pull is relative to the start, or absolute if that is smaller than 1.
    scale = np.maximum(np.abs(start), 1.0)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        away = (parameters - start) / scale
        value, gradient = float(pull @ away**2) / 2, pull * away / scale
        for part in parts:
            found, slope = loss_of(part, parameters, power)
            value, gradient = value + found, gradient + slope
        return value / total, gradient / total

    options = {"maxiter": 100, "ftol": 1e-7}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def scores_of(design: FloatArray, parameters: FloatArray) -> FloatArray:
    """The scores of some classes of every row."""
    flat = design.reshape(len(parameters), -1)
    scores = (parameters.astype(np.float32) @ flat).reshape(design.shape[1:])
    return scores.astype(np.float64)


def loss_of(part: Held, parameters: FloatArray, power: float = 0.0) -> tuple[float, FloatArray]:
    """The loss of some rows and its gradient: the log loss, or generalised cross entropy."""
    flat = part.design.reshape(len(parameters), -1)
    scores = scores_of(part.design, parameters)
    scores -= scores.max(axis=1, keepdims=True)
    proba = np.exp(scores)
    sums = proba.sum(axis=1)
    logs = scores[:, 0] - np.log(sums)
    if power:
        shrunk = np.exp(power * logs)
        value, slope = float(part.weights @ (1 - shrunk)) / power, part.weights * shrunk
    else:
        value, slope = -float(part.weights @ logs), part.weights
    proba *= (slope / sums)[:, None]
    proba[:, 0] -= slope
    return value, np.asarray(flat @ proba.astype(np.float32).ravel(), dtype=np.float64)
