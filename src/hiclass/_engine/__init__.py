"""WHERE it is learned: fits the local classifiers of local problems, anywhere.

Comes in: local problems, X, and a function that makes an unfitted estimator. Goes out: fitted
estimators by owner. This process, its threads, joblib's backends and Ray do the same work; what
they finish can be kept on disk and shown by a progress bar. Called by the estimators; inference
uses the threads and the scores of linear classifiers.
"""
