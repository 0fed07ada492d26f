"""Hierarchical classification with scikit-learn: rows are classified into a tree of classes."""

from hiclass import datasets, metrics
from hiclass._automatic.classifier import HierarchicalClassifier
from hiclass._automatic.features import TableFeatures
from hiclass._engine.by_depth import ByDepth
from hiclass._estimators.conformal import ConformalClassifier, tune_confidence
from hiclass._estimators.ensemble import EnsembleClassifier
from hiclass._estimators.flat import FlatClassifier
from hiclass._estimators.global_ import GlobalClassifier
from hiclass._estimators.local import (
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._export.onnx import to_onnx
from hiclass._export.persistence import TRUSTED_TYPES, load, trusted_types
from hiclass._inspect.explain import explain
from hiclass._inspect.queries import predict_confidence, predict_node_proba, predict_paths
from hiclass._inspect.report import make_report
from hiclass._labels.gaps import truncate_at_gap
from hiclass._linear.fast_svc import FastLinearSVC
from hiclass._linear.kernel_ridge import KernelRidgeClassifier
from hiclass._version import __version__ as __version__
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold

__all__ = [
    "TRUSTED_TYPES",
    "ByDepth",
    "ConformalClassifier",
    "EnsembleClassifier",
    "FastLinearSVC",
    "FlatClassifier",
    "GlobalClassifier",
    "HierarchicalClassifier",
    "HierarchicalKFold",
    "Hierarchy",
    "KernelRidgeClassifier",
    "LocalClassifierPerLevel",
    "LocalClassifierPerNode",
    "LocalClassifierPerParentNode",
    "TableFeatures",
    "datasets",
    "explain",
    "load",
    "make_report",
    "metrics",
    "predict_confidence",
    "predict_node_proba",
    "predict_paths",
    "to_onnx",
    "truncate_at_gap",
    "trusted_types",
    "tune_confidence",
]
