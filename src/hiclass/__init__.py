"""Hierarchical classification with scikit-learn: rows are classified into a tree of classes.

Names are imported on first use, so ``import hiclass`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hiclass._version import __version__ as __version__

if TYPE_CHECKING:
    from hiclass import datasets as datasets
    from hiclass import metrics as metrics
    from hiclass import model_selection as model_selection
    from hiclass._automatic.classifier import HierarchicalClassifier as HierarchicalClassifier
    from hiclass._automatic.features import TableFeatures as TableFeatures
    from hiclass._encoders.text_encoder import TextEncoder as TextEncoder
    from hiclass._engine.by_depth import ByDepth as ByDepth
    from hiclass._estimators.class_text import ClassTextClassifier as ClassTextClassifier
    from hiclass._estimators.conformal import ConformalClassifier as ConformalClassifier
    from hiclass._estimators.ensemble import EnsembleClassifier as EnsembleClassifier
    from hiclass._estimators.flat import FlatClassifier as FlatClassifier
    from hiclass._estimators.global_ import GlobalClassifier as GlobalClassifier
    from hiclass._estimators.guarantees import Guarantee as Guarantee
    from hiclass._estimators.label_forest import (
        MultiLabelForestClassifier as MultiLabelForestClassifier,
    )
    from hiclass._estimators.local import LocalClassifierPerLevel as LocalClassifierPerLevel
    from hiclass._estimators.local import LocalClassifierPerNode as LocalClassifierPerNode
    from hiclass._estimators.local import (
        LocalClassifierPerParentNode as LocalClassifierPerParentNode,
    )
    from hiclass._estimators.promising import guarantee_cost as guarantee_cost
    from hiclass._estimators.promising import guarantee_error as guarantee_error
    from hiclass._estimators.tuning import tune_confidence as tune_confidence
    from hiclass._estimators.words import add_class_texts as add_class_texts
    from hiclass._export.onnx import to_onnx as to_onnx
    from hiclass._export.persistence import TRUSTED_TYPES as TRUSTED_TYPES
    from hiclass._export.persistence import load as load
    from hiclass._export.persistence import trusted_types as trusted_types
    from hiclass._inspect.explain import explain as explain
    from hiclass._inspect.flat_comparison import FlatComparison as FlatComparison
    from hiclass._inspect.flat_comparison import compare_flat as compare_flat
    from hiclass._inspect.label_errors import LabelErrors as LabelErrors
    from hiclass._inspect.label_errors import find_label_errors as find_label_errors
    from hiclass._inspect.queries import predict_confidence as predict_confidence
    from hiclass._inspect.queries import predict_node_proba as predict_node_proba
    from hiclass._inspect.queries import predict_paths as predict_paths
    from hiclass._inspect.report import make_report as make_report
    from hiclass._inspect.reviewing import choose_for_review as choose_for_review
    from hiclass._inspect.triage import Triage as Triage
    from hiclass._inspect.triage import triage as triage
    from hiclass._inspect.use import UseComparison as UseComparison
    from hiclass._inspect.use import compare_use as compare_use
    from hiclass._inspect.use import outside_score as outside_score
    from hiclass._labels.gaps import truncate_at_gap as truncate_at_gap
    from hiclass._linear.discriminant import DiscriminantClassifier as DiscriminantClassifier
    from hiclass._linear.fast_svc import FastLinearSVC as FastLinearSVC
    from hiclass._linear.kernel_ridge import KernelRidgeClassifier as KernelRidgeClassifier
    from hiclass._linear.label_ridge import (
        MultiLabelKernelRidgeClassifier as MultiLabelKernelRidgeClassifier,
    )
    from hiclass.hierarchy import Hierarchy as Hierarchy
    from hiclass.model_selection import HierarchicalKFold as HierarchicalKFold

#: The public names and their modules.
_HOMES = {
    "ByDepth": "hiclass._engine.by_depth",
    "ClassTextClassifier": "hiclass._estimators.class_text",
    "ConformalClassifier": "hiclass._estimators.conformal",
    "DiscriminantClassifier": "hiclass._linear.discriminant",
    "EnsembleClassifier": "hiclass._estimators.ensemble",
    "FastLinearSVC": "hiclass._linear.fast_svc",
    "FlatClassifier": "hiclass._estimators.flat",
    "FlatComparison": "hiclass._inspect.flat_comparison",
    "GlobalClassifier": "hiclass._estimators.global_",
    "Guarantee": "hiclass._estimators.guarantees",
    "HierarchicalClassifier": "hiclass._automatic.classifier",
    "HierarchicalKFold": "hiclass.model_selection",
    "Hierarchy": "hiclass.hierarchy",
    "KernelRidgeClassifier": "hiclass._linear.kernel_ridge",
    "LabelErrors": "hiclass._inspect.label_errors",
    "LocalClassifierPerLevel": "hiclass._estimators.local",
    "LocalClassifierPerNode": "hiclass._estimators.local",
    "LocalClassifierPerParentNode": "hiclass._estimators.local",
    "MultiLabelForestClassifier": "hiclass._estimators.label_forest",
    "MultiLabelKernelRidgeClassifier": "hiclass._linear.label_ridge",
    "TRUSTED_TYPES": "hiclass._export.persistence",
    "TableFeatures": "hiclass._automatic.features",
    "TextEncoder": "hiclass._encoders.text_encoder",
    "Triage": "hiclass._inspect.triage",
    "UseComparison": "hiclass._inspect.use",
    "add_class_texts": "hiclass._estimators.words",
    "choose_for_review": "hiclass._inspect.reviewing",
    "compare_flat": "hiclass._inspect.flat_comparison",
    "compare_use": "hiclass._inspect.use",
    "explain": "hiclass._inspect.explain",
    "find_label_errors": "hiclass._inspect.label_errors",
    "guarantee_cost": "hiclass._estimators.promising",
    "guarantee_error": "hiclass._estimators.promising",
    "load": "hiclass._export.persistence",
    "make_report": "hiclass._inspect.report",
    "outside_score": "hiclass._inspect.use",
    "predict_confidence": "hiclass._inspect.queries",
    "predict_node_proba": "hiclass._inspect.queries",
    "predict_paths": "hiclass._inspect.queries",
    "to_onnx": "hiclass._export.onnx",
    "triage": "hiclass._inspect.triage",
    "truncate_at_gap": "hiclass._labels.gaps",
    "trusted_types": "hiclass._export.persistence",
    "tune_confidence": "hiclass._estimators.tuning",
}

#: Public modules that are available without importing them.
_MODULES = ("datasets", "metrics", "model_selection")

__all__ = [*_HOMES, "datasets", "metrics"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")  # which sets the attribute
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
