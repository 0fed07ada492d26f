"""The hierarchy: numbers, queries, builders, conversions, renderings."""

import copy
import datetime
import html
import itertools
import json
import pickle
import re
from html.parser import HTMLParser

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import KINDS, ODD_STRINGS, SETTINGS, UNLIMITED_KINDS, dag_edges, pad, paths

from hiclass import Hierarchy, LocalClassifierPerNode

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


@pytest.fixture
def animals():
    """A small tree: 1 Mammal {2 Cat, 3 Wolf {4 Dog}}, 5 Reptile {6 Lizard, 7 Snake}."""
    return Hierarchy.from_paths(ANIMALS)


@pytest.fixture
def pets():
    """A small DAG in which a cat is a pet and a feline."""
    return Hierarchy.from_edges(PETS)


def names(hierarchy, nodes):
    return [hierarchy.labels[v] for v in nodes]


def edges_of(y):
    """Edges between the labels of some paths, with None as the root."""
    return {(above, below) for path in y for above, below in zip([None, *path], path, strict=False)}


def message(*parts):
    return ".*".join(map(re.escape, parts))


# -- a tree, worked out by hand ----------------------------------------------------------------


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
    with pytest.raises(ValueError, match=r"exists for trees only; 'cat' has several parents\."):
        getattr(pets, what)


@pytest.mark.parametrize("node", [8, -1, "Wolf", 1.0, None])
@pytest.mark.parametrize(
    "query", ["children", "parents", "ancestors", "descendants", "siblings", "leaves", "path"]
)
def test_what_is_no_node_is_an_error_with_the_range(animals, query, node):
    expected = f"{node!r} is not a node: nodes are the numbers 0 to 7. find() returns the number"
    with pytest.raises(ValueError, match=re.escape(expected)):
        getattr(animals, query)(node)


def test_numpy_integers_are_nodes(animals):
    assert animals.path(np.int16(3)) == ("Mammal", "Wolf")


# -- laws --------------------------------------------------------------------------------------


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


# -- builders ----------------------------------------------------------------------------------


def test_from_paths_takes_single_labels_frames_and_missing_labels():
    flat = Hierarchy.from_paths(["b", "a"])
    assert flat.labels.tolist() == [None, "a", "b"]
    frame = pd.DataFrame({"one": ["a", "a"], "two": ["x", None]})
    assert Hierarchy.from_paths(frame) == Hierarchy.from_paths([["a", "x"]])
    assert Hierarchy.from_paths([["a", None], ["b", None]]).depth == 1


def test_from_paths_keeps_homonyms_apart_and_from_edges_does_not():
    y = [["Loans", "Other"], ["Cards", "Other"]]
    assert Hierarchy.from_paths(y).n_nodes == 5
    graph = Hierarchy.from_edges([tuple(path) for path in y])
    assert graph.n_nodes == 4
    assert not graph.is_tree


def test_from_paths_refuses_gaps_and_empty_rows():
    with pytest.raises(ValueError, match="Row 0 of y has a label at level 2"):
        Hierarchy.from_paths([["", "a"]])
    with pytest.raises(ValueError, match="Row 1 of y has no label at all"):
        Hierarchy.from_paths([["a"], []])


def test_from_paths_numbers_wide_and_sparse_levels_by_a_sort():
    # 1,500 parents x 1,500 labels are too many for a table.
    y = np.column_stack([np.arange(1500), np.arange(1500)[::-1]])
    h = Hierarchy.from_paths(y)
    assert h.n_nodes == 3001
    assert h.path(4) == (1, 1498)
    assert h.parent.tolist()[:5] == [0, 0, 1, 0, 3]


