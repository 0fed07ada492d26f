"""Hierarchical classification with scikit-learn: rows are classified into a tree of classes."""

from hiclass import datasets, metrics
from hiclass._conformal import ConformalClassifier, tune_confidence
from hiclass._ensemble import EnsembleClassifier
from hiclass._explain import explain
from hiclass._flat import FlatClassifier
from hiclass._global import GlobalClassifier
from hiclass._labels import truncate_at_gap
from hiclass._local import (
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._onnx import to_onnx
from hiclass._persistence import TRUSTED_TYPES, load, trusted_types
from hiclass._queries import predict_confidence, predict_node_proba, predict_paths
from hiclass._report import make_report
from hiclass._version import __version__ as __version__
from hiclass.hierarchy import Hierarchy
from hiclass.model_selection import HierarchicalKFold

__all__ = [
    "TRUSTED_TYPES",
    "ConformalClassifier",
    "EnsembleClassifier",
    "FlatClassifier",
    "GlobalClassifier",
    "HierarchicalKFold",
    "Hierarchy",
    "LocalClassifierPerLevel",
    "LocalClassifierPerNode",
    "LocalClassifierPerParentNode",
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
