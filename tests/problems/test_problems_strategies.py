"""Local problems, against the paper's table and against literal transcriptions with sets."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_helpers import (
    count_problems,
    problems_flat,
    problems_per_level,
    problems_per_node,
    problems_per_parent,
)
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._problems.index import TreeIndex, branches, child_branches, find_options
from hiclass._problems.policies import POLICIES
from hiclass._targets.paths import encode

SAME_WITHOUT_INNER_ROWS = "No training row ends at an inner node, so binary_policy="


class Rows:
    """Training rows as Python sets: slow, literal, and independent of the library's index."""

    def __init__(self, hierarchy, nodes):
        self.hierarchy = hierarchy
        self.nodes = list(map(int, nodes))
        self.all = set(range(len(self.nodes)))
        classes = range(hierarchy.n_nodes)
        self.above = [{*hierarchy.ancestors(v).tolist(), v} for v in classes]
        self._own = [{r for r in self.all if self.nodes[r] == c} for c in classes]
        self._sub = [{r for r in self.all if c in self.above[self.nodes[r]]} for c in classes]

    def own(self, c):
        """Rows whose most specific class is c."""
        return self._own[c]

    def sub(self, c):
        """Rows of c or below."""
        return self._sub[c]

    def children(self, v):
        """Children that have training rows."""
        return [c for c in self.hierarchy.children(v).tolist() if self.sub(c)]

    def inner(self):
        return [v for v in range(self.hierarchy.n_nodes) if len(self.hierarchy.children(v))]

    def stops(self, v, leaf_only):
        """Whether a path may stop at an inner node."""
        if v not in self.inner() or not self.own(v):
            return False
        return not leaf_only or self.own(v) == self.sub(v)

    def options(self, v, leaf_only):
        """Ways to go on from a node and the rows that take each."""
        ways = {c: self.sub(c) for c in self.children(v)}
        if self.stops(v, leaf_only):
            ways[v] = self.own(v)
        return ways

    def ends(self, leaf_only):
        """Nodes at which a path may end, and the rows that end there."""
        return {
            v: self.own(v)
            for v in range(self.hierarchy.n_nodes)
            if self.own(v) and (v not in self.inner() or self.stops(v, leaf_only))
        }


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


def index_and_rows(y, keep=None):
    """The library's index and the slow one of some rows of y, over the hierarchy of all of y."""
    target = encode(y)
    nodes = target.nodes if keep is None else target.nodes[keep]
    return TreeIndex(target.hierarchy, nodes), Rows(target.hierarchy, nodes)


@st.composite
def training_rows(draw, **kwargs):
    """Index of random rows; some classes of the hierarchy may have none."""
    y = draw(paths(max_rows=16, depth=(1, 4), **kwargs))
    size = draw(st.integers(1, len(y)))
    return index_and_rows(y, draw(st.permutations(range(len(y))))[:size])


def sets_of(problem, n_rows):
    """The rows of every class of a problem, after asserting what holds for all problems."""
    rows = np.arange(n_rows) if problem.rows is None else problem.rows
    assert (np.diff(rows) > 0).all()
    assert len(rows) == len(problem.target)
    assert problem.rows is None or len(rows) < n_rows
    assert problem.target.dtype == np.intp
    k = len(problem.classes)
    assert k >= 2
    assert set(problem.target.tolist()) == set(range(k))
    return {int(c): set(rows[problem.target == j].tolist()) for j, c in enumerate(problem.classes)}


def found(problems, rows):
    """Sets of rows by owner and by whether it is a gate."""
    problems = list(problems)
    sets = {(p.owner, p.gate): sets_of(p, len(rows.nodes)) for p in problems}
    assert len(sets) == len(problems)
    return sets


# -- the table of the paper --------------------------------------------------------------------

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


# -- per node ----------------------------------------------------------------------------------


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
                f"binary_policy={policy!r}. Use binary_policy='siblings', which always has both."
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
    found(problems_per_node(index, options, "siblings"), rows)


# -- per parent node, per level, flat ----------------------------------------------------------


@SETTINGS
@given(training_rows(), st.booleans())
def test_per_parent_is_one_problem_per_node_with_several_ways_to_go_on(training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    expected = {}
    for v in range(index.hierarchy.n_nodes):
        ways = rows.options(v, leaf_only)
        if len(ways) > 1:
            expected[v, False] = ways
    problems = list(problems_per_parent(index, options))
    assert found(problems, rows) == expected
    for problem in problems:  # the children in order, "stop here" last
        assert problem.classes.tolist() == list(rows.options(problem.owner, leaf_only))


@SETTINGS
@given(training_rows(), st.booleans())
def test_per_level_is_one_problem_per_level_over_all_ways_to_go_on(training, leaf_only):
    index, rows = training
    hierarchy = index.hierarchy
    options = find_options(index, leaf_only=leaf_only)
    expected = {}
    for level in range(1, hierarchy.depth + 1):
        ways = {}
        for v in range(hierarchy.n_nodes):
            if hierarchy.levels[v] == level - 1:
                ways.update(rows.options(v, leaf_only))
        if len(ways) > 1:
            expected[level, False] = ways
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
@given(training_rows(), st.booleans())
def test_options_are_the_children_with_rows_and_stopping_where_rows_stop(training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    for v in range(index.hierarchy.n_nodes):
        assert branches(options, v).tolist() == list(rows.options(v, leaf_only))
        assert child_branches(options, v).tolist() == rows.children(v)
        assert options.can_stop[v] == rows.stops(v, leaf_only)


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


@SETTINGS
@given(training_rows())
def test_the_index_gives_the_rows_of_every_node(training):
    index, rows = training
    for v in range(index.hierarchy.n_nodes):
        assert index.own(v).tolist() == sorted(rows.own(v))
        assert index.below(v).tolist() == sorted(rows.sub(v))
        assert index.below(v, strictly=True).tolist() == sorted(rows.sub(v) - rows.own(v))
        assert index.n_own[v] == len(rows.own(v))
        assert index.n_below[v] == len(rows.sub(v))


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


def test_only_trees_have_a_row_index():
    dag = Hierarchy.from_edges([("a", "c"), ("b", "c")])
    with pytest.raises(ValueError, match="exists for trees only; 'c' has several parents"):
        TreeIndex(dag, np.array([1, 2]))
