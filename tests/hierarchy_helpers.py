"""What the tests of hierarchies share: two of them, and how to read one."""

import re
from html.parser import HTMLParser

import networkx as nx
import numpy as np

ANIMALS = [
    ["Mammal", "Wolf", "Dog"],
    ["Mammal", "Cat"],
    ["Reptile", "Snake"],
    ["Reptile", "Lizard"],
]
PETS = [
    ("pet", "cat"),
    ("feline", "cat"),
    ("feline", "lion"),
    ("animal", "feline"),
    ("animal", "x"),
]


def names(hierarchy, nodes):
    return [hierarchy.labels[v] for v in nodes]


def edges_of(y):
    """Edges between the labels of some paths, with None as the root."""
    return {(above, below) for path in y for above, below in zip([None, *path], path, strict=False)}


def message(*parts):
    return ".*".join(map(re.escape, parts))


def assert_consistent(h):
    """Assert what holds for the arrays of every hierarchy."""
    for indptr, indices in [
        (h.child_indptr, h.child_indices),
        (h.parent_indptr, h.parent_indices),
    ]:
        assert indptr.dtype == indices.dtype == np.intp
        assert len(indptr) == h.n_nodes + 1
        assert indptr[0] == 0
        assert indptr[-1] == len(indices)
        assert (np.diff(indptr) >= 0).all()
    below = {(v, int(c)) for v in range(h.n_nodes) for c in h.children(v)}
    above = {(int(p), v) for v in range(h.n_nodes) for p in h.parents(v)}
    assert below == above
    assert len(below) == len(h.child_indices)
    assert all(p < c for p, c in below)
    assert h.labels[0] is None
    assert h.parents(0).size == 0
    assert all(h.parents(v).size for v in range(1, h.n_nodes))
    for v in range(h.n_nodes):
        assert (np.diff(h.children(v)) > 0).all()
        assert (np.diff(h.parents(v)) > 0).all()


def assert_agrees_with_networkx(h):
    """Assert that every query agrees with networkx on the same graph."""
    graph = nx.DiGraph([(int(p), v) for v in range(h.n_nodes) for p in h.parents(v)])
    longest = dict.fromkeys(graph, 0)
    for v in nx.topological_sort(graph):
        for c in graph.successors(v):
            longest[c] = max(longest[c], longest[v] + 1)
    assert h.levels.tolist() == [longest[v] for v in range(h.n_nodes)]
    assert h.depth == nx.dag_longest_path_length(graph)
    assert h.is_tree == nx.is_arborescence(graph)
    leaves = {v for v in graph if graph.out_degree(v) == 0}
    assert set(np.flatnonzero(h.is_leaf)) == leaves
    for v in range(h.n_nodes):
        below = nx.descendants(graph, v)
        assert h.ancestors(v).tolist() == sorted(nx.ancestors(graph, v))
        assert h.descendants(v).tolist() == sorted(below)
        assert h.leaves(v).tolist() == sorted((below | {v}) & leaves)
        siblings = {c for p in graph.predecessors(v) for c in graph.successors(p)} - {v}
        assert h.siblings(v).tolist() == sorted(siblings)


class BalancedHTML(HTMLParser):
    """Collects texts and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.texts = [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def names_in(closed, hierarchy):
    """The labels of every row of closed sets, without the root."""
    return [{hierarchy.labels[v] for v in np.flatnonzero(row) if v} for row in closed.toarray()]
