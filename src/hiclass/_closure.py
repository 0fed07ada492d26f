"""Closed sets of nodes: a set contains a node together with all of its ancestors.

If a row has several labels, or a class several parents, a row is not one node but a set of nodes.
Sets of rows are sparse boolean matrices with one column per node, starting with the root. Nothing
here sees labels; only the numbers of a hierarchy are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from hiclass._typing import IntArray


def closure_matrix(hierarchy: Any) -> Any:
    """Sparse matrix whose row ``v`` has ones at node ``v`` and all ancestors (also the root)."""
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
    """Add all ancestors of the nodes to every set; the root is also in empty sets."""
    sets = sp.csr_array(sets, dtype=np.int32)
    empty = np.flatnonzero(np.diff(sets.indptr) == 0)
    root = from_entries(empty, np.zeros_like(empty), sets.shape)
    return as_sets(sets @ hierarchy._closure.astype(np.int32) + root)


def most_specific(closed: Any, hierarchy: Any) -> Any:
    """The nodes of closed sets without a child in the set; none for the root alone."""
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
    """Rows of a CSC array that have an entry for a node, in ascending order."""
    return np.asarray(sets.indices[sets.indptr[node] : sets.indptr[node + 1]], dtype=np.intp)
