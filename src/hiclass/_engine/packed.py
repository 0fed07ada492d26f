"""Fits linear classifiers on the columns that occur in their rows, and stores only these weights.

The rows of one local problem have few of the columns of a large sparse X. A linear classifier has
weight 0 for all others, so it is fitted on the narrow matrix. It stays narrow: ``Packed`` consists
of the narrow classifier and its columns, and predicts for rows of full width. For users, it is
widened: :func:`widened` returns a working estimator of scikit-learn, whose ``coef_`` is a CSR
matrix of full width, as created by ``sparsify()``.

Settings that depend on the number of features, such as ``dual="auto"``, are chosen as for the full
width. The result is that of a plain ``fit``: to the last bit if the solver proceeds row by row
(``LinearSVC(dual=True)``, ``SGDClassifier``, ``FastLinearSVC``, ``Perceptron``,
``LogisticRegression`` with sag and saga), except for the rounding of averages, and within the
solver's tolerance otherwise.

``KINDS`` has an entry for every type of estimator that can be fitted this way. A class of a room
above defines its own as ``packing``. All other types, including subclasses, are fitted as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from hiclass._compat import svm_classes
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._rows import csr_like, is_csr, numbers_of
from hiclass._state import Packed
from hiclass._typing import AnyArray, IntArray

#: Above this share of columns, all are kept, because omitting the others saves too little.
LARGEST_SHARE = 0.5
#: The numbers of columns have 32 bits.
_MOST_COLUMNS = np.iinfo(np.int32).max
#: The cost of sorting an entry, relative to checking the flag of a column.
_SORT_COST = 128
#: A weight of a CSC matrix and the number of its row.
_SPARSE_BYTES = 12

Shape = tuple[int, int]
Pins = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How one type of estimator is fitted on some of the columns.

    Attributes
    ----------
    by_class : tuple of str
        Fitted attributes with a row per class and a column per feature. They become CSR matrices.
    by_column : tuple of (str, float)
        Fitted attributes with a number per feature, and the number for a column without entries.
    allows : callable
        ``(estimator)`` to whether its parameters allow it.
    pins : callable
        ``(estimator, full, narrow, whole)`` to the parameters that depend on the number of
        features, as ``fit`` would choose them at full width; None if that cannot be known. ``full``
        and ``narrow`` are the shapes of the rows, ``whole`` says whether it is fitted to all rows
        and not to folds of them.
    parts : callable
        ``(estimator)`` to the unfitted estimators inside it.
    fitted_parts : callable
        ``(estimator)`` to the fitted estimators inside it.
    in_folds : bool
        Whether its parts are fitted to some of the rows only.
    rounds : bool
        Whether files may have its weights in 32 bits. Not if scores are products of other rows,
        such as scaled ones, or if its weights have the bits that it needs already.
    """

    by_class: tuple[str, ...] = ()
    by_column: tuple[tuple[str, float], ...] = ()
    allows: Callable[[Any], bool] = lambda estimator: True
    pins: Callable[[Any, Shape, Shape, bool], Pins | None] = lambda *args: {}
    parts: Callable[[Any], list[Any]] = lambda estimator: []
    fitted_parts: Callable[[Any], list[Any]] = lambda estimator: []
    in_folds: bool = False
    rounds: bool = True


# -- columns -----------------------------------------------------------------------------------


def columns_of(X: Any) -> IntArray:
    """The columns with entries in ascending order; at least one.

    Parameters
    ----------
    X : CSR matrix
        The rows.

    Returns
    -------
    ndarray of int
    """
    if _SORT_COST * X.nnz < X.shape[1]:
        columns = np.unique(X.indices)
    else:  # so many entries that flags of all columns are faster
        occurs = np.zeros(X.shape[1], dtype=bool)
        occurs[X.indices] = True
        columns = np.flatnonzero(occurs)
    # Estimators reject a matrix without columns.
    return columns if len(columns) else np.zeros(1, dtype=np.intp)


