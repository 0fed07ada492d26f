"""Metrics of hierarchical classification."""

from hiclass.metrics._areas import (
    PrecisionRecallCurve,
    average_precision,
    precision_recall_curve,
)
from hiclass.metrics._automation import AutomationCurve, automation_curve
from hiclass.metrics._cafa import CafaCurve, cafa_curve, f_max, information_content, s_min
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
from hiclass.metrics._probabilistic import node_brier_score, node_log_loss
from hiclass.metrics._ranking import coverage_error, ranking_loss
from hiclass.metrics._report import classification_report
from hiclass.metrics._scorers import (
    average_precision_scorer,
    coverage_error_scorer,
    exact_match_scorer,
    f1_scorer,
    f_max_scorer,
    jaccard_scorer,
    precision_scorer,
    ranking_loss_scorer,
    recall_scorer,
)
from hiclass.metrics._sets import f1, fbeta, jaccard, precision, recall

__all__ = [
    "AutomationCurve",
    "AutomationDisplay",
    "CafaCurve",
    "ConfusionByLevelDisplay",
    "HierarchyDisplay",
    "PrecisionRecallCurve",
    "ReliabilityDisplay",
    "RiskCoverage",
    "RiskCoverageDisplay",
    "automation_curve",
    "average_precision",
    "average_precision_scorer",
    "cafa_curve",
    "calibration_error",
    "classification_report",
    "coverage_error",
    "coverage_error_scorer",
    "exact_match",
    "exact_match_scorer",
    "f1",
    "f1_scorer",
    "f_max",
    "f_max_scorer",
    "fbeta",
    "h_loss",
    "information_content",
    "jaccard",
    "jaccard_scorer",
    "lca_f1",
    "lca_precision",
    "lca_recall",
    "level_scores",
    "node_brier_score",
    "node_log_loss",
    "precision",
    "precision_recall_curve",
    "precision_scorer",
    "ranking_loss",
    "ranking_loss_scorer",
    "recall",
    "recall_scorer",
    "risk_coverage",
    "s_min",
    "severity",
    "tree_distance",
]
