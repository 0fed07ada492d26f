"""Bad input is refused with a message of its own, and leaves nothing behind."""

import gc
import pickle
import re
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import (
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    truncate_at_gap,
)
from hiclass.metrics import f1

X2 = [[0.0], [1.0]]
X3 = [[0.0], [1.0], [2.0]]


# -- labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["", None, float("nan"), pandas.NA], ids=repr)
def test_a_gap_names_row_and_level_and_the_remedy(estimator_class, missing):
    y = [["Animal", "Mammal", "Cat"], ["Animal", missing, "Dog"]]
    message = re.escape(
        "Row 1 of y has a label at level 3 ('Dog') but none at level 2. "
        "Fill level 2 or end the path there (hiclass.truncate_at_gap(y)"
    )
    with pytest.raises(ValueError, match=message):
        estimator_class().fit(X2, y)
    model = estimator_class(GaussianNB()).fit(X2, truncate_at_gap(y))
    assert model.hierarchy_.n_nodes == 4


@pytest.mark.parametrize(
    "y", [["a", ""], ["a", None], [["a", "x"], ["", ""]], [["a", "x"], []]], ids=repr
)
def test_a_row_without_any_label_is_named(any_class, y):
    with pytest.raises(ValueError, match=r"Row 1 of y has no label at all. Remove such rows"):
        any_class().fit(X2, y)


def test_lengths_that_differ_are_both_named(any_class):
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        any_class().fit(X3, [["a", "x"], ["b", "y"]])


def test_empty_labels(any_class):
    with pytest.raises(ValueError, match="y is empty: it holds 0 labels"):
        any_class().fit(X2, [])


@pytest.mark.parametrize(
    "X",
    [
        np.empty((0, 2)),
        sp.csr_array((0, 2)),
        [],
        pandas.DataFrame({"a": []}),
        polars.DataFrame({"a": []}),
    ],
    ids=["array", "sparse", "list", "pandas", "polars"],
)
def test_empty_rows(any_class, X):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        any_class().fit(X, [])


def test_rows_without_columns(any_class):
    with pytest.raises(ValueError, match=r"0 feature\(s\) .* while a minimum of 1 is required"):
        any_class().fit(np.empty((2, 0)), ["a", "b"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            [["a", "x"], [1, "y"]],
            "Level 1 of y mixes types: row 0 has 'a' (str), row 1 has 1 (int)",
        ),
        (
            [["a", True], ["b", 1]],
            "Level 2 of y mixes types: row 0 has True (bool), row 1 has 1 (int)",
        ),
        (
            [["a", 1], ["b", 1.0]],
            "Level 2 of y mixes types: row 0 has 1 (int), row 1 has 1.0 (float)",
        ),
        (["a", 1], "y mixes types: row 0 has 'a' (str), row 1 has 1 (int)"),
        (["a", ["b", "c"]], "y mixes single labels and paths: row 0 is 'a', row 1 is ['b', 'c']"),
    ],
    ids=["str-int", "bool-int", "int-float", "single", "label-path"],
)
def test_types_that_are_mixed_within_a_level_are_named(any_class, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        any_class().fit(X2, y)


@pytest.mark.parametrize(
    ("value", "word"), [(0.5, "continuous"), (float("inf"), "infinite")], ids=["fraction", "inf"]
)
def test_numbers_that_are_no_classes_are_named(any_class, value, word):
    for y in ([1.0, value], np.array([1.0, value])):
        message = rf"Unknown label type: {word}\. y has {value} in row 1"
        with pytest.raises(ValueError, match=message):
            any_class().fit(X2, y)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        ("ab", TypeError, "y must be array-like, one label or one path of labels per row; got str"),
        ({"a": 1, "b": 2}, TypeError, "y must be array-like.*got dict"),
        (
            np.zeros((2, 1, 1)),
            ValueError,
            r"y must have one or two dimensions; got shape \(2, 1, 1\)",
        ),
        (np.empty((2, 0)), ValueError, "y has no columns. Pass one column per level"),
        ([{"a"}, {"b"}], TypeError, r"y has \{'a'\} in row 0, a set, which cannot be a label"),
        ([1j, 2j], TypeError, "y holds labels of type complex, which cannot be sorted"),
        ([1j, 1j], TypeError, "y holds labels of type complex, which cannot be sorted"),
        (
            [frozenset("a"), frozenset("b")],
            TypeError,
            "y holds labels of type frozenset, which cannot be sorted",
        ),
        (
            [Decimal("NaN"), Decimal(1)],
            TypeError,
            "labels of type Decimal, which cannot be sorted",
        ),
        (np.zeros(2, dtype=[("a", int)]), TypeError, r"y is a structured array .*DataFrame\(y\)"),
        (pandas.NA, TypeError, "y must be array-like.*got NAType"),
        (np.ndarray, TypeError, "y must be array-like.*got type"),
        (np.array([1j, 2j]), ValueError, "Complex data not supported"),
    ],
    ids=[
        "None",
        "str",
        "dict",
        "3-D",
        "no columns",
        "sets",
        "complex",
        "one complex",
        "frozensets",
        "decimals",
        "structured",
        "NA",
        "class",
        "complex array",
    ],
)
def test_what_is_no_list_of_labels_is_named(any_class, y, error, message):
    with pytest.raises(error, match=message):
        any_class().fit(X2, y)


