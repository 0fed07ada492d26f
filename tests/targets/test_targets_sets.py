"""Several labels per row: every form of them, encoded as closed sets and written back."""

import re

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse as sp
from hierarchy_helpers import names_in
from hypothesis import given
from sklearn.preprocessing import MultiLabelBinarizer
from strategies import SETTINGS, hierarchies_with_sets, paths

from hiclass import Hierarchy
from hiclass._closure import most_specific
from hiclass._targets.paths import encode
from hiclass._targets.sets import (
    encode_in_dag,
    encode_set_pair,
    encode_sets,
    set_classes,
    write_sets,
)

PETS = Hierarchy.from_edges(
    [("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog"), ("dog", "pug")]
)
CATS = {"pet", "feline", "cat"}


def round_trip(y, hierarchy=None):
    target = encode_sets(y, hierarchy)
    return write_sets(target.closed, target.hierarchy, target.format)


# -- round trips -------------------------------------------------------------------------------


@SETTINGS
@given(hierarchies_with_sets())
def test_every_form_of_labels_of_a_hierarchy_comes_back(drawn):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    closed = hierarchy.indicator(y)
    specific = names_in(most_specific(closed, hierarchy), hierarchy)
    lists = round_trip(y, hierarchy)
    assert lists.shape == (len(y),)
    assert [set(row) for row in lists] == specific
    assert all(type(label) is int for row in lists for label in row)
    # What is written can be read again, and stays as it is.
    assert round_trip(list(lists), hierarchy).tolist() == lists.tolist()
    dense = round_trip(closed.toarray(), hierarchy)
    np.testing.assert_array_equal(dense, closed.toarray())
    sparse = round_trip(sp.coo_matrix(closed), hierarchy)
    assert isinstance(sparse, sp.csr_array)
    assert sparse.dtype == bool
    assert (sparse != closed).nnz == 0
    frame = pandas.DataFrame(closed.toarray()[:, 1:], columns=hierarchy.labels[1:].tolist())
    pandas.testing.assert_frame_equal(round_trip(frame, hierarchy), frame)


@SETTINGS
@given(paths(labels="any", max_rows=12, depth=(1, 4)))
def test_lists_of_path_tuples_come_back_with_and_without_a_hierarchy(drawn):
    y = [[tuple(p), tuple(q)] if i % 3 else [tuple(p)] for i, (p, q) in
         enumerate(zip(drawn, drawn[1:] + drawn[:1], strict=True))]  # fmt: skip
    first = round_trip(y)
    for row, back in zip(y, first, strict=True):
        # Only paths that another one continues are left out.
        kept = {p for p in row if not any(len(q) > len(p) and q[: len(p)] == p for q in row)}
        assert set(back) == kept
        assert {tuple(map(type, p)) for p in back} == {tuple(map(type, p)) for p in kept}
    hierarchy = encode_sets(y).hierarchy
    assert hierarchy == Hierarchy.from_paths(drawn)
    assert round_trip(y, hierarchy).tolist() == first.tolist()


def test_frames_of_other_libraries_and_of_paths_come_back():
    polar = polars.DataFrame({"cat": [True, False], "dog": [0, 1]})
    back = round_trip(polar, PETS)
    assert isinstance(back, polars.DataFrame)
    assert back.to_dict(as_series=False) == {"cat": [True, False], "dog": [False, True]}
    arrow = pyarrow.table({"cat": [1, 0], "lion": [0, 1]})
    assert round_trip(arrow, PETS).columns.tolist() == ["cat", "lion"]
    columns = pandas.MultiIndex.from_tuples([("a", "b"), ("a", ""), ("c", "")])
    frame = pandas.DataFrame([[True, True, False], [False, True, True]], columns=columns)
    pandas.testing.assert_frame_equal(round_trip(frame), frame)


@pytest.mark.parametrize(
    "y",
    [
        [["cat"], ["lion", "dog"]],
        (["cat"], ["lion", "dog"]),
        [np.array(["cat"]), np.array(["lion", "dog"])],
        [{"cat"}, frozenset({"lion", "dog"})],
        pandas.Series([["cat"], ["lion", "dog"]]),
        polars.Series([["cat"], ["lion", "dog"]]),
        np.array([["cat"], ["lion", "dog"]], dtype=object),
    ],
    ids=["lists", "tuple of lists", "arrays", "sets", "Series", "polars", "object array"],
)
def test_every_container_of_lists_is_read(y):
    assert names_in(PETS.indicator(y), PETS) == [CATS, {"feline", "lion", "pet", "dog"}]


def test_a_matrix_of_labels_is_one_path_per_row():
    back = round_trip(np.array([[1, 2], [1, 3]]))
    assert back.tolist() == [[(1, 2)], [(1, 3)]]
    back = round_trip(np.array([["a", ""], ["a", "b"]], dtype=object))
    assert back.tolist() == [[("a",)], [("a", "b")]]


