"""Labels from every container -> sorted values and codes per level, or a message that helps."""

import datetime
import decimal
import enum
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ODD_STRINGS, SETTINGS, paths

from hiclass._labels.columns import check_paths, is_missing, object_array, plain, read_labels

NAN = float("nan")


def objects(rows):
    """A NumPy array of objects with the shape of some nested lists."""
    array = np.empty((len(rows), *([len(rows[0])] if isinstance(rows[0], list) else [])), object)
    array[:] = rows
    return array


def same(a, b):
    """Whether two labels are equal and of equal type, with NaN and NA equal to themselves."""
    return type(a) is type(b) and (a is b or (a != a and b != b) or bool(a == b))


def assert_reads(y, values, codes, *, ndim, dtype, missing):
    """Assert everything that read_labels returns for y."""
    columns = read_labels(y)
    assert columns.ndim == ndim
    assert columns.n_rows == len(codes[0])
    assert [c.tolist() for c in columns.codes] == codes
    assert all(c.dtype == np.intp for c in columns.codes)
    found = [v.tolist() for v in columns.values]
    assert found == values
    assert [list(map(type, v)) for v in found] == [list(map(type, v)) for v in values]
    assert columns.dtype == np.dtype(dtype)
    assert same(columns.missing, missing)


def message(*parts):
    """A pattern for a message that has these parts in this order."""
    return ".*".join(map(re.escape, parts))


# -- containers --------------------------------------------------------------------------------


ONE_DIMENSION = [
    (["b", "a", "b"], "O"),
    (("b", "a", "b"), "O"),
    (objects(["b", "a", "b"]), "O"),
    (objects([np.str_("b"), "a", np.str_("b")]), "O"),
    (np.array(["b", "a", "b"]), "<U1"),
    (np.array(["b", "a", "b"], dtype="<U7"), "<U7"),
    (pd.Series(["b", "a", "b"]), "O"),
    (pd.Series(["b", "a", "b"], dtype=object), "O"),
    (pd.Series(["b", "a", "b"], dtype="string"), "O"),
    (pd.Series(["b", "a", "b"], dtype="string[pyarrow]"), "O"),
    (pd.Series(["b", "a", "b"], dtype="category"), "O"),
    (pd.Index(["b", "a", "b"]), "O"),
    (pd.array(["b", "a", "b"]), "O"),
    (pd.Categorical(["b", "a", "b"]), "O"),
    (pl.Series(["b", "a", "b"]), "O"),
    (pl.Series(["b", "a", "b"], dtype=pl.Categorical), "O"),
    (pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])), "O"),
    (pa.array(["b", "a", "b"]), "O"),
    (pa.chunked_array([["b"], ["a", "b"]]), "O"),
    (pa.array(["b", "a", "b"]).dictionary_encode(), "O"),
]


@pytest.mark.parametrize(("y", "dtype"), ONE_DIMENSION)
def test_strings_in_one_dimension_read_alike_from_every_container(y, dtype):
    assert_reads(y, [["a", "b"]], [[1, 0, 1]], ndim=1, dtype=dtype, missing="")


TWO_LEVELS = {"one": ["b", "a", "b"], "two": ["x", "x", "y"]}
ROWS = [["b", "x"], ["a", "x"], ["b", "y"]]