# -- the hierarchy -----------------------------------------------------------------------------

TREE = {"Animal": ["Bird", "Mammal"], "Mammal": ["Cat", "Dog"]}


def test_an_unknown_label_is_named_with_its_row_and_the_nearest_names(any_class):
    message = "Row 1 of y: The hierarchy has no class 'Catt'. The nearest is 'Cat'"
    with pytest.raises(ValueError, match=message):
        any_class(hierarchy=TREE).fit(X2, ["Dog", "Catt"])


def test_an_unknown_label_in_a_path_is_named_with_its_level(any_class):
    y = [["Animal", "Bird", ""], ["Animal", "Mammal", "Catt"]]
    message = "Row 1 of y, level 3: .* no class 'Catt' below Animal > Mammal. The nearest is 'Cat'"
    with pytest.raises(ValueError, match=message):
        any_class(hierarchy=TREE).fit(X2, y)


def test_a_path_that_contradicts_the_hierarchy_is_refused(any_class):
    y = [["Animal", "Bird"], ["Animal", "Cat"]]
    with pytest.raises(ValueError, match=r"Row 1 of y, level 2: .* no class 'Cat' below Animal"):
        any_class(hierarchy=TREE).fit(X2, y)


def test_a_label_of_another_type_is_unknown(any_class):
    with pytest.raises(ValueError, match="Row 0 of y: The hierarchy has no class 1"):
        any_class(hierarchy={"a": ["1", "2"]}).fit(X2, [1, 2])


def test_paths_are_refused_where_a_class_has_two_parents(any_class):
    dag = {"pet": ["cat", "dog"], "feline": ["cat", "lion"]}
    message = "y holds paths, .* 'cat' has several parents .* Pass the most specific label"
    with pytest.raises(ValueError, match=message):
        any_class(hierarchy=dag).fit(X2, [["pet", "cat"], ["pet", "dog"]])


