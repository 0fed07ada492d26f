"""X as rows, children as estimators, parameters; and the one place for private scikit-learn names.

X passes through to the children. Plain numeric arrays, nested lists of numbers and sparse matrices
are checked once; frames, text, documents and anything else are only sliced.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from copy import copy
from functools import lru_cache, update_wrapper
from types import MethodType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    _fit_context,  # noqa: F401
    clone,
)
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import (
    Interval,  # noqa: F401
    StrOptions,  # noqa: F401
    validate_parameter_constraints,
)
from sklearn.utils.metadata_routing import (
    UNUSED,  # noqa: F401
    MetadataRouter,  # noqa: F401
    MethodMapping,  # noqa: F401
    process_routing,  # noqa: F401
)
from sklearn.utils.metadata_routing import (
    _routing_enabled as routing_enabled,
)
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as n_rows_of
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: F401

from hiclass._labels import AnyArray, IntArray
from hiclass._wrapping import name_for_fit, unwrap

_CHUNK_BYTES = 1 << 28
#: A chunk has 256 rows even if that takes more, since every call of a classifier has a price; but
#: so many times more, as with a million classes, would fill the memory.
_MOST_CHUNK_BYTES = 1 << 29
_MOST_INT32 = np.iinfo(np.int32).max
#: Fewer rows than this are not worth a thread of their own.
_FEWEST_ROWS = 256
_PLAIN = (type(None), bool, int, float, str)


# -- X -----------------------------------------------------------------------------------------


def check_X(estimator: Any, X: Any, tags: Any, *, reset: bool) -> Any:
    """Check X as far as it is plain numbers, and its columns against those seen at fit."""
    finite = tags is not None and not tags.input_tags.allow_nan
    if sp.issparse(X):
        X = validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=finite)
        # Sorted here, since a child may not sort in place what it is only lent.
        X = X if X.has_sorted_indices else X.sorted_indices()
        return _with_small_indices(X)
    if isinstance(X, str | bytes):
        raise TypeError("X is a single text; give a list of documents, one per row.")
    if isinstance(X, type):
        raise TypeError(f"X is the class {X.__name__}; give rows.")
    if isinstance(X, Mapping | Set):
        raise TypeError(
            f"X is a {type(X).__name__}, which has no rows in an order. Give an array, a frame "
            f"(for columns by name, pandas.DataFrame(X)) or a list of rows."
        )
    if isinstance(X, list | tuple) and len(X):
        X = _numbers_or_as_is(X)
    elif not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufc":
        if not reset and _is_as_fitted(estimator, X, finite):
            return X
        return validate_data(
            estimator, X, reset=reset, allow_nd=True, ensure_all_finite=finite, dtype=None
        )
    if n_rows_of(X) == 0:
        raise ValueError("X is empty: found array with 0 sample(s) while 1 is required.")
    if len(getattr(X, "shape", ())) > 1:
        if X.shape[1] == 0:
            raise ValueError(
                f"Found 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
            )
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def _with_small_indices(X: Any) -> Any:
    """The same rows with 32-bit indices where they suffice: some classifiers take no others."""
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(X.nnz, X.shape[1]) > _MOST_INT32:
        return X
    X = copy(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _is_as_fitted(estimator: Any, X: AnyArray, finite: bool) -> bool:
    """Whether an array is, at a glance, as it has to be: for single rows a glance must do.

    If not, scikit-learn has a closer look, and says what is wrong.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "iuf" or not len(X):
        return False
    params = vars(estimator)
    if params.get("n_features_in_") != X.shape[1] or "feature_names_in_" in params:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not finite or X.dtype.kind != "f" or bool(np.isfinite(X.sum()))


def _numbers_or_as_is(X: Any) -> Any:
    """Nested lists of numbers as an array; documents and mixed rows as they are."""
    if not _is_numeric(next(iter(X), 0.0)):
        return X
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return X
    return array if array.dtype.kind in "biufc" else X


def _is_numeric(row: Any) -> bool:
    """Whether a row of a nested list holds numbers only."""
    values = np.ravel(np.asarray(row, dtype=object)) if not isinstance(row, dict) else [row]
    return all(isinstance(value, int | float | np.number) for value in values)


