"""The fake classifiers that tests share: cheap, exact, and with answers that are known."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB


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


class Table:
    """Gives every row the same answer, and counts how often it was asked."""

    def __init__(self, answer):
        self.answer = np.array(answer, dtype=float)
        self.calls = 0

    def _repeat(self, X):
        self.calls += 1
        return np.tile(self.answer, (len(X), 1))


class Proba(Table):
    def predict_proba(self, X):
        return self._repeat(X)


class Scores(Table):
    """Scores; a single one is the decision function of a binary problem."""

    def decision_function(self, X):
        answer = self._repeat(X)
        return answer[:, 0] if len(self.answer) == 1 else answer


class Choice(Table):
    def predict(self, X):
        return self._repeat(X)[:, 0]


class Counting(GaussianNB):
    """Counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)