def test_bare_labels_without_a_hierarchy_stand_side_by_side():
    target = encode_sets([["x", "y"], [], ["z"]])
    assert target.hierarchy == Hierarchy.from_paths([["x"], ["y"], ["z"]])
    assert round_trip([["x", "y"], [], ["z"]]).tolist() == [["x", "y"], [], ["z"]]


def test_one_true_and_one_are_three_labels():
    hierarchy = Hierarchy.from_edges([(None, 1), (None, True), (None, 1.0)])
    back = round_trip([[1], [True], [1.0], [1, True]], hierarchy)
    assert [[type(label) for label in row] for row in back[:3]] == [[int], [bool], [float]]
    assert len(back[3]) == 2


def test_labels_that_are_tuples_are_labels_where_the_hierarchy_has_them():
    hierarchy = Hierarchy.from_edges([(("a", 1), ("b", 2)), (("c", 1), ("b", 2))])
    assert round_trip([[("b", 2)], [("c", 1)]], hierarchy).tolist() == [[("b", 2)], [("c", 1)]]


def test_true_and_predicted_labels_share_the_hierarchy_that_they_span():
    tree, true, pred = encode_set_pair([[("a", "b")], []], [[("a", "c")], [("d",)]])
    assert tree == Hierarchy.from_paths([["a", "b"], ["a", "c"], ["d"]])
    assert names_in(true, tree) == [{"a", "b"}, set()]
    assert names_in(pred, tree) == [{"a", "c"}, {"d"}]
    _, true, pred = encode_set_pair([["cat"]], PETS.indicator([["pug"]]), PETS)
    assert names_in(true, PETS) == [CATS]
    assert names_in(pred, PETS) == [{"pet", "dog", "pug"}]


# -- what is refused ---------------------------------------------------------------------------

HOMONYMS = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])


@pytest.mark.parametrize(
    ("y", "hierarchy", "error", "message"),
    [
        (None, PETS, ValueError, "requires y to be passed, but the target y is None"),
        ("cat", PETS, TypeError, "y must hold a list of labels.*; got str"),
        (7, PETS, TypeError, "y must hold a list of labels.*; got int"),
        ([], PETS, ValueError, "y is empty: it holds 0 labels"),
        (["cat", "dog"], PETS, ValueError, r"Row 0 of y is 'cat'\. .* for example \['cat'\]"),
        ([["cat"], ("pet", "dog")], PETS, ValueError, r"Row 1 of y is the tuple .*one path"),
        ([["cat"], ["catt"]], PETS, ValueError, r"Row 1 of y: .* no class 'catt'\. .* 'cat'"),
        ([["cat"], None], PETS, ValueError, r"Row 1 of y is None\. .*without labels .*, \[\]; a"),
        ([["cat"], ""], PETS, ValueError, r"Row 1 of y is ''\. A row without labels .*, \[\]; a"),
        ([["cat"], np.nan], PETS, ValueError, r"Row 1 of y is nan\. A row without labels"),
        ([["cat"], pandas.NA], PETS, ValueError, r"Row 1 of y is <NA>\. A row without labels"),
        ([["cat", None]], PETS, ValueError, "Row 0 of y holds the missing label None"),
        ([["cat", ""]], PETS, ValueError, "Row 0 of y holds the missing label ''"),
        ([[("",)]], None, ValueError, r"Row 0 of y holds the missing label \(\)"),
        ([[["pet", "dog"]]], PETS, TypeError, "Row 0 of y holds .*, a list, .* Write a path as"),
        ([["cat"], [("pet", "dog")]], PETS, ValueError, r"mixes labels \(row 0\) and path tuples"),
        ([[("pet", "dog")]], PETS, ValueError, "y holds paths, but the hierarchy is a DAG"),
        ([["Other"]], HOMONYMS, ValueError, "2 classes of the hierarchy are called 'Other'"),
        ([[("Cards", "Othr")]], HOMONYMS, ValueError, "Row 0 .*'Othr' below Cards.*'Other'"),
        (np.eye(3, dtype=bool), PETS, ValueError, "indicator with 3 columns, .* 7 nodes"),
        (sp.csr_array(2 * np.eye(7)), PETS, ValueError, "y has 2.0 in row 0; an indicator must"),
        (np.eye(3, dtype=bool), None, ValueError, "indicator matrix, .* Pass that hierarchy"),
        (sp.csr_array((0, 7)), PETS, ValueError, "y is empty"),
        (np.full((2, 2, 2), "a"), None, ValueError, r"y has 3 dimensions.*\[\[tuple\(path"),
        ([[], []], None, ValueError, "No row of y has a label"),
        (pandas.DataFrame({"cat": [1, 3]}), PETS, ValueError, "column 'cat' of y has 3 in row 1"),
        (pandas.DataFrame({"a": ["b", "c"]}), None, ValueError, "column 'a' of y has 'b' in row 0"),
        (pandas.DataFrame({"cow": [0, 0]}), PETS, ValueError, "A column of y: .* no class 'cow'"),
        ([[("a", None, "b")]], None, ValueError, "label at level 3 .* but none at level 2"),
    ],
)  # fmt: skip
def test_bad_labels_are_refused_with_place_and_remedy(y, hierarchy, error, message):
    with pytest.raises(error, match=message):
        encode_sets(y, hierarchy)


