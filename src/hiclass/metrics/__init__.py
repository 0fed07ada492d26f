"""Metrics of hierarchical classification."""

from hiclass.metrics._automation import AutomationCurve, automation_curve
from hiclass.metrics._confidence import RiskCoverage, calibration_error, risk_coverage
from hiclass.metrics._display_confidence import (
    AutomationDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
)
from hiclass.metrics._display_confusion import ConfusionByLevelDisplay
from hiclass.metrics._display_tree import HierarchyDisplay
from hiclass.metrics._paths import (
    exact_match,
    h_loss,
    lca_f1,
    lca_precision,
    lca_recall,
    level_scores,
    severity,
    tree_distance,
)
from hiclass.metrics._probabilistic import average_precision, node_brier_score, node_log_loss
from hiclass.metrics._report import classification_report
from hiclass.metrics._scorers import (
    exact_match_scorer,
    f1_scorer,
    precision_scorer,
    recall_scorer,
)
from hiclass.metrics._sets import f1, fbeta, precision, recall

__all__ = [
    "AutomationCurve",
    "AutomationDisplay",
    "ConfusionByLevelDisplay",
    "HierarchyDisplay",
    "ReliabilityDisplay",
    "RiskCoverage",
    "RiskCoverageDisplay",
    "automation_curve",
    "average_precision",
    "calibration_error",
    "classification_report",
    "exact_match",
    "exact_match_scorer",
    "f1",
    "f1_scorer",
    "fbeta",
    "h_loss",
    "lca_f1",
    "lca_precision",
    "lca_recall",
    "level_scores",
    "node_brier_score",
    "node_log_loss",
    "precision",
    "precision_scorer",
    "recall",
    "recall_scorer",
    "risk_coverage",
    "severity",
    "tree_distance",
]