TWO_DIMENSIONS = [
    (ROWS, "O"),
    (tuple(map(tuple, ROWS)), "O"),
    (list(map(tuple, ROWS)), "O"),
    (objects(ROWS), "O"),
    (np.array(ROWS), "<U1"),
    (np.asfortranarray(np.array(ROWS)), "<U1"),
    (list(np.array(ROWS)), "<U1"),
    (object_array(ROWS), "O"),
    (pd.DataFrame(TWO_LEVELS), "O"),
    (pd.DataFrame(TWO_LEVELS, dtype=object), "O"),
    (pd.DataFrame(TWO_LEVELS, dtype="string"), "O"),
    (pd.DataFrame(TWO_LEVELS, dtype="category"), "O"),
    (pd.DataFrame(ROWS, columns=["same", "same"]), "O"),
    (pd.DataFrame(TWO_LEVELS, index=[7, 7, 3]), "O"),
    (pd.Series(ROWS), "O"),
    (pd.MultiIndex.from_tuples(map(tuple, ROWS)), "O"),
    (pl.DataFrame(TWO_LEVELS), "O"),
    (pl.Series(ROWS), "O"),
    (pl.Series(ROWS, dtype=pl.Array(pl.String, 2)), "O"),
    (pa.table(TWO_LEVELS), "O"),
    (pa.RecordBatch.from_pydict(TWO_LEVELS), "O"),
    (pa.array(ROWS), "O"),
]


@pytest.mark.parametrize(("y", "dtype"), TWO_DIMENSIONS)
def test_paths_read_alike_from_every_container(y, dtype):
    assert_reads(
        y, [["a", "b"], ["x", "y"]], [[1, 0, 1], [0, 0, 1]], ndim=2, dtype=dtype, missing=""
    )


@pytest.mark.parametrize(
    "y",
    [
        [["b", "x"], ["a"], ["b", "y", "z"]],
        [("b", "x"), ["a"], np.array(["b", "y", "z"])],
        object_array([["b", "x"], ["a"], ["b", "y", "z"]]),
        pd.Series([["b", "x"], ["a"], ["b", "y", "z"]]),
        pl.Series([["b", "x"], ["a"], ["b", "y", "z"]]),
        pa.array([["b", "x"], ["a"], ["b", "y", "z"]]),
    ],
)
def test_shorter_paths_are_missing_at_the_end_and_spell_nothing(y):
    assert_reads(
        y,
        [["a", "b"], ["x", "y"], ["z"]],
        [[1, 0, 1], [0, -1, 1], [-1, -1, 0]],
        ndim=2,
        dtype=object,
        missing="",
    )


def test_a_list_of_arrays_of_one_type_keeps_that_type():
    y = list(np.array([[1, 2], [3, 4]], dtype=np.int8))
    assert_reads(y, [[1, 3], [2, 4]], [[0, 1], [0, 1]], ndim=2, dtype=np.int8, missing=None)


def test_a_list_of_scalar_arrays_is_one_label_per_row():
    y = [np.array(3), np.array(1)]
    assert_reads(y, [[1, 3]], [[1, 0]], ndim=1, dtype=np.int64, missing=None)


def test_an_object_that_converts_to_an_array_is_read_as_that_array():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array([[2, 7], [1, 7]], dtype=np.int16)

    assert_reads(Tensor(), [[1, 2], [7]], [[1, 0], [0, 0]], ndim=2, dtype=np.int16, missing=None)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_numpy_matrix_is_read_as_paths():
    y = np.matrix([[2, 7], [1, 7]])
    assert_reads(y, [[1, 2], [7]], [[1, 0], [0, 0]], ndim=2, dtype=np.int64, missing=None)


def test_masked_labels_are_missing():
    y = np.ma.array([[1, 2], [1, 3]], mask=[[False, True], [False, False]])
    assert_reads(y, [[1], [3]], [[0, 0], [-1, 0]], ndim=2, dtype=np.int64, missing=None)


def test_an_array_that_is_read_only_is_read():
    y = np.array([3, 1])
    y.flags.writeable = False
    assert_reads(y, [[1, 3]], [[1, 0]], ndim=1, dtype=np.int64, missing=None)


