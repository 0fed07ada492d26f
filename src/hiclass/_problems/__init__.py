"""WHAT is learned: from encoded labels to local problems (rows and targets of classifiers).

Input: the node, or the set of nodes, of every training row. Output: a lazy sequence of
``LocalProblem``, which the engine fits. Policies and strategies are objects in two tables
(``policies.POLICIES``, ``strategies.STRATEGIES``) that all other code reads, so a new one is a new
object. Plain functions on integers: nothing here sees X, labels or estimators. Called by the rooms
above, mainly by the estimators.
"""
