"""Convert y to node numbers and back: what the rooms above call a target.

Input: labels as codes, and a hierarchy, given or read from them. Output: the most specific node of
every row (``paths``), closed sets of nodes if rows have several labels or classes several parents
(``sets``), hierarchies that grow with batches (``growth``), and nodes converted back to labels.
Called by the estimators and the metrics.
"""
