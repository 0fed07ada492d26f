"""The hierarchy of classes as users meet it: built, queried by name, exported and rendered.

The numbers of the nodes and the walks along their edges are in ``_nodes``. Node 0 is the root,
which has no name and is not a class; in a tree siblings are numbered in the order of their labels.

What makes two nodes the same depends on the builder. :meth:`Hierarchy.from_paths` identifies a node
by its parent and its label, so "Other" under Loans and "Other" under Cards are two classes. The
builders from edges, dicts and graphs identify a node by its label, which may have several parents.

The work is done by plain functions: ``_builders`` reads and numbers, ``_lookup`` finds,
``_exchange`` exports and reads JSON, ``_texts`` reads the words of classes, ``_rendering`` draws.
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
    texts : ndarray of shape (n_nodes,)
        The texts of every node, a tuple of strings: titles, descriptions, synonyms. Empty for the
        root and where none were given.
    has_texts : bool
        Whether some class has a text.

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
        """Build a tree from paths of labels; a node is its parent and its label.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_levels), or list of lists
            Paths, in any form that ``fit`` takes. Missing labels may stand at the end.
        root : label, default=None
            A label that every path starts with and that is not a class of its own.
        return_nodes : bool, default=False
            Whether to return also the node of every row: the last one of its path.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, as :meth:`with_texts` takes them.

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
        hierarchy, nodes = cls._from_columns(read_paths(y))
        hierarchy = hierarchy._without_root(root)._texted(texts)
        if not return_nodes:
            return hierarchy
        # Without a named root all nodes move up by one.
        return hierarchy, nodes if root is None else nodes - 1

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Any, Any]], *, root: Any = None, texts: Any = None
    ) -> Hierarchy:
        """Build a hierarchy from pairs (parent, child); a node is its label.

        Parameters
        ----------
        edges : iterable of (parent, child)
            With ``None`` as parent the child stands at the top. Labels without a parent stand
            at the top as well.
        root : label, default=None
            The label of a node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, as :meth:`with_texts` takes them.

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
        return cls._from_graph((), read_edges(edges))._without_root(root)._texted(texts)

    @classmethod
    def from_dict(
        cls, children: Mapping[Any, Iterable[Any]], *, root: Any = None, texts: Any = None
    ) -> Hierarchy:
        """Build a hierarchy from ``{parent: [children]}``; a node is its label.

        Parameters
        ----------
        children : mapping of label to iterable of labels
            The children of every inner node. A leaf may be left out or have an empty list.
        root : label, default=None
            The label of a node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, as :meth:`with_texts` takes them.

        Returns
        -------
        Hierarchy
            Nodes are identified by their labels.

        Raises
        ------
        ValueError
            If children are not given as a list, or as in :meth:`from_edges`.

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
            Its nodes are the labels. An attribute ``texts`` of a node has its texts.
        root : label, default=None
            The node that is the root and not a class.
        texts : mapping, Series or frame, or "labels", default=None
            Texts of classes, as :meth:`with_texts` takes them.

        Returns
        -------
        Hierarchy
            Nodes are identified by their labels.

        Raises
        ------
        ValueError
            If the graph is undirected, or as in :meth:`from_edges`.

        Examples
        --------
        >>> import networkx
        >>> from hiclass import Hierarchy
        >>> Hierarchy.from_networkx(networkx.DiGraph([("Animal", "Cat"), ("Animal", "Dog")]))
        Hierarchy(tree, 3 classes, 2 levels, 2 leaves)
        """
        hierarchy = cls._from_graph(*read_networkx(graph))._without_root(root)
        if texts is None:  # as to_networkx writes them
            texts = {v: t for v, t in graph.nodes(data="texts") if t is not None and v != root}
        return hierarchy._texted(texts or None)

    @classmethod
    def from_json(cls, text: str, *, root: Any = None) -> Hierarchy:
        """Read a hierarchy that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON text.
        root : label, default=None
            The label of a node that is the root and not a class.

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
        """Make the node that is called ``root`` the unnamed root."""
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
            If there are several paths to the node.
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
            If it cannot be a label.

        Examples
        --------
        >>> from hiclass import Hierarchy
        >>> h = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])
        >>> h.find(("Cards", "Other"))
        2
        """
        return find_node(self, key)

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

    def with_texts(self, texts: Any) -> Hierarchy:
        """Return the same hierarchy with texts of its classes: titles, descriptions, synonyms.

        Parameters
        ----------
        texts : mapping, Series or frame, or "labels"
            A mapping of labels or path tuples to a string or a list of strings; a pandas Series
            whose index has the names; a frame with a column ``text`` (or several that begin with
            ``text_``), whose other columns name the class: one its label, several its path. With
            "labels", the label of every class is its text. None removes all texts. Inner classes
            may have texts, and any class may have none. The first text of a class is its title.

        Returns
        -------
        Hierarchy
            The same classes with these texts and no others.

        Raises
        ------
        ValueError
            If a class does not exist, which names the nearest ones; if a text is empty; or if no
            words tell two classes apart, because their texts and all above them are the same.
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
        """Return all edges as pairs (parent, child).

        Returns
        -------
        list of tuple
            Labels, ``None`` for the root; in a hierarchy of paths, path tuples, ``()`` for the
            root.
        """
        return list_edges(self)

    def to_networkx(self) -> Any:
        """Return the classes as a ``networkx.DiGraph`` (needs the extra ``graph``).

        Returns
        -------
        networkx.DiGraph
            Nodes are labels, or path tuples in a hierarchy of paths; each has the attributes
            ``label``, ``level`` and ``node`` (its number here), and ``texts`` where it has some.
            The root is not in it.
        """
        return write_networkx(self)

    def to_json(self) -> str:
        """Return the hierarchy as JSON text, for :meth:`from_json`.

        Returns
        -------
        str
            Labels, parents, how nodes are identified, and texts.

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
        """Whether two hierarchies are equal but for their texts."""
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


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
