"""``FastLinearSVC``: a linear support vector machine that learns all classes in the same passes.

Its ``fit`` checks rows and classes and calls the solver. :func:`fit_checked` skips the checks, for
an engine that passes slices of rows that were checked as a whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets

from hiclass._compat import (
    Interval,
    LinearClassifierMixin,
    SparseCoefMixin,
    StrOptions,
    check_is_fitted,
    check_sample_weight,
    validate_data,
    validate_parameter_constraints,
)
from hiclass._linear.kernel import compiled
from hiclass._linear.solver import Problem, Solution, precision, train
from hiclass._rows import is_csr, largest_norm
from hiclass._typing import AnyArray, IntArray
from hiclass._warnings import warn_user

_MAX_INT32 = np.iinfo(np.int32).max


class FastLinearSVC(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear support vector classifier for text and other sparse rows.

    It solves the same one-vs-rest problem as ``LinearSVC(dual=True)`` of scikit-learn, with the
    stopping criterion of liblinear. Each pass over the rows updates up to 64 classes, which is
    several times faster with more than two classes. The weights equal those of ``LinearSVC`` within
    the tolerance. ``fit`` releases the global interpreter lock.

    It uses numba (the extra ``fast``). If numba is not installed, it uses ``LinearSVC`` instead;
    ``solver_`` names the solver that was used.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the loss. Smaller values give stronger regularisation.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss function.
    tol : float, default=0.1
        The tolerance of the stopping criterion, which applies to the projected gradients. The
        default is that of liblinear; ``LinearSVC`` uses 0.0001.
    max_iter : int, default=1000
        The maximum number of passes over the rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept. As in liblinear, it is the weight of an additional column and
        is regularised.
    intercept_scaling : float, default=1.0
        The value of the additional column.
    class_weight : dict or "balanced" or None, default=None
        Factors of ``C`` for the rows of a class. "balanced" uses the inverse of the class
        frequencies.
    random_state : int, RandomState instance or None, default=None
        Controls the order in which rows are visited.
    solver : {"auto", "numba", "liblinear"}, default="auto"
        "auto" uses "numba" if it is installed, otherwise "liblinear", that is ``LinearSVC``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        The weights. They are in single precision if the solver is numba, no row has a norm above
        100 and ``tol`` is at least 0.001; otherwise in double precision.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        The intercepts, or zeros if ``fit_intercept`` is False.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_iter_ : int
        The largest number of passes over all classes.
    solver_ : str
        The solver that was used, "numba" or "liblinear".
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has column names.

    See Also
    --------
    sklearn.svm.LinearSVC : The same model, solved one class at a time.

    Notes
    -----
    Dense rows are converted to a sparse copy.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from hiclass import FastLinearSVC
    >>> X = csr_matrix([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8], [0.0, 0.0]])
    >>> model = FastLinearSVC(random_state=0).fit(X, ["a", "a", "b", "b", "c"])
    >>> model.predict(csr_matrix([[0.7, 0.1]])).tolist()
    ['a']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "random_state": ["random_state"],
        "solver": [StrOptions({"auto", "numba", "liblinear"})],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,  # noqa: N803  # as in scikit-learn
        loss: str = "squared_hinge",
        tol: float = 0.1,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FastLinearSVC:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows. A CSR matrix is not copied.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of ``C`` for each row. Rows with weight 0 are ignored.

        Returns
        -------
        self : FastLinearSVC
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter is invalid, X is not finite, there is only one class, or all rows of a
            class have weight 0.
        ImportError
            If ``solver="numba"`` and numba is not installed.

        Warns
        -----
        ConvergenceWarning
            If the solver does not converge within ``max_iter`` passes.
        """
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), caller_name="FastLinearSVC"
        )
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, target = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"FastLinearSVC needs rows of at least two classes; there is only one class, "
                f"{self.classes_.tolist()[0]!r}."
            )
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
            _check_all_count(self.classes_, target, sample_weight)
        _fit(self, X, target, sample_weight)
        return self

    def decision_function(self, X: Any) -> AnyArray:
        """Return the scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The scores. With two classes, those of the second class.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        if sp.issparse(X):
            # Otherwise, all weights would be converted, even for few rows.
            X = X.astype(self.coef_.dtype, copy=False)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores.reshape(-1) if scores.shape[1] == 1 else scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def has_own_generator(estimator: Any) -> bool:
    """Whether the result of an estimator does not depend on other threads.

    Parameters
    ----------
    estimator : FastLinearSVC
        The estimator, fitted or not.

    Returns
    -------
    bool
        False where liblinear is the solver, which has one generator per process.
    """
    return bool(estimator.solver != "liblinear" and compiled() is not None)


def fit_checked(estimator: Any, X: Any, target: IntArray, fit_params: dict[str, Any]) -> bool:
    """Fit an estimator to rows that were checked as part of a larger matrix.

    Parameters
    ----------
    estimator : FastLinearSVC
        The unfitted estimator.
    X : rows
        Its rows.
    target : ndarray of int
        The class of each row, out of 0..k-1.
    fit_params : dict
        The keyword arguments for ``fit``.

    Returns
    -------
    bool
        Whether it is fitted now. If not, ``fit`` has to be called.
    """
    usual = (
        not fit_params
        and is_csr(X)
        and X.dtype in (np.float64, np.float32)
        and _problem_of(estimator) is not None
        and 0 < target.max() < len(target)
        and bool(np.bincount(target).all())
        and bool(np.isfinite(X.data.sum()))
    )
    if usual:
        estimator.classes_ = np.arange(target.max() + 1)
        estimator.n_features_in_ = X.shape[1]
        _fit(estimator, X, target, None)
    return usual


def fits_together(X: Any, norm: float) -> Callable[[Any], bool]:
    """The estimators that :func:`fit_together` can fit to rows of a matrix.

    Parameters
    ----------
    X : rows
        All rows.
    norm : float
        The largest norm of a row.

    Returns
    -------
    callable
        ``(estimator)`` to whether it is a ``FastLinearSVC`` that can be fitted with others.
    """
    usual = (
        is_csr(X)
        and X.dtype in (np.float64, np.float32)
        and X.indices.dtype == X.indptr.dtype == np.int32
        # Arrays of other processes are read-only: compiling again takes longer than it saves.
        and X.data.flags.writeable
        and X.has_canonical_format
    )

    def fits(estimator: Any) -> bool:
        if type(estimator) is not FastLinearSVC or not has_own_generator(estimator):
            return False
        problem = None if estimator.class_weight is not None else _problem_of(estimator)
        # NaN does not fit any precision: the fit of that problem raises the error.
        largest = norm**2 if problem is None else norm**2 + problem.bias**2
        return problem is not None and precision(problem.tol, largest) is np.float32

    return fits if usual else lambda estimator: False


def fit_together(
    estimators: list[Any],
    X: Any,
    rows: list[IntArray],
    targets: list[IntArray],
    most_columns: int,
) -> list[IntArray | None] | None:
    """Fit estimators to rows of one matrix in one call, on the columns that occur in them.

    Parameters
    ----------
    estimators : list of FastLinearSVC
        Unfitted ones, of those that :func:`fits_together` names.
    X : CSR matrix
        The rows of all.
    rows, targets : list of ndarray of int
        The rows of each estimator and their classes, out of 0..k-1.
    most_columns : int
        Where rows have more columns than this, all columns are used.

    Returns
    -------
    list of ndarray of int32, or None
        The columns of each estimator, ascending; None for all. None instead of the list if a class
        has no rows: nothing has happened then.
    """
    sizes = np.array([len(target) for target in targets])
    target = np.concatenate(targets)
    n_classes = np.maximum.reduceat(target, np.cumsum(sizes) - sizes) + 1
    before = np.cumsum(n_classes) - n_classes
    if n_classes.min() < 2 or not np.bincount(target + np.repeat(before, sizes)).all():
        return None
    solutions = train(
        _solver_of(estimators[0]),
        X,
        [_problem(estimator) for estimator in estimators],
        [_seed(estimator.random_state) for estimator in estimators],
        rows,
        target,
        n_classes,
        dtype=np.float32,
        most_columns=most_columns,
    )
    for estimator, k, found in zip(estimators, n_classes.tolist(), solutions, strict=True):
        estimator.classes_ = np.arange(k)
        estimator.n_features_in_ = found.weights.shape[1]
        _set_solution(estimator, found)
    return [found.columns for found in solutions]


def _problem_of(svc: Any) -> Problem | None:
    """The problem that an estimator solves; None if a parameter is invalid."""
    if not is_seed(svc.random_state):
        return None
    try:
        return _valid_problem(
            C=svc.C,
            loss=svc.loss,
            tol=svc.tol,
            max_iter=svc.max_iter,
            fit_intercept=svc.fit_intercept,
            intercept_scaling=svc.intercept_scaling,
            class_weight=svc.class_weight,
            solver=svc.solver,
        )
    except TypeError:  # not hashable
        return None


def is_seed(seed: Any) -> bool:
    """Whether ``seed`` is a usual ``random_state``; other types may be valid, too."""
    if type(seed) is int:
        return 0 <= seed < 2**32
    return seed is None or isinstance(seed, np.random.RandomState)


@lru_cache(maxsize=64, typed=True)
def _valid_problem(**params: Any) -> Problem | None:
    try:
        validate_parameter_constraints(
            FastLinearSVC._parameter_constraints, params, caller_name="FastLinearSVC"
        )
    except ValueError:
        return None
    return _problem(FastLinearSVC(**params))


def _problem(svc: Any) -> Problem:
    return Problem(
        squared=svc.loss == "squared_hinge",
        cost=float(svc.C),
        tol=float(svc.tol),
        bias=float(svc.intercept_scaling) if svc.fit_intercept else 0.0,
        max_iter=int(svc.max_iter),
    )


def _check_all_count(classes: AnyArray, target: IntArray, weight: AnyArray) -> None:
    """Reject a class without weight."""
    total = np.bincount(target[weight > 0], minlength=len(classes))
    if not total.all():
        raise ValueError(
            f"All rows of the class {classes.tolist()[total.argmin()]!r} have a sample weight of "
            "0, so it cannot be separated from the other classes. Leave these rows out, or give "
            "them a small weight."
        )


def _fit(svc: Any, X: Any, target: IntArray, sample_weight: AnyArray | None) -> None:
    """Solve the problem and set the fitted attributes but ``classes_`` and ``n_features_in_``."""
    class_weight = _class_weight(svc, target)
    solve = _solver_of(svc)
    if solve is None:
        _fit_by_liblinear(svc, X, target, class_weight, sample_weight)
        return
    problem, rows = _problem(svc), _as_rows(X)
    counted = np.arange(len(target))
    if sample_weight is not None:
        counted = np.flatnonzero(sample_weight > 0)
        target, sample_weight = target[counted], sample_weight[counted]
    dtype = precision(problem.tol, largest_norm(rows) ** 2 + problem.bias**2)
    found = train(
        solve,
        rows,
        [problem],
        [_seed(svc.random_state)],
        [counted],
        target,
        np.array([len(svc.classes_)]),
        class_weight,
        sample_weight,
        dtype=dtype,
    )
    _set_solution(svc, *found)


def _set_solution(svc: Any, found: Solution) -> None:
    """Set all fitted attributes except ``classes_`` and ``n_features_in_``."""
    svc.solver_ = "numba"
    svc.coef_ = found.weights
    svc.intercept_ = svc.intercept_scaling * found.intercept.astype(np.float64)
    svc.n_iter_ = int(found.n_iter.max())
    if not found.n_iter.all():
        svc.n_iter_ = int(svc.max_iter)
        warn_user(
            f"FastLinearSVC did not converge in max_iter={svc.max_iter} passes over the rows. "
            f"Scale the features, or increase max_iter or tol.",
            ConvergenceWarning,
        )


def _class_weight(svc: Any, target: IntArray) -> AnyArray:
    """The weight of each class."""
    if svc.class_weight is None:
        return np.ones(len(svc.classes_))
    y = svc.classes_[target]
    return np.asarray(compute_class_weight(svc.class_weight, classes=svc.classes_, y=y))


def _solver_of(svc: Any) -> Any:
    """The compiled solver; None for liblinear."""
    if svc.solver == "liblinear":
        return None
    solve = compiled()
    if solve is None and svc.solver == "numba":
        raise ImportError(
            "FastLinearSVC(solver='numba') needs numba, which is not installed. Install it with: "
            "pip install numba. Or use solver='auto'."
        )
    return solve


def _fit_by_liblinear(
    svc: Any, X: Any, target: IntArray, class_weight: AnyArray, sample_weight: AnyArray | None
) -> None:
    """Solve the problem with scikit-learn's ``LinearSVC``."""
    if sp.issparse(X):
        X = _as_rows(X)
        if X.indices.dtype != np.int32 and max(X.nnz, X.shape[1]) <= _MAX_INT32:
            # liblinear does not accept other index types.
            parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
            X = sp.csr_matrix(parts, shape=X.shape)
    other = LinearSVC(
        C=svc.C,
        loss=svc.loss,
        dual=True,
        tol=svc.tol,
        max_iter=svc.max_iter,
        fit_intercept=svc.fit_intercept,
        intercept_scaling=svc.intercept_scaling,
        class_weight=dict(enumerate(class_weight)),
        random_state=_seed(svc.random_state),
    )
    with warnings.catch_warnings():
        # Classes were checked before, and a local problem may have many.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        other.fit(X, target, sample_weight)
    svc.solver_ = "liblinear"
    svc.coef_ = other.coef_
    svc.intercept_ = np.broadcast_to(other.intercept_, len(other.coef_)).copy()
    svc.n_iter_ = other.n_iter_


def _as_rows(X: Any) -> Any:
    """Rows as a CSR matrix without duplicate entries; the input is not changed."""
    if not sp.issparse(X):
        return _filled(X)
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _filled(X: AnyArray) -> Any:
    """Dense rows as a CSR matrix; several times faster than SciPy."""
    if X.size > _MAX_INT32:
        return sp.csr_matrix(X)
    places = np.flatnonzero(X)
    ends = np.cumsum(np.count_nonzero(X, axis=1), dtype=np.int32)
    indptr = np.concatenate([np.zeros(1, np.int32), ends])
    indices = (places % X.shape[1]).astype(np.int32)
    return sp.csr_matrix((X.ravel()[places], indices, indptr), shape=X.shape)


def _seed(random_state: Any) -> int:
    """A seed for the solver; an integer is used as it is."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(_MAX_INT32))
