"""What the tests of the engine share: classes of known sizes, and a log of what was fitted.

Workers import this module by its name, so nothing here needs pytest.
"""

from pathlib import Path

import numpy as np

#: Rows of the leaves; every parent has another sum, so a size tells which problem it is.
SIZES = np.arange(12) * 10 + 40
N_ROWS = int(SIZES.sum())
ROOT_ROWS, PARENT_ROWS = N_ROWS, (150, 240, 330, 420)


def logged(path):
    """Sizes of the problems that were fitted since the last call, in order."""
    sizes = [int(line) for line in Path(path).read_text().split()] if Path(path).exists() else []
    Path(path).unlink(missing_ok=True)
    return sizes


def make_data(n_features=6):
    """Four parents with three leaves each; the rows of a class are scattered over the set."""
    rng = np.random.default_rng(0)
    leaf = rng.permutation(np.repeat(np.arange(12), SIZES))
    X = rng.normal(size=(N_ROWS, n_features))
    X[np.arange(N_ROWS), leaf % n_features] += 3
    X[:, 0] += leaf // n_features
    y = np.array([[f"p{k // 3}", f"leaf {k:02d}"] for k in range(12)], dtype=object)[leaf]
    return X, y


def end_early(y, every=20):
    """Let some rows end at an inner node."""
    y = y.copy()
    y[::every, 1] = ""
    return y
