"""Fits a ``LinearSVC`` without checking its rows once more, with the result of its own ``fit``.

On a few dozen rows ``LinearSVC.fit`` spends most of its time on checks of rows, labels and
parameters. The engine hands out slices of what was checked as a whole, so this module has a quick
look and then calls liblinear as ``fit`` would. Whatever is unusual is left to ``fit`` itself: other
classes, other kinds of rows, invalid parameters, and those that mean more than a fit.

liblinear is reached through private names of scikit-learn, which may change. So nothing is taken
on trust: before the first use in a process, two small problems are fitted both ways. Unless the
results are the same to the last bit, ``fit`` is used throughout.
"""

from __future__ import annotations

import linecache
import threading
import warnings
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state, compute_class_weight

from hiclass._compat import (
    check_sample_weight,
    svm_base,
    svm_classes,
    svm_liblinear,
    validate_parameter_constraints,
)
from hiclass._typing import AnyArray, IntArray

#: What ``fit`` uses of the class. A subclass may add to that but not change any of it.
_USED = {
    name: getattr(LinearSVC, name, None)
    for name in ("fit", "_validate_params", "_parameter_constraints")
}
#: The parameters that are known here: one that scikit-learn adds must not be ignored.
_KNOWN = {
    "C", "class_weight", "dual", "fit_intercept", "intercept_scaling", "loss", "max_iter",
    "multi_class", "penalty", "random_state", "tol", "verbose",
}  # fmt: skip
_MAX_SEED = np.iinfo(np.intc).max

_lock = threading.Lock()
_works: bool | None = None  # not known yet


def fit_linear_svc(estimator: Any, X: Any, target: IntArray, fit_params: dict[str, Any]) -> bool:
    """Fit an estimator as its ``fit`` would, if it is a usual ``LinearSVC`` on usual rows.

    Parameters
    ----------
    estimator : object
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
        Whether it is fitted now. If not, nothing has happened, and ``fit`` has to be called.
    """
    usual = (
        _is_usual(estimator)
        and fit_params.keys() <= {"sample_weight"}
        and _are_usual_rows(X)
        and _are_codes(target, X.shape[0])
    )
    return usual and _is_as_fit() and _fit(estimator, X, target, fit_params.get("sample_weight"))


def check_weights(estimator: Any, target: IntArray, weight: Any) -> None:
    """Refuse a class without weight: liblinear leaves its rows out and mixes the classes up."""
    if weight is None or not isinstance(estimator, LinearSVC):
        return
    if len(np.unique(target[np.asarray(weight) != 0])) <= target.max():
        raise ValueError(
            "All rows of one of the classes have a sample weight of 0. LinearSVC leaves such rows "
            "out and would then confuse the classes. Leave these rows out yourself, or give them "
            "a small weight."
        )


# -- what is usual -----------------------------------------------------------------------------


def _is_usual(estimator: Any) -> bool:
    kind = type(estimator)
    if not isinstance(estimator, LinearSVC):
        return False
    if any(getattr(kind, name, None) is not theirs for name, theirs in _USED.items()):
        return False
    params = dict(vars(estimator))
    params.pop("_metadata_request", None)
    # Everything else in there is something that only fit may know of, such as callbacks.
    if params.keys() != _KNOWN or not _is_seed(params.pop("random_state")):
        return False
    try:
        return _are_usual_parameters(**params)
    except TypeError:  # not hashable
        return False


def _is_seed(seed: Any) -> bool:
    if type(seed) is int:
        return 0 <= seed < 2**32
    return seed is None or isinstance(seed, np.random.RandomState)


@lru_cache(maxsize=64, typed=True)
def _are_usual_parameters(**params: Any) -> bool:
    """Whether parameters are valid, and liblinear is all that is needed."""
    try:
        validate_parameter_constraints(
            _USED["_parameter_constraints"], params, caller_name="LinearSVC"
        )
    except ValueError:
        return False
    return not params["verbose"] and params["multi_class"] == "ovr"


def _are_usual_rows(X: Any) -> bool:
    """Whether rows are finite numbers in the form that liblinear reads."""
    if sp.issparse(X):
        if X.format != "csr" or X.indices.dtype != np.intc or X.indptr.dtype != np.intc:
            return False
        values = X.data
    elif type(X) in (np.ndarray, np.memmap) and X.flags.c_contiguous:
        values = X
    else:
        return False
    if X.ndim != 2 or not X.shape[1] or values.dtype != np.float64:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _are_codes(target: Any, n_rows: int) -> bool:
    """Whether a target consists of all of 0..k-1, with at least two classes."""
    if target.ndim != 1 or target.dtype.kind != "i" or not 0 < len(target) == n_rows:
        return False
    if target.min() != 0 or not 0 < target.max() < n_rows:
        return False
    return bool(np.bincount(target).all())


