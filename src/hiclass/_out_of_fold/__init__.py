"""Quantities that are learned from rows that a model was not fitted on.

Input: X, the target, and a function that fits a model on some rows. Output: temperatures, the
expected F-score, thresholds of classes, weights of ensembles. Does not depend on estimators. Called
by their ``fit``.
"""