EDGES = [("a", "b"), ("a", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("build", "source"),
    [
        (Hierarchy.from_dict, {"a": ["b", "c"], "c": ["d"]}),
        (Hierarchy.from_dict, {"a": {"c", "b"}, "c": ("d",), "d": [], "b": []}),
        (Hierarchy.from_dict, {None: ["a"], "a": ["b", "c"], "c": ["d"]}),
        (Hierarchy.from_edges, EDGES),
        (Hierarchy.from_edges, [list(edge) for edge in reversed(EDGES)]),
        (Hierarchy.from_edges, {(None, "a"), *EDGES}),
        (Hierarchy.from_edges, np.array(EDGES)),
        (Hierarchy.from_networkx, nx.DiGraph(EDGES[::-1])),
    ],
)
def test_all_builders_by_label_agree_and_take_a_root(build, source):
    h = build(source)
    assert h.labels.tolist() == [None, "a", "b", "c", "d"]
    assert h.parent.tolist() == [0, 0, 1, 1, 3]
    assert h.identity == "label"
    rooted = build(source, root="a")
    assert rooted.labels.tolist() == [None, "b", "c", "d"]
    assert rooted.parent.tolist() == [0, 0, 0, 2]
    assert rooted.levels.tolist() == [0, 1, 1, 2]
    assert Hierarchy.from_json(h.to_json(), root="a") == rooted


def test_from_paths_takes_a_root_that_every_path_starts_with():
    h = Hierarchy.from_paths([["all", "b"], ["all", "a", "x"], ["all"]], root="all")
    assert h == Hierarchy.from_paths([["b"], ["a", "x"]])


def test_a_dag_takes_a_root():
    h = Hierarchy.from_edges([("all", "a"), ("all", "b"), ("a", "c"), ("b", "c")], root="all")
    assert h == Hierarchy.from_edges([("a", "c"), ("b", "c")])


def test_edges_may_come_from_an_iterator():
    assert Hierarchy.from_edges(iter(EDGES)) == Hierarchy.from_edges(EDGES)


def test_leaves_without_edges_are_classes():
    graph = nx.DiGraph()
    graph.add_nodes_from(["b", "a"])
    assert Hierarchy.from_networkx(graph).labels.tolist() == [None, "a", "b"]
    assert Hierarchy.from_dict({"a": []}).labels.tolist() == [None, "a"]


@pytest.mark.parametrize(
    ("root", "found"),
    [("x", "'a', 'b'"), ("a", "'a', 'b'")],
)
def test_a_root_that_is_not_the_one_label_at_the_top_is_an_error_that_shows_the_top(root, found):
    expected = f"root={root!r} must be the one label at the top of the hierarchy; found {found}."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        Hierarchy.from_paths(["a", "b"], root=root)


def test_a_root_among_many_is_an_error_that_shows_five_of_them():
    with pytest.raises(ValueError, match=r"found 0, 1, 2, 3, 4, \.\.\.\.$"):
        Hierarchy.from_paths(list(range(7)), root=0)


@pytest.mark.parametrize("root", [True, 1.0])
def test_a_root_of_another_type_is_not_the_root(root):
    with pytest.raises(ValueError, match=r"found 1\.$"):
        Hierarchy.from_edges([(1, 2)], root=root)
    assert Hierarchy.from_edges([(1, 2)], root=np.int64(1)).labels.tolist() == [None, 2]


def test_nothing_below_the_root_is_an_error():
    with pytest.raises(ValueError, match="The hierarchy has no classes below root='a'"):
        Hierarchy.from_paths(["a", "a"], root="a")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Hierarchy.from_edges([]),
        lambda: Hierarchy.from_dict({}),
        lambda: Hierarchy.from_dict({None: []}),
        lambda: Hierarchy.from_networkx(nx.DiGraph()),
    ],
)
def test_a_hierarchy_without_classes_is_an_error(build):
    with pytest.raises(ValueError, match=r"^The hierarchy has no classes\.$"):
        build()


