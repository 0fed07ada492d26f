"""WHAT is learned: from encoded labels to local problems, rows and targets of small classifiers.

Comes in: the node, or the set of nodes, of every training row. Goes out: a lazy sequence of
``LocalProblem``, for the engine to fit. Policies and strategies are objects in two tables
(``policies.POLICIES``, ``strategies.STRATEGIES``) that everything else reads; a new one is one new
object. Plain functions on integers: nothing here sees X, labels or estimators. Called by the rooms
above, the estimators first of all.
"""