def renumbered(X: Any, columns: IntArray) -> Any:
    """The same rows with only the columns that occur, in their order.

    Parameters
    ----------
    X : CSR matrix
        The rows; its values are shared.
    columns : ndarray of int
        All columns that have entries, ascending.

    Returns
    -------
    CSR matrix of shape (n_rows, n_columns), with 32-bit indices where these suffice
    """
    kind = np.int32 if X.nnz <= np.iinfo(np.int32).max else np.int64
    numbers: IntArray = numbers_of(X, columns).astype(kind, copy=False)
    return csr_like(X, X.data, numbers, X.indptr.astype(kind, copy=False), len(columns))


# -- fit ---------------------------------------------------------------------------------------


def fit_packed(
    estimator: Any,
    X: Any,
    fit: Callable[[Any], Any],
    *,
    min_coef: float = 0.0,
    norm: float = np.inf,
) -> Packed | None:
    """Fit an estimator on the columns that occur, if possible.

    Parameters
    ----------
    estimator : object
        The unfitted estimator.
    X : rows
        Its rows, at full width; dense ones only where small weights are dropped.
    fit : callable
        ``(rows)`` fits the estimator to them, with the target and weights of the problem.
    min_coef : float, default=0.0
        The smallest absolute value of a weight that is kept.
    norm : float, default=inf
        The largest norm of a training row.

    Returns
    -------
    Packed or None
        The fitted estimator with its columns: all of them where most occur, or where fewer might
        be solved in another way. None if it cannot be packed: nothing has happened then.
    """
    if not is_csr(X):
        if not min_coef or not _has_droppable(estimator, X):
            return None
        fit(X)
        return without_small_weights(_with_all_columns(estimator, X), min_coef)
    if X.shape[1] > _MOST_COLUMNS or not can_be_packed(estimator):
        return None
    columns = columns_of(X)
    pins: list[tuple[Any, Pins]] | None = None
    if len(columns) <= LARGEST_SHARE * X.shape[1]:
        pins = _all_pins(estimator, X.shape, (X.shape[0], len(columns)))
    if pins is None:
        columns, rows, pins = np.arange(X.shape[1]), X, []
    else:
        rows = renumbered(X, columns)
    with _pinned(pins):
        fit(rows)
    packed = Packed(
        estimator,
        columns.astype(np.int32),
        X.shape[1],
        norm=norm if _rounds(estimator) else np.inf,
    )
    return without_small_weights(packed, min_coef) if min_coef else packed


def _has_droppable(estimator: Any, X: Any) -> bool:
    """Whether small weights of an estimator of dense rows can be dropped."""
    usual = type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf"
    return usual and X.shape[1] <= _MOST_COLUMNS and can_be_packed(estimator)


def _with_all_columns(fitted: Any, X: AnyArray) -> Packed:
    """A fitted classifier of dense rows as a packed one, with all columns."""
    norm = np.inf
    if _rounds(fitted):
        norm = float(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64).max(initial=0)))
    return Packed(fitted, np.arange(X.shape[1], dtype=np.int32), X.shape[1], norm=norm)


@contextmanager
def _pinned(pins: list[tuple[Any, Pins]]) -> Iterator[None]:
    """Set parameters of estimators temporarily."""
    before = [(part, {name: vars(part)[name] for name in own}) for part, own in pins]
    try:
        for part, own in pins:
            vars(part).update(own)
        yield
    finally:
        for part, own in before:
            vars(part).update(own)


def smaller(fitted: Any, X: Any, min_coef: float) -> Packed:
    """Drop small weights of a classifier after all classifiers were fitted.

    Parameters
    ----------
    fitted : object
        A fitted classifier, packed or not, which is changed.
    X : rows
        The training rows.
    min_coef : float
        The smallest absolute value of a weight that is kept.

    Returns
    -------
    Packed
        The classifier with the weights that are left.

    Raises
    ------
    ValueError
        If it has no weights that can be dropped.
    """
    if not isinstance(fitted, Packed):
        if not _has_droppable(fitted, X):
            refuse_min_coef(fitted, X, min_coef)
        fitted = _with_all_columns(fitted, X)
    return without_small_weights(fitted, min_coef)


