"""Local problems over closed sets: the six policies, word for word, on trees and DAGs."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from problem_helpers import count_set_problems, set_gates, set_problems
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass._problems.index import SetIndex
from hiclass._problems.policies import POLICIES
from hiclass._targets.sets import encode_sets

PETS = [("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog"), ("dog", "pug")]


def index_of(y, edges):
    target = encode_sets(y, Hierarchy.from_edges(edges))
    return SetIndex(target.hierarchy, target.closed, target.own)


def rows_of(problem, index):
    return np.arange(index.n_rows) if problem.rows is None else problem.rows


# -- the table of the policies, from labels and edges alone ------------------------------------


def above(edges, label):
    """A label and everything above it."""
    return {label}.union(*(above(edges, p) for p, c in edges if c == label))


def by_the_table(edges, y, policy):
    """Positive and negative rows of every class, as the table of the policies has them."""
    sets = [set().union(*(above(edges, label) for label in row)) for row in y]
    own = [{a for a in s if not any((a, b) in edges for b in s)} for s in sets]
    own = [s or {None} for s in own]  # a row without labels ends at the root, None
    rows = set(range(len(y)))
    classes = {a for edge in edges for a in edge}
    tops = {a for a in classes if not any(c == a for _, c in edges)}
    inner = {None} | {p for p, _ in edges}
    if not any(a in inner for s in own for a in s):
        own = sets  # nobody ends at an inner node: "own" reads as "sub"

    def sub_of(c):
        return {i for i in rows if c in sets[i]}

    def own_of(c):
        return {i for i in rows if c in own[i]}

    table = {}
    for c in classes:
        parents = {p for p, child in edges if child == c}
        siblings = {b for a, b in edges if a in parents} | (tops if c in tops else set())
        siblings -= {c}
        end_above = set().union(*(own_of(a) for a in (above(edges, c) - {c}) | {None}))
        literal_own = own is not sets
        positive, negative = {
            "exclusive": (own_of(c), rows - own_of(c)),
            "less_exclusive": (own_of(c), rows - sub_of(c)),
            "less_inclusive": (sub_of(c), rows - sub_of(c)),
            "inclusive": (sub_of(c), rows - sub_of(c) - (end_above if literal_own else set())),
            "siblings": (sub_of(c), set().union(*(sub_of(s) for s in siblings))),
            "exclusive_siblings": (own_of(c), set().union(*(own_of(s) for s in siblings))),
        }[policy]
        if sub_of(c):
            table[c] = positive, negative - positive
    return table


@SETTINGS
@given(hierarchies_with_sets(max_nodes=8), st.sampled_from(sorted(POLICIES)))
def test_policies_equal_their_table_on_trees_and_dags(drawn, policy):
    edges, y = drawn
    index = index_of(y, edges)
    table = by_the_table(edges, y, policy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two policies may be the same
        problems = list(set_problems("node", index, policy, lenient=True))
    found = {}
    for problem in problems:
        rows = rows_of(problem, index)
        assert problem.classes.tolist() == [-1, problem.owner]
        assert rows.tolist() == sorted(set(rows.tolist()))
        label = index.hierarchy.labels[problem.owner]
        found[label] = set(rows[problem.target == 1]), set(rows[problem.target == 0])
    assert found == {c: sides for c, sides in table.items() if all(sides)}
    assert len(problems) <= count_set_problems("node", index)


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
            asked = [v for v in candidates if 0 < share[v] < 1]
            assert problem.classes.tolist() == asked
            target = problem.target.reshape(len(rows), -1)
            np.testing.assert_array_equal(target, closed[np.ix_(rows, asked)])
            assert problem.target.ndim == (1 if len(asked) == 1 else 2)


def test_gates_ask_whether_a_row_ends_at_an_inner_node():
    index = index_of([["dog"], ["pug"], ["pug", "cat"], ["pet"], ["feline"], []], PETS)
    gates = {index.hierarchy.labels[g.owner]: g for g in set_gates(index)}
    assert set(gates) == {None, "pet", "dog", "feline"}
    assert gates[None].target.tolist() == [0, 0, 0, 0, 0, 1]
    assert all(gate.gate for gate in gates.values())
    assert rows_of(gates["pet"], index).tolist() == [0, 1, 2, 3]
    assert gates["pet"].target.tolist() == [0, 0, 0, 1]
    assert gates["dog"].target.tolist() == [1, 0, 0]
    assert rows_of(gates["feline"], index).tolist() == [2, 4]


def test_a_row_of_a_class_and_its_sibling_is_positive():
    index = index_of([["cat", "lion"], ["lion"], ["cat"]], PETS)
    problems = {index.hierarchy.labels[p.owner]: p for p in set_problems("node", index, "siblings")}
    assert rows_of(problems["cat"], index).tolist() == [0, 1, 2]
    assert problems["cat"].target.tolist() == [1, 0, 1]
    assert problems["lion"].target.tolist() == [1, 1, 0]


def test_a_class_that_nobody_has_as_most_specific_is_named():
    index = index_of([["pug"], ["cat"], ["pet"]], PETS)
    with pytest.raises(
        ValueError, match=r"class feline has no positive .* binary_policy='exclusive'"
    ):
        list(set_problems("node", index, "exclusive"))


def test_large_problems_come_first():
    index = index_of([["pug"], ["cat"], ["dog"], ["lion"], ["dog"]], PETS)
    sizes = [index.n_below[p.owner] for p in set_problems("parent", index)]
    assert sizes == sorted(sizes, reverse=True)
