"""Local problems, against the paper's table and against literal transcriptions with sets."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problem_helpers import (
    PETS,
    SAME_WITHOUT_INNER_ROWS,
    Rows,
    count_problems,
    count_set_problems,
    found,
    index_and_rows,
    index_of,
    problems_flat,
    problems_per_level,
    problems_per_node,
    problems_per_parent,
    rows_of,
    set_gates,
    set_problems,
    training_rows,
)
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass._problems.index import TreeIndex, find_options
from hiclass._problems.policies import POLICIES
from hiclass._targets.paths import encode
from hiclass._targets.sets import encode_sets

# -- per parent node, per level, flat ----------------------------------------------------------


@SETTINGS
@given(training_rows(), st.booleans())
def test_per_parent_is_one_problem_per_node_with_several_branches(training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    expected = {}
    for v in range(index.hierarchy.n_nodes):
        taken = rows.options(v, leaf_only)
        if len(taken) > 1:
            expected[v, False] = taken
    problems = list(problems_per_parent(index, options))
    assert found(problems, rows) == expected
    for problem in problems:  # the children in order, "stop here" last
        assert problem.classes.tolist() == list(rows.options(problem.owner, leaf_only))


@SETTINGS
@given(training_rows(), st.booleans())
def test_per_level_is_one_problem_per_level_over_all_branches(training, leaf_only):
    index, rows = training
    hierarchy = index.hierarchy
    options = find_options(index, leaf_only=leaf_only)
    expected = {}
    for level in range(1, hierarchy.depth + 1):
        taken = {}
        for v in range(hierarchy.n_nodes):
            if hierarchy.levels[v] == level - 1:
                taken.update(rows.options(v, leaf_only))
        if len(taken) > 1:
            expected[level, False] = taken
    problems = list(problems_per_level(index, options))
    assert found(problems, rows) == expected
    assert [p.owner for p in problems] == sorted(p.owner for p in problems)


@SETTINGS
@given(training_rows(), st.booleans())
def test_flat_is_one_problem_over_all_ends(training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    ends = rows.ends(leaf_only)
    assert options.ends.tolist() == sorted(ends)
    problems = list(problems_flat(index, options))
    assert found(problems, rows) == ({(0, False): ends} if len(ends) > 1 else {})
    assert all(p.classes.tolist() == sorted(ends) for p in problems)


@SETTINGS
@given(training_rows())
def test_problems_are_counted_before_they_are_made(training):
    index, _ = training
    for leaf_only in (False, True):
        options = find_options(index, leaf_only=leaf_only)
        for strategy, problems in {
            "node": problems_per_node(index, options, "siblings"),
            "parent": problems_per_parent(index, options),
            "level": problems_per_level(index, options),
            "flat": problems_flat(index, options),
        }.items():
            counted = count_problems(strategy, options, index.hierarchy)
            assert type(counted) is int
            assert counted == len(list(problems))


@SETTINGS
@given(training_rows())
def test_large_problems_come_first(training):
    index, rows = training
    options = find_options(index, leaf_only=False)
    sizes = [len(rows.sub(p.owner)) for p in problems_per_parent(index, options)]
    assert sizes == sorted(sizes, reverse=True)


# -- worked out by hand ------------------------------------------------------------------------


def all_problems(y, hierarchy=None, leaf_only=False):
    """Rows of every class by strategy, with names for nodes; a class -1 is called "rest"."""
    target = encode(y, hierarchy)
    index, rows = TreeIndex(target.hierarchy, target.nodes), Rows(target.hierarchy, target.nodes)
    options = find_options(index, leaf_only=leaf_only)

    def named(problems, name=target.hierarchy.describe):
        return {
            (f"{name(owner)} gate" if gate else name(owner)): {
                "rest" if c == -1 else target.hierarchy.describe(c): sorted(part)
                for c, part in sets.items()
            }
            for (owner, gate), sets in found(problems, rows).items()
        }

    return {
        "node": named(problems_per_node(index, options, "siblings")),
        "parent": named(problems_per_parent(index, options)),
        "level": named(problems_per_level(index, options), int),
        "flat": named(problems_flat(index, options)),
    }


def test_a_row_that_ends_at_an_inner_node_is_a_class_more_or_a_gate():
    assert all_problems([["a", "x"], ["a"], ["b"], ["a", "y"]]) == {
        "node": {
            "a": {"rest": [2], "a": [0, 1, 3]},
            "b": {"rest": [0, 1, 3], "b": [2]},
            "a > x": {"rest": [3], "a > x": [0]},
            "a > y": {"rest": [0], "a > y": [3]},
            "a gate": {"rest": [0, 3], "a": [1]},
        },
        "parent": {
            "the root": {"a": [0, 1, 3], "b": [2]},
            "a": {"a > x": [0], "a > y": [3], "a": [1]},
        },
        "level": {
            1: {"a": [0, 1, 3], "b": [2]},
            2: {"a > x": [0], "a > y": [3], "a": [1]},
        },
        "flat": {"the root": {"a": [1], "a > x": [0], "a > y": [3], "b": [2]}},
    }


def test_with_leaf_only_a_row_that_ends_at_an_inner_node_trains_what_is_above_only():
    assert all_problems([["a", "x"], ["a"], ["b"], ["a", "y"]], leaf_only=True) == {
        "node": {
            "a": {"rest": [2], "a": [0, 1, 3]},
            "b": {"rest": [0, 1, 3], "b": [2]},
            "a > x": {"rest": [3], "a > x": [0]},
            "a > y": {"rest": [0], "a > y": [3]},
        },
        "parent": {
            "the root": {"a": [0, 1, 3], "b": [2]},
            "a": {"a > x": [0], "a > y": [3]},
        },
        "level": {
            1: {"a": [0, 1, 3], "b": [2]},
            2: {"a > x": [0], "a > y": [3]},
        },
        "flat": {"the root": {"a > x": [0], "a > y": [3], "b": [2]}},
    }


@pytest.mark.parametrize("leaf_only", [False, True])
def test_one_class_alone_needs_no_problem(leaf_only):
    nothing = {"node": {}, "parent": {}, "level": {}, "flat": {}}
    assert all_problems([["a"], ["a"]], leaf_only=leaf_only) == nothing
    assert all_problems([["a", "b", "c"]], leaf_only=leaf_only) == nothing
    assert all_problems(["a"], leaf_only=leaf_only) == nothing


def test_a_chain_of_single_children_is_certain_until_a_row_stops_on_it():
    assert all_problems([["a", "b", "c"], ["a", "b", "c"]])["node"] == {}
    problems = all_problems([["a", "b", "c"], ["a", "b"], ["a", "b", "c"]])
    assert problems["node"] == {"a > b gate": {"rest": [0, 2], "a > b": [1]}}
    assert problems["parent"] == {"a > b": {"a > b > c": [0, 2], "a > b": [1]}}
    assert problems["level"] == {3: {"a > b > c": [0, 2], "a > b": [1]}}
    assert problems["flat"] == {"the root": {"a > b": [1], "a > b > c": [0, 2]}}


def test_below_a_root_with_one_class_the_problems_begin_one_level_lower():
    problems = all_problems([["a", "x"], ["a", "y"]])
    assert problems["node"] == {
        "a > x": {"rest": [1], "a > x": [0]},
        "a > y": {"rest": [0], "a > y": [1]},
    }
    assert problems["parent"] == {"a": {"a > x": [0], "a > y": [1]}}
    assert problems["level"] == {2: {"a > x": [0], "a > y": [1]}}


def test_a_class_with_one_row_is_a_class():
    problems = all_problems([["a", "x"]] * 5 + [["a", "y"], ["b", "z"]])
    assert problems["parent"] == {
        "the root": {"a": [0, 1, 2, 3, 4, 5], "b": [6]},
        "a": {"a > x": [0, 1, 2, 3, 4], "a > y": [5]},
    }


def test_homonyms_are_different_classes_of_a_level():
    assert all_problems([["a", "x"], ["b", "x"]])["level"] == {
        1: {"a": [0], "b": [1]},
        2: {"a > x": [0], "b > x": [1]},
    }


CHILDREN = {"a": ["x", "y", "z"], "b": ["p", "q"], "c": ["r"], "z": ["deep"]}


def test_classes_without_rows_take_no_part():
    problems = all_problems(["x", "y", "p"], CHILDREN)
    assert problems["node"] == {
        "a": {"rest": [2], "a": [0, 1]},
        "b": {"rest": [0, 1], "b": [2]},
        "a > x": {"rest": [1], "a > x": [0]},
        "a > y": {"rest": [0], "a > y": [1]},
    }
    assert problems["parent"] == {
        "the root": {"a": [0, 1], "b": [2]},
        "a": {"a > x": [0], "a > y": [1]},
    }
    assert problems["level"] == {
        1: {"a": [0, 1], "b": [2]},
        2: {"a > x": [0], "a > y": [1], "b > p": [2]},
    }
    assert problems["flat"] == {"the root": {"a > x": [0], "a > y": [1], "b > p": [2]}}


@pytest.mark.parametrize("leaf_only", [False, True])
def test_an_inner_node_below_which_no_row_goes_is_an_end_even_with_leaf_only(leaf_only):
    problems = all_problems(["x", "b", "b", "x"], CHILDREN, leaf_only=leaf_only)
    assert problems == {
        "node": {"a": {"rest": [1, 2], "a": [0, 3]}, "b": {"rest": [0, 3], "b": [1, 2]}},
        "parent": {"the root": {"a": [0, 3], "b": [1, 2]}},
        "level": {1: {"a": [0, 3], "b": [1, 2]}, 2: {"a > x": [0, 3], "b": [1, 2]}},
        "flat": {"the root": {"a > x": [0, 3], "b": [1, 2]}},
    }


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_are_all_rows_are_written_as_none(policy):
    index, _ = index_and_rows([["a"], ["b"], ["a"]])
    options = find_options(index, leaf_only=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=SAME_WITHOUT_INNER_ROWS)
        problems = list(problems_per_node(index, options, policy))
    problems += [*problems_per_parent(index, options), *problems_per_level(index, options)]
    problems += problems_flat(index, options)
    assert len(problems) == 5
    assert all(problem.rows is None for problem in problems)


def test_a_large_and_deep_tree_gives_as_many_problems_as_it_should():
    depth = 100
    y = [[*["n"] * k, leaf] for k in range(depth) for leaf in "ab"]
    index, _ = index_and_rows(y)
    options = find_options(index, leaf_only=False)
    assert len(list(problems_per_parent(index, options))) == depth
    assert len(list(problems_per_node(index, options, "siblings"))) == 3 * depth - 1
    assert len(list(problems_per_level(index, options))) == depth
    (flat,) = problems_flat(index, options)
    assert flat.classes.tolist() == index.hierarchy.leaves().tolist()


@SETTINGS
@given(hierarchies_with_sets())
def test_problems_per_parent_level_and_flat_hold_the_right_rows_and_columns(drawn):
    edges, y = drawn
    assume(any(y))
    index = index_of(y, edges)
    closed = encode_sets(y, Hierarchy.from_edges(edges)).closed.toarray()
    hierarchy = index.hierarchy
    for strategy in ("parent", "level", "flat"):
        problems = list(set_problems(strategy, index))
        assert len(problems) == count_set_problems(strategy, index)
        for problem in problems:
            rows = rows_of(problem, index)
            if strategy == "parent":
                assert set(rows) == set(np.flatnonzero(closed[:, problem.owner]))
                candidates = hierarchy.children(problem.owner)
            else:
                assert len(rows) == len(y)
                candidates = np.flatnonzero(hierarchy.levels == problem.owner)
            if strategy == "flat":
                candidates = np.arange(1, hierarchy.n_nodes)
            share = closed[rows].mean(axis=0)
            learned = [v for v in candidates if 0 < share[v] < 1]
            assert problem.classes.tolist() == learned
            target = problem.target.reshape(len(rows), -1)
            np.testing.assert_array_equal(target, closed[np.ix_(rows, learned)])
            assert problem.target.ndim == (1 if len(learned) == 1 else 2)


def test_gates_learn_whether_a_row_ends_at_an_inner_node():
    index = index_of([["dog"], ["pug"], ["pug", "cat"], ["pet"], ["feline"], []], PETS)
    gates = {index.hierarchy.labels[g.owner]: g for g in set_gates(index)}
    assert set(gates) == {None, "pet", "dog", "feline"}
    assert gates[None].target.tolist() == [0, 0, 0, 0, 0, 1]
    assert all(gate.gate for gate in gates.values())
    assert rows_of(gates["pet"], index).tolist() == [0, 1, 2, 3]
    assert gates["pet"].target.tolist() == [0, 0, 0, 1]
    assert gates["dog"].target.tolist() == [1, 0, 0]
    assert rows_of(gates["feline"], index).tolist() == [2, 4]


def test_large_problems_of_sets_come_first():
    index = index_of([["pug"], ["cat"], ["dog"], ["lion"], ["dog"]], PETS)
    sizes = [index.n_below[p.owner] for p in set_problems("parent", index)]
    assert sizes == sorted(sizes, reverse=True)
