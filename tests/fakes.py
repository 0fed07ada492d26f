"""The fake classifiers that tests share: cheap, exact, and with known predictions.

Workers in other processes import this module by its name, so nothing here needs pytest.
"""

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier


class Linear(ClassifierMixin, BaseEstimator):
    """Cheap, and exact for every row alone: log frequencies plus a linear function of x."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.classes_ = np.unique(y)
        count = np.bincount(y, weights=weight)
        self.bias_ = np.log(count)
        self.slope_ = np.stack([weight[y == k] @ X[y == k] for k in self.classes_]) / count[:, None]
        return self

    def _scores(self, X):
        return self.scale * (self.bias_ + (X[:, None] * self.slope_).sum(axis=-1))

    def predict(self, X):
        return self._scores(X).argmax(axis=1)


class Scored(Linear):
    """Has only scores."""

    def decision_function(self, X):
        scores = self._scores(X)
        return scores if scores.shape[1] > 2 else scores[:, 1] - scores[:, 0]


class Soft(Linear):
    """Has only probabilities."""

    def predict_proba(self, X):
        return softmax(self._scores(X), axis=1)


def counting(kind, fits):
    """A classifier of a kind that appends the number of its rows to a list when it is fitted."""

    class Counting(kind):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(X, y)

    return Counting()


def recording(kind, queries, **params):
    """A classifier of a kind that appends the rows of which it predicts probabilities to a list."""

    class Recording(kind):
        def predict_proba(self, X):
            queries.append(X)
            return super().predict_proba(X)

    return Recording(**params)


class Table:
    """Predicts the same for every row, and counts how often it was queried."""

    def __init__(self, prediction):
        self.prediction = np.array(prediction, dtype=float)
        self.calls = 0

    def _repeat(self, X):
        self.calls += 1
        return np.tile(self.prediction, (len(X), 1))


class Proba(Table):
    def predict_proba(self, X):
        return self._repeat(X)


class Scores(Table):
    """Scores; a single one is the decision function of a binary problem."""

    def decision_function(self, X):
        prediction = self._repeat(X)
        return prediction[:, 0] if len(self.prediction) == 1 else prediction


class Choice(Table):
    def predict(self, X):
        return self._repeat(X)[:, 0]


class Counting(GaussianNB):
    """Counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


class Centroids:
    """A plain object, no scikit-learn estimator: fit, predict, predict_proba and nothing else.

    Probabilities fall with the squared distance to the mean of a class.
    """

    def fit(self, X, y):
        self.means = np.stack([X[y == k].mean(axis=0) for k in range(y.max() + 1)])
        return self

    def predict_proba(self, X):
        distance = ((X[:, None] - self.means) ** 2).sum(axis=-1)
        proba = np.exp(distance.min(axis=1, keepdims=True) - distance)
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class Smooth:
    """For many outputs: a mean of the training rows, the near ones first."""

    def fit(self, X, y):
        self.X, self.y = X, y
        return self

    def predict(self, X):
        near = np.exp(-((X[:, None] - self.X) ** 2).sum(axis=-1))
        return near @ self.y / near.sum(axis=1, keepdims=True)


class Nearest:
    """Predicts the class of the nearest training row."""

    def fit(self, X, y):
        self.X, self.y = X, y
        return self

    def predict(self, X):
        distance = ((X[:, None] - self.X) ** 2).sum(axis=-1)
        return self.y[distance.argmin(axis=1)]

    def predict_proba(self, X):
        return np.eye(self.y.max() + 1)[self.predict(X)]


class BrokenError(ValueError):
    """An error that only ``Unruly`` raises."""


class Unruly(GaussianNB):
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


class Fixed:
    """Predicts the same probabilities for every row."""

    def __init__(self, *proba):
        self.proba = proba

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.argmax(self.proba))

    def predict_proba(self, X):
        return np.tile(self.proba, (len(X), 1))


class Recorder(GaussianNB):
    """Remembers what fit was given."""

    def fit(self, X, y, sample_weight=None, marks=None):
        self.seen_ = (X, y, sample_weight, marks)
        return super().fit(X, y, sample_weight)


class Evil:
    """Makes a folder when it is unpickled, or built by a loader that trusts it."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)

    def __setstate__(self, state):
        os.mkdir(state["marker"])


class Untrusted(LogisticRegression):
    """A classifier that is of no library which skops knows."""


class OnlyPredict:
    """The class of the nearest training row, without probabilities or scores."""

    def fit(self, X, y):
        self.inner = KNeighborsClassifier(1).fit(X, y)
        return self

    def predict(self, X):
        return self.inner.predict(X)