@pytest.mark.parametrize("edge", ["ab", b"ab", ("a",), ("a", "b", "c"), 5])
def test_what_is_no_pair_is_an_error_that_shows_it(edge):
    expected = f"An edge is a pair (parent, child); got {edge!r}."
    with pytest.raises(ValueError, match=re.escape(expected)):
        Hierarchy.from_edges([("x", "y"), edge])


@pytest.mark.parametrize("children", ["bc", b"bc", 5, None, {"b": {"c": {}}}])
def test_what_is_no_list_of_children_is_an_error_that_shows_parent_and_value(children):
    expected = f"The children of 'a' must be a list of labels; got {children!r}."
    with pytest.raises(ValueError, match=re.escape(expected)):
        Hierarchy.from_dict({"a": children})


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "'a' -> 'b' -> 'c' -> 'a'"),
        ([("x", "a"), ("a", "b"), ("b", "a")], "'a' -> 'b' -> 'a'"),
        ([("a", "a")], "'a' -> 'a'"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")], "'b' -> 'c' -> 'd' -> 'b'"),
    ],
)
def test_a_cycle_is_an_error_that_shows_it(edges, cycle):
    with pytest.raises(ValueError, match=f"^The hierarchy has a cycle: {re.escape(cycle)}\\.$"):
        Hierarchy.from_edges(edges)


@SETTINGS
@given(dag_edges())
def test_an_edge_back_to_an_ancestor_is_always_found_as_a_cycle(edges):
    h = Hierarchy.from_edges(edges)
    deepest = int(np.argmax(h.levels))
    top = int(h.ancestors(deepest)[1])
    with pytest.raises(ValueError, match="The hierarchy has a cycle: ") as error:
        Hierarchy.from_edges([*edges, (h.labels[deepest], h.labels[top])])
    cycle = [int(name) for name in str(error.value).split(": ")[1].rstrip(".").split(" -> ")]
    assert cycle[0] == cycle[-1]
    known = {*edges, (h.labels[deepest], h.labels[top])}
    assert all(pair in known for pair in itertools.pairwise(cycle))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Hierarchy.from_edges([("a", "b"), ("a", "c"), ("a", "b")]),
        lambda: Hierarchy.from_dict({"a": ["b", "c", "b"]}),
        lambda: Hierarchy.from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b")])),
    ],
)
def test_an_edge_that_is_given_twice_is_an_error_that_names_it(build):
    with pytest.raises(ValueError, match=r"^The edge \('a', 'b'\) is given twice\.$"):
        build()


@pytest.mark.parametrize("parent", ["a", None])
def test_an_edge_without_child_is_an_error(parent):
    with pytest.raises(ValueError, match=re.escape(f"The edge ({parent!r}, None) has no child.")):
        Hierarchy.from_edges([(parent, None)])


@pytest.mark.parametrize("label", ["", float("nan"), pd.NA, np.float64("nan")], ids=repr)
def test_what_spells_missing_cannot_be_a_class(label):
    with pytest.raises(ValueError, match="cannot be the label of a class: it spells 'missing'"):
        Hierarchy.from_edges([("a", label)])


def test_what_cannot_be_looked_up_cannot_be_a_class():
    expected = "['b', 'c'] is a list, which cannot be the label of a class."
    with pytest.raises(TypeError, match=re.escape(expected)):
        Hierarchy.from_edges([("a", ["b", "c"])])


def test_an_undirected_graph_is_an_error():
    with pytest.raises(ValueError, match="The graph is undirected, so its edges have no parent"):
        Hierarchy.from_networkx(nx.Graph([("a", "b")]))


def test_one_true_and_one_point_zero_are_three_classes_of_a_graph():
    h = Hierarchy.from_edges([(None, 1), (None, True), (None, 1.0), (1, "x"), (True, "y")])
    assert h.n_nodes == 6
    assert len({h.find(1), h.find(True), h.find(1.0)}) == 3
    assert h.path(h.find("x")) == (1, "x")
    assert type(h.path(h.find("x"))[0]) is int
    assert type(h.path(h.find("y"))[0]) is bool
    assert h.find((True, "y")) == h.find("y")
    with pytest.raises(ValueError, match="no class 'y' below 1"):
        h.find((1, "y"))


