"""The six policies: the paper's table, and literal transcriptions with sets, on trees and DAGs."""

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_helpers import (
    PETS,
    SAME_WITHOUT_INNER_ROWS,
    count_set_problems,
    found,
    index_and_rows,
    index_of,
    problems_per_node,
    rows_of,
    set_problems,
    training_rows,
)
from strategies import SETTINGS, hierarchies_with_sets, paths

from hiclass._problems.index import find_options
from hiclass._problems.policies import POLICIES


def literal_sets(rows, policy, c):
    """Positive and negative rows of a class, as the table of the design has them."""
    own = rows.own
    if not any(rows.own(v) for v in rows.inner()):
        own = rows.sub
    sub = rows.sub
    siblings = rows.hierarchy.siblings(c).tolist()
    ancestors = [a for a in rows.above[c] if a != c]
    positive, negative = {
        "exclusive": (own(c), rows.all - own(c)),
        "less_exclusive": (own(c), rows.all - sub(c)),
        "less_inclusive": (sub(c), rows.all - sub(c)),
        "inclusive": (sub(c), rows.all - sub(c) - set().union(*map(rows.own, ancestors))),
        "siblings": (sub(c), set().union(*map(sub, siblings))),
        "exclusive_siblings": (own(c), set().union(*map(own, siblings))),
    }[policy]
    return positive, negative - positive


ANIMALS = {
    "Reptile": ["Reptile"],
    "Snake": ["Reptile", "Snake"],
    "Lizard": ["Reptile", "Lizard"],
    "Mammal": ["Mammal"],
    "Cat": ["Mammal", "Cat"],
    "Wolf": ["Mammal", "Wolf"],
    "Dog": ["Mammal", "Wolf", "Dog"],
}
WOLF = {
    "exclusive": ("Wolf", "Reptile Snake Lizard Mammal Cat Dog"),
    "less_exclusive": ("Wolf", "Reptile Snake Lizard Mammal Cat"),
    "less_inclusive": ("Wolf Dog", "Reptile Snake Lizard Mammal Cat"),
    "inclusive": ("Wolf Dog", "Reptile Snake Lizard Cat"),
    "siblings": ("Wolf Dog", "Cat"),
    "exclusive_siblings": ("Wolf", "Cat"),
}


def test_every_policy_of_the_table_is_a_policy():
    assert set(POLICIES) == set(WOLF)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_wolf_of_the_paper(policy):
    names = list(ANIMALS)
    index, rows = index_and_rows(list(ANIMALS.values()))
    options = find_options(index, leaf_only=False)
    problems = found(problems_per_node(index, options, policy), rows)
    wolf = index.hierarchy.find("Wolf")
    sets = problems[wolf, False]
    positive, negative = WOLF[policy]
    assert {names[row] for row in sets[wolf]} == set(positive.split())
    assert {names[row] for row in sets[-1]} == set(negative.split())


def test_the_gates_of_the_paper_are_the_rows_that_end_against_those_that_go_on():
    names = list(ANIMALS)
    index, rows = index_and_rows(list(ANIMALS.values()))
    options = find_options(index, leaf_only=False)
    problems = found(problems_per_node(index, options, "siblings"), rows)
    gates = {
        index.hierarchy.labels[owner]: {
            "go on" if c == -1 else "stop": {names[row] for row in part} for c, part in sets.items()
        }
        for (owner, gate), sets in problems.items()
        if gate
    }
    assert gates == {
        "Mammal": {"go on": {"Cat", "Wolf", "Dog"}, "stop": {"Mammal"}},
        "Reptile": {"go on": {"Snake", "Lizard"}, "stop": {"Reptile"}},
        "Wolf": {"go on": {"Dog"}, "stop": {"Wolf"}},
    }


def expected_per_node(rows, policy, leaf_only):
    """All problems per node, and what every class lacks that has no positives or no negatives."""
    expected, lacks = {}, {}
    for v in rows.inner():
        kids = rows.children(v)
        for c in kids if len(kids) > 1 else ():
            positive, negative = literal_sets(rows, policy, c)
            expected[c, False] = {-1: negative, c: positive}
            if not positive or not negative:
                lacks[c] = "negative" if positive else "positive"
        if rows.stops(v, leaf_only) and kids:
            expected[v, True] = {-1: rows.sub(v) - rows.own(v), v: rows.own(v)}
    return expected, lacks


