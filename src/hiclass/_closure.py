"""Closed sets of nodes: a node is in a set together with everything above it.

Where a row has several labels, or a class several parents, a row is no longer one node but a set of
nodes. Sets of rows are sparse boolean matrices with a column per node, the root first. Nothing here
sees labels; a hierarchy is used through its numbers only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._typing import IntArray


def closure_matrix(hierarchy: Any) -> Any:
    """Sparse matrix whose row ``v`` has ones at node ``v`` and all its ancestors, root included."""
    n = hierarchy.n_nodes
    if hierarchy.is_tree:
        path = np.column_stack([np.zeros(n, dtype=np.intp), hierarchy.ancestor_table])
        row, column = np.nonzero(path >= 0)
        return from_entries(row, path[row, column], (n, n))
    above: list[IntArray] = [np.zeros(1, dtype=np.intp)]
    for v in range(1, n):  # parents come before their children
        sets = [above[p] for p in hierarchy.parents(v).tolist()]
        union = sets[0] if len(sets) == 1 else np.unique(np.concatenate(sets))
        above.append(np.append(union, v))
    row = np.repeat(np.arange(n), [len(a) for a in above])
    return from_entries(row, np.concatenate(above), (n, n))


def close(sets: Any, hierarchy: Any) -> Any:
    """Add to every set all ancestors of its nodes; the root is in every set, also an empty one."""
    sets = sp.csr_array(sets, dtype=np.int32)
    empty = np.flatnonzero(np.diff(sets.indptr) == 0)
    root = from_entries(empty, np.zeros_like(empty), sets.shape)
    return as_sets(sets @ hierarchy._closure.astype(np.int32) + root)


def most_specific(closed: Any, hierarchy: Any) -> Any:
    """The nodes of closed sets that have no child in the set; none for the root alone."""
    entry = sp.csr_array(closed, dtype=np.int32)
    child = np.repeat(np.arange(hierarchy.n_nodes), np.diff(hierarchy.parent_indptr))
    up = from_entries(child, hierarchy.parent_indices, (hierarchy.n_nodes, hierarchy.n_nodes))
    has_child = as_sets(entry @ up.astype(np.int32))
    row, column = as_sets(entry - entry.multiply(has_child)).nonzero()
    return from_entries(row[column > 0], column[column > 0], closed.shape)


def as_sets(matrix: Any) -> Any:
    """A boolean CSR array with sorted indices and without stored zeros."""
    sets = sp.csr_array(matrix)
    sets.eliminate_zeros()
    sets = sp.csr_array((np.ones(sets.nnz, dtype=bool), sets.indices, sets.indptr), sets.shape)
    sets.sort_indices()
    return sets


def from_entries(rows: IntArray, nodes: IntArray, shape: tuple[int, int]) -> Any:
    """Sets from pairs of row and node, which may repeat."""
    return as_sets(sp.csr_array((np.ones(len(rows), dtype=np.int32), (rows, nodes)), shape=shape))


def rows_of(sets: Any, node: int) -> IntArray:
    """Rows of a CSC array that have an entry for a node, ascending."""
    return np.asarray(sets.indices[sets.indptr[node] : sets.indptr[node + 1]], dtype=np.intp)