def test_siblings_of_several_types_or_without_an_order_have_a_fixed_order():
    h = Hierarchy.from_dict({None: ["b", 2, "a", 10]})
    assert h.labels.tolist() == [None, 10, 2, "a", "b"]
    assert Hierarchy.from_dict({None: [10, "a", 2, "b"]}) == h
    graph = Hierarchy.from_dict({None: [2j, 1j]})
    assert graph.labels.tolist() == [None, 1j, 2j]


def test_labels_may_be_tuples():
    h = Hierarchy.from_edges([(("a", 1), ("a", 2))])
    assert h.find(("a", 2)) == 2
    assert h.find([("a", 1), ("a", 2)]) == 2
    assert h.path(2) == (("a", 1), ("a", 2))


def test_numpy_scalars_become_plain_labels():
    h = Hierarchy.from_edges([(np.str_("a"), np.int64(5))])
    assert [type(label) for label in h.labels[1:]] == [str, int]


# -- find --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    ["Wolf", np.str_("Wolf"), ("Mammal", "Wolf"), ["Mammal", "Wolf"], np.array(["Mammal", "Wolf"])],
)
def test_a_node_is_found_by_label_and_by_path(animals, key):
    assert animals.find(key) == 3


def test_the_empty_path_is_the_root(animals):
    assert animals.find(()) == 0
    assert animals.find([]) == 0


def test_a_label_of_several_classes_needs_its_path():
    y = [[parent, "Other"] for parent in "ABCDE"]
    h = Hierarchy.from_paths(y)
    expected = (
        "5 classes are called 'Other': A > Other; B > Other; C > Other; D > Other; .... "
        "Give the whole path."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        h.find("Other")
    assert h.path(h.find(("C", "Other"))) == ("C", "Other")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("Wolve", "The hierarchy has no class 'Wolve'. The nearest is 'Wolf'."),
        ("Mamal", "The hierarchy has no class 'Mamal'. The nearest is 'Mammal'."),
        ("WOLF", "The hierarchy has no class 'WOLF'. The nearest is 'Wolf'."),
        ("xyz", "The hierarchy has no class 'xyz'."),
        (("Mammal", "Snake"), "'Snake' below Mammal; 'Snake' is at level 2 (Reptile > Snake)."),
        (("Mammal", "Wolf", "Dig"), "no class 'Dig' below Mammal > Wolf. The nearest is 'Dog'."),
        ("", "The hierarchy has no class ''."),
        (None, "The hierarchy has no class None."),
        (5, "The hierarchy has no class 5."),
    ],
)
def test_an_unknown_name_is_an_error_with_close_matches(animals, key, expected):
    with pytest.raises(ValueError, match=f"{re.escape(expected)}$"):
        animals.find(key)


def test_close_matches_are_different_names():
    h = Hierarchy.from_paths([["a", "Other"], ["b", "Other"], ["b", "Others"]])
    with pytest.raises(ValueError, match=r"The nearest are 'Other', 'Others'\.$"):
        h.find("Othe")


# -- identity, copies, pickles -----------------------------------------------------------------


def test_equal_hierarchies_are_equal_and_hash_alike(animals):
    other = Hierarchy.from_paths(ANIMALS[::-1])
    assert other is not animals
    assert other == animals
    assert hash(other) == hash(animals)
    assert {animals: 1}[other] == 1


@pytest.mark.parametrize(
    "other",
    [
        Hierarchy.from_paths(ANIMALS[:3]),
        Hierarchy.from_paths([*ANIMALS[:3], ["Mammal", "Lizard"]]),
        Hierarchy.from_edges(edges_of(ANIMALS)),
        "Hierarchy",
        None,
    ],
)
def test_different_hierarchies_are_different(animals, other):
    assert animals != other
    assert not animals == other  # noqa: SIM201


