"""``MultiLabelForestClassifier``: leaves written out, and what it takes and refuses."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.estimator_checks import check_estimator

import hiclass
from hiclass import TRUSTED_TYPES, FlatClassifier, MultiLabelForestClassifier
from hiclass._estimators import label_forest, set_fitting

TREE = {"a": ["b", "c"], "d": ["e", "f"]}


def make_sets(n_rows=60, n_columns=5, n_classes=6, seed=0):
    """Rows of numbers, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    scores = X @ rng.normal(size=(n_columns, n_classes)) + rng.normal(size=(n_rows, n_classes))
    return X, (scores > 0.5).astype(int)


def make_lists(n_rows=60, seed=0):
    X, Y = make_sets(n_rows, n_classes=4, seed=seed)
    names = np.array(["b", "c", "e", "f"])
    return X, [names[row.astype(bool)].tolist() for row in Y]


# -- what is predicted -------------------------------------------------------------------------


def means_in_leaves(forest, X, Y, weight, new):
    """The mean of the labels of the training rows that reach the leaves of new rows."""
    expected = np.zeros((len(new), Y.shape[1]))
    leaves, reached = forest.apply(X), forest.apply(new)
    for tree in range(leaves.shape[1]):
        for row, leaf in enumerate(reached[:, tree]):
            inside = leaves[:, tree] == leaf
            share = None if weight is None else weight[inside]
            expected[row] += np.average(Y[inside], axis=0, weights=share) / leaves.shape[1]
    return expected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_is_the_mean_of_the_labels_in_leaves_as_scikit_learn_keeps_them(weighted, missing):
    X, Y = make_sets()
    new = make_sets(seed=1)[0]
    if missing:
        X[::7, 1] = new[::3, 1] = np.nan
    weight = 0.5 + np.arange(len(X)) % 3 if weighted else None
    forest = MultiLabelForestClassifier(10, min_samples_leaf=3, max_features=None, random_state=0)
    forest.fit(X, Y, weight)
    # With all labels as goal, the trees are those of a forest with the same seed.
    known = ExtraTreesRegressor(10, min_samples_leaf=3, max_features=None, random_state=0)
    known.fit(X, Y, weight)
    # scikit-learn 1.6.0 stores other means where values are missing than those of its leaves.
    expected = means_in_leaves(known, X, Y, weight, new) if missing else known.predict(new)
    np.testing.assert_allclose(forest.predict_proba(new), expected, atol=1e-6)
    np.testing.assert_array_equal(forest.predict(new), forest.predict_proba(new) > 0.5)
    np.testing.assert_allclose(forest.feature_importances_, known.feature_importances_)


def test_with_fewer_directions_than_classes_leaves_still_hold_means_of_all_labels():
    X, Y = make_sets(n_rows=40, n_classes=20)
    forest = MultiLabelForestClassifier(7, min_samples_leaf=4, n_components=3, random_state=0)
    proba = forest.fit(X, Y).predict_proba(X)
    leaves = forest._apply(X)
    expected = np.zeros(Y.shape)
    for tree in leaves.T:
        for row, leaf in enumerate(tree):
            expected[row] += Y[tree == leaf].mean(axis=0) / 7
            assert (tree == leaf).sum() >= 4
    np.testing.assert_allclose(proba, expected, atol=1e-6)


def test_rows_are_predicted_the_same_in_chunks_in_sparse_rows_and_with_several_jobs(monkeypatch):
    X, Y = make_sets(n_rows=80, n_classes=30)
    X[X < 0] = 0
    one = MultiLabelForestClassifier(25, n_components=4, random_state=3).fit(X, Y)
    two = MultiLabelForestClassifier(25, n_components=4, random_state=3, n_jobs=2)
    two.fit(sp.csr_array(X), sp.csr_array(Y))
    monkeypatch.setattr(label_forest, "_MOST_NUMBERS", 3_000)
    np.testing.assert_allclose(two.predict_proba(sp.csr_array(X)), one.predict_proba(X))


def test_more_jobs_than_trees_are_fitted_together_change_nothing():
    X, Y = make_sets()
    few, many = (
        MultiLabelForestClassifier(15, n_jobs=n, random_state=0).fit(X, Y) for n in (1, 12)
    )
    np.testing.assert_array_equal(few.predict_proba(X), many.predict_proba(X))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 1])
def test_many_classes_that_all_rows_share_are_no_reason_to_warn(value):
    X, _ = make_sets()
    Y = np.zeros((len(X), 50), dtype=int)
    Y[:, :3] = value
    model = MultiLabelForestClassifier(3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), Y, atol=1e-6)


def test_rows_are_predicted_a_few_at_a_time_where_leaves_are_large(monkeypatch):
    _, Y = make_sets(2000)
    X = np.zeros((2000, 1))
    model = MultiLabelForestClassifier(3, random_state=0).fit(X, Y)
    sizes = []
    apply = model._apply
    monkeypatch.setattr(label_forest, "_MOST_NUMBERS", 100_000)
    monkeypatch.setattr(model, "_apply", lambda X: sizes.append(len(X)) or apply(X))
    np.testing.assert_allclose(model.predict_proba(X[:120]), [Y.mean(axis=0)] * 120, rtol=1e-5)
    assert sizes == [50, 50, 20]


