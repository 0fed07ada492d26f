"""Sums of scores whose weights depend on the class."""

from __future__ import annotations

import numpy as np

from hiclass._typing import FloatArray, IntArray

#: The feature of parameters that are added, whatever the row.
BIAS = -1


def class_weights(
    parameters: FloatArray, factors: FloatArray, feature: IntArray, n_features: int
) -> tuple[FloatArray, FloatArray]:
    """The weight of every feature for every class, and what is added for the class.

    Parameters
    ----------
    parameters : ndarray of shape (n_parameters,)
        What was learned.
    factors : ndarray of shape (n_parameters, n_final)
        What each of them is multiplied by, for each class.
    feature : ndarray of int of shape (n_parameters,)
        The feature that each belongs to; ``BIAS`` for what is added.
    n_features : int
        How many features there are.

    Returns
    -------
    weights : ndarray of shape (n_features, n_final)
    bias : ndarray of shape (n_final,)
    """
    scaled = parameters[:, None] * factors
    weights = np.zeros((n_features, factors.shape[1]))
    np.add.at(weights, feature[feature >= 0], scaled[feature >= 0])
    return weights, scaled[feature == BIAS].sum(axis=0)


def sum_scores(features: FloatArray, weights: FloatArray, bias: FloatArray | None) -> FloatArray:
    """The score of every class for every row."""
    total = np.zeros(features.shape[1:])
    if bias is not None:
        total += bias
    for values, weight in zip(features, weights, strict=True):
        total += values * weight
    return total