def refuse_min_coef(estimator: Any, X: Any, min_coef: float) -> NoReturn:
    """Raise an error that states why no weights of a classifier can be dropped."""
    what = f"min_coef={min_coef!r} drops small weights of linear classifiers"
    if not is_csr(X) and type(X) not in (np.ndarray, np.memmap):
        raise ValueError(
            f"{what} of matrices, but X has {type(X).__module__}.{type(X).__qualname__} rows. "
            f"Convert it with numpy.asarray or scipy.sparse.csr_matrix, or leave min_coef at 0."
        )
    raise ValueError(
        f"{what}, of which {type(estimator).__name__} with these parameters is not one. Use "
        f"LinearSVC, LogisticRegression, SGDClassifier, Perceptron or RidgeClassifier without an "
        f"L1 penalty of liblinear and without warm_start, or leave min_coef at 0."
    )


def can_be_packed(estimator: Any) -> bool:
    """Whether an estimator, and everything inside it, can be fitted on some of the columns."""
    kind = _kind_of(estimator)
    return kind.allows(estimator) and all(map(can_be_packed, kind.parts(estimator)))


def _kind_of(estimator: Any) -> Kind:
    """How an estimator is fitted on some of the columns, by the table or by its own class."""
    kind = KINDS.get(type(estimator)) or vars(type(estimator)).get("packing")
    return _OTHER if kind is None else kind


def _rounds(estimator: Any) -> bool:
    """Whether files may store the weights of everything inside in 32 bits."""
    kind = _kind_of(estimator)
    return kind.rounds and all(_rounds(part) for part in kind.parts(estimator))


def _all_pins(
    estimator: Any, full: Shape, narrow: Shape, whole: bool = True
) -> list[tuple[Any, Pins]] | None:
    """The parameters to set while an estimator, and everything inside it, is fitted."""
    kind = _kind_of(estimator)
    own = kind.pins(estimator, full, narrow, whole)
    if own is None:
        return None
    found = [(estimator, own)] if own else []
    for part in kind.parts(estimator):
        inside = _all_pins(part, full, narrow, whole and not kind.in_folds)
        if inside is None:
            return None
        found += inside
    return found


# -- widen -------------------------------------------------------------------------------------


#: The classifiers that users have accessed, as long as they use them.
_shown: WeakValueDictionary[Packed, Any] = WeakValueDictionary()


def shown(estimator: Any) -> Any:
    """A fitted local classifier in the form for users; the same object as long as it is in use.

    Parameters
    ----------
    estimator : object
        A fitted classifier, packed or not.

    Returns
    -------
    object
        The result of :func:`widened`, or the classifier itself if it is not packed.
    """
    if not isinstance(estimator, Packed):
        return estimator
    wide = _shown.get(estimator)
    if wide is None:
        wide = _shown[estimator] = widened(estimator)
    return wide


def widened(packed: Packed) -> Any:
    """A fitted estimator of the width of X, in the form for users.

    Parameters
    ----------
    packed : Packed
        A packed classifier.

    Returns
    -------
    estimator
        A copy with all features, whose weights are CSR matrices unless they are dense for all
        columns.
    """
    estimator = deepcopy(packed.estimator)
    columns, n_features = packed.columns, packed.n_features

    def wide_rows(name: str, weights: Any) -> Any:
        if name.startswith("_"):  # the averages of SGD, which are dense even in a sparse classifier
            wide = np.zeros((*weights.shape[:-1], n_features))
            wide[..., columns] = weights.toarray() if sp.issparse(weights) else weights
            return wide
        if len(columns) == n_features and not sp.issparse(weights):
            return weights.astype(np.float64) if packed.double else weights
        narrow = sp.csr_matrix(weights if sp.issparse(weights) else np.atleast_2d(weights))
        wide = sp.csr_matrix((narrow.shape[0], n_features), dtype=narrow.dtype)
        wide.data, wide.indptr = narrow.data, narrow.indptr
        wide.indices = columns.astype(narrow.indices.dtype)[narrow.indices]
        return wide.astype(np.float64, copy=False) if packed.double else wide

    def wide_row(numbers: AnyArray, nothing: float) -> AnyArray:
        wide = np.full(n_features, nothing, dtype=numbers.dtype)
        wide[columns] = numbers
        return wide

    _change_columns(estimator, n_features, wide_rows, wide_row)
    return estimator


