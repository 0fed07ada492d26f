"""``MultiLabelKernelRidgeClassifier``: the regression of ``kernel_ridge`` for several labels.

All classes share one factorisation, so thousands of them cost little more than one.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hiclass._compat import (
    Interval,
    check_is_fitted,
    check_sample_weight,
    validate_data,
    validate_parameter_constraints,
)
from hiclass._linear.kernel_ridge import median_squared_distance, row_blocks, similarities, solve
from hiclass._typing import AnyArray, FloatArray

#: Probabilities are not closer to 0 and 1, because a regression is never certain.
_LEAST = 1e-6


class MultiLabelKernelRidgeClassifier(ClassifierMixin, BaseEstimator):
    """Kernel ridge classifier with Gaussian similarities, for rows with several labels.

    Every class is a regression on 0 and 1, clipped to [0, 1]. All classes share one matrix
    factorisation. Rows may be dense or sparse.

    Parameters
    ----------
    alpha : float, default=1.0
        The strength of the regularisation. For classes that are easily separated, use 0.01.
    width : float, default=1.5
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
    landmarks_ : {ndarray, sparse matrix} of shape (n_kept, n_features)
        The landmarks: all training rows, or ``n_landmarks`` of them.
    dual_coef_ : ndarray of shape (n_kept, n_classes)
        The weights of the landmarks.
    intercept_ : ndarray of shape (n_classes,)
        The share of every class: the prediction for a row that is similar to no landmark.
    gamma_ : float
        The factor of the squared distance in the similarity.
    classes_ : ndarray, or list of ndarray
        The classes. For an indicator matrix, the array ``[0, 1]`` for every column.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    KernelRidgeClassifier : The classifier for one class per row.
    MultiLabelForestClassifier : A forest for rows with several labels.

    Notes
    -----
    Distances depend on the units of the columns. Scale them first, for example with
    ``StandardScaler``.

    Examples
    --------
    >>> from hiclass import FlatClassifier, MultiLabelKernelRidgeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> y = [["cat"], ["cat", "dog"], ["lion"], ["wolf", "lion"]]
    >>> tree = {"feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
    >>> ridge = MultiLabelKernelRidgeClassifier(alpha=0.01)
    >>> model = FlatClassifier(ridge, hierarchy=tree, multi_label=True).fit(X, y)
    >>> model.predict([[0, 1], [1, 0]]).tolist()
    [['dog', 'cat'], ['lion']]
    """

    classes_: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "width": [Interval(Real, 0, None, closed="neither")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        width: float = 1.5,
        n_landmarks: int = 3000,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.width = width
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiLabelKernelRidgeClassifier:
        """Fit the regression.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), or indicator of shape (n_samples, n_classes)
            The class of every row, or a dense or sparse indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors. Rows with weight 0 are ignored.

        Returns
        -------
        self : MultiLabelKernelRidgeClassifier
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter is invalid, X is not finite, y is neither one class per row nor an
            indicator matrix, or rows are so similar that they need a larger ``alpha``.
        """
        validate_parameter_constraints(
            self._parameter_constraints,
            self.get_params(deep=False),
            caller_name=type(self).__name__,
        )
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True)
        self.classes_, labels = read_indicator(y)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            kept = np.flatnonzero(weight > 0)
            X, labels, weight = X[kept], labels[kept], weight[kept]
        rng = check_random_state(self.random_state)
        self.gamma_ = 1 / (self.width**2 * median_squared_distance(X, weight, rng))
        mean = np.asarray(labels.mean(axis=0) if weight is None else weight @ labels / weight.sum())
        self.intercept_ = mean

        def goal(rows: slice) -> FloatArray:
            return np.asarray(labels[rows].toarray() - mean)

        self.landmarks_, self.dual_coef_ = solve(self, X, goal, weight, rng)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The regression, clipped to [0, 1]. For one class per row, scaled to sum to one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        proba = np.empty((X.shape[0], self.dual_coef_.shape[1]))
        for rows in row_blocks(len(proba), max(self.dual_coef_.shape)):
            similar = similarities(X[rows], self.landmarks_, self.gamma_)
            np.matmul(similar, self.dual_coef_, out=proba[rows])
        proba += self.intercept_
        np.clip(proba, _LEAST, 1 - _LEAST, out=proba)
        if not isinstance(self.classes_, list):
            proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of every row, or an indicator matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The most probable class. For an indicator matrix, 1 if the probability is above 0.5.
        """
        proba = self.predict_proba(X)
        if isinstance(self.classes_, list):
            return (proba > 0.5).astype(np.intp)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    # -- files ---------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # Sparse landmarks as plain arrays, because skops does not trust sparse matrices.
        state = dict(super().__getstate__())
        rows: Any = state.get("landmarks_")
        if sp.issparse(rows):
            parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
            state["landmarks_"] = {**parts, "width": rows.shape[1]}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        stored = state.get("landmarks_")
        if isinstance(stored, dict):
            parts = stored["data"], stored["indices"], stored["indptr"]
            rows = sp.csr_array(parts, shape=(len(parts[2]) - 1, stored["width"]))
            rows.check_format()  # positions in a damaged file may be out of range
            state = {**state, "landmarks_": rows}
        super().__setstate__(state)


def read_indicator(y: Any) -> tuple[Any, Any]:
    """Labels as a sparse matrix of 0 and 1.

    Parameters
    ----------
    y : ndarray or sparse matrix
        A class per row, or an indicator of several columns.

    Returns
    -------
    classes : ndarray, or list of ndarray
        The classes; for an indicator, 0 and 1 for every column.
    labels : sparse array of shape (n_rows, n_classes)
        The indicator.

    Raises
    ------
    ValueError
        If several columns hold anything but 0 and 1.
    """
    if not sp.issparse(y) and (y.ndim == 1 or y.shape[1] == 1):
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        entries = (np.ones(len(codes), dtype=np.float32), codes, np.arange(len(codes) + 1))
        return classes, sp.csr_array(entries, shape=(len(codes), len(classes)))
    values = np.asarray(y.data if sp.issparse(y) else y)
    wrong = values[~np.isin(values, (0, 1))].tolist()
    if wrong:
        raise ValueError(
            f"y has several columns, so it must be an indicator matrix of 0 and 1; it has "
            f"{wrong[0]!r}. Make one, for example with sklearn.preprocessing.MultiLabelBinarizer."
        )
    labels = sp.csr_array(y, dtype=np.float32)
    labels.eliminate_zeros()
    return [np.array([0, 1])] * labels.shape[1], labels