@pytest.mark.parametrize(
    ("hierarchy", "error", "message"),
    [
        (7, TypeError, "hierarchy must be a Hierarchy, a networkx.DiGraph, a dict .*; got int"),
        ("tree", TypeError, "hierarchy must be a Hierarchy.*; got str"),
        (
            [("a", "b", "c")],
            ValueError,
            r"An edge must be a pair \(parent, child\); got \('a', 'b', 'c'\)",
        ),
        ({"a": ["b"], "b": ["a"]}, ValueError, "cycle"),
        ({"a": "bc"}, ValueError, "children of 'a' must be a list of labels; got 'bc'"),
        ([("a", "b"), ("a", "b")], ValueError, r"edge \('a', 'b'\) is given twice"),
        ({}, ValueError, "no classes"),
        (dict, TypeError, "hierarchy must be a Hierarchy.*; got type"),
        ([("a", (["b"],))], TypeError, r"\(\['b'\],\) is a tuple, which cannot be the label"),
    ],
    ids=["number", "string", "triple", "cycle", "letters", "twice", "empty", "class", "unhashable"],
)
def test_what_is_no_hierarchy_is_refused(any_class, hierarchy, error, message):
    with pytest.raises(error, match=message):
        any_class(hierarchy=hierarchy).fit(X2, ["a", "b"])


# -- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decoding", "sideways"),
        ("decoding", None),
        ("min_confidence", -0.1),
        ("min_confidence", 1.1),
        ("min_confidence", "high"),
        ("leaf_only", "yes"),
        ("random_state", "seed"),
    ],
)
def test_a_parameter_out_of_bounds_is_named_with_its_value(any_class, name, value):
    model = any_class(**{name: value})
    message = f"The '{name}' parameter of {any_class.__name__} must be .* Got {value!r} instead"
    with pytest.raises(ValueError, match=message):
        model.fit(X2, ["a", "b"])


def test_an_unknown_policy_is_refused_with_the_known_ones():
    message = r"'binary_policy' parameter.*'siblings'.*Got 'cousins' instead"
    with pytest.raises(ValueError, match=message):
        LocalClassifierPerNode(binary_policy="cousins").fit(X2, ["a", "b"])


def test_n_jobs_must_be_an_integer_or_none(local_class):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter.*Got 'two' instead"):
        local_class(n_jobs="two").fit(X2, ["a", "b"])


@pytest.mark.parametrize("value", ["sideways", None])
def test_a_decoding_that_was_set_after_fit_is_checked_at_predict(any_class, value):
    model = any_class().fit(X2, ["a", "b"]).set_params(decoding=value)
    with pytest.raises(ValueError, match="'decoding' parameter"):
        model.predict(X2)


@pytest.mark.parametrize("name", ["leaf_only", "n_jobs"])
def test_what_predict_reads_is_checked_when_it_was_set_after_fit(any_class, name):
    model = any_class().fit(X2, ["a", "b"]).set_params(**{name: "maybe"})
    with pytest.raises(ValueError, match=f"'{name}' parameter.*Got 'maybe' instead"):
        model.predict(X2)


def test_a_class_instead_of_an_instance(estimator_class):
    message = r"local_classifier is the class GaussianNB. Pass an instance: GaussianNB\(\)"
    with pytest.raises(TypeError, match=message):
        estimator_class(GaussianNB).fit(X2, ["a", "b"])


@pytest.mark.parametrize("estimator", [3, "forest", {"C": 1}], ids=repr)
def test_a_local_classifier_without_fit(estimator_class, estimator):
    message = rf"local_classifier={re.escape(repr(estimator))} has no fit method"
    with pytest.raises(TypeError, match=message):
        estimator_class(estimator).fit(X2, ["a", "b"])


def test_leaf_only_contradicts_min_confidence(any_class):
    message = "leaf_only=True requires .* but min_confidence=0.5 stops paths early"
    with pytest.raises(ValueError, match=message):
        any_class(leaf_only=True, min_confidence=0.5).fit(X2, ["a", "b"])
    model = any_class(leaf_only=True).fit(X2, ["a", "b"]).set_params(min_confidence=0.5)
    with pytest.raises(ValueError, match=message):
        model.predict(X2)


def test_min_confidence_needs_probabilities(estimator_class):
    message = "min_confidence=0.5 needs probabilities, but LinearSVC has no predict_proba"
    with pytest.raises(ValueError, match=message):
        estimator_class(LinearSVC(), min_confidence=0.5).fit(X2, ["a", "b"])


