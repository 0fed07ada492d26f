"""Predicted paths that stop early, above a leaf: their number, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from hiclass._inference.confidence import in_words, is_set
from hiclass._labels.columns import read_labels
from hiclass._targets.paths import nodes_of


@dataclass(frozen=True)
class Early:
    """The number of predicted paths that stop early.

    Attributes
    ----------
    n_rows : int
        The number of paths.
    by_confidence : int
        Those stopped by ``min_confidence``.
    min_confidence : float, sequence or mapping
        The value of ``min_confidence``.
    like_training : int
        Of the others, those that end at a class where training rows end, too.
    by_decoding : int
        The rest, for which a shorter path has a better expected score.
    """

    n_rows: int
    by_confidence: int
    min_confidence: Any
    like_training: int
    by_decoding: int

    def _limit(self) -> str:
        words = in_words(self.min_confidence)
        return f"min_confidence {words}" if isinstance(self.min_confidence, Real) else words

    def __str__(self) -> str:
        total = self.by_confidence + self.like_training + self.by_decoding
        if not total:
            return "No predicted path stops early: all go down to a leaf."
        reasons = {
            f"below {self._limit()}": self.by_confidence,
            "at classes where training rows end, too": self.like_training,
            "where a shorter path has a better expected F-score": self.by_decoding,
        }
        why = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number)
        share = f"{total:,} of {self.n_rows:,} predicted paths ({total / self.n_rows:.0%})"
        return f"{share} stop early, above a leaf: {why}"


def count_early(classifier: Any, X: Any, predicted: Any) -> Early:
    """Count the predicted paths that stop early.

    Parameters
    ----------
    classifier : estimator
        A fitted hierarchical classifier of paths.
    X : rows
        The rows, in the form that the classifier accepts.
    predicted : ndarray of shape (n_rows, n_levels)
        The predictions for these rows.

    Returns
    -------
    Early
    """
    tree = classifier.hierarchy_
    ends = nodes_of(read_labels(predicted), tree)
    is_early = ~tree.is_leaf[ends]
    limit = classifier.get_params(deep=False).get("min_confidence", 0.0)
    by_confidence = is_early & False
    if is_set(limit) and is_early.any():
        try:
            longer = classifier.set_params(min_confidence=0.0).predict(X)
        finally:
            classifier.set_params(min_confidence=limit)
        by_confidence = is_early & (nodes_of(read_labels(longer), tree) != ends)
    can_end = classifier._models.options.can_stop[ends]
    return Early(
        n_rows=len(ends),
        by_confidence=int(by_confidence.sum()),
        min_confidence=limit,
        like_training=int((is_early & ~by_confidence & can_end).sum()),
        by_decoding=int((is_early & ~by_confidence & ~can_end).sum()),
    )
