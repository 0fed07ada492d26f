"""Read the forms from which users build hierarchies: edges, dicts and graphs.

Each ``read`` function checks one form and returns names and edges. ``number_nodes`` and
``order_nodes`` convert these to the input of the constructor of ``Hierarchy``. Plain functions on
numbers and lists. Trees of paths, which ``fit`` builds, are numbered in ``_nodes``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hiclass._labels.columns import is_missing, plain
from hiclass._typing import AnyArray, IntArray
from hiclass.hierarchy._lookup import check_hashable


def read_edges(edges: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs (parent, child) as a list of tuples."""
    pairs = []
    for edge in edges:
        if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise ValueError(f"An edge must be a pair (parent, child); got {edge!r}.")
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
            "The graph is undirected, so its edges have no parent. "
            "Use a networkx.DiGraph with edges from parent to child."
        )
    return list(graph.nodes), list(graph.edges())


def below_root(hierarchy: Any, root: Any) -> tuple[AnyArray, list[IntArray]]:
    """Labels and parents of the nodes after the node named ``root`` has become the unnamed root."""
    top = hierarchy.children(0)
    names = [hierarchy.labels[v] for v in top]
    if len(top) != 1 or (type(names[0]), names[0]) != (type(plain(root)), plain(root)):
        raise ValueError(
            f"root={root!r} must be the one label at the top of the hierarchy; "
            f"found {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}."
        )
    if hierarchy.n_nodes == 2:
        raise ValueError(
            f"The hierarchy has no classes below root={root!r}. Add edges from the root to classes."
        )
    labels = hierarchy.labels[1:].copy()
    labels[0] = None
    parents = [hierarchy.parents(v) - 1 for v in range(1, hierarchy.n_nodes)]
    parents[0] = parents[0][:0]
    return labels, parents


def number_nodes(
    names: Iterable[Any], edges: list[tuple[Any, Any]]
) -> tuple[list[Any], list[list[int]]]:
    """Number labelled nodes; return their labels and the children of each. None is the root, 0."""
    number: dict[Any, int] = {(type(None), None): 0}
    labels: list[Any] = [None]
    below: list[list[int]] = [[]]
    has_parent = [True]

    def add(name: Any) -> int:
        name = plain(name)
        check_hashable(name)
        if name is not None and is_missing(name):
            raise ValueError(
                f"{name!r} cannot be the label of a class, because it means a missing label. Use "
                "another label."
            )
        key = (type(name), name)  # 1, True and 1.0 are three labels
        if key not in number:
            number[key] = len(labels)
            labels.append(name)
            below.append([])
            has_parent.append(False)
        return number[key]

    for name in names:
        add(name)
    for parent, child in edges:
        p, c = add(parent), add(child)
        if c == 0:
            raise ValueError(f"The edge ({parent!r}, None) has no child.")
        below[p].append(c)
        has_parent[c] = True
    below[0] += [v for v in range(len(labels)) if not has_parent[v]]
    if len(labels) == 1:
        raise ValueError("The hierarchy has no classes. Pass at least one edge or path.")
    return labels, below


def order_nodes(labels: list[Any], below: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Sort nodes so that parents come first; return the order and the parents of every node."""
    for p, children in enumerate(below):
        if len(set(children)) < len(children):
            twice = next(v for v in children if children.count(v) > 1)
            raise ValueError(
                f"The edge ({labels[p]!r}, {labels[twice]!r}) is given twice. Remove one of them."
            )
        children.sort(key=_sort_key(labels, children))
    order = _topological_order(labels, below)
    rank = {v: i for i, v in enumerate(order)}
    parents: list[list[int]] = [[] for _ in order]
    for p in order:  # ascending, so that parents are listed in ascending order
        for c in below[p]:
            parents[rank[c]].append(rank[p])
    return order, parents


def _sort_key(labels: list[Any], siblings: list[int]) -> Any:
    """Sort siblings by label; labels of several types are sorted by type first."""
    if len({type(labels[v]) for v in siblings}) > 1:
        return lambda v: (type(labels[v]).__name__, str(labels[v]))
    try:
        sorted(labels[v] for v in siblings)
    except TypeError:
        return lambda v: str(labels[v])
    return lambda v: labels[v]


def _topological_order(labels: list[Any], below: list[list[int]]) -> list[int]:
    """Parents before children; in a tree, the preorder. Reverse postorder, without recursion."""
    state = [0] * len(labels)  # 1: ancestor of the current node, 2: done
    order: list[int] = []
    for start in range(len(labels)):
        stack = [(start, len(below[start]))] if not state[start] else []
        state[start] = state[start] or 1
        while stack:
            v, left = stack.pop()
            if not left:
                state[v] = 2
                order.append(v)
                continue
            stack.append((v, left - 1))
            c = below[v][left - 1]  # the last child first, because the order is reversed
            if state[c] == 1:
                cycle = [u for u, _ in stack]
                names = [*(repr(labels[u]) for u in cycle[cycle.index(c) :]), repr(labels[c])]
                raise ValueError(
                    f"The hierarchy has a cycle: {' -> '.join(names)}. Remove one of these edges."
                )
            if not state[c]:
                state[c] = 1
                stack.append((c, len(below[c])))
    return order[::-1]
