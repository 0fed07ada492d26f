"""WHAT a fitted model predicts: scores of local classifiers become probabilities and decisions.

Input: the fitted classifiers as plain data, and chunks of rows. Output: probabilities of nodes
(``paths`` for one path per row, ``sets`` for sets of classes), decisions (``decodings``), and
models that are restricted to some classes. Rows do not influence each other. Called by the
estimators and by ``_out_of_fold``.
"""
