"""``HierarchicalClassifier`` and the tools around it: searches, guarantees, reports, files."""

import pickle
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_html_repr, get_tags
from zoo import DAG, zoo

import hiclass
from hiclass import (
    TRUSTED_TYPES,
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalClassifier,
    HierarchicalKFold,
    explain,
    make_report,
    tune_confidence,
)
from hiclass._wrapping import unwrap
from hiclass.metrics import f1

QUICK = {"effort": "quick", "random_state": 0}


@pytest.fixture(scope="module")
def complaints():
    """A frame with texts and numbers, and its paths."""
    words = {
        ("Card", "Theft"): "somebody stole the card",
        ("Card", "Charge"): "a charge twice on the card",
        ("Loan", "Car"): "a loan for a car",
        ("Loan", "House"): "the house and its loan",
    }
    y = list(words) * 9
    text = [f"{words[path]} in week {'early' if i % 2 else 'late'}" for i, path in enumerate(y)]
    amount = np.random.default_rng(0).uniform(1, 99, len(y))
    return pandas.DataFrame({"text": text, "amount": amount}), np.array(y, dtype=object)


@pytest.fixture(scope="module")
def fitted(noisy):
    return HierarchicalClassifier(**QUICK).fit(*noisy)


@pytest.fixture(scope="module")
def of_frame(complaints):
    return HierarchicalClassifier(**QUICK).fit(*complaints)


# -- parameters and representations ------------------------------------------------------------


def test_clone_copies_every_parameter_and_nothing_fitted(noisy):
    model = HierarchicalClassifier(
        GaussianNB(var_smoothing=1e-3),
        optimize="f1",
        effort="quick",
        hierarchy={"a": ["a1"]},
        multi_label=True,
        min_confidence=0.25,
        n_jobs=2,
        random_state=7,
        verbose=1,
    )
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert repr(clone(model)) == repr(model)
    again = clone(HierarchicalClassifier(GaussianNB(), **QUICK).fit(*noisy))
    assert [name for name in vars(again) if name.endswith("_") or name.startswith("_")] == []


