"""Rows that models with packed classifiers predict for: in any form, and checked as a whole.

A packed classifier sees some of the columns. What is wrong in the others has to be found as well,
and frames and lists have to mean what they mean for classifiers that see all columns.
"""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._engine import packed
from hiclass._inference.paths import holds_packed

SGD = SGDClassifier(loss="log_loss", max_iter=20, tol=None, random_state=0)
N_FEATURES = 600


def make_rows(n_rows=120, n_features=N_FEATURES):
    """Rows of 2 x 2 classes, each with 20 words of its own, and many columns that none has."""
    rng = np.random.default_rng(0)
    leaf = np.arange(n_rows) % 4
    columns = 20 * leaf[:, None] + rng.permuted(np.tile(np.arange(20), (n_rows, 1)), axis=1)[:, :6]
    X = sp.lil_matrix((n_rows, n_features))
    X[np.arange(n_rows)[:, None], columns] = 0.1 + rng.random(columns.shape)
    return X.tocsr(), [[f"a{v // 2}", f"b{v % 2}"] for v in leaf]


X, Y = make_rows()


def fit_plain(monkeypatch, model, X, y):
    """Fit a model all of whose classifiers have all columns."""
    with monkeypatch.context() as patch:
        patch.setattr(packed, "can_be_packed", lambda estimator: False)
        return model.fit(X, y)


def pandas_frame(rows):
    return pytest.importorskip("pandas").DataFrame(rows.toarray())


def named_frame(rows):
    names = [f"word {j}" for j in range(rows.shape[1])]
    return pytest.importorskip("pandas").DataFrame(rows.toarray(), columns=names)


def object_frame(rows):
    return pandas_frame(rows).astype(object)


def sparse_frame(rows):
    return pytest.importorskip("pandas").DataFrame.sparse.from_spmatrix(rows)


def polars_frame(rows):
    return pytest.importorskip("polars").DataFrame(rows.toarray())


FORMS = {
    "pandas": pandas_frame,
    "pandas with names": named_frame,
    "pandas with objects": object_frame,
    "pandas, sparse": sparse_frame,
    "polars": polars_frame,
    "lists": lambda rows: rows.toarray().tolist(),
    "array of objects": lambda rows: rows.toarray().astype(object),
    "array": lambda rows: rows.toarray(),
    "memory order of Fortran": lambda rows: np.asfortranarray(rows.toarray()),
}


# -- forms -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_rows_in_any_form_are_predicted_like_sparse_ones(estimator_class, form):
    model = estimator_class(SGD).fit(X, Y)
    assert holds_packed(model._models)
    rows = FORMS[form](X)
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))
    np.testing.assert_allclose(model.predict_node_proba(rows), model.predict_node_proba(X))
    assert model.score(rows, Y) == model.score(X, Y)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "model",
    [
        LocalClassifierPerParentNode(CalibratedClassifierCV(SGD, cv=2)),
        LocalClassifierPerParentNode(make_pipeline(MaxAbsScaler(), SGD)),
        LocalClassifierPerParentNode(lambda path: SGD),
        EnsembleClassifier([("a", LocalClassifierPerParentNode(SGD)), ("b", FlatClassifier(SGD))]),
    ],
    ids=["calibrated", "pipeline", "callable", "ensemble"],
)
def test_models_made_of_other_estimators_predict_rows_in_any_form(model, form):
    model.fit(X, Y)
    assert holds_packed(model._models)
    np.testing.assert_array_equal(model.predict(FORMS[form](X)), model.predict(X))


def test_a_restricted_model_predicts_frames():
    model = LocalClassifierPerParentNode(SGD).fit(X, Y).restricted_to([["a0"]])
    np.testing.assert_array_equal(model.predict(pandas_frame(X)), model.predict(X))


def test_a_frame_with_names_is_remarked_once(recwarn):
    model = LocalClassifierPerParentNode(SGD).fit(X, Y)
    rows = named_frame(X)
    recwarn.clear()
    model.predict(rows)
    remarks = [str(w.message) for w in recwarn if "feature names" in str(w.message)]
    assert len(remarks) == 1
    assert "LocalClassifierPerParentNode was fitted without feature names" in remarks[0]


