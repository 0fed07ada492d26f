"""y to node numbers and back: what every room above calls a target.

Comes in: labels as codes, and a hierarchy, given or read from them. Goes out: the most specific
node of every row (``paths``), closed sets of nodes where rows have several labels or classes
several parents (``sets``), hierarchies that grow by batches (``growth``), and nodes written as
labels again. Called by the estimators and the metrics.
"""