# -- numbers -----------------------------------------------------------------------------------

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i2", ">i8", ">u4"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("stride", [1, 2])
def test_integers_of_every_width_keep_value_and_type_at_the_ends_of_their_range(dtype, stride):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = [low, low + 1, high // 2, high - 1, high]
    y = np.repeat(np.array(values[::-1], dtype=dtype), stride)[::stride]
    assert_reads(y, [values], [[4, 3, 2, 1, 0]], ndim=1, dtype=dtype, missing=None)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_width_are_ranked_by_a_table_at_either_end_of_their_range(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for first in (low, high - 5):
        values = [first, first + 2, first + 5]
        y = np.array([values[k] for k in (2, 0, 0, 1)], dtype=dtype)
        assert_reads(y, [values], [[2, 0, 0, 1]], ndim=1, dtype=dtype, missing=None)


def test_every_value_of_int8_at_once():
    y = np.arange(-128, 128).astype(np.int8)[::-1]
    codes = list(range(255, -1, -1))
    assert_reads(y, [list(range(-128, 128))], [codes], ndim=1, dtype=np.int8, missing=None)


def test_integers_far_apart_are_ranked_by_a_sort():
    y = np.array([10**12, -5, 10**12, 0])
    assert_reads(y, [[-5, 0, 10**12]], [[2, 0, 2, 1]], ndim=1, dtype=np.int64, missing=None)


@SETTINGS
@given(
    st.sampled_from(INTEGERS).flatmap(
        lambda dtype: st.tuples(
            st.just(dtype),
            st.lists(
                st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max) | st.integers(0, 9),
                min_size=1,
                max_size=20,
            ),
        )
    )
)
def test_codes_point_at_the_integers_they_stand_for(drawn):
    dtype, labels = drawn
    columns = read_labels(np.array(labels, dtype=dtype))
    assert columns.values[0].tolist() == sorted(set(labels))
    assert columns.values[0][columns.codes[0]].tolist() == labels
    assert columns.dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        ([7, 3], "i8"),
        (range(3, 8, 4)[::-1], "i8"),
        (objects([7, 3]), "i8"),
        (objects([np.int8(7), np.uint64(3)]), "i8"),
        (pd.Series([7, 3], dtype="int8"), "i1"),
        (pd.Series([7, 3], dtype="Int64"), "i8"),
        (pd.Series([7, 3], dtype="category"), "i8"),
        (pd.Series([7, 3], dtype="int64[pyarrow]"), "i8"),
        (pl.Series([7, 3], dtype=pl.UInt16), "u2"),
        (pa.array([7, 3]), "i8"),
    ],
)
def test_integers_stay_integers_in_every_container(y, dtype):
    assert_reads(y, [[3, 7]], [[1, 0]], ndim=1, dtype=dtype, missing=None)


def test_integers_above_2_63_become_unsigned():
    y = [2**64 - 1, 2**63]
    assert_reads(y, [[2**63, 2**64 - 1]], [[1, 0]], ndim=1, dtype="u8", missing=None)


@pytest.mark.parametrize(
    "y",
    [[2**63, -1], [2**70, -1], [np.uint64(2**63), np.int64(-1)], objects([2**63, -1])],
)
def test_integers_that_no_numpy_type_holds_together_stay_python_integers(y):
    values = sorted(map(int, y))
    assert_reads(y, [values], [[1, 0]], ndim=1, dtype=object, missing=None)


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        ([7.0, 3.0], "f8"),
        (np.array([7, 3], dtype="f4"), "f4"),
        (np.array([7, 3], dtype="f2"), "f2"),
        (np.array([7, 3], dtype=">f8"), ">f8"),
        (objects([np.float32(7), 3.0]), "f8"),
        (pd.Series([7.0, 3.0]), "f8"),
        (pd.Series([7.0, 3.0], dtype="Float64"), "f8"),
        (pl.Series([7.0, 3.0], dtype=pl.Float32), "f4"),
    ],
)
def test_whole_floats_stay_floats_and_their_missing_label_is_nan(y, dtype):
    assert_reads(y, [[3.0, 7.0]], [[1, 0]], ndim=1, dtype=dtype, missing=NAN)