def test_labels_of_different_types_make_different_hierarchies():
    three = [Hierarchy.from_paths([label]) for label in (1, True, 1.0)]
    assert len(set(three)) == 3


@pytest.mark.parametrize(
    "array",
    ["labels", "levels", "child_indptr", "child_indices", "parent_indptr", "parent_indices",
     "parent", "subtree_end", "is_leaf", "ancestor_table"],
)  # fmt: skip
def test_no_array_can_be_written_also_after_pickling(animals, array):
    for h in (animals, pickle.loads(pickle.dumps(animals))):
        with pytest.raises(ValueError, match="read-only"):
            getattr(h, array)[0] = 1


def test_what_queries_return_cannot_be_written_into_the_hierarchy(animals):
    for view in (animals.children(1), animals.parents(2), animals.nodes_by_level[1]):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0


def test_attributes_cannot_be_set_or_deleted(animals):
    with pytest.raises(AttributeError, match="A Hierarchy never changes; 'labels' cannot be set"):
        animals.labels = None
    with pytest.raises(AttributeError, match=r"'new' cannot be set\. Build a new one\."):
        animals.new = 1
    with pytest.raises(AttributeError, match="'labels' cannot be deleted"):
        del animals.labels


def test_a_hierarchy_does_not_change_with_the_labels_it_was_built_from():
    y = np.array([["a", "x"], ["b", "y"]], dtype=object)
    h = Hierarchy.from_paths(y)
    y[:] = "z"
    assert h == Hierarchy.from_paths([["a", "x"], ["b", "y"]])


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_equal_and_can_be_queried(protocol, animals, pets):
    for h in (animals, pets):
        h.find("cat" if h is pets else "Cat")  # fills what is cached
        again = pickle.loads(pickle.dumps(h, protocol))
        assert again == h
        assert again is not h
        assert_consistent(again)
        assert_agrees_with_networkx(again)
        assert str(again) == str(h)


def test_a_pickle_does_not_hold_what_can_be_worked_out(animals):
    before = pickle.dumps(animals)
    hash(animals)
    assert animals.ancestor_table.size
    animals.find("Cat")
    assert pickle.dumps(animals) == before


def test_a_copy_is_the_hierarchy_itself(animals):
    assert copy.copy(animals) is animals
    assert copy.deepcopy(animals) is animals
    assert copy.deepcopy([animals])[0] is animals


def test_a_clone_of_an_estimator_holds_the_same_hierarchy(animals):
    model = LocalClassifierPerNode(hierarchy=animals)
    assert clone(model).hierarchy is animals
    assert clone(clone(model)).get_params()["hierarchy"] is animals
    assert repr(animals) in repr(model)


# -- conversions -------------------------------------------------------------------------------


def test_edges_of_labels_and_of_paths(pets):
    assert Hierarchy.from_dict({"a": ["b"]}).to_edges() == [(None, "a"), ("a", "b")]
    assert Hierarchy.from_paths([["a", "b"]]).to_edges() == [((), ("a",)), (("a",), ("a", "b"))]
    assert set(PETS) < set(pets.to_edges())


@SETTINGS
@given(dag_edges())
def test_edges_and_graphs_of_labels_round_trip(edges):
    h = Hierarchy.from_edges(edges)
    assert Hierarchy.from_edges(h.to_edges()) == h
    assert Hierarchy.from_networkx(h.to_networkx()) == h
    assert as_dict_round_trip(h) == h


def as_dict_round_trip(h):
    below = {}
    for parent, child in h.to_edges():
        below.setdefault(parent, []).append(child)
    return Hierarchy.from_dict(below)


