"""What users build hierarchies from, read into labels and numbers: paths, edges, dicts and graphs.

Each function checks one form and returns what a constructor of ``Hierarchy`` takes, or the names
and edges that ``_graph`` puts into order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hiclass._labels.columns import LabelColumns, object_array, plain
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy._graph import preorder, unique_keys


def tree_of_columns(columns: LabelColumns) -> tuple[AnyArray, IntArray, IntArray]:
    """Number the nodes of paths in preorder; a node is its parent and its label.

    Returns the label and the parent of every node, and the deepest node of every row.
    """
    node = np.zeros(columns.n_rows, dtype=np.intp)  # numbered level by level for now
    parent, label, starts = [np.zeros(1, dtype=np.intp)], [np.array([None])], [0, 1]
    for codes, values in zip(columns.codes, columns.values, strict=True):
        rows = np.flatnonzero(codes >= 0)
        if not len(rows):
            continue
        key = (node[rows] - starts[-2]) * len(values) + codes[rows]
        distinct, rank = unique_keys(key, (starts[-1] - starts[-2]) * len(values))
        node[rows] = starts[-1] + rank
        parent.append(starts[-2] + distinct // len(values))
        # tolist: labels are plain Python objects from here on.
        label.append(object_array(values.tolist())[distinct % len(values)])
        starts.append(starts[-1] + len(distinct))
    parents, labels = np.concatenate(parent), np.concatenate(label)
    number = preorder(parents, starts)
    order = np.argsort(number)
    return labels[order], number[parents[order]], number[node]


def read_edges(edges: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs (parent, child) as a list of tuples."""
    pairs = []
    for edge in edges:
        if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise ValueError(f"An edge is a pair (parent, child); got {edge!r}.")
        pairs.append((edge[0], edge[1]))
    return pairs


def read_children(
    children: Mapping[Any, Iterable[Any]],
) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """The names and the edges of ``{parent: [children]}``."""
    for parent, below in children.items():
        if isinstance(below, str | bytes | Mapping) or not hasattr(below, "__iter__"):
            raise ValueError(f"The children of {parent!r} must be a list of labels; got {below!r}.")
    edges = [(parent, child) for parent, below in children.items() for child in below]
    return [name for name in children if name is not None], edges


def read_networkx(graph: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """The names and the edges of a ``networkx.DiGraph``."""
    if not graph.is_directed():
        raise ValueError(
            "The graph is undirected, so it does not say who the parent is. "
            "Use a networkx.DiGraph with edges from parent to child."
        )
    return list(graph.nodes), list(graph.edges())


def below_root(hierarchy: Any, root: Any) -> tuple[AnyArray, list[IntArray]]:
    """Labels and parents of the nodes once the node that is called ``root`` is the unnamed root."""
    top = hierarchy.children(0)
    names = [hierarchy.labels[v] for v in top]
    if len(top) != 1 or (type(names[0]), names[0]) != (type(plain(root)), plain(root)):
        raise ValueError(
            f"root={root!r} must be the one label at the top of the hierarchy; "
            f"found {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}."
        )
    if hierarchy.n_nodes == 2:
        raise ValueError(f"The hierarchy has no classes below root={root!r}.")
    labels = hierarchy.labels[1:].copy()
    labels[0] = None
    parents = [hierarchy.parents(v) - 1 for v in range(1, hierarchy.n_nodes)]
    parents[0] = parents[0][:0]
    return labels, parents
