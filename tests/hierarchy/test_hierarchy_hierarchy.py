"""Equality, hashes, pickles and copies: a hierarchy never changes."""

import copy
import pickle

import numpy as np
import pytest
from hierarchy_helpers import ANIMALS, assert_agrees_with_networkx, assert_consistent, edges_of
from sklearn.base import clone

from hiclass import Hierarchy, LocalClassifierPerNode


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
    with pytest.raises(AttributeError, match="A Hierarchy is immutable, so 'labels' cannot be set"):
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
