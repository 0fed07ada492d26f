"""``DiscriminantClassifier``: many classes of dense rows from one covariance matrix.

All classes share the covariance within classes, so one pass over the rows and one factorisation are
sufficient for any number of classes. The shrinkage of the covariance, the correction for small
classes, the weight of class shares and the sharpness of the probabilities are chosen by
leave-one-out, for which there is a closed form.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from hiclass._compat import (
    Interval,
    StrOptions,
    check_is_fitted,
    check_sample_weight,
    validate_data,
    validate_parameter_constraints,
)
from hiclass._linear.kernel_ridge import median_squared_distance, root_of, row_blocks, similarities
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The candidates: shrinkages of the covariance, corrections of the length of a mean (as parts of
#: its error), and weights of the class shares.
_SHRINKAGES = (0.1, 0.01, 0.001, 0.5, 0.9)
_CORRECTIONS = (0.5, 0.0, 1.0)
_SHARE_WEIGHTS = (5.0, 1.0, 10.0, 0.0)
#: Factors of the scores, from sharp to flat probabilities.
_FACTORS = tuple(1.35**j for j in range(2, -12, -1))
#: The number of rows that are left out, and of their scores at a time.
_FEWEST_LEFT_OUT, _MOST_LEFT_OUT, _MOST_SCORES = 500, 2000, 2_000_000


class DiscriminantClassifier(ClassifierMixin, BaseEstimator):
    """Linear discriminant analysis for many classes, on embeddings and other dense rows.

    A class is described by its mean and its share. All classes share one covariance matrix, which
    is computed once, so that the model is fast to fit for thousands of classes. The regularisation
    and the scale of the probabilities are chosen by leave-one-out.

    Parameters
    ----------
    shrinkage : "auto" or float, default="auto"
        The shrinkage of the covariance towards a multiple of the identity, from 0 to 1. A value of
        0 requires more rows than columns. ``"auto"`` chooses it by leave-one-out.
    n_landmarks : int, default=0
        With 0, decision boundaries are linear. Otherwise, the features are Gaussian similarities to
        this many random training rows, which gives curved boundaries. The time grows with the
        square of this number.
    width : float, default=2.0
        The width of the similarity, in units of the median distance between rows. The similarity of
        two rows at distance d is ``exp(-(d / (width * median)) ** 2)``.
    random_state : int, RandomState instance or None, default=None
        Controls the choice of landmarks and, with more than 2,000 rows, of the rows that are left
        out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features or n_landmarks)
        The weights, including ``factor_``.
    intercept_ : ndarray of shape (n_classes,)
        The intercepts.
    shrinkage_ : float
        The shrinkage of the covariance.
    correction_ : float
        The correction of the squared length of a class mean, as a share of its expected error, from
        0 to 1. Without it, the mean of few rows is too far from other rows.
    share_weight_ : float
        The weight of the logarithm of the class shares. It is 1 for Gaussian classes.
    factor_ : float
        The factor of all scores, which determines how concentrated the probabilities are. It is 1
        for Gaussian classes and smaller for redundant columns, such as those of embeddings.
    landmarks_ : ndarray of shape (n_landmarks, n_features) or None
        The landmarks.
    gamma_ : float or None
        The factor of the squared distance in the similarity.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    KernelRidgeClassifier : A regression on similarities to training rows, for few classes.
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : The same model, without the choice of
        parameters by leave-one-out.

    Notes
    -----
    In a ``FlatClassifier``, it is a fast model for thousands of classes. Columns should have
    similar units, as those of embeddings do; scale other columns first.

    Examples
    --------
    >>> from hiclass import DiscriminantClassifier, FlatClassifier
    >>> X = [[0.0, 0.1], [0.2, 0.0], [1.0, 0.9], [1.1, 1.0], [2.0, 0.0], [2.1, 0.2]]
    >>> y = [["a", "x"], ["a", "x"], ["a", "y"], ["a", "y"], ["b", "z"], ["b", "z"]]
    >>> model = FlatClassifier(DiscriminantClassifier()).fit(X, y)
    >>> model.predict([[0.1, 0.1], [2.0, 0.1]]).tolist()
    [['a', 'x'], ['b', 'z']]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "n_landmarks": [Interval(Integral, 0, None, closed="left")],
        "width": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        shrinkage: Any = "auto",
        *,
        n_landmarks: int = 0,
        width: float = 2.0,
        random_state: Any = None,
    ) -> None:
        self.shrinkage = shrinkage
        self.n_landmarks = n_landmarks
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DiscriminantClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of 2 is equivalent to repeating the row. Rows with weight
            0 are ignored.

        Returns
        -------
        self : DiscriminantClassifier
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter is invalid, X is not finite, all rows belong to one class, or the
            covariance cannot be inverted with ``shrinkage=0``.
        """
        validate_parameter_constraints(
            self._parameter_constraints,
            self.get_params(deep=False),
            caller_name=type(self).__name__,
        )
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, target = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"DiscriminantClassifier needs rows of at least two classes with a positive weight;"
                f" there is only one class: {self.classes_.tolist()}."
            )
        rng = check_random_state(self.random_state)
        describe = self._fit_features(X, weight, rng)
        sums = _sum_up(X, target, weight, len(self.classes_), describe)
        some = _left_out(target, weight, sums, rng)
        left_out = LeftOut(
            (describe(X[some]) - sums.centre) @ sums.axes,
            target[some],
            weight[some],
            np.minimum(weight[some], 1),
        )
        tried = _SHRINKAGES if self.shrinkage == "auto" else (float(self.shrinkage),)
        chosen = _choose(sums, left_out, tried)
        self.shrinkage_, self.correction_, self.share_weight_, self.factor_ = chosen
        coef = sums.means @ sums.inverse(self.shrinkage_)
        constant = self.correction_ * sums.errors(self.shrinkage_) - _dots(coef, sums.means)
        constant = 0.5 * constant + self.share_weight_ * sums.log_shares - coef @ sums.centre
        self.coef_ = (self.factor_ * coef).astype(X.dtype)
        self.intercept_ = (self.factor_ * constant).astype(X.dtype)
        return self

    def _fit_features(
        self, X: AnyArray, weight: FloatArray, rng: Any
    ) -> Callable[[AnyArray], AnyArray]:
        """Draw the landmarks, and return the function that computes features."""
        self.landmarks_: AnyArray | None = None
        self.gamma_: float | None = None
        if self.n_landmarks:
            self.gamma_ = 1 / (self.width**2 * median_squared_distance(X, weight, rng))
            n = min(self.n_landmarks, len(X))
            self.landmarks_ = X[np.sort(rng.choice(len(X), n, replace=False))]
            near = similarities(self.landmarks_, self.landmarks_, self.gamma_)
            self._root = root_of(near, 0.01).astype(X.dtype)
        return self._describe

    def _describe(self, X: AnyArray) -> AnyArray:
        """The features of rows: the rows themselves, or their similarities to landmarks."""
        if self.landmarks_ is None or self.gamma_ is None:
            return X
        near = similarities(X, self.landmarks_, self.gamma_).astype(X.dtype)
        return np.asarray(solve_triangular(self._root, near.T, lower=True, check_finite=False)).T

    def decision_function(self, X: Any) -> AnyArray:
        """Return scores: logarithms of the probabilities, up to a constant per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The scores. With two classes, the score of the second class minus that of the first.
        """
        scores = self._scores(self._check(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> AnyArray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return np.asarray(softmax(self._scores(self._check(X)), axis=1))

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the highest score.
        """
        X = self._check(X)
        best = np.empty(len(X), dtype=np.intp)
        # the scores of all rows may need too much memory
        for rows in row_blocks(len(X), len(self.coef_)):
            best[rows] = self._scores(X[rows]).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _check(self, X: Any) -> AnyArray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=False)

    def _scores(self, X: AnyArray) -> AnyArray:
        """The scores of checked rows."""
        if self.landmarks_ is None:
            return np.asarray(X @ self.coef_.T + self.intercept_)
        scores = np.empty((len(X), len(self.coef_)), dtype=np.result_type(X, self.coef_))
        for rows in row_blocks(len(X), len(self.landmarks_)):
            np.matmul(self._describe(X[rows]), self.coef_.T, out=scores[rows])
        return scores + self.intercept_


