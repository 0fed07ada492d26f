"""A linear classifier of this library's own, which knows nothing of hierarchies.

In come rows of numbers, mostly sparse, and a class for each; out goes a fitted estimator in the
style of scikit-learn. ``fast_svc.py`` is the estimator, ``solver.py`` what is compiled for it. The
engine packs it like the linear classifiers of scikit-learn, and users call it by themselves.
"""
