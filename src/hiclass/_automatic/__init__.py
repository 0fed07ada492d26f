"""Models and features for what a user has, without a choice to make first.

Comes in: a table, texts or a matrix. Goes out: features for any classifier, or a fitted model.
``cells.py``, ``kinds.py``, ``dates.py`` and ``encoders.py`` serve ``features.py``, the public
transformer; ``objectives.py``, ``codes.py``, ``proposals.py``, ``kernels.py``, ``selection.py`` and
``known.py`` serve ``classifier.py``, the estimator to start with. Called by users, and by the
command line as a user would.
"""