def test_min_confidence_that_was_set_after_fit_needs_probabilities(estimator_class):
    model = estimator_class(LinearSVC()).fit(X2, ["a", "b"]).set_params(min_confidence=0.5)
    with pytest.raises(ValueError, match=r"min_confidence=0.5 needs probabilities"):
        model.predict(X2)


# -- X -----------------------------------------------------------------------------------------


def test_nan_is_refused_for_a_local_classifier_that_refuses_it(estimator_class):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        estimator_class().fit([[0.0], [np.nan]], ["a", "b"])
    model = estimator_class().fit(X2, ["a", "b"])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict([[np.nan]])


def test_infinity_is_refused_for_a_local_classifier_that_refuses_it(any_class):
    with pytest.raises(ValueError, match="Input X contains infinity"):
        any_class().fit(sp.csr_array([[1.0], [np.inf]]), ["a", "b"])


def test_predict_before_fit(any_class):
    model = any_class()
    for method in ("predict", "predict_proba", "predict_confidence", "predict_node_proba"):
        with pytest.raises(NotFittedError, match=any_class.__name__):
            getattr(model, method)(X2)
    with pytest.raises(NotFittedError, match=any_class.__name__):
        model.score(X2, ["a", "b"])


@pytest.mark.parametrize(
    "X", [[[0.0]], np.zeros((2, 3)), sp.csr_array((2, 3))], ids=["list", "array", "sparse"]
)
def test_another_number_of_features(any_class, X):
    model = any_class().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    name, n = any_class.__name__, np.shape(X)[1]
    with pytest.raises(ValueError, match=f"X has {n} features, but {name} is expecting 2 features"):
        model.predict(X)


def test_rows_of_one_dimension_are_refused_for_numbers(any_class):
    with pytest.raises(ValueError, match="Reshape your data"):
        any_class().fit([0.0, 1.0], ["a", "b"])
    model = any_class().fit(X2, ["a", "b"])
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(np.array([0.0, 1.0]))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ({"a": [0.0, 1.0], "b": [1.0, 0.0]}, TypeError, r"X is a dict, which is not a sequence"),
        ({0.0, 1.0}, TypeError, "X is a set, which is not a sequence of rows"),
        (np.ndarray, TypeError, "X is the class ndarray. Pass rows"),
        (pandas.DataFrame(index=[0, 1]), ValueError, r"0 feature\(s\) .* a minimum of 1 is req"),
    ],
    ids=["dict", "set", "class", "frame without columns"],
)
def test_what_has_no_rows_is_refused(estimator_class, X, error, message):
    """Also by a local classifier that would take anything."""
    with pytest.raises(error, match=message):
        estimator_class(DummyClassifier()).fit(X, ["a", "b"])
    model = estimator_class(DummyClassifier()).fit(X2, ["a", "b"])
    with pytest.raises(error, match=message):
        model.predict(X)


@pytest.mark.parametrize(
    ("classes", "error", "message"),
    [
        (None, ValueError, "classes must be a list of labels or paths; got None"),
        (3, ValueError, "classes must be a list of labels or paths; got 3"),
        ([{}], TypeError, r"\{\} is a dict, which cannot be the label of a class"),
        ([("a", ["b"])], TypeError, r"\['b'\] is a list, which cannot be the label of a class"),
    ],
    ids=repr,
)
def test_what_is_no_list_of_classes_cannot_be_restricted_to(
    estimator_class, classes, error, message
):
    model = estimator_class(GaussianNB()).fit(X2, ["a", "b"])
    with pytest.raises(error, match=message):
        model.restricted_to(classes)


@pytest.mark.parametrize("weights", ["heavy", [None, {}], [[1.0], [1.0, 2.0]]], ids=repr)
def test_weights_of_a_metric_that_are_no_numbers(weights):
    with pytest.raises(ValueError, match="sample_weight must hold one number per row; got"):
        f1(["a", "b"], ["a", "b"], sample_weight=weights)