@SETTINGS
@given(paths(labels=("letters", "text", "int", "bigint", "float", "bool")))
def test_json_round_trips_with_the_types_of_labels(y):
    h = Hierarchy.from_paths(y)
    again = Hierarchy.from_json(h.to_json())
    assert again == h
    assert [type(label) for label in again.labels] == [type(label) for label in h.labels]
    assert_consistent(again)


@SETTINGS
@given(dag_edges())
def test_json_of_dags_round_trips(edges):
    h = Hierarchy.from_edges(edges)
    assert Hierarchy.from_json(h.to_json()) == h


def test_json_of_labels_of_several_types_round_trips():
    h = Hierarchy.from_edges([(None, 1), (1, True), (1, 1.0), (True, "1"), ("1", 1.5)])
    again = Hierarchy.from_json(h.to_json())
    assert again == h
    assert type(again.labels[again.find(True)]) is bool


def test_json_that_was_reordered_by_hand_is_put_in_order_again(animals):
    text = json.dumps(
        {
            "format": "hiclass.Hierarchy",
            "identity": "path",
            "labels": [None, "Reptile", "Mammal", "Snake", "Wolf", "Dog", "Cat", "Lizard"],
            "parents": [[], [0], [0], [1], [2], [4], [2], [1]],
        }
    )
    assert Hierarchy.from_json(text) == animals


def broken_json():
    good = json.loads(Hierarchy.from_paths([["a", "b"], ["c", "b"]]).to_json())
    for change in [
        {"format": "other"},
        {"identity": "other"},
        {"labels": ["x", "a", "b", "c", "b"]},
        {"labels": [None, "a", "b", "c"]},
        {"labels": [None, "a", None, "c", "b"]},
        {"labels": [None, "a", ["b"], "c", "b"]},
        {"labels": 5},
        {"labels": [], "parents": []},
        {"labels": [None], "parents": [[]]},
        {"parents": [[], [0], [1], [0], []]},
        {"parents": [[], [0], [1], [0], [0, 3]]},
        {"parents": [[], [0], [1], [0], [9]]},
        {"parents": [[], [0], [1], [0], [-1]]},
        {"parents": [[], [0], [1], [0], [1]]},
        {"parents": [[], [0], [1], [0], ["3"]]},
        {"parents": [[], [0], [1], [0], [True]]},
        {"parents": [[4], [0], [1], [0], [3]]},
        {"parents": [[], 0, 1, 0, 3]},
        {"identity": "label"},  # two nodes are called b
    ]:
        yield json.dumps({**good, **change})
    yield from ["", "{}", "[]", "5", "null", '"text"', '{"labels": [null, "a"]}']


@pytest.mark.parametrize("text", list(broken_json()))
def test_json_that_is_no_hierarchy_is_an_error(text):
    with pytest.raises(ValueError, match="The text is not a hierarchy written by to_json"):
        Hierarchy.from_json(text)


@pytest.mark.parametrize(
    ("parents", "part"),
    [
        ([[], [0, 2], [1]], "cycle: 'a' -> 'b' -> 'a'"),
        ([[], [0], [1, 1]], "('a', 'b') is given twice"),
    ],
)
def test_json_with_a_cycle_or_a_double_edge_is_an_error_that_names_it(parents, part):
    data = {"format": "hiclass.Hierarchy", "identity": "label", "labels": [None, "a", "b"]}
    with pytest.raises(ValueError, match=re.escape(part)):
        Hierarchy.from_json(json.dumps({**data, "parents": parents}))


def test_labels_that_json_has_no_type_for_are_an_error_that_names_label_and_remedy():
    h = Hierarchy.from_paths([datetime.date(2020, 1, 1)])
    expected = "The label datetime.date(2020, 1, 1) is a date; JSON keeps only strings, numbers and"
    with pytest.raises(TypeError, match=re.escape(expected)):
        h.to_json()


