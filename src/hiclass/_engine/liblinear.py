"""Fits a ``LinearSVC`` without checking its rows again, with the same result as ``fit``.

On a few dozen rows, ``LinearSVC.fit`` spends most of its time on checks of rows, labels and
parameters. The engine passes slices of rows that were checked as a whole, so this module makes a
few quick checks and then calls liblinear as ``fit`` would. All unusual cases are left to ``fit``
itself: other classes, other kinds of rows, and invalid or unusual parameters.

liblinear is accessed through private names of scikit-learn, which may change. Before the first use
in a process, two small problems are therefore fitted both ways. Unless the results are identical to
the last bit, ``fit`` is always used.

liblinear has one random generator per process. Here, every call has its own copy of liblinear, so
that the result does not depend on other threads. Estimators that are left to ``fit`` use the
generator of the process, one after the other.
"""

from __future__ import annotations

import linecache
import math
import threading
import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC
from sklearn.utils import check_random_state, compute_class_weight

from hiclass._compat import (
    check_sample_weight,
    svm_base,
    svm_classes,
    svm_liblinear,
    validate_parameter_constraints,
)
from hiclass._engine.copies import Copies
from hiclass._linear.fast_svc import FastLinearSVC, has_own_generator, is_seed
from hiclass._typing import AnyArray, IntArray

#: The parts of the class that ``fit`` uses. A subclass may add to them but not change them.
_USED = {
    name: getattr(LinearSVC, name, None)
    for name in ("fit", "_validate_params", "_parameter_constraints")
}
#: The known parameters: a parameter that scikit-learn adds must not be ignored.
_KNOWN = {
    "C", "class_weight", "dual", "fit_intercept", "intercept_scaling", "loss", "max_iter",
    "multi_class", "penalty", "random_state", "tol", "verbose",
}  # fmt: skip
_MAX_SEED = np.iinfo(np.intc).max

#: liblinear, with a random generator for every caller.
_modules = Copies(svm_liblinear)

#: Held while estimators that use the generator of the process are fitted. Threads that they start
#: must not wait for it, so it is not the lock of the module itself.
_turn = threading.RLock()

_works: bool | None = None  # not known yet
_looking = threading.Lock()
#: One random generator per thread.
_generators = threading.local()


# -- fit ---------------------------------------------------------------------------------------


def fit_linear_svc(estimator: Any, X: Any, target: IntArray, fit_params: dict[str, Any]) -> None:
    """Fit a ``LinearSVC`` with the result of its ``fit``, whatever other threads are fitting.

    Parameters
    ----------
    estimator : LinearSVC
        The unfitted estimator.
    X : rows
        Its rows.
    target : ndarray of int
        The class of each row, out of 0..k-1.
    fit_params : dict
        The keyword arguments for ``fit``.
    """
    if not fit_quickly(estimator, X, target, fit_params):
        with _modules.original:
            estimator.fit(X, target, **fit_params)


def fit_quickly(estimator: Any, X: Any, target: IntArray, fit_params: dict[str, Any]) -> bool:
    """Fit an estimator as its ``fit`` would, if it is a usual ``LinearSVC`` on usual rows.

    Parameters
    ----------
    estimator, X, target, fit_params
        As for :func:`fit_linear_svc`.

    Returns
    -------
    bool
        Whether it is fitted now. If not, nothing has happened, and ``fit`` has to be called.
    """
    return (
        _is_usual(estimator)
        and _are_usual_fit_params(estimator, fit_params)
        and _are_usual_rows(X)
        and (n_classes := _count_codes(target, X.shape[0])) > 1
        and _is_as_fit()
        and _fit(estimator, X, target, n_classes, fit_params.get("sample_weight"))
    )


def check_weights(estimator: Any, target: IntArray, weight: Any) -> None:
    """Reject a class without weight, because liblinear drops its rows and confuses the classes."""
    if weight is None or not isinstance(estimator, LinearSVC):
        return
    if len(np.unique(target[np.asarray(weight) != 0])) <= target.max():
        raise ValueError(
            "All rows of one of the classes have a sample weight of 0. LinearSVC drops such rows "
            "and would then confuse the classes. Remove these rows, or give them a small weight."
        )