def test_one_class_per_row_has_a_probability_per_class():
    X, Y = make_sets()
    y = np.array(["x", "y", "z"])[Y[:, :2].sum(axis=1)]
    forest = MultiLabelForestClassifier(20, min_samples_leaf=1, random_state=0).fit(X, y)
    assert forest.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(forest.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    assert (forest.predict(X) == y).all()


def test_rows_without_weight_are_left_out():
    X, Y = make_sets()
    weight = np.arange(len(X)) % 2
    one = MultiLabelForestClassifier(10, random_state=0).fit(X, Y, weight)
    two = MultiLabelForestClassifier(10, random_state=0).fit(X[1::2], Y[1::2], np.ones(30))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X))


def test_auto_looks_at_some_features_where_two_rows_often_have_the_same_value():
    X, Y = make_sets(n_columns=16)
    options = {"n_estimators": 10, "random_state": 0}
    binary = (X > 0).astype(float)
    for rows, chosen in ((X, None), (binary, "sqrt")):
        auto = MultiLabelForestClassifier(**options).fit(rows, Y)
        given = MultiLabelForestClassifier(max_features=chosen, **options).fit(rows, Y)
        np.testing.assert_array_equal(auto.predict_proba(rows), given.predict_proba(rows))


# -- what it is made for -----------------------------------------------------------------------


def test_a_flat_model_of_sets_takes_it_and_answers_after_a_file(tmp_path):
    X, y = make_lists()
    forest = MultiLabelForestClassifier(20, random_state=0)
    model = FlatClassifier(forest, hierarchy=TREE, multi_label=True).fit(X, y)
    proba = model.predict_node_proba(X)
    for copied in (pickle.loads(pickle.dumps(model)), _through_skops(model)):
        np.testing.assert_array_equal(copied.predict_node_proba(X), proba)
    skops.io.dump(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        hiclass.load(tmp_path / "model.skops").predict_node_proba(X), proba
    )


def _through_skops(model):
    return skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES))


def test_batches_are_refused_with_a_sentence():
    X, y = make_lists()
    model = FlatClassifier(MultiLabelForestClassifier(5), hierarchy=TREE, multi_label=True)
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(X, y)


def test_progress_counts_trees(capsys):
    X, Y = make_sets()
    MultiLabelForestClassifier(25, random_state=0, verbose=1).fit(X, Y)
    assert re.search(r"Growing trees.*25", capsys.readouterr().err, re.DOTALL)


def test_a_forest_of_scikit_learn_on_many_classes_warns_and_names_this_one(monkeypatch):
    X, y = make_lists()
    model = FlatClassifier(ExtraTreesClassifier(3), hierarchy=TREE, multi_label=True)
    model.fit(X, y)  # few classes: no warning
    monkeypatch.setattr(set_fitting, "_MANY_FOR_TREES", 6)
    with pytest.warns(UserWarning, match=r"for 6 classes.*hiclass\.MultiLabelForestClassifier"):
        model.fit(X, y)


# -- bad input -----------------------------------------------------------------------------------


def test_what_is_no_indicator_is_refused_with_the_value():
    X, Y = make_sets()
    with pytest.raises(ValueError, match=r"an indicator matrix of 0 and 1; it has 2\. Make one"):
        MultiLabelForestClassifier(5).fit(X, Y * 2)
    with pytest.raises(ValueError, match="at least one non-zero"):
        MultiLabelForestClassifier(5).fit(X, Y, np.zeros(len(X)))
    with pytest.raises(ValueError, match="'min_samples_leaf' parameter"):
        MultiLabelForestClassifier(5, min_samples_leaf=0).fit(X, Y)
    with pytest.warns(DataConversionWarning):
        MultiLabelForestClassifier(5).fit(X, Y[:, :1])


def test_a_file_with_wrong_numbers_of_rows_is_an_error_and_reads_no_foreign_memory():
    X, Y = make_sets()
    forest = MultiLabelForestClassifier(5, random_state=0).fit(X, Y)
    forest._rows = forest._rows + 1_000_000
    with pytest.raises(ValueError, match="ind"):
        forest.predict_proba(X)


COUNTED = "min_samples_leaf counts rows: a row of weight 2 is one row"


def test_passes_the_checks_of_scikit_learn_but_for_the_listed_ones():
    failed = {
        "check_sample_weight_equivalence_on_dense_data": COUNTED,
        "check_sample_weight_equivalence_on_sparse_data": COUNTED,
    }
    found = check_estimator(
        MultiLabelForestClassifier(5, random_state=0),
        expected_failed_checks=failed,
        on_fail=None,
        on_skip=None,
    )
    assert {c["check_name"] for c in found if c["status"] == "failed"} == set()
    assert {c["check_name"] for c in found if c["status"] == "xfail"} == set(failed)
