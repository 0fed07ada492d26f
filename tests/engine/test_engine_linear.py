"""Scores of linear classifiers are those of their own methods, to the last bit."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from hiclass import (
    FastLinearSVC,
    FlatClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._engine.linear import linear_choice, linear_scores
from hiclass._state import Packed

LINEAR = [
    LinearSVC(random_state=0),
    LogisticRegression(),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    Perceptron(random_state=0),
    LinearDiscriminantAnalysis(),
    SVC(kernel="linear"),
    make_pipeline(StandardScaler(with_mean=False), LinearSVC(random_state=0)),
]
FORMS = {
    "dense": np.asarray,
    "csr matrix": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
    "single precision": lambda X: X.astype(np.float32),
    "list": lambda X: X.tolist(),
    "integers": lambda X: X.astype(int),
}


DENSE_ONLY = ("LinearDiscriminantAnalysis", "SVC")  # or none that are sparse after dense ones
SPARSE = ("csr matrix", "csr array", "csc")


def rows(k, n=60):
    rng = np.random.default_rng(0)
    target = np.arange(n) % k
    return rng.normal(size=(n, 3)).round(1) * 5 + target[:, None], target


def name(estimator):
    return type(estimator).__name__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    ("estimator", "form"),
    [
        pytest.param(estimator, form, id=f"{name(estimator)}, {form}")
        for estimator, form in product(LINEAR, FORMS)
        if form not in SPARSE or name(estimator) not in DENSE_ONLY
    ],
)
def test_scores_and_choices_are_those_of_the_classifier(estimator, k, form):
    X, target = rows(k)
    estimator.fit(X, target)
    X = FORMS[form](X)
    np.testing.assert_array_equal(linear_scores(estimator, X), estimator.decision_function(X))
    np.testing.assert_array_equal(linear_choice(estimator, X), estimator.predict(X))


def in_disorder(X):
    """The same rows with entries in descending order of columns, and the first one in halves."""
    X = sp.csr_matrix(X)
    rows = [(X.indices[a:b][::-1], X.data[a:b][::-1]) for a, b in pairwise(X.indptr)]
    indices = np.concatenate([np.append(columns[:1], columns) for columns, _ in rows])
    data = np.concatenate([np.append(v[:1] / 2, [*(v[:1] / 2), *v[1:]]) for _, v in rows])
    indptr = X.indptr + np.arange(len(X.indptr), dtype=np.int32)
    return sp.csr_matrix((data, indices, indptr), shape=X.shape)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("rows_of", [sp.csr_matrix, sp.csr_array, in_disorder])
@pytest.mark.parametrize("n", [1, 60])
def test_scores_in_single_precision_are_those_of_the_classifier(k, rows_of, n):
    """Of the narrow one, on the columns that it has, and of one with all columns."""
    rng = np.random.default_rng(1)
    X = sp.random(60, 40, density=0.2, format="csr", random_state=rng)
    target = np.arange(60) % k
    X = X + sp.csr_matrix((target + 1.0, (np.arange(60), np.full(60, 3))), shape=X.shape)
    estimator = FastLinearSVC(random_state=0).fit(X, target)
    estimator.coef_ = estimator.coef_.astype(np.float32)
    some = rows_of(X[:n])
    np.testing.assert_array_equal(linear_scores(estimator, some), estimator.decision_function(some))
    columns = np.arange(2, 40, 3, dtype=np.int32)
    narrow = FastLinearSVC(random_state=0).fit(X[:, columns], target)
    narrow.coef_ = narrow.coef_.astype(np.float32)
    packed = Packed(narrow, columns, 40)
    own = narrow.decision_function(sp.csr_matrix(some)[:, columns])
    np.testing.assert_allclose(linear_scores(packed, some), own, rtol=1e-6, atol=1e-6)
    if rows_of is not in_disorder:
        np.testing.assert_array_equal(linear_scores(packed, some), own)


def test_labels_need_not_be_numbers_from_zero():
    X, target = rows(3)
    estimator = LinearSVC(random_state=0).fit(X, np.array(["x", "y", "z"])[target])
    np.testing.assert_array_equal(linear_choice(estimator, X), estimator.predict(X))


def test_coefficients_that_were_made_sparse():
    X, target = rows(4)
    estimator = SGDClassifier(random_state=0).fit(X, target).sparsify()
    np.testing.assert_array_equal(linear_scores(estimator, X), estimator.decision_function(X))


def test_a_method_that_was_overridden_is_called():
    class Other(LinearSVC):
        def decision_function(self, X):
            return super().decision_function(X) + 1000

    X, target = rows(4)
    estimator = Other(random_state=0).fit(X, target)
    assert linear_scores(estimator, X).min() > 100
    assert (linear_choice(estimator, X) == estimator.predict(X)).all()


def test_a_classifier_without_scores_chooses_by_itself():
    X, target = rows(3)
    estimator = GaussianNB().fit(X, target)
    np.testing.assert_array_equal(linear_choice(estimator, X), estimator.predict(X))


def test_rows_that_do_not_fit_are_refused_as_by_the_classifier():
    X, target = rows(3)
    estimator = LinearSVC(random_state=0).fit(X, target)
    with pytest.raises(ValueError, match="features"):
        linear_scores(estimator, X[:, :2])


def test_frames_reach_the_classifiers_as_frames():
    X, target = rows(4)
    frame = pd.DataFrame(X, columns=list("abc"))
    estimator = LinearSVC(random_state=0).fit(frame, target)
    np.testing.assert_array_equal(
        linear_scores(estimator, frame), estimator.decision_function(frame)
    )


@pytest.mark.parametrize("cls", [LocalClassifierPerParentNode, LocalClassifierPerNode])
def test_a_model_predicts_as_with_a_classifier_that_is_queried_itself(cls):
    class Queried(LinearSVC):
        def decision_function(self, X):
            return super().decision_function(X)

        def predict(self, X):
            return super().predict(X)

    X, target = rows(6, 200)
    y = np.column_stack([target // 3, target]).astype(str)
    for options in ({}, {"calibration": "temperature"}, {"calibration": "joint"}):
        quick, slow = (cls(c(random_state=0), **options).fit(X, y) for c in (LinearSVC, Queried))
        np.testing.assert_array_equal(quick.predict(X), slow.predict(X))
        if options:
            np.testing.assert_array_equal(quick.predict_node_proba(X), slow.predict_node_proba(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("cls", [LocalClassifierPerParentNode, FlatClassifier])
def test_rows_that_are_not_finite_are_refused_by_the_classifier(cls, bad):
    """Rows are checked for a classifier, but not for a callable, which may take anything."""
    X, target = rows(3, 60)
    model = cls(lambda path: LinearSVC())
    model.fit(X, np.column_stack([target // 2, target]).astype(str))
    X[7, 1] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        model.predict(X)