def assert_matches_the_table(index, rows, policy, leaf_only):
    expected, lacks = expected_per_node(rows, policy, leaf_only)
    problems = problems_per_node(index, find_options(index, leaf_only=leaf_only), policy)
    literal = any(rows.own(v) for v in rows.inner())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if lacks:
            with pytest.raises(ValueError, match="Use binary_policy='siblings'") as error:
                list(problems)
            assert str(error.value) in {
                f"The class {index.hierarchy.describe(node)} has no {lack} training rows under "
                f"binary_policy={policy!r}. Use binary_policy='siblings', which always has "
                f"positive and negative rows."
                for node, lack in lacks.items()
            }
        else:
            assert found(problems, rows) == expected
    warned = not literal and policy in ("exclusive", "less_exclusive", "exclusive_siblings")
    assert len(caught) == warned
    assert all(str(w.message).startswith(SAME_WITHOUT_INNER_ROWS) for w in caught)


@SETTINGS
@given(training=training_rows(), leaf_only=st.booleans())
def test_every_policy_matches_the_table_on_ragged_paths(training, leaf_only):
    for policy in POLICIES:
        assert_matches_the_table(*training, policy, leaf_only)


@SETTINGS
@given(training=training_rows(ragged=False), leaf_only=st.booleans())
def test_every_policy_matches_the_table_on_complete_paths(training, leaf_only):
    for policy in POLICIES:
        assert_matches_the_table(*training, policy, leaf_only)


@SETTINGS
@given(y=paths(max_rows=10, depth=(2, 4)), leaf_only=st.booleans())
def test_every_policy_matches_the_table_where_every_node_has_rows_of_its_own(y, leaf_only):
    every = sorted({tuple(path[: j + 1]) for path in y for j in range(len(path))})
    training = index_and_rows(list(map(list, every)))
    for policy in POLICIES:
        assert_matches_the_table(*training, policy, leaf_only)


@pytest.mark.parametrize(
    ("policy", "same"),
    [
        ("exclusive", "less_inclusive"),
        ("less_exclusive", "less_inclusive"),
        ("exclusive_siblings", "siblings"),
    ],
)
def test_without_rows_at_inner_nodes_policies_coincide_with_one_warning(policy, same):
    index, rows = index_and_rows([["a", "x"], ["a", "y"], ["b", "x"]])
    options = find_options(index, leaf_only=False)
    expected = (
        f"{SAME_WITHOUT_INNER_ROWS}{policy!r} is the same as {same!r}: 'exclusive' equals "
        f"'less_inclusive', 'less_exclusive' equals 'less_inclusive', 'exclusive_siblings' equals "
        f"'siblings'."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(expected)}$") as caught:
        problems = found(problems_per_node(index, options, policy), rows)
    assert len(caught) == 1
    assert problems == found(problems_per_node(index, options, same), rows)


@pytest.mark.parametrize(
    ("policy", "y", "name", "lacks"),
    [
        ("exclusive", [["a"], ["a", "y"], ["b", "x"]], "b", "positive"),
        ("less_exclusive", [["a", "x"], ["b"], ["b", "y"]], "a", "positive"),
        ("exclusive_siblings", [["a"], ["a", "y"], ["b", "x"]], "a", "negative"),
        ("exclusive_siblings", [["c"], ["c", "a", "x"], ["c", "b", "y"]], "c > a", "positive"),
    ],
)
def test_a_class_without_positives_or_negatives_is_an_error_that_names_it(policy, y, name, lacks):
    index, _ = index_and_rows(y)
    problems = problems_per_node(index, find_options(index, leaf_only=False), policy)
    expected = f"The class {name} has no {lacks} training rows under binary_policy={policy!r}. Use"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)} binary_policy='siblings'"):
        list(problems)


@SETTINGS
@given(training_rows(), st.booleans())
def test_siblings_always_has_positives_and_negatives(training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    problems = found(problems_per_node(index, options, "siblings"), rows)
    assert all(len(sets) == 2 and all(sets.values()) for sets in problems.values())


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
