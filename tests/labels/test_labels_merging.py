"""Labels of two sets of rows in one, or a message that shows what does not go together."""

import datetime
import re

import numpy as np
import pytest

from hiclass._labels.columns import read_labels
from hiclass._labels.merging import merge_labels

NAMES = ("y_true", "y_pred")


def test_merged_labels_share_their_codes():
    merged = merge_labels(read_labels(["b", "a"]), read_labels(["c", "b"]), NAMES)
    assert merged.values[0].tolist() == ["a", "b", "c"]
    assert merged.codes[0].tolist() == [1, 0, 2, 1]


def test_merging_paths_of_different_depth_pads_the_shorter_ones():
    merged = merge_labels(read_labels([["a"]]), read_labels([["a", 5], ["b", 4]]), NAMES)
    assert [v.tolist() for v in merged.values] == [["a", "b"], [4, 5]]
    assert [c.tolist() for c in merged.codes] == [[0, 0, 1], [-1, 1, 0]]
    assert merged.missing == ""
    assert merged.ndim == 2


def test_merging_the_same_labels_changes_nothing():
    y = read_labels(np.array([[3, 1], [2, 1]], dtype=np.int8))
    merged = merge_labels(y, y, NAMES)
    assert [v.tolist() for v in merged.values] == [[2, 3], [1]]
    assert [c.tolist() for c in merged.codes] == [[1, 0, 1, 0], [0, 0, 0, 0]]
    assert merged.dtype == np.int8


def test_merging_integers_of_different_width_compares_their_values():
    a, b = read_labels(np.array([300, 1])), read_labels(np.array([1, 2], dtype=np.uint8))
    merged = merge_labels(a, b, NAMES)
    assert merged.values[0].tolist() == [1, 2, 300]
    assert merged.codes[0].tolist() == [2, 0, 0, 1]


def test_merging_keeps_missing_labels_missing():
    merged = merge_labels(
        read_labels([["a", "x"], ["a", ""]]), read_labels([["b", None], ["b", "y"]]), NAMES
    )
    assert [c.tolist() for c in merged.codes] == [[0, 0, 1, 1], [0, -1, -1, 1]]


def test_merging_a_label_with_a_path_of_one_level_is_fine():
    merged = merge_labels(read_labels(["a"]), read_labels([["b"]]), NAMES)
    assert merged.codes[0].tolist() == [0, 1]
    assert merged.ndim == 2


@pytest.mark.parametrize("swapped", [False, True])
def test_merging_labels_with_paths_is_an_error_that_says_which_is_which(swapped):
    sides = [read_labels(["a"]), read_labels([["b", "c"]])]
    names = ["first", "second"]
    if swapped:
        sides.reverse()
        names.reverse()
    parts = "first holds one label per row but second holds paths of 2 levels."
    with pytest.raises(ValueError, match=re.escape(parts)):
        merge_labels(*sides, tuple(names))


def test_merging_different_types_is_an_error_that_shows_both():
    parts = "Level 2 holds int labels in y_true (1) but str labels in y_pred ('1'). Use one type"
    with pytest.raises(ValueError, match=re.escape(parts)):
        merge_labels(read_labels([["a", 1]]), read_labels([["a", "1"]]), NAMES)
    with pytest.raises(ValueError, match=r"Level 1 holds bool labels.*int labels"):
        merge_labels(read_labels(np.array([True])), read_labels(np.array([1])), NAMES)
    with pytest.raises(ValueError, match=r"bytes labels in y_true.*date labels"):
        merge_labels(read_labels(np.array([b"a"])), read_labels([datetime.date(2020, 1, 1)]), NAMES)
