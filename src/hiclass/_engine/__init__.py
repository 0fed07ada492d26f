"""WHERE it is learned: fits the local classifiers of local problems, in any place.

Input: local problems, X, and a function that creates an unfitted estimator. Output: fitted
estimators by owner. This process, its threads, joblib's backends and Ray do the same work. Finished
estimators can be stored on disk and shown by a progress bar. Called by the estimators; inference
uses the threads and the scores of linear classifiers.
"""
