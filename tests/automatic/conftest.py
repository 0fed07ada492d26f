"""What the tests of the estimator to start with share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def noisy():
    """Sixty rows of six classes in three pairs, not all of which can be told apart."""
    which = np.arange(60) % 6
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(6, 4))[which] + rng.normal(size=(60, 4))
    y = np.array([[name[0], name] for name in ("a1", "a2", "b1", "b2", "c1", "c2")], dtype=object)
    return X, y[which]
