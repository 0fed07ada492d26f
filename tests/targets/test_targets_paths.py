"""y -> nodes -> y: labels come back as they were."""

import datetime
import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from strategies import ODD_STRINGS, SETTINGS, UNLIMITED_KINDS, pad, paths

from hiclass import Hierarchy, LocalClassifierPerParentNode
from hiclass._labels.columns import object_array, read_labels
from hiclass._state import LabelFormat
from hiclass._targets.paths import (
    as_hierarchy,
    classes_by_level,
    decode,
    distinct_labels,
    encode,
    encode_pair,
    known_nodes,
    nodes_of,
)

NAN = float("nan")


def same(a, b):
    """Whether nested lists hold equal labels of equal types; NaN and NA equal themselves."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a is b or (a != a and b != b) or bool(a == b))


def round_trip(y, hierarchy=None, may_end=False):
    """Labels as a model would hand them back if it predicted y itself."""
    target = encode(y, hierarchy)
    return decode(target.nodes, target.hierarchy, target.format, may_end=may_end)


# -- the round trip ----------------------------------------------------------------------------


@SETTINGS
@given(paths(labels="mixed", ragged=False))
def test_complete_paths_of_any_labels_come_back_with_equal_types(y):
    assert same(round_trip(y).tolist(), y)
    assert same(round_trip(y, may_end=True).tolist(), y)


@SETTINGS
@given(paths(labels="mixed"), st.sampled_from(["", None, NAN, pd.NA]))
def test_paths_that_end_early_come_back_with_the_spelling_of_y(y, spelling):
    padded = pad(y, spelling)
    expected = padded
    target = encode(padded)
    if all(len(path) == len(padded[0]) for path in y):
        expected = y  # nothing was spelled
    else:
        assert same(target.format.missing, spelling)
    back = decode(target.nodes, target.hierarchy, target.format, may_end=True)
    assert back.shape == (len(y), max(map(len, y)))
    assert same(back.tolist(), expected)


@SETTINGS
@given(paths(labels="any"))
def test_ragged_lists_come_back_padded_with_the_usual_spelling(y):
    target = encode(y)
    usual = {str: "", float: NAN}.get(type(y[0][0]))
    assert same(target.format.missing, usual)
    back = decode(target.nodes, target.hierarchy, target.format, may_end=True)
    assert same(back.tolist(), pad(y, usual))


@SETTINGS
@given(paths(labels="any", depth=1))
def test_single_labels_come_back_in_one_dimension(y):
    labels = [path[0] for path in y]
    back = round_trip(labels)
    assert back.shape == (len(labels),)
    assert same(back.tolist(), labels)


@SETTINGS
@given(paths(labels=UNLIMITED_KINDS, homonyms=False))
def test_labels_come_back_over_a_hierarchy_that_was_given(y):
    edges = {
        (above, below) for path in y for above, below in zip([None, *path], path, strict=False)
    }
    hierarchy = Hierarchy.from_edges(edges)
    target = encode(y, hierarchy)
    assert target.hierarchy is hierarchy
    back = decode(target.nodes, hierarchy, target.format, may_end=True)
    assert same(back.tolist(), pad(y, target.format.missing))
    # The most specific label alone is enough.
    ends = [path[-1] for path in y]
    assert np.array_equal(encode(ends, hierarchy).nodes, target.nodes)
    assert same(round_trip(ends, hierarchy).tolist(), ends)


@SETTINGS
@given(paths(labels="any"))
def test_the_hierarchy_of_y_is_the_one_that_from_paths_builds(y):
    target = encode(y)
    assert target.hierarchy == Hierarchy.from_paths(y)
    assert [list(target.hierarchy.path(v)) for v in target.nodes] == y
    again = encode(y, target.hierarchy)
    assert np.array_equal(again.nodes, target.nodes)


@pytest.mark.parametrize(
    ("y", "dtype", "ended"),
    [
        ([["a", "x"], ["b", "y"]], "O", "O"),
        (np.array([["a", "xyz"], ["b", "y"]]), "<U3", "<U3"),
        (np.array([[b"a", b"x"], [b"b", b"y"]]), "S1", "O"),
        (np.array([[b"a", b"x"], [b"b", b""]]), "S1", "S1"),
        (np.array([[1, 2], [3, 4]]), "i8", "O"),
        (np.array([[1, 2], [3, 4]], dtype="u1"), "u1", "O"),
        (np.array([[1, 2], [3, 4]], dtype=">i4"), ">i4", "O"),
        (np.array([[1, 2], [3, 4]], dtype="f4"), "f4", "f4"),
        (np.array([[True, False], [False, False]]), "?", "O"),
        ([[1, 2], [3, 4]], "i8", "O"),
        ([[1.0, 2.0], [3.0, 4.0]], "f8", "f8"),
        ([[1.0, None], [3.0, 4.0]], "f8", "O"),
        ([[1.0, pd.NA], [3.0, 4.0]], "f8", "O"),
        ([[1, True], [3, False]], "O", "O"),
        (pd.DataFrame([["a", "x"], ["b", "y"]]), "O", "O"),
        (pd.DataFrame([[1, 2], [3, 4]], dtype="Int64"), "i8", "O"),
        (pl.DataFrame({"a": [1, 3], "b": [2, 4]}), "i8", "O"),
        (pa.table({"a": [1, 3], "b": [2, 4]}), "i8", "O"),
    ],
)
def test_the_type_that_comes_back_depends_on_y_and_on_whether_paths_may_end(y, dtype, ended):
    target = encode(y)
    leaves = target.hierarchy.leaves()
    nodes = leaves[target.hierarchy.levels[leaves] == 2]
    for may_end, expected in [(False, dtype), (True, ended)]:
        for rows in (nodes, nodes[:1], nodes[:0]):
            back = decode(rows, target.hierarchy, target.format, may_end=may_end)
            assert back.dtype == np.dtype(expected)
            assert back.shape == (len(rows), 2)


@pytest.mark.parametrize(
    ("y", "inner"),
    [
        (np.array([[1, 11], [2, 21]]), "1"),
        (np.array([[True, False], [False, True]]), "True"),
        (np.array([[b"a", b"x"], [b"b", b"y"]]), "b'a'"),
        (np.array([5, 6]), "the root"),
    ],
)
def test_a_path_that_ends_early_without_a_value_for_it_is_refused(y, inner):
    """No memory that nothing was written to comes back as a label."""
    target = encode(y)
    tree = target.hierarchy
    node = tree.find((y[0, 0].item(),)) if y.ndim == 2 else 0
    nodes = np.array([tree.leaves()[0], node])
    with pytest.raises(ValueError, match=f"The path of row 1 ends at {inner}, but labels of type"):
        decode(nodes, tree, target.format, may_end=False)
    assert decode(nodes, tree, target.format, may_end=True).shape == (2, *y.shape[1:])


def test_a_type_with_a_value_for_missing_labels_is_always_used():
    target = encode(np.array([["a", "x"], ["b", "y"]]))
    back = decode(np.array([0, 1]), target.hierarchy, target.format, may_end=False)
    assert back.tolist() == [["", ""], ["a", ""]]


def test_an_empty_path_is_written_as_missing_labels():
    target = encode([[1, 2], [3, 4]])
    back = decode(np.array([0, 1, 2]), target.hierarchy, target.format, may_end=True)
    assert back.tolist() == [[None, None], [1, None], [1, 2]]
    single = encode(["a", "b"])
    back = decode(np.array([0, 2]), single.hierarchy, single.format, may_end=True)
    assert back.tolist() == ["", "b"]


def test_arrays_of_nodes_of_any_shape_are_written_as_labels():
    target = encode([["a", "x"], ["b", "y"]])
    nodes = np.array([[[2, 4]], [[1, 3]]])
    assert decode(nodes, target.hierarchy, target.format, may_end=True).tolist() == [
        [[["a", "x"], ["b", "y"]]],
        [[["a", ""], ["b", ""]]],
    ]


def test_homonyms_are_classes_of_their_own_and_come_back():
    y = [["Loans", "Other"], ["Cards", "Other"], ["Loans", "Loans"]]
    target = encode(y)
    assert target.hierarchy.n_nodes == 6
    assert len(set(target.nodes.tolist())) == 3
    assert round_trip(y).tolist() == y


@pytest.mark.filterwarnings("ignore:Some classes with the same parent:UserWarning")
def test_odd_strings_at_every_level_come_back():
    y = [[a, b] for a in ODD_STRINGS for b in ODD_STRINGS[::5]]
    target = encode(y)
    n = len(ODD_STRINGS)
    assert target.hierarchy.n_nodes == 1 + n + n * len(ODD_STRINGS[::5])
    assert round_trip(y).tolist() == y


def test_columns_without_any_label_come_back_missing():
    target = encode([["a", None], ["b", None]])
    assert target.format.n_levels == 2
    assert target.hierarchy.depth == 1
    back = decode(target.nodes, target.hierarchy, target.format, may_end=True)
    assert back.tolist() == [["a", None], ["b", None]]


def test_encoding_leaves_y_as_it_is():
    y = pd.DataFrame([["a", None], ["b", "x"]])
    before = y.copy(deep=True)
    round_trip(y, may_end=True)
    pd.testing.assert_frame_equal(y, before)


# -- errors of y reach the user ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "part"),
    [
        ([["a", "", "c"]], "Row 0 of y has a label at level 3 ('c') but none at level 2."),
        (["a", None], "Row 1 of y has no label at all."),
        ([[], []], "Row 0 of y has no label at all."),
        ([], "y is empty"),
    ],
)
def test_bad_paths_are_refused_with_and_without_a_hierarchy(y, part):
    for hierarchy in (None, {"a": ["b"]}):
        with pytest.raises(ValueError, match=re.escape(part)):
            encode(y, hierarchy)


# -- a hierarchy that was given ----------------------------------------------------------------

CHILDREN = {"Animal": ["Cat", "Dog"], "Plant": ["Fern"]}


@pytest.mark.parametrize(
    "source",
    [
        Hierarchy.from_dict(CHILDREN),
        CHILDREN,
        [(parent, child) for parent, children in CHILDREN.items() for child in children],
        nx.DiGraph(CHILDREN),
        np.array([["Animal", "Cat"], ["Animal", "Dog"], ["Plant", "Fern"]]),
    ],
    ids=["Hierarchy", "dict", "edges", "networkx", "array"],
)
def test_a_hierarchy_may_be_given_in_every_form(source):
    assert as_hierarchy(source) == Hierarchy.from_dict(CHILDREN)
    target = encode([["Animal", "Dog"], ["Plant"]], source)
    assert [target.hierarchy.path(v) for v in target.nodes] == [("Animal", "Dog"), ("Plant",)]


@pytest.mark.parametrize("source", [5, "Animal", b"Animal", object()])
def test_what_is_no_hierarchy_is_an_error_that_names_its_type(source):
    name = type(source).__name__
    with pytest.raises(TypeError, match=f"hierarchy must be a Hierarchy, .*; got {name}\\."):
        as_hierarchy(source)


def test_a_label_that_the_hierarchy_lacks_is_an_error_with_row_level_and_near_names():
    expected = (
        "Row 1 of y, level 2: The hierarchy has no class 'Dig' below Animal. The nearest is 'Dog'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        encode([["Animal", "Cat"], ["Animal", "Dig"]], CHILDREN)
    expected = "Row 2 of y, level 1: The hierarchy has no class 'animal'. The nearest is 'Animal'."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        encode([["Animal"], ["Plant"], ["animal"]], CHILDREN)
    expected = "Row 1 of y: The hierarchy has no class 'Cut'. The nearest is 'Cat'."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        encode(["Cat", "Cut"], CHILDREN)


@pytest.mark.parametrize(
    ("hierarchy", "y", "message"),
    [
        (
            {"animal": ["cat", "dog"]},
            [["animal", "dog"], ["cat"]],
            "Row 1 of y, level 1: The hierarchy has no class 'cat' at level 1; 'cat' is at level 2 "
            "(animal > cat). y is read as paths from the root: write the whole path, "
            "['animal', 'cat']; or, if every row is a list of labels, use multi_label=True.",
        ),
        (
            {"animal": ["cat"], "plant": ["fern"]},
            [["plant", "cat"]],
            "Row 0 of y, level 2: The hierarchy has no class 'cat' below plant; 'cat' is at level "
            "2 (animal > cat). y is read as paths from the root: write the whole path, "
            "['animal', 'cat']; or, if every row is a list of labels, use multi_label=True.",
        ),
        (
            {"pet": ["cat"], "feline": ["cat"]},
            [["cat"]],
            "Row 0 of y, level 1: The hierarchy has no class 'cat' at level 1; 'cat' is at level "
            "2. y is read as paths from the root: write the most specific label alone, in one "
            "dimension; or, if every row is a list of labels, use multi_label=True.",
        ),
    ],
    ids=["below the first level", "below another class", "DAG"],
)
def test_a_label_that_is_elsewhere_in_the_hierarchy_is_not_called_unknown(hierarchy, y, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        encode(y, hierarchy)


SEVERAL = [[("A", "x"), ("B", "y")], [("A", "y")], [("B", "y")]]


def test_lists_of_path_tuples_are_several_labels_and_not_a_path_of_tuples(local_class):
    X = [[0.0], [1.0], [2.0]]
    refused = r"^Row 0 of y is a list of path tuples, several labels: "
    with pytest.raises(ValueError, match=rf"{refused}use multi_label=True\. A single path is"):
        local_class().fit(X, SEVERAL)
    with pytest.raises(ValueError, match=rf"{refused}partial_fit learns one path per row"):
        local_class(SGDClassifier()).partial_fit(X, SEVERAL)
    tree = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B", "y"]])
    known = r"no class \('A', 'x'\)\. If rows are lists of path tuples.* use multi_label=True"
    with pytest.raises(ValueError, match=known):
        local_class(hierarchy=tree).fit(X, SEVERAL)


def test_tuples_are_labels_where_a_hierarchy_or_other_labels_say_so():
    assert encode(SEVERAL, Hierarchy.from_paths(SEVERAL)).hierarchy.n_nodes == 5
    assert encode([["A", ("x", 1)], ["A", ("x", 2)]]).hierarchy.path(3) == ("A", ("x", 2))


def test_a_label_at_many_places_is_shown_at_three():
    tree = Hierarchy.from_paths([[letter, "Other"] for letter in "abcde"])
    expected = (
        "The hierarchy has no class 'Other' at level 1; 'Other' is at level 2 (a > Other), at "
        "level 2 (b > Other), at level 2 (c > Other) and at 2 more places."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        tree.find(("Other",))


def test_a_label_below_another_parent_of_a_dag_is_an_error_that_names_the_parent():
    edges = [("pet", "cat"), ("wild", "cat"), ("wild", "lion")]
    with pytest.raises(
        ValueError, match=r"Row 0 of y, level 2: .* no class 'lion' below pet; 'lion' is"
    ):
        encode([["pet", "lion"]], edges)


def test_a_label_that_stands_for_several_classes_needs_its_path():
    hierarchy = Hierarchy.from_paths([["Loans", "Other"], ["Cards", "Other"]])
    expected = "Row 0 of y: 2 classes are called 'Other': Cards > Other; Loans > Other."
    with pytest.raises(ValueError, match=re.escape(expected)):
        encode(["Other"], hierarchy)
    assert encode([["Cards", "Other"]], hierarchy).nodes.tolist() == [2]


def test_labels_of_another_type_are_not_the_labels_of_the_hierarchy():
    hierarchy = Hierarchy.from_dict({1: [2, 3]})
    for label in (True, 1.0, "1"):
        with pytest.raises(ValueError, match=f"no class {label!r}"):
            encode([[label]], hierarchy)
    assert encode([[np.int8(1)]], hierarchy).nodes.tolist() == [1]


def test_rows_of_a_dag_are_found_by_label_and_by_path():
    edges = [("pet", "cat"), ("wild", "cat"), ("wild", "lion")]
    hierarchy = Hierarchy.from_edges(edges)
    cat = hierarchy.find("cat")
    assert encode(["cat"], hierarchy).nodes.tolist() == [cat]
    assert encode([["pet", "cat"], ["wild", "cat"]], hierarchy).nodes.tolist() == [cat, cat]


@pytest.mark.parametrize(
    ("y", "children", "dtype"),
    [
        (np.array([1, 2], dtype=np.int8), {1: [2, 127]}, np.int8),
        (np.array([1, 2], dtype=np.int8), {1: [2, 128]}, object),
        (np.array([1, 2], dtype=np.uint8), {1: [2, -1]}, object),
        (np.array([1, 2]), {1: [2, "x"]}, object),
        (np.array([1, 2]), {1: [2, True]}, object),
        (np.array([1.0, 2.0], dtype="f4"), {1.0: [2.0, 3.0]}, "f4"),
        (np.array([1.0, 2.0], dtype="f4"), {1.0: [2.0, float(2**24 + 1)]}, object),
        (np.array([1.0, 2.0]), {1.0: [2.0, 3]}, object),
        (np.array([True]), {True: [False]}, bool),
        (np.array([True]), {True: [0]}, object),
        (np.array(["a", "bc"]), {"a": ["bc", "de"]}, "<U2"),
        (np.array(["a", "bc"]), {"a": ["bc", "def"]}, object),
        (np.array([b"a", b"b"]), {b"a": [b"b", b"c"]}, "S1"),
        (["a", "b"], {"a": ["b", "c"]}, object),
    ],
)
def test_the_type_of_y_is_kept_if_it_holds_every_label_of_the_hierarchy(y, children, dtype):
    target = encode(y, children)
    assert target.format.dtype == np.dtype(dtype)
    nodes = np.arange(1, target.hierarchy.n_nodes)
    back = decode(nodes, target.hierarchy, target.format, may_end=False)
    assert same(back.tolist(), target.hierarchy.labels[1:].tolist())


def test_paths_have_as_many_columns_as_y_and_labels_as_many_levels_as_the_hierarchy():
    deep = {"a": ["b"], "b": ["c"]}
    assert encode([["a", "b"]], deep).format.n_levels == 2
    assert encode([["a", "b", "c", None]], deep).format.n_levels == 4
    assert encode(["b"], deep).format.n_levels == 3
    target = encode([["a", "b", "c", None]], deep)
    back = decode(np.array([3]), target.hierarchy, target.format, may_end=True)
    assert back.tolist() == [["a", "b", "c", None]]
    target = encode([["a", "b"]], deep)
    assert decode(np.array([3]), target.hierarchy, target.format, may_end=True).tolist() == [
        ["a", "b"]
    ]


def test_nodes_of_puts_empty_paths_at_the_root():
    hierarchy = Hierarchy.from_dict(CHILDREN)
    assert nodes_of(read_labels([["", ""], ["Animal", "Cat"]]), hierarchy).tolist() == [0, 2]
    assert nodes_of(read_labels([[], []]), hierarchy).tolist() == [0, 0]
    assert nodes_of(read_labels([None, "Cat"]), hierarchy).tolist() == [0, 2]


def test_known_nodes_are_the_deepest_ones_that_the_hierarchy_has():
    hierarchy = Hierarchy.from_paths([["a", "x", "p"], ["b", "x"], ["b", "y"]])
    y = [["a", "x", "p"], ["a", "x", "new"], ["a", "new", "p"], ["new", "x"], ["b"]]
    found = [hierarchy.path(v) for v in known_nodes(y, hierarchy)]
    assert found == [("a", "x", "p"), ("a", "x"), ("a",), (), ("b",)]
    # A label alone is known if it stands for one class.
    found = [hierarchy.path(v) for v in known_nodes(["y", "new", "x", "b"], hierarchy)]
    assert found == [("b", "y"), (), (), ("b",)]


@SETTINGS
@given(paths(labels="any"))
def test_known_nodes_are_the_nodes_where_everything_is_known(y):
    target = encode(y)
    assert np.array_equal(known_nodes(y, target.hierarchy), target.nodes)


# -- pairs -------------------------------------------------------------------------------------


def test_a_pair_spans_one_hierarchy_and_predictions_may_be_empty_or_new():
    hierarchy, true, pred = encode_pair(
        [["a", "x"], ["b", "y"], ["b", "y"]], [["a", "z"], ["", ""], ["c", ""]]
    )
    assert [hierarchy.path(v) for v in true] == [("a", "x"), ("b", "y"), ("b", "y")]
    assert [hierarchy.path(v) for v in pred] == [("a", "z"), (), ("c",)]


def test_a_pair_of_which_every_prediction_is_empty():
    hierarchy, true, pred = encode_pair([["a", "x"], ["b"]], [[], []])
    assert [hierarchy.path(v) for v in true] == [("a", "x"), ("b",)]
    assert pred.tolist() == [0, 0]


def test_a_pair_may_come_in_different_containers():
    array = np.array([["a", "xx"], ["b", "y"]])
    frame = pd.DataFrame([["a", "xx"], ["b", None]], dtype="string")
    for one, two in [(array, frame), (frame, array)]:
        hierarchy, true, pred = encode_pair(one, two)
        found = [[hierarchy.path(v) for v in side] for side in (true, pred)]
        expected = [[("a", "xx"), ("b", "y")], [("a", "xx"), ("b",)]]
        assert found == (expected if one is array else expected[::-1])


@SETTINGS
@given(paths(labels="any", depth=3), st.randoms(use_true_random=False))
def test_a_pair_gives_every_row_the_node_of_its_path(y, random):
    other = [path[: random.randint(0, len(path))] for path in random.sample(y, len(y))]
    hierarchy, true, pred = encode_pair(y, other)
    assert [list(hierarchy.path(v)) for v in true] == y
    assert [list(hierarchy.path(v)) for v in pred] == other
    given_one, true_again, pred_again = encode_pair(y, other, hierarchy)
    assert given_one is hierarchy
    assert np.array_equal(true_again, true)
    assert np.array_equal(pred_again, pred)


def test_a_pair_of_different_lengths_is_an_error_with_both():
    expected = "y_true and y_pred have different lengths: 2 and 1 rows (inconsistent numbers of"
    with pytest.raises(ValueError, match=re.escape(expected)):
        encode_pair(["a", "b"], ["a"])


@pytest.mark.parametrize(
    ("true", "pred", "part"),
    [
        ([["a", "x"], ["", ""]], [["a", ""]] * 2, "Row 1 of y_true has no label at all."),
        ([["", "x"]], [["a", "x"]], "Row 0 of y_true has a label at level 2"),
        ([["a", "x"]], [["", "x"]], "Row 0 of y_pred has a label at level 2"),
        ([], ["a"], "y_true is empty"),
        (["a"], [], "y_pred is empty"),
        (["a"], [["a", "b"]], "y_true holds one label per row but y_pred holds paths of 2 levels."),
        ([1], ["1"], "Level 1 holds int labels in y_true (1) but str labels in y_pred ('1')."),
    ],
)
def test_a_bad_pair_is_an_error_that_says_which_side(true, pred, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        encode_pair(true, pred)


@pytest.mark.parametrize(("true", "pred", "name"), [("x", "a", "y_true"), ("a", "x", "y_pred")])
def test_an_unknown_label_of_a_pair_is_an_error_that_says_which_side(true, pred, name):
    with pytest.raises(ValueError, match=f"Row 0 of {name}: The hierarchy has no class 'x'"):
        encode_pair([true], [pred], {"a": ["b"]})


# -- classes -----------------------------------------------------------------------------------


def classes(y, ends=None):
    target = encode(y)
    ends = np.unique(target.nodes) if ends is None else ends
    return [c.tolist() for c in classes_by_level(target.hierarchy, target.format, ends)]


def test_classes_are_sorted_per_level_and_homonyms_appear_once():
    y = [["Loans", "Other"], ["Cards", "Other"], ["Cards", "Fees"]]
    assert classes(y) == [["Cards", "Loans"], ["Fees", "Other"]]


def test_the_missing_label_stands_last_where_a_path_may_be_over():
    y = [["b", "y", "p"], ["a", "x"], ["b", "z", "q"]]
    assert classes(y) == [["a", "b"], ["x", "y", "z"], ["p", "q", ""]]
    assert classes([["a", None], ["b", None]]) == [["a", "b"], [None]]


def test_the_type_of_the_classes_holds_the_missing_label_only_where_it_must():
    target = encode(np.array([[1, 2], [3, 4]]))
    leaves = target.hierarchy.leaves()
    kinds = [c.dtype.kind for c in classes_by_level(target.hierarchy, target.format, leaves)]
    assert kinds == ["i", "i"]
    everything = np.arange(1, 5)
    first, second = classes_by_level(target.hierarchy, target.format, everything)
    assert first.dtype.kind == "i"
    assert second.tolist() == [2, 4, None]
    assert second.dtype == object


def test_distinct_labels_never_merge_one_true_and_one_point_zero():
    labels = object_array([1, True, 1.0, 1, True])
    assert same(distinct_labels(labels), [1, True, 1.0])


def test_distinct_labels_without_a_common_order_are_sorted_by_type_and_name():
    labels = object_array(["b", 2, "a", datetime.date(2020, 1, 1), 10])
    assert distinct_labels(labels) == [datetime.date(2020, 1, 1), 10, 2, "a", "b"]


# -- look-alikes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "pairs"),
    [
        (["cat", "Cat", "dog"], "'Cat' and 'cat'"),
        (["cat", "cat "], "'cat' and 'cat '"),
        ([["a", " x"], ["a", "X"], ["a", "y"]], "' x' and 'X'"),
        (["straße", "STRASSE"], "'STRASSE' and 'straße'"),
        (["caf\u00e9", "cafe\u0301"], "'cafe\u0301' and 'caf\u00e9'"),
    ],
)
def test_siblings_that_look_alike_are_kept_with_one_warning(y, pairs):
    expected = (
        f"Some classes with the same parent differ only by case, surrounding spaces or Unicode "
        f"form: {pairs}. They are treated as different classes. Correct the labels if they are the "
        f"same class."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(expected)}$") as caught:
        target = encode(y)
    assert len(caught) == 1
    assert len(set(target.nodes.tolist())) == len(y)


def test_fit_warns_of_look_alikes_once_and_at_the_line_that_calls_it():
    model = LocalClassifierPerParentNode(DummyClassifier())
    with pytest.warns(UserWarning, match="'Cat' and 'cat'") as caught:
        model.fit(np.zeros((4, 1)), ["cat", "Cat", "dog", "cat"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == ["Cat", "cat", "dog"]


def test_many_look_alikes_are_one_warning_with_three_examples():
    y = [name for letter in "abcde" for name in (letter, letter.upper())]
    with pytest.warns(UserWarning, match="'A' and 'a', 'B' and 'b', 'C' and 'c' and 2 more") as w:
        encode(y)
    assert len(w) == 1


@pytest.mark.parametrize(
    "y",
    [
        [["a", "x"], ["b", "X"]],
        [["cat", "Cat"], ["dog", "Dog"]],
        [["a", "a"], ["b", "A "]],
        ["cat", "cats"],
        [1, 2],
        [b"a", b"A"],
    ],
)
def test_classes_that_are_no_siblings_or_no_strings_may_look_alike(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(y)


def test_a_hierarchy_that_was_given_is_nobodys_slip_of_the_pen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode(["a", "A"], {"top": ["a", "A"]})


def test_the_format_of_labels_is_kept_with_the_target():
    assert encode([["a", "x"], ["b", None]]).format == LabelFormat(2, 2, np.dtype(object), None)
