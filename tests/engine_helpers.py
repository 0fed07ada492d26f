"""What the tests of the engine share: sized classes, and a child that logs, waits, fails or dies.

Workers import this module by its name, so nothing here needs pytest.
"""

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
from sklearn.naive_bayes import GaussianNB

#: Rows of the leaves; every parent has another sum, so a size tells which problem it is.
SIZES = np.arange(12) * 10 + 40
N_ROWS = int(SIZES.sum())
ROOT_ROWS, PARENT_ROWS = N_ROWS, (150, 240, 330, 420)


class BrokenError(ValueError):
    """An error that only these tests raise."""


class Child(GaussianNB):
    """Naive Bayes that writes the size of its problem into a file and misbehaves on demand.

    ``fail_at`` and ``kill_at`` are numbers of rows; with ``once`` it happens only while that file
    does not exist.
    """

    def __init__(self, log=None, pause=0.0, fail_at=None, kill_at=None, once=None):
        super().__init__()
        self.log = log
        self.pause = pause
        self.fail_at = fail_at
        self.kill_at = kill_at
        self.once = once

    def fit(self, X, y, sample_weight=None):
        if len(y) in (self.fail_at, self.kill_at) and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            if len(y) == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            raise BrokenError("no such luck")
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{len(y)}\n")
        time.sleep(self.pause)
        return super().fit(X, y, sample_weight)


class Nested(GaussianNB):
    """Naive Bayes that calls joblib itself, as a forest does, and notes who did the work."""

    def fit(self, X, y, sample_weight=None):
        self.backend_ = type(joblib.parallel.get_active_backend()[0]).__name__
        self.workers_ = set(joblib.Parallel(n_jobs=2)(joblib.delayed(worker)() for _ in range(4)))
        self.home_ = worker()
        return super().fit(X, y, sample_weight)


def worker():
    """This process and this thread."""
    return os.getpid(), threading.get_ident()


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