def test_labels_of_a_metric_that_cannot_be_ordered_together():
    """Each side alone can: one with a time zone, the other without."""
    here = [datetime(2020, 1, day) for day in (1, 2)]
    there = [day.replace(tzinfo=UTC) for day in here]
    message = "y_true and y_pred holds labels of type datetime, which cannot be sorted"
    with pytest.raises(TypeError, match=message):
        f1(here, there)


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    "columns", [("width", "height"), ("height", "breadth"), ("height", "width", "depth")]
)
def test_columns_that_are_permuted_renamed_or_new(estimator_class, library, columns):
    fitted = library.DataFrame({"height": [0.0, 1.0], "width": [1.0, 0.0]})
    model = estimator_class(DummyClassifier()).fit(fitted, ["a", "b"])  # would take any column
    other = library.DataFrame({name: [0.0, 1.0] for name in columns})
    with pytest.raises(ValueError, match="feature names should match those that were passed"):
        model.predict(other)


# -- errors inside a local classifier ---------------------------------------------------------


class Picky(GaussianNB):
    """Refuses to learn from rows in which the first feature is above 1 everywhere."""

    def fit(self, X, y):
        if X[:, 0].min() > 1:
            raise KeyError("these rows are not for me")
        return super().fit(X, y)


PICKY_X = np.array([[0.0], [1.0], [2.0], [3.0]])
PICKY_Y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_error_in_a_local_fit_keeps_its_type_and_names_the_node(n_jobs):
    model = LocalClassifierPerParentNode(Picky(), n_jobs=n_jobs)
    with pytest.raises(KeyError, match="these rows are not for me") as error:
        model.fit(np.tile(PICKY_X, (300, 1)), PICKY_Y * 300)  # enough for other processes
    assert "while fitting the classifier of b" in error.value.__notes__
    assert_unfitted(model)


@pytest.mark.parametrize(
    ("model_class", "place"),
    [
        (LocalClassifierPerNode, "a"),
        (LocalClassifierPerParentNode, "the root"),
        (LocalClassifierPerLevel, "level 1"),
        (FlatClassifier, "all leaves"),
    ],
)
def test_the_note_names_the_place_as_a_person_would(model_class, place):
    with pytest.raises(KeyError) as error:
        model_class(Picky()).fit(PICKY_X + 5, PICKY_Y)
    assert error.value.__notes__ == [f"while fitting the classifier of {place}"]


def test_the_note_of_a_gate_says_that_it_is_about_stopping():
    y = [["a", ""], ["a", "x"], ["b", ""], ["b", "x"]]
    with pytest.raises(KeyError) as error:
        LocalClassifierPerNode(Picky()).fit(PICKY_X, y)
    assert error.value.__notes__ == ["while fitting the classifier of stopping at b"]


