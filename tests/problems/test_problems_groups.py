"""Groups of nodes: as single parents and as levels they make the problems of these strategies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_helpers import (
    FEWER,
    PETS,
    TREE,
    count_problems,
    count_set_problems,
    found,
    index_of,
    plan,
    set_problems,
    training_rows,
)

from hiclass import Hierarchy
from hiclass._problems.batches import make_layout
from hiclass._problems.groups import Groups
from hiclass._problems.index import BatchIndex, find_options, first_parents
from hiclass._problems.strategies import STRATEGIES, grouped
from hiclass._state import Stream

GROUPS = {name: Groups(STRATEGIES[name].owner, STRATEGIES[name].nodes) for name in STRATEGIES}
BOTH = pytest.mark.parametrize("name", ["parent", "level"])


def as_lists(problems):
    """Problems in a form that can be compared; all rows are None or their numbers."""
    return {
        p.owner: (
            list(range(len(p.target))) if p.rows is None else p.rows.tolist(),
            p.target.tolist(),
            p.classes.tolist(),
        )
        for p in problems
    }


@BOTH
@FEWER
@given(training=training_rows(), leaf_only=st.booleans())
def test_they_have_the_problems_of_the_strategy(name, training, leaf_only):
    index, rows = training
    options = find_options(index, leaf_only=leaf_only)
    problems = list(GROUPS[name].problems(index, options))
    assert as_lists(problems) == as_lists(STRATEGIES[name].problems(index, options, None))
    assert len(found(problems, rows)) == len(problems)
    n_problems = GROUPS[name].count(options, index.hierarchy)
    assert n_problems == count_problems(name, options, index.hierarchy) == len(problems)


@BOTH
@FEWER
@given(training=training_rows(), stops=st.booleans())
def test_a_batch_updates_what_it_updates_with_the_strategy(name, training, stops):
    index, _ = training
    hierarchy = index.hierarchy
    batch = BatchIndex(hierarchy, index.nodes)
    layout = make_layout(hierarchy, np.full(hierarchy.n_nodes, stops))
    of_groups = GROUPS[name].plan(batch, Stream(layout, None, True, "", (), True))
    expected = as_lists(plan(name, batch, layout).problems)
    problems = list(of_groups.problems)
    assert of_groups.n_problems == len(problems)
    assert as_lists(problems) == expected


def test_per_level_they_have_its_problems_of_sets():
    edges = [("a", "x"), ("a", "y"), ("b", "z")]
    index = index_of([["x", "z"], ["y"], ["x", "y"], []], edges)
    expected = as_lists(set_problems("level", index))
    assert as_lists(GROUPS["level"].set_problems(index, None, False)) == expected
    assert GROUPS["level"].count_sets(index) == count_set_problems("level", index) == 2


def test_in_a_dag_a_class_is_in_the_group_of_its_first_parent_only():
    index = index_of([["cat"], ["lion"], ["pug"], ["dog", "lion"]], PETS)
    problems = list(GROUPS["parent"].set_problems(index, None, False))
    classes = np.concatenate([p.classes for p in problems])
    assert sorted(classes.tolist()) == list(range(1, index.hierarchy.n_nodes))
    for problem in problems:
        parents = first_parents(index.hierarchy, problem.classes)
        assert set(parents.tolist()) == {problem.owner}
        assert problem.rows is None
    assert GROUPS["parent"].count_sets(index) == len(problems)


def test_the_first_parent_is_a_parent_and_the_root_has_itself():
    nodes = np.arange(TREE.n_nodes)
    assert first_parents(TREE, nodes).tolist() == TREE.parent.tolist()
    assert first_parents(TREE, 6) == 5
    dag = Hierarchy.from_edges(PETS)
    cat = dag.find("cat")
    assert first_parents(dag, cat) == dag.parents(cat)[0]
    assert first_parents(dag, 0) == 0


def test_a_grouped_strategy_serves_batches_and_sets_and_names_groups_by_number():
    level = STRATEGIES["level"]
    strategy = grouped("levels", level.owner, level.nodes)
    assert strategy.name == "levels"
    assert strategy.shared
    assert not strategy.is_binary
    assert not strategy.is_direct
    assert strategy.plan is not None
    assert strategy.describe(TREE, 2) == "group 2"
    assert strategy.key(TREE, 2) == 2
