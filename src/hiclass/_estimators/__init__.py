"""The public estimators, thin, and what they share.

Comes in: X and y as users have them. Goes out: a fitted estimator with scikit-learn's contract.
``fit`` is one story: check, encode, problems, fit, learn out of fold, remember. Everything else is
in the rooms below. Called by users, and by the rooms above as a user would.
"""
