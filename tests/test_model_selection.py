"""Folds that are stratified at every node of the hierarchy."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import config_context
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
from strategies import SETTINGS, hierarchies_with_sets, pad, paths

from hiclass import (
    FlatClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._targets.paths import encode
from hiclass.datasets import make_hierarchical_classification

NAN = float("nan")


def folds(y, n_splits=2, X=None, groups=None, **params):
    """The test rows of every fold, after asserting that train and test are a partition."""
    parts = list(HierarchicalKFold(n_splits, **params).split(X, y, groups))
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


# -- groups ------------------------------------------------------------------------------------


@SETTINGS
@given(
    paths(min_rows=2, max_rows=30, labels=("letters", "int"), depth=(1, 3)),
    st.data(),
    st.booleans(),
)
def test_the_rows_of_a_group_stay_together_and_no_fold_is_empty(y, data, shuffle):
    groups = data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y)))
    n_groups = len(set(groups))
    assume(n_groups >= 2)
    n_splits = data.draw(st.integers(2, n_groups))
    seed = 0 if shuffle else None
    parts = folds(y, n_splits, groups=groups, shuffle=shuffle, random_state=seed)
    assert all(parts)
    seen = [{groups[row] for row in test} for test in parts]
    assert sum(map(len, seen)) == n_groups


def test_groups_are_stratified_too():
    #     Groups P and Q hold the class x, R and S the class y, T and U both.
    y = [["A", "x"]] * 4 + [["B", "y"]] * 4 + [["A", "x"], ["B", "y"]] * 2
    groups = ["P", "P", "Q", "Q", "R", "R", "S", "S", "T", "T", "U", "U"]
    for test in folds(y, 2, groups=groups):
        assert sorted(y[row] for row in test) == [["A", "x"]] * 3 + [["B", "y"]] * 3
        assert len({groups[row] for row in test} & {"P", "Q"}) == 1


def test_a_class_of_two_groups_is_in_every_training_set():
    rare = [["A", "rare"]] * 3
    y = [["A", "x"]] * 6 + rare + [["B", "y"]] * 6
    groups = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7]
    for n_splits in (2, 3, 4):
        for test in folds(y, n_splits, groups=groups):
            assert {6, 7, 8} - set(test)


@pytest.mark.parametrize(
    "groups",
    [
        np.array([1, 1, 2, 2]),
        np.array([0.5, 0.5, 1.5, 1.5]),
        pd.Series(["p", "p", "q", "q"], dtype="category"),
        pl.Series(["p", "p", "q", "q"]),
        ["p", "p", "q", "q"],
        [0.5, 0.5, 1.5, 1.5],
        pd.Series([0.5, 0.5, 1.5, 1.5]),
        pl.Series([0.5, 0.5, np.inf, np.inf]),
        pd.Series([1, 1, 2, 2], dtype="Int64"),
        np.array(["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-02"], dtype="datetime64[D]"),
        ["", "", "q", "q"],
        ["1", "1", 1, 1],
        np.array(["", "", "q", "q"]),
    ],
    ids=[
        *["int", "float", "category", "polars", "list", "list of floats", "Series of floats"],
        *["polars floats", "Int64", "dates", "empty string", "mixed", "array with empty string"],
    ],
)
def test_groups_come_in_every_container(groups):
    assert folds(["a", "b", "a", "b"], 2, groups=groups) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["p"] * 4, "n_splits=2 is more than the 1 groups."),
        (["p", "q"], "groups has 2 entries but y has 4 rows (inconsistent numbers of samples)."),
        (["p", "q", None, "r"], "Row 2 of groups is missing. Every row needs a group; a row"),
        (np.array([1.0, 2.0, np.nan, 3.0]), "Row 2 of groups is missing."),
        ([1.5, 2.0, 3.0, float("nan")], "Row 3 of groups is missing."),
        (["p", float("nan"), "q", "r"], "Row 1 of groups is missing."),
        (pd.Series([1, pd.NA, 2, 3], dtype="Int64"), "Row 1 of groups is missing."),
        (np.array(["NaT", "2026-01-01"] * 2, dtype="datetime64[D]"), "Row 0 of groups is missing."),
        ([["p"], ["q"], ["r"], ["s"]], "groups must hold one group per row, a name or a number;"),
    ],
    ids=[
        *["one group", "length", "None", "NaN", "NaN in a list", "NaN beside names", "NA", "NaT"],
        "columns",
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        folds(["a", "b", "a", "b"], 2, groups=groups)


def test_a_group_that_is_a_dict_is_refused():
    with pytest.raises(TypeError, match=r"^Row 1 of groups is \{\}, a dict, which cannot be the n"):
        folds(["a", "b"], 2, groups=["p", {}])


def test_scikit_learn_passes_groups_on(data):
    X, y = data
    groups = np.arange(len(y)) // 2  # neighbours together: every class is in three groups or one
    scores = cross_val_score(
        LocalClassifierPerNode(NEAREST), X, y, cv=HierarchicalKFold(2), groups=groups
    )
    assert (scores < 1).sum() == 1  # the class of one group is in one training set only
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            LocalClassifierPerNode(NEAREST),
            X,
            y,
            cv=HierarchicalKFold(2),
            params={"groups": groups},
        )
    assert routed.tolist() == scores.tolist()


# -- several labels per row, and DAGs ----------------------------------------------------------


def test_several_labels_are_no_path():
    y = [["a", "q"], ["b"], ["c", "q"], ["d"]]
    assert folds(y, 2, multi_label=True) == [[0, 1], [2, 3]]
    assert folds(y, 2) == [[0, 2], [1, 3]]  # without it: the paths a > q, b, c > q and d


def test_rows_may_have_no_label():
    parts = folds([[], ["a"], [], ["a"]], 2, multi_label=True)
    assert parts == [[0, 1], [2, 3]]


@SETTINGS
@given(hierarchies_with_sets(), st.integers(2, 4), st.booleans())
def test_folds_of_sets_are_a_partition_in_every_form(drawn, n_splits, shuffle):
    edges, y = drawn
    assume(len(y) >= n_splits)
    hierarchy = Hierarchy.from_edges(edges)
    options = {"shuffle": shuffle, "random_state": 0 if shuffle else None}
    options |= {"multi_label": True, "hierarchy": hierarchy}
    parts = folds(y, n_splits, **options)
    assert sorted(row for test in parts for row in test) == list(range(len(y)))
    assert all(parts)
    closed = hierarchy.indicator(y)
    for other in (closed, closed.toarray(), [set(row) for row in y]):
        assert folds(other, n_splits, **options) == parts


@pytest.mark.parametrize("n_splits", [2, 5, 10])
def test_every_class_of_sets_is_spread(n_splits):
    data = make_hierarchical_classification(
        1000, 1, branching=6, dag=0.2, multi_label=True, ragged=0.2, random_state=0
    )
    closed = data.hierarchy.indicator(data.target).toarray()
    parts = folds(data.target, n_splits, multi_label=True, hierarchy=data.hierarchy)
    counts = np.array([closed[test].sum(axis=0) for test in parts])
    total = counts.sum(axis=0)
    assert (counts[:, total >= 2] < total[total >= 2]).all()  # none is missing in training
    ideal = total / n_splits
    assert (np.abs(counts - ideal) <= 1 + 0.05 * ideal + 0.05 * 1000 / n_splits).all()
    assert np.abs(counts - ideal).mean() < 0.6


def iterative_stratification(closed, n_splits):
    """The algorithm of Sechidis, Tsoumakas and Vlahavas (2011), literally, over closed sets."""
    n_rows, n_nodes = closed.shape
    wanted = np.full(n_splits, n_rows / n_splits)
    wanted_of = closed.sum(axis=0)[:, None] / n_splits * np.ones(n_splits)
    fold = np.full(n_rows, -1)
    while (fold < 0).any():
        left = closed[fold < 0].sum(axis=0)
        node = min((v for v in range(n_nodes) if left[v]), key=lambda v: left[v])
        for row in np.flatnonzero((fold < 0) & closed[:, node]):
            most = max(range(n_splits), key=lambda k: (wanted_of[node, k], wanted[k]))
            fold[row] = most
            wanted_of[closed[row], most] -= 1
            wanted[most] -= 1
    return fold


@pytest.mark.parametrize("dag", [0.0, 0.3])
def test_sets_are_spread_at_least_as_evenly_as_by_iterative_stratification(dag):
    ours, theirs = 0.0, 0.0
    for seed in range(5):
        data = make_hierarchical_classification(
            300, 1, branching=5, dag=dag, multi_label=True, ragged=0.2, random_state=seed
        )
        closed = data.hierarchy.indicator(data.target).toarray()
        parts = folds(data.target, 3, multi_label=True, hierarchy=data.hierarchy)
        ours += unevenness(closed, parts)
        literal = iterative_stratification(closed, 3)
        theirs += unevenness(closed, [np.flatnonzero(literal == k) for k in range(3)])
    assert ours <= theirs


def unevenness(closed, parts):
    """The chi-squared statistic of the classes and the folds."""
    counts = np.array([closed[test].sum(axis=0) for test in parts])
    total = counts.sum(axis=0)
    shares = total[total > 0] / len(parts)
    return ((counts[:, total > 0] - shares) ** 2 / shares).sum()


def test_single_labels_of_a_dag_are_spread_by_all_that_is_above_them():
    pets = {"pet": ["cat", "dog"], "feline": ["cat", "lion"], "canine": ["dog", "wolf"]}
    y = ["cat", "dog", "lion", "wolf", "cat", "dog", "lion", "wolf"]
    for test in folds(y, 2, hierarchy=pets):
        assert sorted(y[row] for row in test) == ["cat", "dog", "lion", "wolf"]


def test_single_labels_of_a_tree_are_spread_like_their_parents():
    y = ["rare0", "x0", "rare1", "x1", "rare2", "x2", "rare3", "x3"]
    tree = {"A": [f"rare{i}" for i in range(4)], "B": [f"x{i}" for i in range(4)]}
    for test in folds(y, 2, hierarchy=tree):
        assert len([row for row in test if y[row].startswith("rare")]) == 2


def test_paths_that_are_sets_are_no_paths_of_a_given_hierarchy():
    with pytest.raises(ValueError, match="Row 0 of y, level 2: "):
        folds([["a", "q"], ["b"]], 2, hierarchy={"a": ["x"], "b": ["y"], "q": ["z"]})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], []], "Row 1 of y has no label at all.*use HierarchicalKFold.multi_label=True"),
        ([[("a", "x"), ("b",)], [("c",)]], "Row 0 of y is a list of path tuples.*multi_label=True"),
    ],
)
def test_what_can_only_be_several_labels_is_refused_without_multi_label(y, message):
    with pytest.raises(ValueError, match=message):
        folds(y)


def test_a_search_over_rows_with_several_labels():
    y = [["a", "q"], ["b"], ["c", "q"], ["b"], ["a"], ["c"]] * 4
    X = [[float("a" in row), float("b" in row), float("c" in row), float("q" in row)] for row in y]
    model = LocalClassifierPerNode(NEAREST, multi_label=True)
    cv = HierarchicalKFold(2, multi_label=True)
    assert cross_val_score(model, X, y, cv=cv, error_score="raise").tolist() == [1.0, 1.0]


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.0, "3", None, True])
def test_fewer_than_two_folds_is_an_error_that_shows_the_value(n_splits):
    expected = f"n_splits must be an integer of at least 2; got {n_splits!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        folds(["a", "b"], n_splits)


def test_numpy_integers_count_folds():
    assert folds(["a", "a"], np.int64(2)) == [[0], [1]]


def test_more_folds_than_rows_is_an_error_with_both_numbers():
    with pytest.raises(
        ValueError, match=r"^n_splits=3 is more than the 2 rows\. Use fewer folds\.$"
    ):
        folds(["a", "b"], 3)


def test_no_labels_is_an_error():
    with pytest.raises(ValueError, match=r"HierarchicalKFold stratifies by y\. Pass the labels"):
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
    assert " ".join(repr(HierarchicalKFold()).split()) == (
        "HierarchicalKFold(hierarchy=None, multi_label=False, n_splits=5, random_state=None, "
        "shuffle=False)"
    )
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


def test_folds_refuse_a_random_state_that_would_do_nothing():
    with pytest.raises(ValueError, match="random_state=3 has no effect without shuffle=True"):
        next(HierarchicalKFold(2, random_state=3).split([[0], [1]], ["a", "b"]))
