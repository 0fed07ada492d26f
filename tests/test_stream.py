"""What a batch updates: the index of a batch, layouts, and the plans of the four strategies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_helpers import (
    plan,
    problems_flat,
    problems_per_level,
    problems_per_node,
    problems_per_parent,
)
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._labels.columns import read_labels
from hiclass._problems.batches import (
    Guard,
    level_columns,
    make_layout,
    note_sides,
    rows_learned,
)
from hiclass._problems.index import BatchIndex, TreeIndex
from hiclass._problems.problem import LocalProblem, find_options

FEWER = settings(SETTINGS, max_examples=40)

#: Nodes: 0 root, 1 a, 2 a/x, 3 a/y, 4 b, 5 c, 6 c/z.
TREE = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"], ["c", "z"]])


def encoded(y):
    return Hierarchy._from_columns(read_labels(y))


@FEWER
@given(paths(max_rows=30))
def test_the_index_of_a_batch_finds_the_rows_that_the_index_of_all_rows_finds(y):
    tree, nodes = encoded(y)
    batch, whole = BatchIndex(tree, nodes), TreeIndex(tree, nodes)
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
    batch, whole = BatchIndex(tree, nodes), TreeIndex(tree, nodes)
    options = find_options(whole, leaf_only=leaf_only)
    same(plan("parent", batch, options), problems_per_parent(whole, options), len(y))
    same(plan("level", batch, options), problems_per_level(whole, options), len(y))
    same(plan("flat", batch, options), problems_flat(whole, options), len(y))
    for policy in ("siblings", "inclusive", "less_inclusive"):
        expected = problems_per_node(whole, options, policy)
        same(plan("node", batch, options, policy), expected, len(y))


def test_a_batch_plans_only_what_it_touches():
    layout = make_layout(TREE, np.ones(7, dtype=bool))
    index = BatchIndex(TREE, np.array([4, 1]))  # b, and a stop at a
    per_parent = found(plan("parent", index, layout))
    assert {key: (rows.tolist(), t) for key, (rows, t) in per_parent.items()} == {
        (0, False): ([0, 1], [1, 0]),
        (1, False): ([1], [2]),
    }
    assert set(found(plan("node", index, layout, "siblings"))) == {
        (1, False), (4, False), (5, False), (1, True)
    }  # fmt: skip
    assert set(found(plan("node", index, layout, "exclusive_siblings"))) == {
        (1, False), (4, False), (5, False), (1, True)
    }  # fmt: skip
    below = BatchIndex(TREE, np.array([2]))
    assert set(found(plan("node", below, layout, "exclusive_siblings"))) == {
        (2, False), (3, False), (1, True)
    }  # fmt: skip
    every = {(v, False) for v in (1, 4, 5, 2, 3)} | {(1, True)}
    for policy in ("exclusive", "less_inclusive"):
        assert set(found(plan("node", index, layout, policy))) == every


@pytest.mark.parametrize("policy", ["less_exclusive", "inclusive"])
def test_a_class_for_which_a_policy_leaves_no_row_is_left_alone(policy):
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b"]])
    layout = make_layout(tree, np.ones(tree.n_nodes, dtype=bool))
    nodes = np.array([tree.find(("a", "x") if policy == "less_exclusive" else "a")])
    problems = plan("node", BatchIndex(tree, nodes), layout, policy).problems
    owners = {p.owner for p in problems if not p.gate}
    if policy == "less_exclusive":
        assert tree.find("a") not in owners  # below it, the row is neither
    else:
        assert not owners & {tree.find(("a", "x")), tree.find(("a", "y"))}


def test_a_flat_model_without_leaf_rows_plans_nothing():
    layout = make_layout(TREE, np.zeros(7, dtype=bool))
    assert found(plan("flat", BatchIndex(TREE, np.array([1, 5])), layout)) == {}


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


# -- what a batch must not make a classifier forget --------------------------------------------


def guarded(learned, binary):
    return Guard({7: np.array([learned, np.zeros(len(learned))], dtype=float)}, binary=binary)


def problem_of(counts):
    target = np.repeat(np.arange(len(counts)), counts)
    return LocalProblem(7, None, target, np.arange(len(counts)))


@pytest.mark.parametrize(
    ("learned", "counts", "admitted", "said"),
    [
        ([60, 40], [7, 0], True, False),  # 2.8 rows are overdue
        ([60, 40], [8, 0], False, False),  # 3.2: chance would explain it, but little is lost
        ([60, 40], [50, 0], False, True),  # 20
        ([60, 40], [0, 4], True, False),
        ([60, 40], [0, 6], False, False),
        ([60, 40], [100, 3], False, False),  # 41.2 less 30
        ([60, 40], [100, 4], True, False),  # 41.6 less 40
        ([60, 40], [200, 5], False, True),
        ([60, 0], [0, 500], True, False),  # it has not seen both sides
        ([0, 60], [0, 500], True, False),
        ([0, 0], [500, 0], True, False),
    ],
)
def test_a_binary_classifier_sits_out_what_lacks_one_of_its_sides(learned, counts, admitted, said):
    guard = guarded(learned, binary=True)
    assert guard.admits(problem_of(counts), may_forget=True) is admitted
    assert bool(guard.left_out) is said
    assert guard.forgetting == []
    expected = np.add(learned, counts) if admitted else learned
    assert guard.learned[7][0].tolist() == list(expected)


@pytest.mark.parametrize(
    ("learned", "counts", "admitted", "forgets"),
    [
        ([50, 30, 20, 0], [0, 0, 0, 100], False, False),  # a new class alone
        ([50, 30, 20, 0], [0, 60, 0, 60], False, False),  # lacks 70 %
        ([50, 30, 20, 0], [60, 0, 0, 60], True, True),  # lacks 50 %
        ([50, 30, 20, 0], [60, 60, 0, 0], True, True),
        ([50, 45, 5, 0], [50, 50, 0, 0], True, False),  # five rows are overdue
        ([60, 40, 0, 0], [100, 0, 0, 0], False, False),  # rows of one class teach nothing
        ([99, 1, 0, 0], [500, 0, 0, 0], True, False),
        ([50, 30, 20, 0], [50, 30, 20, 100], True, False),
        ([50, 0, 0, 0], [0, 500, 0, 0], True, False),  # it knows one class only
    ],
)
def test_a_classifier_of_several_classes_sits_out_where_more_is_lost_than_gained(
    learned, counts, admitted, forgets
):
    guard = guarded(learned, binary=False)
    assert guard.admits(problem_of(counts), may_forget=True) is admitted
    assert bool(guard.left_out) is not admitted
    assert bool(guard.forgetting) is forgets


def test_a_classifier_that_counts_learns_everything():
    guard = guarded([50, 50], binary=True)
    assert guard.admits(problem_of([500, 0]), may_forget=False)
    assert guard.left_out == guard.forgetting == []


def test_rows_that_come_one_by_one_are_overdue_together():
    """Half of the rows were positive: after six negative ones nearly three are overdue."""
    guard = guarded([1000, 1000], binary=True)
    one = problem_of([1, 0])
    assert [guard.admits(one, may_forget=True) for _ in range(100)].count(True) == 6
    assert len(guard.left_out) == 60  # all after the fortieth: this is not an accident
    assert not guard.admits(problem_of([0, 1]), may_forget=True)  # twenty less ten
    assert guard.admits(problem_of([0, 1]), may_forget=True)
    assert guard.admits(one, may_forget=True)


def test_shares_count_from_the_first_batch_with_both_sides():
    guard = guarded([0, 1000], binary=True)
    assert guard.admits(problem_of([90, 10]), may_forget=True)
    assert guard.learned[7].tolist() == [[90, 10], [0, 0]]
    assert guard.admits(problem_of([20, 0]), may_forget=True)


def test_what_fit_learned_is_counted_by_node():
    y = [["a", "x"]] * 3 + [["a", "y"]] * 2 + [["b"]] * 4 + [["a"]]
    tree, nodes = encoded(y)
    n_own = np.bincount(nodes, minlength=tree.n_nodes)
    distinct = np.flatnonzero(n_own)
    layout = make_layout(tree, n_own > 0)
    a, x, b = tree.find("a"), tree.find(("a", "x")), tree.find("b")
    found_plan = plan("node", BatchIndex(tree, distinct), layout, "siblings")
    learned = rows_learned(found_plan, n_own[distinct], {a, x, b, ~a})
    counts = {key: rows[0].tolist() for key, rows in learned.items()}
    assert counts == {a: [4, 6], b: [6, 4], x: [2, 3], ~a: [5, 1]}
    found_plan = plan("parent", BatchIndex(tree, distinct), layout)
    learned = rows_learned(found_plan, n_own[distinct], {0, a})
    assert {key: rows[0].tolist() for key, rows in learned.items()} == {0: [6, 4], a: [3, 2, 1]}
