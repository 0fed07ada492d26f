"""The public class of the hierarchy: building, queries by name, export and rendering.

The numbers of the nodes and the walks along their edges are in ``_nodes``. Node 0 is the root,
which has no name and is not a class. In a tree, siblings are numbered in the order of their labels.

The identity of a node depends on the builder. :meth:`Hierarchy.from_paths` identifies a node by its
parent and its label, so that "Other" below Loans and "Other" below Cards are two classes. The
builders from edges, dicts and graphs identify a node by its label, which may have several parents.

Plain functions do the work: ``_builders`` reads and numbers, ``_lookup`` finds, ``_exchange``
exports and reads JSON, ``_texts`` reads class texts, ``_rendering`` draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from hiclass._labels.columns import object_array, read_paths
from hiclass._labels.sets import read_sets
from hiclass._typing import IntArray
from hiclass.hierarchy._builders import (
    below_root,
    number_nodes,
    order_nodes,
    read_children,
    read_edges,
    read_networkx,
)
from hiclass.hierarchy._exchange import list_edges, read_json, write_json, write_networkx
from hiclass.hierarchy._lookup import find_node, membership
from hiclass.hierarchy._nodes import Nodes
from hiclass.hierarchy._rendering import draw_tree, tree_html, tree_text
from hiclass.hierarchy._texts import read_texts


class Hierarchy(Nodes):
    """An immutable hierarchy of classes: a tree or a directed acyclic graph (DAG).

    Build one with :meth:`from_paths`, :meth:`from_edges`, :meth:`from_dict`,
    :meth:`from_networkx` or :meth:`from_json`. Without one, ``fit`` reads the hierarchy from ``y``.

    Attributes
    ----------
    n_nodes : int
        Number of nodes, including the root.
    labels : ndarray of shape (n_nodes,)
        The label of every node; ``None`` for the root.
    levels : ndarray of shape (n_nodes,)
        The level of every node. The root has level 0. In a DAG, the level is the longest
        distance from the root.
    is_tree : bool
        Whether every node except the root has exactly one parent.
    identity : {"path", "label"}
        How a node is identified: by its parent and label, or by its label alone.
    parent_indptr, parent_indices, child_indptr, child_indices : ndarray
        The edges in CSR form: the parents of ``v`` are
        ``parent_indices[parent_indptr[v]:parent_indptr[v + 1]]``. The children are stored in the
        same way.
    subtree_end : ndarray of shape (n_nodes,)
        Trees only. The subtree of ``v`` consists of the nodes ``v`` to ``subtree_end[v] - 1``.
    texts : ndarray of shape (n_nodes,)
        The texts of every node (title, descriptions, synonyms) as a tuple of strings. Empty for
        the root and for classes without texts.
    has_texts : bool
        Whether at least one class has a text.

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

    # -- builders ------------------------------------------------------------------------------

    @overload
    @classmethod
    def from_paths(
        cls,
        y: Any,
        *,
        root: Hashable | None = None,
        return_nodes: Literal[False] = False,
        texts: Any = None,
    ) -> Hierarchy: ...

    @overload
    @classmethod
    def from_paths(
        cls, y: Any, *, root: Hashable | None = None, return_nodes: Literal[True], texts: Any = None
    ) -> tuple[Hierarchy, IntArray]: ...

    @classmethod
    def from_paths(
        cls,
        y: Any,
        *,
        root: Hashable | None = None,
        return_nodes: bool = False,
        texts: Any = None,
    ) -> Hierarchy | tuple[Hierarchy, IntArray]:
        """Build a tree from paths of labels; nodes are identified by their parent and label.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
            Paths, in any form that ``fit`` accepts. Labels may be missing at the end of a path.
        root : label, default=None
            The first label of every path, if that label is the root and not a class.
        return_nodes : bool, default=False
            Whether to also return the last node of the path of every row.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, in any form that :meth:`with_texts` accepts.

        Returns
        -------
        hierarchy : Hierarchy
            The tree.
        nodes : ndarray of shape (n_samples,)
            The last node of the path of every row. Only returned if ``return_nodes`` is True.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]]).n_nodes
        5
        >>> Hierarchy.from_paths([["Loans", "Car"], ["Cards"]], return_nodes=True)[1]
        array([3, 1])
        """
        hierarchy, nodes = cls._from_columns(read_paths(y))
        hierarchy = hierarchy._without_root(root)._texted(texts)
        if not return_nodes:
            return hierarchy
        # Without a named root, all numbers of nodes increase by one.
        return hierarchy, nodes if root is None else nodes - 1

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Any, Any]], *, root: Any = None, texts: Any = None
    ) -> Hierarchy:
        """Build a hierarchy from (parent, child) pairs; nodes are identified by their label.

        Parameters
        ----------
        edges : iterable of (parent, child)
            The edges. A label without a parent, or with the parent ``None``, is at level 1.
        root : label, default=None
            The label of the node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, in any form that :meth:`with_texts` accepts.

        Returns
        -------
        Hierarchy
            A tree, or a DAG if a label has several parents.

        Raises
        ------
        ValueError
            If the edges contain a cycle or a duplicate, or if there are no edges.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion")])
        >>> h.is_tree, [str(h.labels[v]) for v in h.parents(h.find("cat"))]
        (False, ['feline', 'pet'])
        """
        return cls._from_graph((), read_edges(edges))._without_root(root)._texted(texts)

    @classmethod
    def from_dict(
        cls, children: Mapping[Any, Iterable[Any]], *, root: Any = None, texts: Any = None
    ) -> Hierarchy:
        """Build a hierarchy from ``{parent: [children]}``; nodes are identified by their label.

        Parameters
        ----------
        children : mapping of label to iterable of labels
            The children of every inner node. Leaves may be omitted or have an empty list.
        root : label, default=None
            The label of the node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, in any form that :meth:`with_texts` accepts.

        Returns
        -------
        Hierarchy
            A tree, or a DAG if a label has several parents.

        Raises
        ------
        ValueError
            If children are not given as a list, and in the cases of :meth:`from_edges`.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_dict({"all": ["a", "b"], "a": ["c"]}, root="all")
        Hierarchy(tree, 3 classes, 2 levels, 2 leaves)
        """
        hierarchy = cls._from_graph(*read_children(children))
        return hierarchy._without_root(root)._texted(texts)

    @classmethod
    def from_networkx(cls, graph: Any, *, root: Any = None, texts: Any = None) -> Hierarchy:
        """Build a hierarchy from a ``networkx.DiGraph`` with edges from parent to child.

        Parameters
        ----------
        graph : networkx.DiGraph
            The graph. Its nodes are the labels. The node attribute ``texts`` holds the texts of a
            class.
        root : label, default=None
            The node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, in any form that :meth:`with_texts` accepts.

        Returns
        -------
        Hierarchy
            A tree, or a DAG if a node has several parents. Nodes are identified by their label.

        Raises
        ------
        ValueError
            If the graph is undirected, and in the cases of :meth:`from_edges`.

        Examples
        --------
        >>> import networkx
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_networkx(networkx.DiGraph([("Animal", "Cat"), ("Animal", "Dog")]))
        Hierarchy(tree, 3 classes, 2 levels, 2 leaves)
        """
        hierarchy = cls._from_graph(*read_networkx(graph))._without_root(root)
        if texts is None:  # in the form of to_networkx
            texts = {v: t for v, t in graph.nodes(data="texts") if t is not None and v != root}
        return hierarchy._texted(texts or None)

    @classmethod
    def from_json(cls, text: str, *, root: Any = None) -> Hierarchy:
        """Build a hierarchy from the JSON text that :meth:`to_json` returns.

        Parameters
        ----------
        text : str
            The JSON text.
        root : label, default=None
            The label of the node that is the root and not a class.

        Returns
        -------
        Hierarchy
            A hierarchy equal to the one that was exported.

        Raises
        ------
        ValueError
            If the text does not describe a hierarchy.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["Animal", "Cat"], ["Plant"]])
        >>> Hierarchy.from_json(h.to_json()) == h
        True
        """
        labels, below, identity, texts = read_json(text)
        order, parents = order_nodes(labels, below)
        hierarchy = cls(object_array([labels[v] for v in order]), parents, identity)
        if texts is not None:
            hierarchy = hierarchy._with_text_array([texts[v] for v in order])
        return hierarchy._without_root(root)

    @classmethod
    def _from_graph(cls, names: Iterable[Any], edges: list[tuple[Any, Any]]) -> Hierarchy:
        """Build a hierarchy from labelled nodes and edges; the label None is the root."""
        labels, below = number_nodes(names, edges)
        order, parents = order_nodes(labels, below)
        return cls(object_array([labels[v] for v in order]), parents, "label")

    def _without_root(self, root: Any) -> Hierarchy:
        """Make the node named ``root`` the unnamed root."""
        if root is None:
            return self
        below = Hierarchy(*below_root(self, root), self.identity)
        if self._texts is None or not any(self._texts[2:]):
            return below
        return below._with_text_array([(), *self._texts[2:]])

    def _texted(self, texts: Any) -> Hierarchy:
        return self if texts is None else self.with_texts(texts)

    # -- names ---------------------------------------------------------------------------------

    def path(self, node: int) -> tuple[Any, ...]:
        """Return the labels on the path from the root to a node.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        tuple of labels
            The labels from level 1 down to the node. Empty for the root.

        Raises
        ------
        ValueError
            If several paths lead to the node.
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
        """Return the number of the node with a given path or label.

        Parameters
        ----------
        key : tuple, list or label
            A path from level 1 down (a tuple, list or array), or a label that occurs only once.

        Returns
        -------
        int
            The number of the node.

        Raises
        ------
        ValueError
            If no node, or more than one, matches.
        TypeError
            If the key cannot be a label.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])
        >>> h.find(("Cards", "Other"))
        2
        """
        return find_node(self, key)

    def describe(self, node: int) -> str:
        """Return the name of a node for display.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        str
            The labels of its path joined by ``>``, or its label alone if it has several paths.
        """
        if node == 0:
            return "the root"
        if not self.is_tree:
            return str(self.labels[node])
        return " > ".join(map(str, self.path(node)))

    def indicator(self, y: Any) -> Any:
        """Return a sparse boolean matrix of the classes of every row.

        Parameters
        ----------
        y : list of lists, or indicator matrix
            Several labels per row, in any form that ``fit`` accepts with ``multi_label=True``: a
            list of labels or path tuples for every row, a sparse or boolean matrix with one column
            per node, or a frame whose columns are labels.

        Returns
        -------
        scipy.sparse.csr_array of bool, of shape (n_samples, n_nodes)
            One column per node, starting with the root. A row belongs to its classes and to all
            of their ancestors.

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

    def with_texts(self, texts: Any) -> Hierarchy:
        """Return a copy of the hierarchy with texts for its classes.

        Texts are titles, descriptions or synonyms. Inner classes may have texts, and any class may
        have none.

        Parameters
        ----------
        texts : mapping, Series or frame, or "labels"
            One of:

            * a mapping from labels or path tuples to a string or a list of strings;
            * a pandas Series with labels or paths as its index;
            * a frame with a column ``text``, or several columns that begin with ``text_``. The
              other columns identify the class: one column its label, several columns its path;
            * ``"labels"``: the text of every class is its label;
            * None: removes all texts.

            The first text of a class is its title.

        Returns
        -------
        Hierarchy
            The same classes with exactly these texts.

        Raises
        ------
        ValueError
            If a class does not exist (the message suggests similar names), if a text is empty, or
            if two classes cannot be told apart because they and their ancestors have the same
            texts.
        TypeError
            If a text is not a string.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["A", "A1"], ["A", "A2"], ["B"]])
        >>> h = h.with_texts({"A": "Animals", ("A", "A2"): ["Dogs", "Wolves and their relatives"]})
        >>> h.texts[h.find("A2")]
        ('Dogs', 'Wolves and their relatives')
        >>> print(h)
        ├── A: Animals
        │   ├── A1
        │   └── A2: Dogs
        └── B
        """
        return self._with_text_array(read_texts(self, texts))

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

    # -- conversions ---------------------------------------------------------------------------

    def to_edges(self) -> list[tuple[Any, Any]]:
        """Return all edges as (parent, child) pairs.

        Returns
        -------
        list of tuple
            Pairs of labels, with ``None`` for the root. If nodes are identified by their path,
            pairs of path tuples, with ``()`` for the root.
        """
        return list_edges(self)

    def to_networkx(self) -> Any:
        """Return the classes as a ``networkx.DiGraph``. Requires the extra ``graph``.

        Returns
        -------
        networkx.DiGraph
            The graph without the root. Nodes are labels, or path tuples if nodes are identified by
            their path. Each node has the attributes ``label``, ``level``, ``node`` (its number in
            this hierarchy) and, if it has texts, ``texts``.
        """
        return write_networkx(self)

    def to_json(self) -> str:
        """Return the hierarchy as JSON text that :meth:`from_json` reads.

        Returns
        -------
        str
            Labels, parents, texts, and how nodes are identified.

        Raises
        ------
        TypeError
            If a label is not a string, a number or a boolean.
        """
        return write_json(self)

    # -- comparing and rendering ---------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self is other or (self._key == other._key and self._same_texts(other))

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

    def _same_texts(self, other: Hierarchy) -> bool:
        if self._texts is None or other._texts is None:
            return self._texts is other._texts
        return bool(self._texts.tolist() == other._texts.tolist())

    def _same_classes(self, other: Hierarchy) -> bool:
        """Whether two hierarchies are equal except for their texts."""
        return self is other or self._key == other._key

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "DAG"
        leaves = int(self.is_leaf.sum())
        texted = sum(map(bool, self.texts)) if self.has_texts else 0
        return (
            f"Hierarchy({kind}, {_count(self.n_nodes - 1, 'class', 'classes')}, "
            f"{_count(self.depth, 'level', 'levels')}, {_count(leaves, 'leaf', 'leaves')}"
            f"{f', {texted} with texts' if texted else ''})"
        )

    def __str__(self) -> str:
        return tree_text(self)

    def _repr_html_(self) -> str:
        return tree_html(self)

    def draw(self, ax: Any = None) -> Any:
        """Draw the hierarchy from left to right. Requires the extra ``plot``.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. By default, a new figure of suitable size is created.

        Returns
        -------
        matplotlib Axes
            The axes with the drawing.

        See Also
        --------
        hiclass.metrics.HierarchyDisplay : A tree coloured by a score.
        """
        return draw_tree(self, ax)


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
