"""Hierarchies that grow by the labels of a batch, and formats that widen."""

import numpy as np
import pytest
from hypothesis import given
from strategies import SETTINGS, paths

from hiclass import Hierarchy
from hiclass._labels.columns import read_labels
from hiclass._state import LabelFormat
from hiclass._targets.growth import check_form, first_format, grow, widen_format


@SETTINGS
@given(paths(max_rows=12, depth=(1, 4), labels="text"), paths(max_rows=12, depth=(1, 4)))
def test_a_grown_tree_is_the_tree_of_both_and_old_nodes_keep_their_order(old, new):
    tree = Hierarchy.from_paths(old)
    grown, moved, nodes = grow(tree, read_labels(new))
    assert grown == Hierarchy.from_paths([*old, *new])
    assert (np.diff(moved) > 0).all()
    assert [grown.path(v) for v in moved.tolist()] == [tree.path(v) for v in range(tree.n_nodes)]
    assert [grown.path(v) for v in nodes.tolist()] == [tuple(path) for path in new]


def test_labels_of_another_type_than_their_level_are_refused():
    tree = Hierarchy.from_paths([["a", 1]])
    assert grow(tree, read_labels([["b", 2]]))[0].n_nodes == 5
    with pytest.raises(ValueError, match=r"Level 2 of y holds str labels \('x'\), but .* int"):
        grow(tree, read_labels([["b", "x"]]))
    with pytest.raises(ValueError, match=r"Level 1 of y holds bool labels \(True\), but .* str"):
        grow(tree, read_labels([[True, 1]]))


def test_a_format_takes_the_wider_type_and_more_levels():
    old = LabelFormat(2, 1, np.dtype("<U3"), "")
    tree = Hierarchy.from_paths([["cat", "x"], ["snake", "y"]])
    batch = read_labels(np.array([["snake", "y"]]))
    assert widen_format(old, batch, tree) == LabelFormat(2, 2, np.dtype("<U5"), "")
    numbers = read_labels(np.array([[1, 2]]))
    assert widen_format(old, numbers, tree).dtype == object
    longer = Hierarchy.from_paths([["crocodile"]])
    assert widen_format(old, batch, longer).dtype == object  # a type that cannot hold it


def test_the_first_format_is_that_of_the_batch_and_the_classes_given_with_it():
    batch = read_labels(np.array([["cat", "x"]]))
    given_labels = read_labels(np.array([["cat", "x"], ["snake", ""]]))
    tree = Hierarchy.from_paths([["cat", "x"], ["snake"]])
    assert first_format(batch, given_labels, tree) == LabelFormat(2, 2, np.dtype("<U5"), "")
    spelled = read_labels([["cat", "x"], ["snake", None]])
    assert first_format(batch, spelled, tree).missing is None
    single = read_labels(["cat", "snake"])
    assert first_format(single, None, tree) == LabelFormat(1, 2, np.dtype(object), "")


def test_batches_are_written_as_the_rows_before_them():
    paths_format, single_format = (
        LabelFormat(2, 1, np.dtype(object), ""),
        LabelFormat(1, 1, np.dtype(object), ""),
    )
    check_form(read_labels([["a", "b"]]), paths_format)
    with pytest.raises(ValueError, match="y holds single labels, but the rows before"):
        check_form(read_labels(["a"]), paths_format)
    with pytest.raises(ValueError, match="y holds paths, but the rows before"):
        check_form(read_labels([["a", "b"]]), single_format)