def test_a_graph_has_paths_as_nodes_and_no_root(animals, pets):
    graph = animals.to_networkx()
    assert graph.number_of_nodes() == 7
    assert graph.nodes["Mammal", "Wolf"] == {"label": "Wolf", "level": 2, "node": 3}
    assert list(graph.predecessors(("Mammal", "Wolf"))) == [("Mammal",)]
    assert sorted(graph.successors(("Reptile",))) == [("Reptile", "Lizard"), ("Reptile", "Snake")]
    assert set(pets.to_networkx().edges) == set(PETS)
    assert pets.to_networkx().nodes["cat"]["level"] == 3


def test_homonyms_are_different_nodes_of_the_graph():
    graph = Hierarchy.from_paths([["a", "x"], ["b", "x"]]).to_networkx()
    assert set(graph) == {("a",), ("b",), ("a", "x"), ("b", "x")}


# -- renderings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (ANIMALS, "Hierarchy(tree, 7 classes, 3 levels, 4 leaves)"),
        (["a"], "Hierarchy(tree, 1 class, 1 level, 1 leaf)"),
    ],
)
def test_repr_is_one_line_of_counts(y, expected):
    assert repr(Hierarchy.from_paths(y)) == expected


def test_repr_of_a_dag(pets):
    assert repr(pets) == "Hierarchy(DAG, 6 classes, 3 levels, 3 leaves)"


def test_str_is_the_tree(animals):
    assert str(animals).split("\n") == [
        "├── Mammal",
        "│   ├── Cat",
        "│   └── Wolf",
        "│       └── Dog",
        "└── Reptile",
        "    ├── Lizard",
        "    └── Snake",
    ]


def test_str_of_a_dag_writes_a_subtree_once():
    h = Hierarchy.from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("b", "d")])
    assert str(h).split("\n") == [
        "├── a",
        "│   └── c",
        "│       └── d",
        "└── b",
        "    ├── c (see above)",
        "    └── d",
    ]


def test_str_of_a_large_hierarchy_ends_with_how_many_are_left_out():
    lines = str(Hierarchy.from_paths(list(range(1000)))).split("\n")
    assert len(lines) == 201
    assert lines[199] == "├── 199"
    assert lines[200] == "... 800 more classes"


def test_str_of_200_classes_leaves_nothing_out():
    lines = str(Hierarchy.from_paths(list(range(200)))).split("\n")
    assert len(lines) == 200
    assert lines[-1] == "└── 199"


class _Balance(HTMLParser):
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


def test_html_is_balanced_and_collapsible(animals):
    page = _Balance(animals._repr_html_())
    assert page.counts["details"] == page.counts["summary"] == 3
    assert page.texts == [
        repr(animals), "Mammal ", "(2)", "Cat", "Wolf ", "(1)", "Dog", "Reptile ", "(2)", "Lizard",
        "Snake",
    ]  # fmt: skip


def test_html_escapes_labels():
    evil = "<script>alert('x')</script>&"
    text = Hierarchy.from_paths([[evil, evil]])._repr_html_()
    assert "<script" not in text
    assert text.count(html.escape(evil)) == 2
    assert _Balance(text).texts.count(evil) == 1


def test_html_of_a_dag_opens_a_subtree_once():
    h = Hierarchy.from_edges([("a", "c"), ("b", "c"), ("c", "d")])
    page = _Balance(h._repr_html_())
    assert page.counts["details"] == 3
    assert page.texts.count("d") == 1
    assert page.texts.count("c ") == 1
    assert page.texts.count("c") == 1