@pytest.mark.parametrize(
    "y",
    [
        [True, False],
        np.array([True, False]),
        np.array([True, False, False])[::2],
        np.array([[True, True], [False, False]])[:, 0],
        objects([True, np.False_]),
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pl.Series([True, False]),
        pa.array([True, False]),
    ],
)
def test_booleans_stay_booleans_in_every_container(y):
    assert_reads(y, [[False, True]], [[1, 0]], ndim=1, dtype=bool, missing=None)


def test_bytes_keep_their_width_and_their_empty_string_is_missing():
    y = np.array([[b"b", b"x"], [b"a", b""]])
    assert_reads(y, [[b"a", b"b"], [b"x"]], [[1, 0], [0, -1]], ndim=2, dtype="S1", missing=b"")


@pytest.mark.parametrize(
    ("y", "values"),
    [
        ([b"b", b"a"], [b"a", b"b"]),
        (
            [decimal.Decimal("1.5"), decimal.Decimal(1)],
            [decimal.Decimal(1), decimal.Decimal("1.5")],
        ),
        ([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)], None),
        (pl.Series([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]), None),
        (np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]"), None),
        (
            pd.to_datetime(pd.Series(["2020-01-02", "2020-01-01"])),
            [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")],
        ),
    ],
)
def test_other_ordered_values_are_labels_as_they_are(y, values):
    values = values or [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    assert_reads(y, [values], [[1, 0]], ndim=1, dtype=object, missing=None)


def test_tuples_inside_paths_are_labels():
    y = [[("b", 1), "x"], [("a", 2), "x"]]
    assert_reads(
        y, [[("a", 2), ("b", 1)], ["x"]], [[1, 0], [0, 0]], ndim=2, dtype=object, missing=""
    )


def test_members_of_a_string_enum_stay_members():
    color = enum.StrEnum("color", ["RED", "BLUE"])
    assert_reads(
        [color.RED, color.BLUE],
        [[color.BLUE, color.RED]],
        [[1, 0]],
        ndim=1,
        dtype=object,
        missing="",
    )


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="they came with NumPy 2")
def test_numpy_strings_of_variable_width_are_read_as_strings():
    y = np.array(["b", "a"], dtype=np.dtypes.StringDType())
    assert_reads(y, [["a", "b"]], [[1, 0]], ndim=1, dtype=object, missing="")


# -- levels of several types -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        ([[1, True], [0, False]], object),
        ([[1, 1.0], [0, 0.0]], object),
        ([[True, 1.0], [False, 0.0]], object),
        ([["1", 1], ["0", 0]], object),
        (pd.DataFrame({"a": [1, 0], "b": [True, False]}), object),
        (pd.DataFrame({"a": np.array([1, 0], "i1"), "b": np.array([300, 0], "i2")}), "i2"),
        (pd.DataFrame({"a": np.array([1, 0], "f4"), "b": np.array([300, 0], "f8")}), "f8"),
        # No integer type is sure to hold both.
        (pd.DataFrame({"a": np.array([1, 0], "i8"), "b": np.array([300, 0], "u8")}), object),
    ],
)
def test_the_type_of_all_levels_is_one_that_changes_no_label(y, dtype):
    columns = read_labels(y)
    assert columns.dtype == np.dtype(dtype)
    assert [c.tolist() for c in columns.codes] == [[1, 0], [1, 0]]


def test_one_true_and_one_point_zero_in_three_levels_are_three_labels():
    columns = read_labels([[1, True, 1.0]])
    assert [type(v.tolist()[0]) for v in columns.values] == [int, bool, float]


# -- missing -----------------------------------------------------------------------------------

MISSING = ["", None, NAN, np.float32("nan"), np.nan, pd.NA, pd.NaT, np.str_(""), b""]


@pytest.mark.parametrize("spelling", MISSING, ids=repr)
def test_every_spelling_of_missing_is_missing(spelling):
    assert is_missing(spelling)
    columns = read_labels([["a", "x"], ["b", spelling]])
    assert [c.tolist() for c in columns.codes] == [[0, 1], [0, -1]]
    assert same(columns.missing, spelling)