# -- fit ---------------------------------------------------------------------------------------


def _fit(svc: Any, X: Any, target: IntArray, sample_weight: Any) -> bool:
    """What ``LinearSVC.fit`` does after its checks; False if it has to be called itself."""
    if svc.class_weight is not None and sample_weight is not None:
        return False  # whether they are combined depends on the version
    solver = _solver(svc, X.shape)
    if solver is None:
        return False
    classes = np.arange(target.max() + 1, dtype=target.dtype)
    if svc.class_weight is None:
        class_weight = np.ones(len(classes))
    else:
        class_weight = compute_class_weight(svc.class_weight, classes=classes, y=target)
    raw, n_iter = _train(svc, X, target, solver, class_weight, sample_weight)
    _set_fitted(svc, raw, max(n_iter).item(), classes)
    return True


def _solver(svc: Any, shape: tuple[int, int]) -> int | None:
    """The number of liblinear's solver; None where there is none for these parameters."""
    rows = SimpleNamespace(shape=shape)
    dual = svm_classes._validate_dual_parameter(svc.dual, svc.loss, svc.penalty, "ovr", rows)
    try:
        return int(svm_base._get_liblinear_solver_type("ovr", svc.penalty, svc.loss, dual))
    except ValueError:
        return None


def _train(
    svc: Any, X: Any, target: AnyArray, solver: int, class_weight: AnyArray, sample_weight: Any
) -> tuple[AnyArray, IntArray]:
    """Weights, with the intercepts in the last column if there are any; iterations per class."""
    if sample_weight is None:
        sample_weight = np.ones(len(target))
    else:
        sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
    svm_liblinear.set_verbosity_wrap(0)
    raw, n_iter = svm_liblinear.train_wrap(
        X,
        target.astype(np.float64),
        sp.issparse(X),
        solver,
        svc.tol,
        svc.intercept_scaling if svc.fit_intercept else -1.0,
        svc.C,
        class_weight,
        svc.max_iter,
        _draw(svc.random_state),
        0.1,  # of regression only
        sample_weight,
    )
    return raw, n_iter


def _set_fitted(svc: Any, raw: AnyArray, n_iter: int, classes: IntArray) -> None:
    if n_iter >= svc.max_iter:  # as there, with its error for weights that are all zero
        _warn_not_converged()
    svc.n_features_in_ = raw.shape[1] - bool(svc.fit_intercept)
    svc.classes_ = classes
    svc.coef_ = raw[:, :-1] if svc.fit_intercept else raw
    svc.intercept_ = svc.intercept_scaling * raw[:, -1] if svc.fit_intercept else 0.0
    svc.n_iter_ = n_iter


# -- class by class ----------------------------------------------------------------------------


class SomeClasses:
    """A part of a ``LinearSVC``: tells each of some classes from all others.

    Parameters
    ----------
    svc : LinearSVC
        The whole, unfitted.
    classes : ndarray of int
        The classes of this part.
    n_parts : int
        How many parts there are.
    solver : int
        The number of liblinear's solver.

    Attributes
    ----------
    weights_ : ndarray of shape (n_classes, n_features), or one column more for the intercepts
    n_iter_ : int
        The largest number of iterations.
    """

    def __init__(self, svc: Any, classes: IntArray, n_parts: int, solver: int) -> None:
        self.svc = svc
        self.classes = classes
        self.n_parts = n_parts
        self.solver = solver

    def fit(self, X: Any, y: IntArray, sample_weight: Any = None) -> SomeClasses:
        """Fit to all rows of the problem."""
        found = [
            _train(self.svc, X, y == c, self.solver, np.ones(2), sample_weight)
            for c in self.classes
        ]
        self.weights_ = np.vstack([weights for weights, _ in found])
        self.n_iter_ = max(max(n_iter).item() for _, n_iter in found)
        return self


