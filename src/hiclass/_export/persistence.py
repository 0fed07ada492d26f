"""The types that a model file may contain: fitted models are saved with skops, which runs no code.

``skops.io.load`` builds only objects of trusted types. It trusts most types of scikit-learn and
NumPy by default; :data:`TRUSTED_TYPES` adds those of fitted models of this library. None of these
types runs anything that a file contains when it is built. :func:`trusted_types` adds the types of
the local classifiers of a particular model, and :func:`load` reads such files. Decision trees are
trusted by :func:`load` only, which validates them (:mod:`hiclass._export.trees`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from hiclass._automatic.classifier import HierarchicalClassifier
from hiclass._automatic.features import TableFeatures
from hiclass._automatic.joined_texts import JoinedTexts
from hiclass._encoders.text_encoder import TextEncoder
from hiclass._engine.by_depth import ByDepth
from hiclass._estimators.class_text import ClassTextClassifier
from hiclass._estimators.conformal import ConformalClassifier
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.global_ import GlobalClassifier
from hiclass._estimators.guarantees import Guarantee, Promise
from hiclass._estimators.incremental_sets import ColumnLearners
from hiclass._estimators.label_forest import MultiLabelForestClassifier
from hiclass._estimators.local import (
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._estimators.outputs import FinalOutputs, NodeOutputs
from hiclass._estimators.set_fitting import OneVsRest
from hiclass._export.trees import TREE, find_fault
from hiclass._linear.discriminant import DiscriminantClassifier
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._linear.kernel_ridge import KernelRidgeClassifier
from hiclass._linear.label_ridge import MultiLabelKernelRidgeClassifier
from hiclass._state import (
    AdaptedModels,
    BatchModels,
    CalibratedSetModels,
    EnsembleModels,
    LabelFormat,
    LevelColumns,
    LocalModels,
    Options,
    Packed,
    RestrictedModels,
    RestrictedSetModels,
    Scaling,
    SetBatchModels,
    SetEnsembleModels,
    SetFormat,
    SetModels,
    Stream,
    TextModels,
)
from hiclass._wrapping import is_fitted_classifier, unwrap
from hiclass.hierarchy import Hierarchy

_TYPES: tuple[type[Any], ...] = (
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
    GlobalClassifier,
    EnsembleClassifier,
    ClassTextClassifier,
    ConformalClassifier,
    HierarchicalClassifier,
    FastLinearSVC,
    KernelRidgeClassifier,
    DiscriminantClassifier,
    MultiLabelForestClassifier,
    MultiLabelKernelRidgeClassifier,
    ByDepth,
    LocalModels,
    Packed,
    EnsembleModels,
    RestrictedModels,
    AdaptedModels,
    Options,
    # The estimator of a global model, in the form that is queried.
    NodeOutputs,
    FinalOutputs,
    LabelFormat,
    Hierarchy,
    # Sets of classes per row.
    SetModels,
    SetEnsembleModels,
    RestrictedSetModels,
    CalibratedSetModels,
    SetBatchModels,
    SetFormat,
    OneVsRest,
    ColumnLearners,
    # The state of models that learn from batches.
    BatchModels,
    Stream,
    TextModels,
    LevelColumns,
    # Guarantees of predictions.
    Guarantee,
    Promise,
    # Features of tables and of texts.
    TableFeatures,
    JoinedTexts,
    TextEncoder,
    Scaling,
    # The type of the labels, and the models of an ensemble by name.
    np.dtype,
    Bunch,
)

#: The same for networks, by name, because their modules need PyTorch.
_OF_NETWORKS = (
    "hiclass.torch._classifier.HierarchicalSoftmaxClassifier",
    "hiclass.torch._known.Known",
    "hiclass.torch._layout.SetLayout",
    "hiclass.torch._layout.TreeLayout",
    "hiclass.torch._network.FittedNetwork",
    "hiclass.torch._network.Shape",
)

#: Names of the types in a fitted model, for ``skops.io.load(..., trusted=...)``.
TRUSTED_TYPES: tuple[str, ...] = (
    *(f"{t.__module__}.{t.__qualname__}" for t in _TYPES),
    *_OF_NETWORKS,
)


def trusted_types(model: Any) -> list[str]:
    """List the types in a model that skops does not trust by default.

    These are :data:`TRUSTED_TYPES` and further types of the local classifiers: types of libraries
    other than scikit-learn, and trees, which :func:`load` validates without a list. Call it on a
    model that you have fitted, review the list, and keep it in your code. A list derived from a
    file would trust anything in that file.

    Parameters
    ----------
    model : object
        Any object that skops can save, such as a fitted model or a pipeline.

    Returns
    -------
    list of str
        Names for ``skops.io.load(..., trusted=...)``: ``TRUSTED_TYPES``, then the further types of
        the model in alphabetical order.

    Raises
    ------
    ImportError
        If skops is not installed.

    Examples
    --------
    >>> from hiclass import TRUSTED_TYPES, LocalClassifierPerParentNode, trusted_types
    >>> model = LocalClassifierPerParentNode().fit([[0], [1]], [["a", "b"], ["a", "c"]])
    >>> trusted_types(model) == list(TRUSTED_TYPES)
    True
    """
    io = _import_skops()
    content = io.dumps(model)
    needed = set(io.get_untrusted_types(data=content))
    return [*TRUSTED_TYPES, *sorted(needed.difference(TRUSTED_TYPES))]


def _import_skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        error.add_note("Install it with: pip install skops")
        raise
    return skops.io


# -- files -------------------------------------------------------------------------------------

#: The header of files of ``hiclass fit``.
FORMAT, FORMAT_VERSION = "hiclass model", 3
#: The layouts that are read: layout 2 has no separator of paths.
_READABLE = (2, FORMAT_VERSION)
#: Further types: the list of columns that a ColumnTransformer drops has its own type in
#: scikit-learn 1.6, which skops does not know.
_OF_PIPELINES = ("sklearn.compose._column_transformer._RemainderColsList",)


class ModelFileError(ValueError):
    """A file from which no model can be loaded, with the problem and the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem


