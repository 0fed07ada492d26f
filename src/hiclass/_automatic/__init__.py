"""Models and features for the data of a user, without any choice in advance.

Input: a table, texts or a matrix. Output: features for any classifier, or a fitted model.
``cells.py``, ``kinds.py``, ``dates.py`` and ``encoders.py`` are parts of ``features.py``, the
public transformer. ``preparation.py``, ``choice.py``, ``set_choice.py``, ``words.py`` and
``batches.py`` are the steps of ``classifier.py``, the estimator to start with, and all others are
parts of these. Called by users, and by the command line as a user would.
"""
