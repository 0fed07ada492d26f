"""A program of a user, checked by mypy in strict mode: the public names have types."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

import hiclass
from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    Guarantee,
    HierarchicalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    Triage,
    UseComparison,
    choose_for_review,
    compare_use,
    explain,
    find_label_errors,
    guarantee_error,
    make_report,
    metrics,
    outside_score,
    triage,
)
from hiclass.datasets import make_hierarchical_classification
from hiclass.model_selection import HierarchicalKFold


def code(n_rows: int) -> tuple[float, Triage, UseComparison]:
    """Fit, promise, separate and compare."""
    X, y = make_hierarchical_classification(
        n_rows, branching=[3, 2], depth=2, noise=1.6, random_state=1, return_X_y=True
    )
    part = n_rows // 3
    tree: Hierarchy = Hierarchy.from_paths(y)
    names: list[object] = [tree.path(node) for node in range(1, tree.n_nodes)]
    model = LocalClassifierPerParentNode(LogisticRegression(), decoding="best_path")
    model.fit(X[:part], y[:part])
    rows_then, paths_then = X[part : 2 * part], y[part : 2 * part]
    promise: Guarantee = guarantee_error(model, rows_then, paths_then, 0.2, levels=1)
    promise.apply(model)
    predicted: np.ndarray = model.predict(X[2 * part :])
    score = float(metrics.f1(y[2 * part :], predicted, zero_division=0.0))
    found: Triage = triage(model, X[2 * part :], k=2)
    use: UseComparison = compare_use(model, rows_then, X[2 * part :])
    rows = choose_for_review(model, X[2 * part :], 5)
    suspects = find_label_errors(model, X[:part], y[:part], cv=2)
    report = make_report(model, X[2 * part :], y[2 * part :])
    lines = [str(explain(model, X[:1])), report.to_markdown(), str(len(names)), str(len(suspects))]
    assert len(rows) == 5
    assert all(lines)
    assert outside_score(model, X[:3]).shape == (3,)
    return score, found, use


def others() -> list[object]:
    """Make the other estimators."""
    members = [("flat", FlatClassifier()), ("local", LocalClassifierPerNode())]
    return [
        EnsembleClassifier(members),
        ConformalClassifier(LocalClassifierPerLevel(), random_state=0),
        HierarchicalClassifier(effort="quick"),
        HierarchicalKFold(3),
        hiclass.__version__,
    ]


if __name__ == "__main__":
    score, found, use = code(900)
    assert 0 < score <= 1
    assert isinstance(found.sure.sum().item(), int)
    assert isinstance(use.alarm, bool)
    assert len(others()) == 5
