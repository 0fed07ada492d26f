"""Sums of scores whose weights depend on the class: learned from rows that no model has seen.

The score of a class is a sum of features (similarities, or logarithms of probabilities), each times
a weight that depends on what is known about the class: how many rows it has, and whether it has
texts. Probabilities are the softmax over all final classes. The log loss is convex in the
parameters, which are drawn to those that serve where nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from hiclass._inference.mixing import BIAS, class_weights, sum_scores
from hiclass._typing import FloatArray, IntArray

#: The share of rows whose class has no rows, among those that are learned from.
UNSEEN_SHARE = 1 / 8

#: How often all features are tried, and by which share of right classes a change has to help.
_ROUNDS, _LEAST_GAIN = 2, 0.002


@dataclass(frozen=True)
class Held:
    """Features of rows that were held out, with what is known of the classes without them.

    Attributes
    ----------
    features : ndarray of shape (n_features, n_rows, n_final)
        What the score of a class is made of.
    factors : ndarray of shape (n_parameters, n_final)
        What every parameter is multiplied by, for each class.
    right : ndarray of int of shape (n_rows,)
        The column of the true class.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    """

    features: FloatArray
    factors: FloatArray
    right: IntArray
    weights: FloatArray


def limited_share(n_seen: int, n_unseen: int) -> float:
    """The weight of rows of classes without rows, so that they have at most their share.

    Where most classes have one row, most would have none left when it is held out, which says
    nothing about classes that have one.
    """
    if not n_seen or not n_unseen:
        return 0.0
    return min(1.0, n_seen * UNSEEN_SHARE / (1 - UNSEEN_SHARE) / n_unseen)


def learn_mixture(
    parts: list[Held], feature: IntArray, start: FloatArray, strength: float
) -> FloatArray:
    """Learn the parameters with the smallest log loss of the true classes.

    Parameters
    ----------
    parts : list of Held
        Rows that were held out.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each parameter belongs to; ``BIAS`` for what is added. Parameters of
        features are not negative.
    start : ndarray of shape (n_parameters,)
        What serves where nothing is known.
    strength : float
        By how many rows parameters are drawn to ``start``, in relation to it.

    Returns
    -------
    ndarray of shape (n_parameters,)
    """
    total = sum(float(part.weights.sum()) for part in parts)
    if not total > 0:
        return start
    # A parameter that is twice, or none of, what was expected costs as much as one of 1 would.
    scale = np.maximum(np.abs(start), 1.0)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        away = (parameters - start) / scale
        value, gradient = strength / 2 * float(away @ away), strength * away / scale
        for part in parts:
            found, slope = _log_loss(part, parameters, feature)
            value, gradient = value + found, gradient + slope
        return value / total, gradient / total

    bounds = [(None, None) if j == BIAS else (0.0, None) for j in feature.tolist()]
    options = {"maxiter": 100, "ftol": 1e-7}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def _log_loss(part: Held, parameters: FloatArray, feature: IntArray) -> tuple[float, FloatArray]:
    """The log loss of some rows, and its slope."""
    weights, bias = class_weights(parameters, part.factors, feature, len(part.features))
    scores = sum_scores(part.features, weights, bias)
    everyone = np.arange(len(part.right))
    true = scores[everyone, part.right]
    largest = scores.max(axis=1)
    proba = np.exp(scores - largest[:, None], out=scores)
    sums = proba.sum(axis=1)
    value = float(part.weights @ (np.log(sums) + largest - true))
    proba *= (part.weights / sums)[:, None]
    proba[everyone, part.right] -= part.weights
    by_class = np.stack(
        [*(np.einsum("rc,rc->c", proba, values) for values in part.features), proba.sum(axis=0)]
    )
    return value, np.einsum("pc,pc->p", part.factors, by_class[feature])


def sharpen(parts: list[Held], feature: IntArray, parameters: FloatArray) -> FloatArray:
    """Change how much features count against each other, where more true classes come first then.

    The smallest log loss is not the largest share of right classes: a model whose scores are no
    good probabilities counts for less than it is worth. All weights of a feature are halved or
    doubled, one feature after the other, as long as that helps; in the end all are scaled by what
    has the smallest log loss, which changes no decision.

    Parameters
    ----------
    parts : list of Held
        Rows that were held out.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each parameter belongs to; ``BIAS`` for what is added.
    parameters : ndarray of shape (n_parameters,)
        What has the smallest log loss.

    Returns
    -------
    ndarray of shape (n_parameters,)
    """
    if not parts:
        return parameters
    best, right = parameters, _share_right(parts, parameters, feature)
    for _ in range(_ROUNDS):
        for j in range(int(feature.max()) + 1):
            for factor in (0.5, 2.0):
                tried = np.where(feature == j, best * factor, best)
                share = _share_right(parts, tried, feature)
                if share > right + _LEAST_GAIN:
                    best, right = tried, share
    if best is parameters:
        return parameters
    scales = np.exp(np.linspace(-1.5, 1.5, 13))
    losses = [sum(_log_loss(part, best * t, feature)[0] for part in parts) for t in scales]
    return np.asarray(best * scales[int(np.argmin(losses))])


def _share_right(parts: list[Held], parameters: FloatArray, feature: IntArray) -> float:
    """The weighted share of rows whose true class has the largest score."""
    right = total = 0.0
    for part in parts:
        weights, bias = class_weights(parameters, part.factors, feature, len(part.features))
        found = sum_scores(part.features, weights, bias).argmax(axis=1)
        right += float(part.weights @ (found == part.right))
        total += float(part.weights.sum())
    return right / total