BINARIZED = MultiLabelBinarizer().fit_transform([["cat", "dog"], ["pug"], ["cat", "pug"]])


@pytest.mark.parametrize("hierarchy", [None, PETS, Hierarchy.from_paths([[0, 1, 1], [1]])])
@pytest.mark.parametrize(
    "y",
    [BINARIZED, BINARIZED.astype(float), BINARIZED.astype(object), BINARIZED.astype("uint8")],
    ids=lambda y: str(y.dtype),
)
def test_a_matrix_of_0_and_1_that_is_not_boolean_is_refused_with_both_remedies(y, hierarchy):
    expected = (
        "y is a matrix of 0 and 1 with 3 columns: an indicator, or a path of the labels 0 and 1 "
        "per row? Pass an indicator as a frame whose columns are labels, such as "
        "pandas.DataFrame(y, columns=...), or as y.astype(bool) with one column per node of "
        "hierarchy=..., starting with the root. The original lists of labels work as well. "
        "Paths are written as [[tuple(row)] for row in y.tolist()]."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        encode_sets(y, hierarchy)


def test_a_matrix_of_objects_that_are_numbers_of_numpy_is_refused_as_well():
    y = np.empty((3, 3), dtype=object)
    y[:] = [[np.int64(label) for label in row] for row in BINARIZED]
    assert type(y[0, 0]) is np.int64
    with pytest.raises(ValueError, match=r"^y is a matrix of 0 and 1 with 3 columns"):
        encode_sets(y)
    assert len(encode_sets(pandas.DataFrame(y, columns=["cat", "dog", "pug"])).closed.data) == 8


def test_the_remedies_for_a_matrix_of_0_and_1_work():
    frame = pandas.DataFrame(BINARIZED, columns=["cat", "dog", "pug"])
    assert round_trip(frame).to_numpy().tolist() == BINARIZED.astype(bool).tolist()
    closed = PETS.indicator([["cat", "dog"], ["pug"], ["cat", "pug"]]).toarray()
    assert round_trip(closed.astype(int).astype(bool), PETS).tolist() == closed.tolist()
    paths = [[tuple(row)] for row in BINARIZED.tolist()]
    assert round_trip(paths).tolist() == [[(1, 1, 0)], [(0, 0, 1)], [(1, 0, 1)]]


@pytest.mark.parametrize("y", [[[0, 1], [1, 0]], [[0], [1]], [[0, 1]], [[0, 1], []], [[], []]])
def test_lists_of_the_labels_0_and_1_are_labels(y):
    hierarchy = Hierarchy.from_paths([[0], [1]])
    assert round_trip(y, hierarchy).tolist() == [sorted(row) for row in y]


def test_a_column_of_0_and_1_is_a_label_per_row():
    assert round_trip(np.array([[0], [1]])).tolist() == [[(0,)], [(1,)]]


def test_lengths_of_true_and_predicted_labels_must_agree():
    with pytest.raises(ValueError, match="different lengths: 1 and 2 rows"):
        encode_set_pair([["cat"]], [["cat"], ["dog"]], PETS)


# -- what paths and sets have in common --------------------------------------------------------


def test_some_rows_of_paths_and_of_sets_are_taken_alike():
    y = [["a", "x"], ["b", "y"], ["a", "z"]]
    for target in (encode(y), encode_sets([[tuple(path)] for path in y])):
        some = target.some(np.array([2, 0]))
        assert (target.n_rows, some.n_rows) == (3, 2)
        assert some.hierarchy is target.hierarchy
        assert some.format is target.format
        assert some.of_sets == some.format.of_sets == target.of_sets


# -- one label per row in a DAG, and classes ---------------------------------------------------


def test_one_label_per_row_of_a_dag_is_closed_over_all_parents():
    target = encode_in_dag(["cat", "lion"], PETS)
    assert names_in(target.closed, PETS) == [CATS, {"feline", "lion"}]
    assert names_in(target.own, PETS) == [{"cat"}, {"lion"}]
    assert (target.of_sets, target.format.of_sets) == (True, False)
    with pytest.raises(ValueError, match="y holds paths, but the hierarchy is a DAG: 'cat' has"):
        encode_in_dag([["feline", "cat"]], PETS)


def test_classes_are_those_with_rows_and_for_one_label_per_row_the_final_ones():
    target = encode_sets([["cat"], ["dog"]], PETS)
    populated = np.asarray(target.closed.sum(axis=0)).ravel() > 0
    final = np.array([PETS.find("cat"), PETS.find("dog")])
    classes = set_classes(PETS, populated, final, target.format)
    assert set(classes) == {*CATS, "dog"}
    single = encode_in_dag(["cat", "dog"], PETS).format
    assert set_classes(PETS, populated, final, single).tolist() == ["cat", "dog"]
