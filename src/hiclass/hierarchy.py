"""The hierarchy of classes: nodes as numbers, edges as CSR arrays.

Node 0 is the root, which has no name and is no class. A parent always has a smaller number than its
children; in a tree the numbers are a preorder, so that the subtree of node ``v`` is the interval
``v .. subtree_end[v] - 1``, and siblings are sorted by label.

What makes two nodes the same depends on the builder. :meth:`Hierarchy.from_paths` identifies a node
by its parent and its label, so "Other" under Loans and "Other" under Cards are two classes. The
builders from edges, dicts and graphs identify a node by its label, which may have several parents.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from hiclass._closure import closure_matrix
from hiclass._graph import gather, number_nodes, order_nodes, preorder, unique_keys
from hiclass._labels import (
    AnyArray,
    IntArray,
    LabelColumns,
    check_paths,
    is_hashable,
    object_array,
    plain,
    read_labels,
)
from hiclass._set_labels import membership, read_sets
from hiclass._views import draw_tree, tree_html, tree_text

_JSON_TYPES = (str, int, float, bool)
#: So many characters of a label are compared with others, for a hint at the nearest names.
_COMPARED = 100


class Hierarchy:
    """A hierarchy of classes: a tree or a directed acyclic graph, which never changes.

    Build one with :meth:`from_paths`, :meth:`from_edges`, :meth:`from_dict`,
    :meth:`from_networkx` or :meth:`from_json`. ``fit`` builds it from ``y`` where none is given.

    Attributes
    ----------
    n_nodes : int
        Number of nodes, the root included.
    labels : ndarray of shape (n_nodes,)
        The label of every node; ``None`` for the root.
    levels : ndarray of shape (n_nodes,)
        The level of every node: 0 for the root; in a DAG the longest distance from it.
    is_tree : bool
        Whether every node but the root has exactly one parent.
    identity : {"path", "label"}
        Whether a node is identified by its parent and label or by its label alone.
    parent_indptr, parent_indices, child_indptr, child_indices : ndarray
        The edges in CSR form: the parents of ``v`` are
        ``parent_indices[parent_indptr[v]:parent_indptr[v + 1]]``, and likewise its children.
    subtree_end : ndarray of shape (n_nodes,)
        Trees only: the subtree of ``v`` is ``v .. subtree_end[v] - 1``.

    Examples
    --------
    >>> from hiclass import Hierarchy
    >>> h = Hierarchy.from_paths([["Animal", "Cat"], ["Animal", "Dog"], ["Plant"]])
    >>> h
    Hierarchy(tree, 4 classes, 2 levels, 3 leaves)
    >>> print(h)
    ├── Animal
    │   ├── Cat
    │   └── Dog
    └── Plant
    >>> h.path(h.find("Cat"))
    ('Animal', 'Cat')
    """

    n_nodes: int
    labels: AnyArray
    levels: IntArray
    identity: str
    parent_indptr: IntArray
    parent_indices: IntArray
    child_indptr: IntArray
    child_indices: IntArray

    def __init__(self, labels: AnyArray, parents: list[Any], identity: str) -> None:
        # Private: the builders order the nodes; parents[v] are the numbers of v's parents.
        counts = [len(p) for p in parents]
        indices = np.array([q for p in parents for q in p], dtype=np.intp)
        self._set_arrays(labels, np.concatenate([[0], np.cumsum(counts)]), indices, identity)

    @classmethod
    def _of_tree(cls, labels: AnyArray, parent: IntArray, identity: str) -> Hierarchy:
        """Make a tree from the array of parents, nodes already in preorder; parent[0] is 0."""
        self = cls.__new__(cls)
        indptr = np.concatenate([[0], np.arange(len(parent))])
        self._set_arrays(labels, indptr, parent[1:], identity)
        return self

    def _set_arrays(
        self, labels: AnyArray, parent_indptr: IntArray, parent_indices: IntArray, identity: str
    ) -> None:
        n = len(labels)
        child = np.repeat(np.arange(n), np.diff(parent_indptr))
        order = np.argsort(parent_indices, kind="stable")
        child_counts = np.bincount(parent_indices, minlength=n)
        self.__dict__.update(
            n_nodes=n,
            labels=labels,
            identity=identity,
            parent_indptr=parent_indptr.astype(np.intp, copy=False),
            parent_indices=parent_indices.astype(np.intp, copy=False),
            child_indptr=np.concatenate([[0], np.cumsum(child_counts)]).astype(np.intp, copy=False),
            child_indices=child[order].astype(np.intp, copy=False),
        )
        self.__dict__["levels"] = self._compute_levels()
        self._freeze()

    def _compute_levels(self) -> IntArray:
        """Longest distance of every node from the root, by sweeps over the edges."""
        levels = np.zeros(self.n_nodes, dtype=np.intp)
        nodes = self.children(0)
        depth = 0
        while len(nodes):
            depth += 1
            levels[nodes] = depth
            nodes = gather(self.child_indptr, self.child_indices, nodes)
            if not self.is_tree:
                nodes = np.unique(nodes)
        return levels

    def _freeze(self) -> None:
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"A Hierarchy never changes; {name!r} cannot be set. Build a new one.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A Hierarchy never changes; {name!r} cannot be deleted.")

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k in _STATE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def __copy__(self) -> Hierarchy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Hierarchy:
        return self

    # -- builders ------------------------------------------------------------------------------

    @overload
    @classmethod
    def from_paths(
        cls, y: Any, *, root: Hashable | None = None, return_nodes: Literal[False] = False
    ) -> Hierarchy: ...

    @overload
    @classmethod
    def from_paths(
        cls, y: Any, *, root: Hashable | None = None, return_nodes: Literal[True]
    ) -> tuple[Hierarchy, IntArray]: ...

    @classmethod
    def from_paths(
        cls, y: Any, *, root: Hashable | None = None, return_nodes: bool = False
    ) -> Hierarchy | tuple[Hierarchy, IntArray]:
        """Build a tree from paths of labels; a node is its parent and its label.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
            Paths, in any form that ``fit`` takes. Missing labels may stand at the end.
        root : label, default=None
            A label that every path starts with and that is no class of its own.
        return_nodes : bool, default=False
            Whether to return also the node of every row: the last one of its path.

        Returns
        -------
        Hierarchy, or tuple of Hierarchy and ndarray of shape (n_samples,)
            The array only with ``return_nodes=True``.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]]).n_nodes
        5
        >>> Hierarchy.from_paths([["Loans", "Car"], ["Cards"]], return_nodes=True)[1]
        array([3, 1])
        """
        columns = read_labels(y)
        check_paths(columns)
        hierarchy, nodes = cls._from_columns(columns)
        hierarchy = hierarchy._without_root(root)
        if not return_nodes:
            return hierarchy
        # Without a named root all nodes move up by one.
        return hierarchy, nodes if root is None else nodes - 1

    @classmethod
    def _from_columns(cls, columns: LabelColumns) -> tuple[Hierarchy, IntArray]:
        """Build a tree from columns of codes; also return the deepest node of every row."""
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
        return cls._of_tree(labels[order], number[parents[order]], "path"), number[node]

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[Any, Any]], *, root: Any = None) -> Hierarchy:
        """Build a hierarchy from pairs (parent, child); a node is its label.

        Parameters
        ----------
        edges : iterable of (parent, child)
            ``None`` as parent says that the child stands at the top. Labels that are nobody's child
            stand at the top as well.
        root : label, default=None
            The label of a node that is the root and no class.

        Returns
        -------
        Hierarchy
            Nodes are identified by their labels.

        Raises
        ------
        ValueError
            If there is a cycle, an edge that is given twice, or no edge at all.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion")])
        >>> h.is_tree, [str(h.labels[v]) for v in h.parents(h.find("cat"))]
        (False, ['feline', 'pet'])
        """
        pairs = []
        for edge in edges:
            if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
                raise ValueError(f"An edge is a pair (parent, child); got {edge!r}.")
            pairs.append((edge[0], edge[1]))
        return cls._from_graph((), pairs)._without_root(root)

    @classmethod
    def from_dict(cls, children: Mapping[Any, Iterable[Any]], *, root: Any = None) -> Hierarchy:
        """Build a hierarchy from ``{parent: [children]}``; a node is its label.

        Parameters
        ----------
        children : mapping of label to iterable of labels
            The children of every inner node. A leaf may be left out or have an empty list.
        root : label, default=None
            The label of a node that is the root and no class.

        Returns
        -------
        Hierarchy
            Nodes are identified by their labels.

        Raises
        ------
        ValueError
            If children are not given as a list, or as :meth:`from_edges` says.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_dict({"all": ["a", "b"], "a": ["c"]}, root="all")
        Hierarchy(tree, 3 classes, 2 levels, 2 leaves)
        """
        for parent, below in children.items():
            if isinstance(below, str | bytes | Mapping) or not hasattr(below, "__iter__"):
                raise ValueError(
                    f"The children of {parent!r} must be a list of labels; got {below!r}."
                )
        edges = [(parent, child) for parent, below in children.items() for child in below]
        names = [name for name in children if name is not None]
        return cls._from_graph(names, edges)._without_root(root)

    @classmethod
    def from_networkx(cls, graph: Any, *, root: Any = None) -> Hierarchy:
        """Build a hierarchy from a ``networkx.DiGraph`` with edges from parent to child.

        Parameters
        ----------
        graph : networkx.DiGraph
            Its nodes are the labels.
        root : label, default=None
            The node that is the root and no class.

        Returns
        -------
        Hierarchy
            Nodes are identified by their labels.

        Raises
        ------
        ValueError
            If the graph is undirected, or as :meth:`from_edges` says.

        Examples
        --------
        >>> import networkx
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_networkx(networkx.DiGraph([("Animal", "Cat"), ("Animal", "Dog")]))
        Hierarchy(tree, 3 classes, 2 levels, 2 leaves)
        """
        if not graph.is_directed():
            raise ValueError(
                "The graph is undirected, so it does not say who the parent is. "
                "Use a networkx.DiGraph with edges from parent to child."
            )
        return cls._from_graph(list(graph.nodes), list(graph.edges()))._without_root(root)

    @classmethod
    def from_json(cls, text: str, *, root: Any = None) -> Hierarchy:
        """Read a hierarchy that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON text.
        root : label, default=None
            The label of a node that is the root and no class.

        Returns
        -------
        Hierarchy
            Equal to the one that was written.

        Raises
        ------
        ValueError
            If the text is not a hierarchy.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["Animal", "Cat"], ["Plant"]])
        >>> Hierarchy.from_json(h.to_json()) == h
        True
        """
        try:
            data = json.loads(text)
            labels, parents, identity = data["labels"], data["parents"], data["identity"]
            below: list[list[int]] = [[] for _ in labels]
            for v, above in enumerate(parents):
                for p in above:
                    below[p].append(v)
            by_path = identity == "path"
            names = {
                (type(label), label, above[0] if by_path else None)
                for label, above in zip(labels[1:], parents[1:], strict=True)
            }
            well_formed = (
                data["format"] == "hiclass.Hierarchy"
                and identity in ("path", "label")
                and labels[0] is None
                and len(labels) - 1 == len(names) > 0
                and all(type(label) in _JSON_TYPES for label in labels[1:])
                and all(type(p) is int and p >= 0 for above in parents for p in above)
                and not parents[0]
                and all(len(above) == 1 if by_path else above for above in parents[1:])
            )
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError("The text is not a hierarchy written by to_json.") from error
        if not well_formed:
            raise ValueError("The text is not a hierarchy written by to_json.")
        return cls._ordered(labels, below, identity)._without_root(root)

    @classmethod
    def _from_graph(cls, names: Iterable[Any], edges: list[tuple[Any, Any]]) -> Hierarchy:
        """Build a hierarchy from labelled nodes and edges; the label None is the root."""
        return cls._ordered(*number_nodes(names, edges), "label")

    @classmethod
    def _ordered(cls, labels: list[Any], below: list[list[int]], identity: str) -> Hierarchy:
        """Number the nodes anew, from the children of each; the first one is the root."""
        order, parents = order_nodes(labels, below)
        return cls(object_array([labels[v] for v in order]), parents, identity)

    def _without_root(self, root: Any) -> Hierarchy:
        """Make the node that is called ``root`` the unnamed root."""
        if root is None:
            return self
        top = self.children(0)
        names = [self.labels[v] for v in top]
        if len(top) != 1 or (type(names[0]), names[0]) != (type(plain(root)), plain(root)):
            raise ValueError(
                f"root={root!r} must be the one label at the top of the hierarchy; "
                f"found {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}."
            )
        if self.n_nodes == 2:
            raise ValueError(f"The hierarchy has no classes below root={root!r}.")
        labels = self.labels[1:].copy()
        labels[0] = None
        parents = [self.parents(v) - 1 for v in range(1, self.n_nodes)]
        parents[0] = parents[0][:0]
        return Hierarchy(labels, parents, self.identity)

    # -- queries -------------------------------------------------------------------------------

    @cached_property
    def is_tree(self) -> bool:
        """Whether every node but the root has exactly one parent."""
        return len(self.parent_indices) == self.n_nodes - 1

    @property
    def depth(self) -> int:
        """The deepest level."""
        return int(self.levels.max())

    @cached_property
    def is_leaf(self) -> AnyArray:
        """Whether a node has no children, as an array with one entry per node."""
        return _frozen(np.diff(self.child_indptr) == 0)

    @cached_property
    def parent(self) -> IntArray:
        """The parent of every node of a tree; 0 for the root itself."""
        self._require_tree("parent")
        return _frozen(np.concatenate([[0], self.parent_indices]).astype(np.intp, copy=False))

    @cached_property
    def subtree_end(self) -> IntArray:
        """The number after the last node of the subtree of every node of a tree."""
        self._require_tree("subtree_end")
        size = np.ones(self.n_nodes, dtype=np.intp)
        for nodes in reversed(self.nodes_by_level[1:]):
            np.add.at(size, self.parent[nodes], size[nodes])
        return _frozen(np.arange(self.n_nodes) + size)

    @cached_property
    def nodes_by_level(self) -> list[IntArray]:
        """The nodes of every level, ascending; the first entry is the root."""
        order = _frozen(np.argsort(self.levels, kind="stable"))
        return np.split(order, np.cumsum(np.bincount(self.levels))[:-1])

    @cached_property
    def ancestor_table(self) -> IntArray:
        """For a tree, the ancestor-or-self of every node at levels 1, 2, ...; -1 below the node."""
        table = np.full((self.n_nodes, self.depth), -1, dtype=np.intp)
        for level, nodes in enumerate(self.nodes_by_level[1:]):
            table[nodes] = table[self.parent[nodes]]
            table[nodes, level] = nodes
        return _frozen(table)

    def children(self, node: int) -> IntArray:
        """Return the children of a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the children, ascending; in a tree that is the order of their labels.
        """
        node = self._check_node(node)
        return self.child_indices[self.child_indptr[node] : self.child_indptr[node + 1]]

    def parents(self, node: int) -> IntArray:
        """Return the parents of a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the parents, ascending; empty for the root.
        """
        node = self._check_node(node)
        return self.parent_indices[self.parent_indptr[node] : self.parent_indptr[node + 1]]

    def ancestors(self, node: int) -> IntArray:
        """Return all nodes above a node, the root included.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the ancestors, ascending, without the node itself.
        """
        return self._reach(node, self.parents)

    def descendants(self, node: int) -> IntArray:
        """Return all nodes below a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the descendants, ascending, without the node itself.
        """
        if self.is_tree:
            return np.arange(self._check_node(node) + 1, self.subtree_end[node])
        return self._reach(node, self.children)

    def siblings(self, node: int) -> IntArray:
        """Return the other children of the node's parents.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of the siblings, ascending, without the node itself.
        """
        kids = [self.children(int(p)) for p in self.parents(node)]
        union = np.unique(np.concatenate([*kids, np.empty(0, dtype=np.intp)]))
        return union[union != node]

    def leaves(self, node: int = 0) -> IntArray:
        """Return the leaves at or below a node.

        Parameters
        ----------
        node : int, default=0
            Number of the node; the root by default.

        Returns
        -------
        ndarray of int
            Numbers of the nodes without children, ascending; the node itself if it is a leaf.
        """
        below = np.concatenate([[self._check_node(node)], self.descendants(node)])
        return below[self.is_leaf[below]]

    def path(self, node: int) -> tuple[Any, ...]:
        """Return the labels from the top down to a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        tuple of labels
            Empty for the root.

        Raises
        ------
        ValueError
            If the node can be reached in several ways.
        """
        node, path = self._check_node(node), []
        while node:
            above = self.parents(node)
            if len(above) > 1:
                raise ValueError(
                    f"Node {node} ({self.labels[node]!r}) has {len(above)} parents, so there is no "
                    f"single path to it. Use ancestors()."
                )
            path.append(self.labels[node])
            node = int(above[0])
        return tuple(reversed(path))

    def find(self, key: Any) -> int:
        """Return the number of the node with a path or a label.

        Parameters
        ----------
        key : tuple, list or label
            A path from the top (also as an array), or a label that occurs only once.

        Returns
        -------
        int
            The number of the node.

        Raises
        ------
        ValueError
            If there is no such node, or several with that label.
        TypeError
            If it is nothing that could be a label.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])
        >>> h.find(("Cards", "Other"))
        2
        """
        if isinstance(key, np.ndarray):
            key = tuple(np.atleast_1d(key).tolist())
        for label in key if isinstance(key, list | tuple) else (key,):
            if not is_hashable(label):
                raise TypeError(
                    f"{label!r} is a {type(label).__name__}, which cannot be the label of a class."
                )
        if isinstance(key, list | tuple) and not self._has_label(key):
            node = 0
            for depth, label in enumerate(key):
                label = plain(label)
                step = self._child_index.get((node, type(label), label))
                if step is None:
                    raise ValueError(self._unknown(label, tuple(key[:depth]), self.children(node)))
                node = step
            return node
        nodes = self._label_index.get((type(plain(key)), plain(key)), ())
        if len(nodes) == 1:
            return nodes[0]
        if not nodes:
            raise ValueError(self._unknown(key, (), np.arange(1, self.n_nodes)))
        paths = "; ".join(self.describe(v) for v in nodes[:4])
        raise ValueError(
            f"{len(nodes)} classes are called {key!r}: {paths}{'; ...' if len(nodes) > 4 else ''}. "
            f"Give the whole path."
        )

    def describe(self, node: int) -> str:
        """Return the name of a node as a person reads it.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        str
            The labels of its path joined by ``>``; its label alone if it has several paths.
        """
        if node == 0:
            return "the root"
        if not self.is_tree:
            return str(self.labels[node])
        return " > ".join(map(str, self.path(node)))

    def indicator(self, y: Any) -> Any:
        """Return which nodes each row is in, as a sparse boolean matrix.

        Parameters
        ----------
        y : list of lists, or indicator
            Several labels per row, in any form that ``fit`` takes with ``multi_label=True``: a list
            of labels, or of path tuples, for every row; a sparse or boolean matrix with a column
            per node; or a frame whose columns are labels.

        Returns
        -------
        scipy.sparse.csr_array of bool, of shape (n_samples, n_nodes)
            A column per node, the root first. A row is in its classes and in everything above
            them.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion")])
        >>> h.labels.tolist()
        [None, 'feline', 'lion', 'pet', 'cat']
        >>> h.indicator([["cat"], ["lion"]]).toarray().astype(int)
        array([[1, 1, 0, 1, 1],
               [1, 1, 1, 0, 0]])
        """
        return membership(read_sets(y), self)

    @cached_property
    def _closure(self) -> Any:
        """Row ``v`` has ones at node ``v`` and its ancestors, the root included."""
        return closure_matrix(self)

    @cached_property
    def _child_index(self) -> dict[Any, int]:
        parent = np.repeat(np.arange(self.n_nodes), np.diff(self.child_indptr)).tolist()
        child = self.child_indices.tolist()
        labels = self.labels
        return {(p, type(labels[c]), labels[c]): c for p, c in zip(parent, child, strict=True)}

    @cached_property
    def _label_index(self) -> dict[Any, list[int]]:
        index: dict[Any, list[int]] = {}
        for node, label in enumerate(self.labels.tolist()[1:], start=1):
            index.setdefault((type(label), label), []).append(node)
        return index

    def _has_label(self, key: Any) -> bool:
        """Whether a tuple is itself a label, as in graphs whose nodes are tuples."""
        return isinstance(key, tuple) and (tuple, key) in self._label_index

    def _unknown(self, label: Any, above: tuple[Any, ...], candidates: IntArray) -> str:
        # The beginning is enough: a comparison takes time with the square of the length.
        names: dict[str, None] = {}
        for v in candidates[:20_000].tolist():
            names.setdefault(str(self.labels[v])[:_COMPARED])
        near = difflib.get_close_matches(str(label)[:_COMPARED], names, n=3)
        place = f" below {' > '.join(map(str, above))}" if above else ""
        verb = "is" if len(near) == 1 else "are"
        hint = f" The nearest {verb} {', '.join(map(repr, near))}." if near else ""
        shown = repr(label)
        if len(shown) > 2 * _COMPARED:
            shown = f"{shown[:_COMPARED]}... ({len(shown)} characters)"
        return f"The hierarchy has no class {shown}{place}.{hint}"

    def _reach(self, node: int, step: Any) -> IntArray:
        seen = np.zeros(self.n_nodes, dtype=bool)
        stack = step(node).tolist()
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = True
                stack.extend(step(v).tolist())
        return np.flatnonzero(seen)

    def _check_node(self, node: int) -> int:
        if not isinstance(node, int | np.integer) or not 0 <= node < self.n_nodes:
            raise ValueError(
                f"{node!r} is not a node: nodes are the numbers 0 to {self.n_nodes - 1}. "
                f"find() returns the number of a label or path."
            )
        return int(node)

    def _require_tree(self, what: str) -> None:
        if not self.is_tree:
            node = int(np.argmax(np.diff(self.parent_indptr) > 1))
            raise ValueError(
                f"{what} exists for trees only; {self.labels[node]!r} has several parents."
            )

    # -- conversions ---------------------------------------------------------------------------

    def to_edges(self) -> list[tuple[Any, Any]]:
        """Return all edges as pairs (parent, child).

        Returns
        -------
        list of tuple
            Labels, ``None`` for the root; in a hierarchy of paths, path tuples, ``()`` for the
            root.
        """
        name = self._names()
        return [
            (name[p], name[c]) for c in range(1, self.n_nodes) for p in self.parents(c).tolist()
        ]

    def to_networkx(self) -> Any:
        """Return the classes as a ``networkx.DiGraph`` (needs the extra ``graph``).

        Returns
        -------
        networkx.DiGraph
            Nodes are labels, or path tuples in a hierarchy of paths; each has the attributes
            ``label``, ``level`` and ``node`` (its number here). The root is not in it.
        """
        import networkx

        graph = networkx.DiGraph()
        name = self._names()
        for v in range(1, self.n_nodes):
            graph.add_node(name[v], label=self.labels[v], level=int(self.levels[v]), node=v)
        graph.add_edges_from((p, c) for p, c in self.to_edges() if p != name[0])
        return graph

    def to_json(self) -> str:
        """Return the hierarchy as JSON text, for :meth:`from_json`.

        Returns
        -------
        str
            Labels, parents and how nodes are identified.

        Raises
        ------
        TypeError
            If a label is not a string, a number or a boolean.
        """
        for label in self.labels[1:]:
            if type(label) not in _JSON_TYPES:
                raise TypeError(
                    f"The label {label!r} is a {type(label).__name__}; JSON keeps only strings, "
                    f"numbers and booleans as they are. Use pickle instead."
                )
        parents = [self.parents(v).tolist() for v in range(self.n_nodes)]
        data = {
            "format": "hiclass.Hierarchy",
            "version": 1,
            "identity": self.identity,
            "labels": self.labels.tolist(),
            "parents": parents,
        }
        return json.dumps(data, ensure_ascii=False)

    def _names(self) -> list[Any]:
        if self.identity == "label":
            return self.labels.tolist()
        names: list[Any] = [()]
        for v in range(1, self.n_nodes):
            names.append((*names[self.parent[v]], self.labels[v]))
        return names

    # -- looks ---------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self is other or self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        labels = self.labels.tolist()
        return (
            self.identity,
            tuple(map(type, labels)),
            tuple(labels),
            self.parent_indptr.tobytes(),
            self.parent_indices.tobytes(),
        )

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "DAG"
        leaves = int(self.is_leaf.sum())
        return (
            f"Hierarchy({kind}, {_count(self.n_nodes - 1, 'class', 'classes')}, "
            f"{_count(self.depth, 'level', 'levels')}, {_count(leaves, 'leaf', 'leaves')})"
        )

    def __str__(self) -> str:
        return tree_text(self)

    def _repr_html_(self) -> str:
        return tree_html(self)

    def draw(self, ax: Any = None) -> Any:
        """Draw the hierarchy from left to right (needs the extra ``plot``).

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure of a fitting size by default.

        Returns
        -------
        matplotlib Axes
            Where it was drawn.

        See Also
        --------
        hiclass.metrics.HierarchyDisplay : The tree coloured by a score.
        """
        return draw_tree(self, ax)


_STATE = (
    "n_nodes",
    "labels",
    "levels",
    "identity",
    "parent_indptr",
    "parent_indices",
    "child_indptr",
    "child_indices",
)


def _frozen(array: AnyArray) -> AnyArray:
    array.flags.writeable = False
    return array


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