@pytest.mark.parametrize(
    "rows",
    [
        ["some text", "another"],
        np.array(["some text", "another"], dtype=object),
        X.toarray()[..., None],
    ],
    ids=["texts", "array of texts", "three dimensions"],
)
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_what_is_not_a_table_of_numbers_is_refused_as_without_packing(
    estimator_class, rows, monkeypatch
):
    other = fit_plain(monkeypatch, estimator_class(SGD), X, Y)
    with pytest.raises(ValueError) as expected:  # noqa: PT011 it is compared below
        other.predict(rows)
    model = estimator_class(SGD).fit(X, Y)
    assert holds_packed(model._models)
    with pytest.raises(ValueError, match=re.escape(re.split("[,.]", str(expected.value))[0])):
        model.predict(rows)


def test_texts_reach_the_pipeline_inside_a_conformal_model():
    words = np.array([f"w{j}" for j in range(100)])
    texts = [" ".join(words[row.indices]) for row in X]
    rare = [" ".join(f"{word}x{i}" for word in ("p", "q", "r")) for i in range(len(texts))]
    pipeline = make_pipeline(CountVectorizer(), LocalClassifierPerParentNode(SGD))
    model = ConformalClassifier(pipeline, random_state=0).fit(
        [f"{a} {b}" for a, b in zip(texts, rare, strict=True)], Y
    )
    assert holds_packed(model._models)
    assert (model.predict(texts) == np.array(Y)).mean() > 0.9


# -- values ----------------------------------------------------------------------------------------

MODELS = {
    "sgd": LocalClassifierPerParentNode(SGD),
    "calibrated": LocalClassifierPerParentNode(CalibratedClassifierCV(SGD, cv=2)),
    "pipeline": LocalClassifierPerNode(make_pipeline(MaxAbsScaler(), SGD)),
    "callable": LocalClassifierPerLevel(lambda path: SGD),
    "ensemble": EnsembleClassifier(
        [
            ("a", LocalClassifierPerParentNode(make_pipeline(MaxAbsScaler(), SGD))),
            ("b", FlatClassifier(make_pipeline(MaxAbsScaler(), SGD))),
        ]
    ),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MODELS)
def test_values_that_are_not_finite_are_found_in_columns_that_no_classifier_has(name, value):
    model = MODELS[name].fit(X, Y)
    assert holds_packed(model._models)
    bad = X.tolil()
    bad[3, N_FEATURES - 1] = value
    message = "Input X contains NaN" if np.isnan(value) else "Input X contains infinity"
    for rows in (bad.tocsr(), bad.tocsc(), bad.toarray(), pandas_frame(bad), sparse_frame(bad)):
        for predict in (model.predict, model.predict_proba, model.predict_node_proba):
            with pytest.raises(ValueError, match=message):
                predict(rows)


def test_an_error_names_the_model_and_not_a_classifier():
    model = LocalClassifierPerNode(make_pipeline(MaxAbsScaler(), SGD)).fit(X, Y)
    bad = X.tolil()
    bad[0, N_FEATURES - 1] = np.nan
    restricted = model.restricted_to([["a0"]])
    with pytest.raises(ValueError, match=r"Input X contains NaN.\nLocalClassifierPerNode"):
        restricted.predict(bad.tocsr())


# -- widths ----------------------------------------------------------------------------------------


def test_more_columns_than_numbers_of_32_bits_are_not_packed(monkeypatch):
    monkeypatch.setattr(packed, "_MOST_COLUMNS", N_FEATURES - 1)
    model = LocalClassifierPerParentNode(SGD).fit(X, Y)
    assert not holds_packed(model._models)
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("solver", ["auto", "sparse_cg", "cholesky", "lsqr"])
@pytest.mark.parametrize("n_rows", [60, 76, 80, 84, 300, 600, 604])
def test_ridge_is_solved_as_at_full_width(solver, n_rows, monkeypatch):
    rows, y = make_rows(n_rows)
    y = [path[0] for path in y]
    ridge = RidgeClassifier(solver=solver, fit_intercept=solver != "cholesky")
    model = FlatClassifier(ridge).fit(rows, y)
    other = fit_plain(monkeypatch, FlatClassifier(ridge), rows, y)
    # All 80 columns of words occur; the dual problem is solved with fewer rows than columns.
    is_same_problem = n_rows < 80 or n_rows >= N_FEATURES
    coef = model.local_classifiers_[()].coef_
    assert sp.issparse(coef) == (is_same_problem or solver == "lsqr")
    coef = np.ravel(coef.toarray() if sp.issparse(coef) else coef)
    expected = np.ravel(other.local_classifiers_[()].coef_)
    np.testing.assert_allclose(coef, expected, rtol=0, atol=1e-12)
