"""Paths that end at their first gap, in the container in which they came."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS

from hiclass import truncate_at_gap
from hiclass._labels.columns import check_paths, object_array, plain, read_labels

NAN = float("nan")
GAPS = [["a", None, "c"], ["a", "b", "c"], ["a", None, None], [None, "b", None]]
TRUNCATED = [["a"], ["a", "b", "c"], ["a"], []]


@pytest.mark.parametrize(
    "y",
    [
        GAPS,
        [tuple(path) for path in GAPS],
        [["a", "", "c"], ("a", "b", "c"), ["a"], [NAN, "b"]],
        object_array(GAPS),
        pd.Series(GAPS),
        pl.Series(GAPS),
        pa.array(GAPS).to_pylist(),
    ],
)
def test_sequences_of_paths_are_truncated_at_their_gaps_to_lists(y):
    before = repr(y)
    assert truncate_at_gap(y) == TRUNCATED
    assert repr(y) == before


def test_an_object_array_is_truncated_with_the_spelling_it_has():
    y = np.array(GAPS, dtype=object)
    truncated = truncate_at_gap(y)
    assert truncated.tolist() == [["a", None, None], ["a", "b", "c"], ["a", None, None], [None] * 3]
    assert y.tolist() == GAPS


def test_arrays_of_fixed_types_are_truncated_and_keep_their_type():
    strings = truncate_at_gap(np.array([["a", "", "c"], ["a", "b", "c"]]))
    assert strings.dtype == "<U1"
    assert strings.tolist() == [["a", "", ""], ["a", "b", "c"]]
    numbers = truncate_at_gap(np.array([[1, np.nan, 2], [1, 2, 3]], dtype=np.float32))
    assert numbers.dtype == np.float32
    assert np.array_equal(numbers, [[1, np.nan, np.nan], [1, 2, 3]], equal_nan=True)
    whole = np.array([[1, 2], [3, 4]])
    assert truncate_at_gap(whole).tolist() == whole.tolist()
    assert truncate_at_gap(whole) is not whole


@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
def test_a_pandas_frame_of_strings_is_truncated_and_keeps_index_columns_and_types(dtype):
    y = pd.DataFrame(GAPS, columns=["l1", "l2", "l2"], index=[3, 3, 1, 0], dtype=dtype)
    before = y.copy(deep=True)
    truncated = truncate_at_gap(y)
    assert truncated.isna().to_numpy().tolist() == [
        [False, True, True],
        [False, False, False],
        [False, True, True],
        [True, True, True],
    ]
    assert truncated.iloc[1].tolist() == ["a", "b", "c"]
    assert list(truncated.columns) == ["l1", "l2", "l2"]
    assert list(truncated.index) == [3, 3, 1, 0]
    assert list(truncated.dtypes) == list(y.dtypes)
    pd.testing.assert_frame_equal(y, before)


@pytest.mark.parametrize(
    ("dtype", "after"),
    [("int64", object), ("bool", object), ("Int64", "Int64"), ("float64", float)],
)
def test_numbers_in_a_pandas_frame_keep_their_type_where_others_are_truncated(dtype, after):
    y = pd.DataFrame({"a": ["x", "y"], "b": [None, "z"], "c": pd.Series([0, 1], dtype=dtype)})
    truncated = truncate_at_gap(y)
    assert truncated["c"].dtype == after
    assert pd.isna(truncated["c"][0])
    kept, label = plain(truncated["c"][1]), plain(y["c"][1])
    assert (type(kept), kept) == (type(label), label)


def test_a_pandas_frame_without_gaps_comes_back_as_an_equal_copy():
    y = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    truncated = truncate_at_gap(y)
    pd.testing.assert_frame_equal(truncated, y)
    assert truncated is not y


@pytest.mark.parametrize("labels", [["x", "y"], [1, 2], [True, False]])
def test_a_polars_frame_is_truncated_with_nulls_and_keeps_its_types(labels):
    y = pl.DataFrame({"a": labels, "b": [None, labels[1]], "c": labels})
    truncated = truncate_at_gap(y)
    assert truncated.to_dict(as_series=False) == {
        "a": labels,
        "b": [None, labels[1]],
        "c": [None, labels[1]],
    }
    assert truncated.schema == y.schema
    assert y["c"].to_list() == labels


@pytest.mark.parametrize("make", [pa.table, pa.RecordBatch.from_pydict])
def test_an_arrow_table_is_truncated_with_nulls_and_keeps_its_types(make):
    y = make({"a": ["x", "y"], "b": [None, "z"], "c": [1, 2]})
    truncated = truncate_at_gap(y)
    assert type(truncated) is type(y)
    assert truncated.to_pydict() == {"a": ["x", "y"], "b": [None, "z"], "c": [None, 2]}
    assert truncated.schema == y.schema
    assert y.to_pydict()["c"] == [1, 2]


@pytest.mark.parametrize(
    "y", [["a", "b"], np.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"])]
)
def test_single_labels_have_no_gaps_and_come_back_themselves(y):
    assert truncate_at_gap(y) is y


@SETTINGS
@given(st.lists(st.lists(st.sampled_from(["a", "b", ""]), min_size=1, max_size=4), min_size=1))
def test_what_is_truncated_has_no_gaps_and_is_the_longest_such_beginning(y):
    truncated = truncate_at_gap(y)
    check_paths(read_labels(truncated), allow_empty=True)
    for before, after in zip(y, truncated, strict=True):
        assert before[: len(after)] == after
        assert len(after) == len(before) or before[len(after)] == ""
