"""Hierarchies from paths, edges, dicts and graphs, and what cannot be one."""

import itertools
import pickle
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hierarchy_helpers import BalancedHTML
from hypothesis import given
from strategies import KINDS, ODD_STRINGS, SETTINGS, dag_edges, pad, paths

from hiclass import Hierarchy


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
    with pytest.raises(
        ValueError, match=r"^The hierarchy has no classes\. Pass at least one edge or path\.$"
    ):
        build()


@pytest.mark.parametrize("edge", ["ab", b"ab", ("a",), ("a", "b", "c"), 5])
def test_what_is_no_pair_is_an_error_that_shows_it(edge):
    expected = f"An edge must be a pair (parent, child); got {edge!r}."
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
    with pytest.raises(
        ValueError, match=f"^The hierarchy has a cycle: {re.escape(cycle)}\\. Remove"
    ):
        Hierarchy.from_edges(edges)


@SETTINGS
@given(dag_edges())
def test_an_edge_back_to_an_ancestor_is_always_found_as_a_cycle(edges):
    h = Hierarchy.from_edges(edges)
    deepest = int(np.argmax(h.levels))
    top = int(h.ancestors(deepest)[1])
    with pytest.raises(ValueError, match="The hierarchy has a cycle: ") as error:
        Hierarchy.from_edges([*edges, (h.labels[deepest], h.labels[top])])
    cycle = [int(name) for name in str(error.value).split(": ")[1].split(".")[0].split(" -> ")]
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
    with pytest.raises(
        ValueError, match=r"^The edge \('a', 'b'\) is given twice\. Remove one of them\.$"
    ):
        build()


@pytest.mark.parametrize("parent", ["a", None])
def test_an_edge_without_child_is_an_error(parent):
    with pytest.raises(ValueError, match=re.escape(f"The edge ({parent!r}, None) has no child.")):
        Hierarchy.from_edges([(parent, None)])


@pytest.mark.parametrize("label", ["", float("nan"), pd.NA, np.float64("nan")], ids=repr)
def test_what_spells_missing_cannot_be_a_class(label):
    with pytest.raises(
        ValueError, match="cannot be the label of a class, because it means a missing"
    ):
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
    BalancedHTML(h._repr_html_())


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
    assert BalancedHTML(h._repr_html_()).counts["details"] == 200


def test_a_cycle_through_2000_levels_is_found():
    n = 2000
    with pytest.raises(ValueError, match=r"The hierarchy has a cycle: 0 -> 1 -> 2"):
        Hierarchy.from_edges([(i, (i + 1) % n) for i in range(n)])


@pytest.mark.parametrize("label", ODD_STRINGS, ids=ascii)
def test_odd_strings_are_classes_like_any_other(label):
    h = Hierarchy.from_paths([[label, label], [label, "plain"]])
    assert h.find((label, label)) in (2, 3)
    assert h.path(h.find((label, label))) == (label, label)
    assert Hierarchy.from_json(h.to_json()) == h
    assert Hierarchy.from_edges([(label, "plain")]).find(label) == 1
    BalancedHTML(h._repr_html_())


@SETTINGS
@given(paths(labels=KINDS, depth=(2, 4)))
def test_padded_arrays_and_lists_give_the_same_hierarchy(y):
    array = np.empty((len(y), max(map(len, y))), dtype=object)
    array[:] = pad(y, None)
    assert Hierarchy.from_paths(array) == Hierarchy.from_paths(y)
