"""Numbers and queries of nodes: worked out by hand, and laws for every tree and DAG."""

import re

import numpy as np
import pytest
from hierarchy_helpers import (
    assert_agrees_with_networkx,
    assert_consistent,
    edges_of,
    message,
    names,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS, UNLIMITED_KINDS, dag_edges, paths

from hiclass import Hierarchy


def test_numbers_are_a_preorder_with_sorted_siblings(animals):
    assert animals.n_nodes == 8
    assert animals.labels.tolist() == [
        None, "Mammal", "Cat", "Wolf", "Dog", "Reptile", "Lizard", "Snake",
    ]  # fmt: skip
    assert animals.levels.tolist() == [0, 1, 2, 2, 3, 1, 2, 2]
    assert animals.parent.tolist() == [0, 0, 1, 1, 3, 0, 5, 5]
    assert animals.subtree_end.tolist() == [8, 5, 3, 5, 5, 8, 7, 8]
    assert animals.is_leaf.tolist() == [False, False, True, False, True, False, True, True]
    assert [nodes.tolist() for nodes in animals.nodes_by_level] == [[0], [1, 5], [2, 3, 6, 7], [4]]
    assert animals.ancestor_table.tolist() == [
        [-1, -1, -1], [1, -1, -1], [1, 2, -1], [1, 3, -1], [1, 3, 4], [5, -1, -1], [5, 6, -1],
        [5, 7, -1],
    ]  # fmt: skip
    assert animals.depth == 3
    assert animals.is_tree
    assert animals.identity == "path"


def test_edges_are_csr_arrays(animals):
    assert animals.child_indptr.tolist() == [0, 2, 4, 4, 5, 5, 7, 7, 7]
    assert animals.child_indices.tolist() == [1, 5, 2, 3, 4, 6, 7]
    assert animals.parent_indptr.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7]
    assert animals.parent_indices.tolist() == [0, 1, 1, 3, 0, 5, 5]


def test_queries_of_a_tree(animals):
    wolf = animals.find("Wolf")
    assert animals.children(1).tolist() == [2, 3]
    assert animals.children(4).tolist() == []
    assert animals.parents(wolf).tolist() == [1]
    assert animals.parents(0).tolist() == []
    assert animals.ancestors(4).tolist() == [0, 1, 3]
    assert animals.ancestors(0).tolist() == []
    assert animals.descendants(1).tolist() == [2, 3, 4]
    assert animals.descendants(4).tolist() == []
    assert animals.siblings(wolf).tolist() == [2]
    assert animals.siblings(4).tolist() == []
    assert animals.siblings(0).tolist() == []
    assert animals.leaves().tolist() == [2, 4, 6, 7]
    assert animals.leaves(3).tolist() == [4]
    assert animals.leaves(4).tolist() == [4]
    assert animals.path(4) == ("Mammal", "Wolf", "Dog")
    assert animals.path(0) == ()
    assert animals.describe(4) == "Mammal > Wolf > Dog"
    assert animals.describe(0) == "the root"


def test_queries_of_a_dag(pets):
    assert not pets.is_tree
    assert pets.identity == "label"
    cat = pets.find("cat")
    assert sorted(names(pets, pets.parents(cat))) == ["feline", "pet"]
    assert sorted(names(pets, pets.ancestors(cat)[1:])) == ["animal", "feline", "pet"]
    assert sorted(names(pets, pets.descendants(pets.find("animal")))) == [
        "cat",
        "feline",
        "lion",
        "x",
    ]
    assert names(pets, pets.siblings(cat)) == ["lion"]
    assert pets.levels[cat] == 3
    assert pets.levels[pets.find("pet")] == 1
    assert sorted(names(pets, pets.leaves(pets.find("animal")))) == ["cat", "lion", "x"]
    assert pets.path(pets.find("lion")) == ("animal", "feline", "lion")
    assert pets.describe(cat) == "cat"
    assert pets.describe(0) == "the root"


def test_a_node_with_several_parents_has_no_single_path(pets):
    cat = pets.find("cat")
    parts = message(f"Node {cat} ('cat') has 2 parents, so there is no single path to it.")
    with pytest.raises(ValueError, match=parts):
        pets.path(cat)


@pytest.mark.parametrize("what", ["parent", "subtree_end", "ancestor_table"])
def test_what_only_trees_have_is_an_error_for_a_dag_that_names_a_node(pets, what):
    with pytest.raises(
        ValueError, match=r"is available for trees only, but 'cat' has several parents\."
    ):
        getattr(pets, what)


@pytest.mark.parametrize("node", [8, -1, "Wolf", 1.0, None])
@pytest.mark.parametrize(
    "query", ["children", "parents", "ancestors", "descendants", "siblings", "leaves", "path"]
)
def test_what_is_no_node_is_an_error_with_the_range(animals, query, node):
    expected = f"{node!r} is not a node: nodes are the numbers 0 to 7. Use find() to get the num"
    with pytest.raises(ValueError, match=re.escape(expected)):
        getattr(animals, query)(node)


def test_numpy_integers_are_nodes(animals):
    assert animals.path(np.int16(3)) == ("Mammal", "Wolf")


@SETTINGS
@given(paths(labels="any"))
def test_random_trees_are_consistent_preorders_and_agree_with_networkx(y):
    h = Hierarchy.from_paths(y)
    assert_consistent(h)
    assert_agrees_with_networkx(h)
    assert h.is_tree
    assert {h.path(v) for v in range(1, h.n_nodes)} == {
        tuple(path[: j + 1]) for path in y for j in range(len(path))
    }
    for v in range(h.n_nodes):
        assert set(range(v + 1, h.subtree_end[v])) == set(h.descendants(v).tolist())
        kids = names(h, h.children(v))
        assert kids == sorted(kids)
        line = [u for u in [*h.ancestors(v).tolist(), v] if u]
        assert h.ancestor_table[v].tolist() == line + [-1] * (h.depth - len(line))
        assert h.find(h.path(v)) == v
    assert all(type(label) in {type(x) for path in y for x in path} for label in h.labels[1:])


@SETTINGS
@given(dag_edges())
def test_random_dags_are_consistent_and_agree_with_networkx(edges):
    h = Hierarchy.from_edges(edges)
    assert_consistent(h)
    assert_agrees_with_networkx(h)
    found = {(h.labels[p], h.labels[c]) for c in range(1, h.n_nodes) for p in h.parents(c)}
    children = {child for _, child in edges}
    tops = {(None, label) for edge in edges for label in edge if label not in children}
    assert found == set(edges) | tops
    assert all(h.labels[h.find(label)] == label for edge in edges for label in edge)


@SETTINGS
@given(paths(labels=UNLIMITED_KINDS, homonyms=False))
def test_trees_are_numbered_alike_whether_built_from_paths_or_from_edges(y):
    by_path, by_label = Hierarchy.from_paths(y), Hierarchy.from_edges(edges_of(y))
    assert by_path.labels.tolist() == by_label.labels.tolist()
    assert by_path.parent.tolist() == by_label.parent.tolist()
    assert by_path != by_label
    assert by_path._of_tree(by_path.labels, by_path.parent, "label") == by_label


@SETTINGS
@given(paths(labels="any"), st.randoms(use_true_random=False))
def test_the_order_and_number_of_rows_do_not_matter(y, random):
    other = random.sample(y, len(y)) + random.choices(y, k=3)
    assert Hierarchy.from_paths(other) == Hierarchy.from_paths(y)


@SETTINGS
@given(dag_edges(), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(edges, random):
    assert Hierarchy.from_edges(random.sample(edges, len(edges))) == Hierarchy.from_edges(edges)
