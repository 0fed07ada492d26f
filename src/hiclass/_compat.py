"""Private names of scikit-learn and joblib, and additions to their contract.

Everything that may move between versions of these libraries is imported only here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as n_rows_of
from sklearn.utils.validation import check_is_fitted, validate_data

try:
    from sklearn.svm import _base as svm_base
    from sklearn.svm import _classes as svm_classes
    from sklearn.svm import _liblinear as svm_liblinear
except ImportError:  # scikit-learn has moved them: liblinear.py detects this and does without them
    svm_base = svm_classes = svm_liblinear = None

try:  # experimental, since scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback._callback_support import callback_management_context as manage_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Empty, because this version of scikit-learn has no callbacks."""

    manage_callbacks = None

__all__ = [
    "UNUSED",
    "BaseComposition",
    "CallbackSupport",
    "Interval",
    "LinearClassifierMixin",
    "MetadataRouter",
    "MethodMapping",
    "SparseCoefMixin",
    "StrOptions",
    "TerminatedWorkerError",
    "Tree",
    "check_is_fitted",
    "check_sample_weight",
    "get_routing_for_object",
    "manage_callbacks",
    "n_rows_of",
    "offered_if",
    "process_routing",
    "routing_enabled",
    "safe_indexing",
    "svm_base",
    "svm_classes",
    "svm_liblinear",
    "validate_data",
    "validate_parameter_constraints",
]


class _Offered:
    """A method that is available only if a check passes; the check raises the reason."""

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
    """Make a method available only if a check raises no ``AttributeError``.

    Like scikit-learn's ``available_if``, but the reason is the message and not only its cause.
    """
    return lambda method: _Offered(method, check)
