"""Folds for what is learned out of fold: groups stay together, and classes are spread."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hiclass import Hierarchy
from hiclass._out_of_fold.folds import deal_paths, deal_sets, fit_folds, some_classes
from hiclass._targets.sets import encode_sets
from hiclass.model_selection import hold_out_groups, read_groups

PATHS = [("a", "x"), ("a", "y"), ("a",), ("b", "z"), ("b",), ("c",)]
TREE = Hierarchy.from_paths(PATHS)
NO_CLASS = "With these groups, all rows of a class are in one fold"


def nodes_of(*paths):
    return np.array([TREE.find(path) for path in paths])


def is_whole(fold, groups):
    """Whether no group is in two folds."""
    return len(np.unique(np.column_stack([groups, fold]), axis=0)) == len(np.unique(groups))


@given(data=st.data())
@pytest.mark.filterwarnings(f"ignore:{NO_CLASS}")
def test_groups_stay_together_and_every_fold_has_some(data):
    nodes = nodes_of(*data.draw(st.lists(st.sampled_from(PATHS), min_size=4, max_size=30)))
    numbers = st.lists(st.integers(0, 6), min_size=len(nodes), max_size=len(nodes))
    groups = read_groups(data.draw(numbers), len(nodes))
    n_groups = groups.max() + 1
    assume(3 <= n_groups < len(nodes))
    fold = deal_paths(nodes, TREE, groups)
    assert is_whole(fold, groups)
    assert np.unique(fold).tolist() == [0, 1, 2]
    kept = deal_paths(nodes, TREE, groups, keep_own=True)
    assert is_whole(kept, groups)
    for node in np.unique(nodes[~TREE.is_leaf[nodes]]):
        for k in np.unique(kept[kept >= 0]):
            assert (nodes[kept != k] == node).any()
    names = [["a", "x"], ["b"], ["c"]]
    target = encode_sets([names[node % 3] for node in nodes])
    assert is_whole(deal_sets(target, groups), groups)


def test_classes_are_spread_as_groups_allow():
    """Two classes with three groups each: one of them in every fold."""
    nodes = np.repeat(nodes_of(("a", "x"), ("b", "z")), 6)
    groups = np.repeat(np.arange(6), 2)
    fold = deal_paths(nodes, TREE, groups)
    assert sorted(fold[:6:2]) == sorted(fold[6::2]) == [0, 1, 2]


def test_rows_that_are_groups_of_their_own_are_dealt_out_as_without_groups():
    nodes = nodes_of(*PATHS, *PATHS[:4])
    fold = deal_paths(nodes, TREE, np.arange(10), keep_own=True)
    assert fold.tolist() == deal_paths(nodes, TREE).tolist()
    target = encode_sets([["a"], ["b"], ["a", "b"], ["b"]])
    assert deal_sets(target, np.arange(4)).tolist() == deal_sets(target).tolist()


def test_the_names_and_the_order_of_groups_have_no_influence():
    nodes = nodes_of(*PATHS[:2] * 6)
    groups = ["p", "p", "q", "q", "r", "r", "s", "s", "t", "t", "u", "u"]
    other = [ord(name) * 1.5 for name in groups]
    fold = deal_paths(nodes, TREE, read_groups(groups, 12))
    assert fold.tolist() == deal_paths(nodes, TREE, read_groups(other, 12)).tolist()


@pytest.mark.parametrize(
    ("groups", "start"),
    [
        ([0, 0, 0, 0], "groups has 1 different group, "),
        ([0, 1, 0, 1], "groups has 2 different gro"),
    ],
)
def test_fewer_groups_than_folds_are_refused(groups, start):
    groups = np.array(groups)
    with pytest.raises(ValueError, match=rf"^{start}.*3 folds of whole groups\. Pass rows of at "):
        deal_paths(nodes_of(*PATHS[:4]), TREE, groups)
    with pytest.raises(ValueError, match=rf"^{start}.*leave groups out, or set temperature"):
        deal_sets(encode_sets([["a"], ["b"], ["a"], ["b"]]), groups)


def test_only_policies_of_own_rows_keep_the_group_of_an_inner_class():
    """The rows that end at "a" are all in group 0, which has other rows, too."""
    nodes = nodes_of(*[("a",), ("a", "x"), *[("a", "x"), ("b", "z")] * 3])
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    assert (deal_paths(nodes, TREE, groups) >= 0).all()
    kept = deal_paths(nodes, TREE, groups, keep_own=True)
    assert (kept == -1).tolist() == [True] * 2 + [False] * 6


def test_groups_that_are_classes_are_warned_of():
    nodes = np.repeat(nodes_of(*PATHS[:3]), 2)
    with pytest.warns(UserWarning, match=NO_CLASS):
        deal_paths(nodes, TREE, np.repeat([0, 1, 2], 2))
    with pytest.warns(UserWarning, match=NO_CLASS):
        deal_sets(encode_sets([["a"], ["a"], ["b"], ["b"], ["c"], []]), np.repeat([0, 1, 2], 2))


def test_folds_are_fitted_one_after_the_other():
    fitted = []
    held_out = fit_folds(lambda rows: fitted.append(rows.tolist()), np.array([0, 1, -1, 0]))
    assert next(held_out)[1].tolist() == [0, 3]
    assert fitted == [[1, 2]]
    assert [rows.tolist() for _, rows in held_out] == [[1]]
    assert list(fit_folds(fitted.append, np.array([0]))) == []


@given(st.lists(st.integers(0, 5), min_size=2, max_size=20), st.integers(0, 25), st.integers(0, 5))
def test_whole_groups_are_held_out(groups, n_rows, seed):
    unit = read_groups(groups, len(groups))
    assume(unit.max() > 0)
    held_out = hold_out_groups(unit, n_rows, np.random.default_rng(seed))
    assert is_whole(held_out, unit)
    assert 0 < held_out.sum() < len(unit)


def test_about_as_many_rows_as_wanted_are_held_out():
    unit = np.repeat(np.arange(50), 4)
    for n_rows in (4, 50, 100):
        held_out = hold_out_groups(unit, n_rows, np.random.RandomState(0))
        assert abs(held_out.sum() - n_rows) <= 2


def test_one_group_cannot_be_held_out():
    with pytest.raises(ValueError, match=r"^groups has 1 different group.*at least 2 groups, or"):
        hold_out_groups(np.zeros(3, dtype=int), 1, np.random.default_rng(0))


def test_enough_rows_of_whole_sibling_groups_are_some_classes():
    tree = Hierarchy.from_paths([[f"p{i}", f"c{i}{j}"] for i in range(5) for j in range(3)])
    ends = tree.leaves()
    nodes = np.repeat(ends, 2)  # six rows of every group
    found = some_classes(tree, ends, nodes, 13, 1)
    # Groups come in steps of the golden ratio: 0, .618, .236, .854, .472; three of them are enough.
    groups = [0, 2, 4]
    assert found.tolist() == [ends[3 * i + j] for i in groups for j in range(3)]
    assert some_classes(tree, ends, nodes, 1, 7).tolist() == found.tolist()
    assert some_classes(tree, ends, nodes, 31, 1) is ends
    assert some_classes(tree, ends, nodes[:0], 1, 1) is ends


def test_siblings_are_kept_together_up_to_a_limit():
    tree = Hierarchy.from_paths([[f"c{i:03d}"] for i in range(100)])
    ends = tree.leaves()
    found = some_classes(tree, ends, ends, 40, 1)
    assert len(found) == 64
    assert set(np.diff(np.flatnonzero(np.isin(ends, found)))) <= {1, 33}


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 40), st.integers(0, 6))
def test_some_classes_have_enough_rows(which, n_rows, n_classes):
    ends = np.sort(nodes_of(*PATHS))
    nodes = ends[np.array(which)]
    found = some_classes(TREE, ends, nodes, n_rows, n_classes)
    assert (np.diff(found) > 0).all()
    enough = (
        np.isin(nodes, found).sum() >= n_rows and len(np.intersect1d(nodes, found)) >= n_classes
    )
    assert enough or len(found) == len(ends)
