"""Folds that are stratified at every node of the hierarchy."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import (
    GridSearchCV,
    check_cv,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from strategies import SETTINGS, pad, paths

from hiclass import (
    FlatClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._targets import encode

NAN = float("nan")


def folds(y, n_splits=2, X=None, **params):
    """The test rows of every fold, after asserting that train and test are a partition."""
    parts = list(HierarchicalKFold(n_splits, **params).split(X, y))
    assert len(parts) == n_splits
    for train, test in parts:
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        assert sorted([*train, *test]) == list(range(len(train) + len(test)))
    return [test.tolist() for _, test in parts]


# -- laws --------------------------------------------------------------------------------------


@SETTINGS
@given(
    paths(min_rows=2, max_rows=30, labels=("letters", "int", "bool"), depth=(1, 4)),
    st.integers(2, 7),
    st.booleans(),
    st.integers(0, 3),
)
def test_every_node_is_spread_evenly_and_stays_in_every_training_set(y, n_splits, shuffle, seed):
    n_splits = min(n_splits, len(y))
    parts = folds(y, n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    assert sorted(row for test in parts for row in test) == list(range(len(y)))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    target = encode(y)
    h = target.hierarchy
    for v in range(1, h.n_nodes):
        inside = set(np.flatnonzero([v in (n, *h.ancestors(n)) for n in target.nodes]).tolist())
        ends = set(np.flatnonzero(target.nodes == v).tolist())
        for rows in (inside, ends):
            counts = [len(rows.intersection(test)) for test in parts]
            assert max(counts) - min(counts) <= 1
            if len(rows) >= 2:
                assert all(len(rows.difference(test)) >= 1 for test in parts)


@SETTINGS
@given(paths(min_rows=2, labels=("letters", "int"), depth=(1, 3)))
def test_all_forms_of_the_same_labels_give_the_same_folds(y):
    expected = folds(y)
    nulls = pad(y, None)
    columns = {f"level {j}": list(column) for j, column in enumerate(zip(*nulls, strict=True))}
    array = np.empty((len(y), len(nulls[0])), dtype=object)
    array[:] = nulls
    for other in (
        array,
        pd.DataFrame(columns, dtype=object),
        pl.DataFrame(columns),
        pa.table(columns),
    ):
        assert folds(other) == expected


# -- worked out by hand ------------------------------------------------------------------------


def test_rows_are_dealt_out_in_the_order_of_the_hierarchy():
    #     A, A/x, A/x, B/y, B/z, B/z in the order of the hierarchy: rows 2, 0, 1, 3, 4, 5.
    y = [["A", "x"], ["A", "x"], ["A", None], ["B", "y"], ["B", "z"], ["B", "z"]]
    assert folds(y, 2) == [[1, 2, 4], [0, 3, 5]]
    assert folds(y, 3) == [[2, 3], [0, 4], [1, 5]]
    assert folds(y, 6) == [[2], [0], [1], [3], [4], [5]]


def test_single_rows_of_rare_classes_are_spread_like_their_parent():
    y = [["A", f"rare{i}"] for i in range(6)] + [["B", "x"]] * 6
    for test in folds(y, 3):
        assert len([row for row in test if row < 6]) == 2


def test_integers_and_floats_and_single_labels_are_fine():
    assert folds(np.array([1, 1, 0, 0])) == [[0, 2], [1, 3]]
    assert folds(np.array([[1, 2], [1, np.nan], [1, 2], [1, np.nan]])) == [[0, 1], [2, 3]]
    assert folds(["b", "a", "b", "a"]) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("spelling", ["", None, NAN, pd.NA], ids=repr)
def test_every_spelling_of_missing_gives_the_folds_of_the_ragged_list(spelling):
    y = [["a", "x"], ["a"], ["b", "y"], ["a", "x"], ["b", "y"], ["a"]]
    assert folds(pad(y, spelling), 3) == folds(y, 3)


@pytest.mark.parametrize(
    "X",
    [None, np.zeros((4, 1)), sp.csr_matrix((4, 1)), pd.DataFrame({"x": range(4)}), ["a doc"] * 4],
    ids=["None", "array", "sparse", "frame", "list"],
)
def test_only_the_length_of_x_matters(X):
    assert folds(["a", "a", "b", "b"], X=X) == [[0, 2], [1, 3]]


def test_shuffle_is_repeatable_with_a_seed_and_differs_between_seeds():
    y = [["a", "x"]] * 10 + [["b", "y"]] * 10
    one = folds(y, 2, shuffle=True, random_state=0)
    assert folds(y, 2, shuffle=True, random_state=0) == one
    assert folds(y, 2, shuffle=True, random_state=np.random.RandomState(0)) == one
    assert folds(y, 2, shuffle=True, random_state=1) != one
    assert one != folds(y, 2)


def test_one_splitter_with_a_seed_gives_the_same_folds_each_time():
    splitter = HierarchicalKFold(2, shuffle=True, random_state=0)
    y = ["a"] * 10
    one, two = ([test.tolist() for _, test in splitter.split(y, y)] for _ in range(2))
    assert one == two


def test_labels_that_look_alike_are_for_fit_to_warn_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert folds(["a", "A", "a", "A"]) == [[0, 1], [2, 3]]


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.0, "3", None, True])
def test_fewer_than_two_folds_is_an_error_that_shows_the_value(n_splits):
    expected = f"n_splits must be an integer of at least 2; got {n_splits!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        folds(["a", "b"], n_splits)


def test_numpy_integers_count_folds():
    assert folds(["a", "a"], np.int64(2)) == [[0], [1]]


def test_more_folds_than_rows_is_an_error_with_both_numbers():
    with pytest.raises(ValueError, match=r"^n_splits=3 is more than the 2 rows\.$"):
        folds(["a", "b"], 3)


def test_no_labels_is_an_error():
    with pytest.raises(ValueError, match="HierarchicalKFold stratifies by y; give the labels"):
        folds(None)


def test_lengths_that_differ_are_an_error_with_both():
    with pytest.raises(ValueError, match=r"^X has 3 rows but y has 2 \(inconsistent numbers of"):
        folds(["a", "b"], X=np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("y", "part"),
    [
        ([["a", "", "c"], ["a", "b", "c"]], "Row 0 of y has a label at level 3 ('c')"),
        (["a", None], "Row 1 of y has no label at all."),
        ([], "y is empty"),
    ],
)
def test_bad_labels_are_the_errors_of_fit(y, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        folds(y)


# -- with scikit-learn -------------------------------------------------------------------------


def test_repr_shows_the_parameters():
    expected = "HierarchicalKFold(n_splits=5, random_state=None, shuffle=False)"
    assert repr(HierarchicalKFold()) == expected
    assert HierarchicalKFold(3).get_n_splits() == 3
    assert HierarchicalKFold(3).get_n_splits("X", "y", "groups") == 3


def test_scikit_learn_takes_it_as_a_splitter_and_can_clone_it():
    splitter = HierarchicalKFold(3, shuffle=True, random_state=7)
    assert check_cv(splitter) is splitter
    assert repr(clone(splitter, safe=False)) == repr(splitter)


ESTIMATORS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]
# The classes of the data are far apart: the nearest row is always of the right one.
NEAREST = KNeighborsClassifier(1)


@pytest.fixture(scope="module")
def data():
    """Well separated classes, some of which end early; one has two rows."""
    y = [["a", "x"]] * 6 + [["a", "y"]] * 6 + [["a"]] * 6 + [["b"]] * 6 + [["b", "z"]] * 2
    codes = encode(y).nodes
    X = np.random.RandomState(0).normal(size=(len(y), 2)) * 0.01
    X[:, 0] += codes
    X[:, 1] += codes % 2
    return X, y


FORMS = {
    "ragged list": list,
    "None": lambda y: pad(y, None),
    "NaN": lambda y: pad(y, NAN),
    "NA": lambda y: pd.DataFrame(pad(y, pd.NA), dtype="string"),
    "empty string": lambda y: np.array(pad(y, "")),
    "polars": lambda y: pl.DataFrame(pad(y, None), orient="row"),
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("form", FORMS)
def test_cross_validation_with_missing_labels_in_every_form(data, estimator, form):
    X, y = data
    model = estimator(NEAREST)
    scores = cross_val_score(model, X, FORMS[form](y), cv=HierarchicalKFold(2), error_score="raise")
    assert scores.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("form", FORMS)
def test_grid_search_with_missing_labels_in_every_form(data, form):
    X, y = data
    search = GridSearchCV(
        LocalClassifierPerParentNode(),
        {"local_classifier": [DummyClassifier(), NEAREST]},
        cv=HierarchicalKFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, FORMS[form](y))
    assert search.best_score_ == 1.0
    assert search.best_params_ == {"local_classifier": NEAREST}
    assert search.cv_results_["mean_test_score"][0] < 1.0
    assert search.n_splits_ == 2


def test_cross_val_predict_gives_every_row_its_own_label_back(data):
    X, y = data
    labels = pad(y, None)
    predicted = cross_val_predict(
        LocalClassifierPerNode(NEAREST), X, labels, cv=HierarchicalKFold(2)
    )
    assert predicted.tolist() == labels


def test_every_class_with_two_rows_is_known_to_every_model(data):
    X, y = data
    result = cross_validate(
        LocalClassifierPerNode(NEAREST),
        X,
        y,
        cv=HierarchicalKFold(2),
        return_estimator=True,
        error_score="raise",
    )
    whole = Hierarchy.from_paths(y)
    assert [model.hierarchy_ for model in result["estimator"]] == [whole, whole]