def take_rows(X: Any, rows: IntArray | None) -> Any:
    """A copy of some rows of X that a child may even write into; ``None`` for all rows."""
    if not hasattr(X, "__len__") and hasattr(X, "__array__"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X.copy() if rows is None else X[rows]
    return _safe_indexing(X, np.arange(n_rows_of(X)) if rows is None else rows)


def protect(X: Any) -> Any:
    """The same data, so that writing into it fails or harms nobody; without a copy."""
    if isinstance(X, np.ndarray):
        X = X.view()
        X.flags.writeable = False
    elif sp.issparse(X):
        X = copy(X)  # the container: its constructor would check all indices again
        X.data = X.data.view()
        X.data.flags.writeable = False
    elif hasattr(X, "iloc"):
        # From pandas 3 on, a shallow copy is copied when it is written to.
        X = X.copy(deep=int(sys.modules["pandas"].__version__.partition(".")[0]) < 3)
    return X


def chunks_of_rows(X: Any, width: int, n_jobs: int = 1) -> Iterator[slice]:
    """Split the rows so that a few arrays of ``width`` numbers per row stay small."""
    n_rows = n_rows_of(X)
    per_row = 8 * 4 * width + _bytes_per_row(X, n_rows)
    size = min(_CHUNK_BYTES // (n_jobs * per_row), -(-n_rows // n_jobs))
    fewest = min(_FEWEST_ROWS, n_rows) if n_jobs == 1 else _FEWEST_ROWS
    size = max(size, min(fewest, _MOST_CHUNK_BYTES // (n_jobs * per_row)), 1)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _bytes_per_row(X: Any, n_rows: int) -> int:
    if sp.issparse(X):
        return 12 * X.nnz // n_rows + 4
    return int(X.nbytes) // n_rows if isinstance(X, np.ndarray) else 256


def slice_rows(X: Any, rows: slice) -> Any:
    """A contiguous run of rows: a view where the container can give one."""
    if rows.start == 0 and rows.stop >= n_rows_of(X):
        return protect(X)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return protect(X[rows])
    return _safe_indexing(X, rows)


# -- methods ------------------------------------------------------------------------------------


class _Offered:
    """A method that is there only if a check lets it; the check raises the reason why not."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], None]) -> None:
        self._method = method
        self._check = check
        update_wrapper(self, method)  # type: ignore[arg-type]  # not callable: it makes methods

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self._method
        self._check(instance)
        return MethodType(self._method, instance)


def offered_if(check: Callable[[Any], None]) -> Callable[[Callable[..., Any]], _Offered]:
    """Offer a method only where a check raises no ``AttributeError``.

    As scikit-learn's ``available_if``, but the reason is the message and not only its cause.
    """
    return lambda method: _Offered(method, check)


# -- children ----------------------------------------------------------------------------------


def check_child(child: Any, name: str, kinds: str) -> Any:
    """Check that something can be used as a child; ``kinds`` says what can."""
    if inspect.isclass(child):
        raise TypeError(
            f"{name} is the class {child.__name__}; give an instance, {child.__name__}()."
        )
    if not hasattr(child, "fit"):
        raise TypeError(f"{name}={child!r} has no fit method. Give {kinds}.")
    return child


def copy_child(child: Any) -> Any:
    """Return an unfitted copy; a deep copy for objects that are no scikit-learn estimators."""
    if not is_plain(child):
        return clone(child, safe=False)
    again = object.__new__(type(child))
    vars(again).update(vars(child))
    return again


def is_plain(child: Any) -> bool:
    """Whether a child is all in its parameters, and copies can share the values of these.

    As a rule for the classifiers of scikit-learn. Then there is no need for ``clone`` and
    ``get_params``, which read the signature of the constructor: that takes as long as a small fit.
    """
    kind: Any = type(child)
    names = _names_of_parameters(kind)
    return (
        names is not None
        and vars(child).keys() == names
        and all(type(value) in _PLAIN for value in vars(child).values())
    )


@lru_cache(maxsize=64)
def _names_of_parameters(kind: type) -> Set[str] | None:
    """The parameters of a class of scikit-learn, whose constructors only store them."""
    if not kind.__module__.startswith("sklearn.") or not issubclass(kind, BaseEstimator):
        return None
    return inspect.signature(kind).parameters.keys()


def child_tags(child: Any) -> Any:
    """Tags of a child; None for an object that has none, which is then trusted with any X."""
    if not isinstance(child, BaseEstimator):
        return None
    tags = get_tags(child)
    # Not get_params: it takes long for a single row.
    params = (value for name, value in vars(child).items() if not name.endswith("_"))
    if isinstance(child, BaseComposition) or any(hasattr(value, "fit") for value in params):
        # Pipelines and other composites do not say what their parts take: let them decide.
        tags.input_tags.allow_nan = True
    return tags


def set_random_state(child: Any, seed: int) -> None:
    """Set every parameter of a child that is called ``random_state``."""
    if is_plain(child):
        if hasattr(child, "random_state"):
            child.random_state = seed
        return
    if not hasattr(child, "get_params"):
        return
    names = [n for n in child.get_params() if n == "random_state" or n.endswith("__random_state")]
    if names:
        child.set_params(**dict.fromkeys(names, seed))


def check_accepts_weights(child: Any, name: str, method: str = "fit") -> None:
    """Refuse sample weights for a child whose ``fit`` has no place for them.

    Weights pass through pipelines and searches; other parameters are for the child itself.
    """
    if name == "sample_weight":
        child = unwrap(child).model
    try:
        parameters = inspect.signature(getattr(child, method)).parameters
    except (AttributeError, TypeError, ValueError):
        return  # a builtin without a signature, or a step that is none: let it speak for itself
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if name not in parameters and not takes_any:
        raise ValueError(
            f"{name} was given but {type(child).__name__}.{method} does not take it. Leave it out, "
            f"or use a local classifier that supports it."
        )


def named_for_fit(child: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments for the ``fit`` of a child.

    Sample weights get the name under which a pipeline, or a search over one, hands them to its last
    step. With metadata routing enabled, they do so by themselves.
    """
    if "sample_weight" not in params or routing_enabled():
        return params
    name = name_for_fit(child, "sample_weight")
    return {(name if key == "sample_weight" else key): value for key, value in params.items()}


def check_parameters(estimator: Any, names: tuple[str, ...]) -> None:
    """Check some parameters that are read after fit, when they may have been set anew."""
    constraints = estimator._parameter_constraints
    known = [k for k in names if k in constraints and hasattr(estimator, k)]
    values = {k: getattr(estimator, k) for k in known}
    validate_parameter_constraints(constraints, values, caller_name=type(estimator).__name__)


def as_weights(sample_weight: Any, X: Any) -> AnyArray | None:
    """Sample weights as an array with one entry per row."""
    return None if sample_weight is None else check_sample_weight(sample_weight, X)


def check_weights(sample_weight: Any, X: Any) -> AnyArray | None:
    """The same, for what has a least loss, or shares of rows, only if no weight is below 0."""
    weights = as_weights(sample_weight, X)
    if weights is not None and (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {weights[row]}. Use 0 to leave a "
            f"row out."
        )
    return weights
