"""Classifiers of this library's own, which know nothing of hierarchies.

In come rows of numbers, mostly sparse, and a class for each; out goes a fitted estimator in the
style of scikit-learn. ``fast_svc.py`` is for sparse rows, with ``solver.py`` compiled for it; the
engine packs it like the linear classifiers of scikit-learn. ``kernel_ridge.py`` is for dense rows,
``discriminant.py`` for dense rows of many classes.
"""