def load(path: Any, *, trusted: Iterable[str] = ()) -> Any:
    """Load a fitted model from a skops file without running code from the file.

    The file may be written by ``hiclass fit`` or ``skops.io.dump``. Pickles are never loaded,
    because they can run arbitrary code. Decision trees and forests of scikit-learn are validated:
    a tree that could make ``predict`` read outside its memory is rejected.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, default=()
        Names of further types that may be loaded, in addition to those that skops trusts by default
        and :data:`TRUSTED_TYPES`. See :func:`trusted_types`. Write the names into your program: a
        list derived from the file would trust anything in it.

    Returns
    -------
    estimator
        The fitted model. A file of ``hiclass fit`` holds a pipeline, whose ``predict`` takes a
        frame with the columns ``feature_names_in_``.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ImportError
        If skops is not installed.
    ValueError
        If the file is not a skops file, contains a type that is not trusted or an invalid decision
        tree, is not a model, or was written by an incompatible version of hiclass.

    See Also
    --------
    predict_confidence : Confidences of a model or pipeline.
    trusted_types : The types in a model.

    Examples
    --------
    >>> import skops.io
    >>> from hiclass import LocalClassifierPerParentNode, load
    >>> model = LocalClassifierPerParentNode().fit([[0], [1]], [["a", "b"], ["a", "c"]])
    >>> skops.io.dump(model, "model.skops")  # doctest: +SKIP
    >>> load("model.skops").predict([[1]])  # doctest: +SKIP
    array([['a', 'c']], dtype=object)
    """
    if isinstance(trusted, str):
        raise TypeError(f"trusted must be a list of names of types; got {trusted!r}.")
    content = read_model_file(path, trusted)
    if is_command_line_file(content):
        check_format_version(content, path)
        content = content.get("pipeline")
    if not is_fitted_classifier(unwrap(content).model):
        raise ModelFileError(
            f"{os.fspath(path)} holds a {type(content).__name__}, which is neither a fitted "
            "hierarchical classifier nor a pipeline or search that ends in one.",
            "Load other objects with skops.io.load.",
        )
    return content


def read_model_file(path: Any, trusted: Iterable[str] = ()) -> Any:
    """Read the content of a skops file without running code.

    Parameters
    ----------
    path : str or path
        The file.
    trusted : iterable of str, default=()
        Names of types that may be built besides those of fitted models.

    Returns
    -------
    object
        Whatever is in the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If it is not a skops file, holds a type that is not trusted or a decision tree that is not
        sound, or is damaged.
    """
    io = _import_skops()
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} does not exist, or is not a file.")
    try:
        types = io.get_untrusted_types(file=path)
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the file."
        ) from error
    except Exception as error:
        # Any error that a file of another kind causes in skops.
        raise ModelFileError(
            f"{path} is not a skops file.",
            "Only skops files are loaded. A pickle or joblib file can run any code: if you trust "
            "its source, load it with pickle or joblib, and save the model with skops.io.dump.",
        ) from error
    trusted = set(trusted)
    known = {*TRUSTED_TYPES, *_OF_PIPELINES, TREE, *trusted}
    if strange := sorted(set(types) - known):
        raise ModelFileError(
            f"{path} holds {strange[0]}, which is not a type that hiclass trusts, and was not "
            f"loaded.",
            f"If you trust this type and the source of the file, use trusted={strange!r}.",
        )
    try:
        content = io.load(path, trusted=sorted(known.intersection(types)))
        fault = None if TREE in trusted else find_fault(content)
    except Exception as error:
        raise ModelFileError(
            f"{path} cannot be loaded ({type(error).__name__}: {' '.join(str(error).split())}).",
            "It may be damaged or written by other versions. Fit and save the model again.",
        ) from error
    if fault is not None:
        raise ModelFileError(
            f"{path} contains an invalid decision tree, which could be harmful, and was not "
            f"loaded: {fault}.",
            f"If you trust the source of the file, use trusted=[{TREE!r}].",
        )
    return content


def is_command_line_file(content: Any) -> bool:
    """Whether the content of a file was written by ``hiclass fit``."""
    # Only strings are compared: a file may hold anything under this name, including arrays.
    stated = content.get("format") if isinstance(content, dict) else None
    return isinstance(stated, str) and stated == FORMAT


def check_format_version(content: dict[str, Any], path: Any) -> None:
    """Reject a file of ``hiclass fit`` in a format that this version does not read."""
    version = content.get("version")
    if not isinstance(version, int) or version not in _READABLE:
        raise ModelFileError(
            f"{os.fspath(path)} was written by hiclass {content.get('hiclass')}, in a format that "
            "this version cannot read.",
            "Create it again with hiclass fit.",
        )
