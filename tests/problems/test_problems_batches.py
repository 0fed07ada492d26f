"""What a batch updates: the index of a batch, layouts, and the plans of the four strategies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_helpers import (
    FEWER,
    TREE,
    encoded,
    plan,
    problems_flat,
    problems_per_level,
    problems_per_node,
    problems_per_parent,
)
from strategies import paths

from hiclass import Hierarchy
from hiclass._problems.batches import (
    Guard,
    Plan,
    lacking_siblings,
    level_columns,
    make_layout,
    note_sides,
    rows_learned,
)
from hiclass._problems.index import BatchIndex, LocalProblem, TreeIndex, branches, find_options


def test_a_layout_has_all_children_and_the_stops_of_a_mask():
    layout = make_layout(TREE, np.arange(7) == 1)
    assert [branches(layout, v).tolist() for v in range(7)] == [
        [1, 4, 5],
        [2, 3, 1],
        [],
        [],
        [],
        [6],
        [],
    ]
    assert layout.ends.tolist() == [1, 2, 3, 4, 6]
    everywhere = make_layout(TREE, np.ones(7, dtype=bool))
    assert branches(everywhere, 0).tolist() == [1, 4, 5]  # no path ends at the root
    assert branches(everywhere, 5).tolist() == [6, 5]


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


def guarded(*learned):
    return Guard({7: np.array(learned, dtype=float)})


def problem_of(counts, owner=7):
    target = np.repeat(np.arange(len(counts)), counts)
    return LocalProblem(owner, None, target, np.arange(len(counts)))


@pytest.mark.parametrize(
    ("learned", "counts", "outcome"),
    [
        ([120, 60], [36, 0], "learned"),  # 60 of 180 + 36 rows: 10 were to be expected
        ([120, 60], [40, 0], "learned"),  # 10.9
        ([120, 60], [41, 0], "left out"),  # 11.1: 10, and one for the class that is there
        ([120, 60], [0, 18], "learned"),  # 10.9
        ([120, 60], [0, 19], "left out"),  # 11.5
        ([120, 60], [9999, 1], "learned"),  # a class that has rows is not lacking
        ([60, 0], [0, 500], "learned"),  # with one class there is nothing to forget
        ([0, 0], [500, 0], "learned"),
        ([50, 30, 20, 0], [0, 0, 0, 100], "left out"),  # a new class alone
        ([50, 30, 20, 0], [0, 60, 0, 60], "left out"),  # lacks 70 %
        ([50, 30, 20, 0], [60, 0, 0, 60], "forgets"),  # lacks 50 %: 27.3 rows, two classes
        ([90, 90, 30, 0], [50, 50, 0, 0], "learned"),  # 9.7
        ([50] * 100 + [0], [0] * 100 + [30], "left out"),  # each class is rare, not all of them
        ([5] * 1000, [1] * 200 + [0] * 800, "learned"),  # 200 rows do not have 1,000 classes
    ],
)
def test_a_classifier_sits_out_what_would_make_it_forget_most(learned, counts, outcome):
    guard = guarded(*learned)
    assert guard.admits(problem_of(counts), may_forget=True) is (outcome != "left out")
    assert bool(guard.left_out) is (outcome == "left out")
    assert bool(guard.forgetting) is (outcome == "forgets")


def test_a_classifier_that_counts_learns_everything():
    guard = guarded(500, 500)
    assert guard.admits(problem_of([500, 0]), may_forget=False)
    assert guard.left_out == guard.forgetting == []


def test_rows_of_classes_that_are_lacking_count_for_a_quarter():
    """So a change that lasts is accepted."""
    guard = guarded(600, 400, 0)
    assert not guard.admits(problem_of([0, 0, 500]), may_forget=True)
    assert guard.learned[7].tolist() == [150, 100, 0]
    assert guard.unknown[0].tolist() == list(range(500))  # nothing is known about this class
    assert not guard.admits(problem_of([0, 0, 500]), may_forget=True)
    assert not guard.admits(problem_of([0, 0, 500]), may_forget=True)
    assert not guard.admits(problem_of([0, 0, 500]), may_forget=True)  # 15.6 * 500 / 515.6
    assert guard.admits(problem_of([0, 0, 500]), may_forget=True)  # 3.9 * 500 / 503.9
    assert len(guard.left_out) == 4
    guard = guarded(600, 200, 200)
    assert not guard.admits(problem_of([0, 500, 500]), may_forget=True)
    assert guard.admits(problem_of([0, 500, 500]), may_forget=True)  # 150 of 550 are not most
    assert len(guard.forgetting) == 1
    assert guard.learned[7].tolist() == [37.5, 700, 700]


def test_shares_count_from_the_first_batch_with_both_sides():
    guard = guarded(0, 1000)
    assert guard.admits(problem_of([90, 10]), may_forget=True)
    assert guard.learned[7].tolist() == [90, 10]


@pytest.mark.parametrize("shares", [[0.25] * 4, [0.99, 0.01], [0.6, 0.3, 0.1], [0.002] * 500])
@pytest.mark.parametrize("size", [1, 7, 40, 500])
def test_of_shuffled_rows_none_are_lost(shares, size):
    rng, guard = np.random.default_rng(0), Guard({})
    for _ in range(300):
        target = rng.choice(len(shares), size, p=shares)
        problem = LocalProblem(7, None, target, np.arange(len(shares)))
        assert guard.admits(problem, may_forget=True)
    assert guard.forgetting == []


def test_rare_siblings_are_lacking_together():
    """Each of 20 siblings expects 5 of 100 rows, which chance might explain; all expect 100."""
    nodes = np.arange(1, 22)
    learned = {node: np.array([1900.0, 100.0]) for node in range(1, 21)}
    one = LocalProblem(0, None, np.full(100, 20), nodes)
    assert lacking_siblings(Plan(1, iter([one])), learned) == set(range(1, 22))
    mixed = LocalProblem(0, None, np.arange(100) % 20, nodes)
    assert lacking_siblings(Plan(1, iter([mixed])), learned) == set()
    negative, positive = problem_of([100, 0], owner=3), problem_of([0, 100], owner=21)
    assert Guard(learned).admits(negative, may_forget=True)
    guard = Guard(learned, {3, 21})
    assert not guard.admits(negative, may_forget=True)
    assert guard.admits(positive, may_forget=True)  # the new class has nothing to forget
    assert guard.admits(problem_of([60, 40], owner=3), may_forget=True)


def test_what_fit_learned_is_counted_by_node():
    y = [["a", "x"]] * 3 + [["a", "y"]] * 2 + [["b"]] * 4 + [["a"]]
    tree, nodes = encoded(y)
    n_own = np.bincount(nodes, minlength=tree.n_nodes)
    distinct = np.flatnonzero(n_own)
    layout = make_layout(tree, n_own > 0)
    a, x, b = tree.find("a"), tree.find(("a", "x")), tree.find("b")
    found_plan = plan("node", BatchIndex(tree, distinct), layout, "siblings")
    learned = rows_learned(found_plan, n_own[distinct], {a, x, b, ~a})
    counts = {key: rows.tolist() for key, rows in learned.items()}
    assert counts == {a: [4, 6], b: [6, 4], x: [2, 3], ~a: [5, 1]}
    found_plan = plan("parent", BatchIndex(tree, distinct), layout)
    learned = rows_learned(found_plan, n_own[distinct], {0, a})
    assert {key: rows.tolist() for key, rows in learned.items()} == {0: [6, 4], a: [3, 2, 1]}