def dense_narrow(packed: Packed) -> Any:
    """The narrow classifier of a packed one, with dense weights of 64 bits.

    Parameters
    ----------
    packed : Packed
        A packed classifier.

    Returns
    -------
    estimator
        The one that is packed where it is like that, otherwise a copy.
    """
    weights = [matrix for _, _, matrix in _all_weights(packed.estimator)]
    if not packed.double and not any(map(sp.issparse, weights)):
        return packed.estimator
    return _with_dense_weights(deepcopy(packed.estimator), packed.double)


def _with_dense_weights(estimator: Any, double: bool) -> Any:
    """The same estimator with dense weights; ``double`` converts them to 64 bits."""
    for part, name, matrix in list(_all_weights(estimator)):
        dense = matrix.toarray() if sp.issparse(matrix) else np.ascontiguousarray(matrix)
        vars(part)[name] = dense.astype(np.float64, copy=False) if double else dense
    return estimator


def unpacked(fitted: Any) -> Any:
    """A fitted estimator of the width of X with dense weights, which ``partial_fit`` needs.

    Parameters
    ----------
    fitted : object
        A fitted classifier, packed or not.

    Returns
    -------
    estimator
        A packed one as a copy with all features, as ``fit`` would have left it; others as they are.
    """
    if not isinstance(fitted, Packed):
        return fitted
    return _with_dense_weights(widened(fitted), fitted.double)


def without_small_weights(packed: Packed, smallest: float) -> Packed:
    """Drop weights with an absolute value below a bound, and columns without weights.

    Parameters
    ----------
    packed : Packed
        A packed classifier with dense weights, which is changed.
    smallest : float
        The smallest absolute value that is kept.

    Returns
    -------
    Packed
        The classifier with the columns that are left, at least one. Its weights are CSC matrices
        where these are smaller than dense ones.
    """
    found = [np.abs(np.atleast_2d(matrix)) for _, _, matrix in _all_weights(packed.estimator)]
    kept = np.flatnonzero(np.any([(m >= smallest).any(axis=0) for m in found], axis=0))
    if not len(kept):
        kept = np.zeros(1, dtype=np.intp)  # estimators reject a matrix without columns

    def large(name: str, weights: AnyArray) -> Any:
        some = weights[..., kept]
        some[np.abs(some) < smallest] = 0
        if some.ndim == 2 and _SPARSE_BYTES * np.count_nonzero(some) < some.nbytes:
            return sp.csc_matrix(some, dtype=np.float64)
        # In column order if it was, because then products are fast.
        return np.asfortranarray(some) if weights.flags.f_contiguous else some

    _change_columns(packed.estimator, len(kept), large, lambda numbers, nothing: numbers[kept])
    sparse = any(sp.issparse(matrix) for _, _, matrix in _all_weights(packed.estimator))
    return replace(packed, columns=packed.columns[kept], double=sparse, dropped=True)


def _change_columns(
    estimator: Any,
    n_columns: int,
    change_rows: Callable[[str, Any], Any],
    change_row: Callable[[AnyArray, float], AnyArray],
) -> None:
    """Give a fitted estimator other columns.

    The functions take the name and the values of weights by class, and the numbers by column with
    that of a column without entries.
    """
    kind = _kind_of(estimator)
    for part in kind.fitted_parts(estimator):
        _change_columns(part, n_columns, change_rows, change_row)
    attributes = vars(estimator)
    for name in kind.by_class:
        if attributes.get(name) is not None:
            attributes[name] = change_rows(name, attributes[name])
    for name, nothing in kind.by_column:
        if attributes.get(name) is not None:
            attributes[name] = change_row(attributes[name], nothing)
    if "n_features_in_" in attributes:
        attributes["n_features_in_"] = n_columns


def _all_weights(estimator: Any) -> Iterator[tuple[Any, str, Any]]:
    """All weights by class inside an estimator: the owner, the name and the matrix."""
    kind = _kind_of(estimator)
    for part in kind.fitted_parts(estimator):
        yield from _all_weights(part)
    for name in kind.by_class:
        if vars(estimator).get(name) is not None:
            yield estimator, name, vars(estimator)[name]