@dataclass(frozen=True)
class Sums:
    """The statistics of the rows: sums by class, and the scatter within classes.

    Attributes
    ----------
    count : ndarray of shape (n_classes,)
        The total weight of the rows of each class.
    total : ndarray of shape (n_classes, n_columns)
        The sum of its rows, relative to the centre.
    centre : ndarray of shape (n_columns,)
        The mean of all rows.
    scatter : ndarray of shape (n_columns,)
        Eigenvalues of the scatter matrix within classes.
    axes : ndarray of shape (n_columns, n_columns)
        The eigenvectors, as columns.
    """

    count: FloatArray
    total: FloatArray
    centre: FloatArray
    scatter: FloatArray
    axes: FloatArray

    @property
    def means(self) -> FloatArray:
        """The means of the classes."""
        return np.asarray(self.total / self.count[:, None])

    @cached_property
    def turned_means(self) -> FloatArray:
        """The means of the classes along the axes."""
        return np.asarray(self.means @ self.axes)

    @property
    def log_shares(self) -> FloatArray:
        """Logarithms of the shares of the classes."""
        return np.asarray(np.log(self.count / self.count.sum()))

    def errors(self, shrinkage: float) -> FloatArray:
        """By how much the squared length of the mean of each class is too large on average."""
        within = self.scatter / self.freedom()
        return np.asarray((within @ self.inverse_variances(shrinkage)) / self.count)

    def freedom(self, fewer: float = 0.0) -> float:
        """The number of rows minus the number of classes and of rows that are left out."""
        return max(float(self.count.sum()) - len(self.count) - fewer, 1.0)

    def spread(self) -> float:
        """The mean variance of a column within classes; 1 if it is zero."""
        return float(self.scatter.sum() / self.freedom() / len(self.scatter)) or 1.0

    def inverse_variances(self, shrinkage: float, fewer: float = 0.0) -> FloatArray:
        """The inverse of the shrunk covariance along the axes."""
        within = self.scatter / self.freedom(fewer)
        variance = (1 - shrinkage) * within + shrinkage * self.spread()
        if variance.min() <= 1e-9 * max(variance.max(), np.finfo(float).tiny):
            raise ValueError(
                f"shrinkage={shrinkage} is too small: the covariance within classes is singular. "
                f"Use a larger value, or 'auto'."
            )
        return np.asarray(1 / variance)

    def inverse(self, shrinkage: float) -> FloatArray:
        """The inverse of the shrunk covariance."""
        return np.asarray((self.axes * self.inverse_variances(shrinkage)) @ self.axes.T)


