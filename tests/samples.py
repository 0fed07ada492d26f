"""Small sets of rows and labels that several rooms use."""

import numpy as np


def four_quarters(n, seed=0):
    """Points of the plane and the quarter that they lie in, as two levels."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, [["AB"[int(a > 0)], "pq"[int(b > 0)]] for a, b in X]


COUNTS = np.random.default_rng(0).poisson(2, (40, 5)).astype(float)
COUNTED = [["A", "a1"], ["A", "a2"], ["B", "b1"], ["B", "b2"]] * 10