def test_parameters_of_the_given_classifier_are_reached():
    model = HierarchicalClassifier(LogisticRegression())
    assert model.set_params(local_classifier__C=3.0).local_classifier.C == 3.0
    assert model.get_params()["local_classifier__C"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        model.set_params(depth=3)


def test_repr_shows_parameters_and_what_was_chosen(fitted):
    assert repr(HierarchicalClassifier()) == "HierarchicalClassifier()"
    chosen = "flat kernel: a kernel ridge classifier over all final classes"
    shown = "HierarchicalClassifier(effort='quick', random_state=0)"
    assert repr(fitted) == str(fitted) == f"{shown}  # {chosen}"
    assert repr(clone(fitted)) == shown


def test_html_shows_the_estimator(fitted):
    for model in (fitted, HierarchicalClassifier(GaussianNB())):
        assert "HierarchicalClassifier" in model._repr_html_()
        assert "HierarchicalClassifier" in estimator_html_repr(make_pipeline(model))


def test_tags():
    tags = get_tags(HierarchicalClassifier())
    assert tags.estimator_type == "classifier"
    for name in ("sparse", "allow_nan", "string", "categorical", "dict"):
        assert getattr(tags.input_tags, name)
    assert not get_tags(HierarchicalClassifier(GaussianNB())).input_tags.sparse
    assert get_tags(HierarchicalClassifier(MultinomialNB())).input_tags.positive_only
    assert get_tags(HierarchicalClassifier(lambda path: GaussianNB())).input_tags.sparse


# -- searches and pipelines --------------------------------------------------------------------


def test_grid_search_over_effort_and_optimize(noisy):
    X, y = noisy
    grid = {"effort": ["quick", "balanced"], "optimize": ["path", "f1"]}
    search = GridSearchCV(
        HierarchicalClassifier(GaussianNB(), random_state=0),
        grid,
        cv=HierarchicalKFold(2),
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"]) > 0.8
    assert len(search.cv_results_["params"]) == 4
    np.testing.assert_array_equal(
        hiclass.predict_confidence(search, X), search.best_estimator_.predict_confidence(X)
    )


def test_cross_validation_of_numbers_and_frames(noisy, complaints):
    for X, y in (noisy, complaints):
        found = cross_validate(
            HierarchicalClassifier(**QUICK), X, y, cv=HierarchicalKFold(3), error_score="raise"
        )
        assert found["test_score"].mean() > 0.7


def test_at_the_end_of_a_pipeline(noisy):
    X, y = noisy
    pipeline = make_pipeline(MinMaxScaler(), HierarchicalClassifier(**QUICK)).fit(X, y)
    scaled = MinMaxScaler().fit_transform(X)
    alone = HierarchicalClassifier(**QUICK).fit(scaled, y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    opened = unwrap(pipeline)
    assert opened.model.decoding == "best_path"
    np.testing.assert_allclose(
        opened.model.predict_node_proba(opened.transform(X)),
        hiclass.predict_node_proba(pipeline, X),
    )


def test_queries_of_the_fitted_model(noisy, fitted):
    X, _ = noisy
    for model in (fitted, FrozenEstimator(fitted)):
        np.testing.assert_allclose(
            hiclass.predict_confidence(model, X), fitted.predict_confidence(X)
        )
        np.testing.assert_allclose(
            hiclass.predict_node_proba(model, X), fitted.predict_node_proba(X)
        )
        paths, proba = hiclass.predict_paths(model, X, k=2)
        np.testing.assert_array_equal(paths, fitted.predict_paths(X, k=2)[0])
        assert proba.shape == (60, 2)


def test_an_opened_model_decides_as_the_estimator_does(noisy):
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB(), random_state=0)
    model.fit(X * [1, 1000, 1, 1], y).set_params(optimize="f1", min_confidence=0.6)
    rows = X * [1, 1000, 1, 1]
    opened = unwrap(model)
    assert [type(step).__name__ for step in opened.before] == ["TableFeatures", "StandardScaler"]
    np.testing.assert_array_equal(opened.model.predict(opened.transform(rows)), model.predict(rows))
    assert opened.model.min_confidence == 0.6
    # The model inside stays as it is, and restrictions are part of what is opened.
    assert model.model_.min_confidence == 0
    restricted = unwrap(model.restricted_to([("a",)]))
    assert set(restricted.model.predict(restricted.transform(rows))[:, 0]) <= {"a", ""}
    assert unwrap(HierarchicalClassifier()).before == []


def test_an_ensemble_of_it_is_refused_with_the_reason(noisy):
    members = [("start", HierarchicalClassifier()), ("flat", FlatClassifier())]
    message = "The model 'start' is a HierarchicalClassifier, which computes its own features"
    with pytest.raises(TypeError, match=message):
        EnsembleClassifier(members).fit(*noisy)


# -- guarantees --------------------------------------------------------------------------------


def test_with_a_guarantee(noisy, complaints):
    for X, y in (noisy, complaints):
        model = ConformalClassifier(HierarchicalClassifier(**QUICK), alpha=0.2, random_state=0)
        model.fit(X, y)
        assert model.predict(X).shape == (len(y), 2)
        frozen = ConformalClassifier(
            FrozenEstimator(HierarchicalClassifier(**QUICK).fit(X, y)), alpha=0.2
        ).fit(X, y)
        assert f1(y, frozen.predict(X)) > 0.8


def test_a_confidence_is_tuned(noisy, fitted, complaints, of_frame):
    for model, (X, y) in ((fitted, noisy), (of_frame, complaints)):
        limit = tune_confidence(model, X, y, precision=0.9)
        assert 0 <= limit <= 1


# -- explanations ------------------------------------------------------------------------------


def test_explanations_name_words_and_columns(complaints, of_frame):
    X, _ = complaints
    shown = str(explain(of_frame, X[:1]))
    assert shown.startswith("Card > Theft (probability")
    assert "stole" in shown
    assert "LinearSVC" in shown


def test_explanations_of_numbers_name_columns(noisy):
    X, y = noisy
    model = HierarchicalClassifier(LogisticRegression(), **QUICK)
    frame = pandas.DataFrame(X, columns=["length", "width", "height", "mass"])
    shown = str(explain(model.fit(frame, y), frame[:1]))
    assert any(name in shown for name in frame.columns)
    assert "x0" in str(explain(model.fit(X, y), X[:1]))


def test_a_report_names_words_and_columns(complaints, of_frame, tmp_path):
    X, y = complaints
    report = make_report(of_frame, X, y)
    report.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for word in ("stole", "charge", "house"):
        assert word in page


def test_a_report_of_what_was_chosen_for_numbers(noisy):
    X, y = noisy
    model = HierarchicalClassifier(random_state=0).fit(X, y)
    assert "a1" in make_report(model, X, y)._repr_html_()


def test_sets_of_classes_are_explained_and_reported():
    X, y = zoo(30)
    model = HierarchicalClassifier(hierarchy=DAG, multi_label=True, **QUICK).fit(X, y)
    (labels,) = model.predict(X[:1])
    assert str(explain(model, X[:1])).startswith(", ".join(labels))
    assert make_report(model, X, y).html.startswith("<!DOCTYPE html>")


# -- ONNX --------------------------------------------------------------------------------------


def run_onnx(model, rows):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    session = runtime.InferenceSession(hiclass.to_onnx(model).SerializeToString())
    return session.run(["labels", "node_probabilities"], {"X": rows})


@pytest.mark.parametrize("units", [1, [1, 1000, 1, 1]], ids=["as they are", "scaled"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "missing"])
def test_numbers_are_exported_to_onnx(noisy, units, gaps):
    X, y = noisy[0] * units, noisy[1]
    rows = X.copy()
    if gaps:
        rows[::7, 1] = np.nan
    model = HierarchicalClassifier(LogisticRegression(), **QUICK).fit(rows, y)
    rows[0, 0] = np.nan  # filled in even where none was missing in fit
    labels, proba = run_onnx(model, rows)
    np.testing.assert_array_equal(labels, model.predict(rows))
    np.testing.assert_allclose(proba, model.predict_node_proba(rows), atol=1e-9)


def test_what_was_fitted_on_sparse_rows_is_exported_to_onnx(noisy):
    X, y = noisy
    model = HierarchicalClassifier(**QUICK).fit(sp.csr_matrix(X), y)
    labels, _ = run_onnx(model, X)
    np.testing.assert_array_equal(labels, model.predict(sp.csr_matrix(X)))


def test_what_cannot_be_exported_says_why(fitted, of_frame):
    pytest.importorskip("skl2onnx")
    with pytest.raises(ValueError, match="a KernelRidgeClassifier, is calibrated by its decision"):
        hiclass.to_onnx(fitted)
    with pytest.raises(ValueError, match="the features that TableFeatures computes from columns"):
        hiclass.to_onnx(of_frame)


# -- files -------------------------------------------------------------------------------------


def same(back, model, X):
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    # Weights of linear classifiers on sparse rows are rounded in files.
    np.testing.assert_allclose(
        back.predict_node_proba(X), model.predict_node_proba(X), rtol=1e-4, atol=1e-9
    )
    assert back.choices_ == model.choices_
    assert back.scores_ == model.scores_
    assert repr(back) == repr(model)
    back.set_params(optimize="f1").predict(X)


@pytest.mark.parametrize("kind", ["kernel", "forest", "product", "words"])
def test_files(kind, noisy, complaints, tmp_path):
    X, y = noisy
    model = {
        "kernel": lambda: HierarchicalClassifier(**QUICK).fit(X, y),
        "forest": lambda: HierarchicalClassifier(
            ExtraTreesClassifier(3), optimize=likes_forests, random_state=0
        ).fit(X, y),
        "product": lambda: HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y),
        "words": lambda: HierarchicalClassifier(random_state=0).fit(*complaints),
    }[kind]()
    rows = complaints[0] if kind == "words" else X
    model.set_params(optimize=None)  # skops writes no functions of users
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    joblib.dump(model, tmp_path / "model.joblib")
    for back in (
        hiclass.load(path),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
    ):
        same(back, model, rows)
    if kind != "forest":
        content = skops.io.dumps(model)
        assert set(skops.io.get_untrusted_types(data=content)) <= set(TRUSTED_TYPES)


def likes_forests(model, X, y):
    return -float(len(str(model)))


def test_a_file_is_predicted_by_another_process(noisy, fitted, tmp_path):
    X, _ = noisy
    skops.io.dump(fitted, tmp_path / "model.skops")
    np.save(tmp_path / "rows.npy", X)
    program = (
        "import sys, numpy as np, hiclass\n"
        f"model = hiclass.load({str(tmp_path / 'model.skops')!r})\n"
        f"print(model.predict(np.load({str(tmp_path / 'rows.npy')!r}))[:, 1].tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(fitted.predict(X)[:, 1].tolist())


def test_it_holds_no_rows_but_landmarks(noisy):
    X, y = noisy
    model = HierarchicalClassifier(LinearSVC(), random_state=0).fit(X, y)
    sizes = [len(value) for value in vars(model).values() if isinstance(value, np.ndarray | list)]
    assert 60 not in sizes


# -- warnings ----------------------------------------------------------------------------------


def test_users_are_not_warned_of_what_was_chosen_for_them():
    """Nearly every row a class of its own, and classes that no line separates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30))
    y = [["a" if i % 2 else "b", f"c{i // 2}"] for i in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, sp.csr_matrix(np.abs(X) ** 8)):
            HierarchicalClassifier(random_state=0).fit(rows, y).predict(rows)


def test_warnings_of_a_given_classifier_are_not_hidden(noisy):
    X, y = noisy
    given = LogisticRegression(max_iter=1)
    with pytest.warns(UserWarning, match="failed to converge"):
        HierarchicalClassifier(given, **QUICK).fit(X, y)


# -- networks ----------------------------------------------------------------------------------


@pytest.mark.heavy
def test_networks_are_tried_where_pytorch_is_there(noisy, tmp_path):
    pytest.importorskip("torch")
    X, y = sp.csr_matrix(noisy[0]), noisy[1]
    first, again = (
        HierarchicalClassifier(optimize=_likes_networks, random_state=0).fit(X, y) for _ in "ab"
    )
    assert "network" in first.scores_
    assert first.choices_["model"] == "network: a network over all final classes"
    np.testing.assert_array_equal(first.predict_node_proba(X), again.predict_node_proba(X))
    first.set_params(optimize=None)
    skops.io.dump(first, tmp_path / "model.skops")
    back = hiclass.load(tmp_path / "model.skops")
    np.testing.assert_allclose(
        back.predict_node_proba(X), first.predict_node_proba(X), rtol=1e-4, atol=1e-9
    )


def _likes_networks(model, X, y):
    return float(type(model).__name__ == "HierarchicalSoftmaxClassifier")
