"""Metrics of hierarchical classification."""

from hiclass.metrics._sets import f1, fbeta, precision, recall

__all__ = ["f1", "fbeta", "precision", "recall"]
