"""What a batch updates: the index of a batch, layouts, and the plans of the four strategies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._labels import read_labels
from hiclass._problems import (
    LocalProblem,
    RowIndex,
    find_options,
    problems_flat,
    problems_per_level,
    problems_per_node,
    problems_per_parent,
)
from hiclass._stream import (
    BatchIndex,
    level_columns,
    make_layout,
    note_sides,
    plan_flat,
    plan_per_level,
    plan_per_node,
    plan_per_parent,
)

FEWER = settings(SETTINGS, max_examples=40)

#: Nodes: 0 root, 1 a, 2 a/x, 3 a/y, 4 b, 5 c, 6 c/z.
TREE = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"], ["c", "z"]])


def encoded(y):
    return Hierarchy._from_columns(read_labels(y))


@FEWER
@given(paths(max_rows=30))
def test_the_index_of_a_batch_finds_the_rows_that_the_index_of_all_rows_finds(y):
    tree, nodes = encoded(y)
    batch, whole = BatchIndex(tree, nodes), RowIndex(tree, nodes)
    for node in range(tree.n_nodes):
        assert batch.own(node).tolist() == whole.own(node).tolist()
        for strictly in (False, True):
            expected = whole.below(node, strictly=strictly)
            assert batch.below(node, strictly=strictly).tolist() == expected.tolist()
    assert batch.reached().tolist() == list(range(tree.n_nodes))
    for node in range(tree.n_nodes):
        assert whole.n_own[node] == len(batch.own(node))
        assert whole.n_below[node] == len(batch.below(node))


def test_reached_are_the_root_and_the_nodes_at_or_above_a_row():
    assert BatchIndex(TREE, np.array([3, 3, 4])).reached().tolist() == [0, 1, 3, 4]


def test_a_layout_has_all_children_and_the_stops_of_a_mask():
    layout = make_layout(TREE, np.arange(7) == 1)
    assert [layout.of(v).tolist() for v in range(7)] == [[1, 4, 5], [2, 3, 1], [], [], [], [6], []]
    assert layout.ends.tolist() == [1, 2, 3, 4, 6]
    everywhere = make_layout(TREE, np.ones(7, dtype=bool))
    assert everywhere.of(0).tolist() == [1, 4, 5]  # no path ends at the root
    assert everywhere.of(5).tolist() == [6, 5]


def test_columns_of_a_level_are_the_options_of_its_parents():
    columns = level_columns(TREE, make_layout(TREE, np.arange(7) == 1))
    assert [c.tolist() for c in columns.classes] == [[1, 4, 5], [2, 3, 1, 6]]
    assert columns.child[[1, 4, 5, 2, 3, 6]].tolist() == [0, 1, 2, 0, 1, 3]
    assert columns.stop[1] == 2


def found(plan):
    problems = list(plan.problems)
    assert plan.n_problems == len(problems)
    return {(p.owner, p.gate): (p.rows, p.target.tolist()) for p in problems}


def same(plan, problems, n_rows):
    everyone = np.arange(n_rows)
    left, right = found(plan), {(p.owner, p.gate): (p.rows, p.target.tolist()) for p in problems}
    assert left.keys() == right.keys()
    for key, (rows, target) in left.items():
        expected = everyone if right[key][0] is None else right[key][0]
        assert (everyone if rows is None else rows).tolist() == expected.tolist()
        assert target == right[key][1]


@FEWER
@given(paths(min_rows=2, max_rows=30, depth=(1, 4)), st.booleans())
def test_all_rows_as_one_batch_are_the_problems_of_fit(y, leaf_only):
    tree, nodes = encoded(y)
    batch, whole = BatchIndex(tree, nodes), RowIndex(tree, nodes)
    options = find_options(whole, leaf_only=leaf_only)
    same(plan_per_parent(batch, options), problems_per_parent(whole, options), len(y))
    columns = level_columns(tree, options)
    same(plan_per_level(batch, options, columns), problems_per_level(whole, options), len(y))
    same(plan_flat(batch, options), problems_flat(whole, options), len(y))
    for policy in ("siblings", "inclusive", "less_inclusive"):
        expected = problems_per_node(whole, options, policy)
        same(plan_per_node(batch, options, policy), expected, len(y))


def test_a_batch_plans_only_what_it_touches():
    layout = make_layout(TREE, np.ones(7, dtype=bool))
    index = BatchIndex(TREE, np.array([4, 1]))  # b, and a stop at a
    per_parent = found(plan_per_parent(index, layout))
    assert {key: (rows.tolist(), t) for key, (rows, t) in per_parent.items()} == {
        (0, False): ([0, 1], [1, 0]),
        (1, False): ([1], [2]),
    }
    assert set(found(plan_per_node(index, layout, "siblings"))) == {
        (1, False), (4, False), (5, False), (1, True)
    }  # fmt: skip
    assert set(found(plan_per_node(index, layout, "exclusive_siblings"))) == {
        (1, False), (4, False), (5, False), (1, True)
    }  # fmt: skip
    below = BatchIndex(TREE, np.array([2]))
    assert set(found(plan_per_node(below, layout, "exclusive_siblings"))) == {
        (2, False), (3, False), (1, True)
    }  # fmt: skip
    every = {(v, False) for v in (1, 4, 5, 2, 3)} | {(1, True)}
    for policy in ("exclusive", "less_inclusive"):
        assert set(found(plan_per_node(index, layout, policy))) == every


@pytest.mark.parametrize("policy", ["less_exclusive", "inclusive"])
def test_a_class_for_which_a_policy_leaves_no_row_is_left_alone(policy):
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"]])
    layout = make_layout(tree, np.ones(tree.n_nodes, dtype=bool))
    nodes = np.array([tree.find(("a", "x") if policy == "less_exclusive" else "a")])
    problems = plan_per_node(BatchIndex(tree, nodes), layout, policy).problems
    owners = {p.owner for p in problems if not p.gate}
    if policy == "less_exclusive":
        assert tree.find("a") not in owners  # below it, the row is neither
    else:
        assert not owners & {tree.find(("a", "x")), tree.find(("a", "y"))}


def test_a_flat_model_without_leaf_rows_plans_nothing():
    layout = make_layout(TREE, np.zeros(7, dtype=bool))
    assert found(plan_flat(BatchIndex(TREE, np.array([1, 5])), layout)) == {}


def test_a_classifier_is_one_sided_until_it_has_seen_the_other_class():
    def learn(target, is_new=False):
        note_sides(LocalProblem(3, None, np.array(target), np.array([-1, 3])), is_new, seen)

    seen = {}
    learn([1, 1], is_new=True)
    assert seen == {3: 1}
    learn([1])
    assert seen == {3: 1}
    learn([0])
    assert seen == {}
    learn([0])  # it has seen both before
    assert seen == {}
    learn([0, 1], is_new=True)
    assert seen == {}
