"""WHAT a fitted model predicts: scores of local classifiers become probabilities and decisions.

Comes in: the fitted classifiers as plain data, and chunks of rows. Goes out: probabilities of nodes
(``paths`` for one path per row, ``sets`` for sets of classes), decisions (``decodings``) and models
that are restricted to some classes. No row influences another one. Called by the estimators and by
what is learned out of fold.
"""
