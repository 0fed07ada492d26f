"""Rows by node: of trees, of batches, and the branches that have rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_helpers import FEWER, TREE, encoded, training_rows
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._problems.index import BatchIndex, TreeIndex, branches, child_branches, find_options


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
def test_the_index_gives_the_rows_of_every_node(training):
    index, rows = training
    for v in range(index.hierarchy.n_nodes):
        assert index.own(v).tolist() == sorted(rows.own(v))
        assert index.below(v).tolist() == sorted(rows.sub(v))
        assert index.below(v, strictly=True).tolist() == sorted(rows.sub(v) - rows.own(v))
        assert index.n_own[v] == len(rows.own(v))
        assert index.n_below[v] == len(rows.sub(v))


def test_only_trees_have_a_row_index():
    dag = Hierarchy.from_edges([("a", "c"), ("b", "c")])
    with pytest.raises(
        ValueError, match="is available for trees only, but 'c' has several parents"
    ):
        TreeIndex(dag, np.array([1, 2]))


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
