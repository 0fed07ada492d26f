"""Scores of several labels per row, as written by commands."""

from __future__ import annotations

from typing import Any

from hiclass import metrics
from hiclass._cli import _screen
from hiclass._labels.columns import object_array
from hiclass.hierarchy import Hierarchy


def write_set_scores(y: Any, predicted: Any, proba: Any, hierarchy: Hierarchy) -> None:
    """Write a table with the scores per level, those over all classes, and those of rankings.

    Parameters
    ----------
    y, predicted : ndarray of lists
        True and predicted labels. True ones may be unknown to the hierarchy, unless it was given.
    proba : ndarray of shape (n_rows, n_nodes)
        The probability of every class.
    hierarchy : Hierarchy
        The classes of the model.
    """
    known, n_unknown = _known(y, hierarchy)
    # Labels that the model does not have are separate classes, which are never predicted.
    graph = None if n_unknown else hierarchy
    options: dict[str, Any] = {"hierarchy": graph, "multi_label": True, "zero_division": 0.0}
    report: Any = metrics.classification_report(y, predicted, output_dict=True, **options)
    ranked: dict[str, Any] = {"hierarchy": hierarchy, "multi_label": True}
    has_truth = any(map(len, known))
    areas: Any = [float("nan")] * hierarchy.depth
    if has_truth:
        areas = metrics.average_precision(known, proba, per_level=True, **ranked)
    rows = []
    for i, row in enumerate(report["levels"]):
        area = f"{areas[i]:.3f}" if i < len(areas) and areas[i] == areas[i] else ""
        scores = [f"{row[name]:.3f}" for name in ("precision", "recall", "f1")]
        sizes = [f"{row['n_classes']:,}", f"{int(row['support']):,}"]
        rows.append([str(row["level"]), *sizes, *scores, area])
    _screen.write_table(
        ["level", "classes here", "labels", "precision", "recall", "F1", "AU(PRC)"], rows
    )
    _screen.heading(f"over all classes: {set_scores_text(report, y, predicted, options)}")
    if has_truth:
        micro, macro, weighted = (
            metrics.average_precision(known, proba, average=average, **ranked)
            for average in ("micro", "macro", "weighted")
        )
        coverage = metrics.coverage_error(known, proba, **ranked)
        loss = metrics.ranking_loss(known, proba, **ranked)
        _screen.write(
            f"AU(PRC) {micro:.3f}, mean over classes {macro:.3f}, weighted {weighted:.3f}; "
            f"coverage error {coverage:.1f} of {hierarchy.n_nodes - 1:,} classes, "
            f"ranking loss {loss:.3f}"
        )
    if n_unknown:
        _screen.write(
            f"{_screen.count(n_unknown, 'label')} of these rows "
            f"{'is' if n_unknown == 1 else 'are'} unknown to the model. They are ignored by "
            "AU(PRC), coverage error and ranking loss, and count as missed in all other scores"
        )


def set_scores_text(report: Any, y: Any, predicted: Any, options: dict[str, Any]) -> str:
    """The scores over all classes, in one line."""
    overall = report["overall"]
    jaccard = metrics.jaccard(y, predicted, **options)
    return (
        f"hierarchical precision {overall['precision']:.3f}, recall {overall['recall']:.3f}, F1 "
        f"{overall['f1']:.3f}, Jaccard {jaccard:.3f}, exact match {overall['exact_match']:.3f}"
    )


def _known(y: Any, hierarchy: Hierarchy) -> tuple[Any, int]:
    """The labels that a hierarchy has, and the number of other labels."""

    def is_known(label: Any) -> bool:
        try:
            hierarchy.find(label)
        except (KeyError, ValueError):
            return False
        return True

    distinct = {label for labels in y for label in labels}
    fine = {label for label in distinct if is_known(label)}
    return object_array([[v for v in labels if v in fine] for labels in y]), len(distinct - fine)
