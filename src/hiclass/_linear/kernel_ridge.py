"""``KernelRidgeClassifier``: ridge regression of class indicators on similarities of rows.

With at most twice ``n_landmarks`` rows, the regression is exact, which is cheaper than an
approximation. Otherwise, similarities to a sample of the rows are used (Nyström's method), which
bounds time and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import check_classification_targets

from hiclass._compat import (
    Interval,
    check_is_fitted,
    check_sample_weight,
    validate_data,
    validate_parameter_constraints,
)
from hiclass._typing import AnyArray, FloatArray, IntArray

#: The number of rows from which the median distance is computed.
_MOST_FOR_DISTANCE = 1000
#: The largest number of similarities held at a time in ``decision_function``.
_MOST_NUMBERS = 4_000_000
_ROUNDING = 1e-12
#: Added to the similarities of landmarks, some of which may be almost identical.
_JITTERS = (1e-8, 1e-6, 1e-4)
_TOO_ALIKE = "alpha={} is too small, because rows are almost identical. Use a larger alpha."


class KernelRidgeClassifier(ClassifierMixin, BaseEstimator):
    """Kernel ridge classifier with Gaussian similarities, for dense numeric rows.

    Every class is separated from all others by a regression on +1 and -1 (a least-squares support
    vector machine). All classes share one matrix factorisation. It is an alternative to
    ``sklearn.svm.SVC`` with one-vs-rest scores, which can be calibrated, for tables, measurements
    and embeddings.

    Parameters
    ----------
    alpha : float, default=0.01
        The strength of the regularisation.
    width : float, default=1.0
        The width of the similarity, in units of the median distance between rows. The similarity of
        two rows at distance d is ``exp(-(d / (width * median)) ** 2)``.
    n_landmarks : int, default=3000
        If there are more than twice as many rows, similarities are computed to this many random
        rows instead of all. Time grows with its square times the number of rows, and memory with
        its square and with its product with the number of classes.
    random_state : int, RandomState instance or None, default=None
        Controls the choice of landmarks and, with more than 1,000 rows, of the rows from which the
        median distance is computed.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_kept, n_features)
        The landmarks: all training rows, or ``n_landmarks`` of them.
    dual_coef_ : ndarray of shape (n_kept, n_classes), or (n_kept, 1) for two classes
        The weights of the landmarks.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        The scores of a row that is similar to no landmark.
    gamma_ : float
        The factor of the squared distance in the similarity.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    sklearn.kernel_ridge.KernelRidge : Kernel ridge regression without landmarks.
    sklearn.svm.SVC : A support vector machine that separates pairs of classes.

    Notes
    -----
    Distances depend on the units of the columns. Scale them first, for example with
    ``StandardScaler``.

    Examples
    --------
    >>> from hiclass import KernelRidgeClassifier
    >>> X = [[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [1.0, 0.9]]
    >>> model = KernelRidgeClassifier().fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[0.1, 0.1], [0.8, 1.0]]).tolist()
    ['a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "width": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.01,
        width: float = 1.0,
        n_landmarks: int = 3000,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.width = width
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors. Rows with weight 0 are ignored.

        Returns
        -------
        self : KernelRidgeClassifier
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter is invalid, X is not finite, all rows belong to one class, or rows are so
            similar that they need a larger ``alpha``.
        """
        validate_parameter_constraints(
            self._parameter_constraints,
            self.get_params(deep=False),
            caller_name=type(self).__name__,
        )
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, target = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"KernelRidgeClassifier needs rows of at least two classes with a positive weight; "
                f"there is only one class: {self.classes_.tolist()}."
            )
        rng = check_random_state(self.random_state)
        self.gamma_ = 1 / (self.width**2 * median_squared_distance(X, weight, rng))
        shares = np.bincount(target, weight) / (len(target) if weight is None else weight.sum())
        self.intercept_ = 2 * (shares[1:] if len(shares) == 2 else shares) - 1
        goal = partial(_signs, target, len(self.classes_), self.intercept_)
        self.landmarks_, self.dual_coef_ = solve(self, X, goal, weight, rng)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores: about 1 for a row similar to those of a class, about -1 for others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The scores. With two classes, those of the second class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores = np.empty((len(X), self.dual_coef_.shape[1]))
        for rows in row_blocks(len(X), len(self.landmarks_)):
            similar = similarities(X[rows], self.landmarks_, self.gamma_)
            np.matmul(similar, self.dual_coef_, out=scores[rows])
        scores += self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

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
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])


def row_blocks(n_rows: int, width: int) -> list[slice]:
    step = max(1, _MOST_NUMBERS // width)
    return [slice(start, start + step) for start in range(0, n_rows, step)]


def median_squared_distance(X: Any, weight: FloatArray | None, rng: Any) -> float:
    """The median squared distance between different rows; 1 if all rows are identical."""
    n_rows = X.shape[0]
    weight = np.ones(n_rows) if weight is None else weight
    if n_rows > _MOST_FOR_DISTANCE:
        chosen = rng.choice(n_rows, _MOST_FOR_DISTANCE, replace=False)
        X, weight, n_rows = X[chosen], weight[chosen], len(chosen)
    pairs = np.triu_indices(n_rows, 1)
    X = _less(X, X.mean(axis=0))
    squared = euclidean_distances(X, squared=True)[pairs]
    # Identical rows have a distance due to rounding.
    order = np.flatnonzero(squared > _ROUNDING * row_norms(X, squared=True).max())
    if not len(order):
        return 1.0
    order = order[np.argsort(squared[order], kind="stable")]
    # A row of weight two counts as two rows.
    total = np.cumsum(weight[pairs[0][order]] * weight[pairs[1][order]])
    return float(squared[order[np.searchsorted(total, total[-1] / 2)]])


def _signs(target: IntArray, n_classes: int, intercept: FloatArray, rows: slice) -> FloatArray:
    """+1 for the class of a row and -1 for the others, centred; of two classes, the second."""
    some = target[rows]
    signs = np.full((len(some), n_classes), -1.0)
    signs[np.arange(len(some)), some] = 1
    return np.asarray((signs[:, 1:] if n_classes == 2 else signs) - intercept)


def _less(X: Any, centre: Any) -> Any:
    """Rows relative to a centre; sparse rows, which are close to zero, are unchanged."""
    return X if sp.issparse(X) else X - centre


def similarities(X: Any, landmarks: Any, gamma: float) -> FloatArray:
    """Similarities of rows to landmarks; far from zero, rounding would destroy distances."""
    centre = 0 if sp.issparse(X) or sp.issparse(landmarks) else landmarks.mean(axis=0)
    return np.asarray(rbf_kernel(_less(X, centre), _less(landmarks, centre), gamma=gamma))


def solve(
    model: Any, X: Any, goal: Callable[[slice], FloatArray], weight: FloatArray | None, rng: Any
) -> tuple[Any, FloatArray]:
    """The landmarks of a regression, all rows where that is cheaper, and their weights."""
    n_rows = X.shape[0]
    if n_rows <= 2 * model.n_landmarks:  # the exact solution is cheaper
        # A copy: the caller may change its rows.
        return X.copy(), solve_exactly(X, goal(slice(None)), weight, model.gamma_, model.alpha)
    landmarks = X[np.sort(rng.choice(n_rows, model.n_landmarks, replace=False))]
    return landmarks, solve_by_landmarks(X, landmarks, goal, weight, model.gamma_, model.alpha)


def solve_exactly(
    X: Any, signs: FloatArray, weight: FloatArray | None, gamma: float, alpha: float
) -> FloatArray:
    """The exact weights of all rows."""
    return solve_similar(rbf_kernel(_less(X, X.mean(axis=0)), gamma=gamma), signs, weight, alpha)


def solve_similar(
    similar: FloatArray, signs: FloatArray, weight: FloatArray | None, alpha: float
) -> FloatArray:
    """The weights of all rows from their similarities, which are overwritten."""
    similar[np.diag_indices(len(similar))] += alpha if weight is None else alpha / weight
    return np.asarray(cho_solve(_factor(similar, alpha), signs, check_finite=False))


def _factor(matrix: FloatArray, alpha: float) -> tuple[FloatArray, bool]:
    """Cholesky factor, protected against rounding that makes the matrix singular."""
    try:
        factor: tuple[FloatArray, bool] = cho_factor(
            matrix, lower=True, overwrite_a=True, check_finite=False
        )
    except np.linalg.LinAlgError as error:
        raise ValueError(_TOO_ALIKE.format(alpha)) from error
    return factor


def root_of(similar: FloatArray, alpha: float) -> FloatArray:
    """A square root of the similarities of landmarks, some of which may be almost identical."""
    for jitter in (*_JITTERS, alpha):
        try:
            return np.asarray(np.linalg.cholesky(similar + jitter * np.eye(len(similar))))
        except np.linalg.LinAlgError:
            continue
    raise ValueError(_TOO_ALIKE.format(alpha))


def solve_by_landmarks(
    X: Any,
    landmarks: Any,
    goal: Callable[[slice], FloatArray],
    weight: FloatArray | None,
    gamma: float,
    alpha: float,
) -> FloatArray:
    """The weights of the landmarks."""
    root = root_of(similarities(landmarks, landmarks, gamma), alpha)
    gram = alpha * np.eye(len(root))
    n_classes = goal(slice(0)).shape[1]
    right = np.zeros((len(root), n_classes))
    for rows in row_blocks(X.shape[0], len(root) + n_classes):
        # Coordinates of the rows in which similarities of landmarks are inner products.
        place = solve_triangular(
            root, similarities(X[rows], landmarks, gamma).T, lower=True, check_finite=False
        )
        weighted = place if weight is None else place * weight[rows]
        gram += weighted @ place.T
        right += weighted @ goal(rows)
    coef = cho_solve(_factor(gram, alpha), right, check_finite=False)
    return np.asarray(solve_triangular(root.T, coef, lower=False, check_finite=False))