def divide(
    svc: Any, X: Any, target: IntArray, fit_params: dict[str, Any], n_parts: int
) -> list[SomeClasses]:
    """Divide the classes of a problem, if its estimator is a usual ``LinearSVC`` on usual rows.

    liblinear tells every class from all others, one after the other. By themselves they give the
    same weights up to the tolerance: another order of the rows is drawn for them.

    Parameters
    ----------
    svc : object
        The unfitted estimator.
    X : rows
        All rows, not only those of the problem.
    target : ndarray of int
        The class of each row of the problem.
    fit_params : dict
        The keyword arguments for ``fit``, for all rows.
    n_parts : int
        How many parts there are at most.

    Returns
    -------
    list of SomeClasses
        The parts, whose fitted ones :func:`put_together` takes; none where that is not possible.
    """
    weight = fit_params.get("sample_weight")
    possible = (
        _is_usual(svc)
        and (weight is None or np.min(weight) > 0)
        and svc.class_weight is None
        and not isinstance(svc.random_state, np.random.RandomState)
        and fit_params.keys() <= {"sample_weight"}
        and _are_usual_rows(X)
        and _are_codes(target, len(target))
        and target.max() > 1
        and _is_as_fit()
    )
    solver = _solver(svc, (len(target), X.shape[1])) if possible else None
    if solver is None:
        return []
    classes = np.arange(target.max() + 1, dtype=target.dtype)
    n_parts = min(n_parts, len(classes))
    return [SomeClasses(svc, some, n_parts, solver) for some in np.array_split(classes, n_parts)]


def put_together(parts: list[SomeClasses]) -> Any:
    """The fitted ``LinearSVC`` of all its fitted parts, in any order."""
    parts = sorted(parts, key=lambda part: part.classes[0])
    # Column by column, as liblinear returns it.
    raw = np.asfortranarray(np.vstack([part.weights_ for part in parts]))
    classes = np.concatenate([part.classes for part in parts])
    _set_fitted(parts[0].svc, raw, max(part.n_iter_ for part in parts), classes)
    return parts[0].svc


def _draw(random_state: Any) -> int:
    """The seed that ``LinearSVC.fit`` draws for liblinear."""
    if type(random_state) is int:
        return _first_draw(random_state)
    return int(check_random_state(random_state).randint(_MAX_SEED))


@lru_cache(maxsize=64)
def _first_draw(seed: int) -> int:
    # Kept, since making a generator takes as long as a small fit.
    return int(np.random.RandomState(seed).randint(_MAX_SEED))


def _warn_not_converged() -> None:
    """Warn in the name of scikit-learn, so that filters for its modules apply.

    Calling ``fit`` for its warning would repeat just the fits that take longest.
    """
    warnings.warn_explicit(
        "Liblinear failed to converge, increase the number of iterations.",
        ConvergenceWarning,
        svm_base.__file__,
        lineno=_warning_line(),
        module=svm_base.__name__,
        registry=vars(svm_base).setdefault("__warningregistry__", {}),
    )


@lru_cache(maxsize=1)
def _warning_line() -> int:
    """The line where scikit-learn warns, since Python prints it below the warning."""
    lines = linecache.getlines(svm_base.__file__)  # none where there is no source to print
    message = next((i for i, line in enumerate(lines) if "Liblinear failed" in line), 0)
    calls = (i for i in range(message, 0, -1) if "warn(" in lines[i])
    return 1 + next(calls, 0)


# -- the check ---------------------------------------------------------------------------------


def _is_as_fit() -> bool:
    """Whether ``_fit`` does as ``LinearSVC.fit``; found out on the first call in a process."""
    global _works
    with _lock:
        if _works is None:
            # liblinear has one random generator per process, which another thread may be using.
            _works = any(_agrees() for _ in range(3))
        return _works


def _agrees() -> bool:
    rows = np.random.RandomState(0).standard_normal((12, 4))
    target = np.arange(12) % 3
    dual = LinearSVC(loss="hinge", dual=True, tol=0.1, C=0.5, intercept_scaling=2, random_state=3)
    primal = LinearSVC(
        dual=False, tol=0.1, fit_intercept=False, class_weight="balanced", random_state=0
    )
    try:
        return _agrees_on(dual, sp.csr_matrix(rows), target, rows[:, 0] ** 2) and _agrees_on(
            primal, rows, np.minimum(target, 1), None
        )
    except Exception:  # whatever it is: then it does not work
        return False


def _agrees_on(svc: Any, X: Any, target: IntArray, sample_weight: AnyArray | None) -> bool:
    mine = type(svc)(**svc.get_params())
    if not _fit(mine, X, target, sample_weight):
        return False
    theirs = vars(svc.fit(X, target, sample_weight=sample_weight))
    return vars(mine).keys() == theirs.keys() and all(
        type(value) is type(theirs[name]) and _is_same(value, theirs[name])
        for name, value in vars(mine).items()
    )


def _is_same(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray):
        return bool(a == b)
    return (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides) and bool((a == b).all())
