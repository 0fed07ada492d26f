"""What the tests of linear classifiers share."""

import numpy as np
import scipy.sparse as sp


def problem(n_rows, n_classes, seed=0, n_features=12):
    """Sparse rows of classes that a few columns tell apart, not all of them."""
    rng = np.random.default_rng(seed)
    target = rng.permutation(np.arange(n_rows) % n_classes)
    X = sp.random(n_rows, n_features, density=0.3, random_state=seed, format="lil")
    X[np.arange(n_rows), target % n_features] = rng.uniform(0.2, 1, n_rows)
    return sp.csr_matrix(X), target


def objective(weights, intercept, X, sign, squared, scaling, cost=1.0):
    """What a linear support vector machine minimises; the intercept is regularised, too."""
    hinge = np.maximum(1 - sign * (X @ weights + intercept), 0)
    loss = (hinge**2 if squared else hinge) * cost
    regularised = weights @ weights + ((intercept / scaling) ** 2 if scaling else 0)
    return regularised / 2 + loss.sum()