@dataclass(frozen=True)
class LeftOut:
    """Rows that are left out, one at a time.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The rows, relative to the centre, along the axes of the scatter.
    target : ndarray of shape (n_rows,)
        Their classes.
    weight : ndarray of shape (n_rows,)
        The number of rows that each counts as.
    taken : ndarray of shape (n_rows,)
        The weight that is left out: of a row that counts as several, one.
    """

    rows: AnyArray
    target: IntArray
    weight: FloatArray
    taken: FloatArray


def _sum_up(
    X: AnyArray,
    target: IntArray,
    weight: FloatArray,
    n_classes: int,
    describe: Callable[[AnyArray], AnyArray],
) -> Sums:
    """Read all rows once, in blocks, and compute the sums."""
    count = np.bincount(target, weight).astype(np.float64)
    # Relative to a point near the mean: far from zero, rounding would destroy the products.
    start = describe(X[:1000]).mean(axis=0, dtype=np.float64).astype(X.dtype)
    total = np.zeros((n_classes, len(start)))
    gram = np.zeros((len(start), len(start)))
    for rows in row_blocks(len(X), len(start)):
        block = describe(X[rows]) - start
        weighted = block * weight[rows, None].astype(X.dtype)
        places = target[rows], np.arange(len(block))
        members = sp.csr_matrix((np.ones(len(block)), places), shape=(n_classes, len(block)))
        total += members @ weighted.astype(np.float64)
        gram += weighted.T @ block
    shift = total.sum(axis=0) / count.sum()
    scatter, axes = np.linalg.eigh(gram - (total.T / count) @ total)
    return Sums(
        count,
        total - count[:, None] * shift,
        start + shift,
        np.maximum(scatter, 0),
        axes,
    )