# -- threads ---------------------------------------------------------------------------------------


def fits_in_threads(estimator: Any, X: Any, fit_params: dict[str, Any]) -> bool:
    """Whether threads can fit such an estimator at the same time, for all or most of its time.

    Parameters
    ----------
    estimator : object
        An unfitted estimator.
    X : rows
        All rows.
    fit_params : dict
        The keyword arguments for ``fit``.

    Returns
    -------
    bool
        True for a ``LinearSVC`` that :func:`fit_quickly` fits, where liblinear can be copied, and
        for a ``FastLinearSVC`` that liblinear does not solve.
    """
    if isinstance(estimator, FastLinearSVC):
        return has_own_generator(estimator)
    return (
        _is_usual(estimator)
        and _are_usual_fit_params(estimator, fit_params)
        and _are_usual_rows(X)
        and _is_as_fit()
        and _modules.can_be_made()
    )


def alone(estimator: Any) -> AbstractContextManager[Any]:
    """The lock to hold while an estimator is fitted in a thread next to others.

    It is a lock if something inside the estimator uses the random generator of the process, so that
    the result does not depend on other threads. Not for a ``LinearSVC``, which
    :func:`fit_linear_svc` handles.
    """
    if isinstance(estimator, LinearSVC) or not _shares_generator(estimator, set()):
        return nullcontext()
    return _turn


def _shares_generator(value: Any, seen: set[int]) -> bool:
    """Whether a parameter, or something inside it, uses liblinear, or libsvm with randomness.

    ``seen`` has the identities of visited objects, because an estimator may contain itself.
    """
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, str):
        return value == "liblinear"  # the solver of a LogisticRegression, also in a search
    if isinstance(value, LinearSVC | LinearSVR):
        return True
    if isinstance(value, FastLinearSVC):
        return not has_own_generator(value)
    if isinstance(value, SVC | NuSVC):
        return value.probability is True
    if isinstance(value, CalibratedClassifierCV) and value.estimator is None:
        return True  # None stands for a LinearSVC
    parts: Any = ()
    if isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif hasattr(value, "fit") and not isinstance(value, type):
        parts = getattr(value, "__dict__", {}).values()
    return any(_shares_generator(part, seen) for part in parts)


# -- usual cases -----------------------------------------------------------------------------------


def _is_usual(estimator: Any) -> bool:
    kind = type(estimator)
    if not isinstance(estimator, LinearSVC):
        return False
    if any(getattr(kind, name, None) is not theirs for name, theirs in _USED.items()):
        return False
    params = dict(vars(estimator))
    params.pop("_metadata_request", None)
    # Anything else is something that only fit may know, such as callbacks.
    if params.keys() != _KNOWN or not is_seed(params.pop("random_state")):
        return False
    try:
        return _are_usual_parameters(**params)
    except TypeError:  # not hashable
        return False


def _are_usual_fit_params(svc: Any, fit_params: dict[str, Any]) -> bool:
    # Whether row and class weights are combined depends on the version.
    weighted_twice = svc.class_weight is not None and fit_params.get("sample_weight") is not None
    return fit_params.keys() <= {"sample_weight"} and not weighted_twice


@lru_cache(maxsize=64, typed=True)
def _are_usual_parameters(**params: Any) -> bool:
    """Whether parameters are valid, and only liblinear is needed."""
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
        return math.isfinite(values.sum())


def _count_codes(target: Any, n_rows: int) -> int:
    """The number of classes of a target that consists of all of 0..k-1; 0 for any other target."""
    if target.ndim != 1 or target.dtype.kind != "i" or not 0 < len(target) == n_rows:
        return 0
    if target.min() < 0 or target.max() >= n_rows:
        return 0
    counts = np.bincount(target)
    return len(counts) if counts.all() else 0


# -- the fast fit ----------------------------------------------------------------------------------