@pytest.mark.parametrize("label", [" ", "nan", "None", "NA", "<NA>", "0", 0, False, 0.0, (), b"0"])
def test_what_only_seems_empty_is_a_label(label):
    assert not is_missing(label)
    assert read_labels([["a", label]]).codes[1].tolist() == [0]


@pytest.mark.parametrize("kind", ["label", 5, True, 5.0])
@pytest.mark.parametrize("spelling", ["", None, NAN, pd.NA], ids=repr)
def test_missing_stands_beside_labels_of_any_type(kind, spelling):
    columns = read_labels([["a", kind], ["a", spelling], ["a", kind]])
    assert columns.codes[1].tolist() == [0, -1, 0]
    assert columns.values[1].tolist() == [kind]
    assert type(columns.values[1].tolist()[0]) is type(kind)
    assert same(columns.missing, spelling)


@pytest.mark.parametrize(
    ("y", "missing"),
    [
        ([["a", None, ""], ["b", "x", "p"]], None),
        ([["a", "x", ""], ["b", None, None]], ""),
        ([["a", "x", "p"], ["b", NAN, None]], NAN),
        ([["a"], ["b", "x", None], ["c", ""]], None),
        ([["a"], ["b", "x"]], ""),
        ([[1], [2, 3]], None),
        ([[1.0], [2.0, 3.0]], NAN),
        ([[1, 1.0], [2]], None),
        ([[True], [False, True]], None),
        ([["a", 1], ["b"]], ""),
        ([[1, "a"], [2]], ""),
        ([[b"a", b"b"], [b"b"]], None),
        ([[None], ["b"]], None),
    ],
)
def test_the_first_spelling_in_reading_order_is_kept_or_else_the_usual_one(y, missing):
    assert same(read_labels(y).missing, missing)


@pytest.mark.parametrize(
    ("dtype", "missing"),
    [
        (object, None),
        ("str", NAN if int(pd.__version__.split(".")[0]) > 2 else None),  # objects before pandas 3
        ("string", pd.NA),
        ("string[pyarrow]", pd.NA),
        ("category", NAN),
    ],
)
def test_pandas_strings_may_be_missing(dtype, missing):
    y = pd.DataFrame({"a": ["x", "y"], "b": ["z", None]}, dtype=dtype)
    assert_reads(y, [["x", "y"], ["z"]], [[0, 1], [0, -1]], ndim=2, dtype=object, missing=missing)


@pytest.mark.parametrize(
    ("column", "values", "dtype", "missing"),
    [
        (pd.Series([5, None], dtype="Int64"), [5], "i8", pd.NA),
        (pd.Series([5, None], dtype="UInt8"), [5], "i8", pd.NA),
        (pd.Series([5, None], dtype="int64[pyarrow]"), [5], "i8", pd.NA),
        (pd.Series([5, None], dtype="category"), [5], "i8", NAN),
        (pd.Series([5, None], dtype=object), [5], "i8", None),
        (pd.Series([True, None], dtype="boolean"), [True], bool, pd.NA),
        (pd.Series([True, None], dtype="bool[pyarrow]"), [True], bool, pd.NA),
        (pd.Series([5.0, None], dtype="Float64"), [5.0], "f8", pd.NA),
        (pd.Series([5.0, None]), [5.0], "f8", NAN),
        (pd.Series([5.0, None], dtype="float32"), [5.0], "f4", NAN),
        (
            pd.to_datetime(pd.Series(["2020-01-01", None])),
            [pd.Timestamp("2020-01-01")],
            "O",
            pd.NaT,
        ),
    ],
)
def test_pandas_numbers_may_be_missing_and_keep_their_type(column, values, dtype, missing):
    y = pd.DataFrame({"a": column, "b": column})
    assert_reads(y, [values, values], [[0, -1], [0, -1]], ndim=2, dtype=dtype, missing=missing)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [(["x", None], "O"), ([5, None], "i8"), ([True, None], bool), ([5.0, None], "f8")],
)
@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_nulls_of_polars_and_arrow_are_missing(labels, dtype, frame):
    y = frame({"a": labels, "b": labels})
    assert_reads(y, [labels[:1], labels[:1]], [[0, -1], [0, -1]], ndim=2, dtype=dtype, missing=None)


