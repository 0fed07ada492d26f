"""Models and features for what a user has, without a choice to make first.

Comes in: a table, texts or a matrix. Goes out: features for any classifier, or a fitted model.
``cells.py``, ``kinds.py``, ``dates.py`` and ``encoders.py`` serve ``features.py``, the public
transformer; ``preparation.py``, ``choice.py``, ``set_choice.py``, ``words.py`` and ``batches.py``
are the steps of ``classifier.py``, the estimator to start with, and all others serve these. Called
by users, and by the command line as a user would.
"""