def test_a_type_error_inside_a_local_classifier_comes_through(estimator_class, animals):
    class Broken(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise TypeError("fit() got an unexpected keyword argument 'sample_weight'")

    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        estimator_class(Broken()).fit(*animals, sample_weight=np.ones(36))


# -- what stays behind -------------------------------------------------------------------------


def assert_unfitted(model):
    """The model holds its parameters and nothing else."""
    assert set(vars(model)) == set(model.get_params(deep=False))
    with pytest.raises(NotFittedError):
        model.predict(PICKY_X)
    assert not hasattr(model, "local_classifiers_")


def test_a_failed_fit_leaves_nothing_behind(estimator_class):
    model = estimator_class(Picky())
    with pytest.raises(KeyError):
        model.fit(PICKY_X + 5, PICKY_Y)
    assert_unfitted(model)


def test_a_failed_second_fit_leaves_nothing_of_the_first(estimator_class):
    model = estimator_class(Picky()).fit(
        np.array([[0.0], [0.5], [0.7], [0.9]]), ["a", "b", "a", "b"]
    )
    with pytest.raises(KeyError):
        model.fit(PICKY_X + 5, PICKY_Y)
    assert_unfitted(model)


def test_bad_labels_leave_nothing_behind(any_class):
    model = any_class()
    with pytest.raises(ValueError, match="Row 1 of y has no label"):
        model.fit(X2, ["a", ""])
    assert_unfitted(model)


def test_an_interrupted_fit_leaves_nothing_behind(estimator_class):
    class Interrupted(GaussianNB):
        def fit(self, X, y):
            raise KeyboardInterrupt

    model = estimator_class(Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.fit(PICKY_X, PICKY_Y)
    assert_unfitted(model)


def reachable(thing):
    """All objects that can be reached from the attributes of an object, classes apart."""
    seen, todo = {}, [thing]
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, type) or type(item).__name__ == "module":
            continue
        seen[id(item)] = item
        todo.extend(gc.get_referents(item))
        # From Python 3.13 on, a dict of attributes does not refer to values that the object holds.
        todo.extend(getattr(item, "__dict__", {}).values())
        if isinstance(item, np.ndarray) and item.base is not None:
            todo.append(item.base)
    return seen.values()


def test_a_fitted_model_keeps_neither_rows_nor_labels_nor_weights(estimator_class):
    n = 4001
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(n, 3)), rng.uniform(size=n)
    y = np.array([["a", "x"], ["a", ""], ["b", "y"], ["b", "z"]], dtype=object)[np.arange(n) % 4]
    model = estimator_class(GaussianNB()).fit(X, y, sample_weight=weights)
    model.predict(X)
    model.predict_node_proba(X)
    found = list(reachable(model))
    assert any(isinstance(thing, GaussianNB) for thing in found)
    arrays = [thing for thing in found if isinstance(thing, np.ndarray)]
    assert max(thing.size for thing in arrays) < 100
    assert max(len(t) for t in found if isinstance(t, list | tuple | dict | set)) < 200
    assert len(pickle.dumps(model)) < 20_000
    model.local_classifier.rows = X  # what the test is for: it would be found
    assert any(thing is X for thing in reachable(model))


def test_the_callers_data_is_not_changed(estimator_class, animals):
    X, y = animals
    weights = np.linspace(1, 2, len(y))
    before = X.copy(), y.copy(), weights.copy()
    model = estimator_class(LogisticRegression()).fit(X, y, sample_weight=weights)
    model.predict_proba(X)
    model.score(X, y, sample_weight=weights)
    for given, copy in zip((X, y, weights), before, strict=True):
        np.testing.assert_array_equal(given, copy)
        assert given.flags.writeable


def test_a_hierarchy_that_was_given_stays_the_users(estimator_class):
    tree = {"r": ["a", "b"]}
    model = estimator_class(hierarchy=tree).fit(X2, ["a", "b"])
    assert tree == {"r": ["a", "b"]}
    assert model.hierarchy is tree
    assert model.hierarchy_ == Hierarchy.from_dict(tree)


def test_numbers_that_only_sum_to_infinity_are_numbers(estimator_class):
    """A glance at the sum is enough for most rows; for others there is a closer look."""
    model = estimator_class().fit(np.eye(2), [["a", "x"], ["b", "y"]])
    for X in (np.full((3, 2), 1e308), np.full((3, 2), 2), np.zeros((1, 2), dtype=np.float32)):
        np.testing.assert_array_equal(model._check_rows(X), X)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.array([[np.inf, 0.0]]))
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.array([[np.nan, 0.0]]))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((1, 3)))


def test_no_jobs_at_all_are_refused_before_any_work(estimator_class):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter of \w+ must be .* Got 0 instead"):
        estimator_class(n_jobs=0).fit(X2, ["a", "b"])
