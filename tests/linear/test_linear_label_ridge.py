"""``MultiLabelKernelRidgeClassifier``: the regression written out with NumPy."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import check_estimator

import hiclass
from hiclass import TRUSTED_TYPES, FlatClassifier, MultiLabelKernelRidgeClassifier

TREE = {"a": ["b", "c"], "d": ["e", "f"]}


def make_sets(n_rows=40, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    scores = X @ rng.normal(size=(4, n_classes)) + rng.normal(size=(n_rows, n_classes))
    return X, (scores > 0.5).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_is_the_regression_around_the_shares_of_the_classes(weighted, sparse):
    X, Y = make_sets()
    weight = 1.0 + np.arange(len(X)) % 3 if weighted else None
    model = MultiLabelKernelRidgeClassifier(alpha=0.5, width=0.8)
    model.fit(X, sp.csr_array(Y) if sparse else Y, weight)
    share = np.average(Y, axis=0, weights=weight)
    np.testing.assert_allclose(model.intercept_, share, rtol=1e-6)
    known = KernelRidge(alpha=0.5, kernel="rbf", gamma=model.gamma_)
    known.fit(X, Y - share, weight)
    new = make_sets(seed=1)[0]
    expected = np.clip(known.predict(new) + share, 1e-6, 1 - 1e-6)
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(new), model.predict_proba(new) > 0.5)


@pytest.mark.parametrize("n_landmarks", [3000, 15])
def test_sparse_rows_give_what_dense_ones_give(n_landmarks):
    X, Y = make_sets()
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        MultiLabelKernelRidgeClassifier(n_landmarks=n_landmarks, random_state=0).fit(rows, Y)
        for rows in (X, sp.csr_array(X))
    )
    assert sp.issparse(sparse.landmarks_)
    expected = dense.predict_proba(X)
    for rows in (X, sp.csr_array(X)):  # whatever it was fitted on
        np.testing.assert_allclose(sparse.predict_proba(rows), expected, atol=1e-9)
        np.testing.assert_allclose(dense.predict_proba(rows), expected, atol=1e-9)


def test_with_a_landmark_at_every_row_the_result_is_the_exact_one():
    X, Y = make_sets(n_rows=41)
    exact = MultiLabelKernelRidgeClassifier(random_state=0).fit(X, Y)
    few = MultiLabelKernelRidgeClassifier(n_landmarks=20, random_state=0).fit(X, Y)
    assert few.landmarks_.shape == (20, 4)
    assert np.abs(few.predict_proba(X) - exact.predict_proba(X)).max() < 0.1


def test_one_class_per_row_has_probabilities_that_sum_to_one():
    X, Y = make_sets()
    y = np.array(["x", "y", "z"])[Y[:, :2].sum(axis=1)]
    model = MultiLabelKernelRidgeClassifier(alpha=1e-3, width=0.3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.predict(X) == y).all()


def test_a_flat_model_of_sets_takes_it_and_files_keep_it():
    X, Y = make_sets(n_classes=4)
    names = np.array(["b", "c", "e", "f"])
    y = [names[row.astype(bool)].tolist() for row in Y]
    ridge = MultiLabelKernelRidgeClassifier(random_state=0)
    model = FlatClassifier(ridge, hierarchy=TREE, multi_label=True).fit(X, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=list(TRUSTED_TYPES))
    np.testing.assert_array_equal(again.predict_node_proba(X), model.predict_node_proba(X))


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_files_keep_sparse_landmarks(make, tmp_path):
    X, Y = make_sets(n_classes=2)
    X[np.abs(X) < 0.5] = 0
    y = [[name for name, has in zip("bc", row, strict=True) if has] for row in Y]
    ridge = MultiLabelKernelRidgeClassifier(random_state=0)
    model = FlatClassifier(ridge, hierarchy={"a": ["b", "c"]}, multi_label=True).fit(make(X), y)
    expected = model.predict_node_proba(X)
    skops.io.dump(model, tmp_path / "model.skops")
    for again in (hiclass.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_node_proba(X), expected)
    np.testing.assert_array_equal(model.predict_node_proba(X), expected)  # it has not changed


def test_landmarks_of_a_damaged_file_are_refused():
    X, Y = make_sets()
    model = MultiLabelKernelRidgeClassifier().fit(sp.csr_array(X), Y)
    state = model.__getstate__()
    state["landmarks_"]["indices"] = state["landmarks_"]["indices"] + 1
    with pytest.raises(ValueError, match=r"ind(ices|ex values) must be"):
        MultiLabelKernelRidgeClassifier().__setstate__(state)


def test_what_is_no_indicator_is_refused_with_the_value():
    X, Y = make_sets()
    with pytest.raises(ValueError, match=r"an indicator matrix of 0 and 1; it has 3\. Make one"):
        MultiLabelKernelRidgeClassifier().fit(X, Y * 3)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        MultiLabelKernelRidgeClassifier(alpha=0).fit(X, Y)


def test_passes_the_checks_of_scikit_learn():
    found = check_estimator(
        MultiLabelKernelRidgeClassifier(alpha=0.1, random_state=0), on_fail=None, on_skip=None
    )
    failed = {c["check_name"]: str(c["exception"])[:300] for c in found if c["status"] == "failed"}
    assert failed == {}