def test_nan_in_a_float_array_is_missing():
    y = np.array([[5, 7], [np.nan, np.nan], [3, np.nan]], dtype=np.float32)
    assert_reads(
        y, [[3.0, 5.0], [7.0]], [[1, -1, 0], [0, -1, -1]], ndim=2, dtype=np.float32, missing=NAN
    )


def test_a_level_without_any_label_has_no_values():
    assert_reads(
        [["a", None], ["b", None]],
        [["a", "b"], []],
        [[0, 1], [-1, -1]],
        ndim=2,
        dtype=object,
        missing=None,
    )


def test_empty_paths_alone_are_read_as_one_level_without_labels():
    columns = read_labels([[], []])
    assert [c.tolist() for c in columns.codes] == [[-1, -1]]


# -- odd labels --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, objects, pd.Series, pl.Series, pa.array])
def test_odd_strings_are_read_as_they_are_from_every_container(make):
    labels = list(ODD_STRINGS)
    columns = read_labels(make(labels))
    assert columns.values[0].tolist() == sorted(labels)
    assert columns.values[0][columns.codes[0]].tolist() == labels


@SETTINGS
@given(paths(labels="mixed"))
def test_codes_point_at_labels_of_equal_value_and_type(y):
    columns = read_labels(y)
    assert check_paths(columns).tolist() == [len(path) for path in y]
    for row, path in enumerate(y):
        codes = [int(c[row]) for c in columns.codes]
        assert all(code == -1 for code in codes[len(path) :])
        for level, label in enumerate(path):
            found = plain(columns.values[level][codes[level]])
            assert same(found, label)
    for values in columns.values:
        assert values.tolist() == sorted(set(values.tolist()))


@SETTINGS
@given(paths(labels=("letters", "text", "int", "bool")), st.sampled_from(["", None, NAN, pd.NA]))
def test_all_containers_agree(y, spelling):
    depth = max(map(len, y))
    ragged = read_labels(y)
    rows = [[*path, *[spelling] * (depth - len(path))] for path in y]
    names = [f"level {j}" for j in range(depth)]
    nulls = [[*path, *[None] * (depth - len(path))] for path in y]
    data = {name: [row[j] for row in nulls] for j, name in enumerate(names)}
    for other in (
        rows,
        objects(rows),
        pd.DataFrame(rows, columns=names, dtype=object),
        pd.DataFrame(data, dtype="category"),
        pl.DataFrame(data, strict=False),
        pa.table(data),
    ):
        columns = read_labels(other)
        for level in range(depth):
            assert columns.codes[level].tolist() == ragged.codes[level].tolist()
            assert columns.values[level].tolist() == ragged.values[level].tolist()


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y", [[], (), np.array([]), np.empty((0, 2)), pd.Series([]), pl.Series([]), pa.array([])]
)
def test_no_rows_is_an_error(y):
    with pytest.raises(ValueError, match=message("y is empty: it holds 0 labels (0 sample(s))")):
        read_labels(y)


@pytest.mark.parametrize("y", [np.empty((2, 0)), pd.DataFrame(index=[0, 1]), pl.DataFrame()])
def test_no_columns_is_an_error(y):
    with pytest.raises(ValueError, match=r"^y has no columns. Pass one column per level\.$"):
        read_labels(y)