def _left_out(target: IntArray, weight: FloatArray, sums: Sums, rng: Any) -> IntArray:
    """The rows that are left out: a limited number from classes with other rows."""
    others = sums.count[target] - np.minimum(weight, 1) > 0
    some = np.flatnonzero(others)
    most = min(_MOST_LEFT_OUT, max(_FEWEST_LEFT_OUT, _MOST_SCORES // len(sums.count)))
    if len(some) > most:
        some = np.sort(rng.choice(some, most, replace=False))
    return some


def _choose(
    sums: Sums, left_out: LeftOut, shrinkages: tuple[float, ...]
) -> tuple[float, float, float, float]:
    """Shrinkage, correction and share weight with the fewest errors, and the factor.

    By leave-one-out. Ties go to the first candidate.
    """
    if not len(left_out.rows):  # every class has one row
        return shrinkages[0], 0.0, 1.0, 1.0
    errors = {
        (shrinkage, *settings): number
        for shrinkage in shrinkages
        for settings, number in _count_errors(sums, left_out, shrinkage).items()
    }
    best = min(errors, key=errors.__getitem__)
    return (*best, _best_factor(sums, left_out, *best))


def _count_errors(
    sums: Sums, left_out: LeftOut, shrinkage: float
) -> dict[tuple[float, float], float]:
    """The weight of the wrong rows, by correction and share weight."""
    found = dict.fromkeys(itertools.product(_CORRECTIONS, _SHARE_WEIGHTS), 0.0)
    shares = sums.log_shares.astype(np.float32)
    for part in _parts(left_out, len(sums.count)):
        plain = _scores_without(sums, part, shrinkage)
        for correction in _CORRECTIONS:
            scores = _corrected(plain, sums, part, shrinkage, correction)
            for share_weight in _SHARE_WEIGHTS:
                wrong = (scores + share_weight * shares).argmax(axis=1) != part.target
                found[correction, share_weight] += float(part.weight @ wrong)
    return found


def _best_factor(
    sums: Sums, left_out: LeftOut, shrinkage: float, correction: float, share_weight: float
) -> float:
    """The factor of the scores with the smallest leave-one-out log loss."""
    losses = np.zeros(len(_FACTORS))
    for part in _parts(left_out, len(sums.count)):
        plain = _scores_without(sums, part, shrinkage)
        scores = _corrected(plain, sums, part, shrinkage, correction)
        scores += (share_weight * sums.log_shares).astype(np.float32)
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[np.arange(len(scores)), part.target]
        for j, factor in enumerate(_FACTORS):
            loss = np.log(np.exp(factor * scores).sum(axis=1)) - factor * own
            losses[j] += part.weight @ loss
    return _FACTORS[int(losses.argmin())]


def _parts(left_out: LeftOut, n_classes: int) -> Iterator[LeftOut]:
    step = max(1, _MOST_SCORES // n_classes)
    for start in range(0, len(left_out.rows), step):
        s = slice(start, start + step)
        yield LeftOut(left_out.rows[s], left_out.target[s], left_out.weight[s], left_out.taken[s])


def _scores_without(sums: Sums, part: LeftOut, shrinkage: float) -> AnyArray:
    """Leave-one-out scores of rows, without corrections and class shares.

    Without a row x of class c, of which a weight u is removed, the mean of c moves away from it,
    and the scatter decreases by ``u n / (n - u) (x - m) (x - m)'``, whose inverse is known (Sherman
    and Morrison). The variance towards which the covariance is shrunk stays the same.
    """
    u, c, x, means = part.taken, part.target, part.rows, sums.turned_means
    rows = np.arange(len(u))
    inverse = sums.inverse_variances(shrinkage, 1.0)
    n = sums.count[c]
    away = x - means[c]
    own = means[c] - away * (u / (n - u))[:, None]
    lost = (1 - shrinkage) * u * n / (n - u) / sums.freedom(1.0)
    e = away * inverse
    gain = lost / np.maximum(1 - lost * _dots(e, away), 1e-6)
    # x'Am - m'Am / 2, where A is the inverse, and the same along e, the direction of the row
    # itself.
    scores = (x * inverse) @ means.T
    classes, place = np.unique(c, return_inverse=True)
    along = scores - ((means[classes] * inverse) @ means.T)[place]
    scores -= 0.5 * _dots(means * inverse, means)
    scores[rows, c] = _dots(x * inverse, own) - 0.5 * _dots(own * inverse, own)
    along[rows, c] = _dots(e, own)
    scores += gain[:, None] * along * (_dots(e, x)[:, None] - 0.5 * along)
    return np.asarray(scores)


def _corrected(
    plain: AnyArray, sums: Sums, part: LeftOut, shrinkage: float, correction: float
) -> AnyArray:
    """Scores with corrected lengths of means; the class of a row does not include the row."""
    longer = 0.5 * correction * sums.errors(shrinkage)
    scores = plain + longer
    n = sums.count[part.target]
    scores[np.arange(len(n)), part.target] += longer[part.target] * part.taken / (n - part.taken)
    return np.asarray(scores.astype(np.float32))


def _dots(a: AnyArray, b: AnyArray) -> AnyArray:
    """The inner products of the rows of two matrices."""
    return np.asarray(np.einsum("ij,ij->i", a, b))
