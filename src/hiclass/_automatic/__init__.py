"""Models and features for what a user has, without a choice to make first.

Comes in: a table, texts or a matrix. Goes out: features for any classifier. ``cells.py`` reads
columns, ``kinds.py`` finds out what they hold, ``dates.py`` reads dates, ``features.py`` is the
public transformer. Called by users, and by the command line as a user would.
"""