def test_none_is_an_error_that_scikit_learn_expects():
    with pytest.raises(ValueError, match=r"requires y to be passed, but the target y is None\."):
        read_labels(None)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        ("abc", "str"),
        (b"abc", "bytes"),
        ({"a": 1}, "dict"),
        ({"a"}, "set"),
        (5, "int"),
        ((c for c in "ab"), "generator"),
        (pl.DataFrame({"a": ["x"]}).lazy(), "LazyFrame"),
    ],
)
def test_what_is_no_array_of_labels_is_an_error_that_names_its_type(y, name):
    parts = message("y must be array-like, one label or one path of labels per row", f"got {name}.")
    with pytest.raises(TypeError, match=parts):
        read_labels(y)


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_arrays_of_other_dimensions_are_an_error_that_names_the_shape(shape):
    parts = message("y must have one or two dimensions; got shape", str(shape))
    with pytest.raises(ValueError, match=parts):
        read_labels(np.zeros(shape, dtype=int))
    with pytest.raises(ValueError, match=message("one or two dimensions")):
        read_labels(list(np.zeros((2, 2, 2), dtype=int)))


@pytest.mark.parametrize(
    ("y", "first", "row", "other"),
    [
        (["a", "b", ["c"]], "'a'", 2, "['c']"),
        ([["a"], "b"], "['a']", 1, "'b'"),
        ([("a",), None], "('a',)", 1, "None"),
    ],
)
def test_labels_beside_paths_are_an_error_that_shows_both(y, first, row, other):
    parts = message(
        f"y mixes single labels and paths: row 0 is {first}, row {row} is {other}.",
        "Use a path for every row, for example ['label'].",
    )
    with pytest.raises(ValueError, match=parts):
        read_labels(y)


@pytest.mark.parametrize(
    ("y", "parts"),
    [
        ([1, True], ["y mixes types: row 0 has 1 (int), row 1 has True (bool)."]),
        ([1.0, 1], ["row 0 has 1.0 (float), row 1 has 1 (int)."]),
        ([True, 1.0], ["row 0 has True (bool), row 1 has 1.0 (float)."]),
        (["1", "2", 1], ["row 0 has '1' (str), row 2 has 1 (int)."]),
        (["1", b"1"], ["row 0 has '1' (str), row 1 has b'1' (bytes)."]),
        ([[5, None], [5, "x"], [5, 2]], ["Level 2 of y mixes types: row 1 has 'x' (str)", "row 2"]),
        (objects([np.int8(1), np.str_("a")]), ["row 0 has 1 (int), row 1 has 'a' (str)"]),
        ([np.array([1, 2]), np.array([True, False])], ["Level 1 of y mixes types", "True (bool)"]),
    ],
)
def test_mixed_types_within_a_level_are_an_error_with_both_places(y, parts):
    with pytest.raises(ValueError, match=message(*parts, "Use one type within a level")):
        read_labels(y)


@pytest.mark.parametrize(
    ("y", "row", "value", "kind"),
    [
        ([1.0, 2.5], 1, "2.5", "continuous"),
        (np.array([np.nan, 2.0, 2.5]), 2, "2.5", "continuous"),
        (np.array([2.5], dtype=np.float32), 0, "2.5", "continuous"),
        ([1.0, math.inf], 1, "inf", "infinite"),
        (np.array([1.0, -np.inf]), 1, "-inf", "infinite"),
        ([None, np.float32(0.5)], 1, "0.5", "continuous"),
        (pd.Series([None, 2.5], dtype="Float64"), 1, "2.5", "continuous"),
        (pl.Series([None, 2.5]), 1, "2.5", "continuous"),
    ],
)
def test_floats_that_are_no_whole_numbers_are_an_error_with_value_and_row(y, row, value, kind):
    parts = message(
        f"Unknown label type: {kind}. y has {value} in row {row};", "bin the values first."
    )
    with pytest.raises(ValueError, match=parts):
        read_labels(y)


def test_the_message_for_floats_names_the_level_of_a_path():
    with pytest.raises(ValueError, match=message("Level 2 of y has 0.5 in row 1;")):
        read_labels(np.array([[1, 2], [1, 0.5]]))