@pytest.mark.parametrize("deep", [False, True])
def test_html_of_a_large_hierarchy_is_cut_and_balanced(deep):
    y = [[i // 50, i] for i in range(5000)] if deep else list(range(5000))
    page = _Balance(Hierarchy.from_paths(y)._repr_html_())
    assert page.texts[-1] == "…"
    shown = [text for text in page.texts[1:-1] if not text.startswith("(")]
    assert len(shown) == 2000


@pytest.fixture
def axes():
    """Axes that need no screen and leave no figure open."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)
    plt.close("all")


def test_draw_names_every_class_and_draws_every_edge(axes, animals):
    ax = animals.draw(axes)
    assert ax is axes
    assert sorted(text.get_text() for text in ax.texts) == sorted(animals.labels[1:])
    assert len(ax.lines) == 7
    dots = ax.collections[0].get_offsets()
    assert dots[:, 0].tolist() == animals.levels.tolist()
    # Leaves in order, one row each; an inner node in the middle of its children.
    assert dots[:, 1].tolist() == [1.5, 0.5, 0.0, 1.0, 1.0, 2.5, 2.0, 3.0]


def test_draw_of_a_dag_makes_its_own_figure(axes, pets):
    ax = pets.draw()
    assert ax is not axes
    assert len(ax.lines) == len(pets.parent_indices)
    ax.figure.canvas.draw()


# -- depth -------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", ["paths", "edges"])
def test_a_chain_of_2000_levels_needs_no_recursion(build):
    n = 2000
    if build == "paths":
        h = Hierarchy.from_paths([list(range(n))])
    else:
        h = Hierarchy.from_edges([(i, i + 1) for i in range(n - 1)])
    assert h.depth == n
    assert h.path(n) == tuple(range(n))
    assert h.find(list(range(n))) == n
    assert h.descendants(0).tolist() == list(range(1, n + 1))
    assert h.ancestors(n).tolist() == list(range(n))
    assert h.subtree_end.tolist() == [n + 1] * (n + 1)
    assert pickle.loads(pickle.dumps(h)) == h
    assert Hierarchy.from_json(h.to_json()) == h
    assert h.to_networkx().number_of_edges() == n - 1
    assert str(h).endswith("... 1800 more classes")
    _Balance(h._repr_html_())


def test_a_deep_chain_with_a_shortcut_is_a_dag_of_the_same_depth():
    n = 2000
    h = Hierarchy.from_edges([*((i, i + 1) for i in range(n - 1)), (0, n - 1)])
    assert not h.is_tree
    assert h.levels.tolist() == list(range(n + 1))


def test_a_dag_with_two_to_the_power_of_100_paths_is_no_more_work_than_its_edges():
    edges = [((k, a), (k + 1, b)) for k in range(100) for a in "xy" for b in "xy"]
    h = Hierarchy.from_edges(edges)
    assert h.levels.tolist() == [0] + [k // 2 + 1 for k in range(202)]
    assert len(h.ancestors(201)) == len(h.descendants(0)) - 1 == 201
    assert len(str(h).split("\n")) == 201
    assert _Balance(h._repr_html_()).counts["details"] == 200


def test_a_cycle_through_2000_levels_is_found():
    n = 2000
    with pytest.raises(ValueError, match=r"The hierarchy has a cycle: 0 -> 1 -> 2"):
        Hierarchy.from_edges([(i, (i + 1) % n) for i in range(n)])


# -- labels of every kind ----------------------------------------------------------------------


@pytest.mark.parametrize("label", ODD_STRINGS, ids=ascii)
def test_odd_strings_are_classes_like_any_other(label):
    h = Hierarchy.from_paths([[label, label], [label, "plain"]])
    assert h.find((label, label)) in (2, 3)
    assert h.path(h.find((label, label))) == (label, label)
    assert Hierarchy.from_json(h.to_json()) == h
    assert Hierarchy.from_edges([(label, "plain")]).find(label) == 1
    _Balance(h._repr_html_())


@SETTINGS
@given(paths(labels=KINDS, depth=(2, 4)))
def test_padded_arrays_and_lists_give_the_same_hierarchy(y):
    array = np.empty((len(y), max(map(len, y))), dtype=object)
    array[:] = pad(y, None)
    assert Hierarchy.from_paths(array) == Hierarchy.from_paths(y)