def _fit(svc: Any, X: Any, target: IntArray, n_classes: int, sample_weight: Any) -> bool:
    """The part of ``LinearSVC.fit`` after its checks; False if ``fit`` has to be called."""
    solver = _solver(svc, X.shape)
    if solver is None:
        return False
    classes = np.arange(n_classes, dtype=target.dtype)
    if svc.class_weight is None:
        class_weight = np.ones(n_classes)
    else:
        class_weight = compute_class_weight(svc.class_weight, classes=classes, y=target)
    raw, n_iter = _train(svc, X, target, solver, class_weight, sample_weight)
    _set_fitted(svc, raw, max(n_iter).item(), classes)
    return True


def _solver(svc: Any, shape: tuple[int, int]) -> int | None:
    """The number of liblinear's solver; None if there is none for these parameters."""
    rows = SimpleNamespace(shape=shape)
    dual = svm_classes._validate_dual_parameter(svc.dual, svc.loss, svc.penalty, "ovr", rows)
    try:
        return int(svm_base._get_liblinear_solver_type("ovr", svc.penalty, svc.loss, dual))
    except ValueError:
        return None


def _train(
    svc: Any, X: Any, target: AnyArray, solver: int, class_weight: AnyArray, sample_weight: Any
) -> tuple[AnyArray, IntArray]:
    """Weights, with the intercepts in the last column if any, and iterations per class."""
    if sample_weight is None:
        sample_weight = np.ones(len(target))
    else:
        sample_weight = check_sample_weight(sample_weight, X, dtype=np.float64)
    with _modules.one() as liblinear:
        liblinear.set_verbosity_wrap(0)
        raw, n_iter = liblinear.train_wrap(
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
            0.1,  # for regression only
            sample_weight,
        )
    return raw, n_iter


def _set_fitted(svc: Any, raw: AnyArray, n_iter: int, classes: IntArray) -> None:
    if n_iter >= svc.max_iter:  # as in scikit-learn, with its error for weights that are all zero
        _warn_not_converged()
    svc.n_features_in_ = raw.shape[1] - bool(svc.fit_intercept)
    svc.classes_ = classes
    svc.coef_ = raw[:, :-1] if svc.fit_intercept else raw
    svc.intercept_ = svc.intercept_scaling * raw[:, -1] if svc.fit_intercept else 0.0
    svc.n_iter_ = n_iter


def _draw(random_state: Any) -> int:
    """The seed that ``LinearSVC.fit`` draws for liblinear."""
    if type(random_state) is int:
        return _first_draw(random_state)
    return int(check_random_state(random_state).randint(_MAX_SEED))


@lru_cache(maxsize=64)
def _first_draw(seed: int) -> int:
    # The generator of a thread is seeded again, because creating one takes as long as a small fit.
    if not hasattr(_generators, "own"):
        _generators.own = np.random.RandomState(seed)
    else:
        _generators.own.seed(seed)
    return int(_generators.own.randint(_MAX_SEED))


def _warn_not_converged() -> None:
    """Warn in the name of scikit-learn, so that filters for its modules apply.

    Calling ``fit`` for its warning would repeat the slowest fits.
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
    """The line where scikit-learn warns, because Python prints it below the warning."""
    lines = linecache.getlines(svm_base.__file__)  # none if there is no source to print
    message = next((i for i, line in enumerate(lines) if "Liblinear failed" in line), 0)
    calls = (i for i in range(message, 0, -1) if "warn(" in lines[i])
    return 1 + next(calls, 0)


# -- the check ---------------------------------------------------------------------------------


def _is_as_fit() -> bool:
    """Whether ``_fit`` gives the results of ``LinearSVC.fit``; tested once per process."""
    global _works
    if _works is None:
        with _looking:
            if _works is None:
                # Threads of other programs may be using the random generator of the process.
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
    except Exception:  # whatever the error is: then it does not work
        return False


def _agrees_on(svc: Any, X: Any, target: IntArray, sample_weight: AnyArray | None) -> bool:
    mine = type(svc)(**svc.get_params())
    if not _fit(mine, X, target, target.max() + 1, sample_weight):
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
