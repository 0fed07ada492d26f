"""Edges, graphs and JSON: what is written comes back."""

import datetime
import json
import re

import pytest
from hierarchy_helpers import PETS, assert_consistent
from hypothesis import given
from strategies import SETTINGS, dag_edges, paths

from hiclass import Hierarchy


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
    expected = (
        "The label datetime.date(2020, 1, 1) is a date, but JSON supports only strings, numbers and"
    )
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
