"""What is learned from rows that a model was not fitted on.

Comes in: X, the target, and a function that fits a model on some rows. Goes out: temperatures, the
F-score that is reached, thresholds of classes, weights of ensembles. Knows nothing of estimators.
Called by their ``fit``.
"""
