"""Classifiers of this library that do not depend on hierarchies.

Input: rows of numbers, mostly sparse, and their classes. Output: a fitted estimator in the style of
scikit-learn. ``fast_svc.py`` is for sparse rows, with ``solver.py`` compiled for it; the engine
packs it like the linear classifiers of scikit-learn. ``kernel_ridge.py`` is for dense rows,
``discriminant.py`` for dense rows of many classes.
"""