def test_complex_numbers_are_an_error():
    with pytest.raises(ValueError, match=message("Complex data not supported")):
        read_labels(np.array([1j, 2j]))


@pytest.mark.parametrize(
    ("y", "parts"),
    [
        ([{"a"}, {"b"}], ["y has {'a'} in row 0, a set, which cannot be a label."]),
        ([["a", "x"], ["a", ["b"]]], ["Level 2 of y has ['b'] in row 1, a list"]),
        ([["a", {}]], ["Level 2 of y has {} in row 0, a dict"]),
        ([["a", None], ["b", {}]], ["Level 2 of y has {} in row 1, a dict"]),
        ([[["a"]], [["b"]]], ["Level 1 of y has ['a'] in row 0, a list"]),
    ],
)
def test_unhashable_labels_are_an_error_with_value_and_place(y, parts):
    with pytest.raises(TypeError, match=message(*parts)):
        read_labels(y)


def test_labels_without_an_order_are_an_error_that_names_their_type():
    color = enum.Enum("color", ["RED", "BLUE"])
    with pytest.raises(TypeError, match=message("y holds labels of type color, which cannot be")):
        read_labels([color.RED, color.BLUE])
    with pytest.raises(TypeError, match=message("Level 2 of y holds labels of type complex")):
        read_labels([["a", 1j], ["a", 2j]])


@pytest.mark.parametrize("dtype", ["M8[ns]", "m8[Y]"])
def test_numpy_times_that_python_has_no_type_for_are_an_error_that_names_the_type(dtype):
    with pytest.raises(TypeError, match=message("Level 1 of y is of type", "Convert it")):
        read_labels(np.array([[1, 2]], dtype=dtype))


def test_messages_call_the_argument_by_its_name():
    with pytest.raises(ValueError, match=r"^y_true is empty"):
        read_labels([], "y_true")
    with pytest.raises(ValueError, match=message("Row 0 of y_true has a label", "(y_true)")):
        check_paths(read_labels([["", "a"]]), name="y_true")


# -- gaps and rows without labels --------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "row", "level", "label", "hole"),
    [
        ([["a", "b", "c"], ["a", "", "c"]], 1, 3, "'c'", 2),
        ([["a", "b"], ["", "b"]], 1, 2, "'b'", 1),
        (np.array([[1, np.nan, 7.0]]), 0, 3, "7.0", 2),
        ([["a", "b", "c", "d"], ["a", None, None, "d"]], 1, 4, "'d'", 2),
        (pd.DataFrame({"a": [1, 1], "b": [1, None], "c": [1, 9]}, dtype="Int64"), 1, 3, "9", 2),
    ],
)
def test_a_gap_is_an_error_with_row_level_label_and_remedy(y, row, level, label, hole):
    expected = (
        f"Row {row} of y has a label at level {level} ({label}) but none at level {hole}. "
        f"Fill level {hole} or end the path there "
        f"(hiclass.truncate_at_gap(y) does that for every such row)."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        check_paths(read_labels(y))


@pytest.mark.parametrize(
    ("y", "row"),
    [
        (["a", None], 1),
        ([["a"], []], 1),
        ([[], []], 0),
        ([["", ""], ["a", ""]], 0),
        (np.array([1.0, np.nan]), 1),
        (np.array([b"a", b""]), 1),
    ],
)
def test_a_row_without_label_is_an_error_unless_it_may_be_empty(y, row):
    columns = read_labels(y)
    with pytest.raises(ValueError, match=message(f"Row {row} of y has no label at all. Remove")):
        check_paths(columns)
    length = check_paths(columns, allow_empty=True)
    assert length[row] == 0


def test_check_paths_returns_the_length_of_every_path():
    assert check_paths(read_labels([["a", "b"], ["a"], ["c", "d"]])).tolist() == [2, 1, 2]