# -- the table ---------------------------------------------------------------------------------


def _svc_pins(svc: Any, full: Shape, narrow: Shape, whole: bool) -> Pins | None:
    """``dual="auto"`` uses the dual problem if there are fewer rows than features."""
    if svc.dual != "auto":
        return {}
    if svm_classes is None:  # scikit-learn has moved its rule
        return None
    if whole:
        return {"dual": _is_dual(svc, full)}
    # Folds have fewer rows, so they certainly use the dual if all rows do.
    fewer = full[0] < full[1] and narrow[0] < narrow[1]
    return {} if fewer else None


def _is_dual(svc: Any, shape: Shape) -> bool:
    rows = SimpleNamespace(shape=shape)
    return bool(
        svm_classes._validate_dual_parameter(svc.dual, svc.loss, svc.penalty, svc.multi_class, rows)
    )


def _ridge_pins(ridge: Any, full: Shape, narrow: Shape, whole: bool) -> Pins | None:
    """Some solvers use the dual problem if there are fewer rows than features.

    Its solution is the same, but the results differ within their tolerance.
    """
    if ridge.solver in ("svd", "lsqr", "sag", "saga", "lbfgs"):
        return {}
    # Folds have fewer rows, so they certainly use the same problem only if all rows use the dual.
    same = (full[0] < full[1]) == (narrow[0] < narrow[1]) if whole else narrow[0] < narrow[1]
    return {} if same else None


def _is_l2_svc(svc: Any) -> bool:
    """Not L1, whose solver proceeds column by column, in an order that depends on their number."""
    return bool(svc.penalty == "l2")


def _is_new_logistic(model: Any) -> bool:
    """Whether it starts at zero and is not solved column by column."""
    lasso = model.penalty == "l1" or model.l1_ratio not in (None, 0)
    return not model.warm_start and not (model.solver == "liblinear" and lasso)


def _starts_at_zero(model: Any) -> bool:
    return not model.warm_start


def _steps(pipeline: Any) -> list[Any]:
    return [step for _, step in pipeline.steps if not isinstance(step, str | None)]


def _scales_columns(pipeline: Any) -> bool:
    """Whether all steps except the last one transform each column separately."""
    *scalers, last = _steps(pipeline)
    return (
        pipeline.memory is None
        and last is pipeline.steps[-1][1]
        and all(_kind_of(step).by_column for step in scalers)
    )


def _to_calibrate(model: Any) -> list[Any]:
    # by the rule of scikit-learn
    return [LinearSVC() if model.estimator is None else model.estimator]


def _calibrated(model: Any) -> list[Any]:
    return [pair.estimator for pair in model.calibrated_classifiers_]


_SGD = Kind(by_class=("coef_", "_standard_coef", "_average_coef"), allows=_starts_at_zero)

_OTHER = Kind(allows=lambda estimator: False)

#: By type; only estimators of exactly these types are packed.
KINDS: dict[type, Kind] = {
    LinearSVC: Kind(by_class=("coef_",), allows=_is_l2_svc, pins=_svc_pins),
    FastLinearSVC: Kind(by_class=("coef_",), rounds=False),
    LogisticRegression: Kind(by_class=("coef_",), allows=_is_new_logistic),
    SGDClassifier: _SGD,
    Perceptron: _SGD,
    RidgeClassifier: Kind(by_class=("coef_",), pins=_ridge_pins),
    MaxAbsScaler: Kind(by_column=(("max_abs_", 0.0), ("scale_", 1.0))),
    StandardScaler: Kind(
        by_column=(("mean_", 0.0), ("var_", 0.0), ("scale_", 1.0)),
        allows=lambda scaler: not scaler.with_mean,
    ),
    Pipeline: Kind(allows=_scales_columns, parts=_steps, fitted_parts=_steps, rounds=False),
    CalibratedClassifierCV: Kind(
        parts=_to_calibrate,
        fitted_parts=_calibrated,
        in_folds=True,
        rounds=False,
    ),
}
if hasattr(linear_model, "PassiveAggressiveClassifier"):  # until scikit-learn 1.10
    KINDS[linear_model.PassiveAggressiveClassifier] = _SGD
