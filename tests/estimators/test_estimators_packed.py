"""Models of sparse rows with linear local classifiers, which keep the weights of their own columns.

What users see is what it would be if every classifier had all columns: the fixture ``plain`` fits
that way. Everything that a fitted model can do is tried on models whose classifiers are packed.
"""

import copy
import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from estimator_classes import ESTIMATOR_CLASSES
from packed_helpers import (
    N_FEATURES,
    NEW,
    ROWS,
    SGD,
    SVC,
    X,
    Y,
    assert_same,
    end_early,
    make_rows,
    packed_in,
    unsorted,
    with_duplicates,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
    make_report,
    tune_confidence,
)
from hiclass._engine import packed
from hiclass._engine.fit import ENGINES
from hiclass._state import Packed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def plain(monkeypatch):
    """Fits a model all of whose classifiers have all columns."""

    def fit(model, *args, **params):
        with monkeypatch.context() as patch:
            patch.setattr(packed, "can_be_packed", lambda estimator: False)
            model = model.fit(*args, **params)
        assert not packed_in(model)
        return model

    return fit


EXACT = {
    "svc": SVC,
    "svc, default": LinearSVC(random_state=0),
    "sgd": SGD,
    "perceptron": Perceptron(random_state=0),
    "saga": LogisticRegression(solver="saga", random_state=0, max_iter=30),
    "pipeline": make_pipeline(MaxAbsScaler(), SGD),
}
CLOSE = {
    "logistic": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "calibrated": CalibratedClassifierCV(SVC, cv=2),
    "scaled": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
}


# -- every estimator, every local classifier -------------------------------------------------------


@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_predictions_are_those_of_classifiers_with_all_columns(estimator_class, name, plain):
    estimator = {**EXACT, **CLOSE}[name]
    if name == "perceptron" and estimator_class is LocalClassifierPerLevel:
        estimator = SVC
    tolerance = {} if name in EXACT else {"atol": 1e-4}
    y = Y if estimator_class is FlatClassifier else end_early(Y)
    calibration = None if hasattr(estimator, "predict_proba") else "temperature"
    model = estimator_class(estimator, calibration=calibration, random_state=3)
    other = plain(copy.deepcopy(model), X, y)
    model.fit(X, y)
    assert len(packed_in(model)) == len(model._models.classifiers) + len(model._models.gates)
    assert_same(model, other, **tolerance)
    assert_same(model, other, NEW.toarray(), atol=1e-4)


@pytest.mark.parametrize(
    "estimator",
    [MultinomialNB(), make_pipeline(Normalizer(), SGD), LinearSVC(penalty="l1", dual=False)],
)
def test_other_classifiers_have_all_columns(estimator):
    model = LocalClassifierPerParentNode(estimator).fit(X, Y)
    assert not packed_in(model)
    assert {c.n_features_in_ for c in model.local_classifiers_.values()} == {N_FEATURES}


def test_dense_rows_are_fitted_as_they_are():
    model = LocalClassifierPerParentNode(SGD).fit(X.toarray(), Y)
    assert not packed_in(model)


def test_problems_with_most_of_the_columns_have_all_of_them(plain):
    used = np.flatnonzero(X.getnnz(axis=0))
    model = LocalClassifierPerParentNode(SVC).fit(X[:, used], Y)
    other = plain(LocalClassifierPerParentNode(SVC), X[:, used], Y)
    root, *others = packed_in(model)
    np.testing.assert_array_equal(root.columns, np.arange(len(used)))
    assert {len(p.columns) * 2 <= len(used) for p in others} == {True}
    coef = model.local_classifiers_[()].coef_
    np.testing.assert_array_equal(coef, other.local_classifiers_[()].coef_)
    assert isinstance(coef, np.ndarray)
    assert_same(model, other, NEW[:, used])


@pytest.mark.parametrize("decoding", ["top_down", "best_path", "expected_f1"])
@pytest.mark.parametrize("calibration", [None, "temperature", "joint"])
def test_decodings_and_calibrations(decoding, calibration, plain):
    model = LocalClassifierPerParentNode(SGD, decoding=decoding, calibration=calibration)
    other = plain(copy.deepcopy(model), X, end_early(Y))
    model.fit(X, end_early(Y))
    assert packed_in(model)
    assert_same(model, other)
    for mine, theirs in zip(
        model.predict_paths(NEW, k=3), other.predict_paths(NEW, k=3), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_scores_alone(plain):
    model, other = LocalClassifierPerLevel(SVC), plain(LocalClassifierPerLevel(SVC), X, Y)
    assert_same(model.fit(X, Y), other)
    assert not hasattr(model, "predict_proba")


def test_a_model_that_is_restricted_to_some_classes(plain):
    model, other = (
        fit(LocalClassifierPerParentNode(SGD), X, Y).restricted_to([("a0",), ("a1", "b0")])
        for fit in (type(LocalClassifierPerParentNode()).fit, plain)
    )
    assert packed_in(model)
    assert_same(model, other)
    assert model.local_classifiers_[()].n_features_in_ == N_FEATURES


@pytest.mark.parametrize("weights", [None, "learned"])
def test_ensembles_and_what_is_built_on_models(weights, plain):
    def make():
        members = [("parent", LocalClassifierPerParentNode(SGD)), ("flat", FlatClassifier(SGD))]
        return EnsembleClassifier(members, weights=weights)

    model, other = make().fit(X, Y), plain(make(), X, Y)
    assert packed_in(model)
    assert_same(model, other, atol=1e-12)


def test_conformal_sets_and_a_tuned_confidence():
    model = ConformalClassifier(LocalClassifierPerParentNode(SGD), random_state=0).fit(X, Y)
    assert len(model.predict_set(NEW)) == NEW.shape[0]
    tuned = tune_confidence(
        LocalClassifierPerParentNode(SGD).fit(X, Y), NEW, make_rows(40, seed=1)[1]
    )
    assert tuned is not None


# -- sets of classes -------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
@pytest.mark.parametrize("estimator", [SGD, LogisticRegression()], ids=["sgd", "logistic"])
def test_several_labels_per_row(estimator_class, estimator, plain):
    several = [[tuple(path), tuple(Y[i // 2])] for i, path in enumerate(Y)]
    model = estimator_class(estimator, multi_label=True)
    other = plain(copy.deepcopy(model), X, several)
    model.fit(X, several)
    assert len(packed_in(model)) == len(model._models.classifiers)
    proba, expected = model.predict_node_proba(NEW), other.predict_node_proba(NEW)
    np.testing.assert_allclose(proba, expected, atol=0 if estimator is SGD else 1e-4)
    for classifier in model.local_classifiers_.values():
        assert np.asarray(classifier.predict_proba(NEW)).shape[0] == NEW.shape[0]


def test_a_dag(plain):
    edges = [("a0", "b0"), ("a0", "b1"), ("a1", "b1"), ("a1", "b2"), ("a2", "b2"), ("a2", "b3")]
    y = [f"b{(i // 4) % 4}" for i in range(X.shape[0])]
    for estimator_class in (LocalClassifierPerParentNode, LocalClassifierPerNode):
        model = estimator_class(SGD, hierarchy=edges)
        other = plain(copy.deepcopy(model), X, y)
        model.fit(X, y)
        assert packed_in(model)
        np.testing.assert_array_equal(model.predict(NEW), other.predict(NEW))
        np.testing.assert_array_equal(model.predict_node_proba(NEW), other.predict_node_proba(NEW))


# -- what users see --------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_local_classifiers_are_estimators_of_full_width(estimator_class, plain):
    model, other = estimator_class(SGD).fit(X, Y), plain(estimator_class(SGD), X, Y)
    assert list(model.local_classifiers_) == list(other.local_classifiers_)
    for key, mine in model.local_classifiers_.items():
        theirs = other.local_classifiers_[key]
        assert type(mine) is SGDClassifier
        assert mine.n_features_in_ == N_FEATURES
        assert sp.issparse(mine.coef_)
        assert mine.coef_.format == "csr"
        np.testing.assert_array_equal(mine.coef_.toarray(), theirs.coef_)
        np.testing.assert_array_equal(mine.intercept_, theirs.intercept_)
        for rows in (NEW, NEW.toarray()):
            np.testing.assert_allclose(
                mine.predict_proba(rows), theirs.predict_proba(rows), atol=1e-12
            )
            np.testing.assert_array_equal(mine.predict(rows), theirs.predict(rows))
        again = model.local_classifiers_[key]
        assert again is mine
        assert len(model.local_classes_[key]) == len(mine.classes_)
        np.testing.assert_array_equal(mine.densify().predict(NEW), theirs.predict(NEW))


def test_gates_are_estimators_of_full_width():
    model = LocalClassifierPerNode(SGD).fit(X, end_early(Y))
    assert len(model.stop_classifiers_) > 0
    assert {c.coef_.shape for c in model.stop_classifiers_.values()} == {(1, N_FEATURES)}


def test_levels_are_looked_up_and_shown():
    model = LocalClassifierPerLevel(SGD).fit(X, Y)
    assert list(model.local_classifiers_) == [1, 2, 3]
    assert model.local_classifiers_[2].coef_.shape == (6, N_FEATURES)
    assert repr(model.local_classifiers_).startswith("{1: SGDClassifier(")
    with pytest.raises(KeyError):
        model.local_classifiers_[4]


def test_the_weights_that_are_kept_are_those_of_the_columns_of_each_problem():
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    codes = np.array([path[0] for path in Y])
    for name in ("a0", "a1", "a2"):
        fitted = model._models.classifiers[model.hierarchy_.find((name,))]
        here = np.flatnonzero(X[codes == name].getnnz(axis=0))
        np.testing.assert_array_equal(fitted.columns, here)
        assert fitted.columns.dtype == np.int32
        assert fitted.estimator.coef_.shape[1] == len(here)


@pytest.mark.parametrize("estimator", [SVC, make_pipeline(MaxAbsScaler(), SVC)])
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_explanations_are_those_of_classifiers_with_all_columns(estimator_class, estimator, plain):
    make = {"calibration": "temperature"}
    model = estimator_class(estimator, **make).fit(X, Y)
    other = plain(estimator_class(estimator, **make), X, Y)
    names = [f"word {j}" for j in range(N_FEATURES)]
    for row in (0, 5):
        mine, theirs = (explain(m, NEW[row], feature_names=names).to_dict() for m in (model, other))
        assert json.dumps(mine) == json.dumps(theirs)


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_reports_are_those_of_classifiers_with_all_columns(estimator_class, plain):
    y = make_rows(40, seed=1)[1]
    for model in (estimator_class(SGD).fit(X, Y), plain(estimator_class(SGD), X, Y)):
        report = make_report(model, NEW, y)
        if packed_in(model):
            expected = report.data["features"]
    assert expected["names"]
    assert report.data["features"] == expected


# -- where it is fitted, and how it travels --------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("estimator", [SGD, LogisticRegression()], ids=["sgd", "logistic"])
def test_jobs_make_no_difference(backend, estimator):
    rows, y = make_rows(1200)
    serial = LocalClassifierPerParentNode(estimator).fit(rows, y)
    with joblib.parallel_config(backend=backend):
        model = LocalClassifierPerParentNode(estimator, n_jobs=2).fit(rows, y)
        assert len(packed_in(model)) == len(packed_in(serial)) == 10
        assert_same(model, serial)
    assert_same(model, serial)


def test_threads_share_the_classes_of_a_packed_problem():
    rows, y = make_rows(1200)
    svc = LinearSVC(tol=1e-6, random_state=0, max_iter=100_000)
    serial = FlatClassifier(svc).fit(rows, y)
    with joblib.parallel_config(backend="threading"):
        model = FlatClassifier(svc, n_jobs=2).fit(rows, y)
    assert len(packed_in(model)) == len(packed_in(serial)) == 1
    mine, theirs = model.local_classifiers_[()], serial.local_classifiers_[()]
    assert mine.dual == "auto"
    assert mine.n_features_in_ == N_FEATURES
    np.testing.assert_allclose(mine.coef_.toarray(), theirs.coef_.toarray(), atol=1e-3)
    np.testing.assert_array_equal(model.predict(NEW), serial.predict(NEW))


def test_threads_decide_about_the_dual_problem_at_full_width():
    rows, y = make_rows(590)  # fewer than columns, and more than columns that occur
    svc = LinearSVC(tol=1e-8, random_state=0, max_iter=100_000)
    dual = LinearSVC(dual=True, tol=1e-8, random_state=0, max_iter=100_000)
    found = []
    for estimator in (svc, dual):
        with joblib.parallel_config(backend="threading"):
            model = LocalClassifierPerParentNode(estimator, n_jobs=2).fit(rows, y)
        found.append(model._models.classifiers[0].estimator.intercept_)
    np.testing.assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
@pytest.mark.parametrize("min_coef", [0, 0.2])
def test_what_workers_send_back_is_packed(backend, min_coef, monkeypatch):
    rows, y = make_rows(1200)
    came_back = []

    def spy(run):
        def wrapper(*args):
            for done in run(*args):
                came_back.append(len(pickle.dumps(done)))
                assert isinstance(done.estimator, Packed)
                yield done

        return wrapper

    for name, engine in ENGINES.items():
        monkeypatch.setitem(ENGINES, name, replace(engine, run=spy(engine.run)))
    with joblib.parallel_config(backend=backend):
        model = LocalClassifierPerParentNode(SGD, n_jobs=2, min_coef=min_coef).fit(rows, y)
    assert len(came_back) == len(packed_in(model)) == 10
    assert max(came_back) < 3 * 8 * N_FEATURES / 2  # the root has three classes
    assert_same(model, LocalClassifierPerParentNode(SGD, min_coef=min_coef).fit(rows, y))


def test_checkpoints_hold_packed_classifiers(tmp_path):
    first = LocalClassifierPerParentNode(SGD, checkpoint_dir=tmp_path).fit(X, Y)
    files = {path: path.stat().st_mtime_ns for path in Path(tmp_path).iterdir()}
    assert len(files) == len(first.local_classifiers_)
    again = LocalClassifierPerParentNode(SGD, checkpoint_dir=tmp_path).fit(X, Y)
    assert {path: path.stat().st_mtime_ns for path in Path(tmp_path).iterdir()} == files
    assert len(packed_in(again)) == len(packed_in(first)) > 0
    assert_same(again, first)


# -- learning from batches afterwards --------------------------------------------------------------


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
@pytest.mark.parametrize("average", [False, True])
def test_batches_after_a_fit_may_have_other_columns(estimator_class, average, plain):
    sgd = SGDClassifier(loss="log_loss", max_iter=5, tol=None, average=average, random_state=0)
    model, other = estimator_class(sgd).fit(X, Y), plain(estimator_class(sgd), X, Y)
    rows, y = make_rows(48, seed=2)
    moved = sp.csr_matrix((rows.data, rows.indices + 200, rows.indptr), shape=rows.shape)
    before = model.predict_node_proba(NEW)
    kept = copy.deepcopy(model)
    for batch in (rows, moved):
        model.partial_fit(batch, y)
        other.partial_fit(batch, y)
        # How old versions of BLAS round an average depends on the number of columns.
        assert_same(model, other, batch, atol=1e-12 if average else 0.0)
    np.testing.assert_array_equal(kept.predict_node_proba(NEW), before)
    fitted = next(iter(model.local_classifiers_.values()))
    assert isinstance(fitted.coef_, np.ndarray)
    assert np.abs(fitted.coef_[:, 210:]).sum() > 0


def test_an_error_in_a_batch_leaves_a_packed_model_as_it_was():
    model = LocalClassifierPerParentNode(SGD).fit(X, Y)
    before = model.predict_node_proba(NEW)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :-1], Y)
    np.testing.assert_array_equal(model.predict_node_proba(NEW), before)
    assert packed_in(model)


# -- what fit is told ------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SVC, SGD], ids=["svc", "sgd"])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_weights_of_rows_and_classes(estimator, in_pipeline, plain):
    of_classes = {tuple(Y[0]): 5.0, tuple(Y[0][:2]): 2.0}
    weighted = copy.deepcopy(estimator).set_params(class_weight=of_classes)
    weighted = make_pipeline(MaxAbsScaler(), weighted) if in_pipeline else weighted
    model = LocalClassifierPerParentNode(weighted, calibration="temperature", temperature=1.0)
    params = {"sample_weight": 1.0 + np.arange(len(Y)) % 3}
    other = plain(copy.deepcopy(model), X, Y, **params)
    model.fit(X, Y, **params)
    assert packed_in(model)
    assert_same(model, other)


def test_parameters_with_an_entry_per_column_are_left_alone():
    start = np.zeros((1, N_FEATURES))
    y = ["a", "b"] * 60
    model = FlatClassifier(SGD).fit(X, y, coef_init=start)
    assert not packed_in(model)


def test_seeds_are_those_of_the_problems():
    model = LocalClassifierPerParentNode(SGDClassifier(), random_state=5).fit(X, Y)
    seeds = {c.random_state for c in model.local_classifiers_.values()}
    assert len(seeds) == len(model.local_classifiers_)
    again = LocalClassifierPerParentNode(SGDClassifier(), random_state=5).fit(X, Y)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(dual=True, max_iter=1, tol=1e-9, random_state=0),
        LogisticRegression(max_iter=1),
        SGDClassifier(max_iter=1, random_state=0),
        make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1)),
    ],
)
def test_warnings_are_those_of_scikit_learn(estimator, plain):
    found = []
    for fit in (LocalClassifierPerParentNode.fit, plain):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(LocalClassifierPerParentNode(estimator), X, Y)
        found.append([(w.category, str(w.message), w.filename, w.lineno) for w in caught])
    assert found[0] == found[1]
    assert {category for category, *_ in found[0]} == {ConvergenceWarning}


# -- unusual rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ROWS.values(), ids=list(ROWS))
@pytest.mark.parametrize("estimator", [SVC, SGD], ids=["svc", "sgd"])
def test_kinds_of_rows(estimator, change, plain):
    calibration = "temperature" if estimator is SVC else None
    rows, new = change(X), change(NEW)
    model = LocalClassifierPerParentNode(estimator, calibration=calibration)
    other = plain(copy.deepcopy(model), rows, Y)
    model.fit(rows, Y)
    assert packed_in(model)
    assert_same(model, other, new)
    assert_same(model, other, change(NEW[:1]))


def test_rows_are_left_as_they_were():
    for rows in (unsorted(X), with_duplicates(X)):
        before = rows.copy()
        model = LocalClassifierPerParentNode(make_pipeline(MaxAbsScaler(copy=False), SGD)).fit(
            rows, Y
        )
        model.predict(rows)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(rows, name), getattr(before, name))


def test_one_row():
    model = LocalClassifierPerParentNode(SGD).fit(X[:1], Y[:1])
    np.testing.assert_array_equal(model.predict(NEW[:2]), [Y[0], Y[0]])


def test_no_rows_are_refused():
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    for predict in (model.predict, lambda rows: model.fit(rows, [])):
        with pytest.raises(ValueError, match="0 sample"):
            predict(X[:0])


def test_predictions_of_one_kind_of_rows_by_a_model_of_another(plain):
    model, other = (
        LocalClassifierPerParentNode(SGD).fit(X, Y),
        plain(LocalClassifierPerParentNode(SGD), X, Y),
    )
    for name, change in ROWS.items():
        exact = {} if name != "float32" else {"atol": 1e-6}
        assert_same(model, other, change(NEW), **exact)


def test_batches_of_all_kinds_of_rows_after_a_fit(plain):
    model, other = (
        LocalClassifierPerParentNode(SGD).fit(X, Y),
        plain(LocalClassifierPerParentNode(SGD), X, Y),
    )
    rows, y = make_rows(48, seed=2)
    for name, change in ROWS.items():
        if name != "float32":
            for one in (model, other):
                one.partial_fit(change(rows), y)
    assert_same(model, other)


def test_rows_that_are_not_numbers_are_refused_in_a_batch():
    model = LocalClassifierPerParentNode(SGD).fit(X, Y)
    rows = X.copy()
    rows.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(rows, Y)
    assert packed_in(model)


def test_weights_that_a_user_changes_do_not_change_the_model():
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    before = model.predict(NEW)
    weights = model.local_classifiers_[("a0",)].coef_
    weights.data[:] = 0
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_one_feature(plain):
    rows = sp.csr_matrix(np.arange(8.0)[:, None])
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 2
    model = LocalClassifierPerParentNode(SGD).fit(rows, y)
    assert_same(model, plain(LocalClassifierPerParentNode(SGD), rows, y), rows)


def test_rows_without_entries(plain):
    rows = sp.csr_matrix((8, 5))
    y = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 2
    for estimator in (SGD, LogisticRegression()):
        model = LocalClassifierPerParentNode(estimator).fit(rows, y)
        other = plain(LocalClassifierPerParentNode(estimator), rows, y)
        assert packed_in(model)
        assert_same(model, other, sp.csr_matrix(np.eye(5)), atol=1e-6)


def test_columns_that_appear_later_have_no_weight(plain):
    rows = sp.csr_matrix(np.eye(3, N_FEATURES, k=500))
    model, other = (
        LocalClassifierPerParentNode(SGD).fit(X, Y),
        plain(LocalClassifierPerParentNode(SGD), X, Y),
    )
    assert_same(model, other, rows)
    assert_same(model, other, sp.csr_matrix((2, N_FEATURES)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_numbers_are_refused(bad):
    rows = X.copy()
    rows.data[3] = bad
    message = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=message):
        LocalClassifierPerParentNode(SVC).fit(rows, Y)
    with pytest.raises(
        ValueError, match=message
    ):  # a pipeline may take them: its last step decides
        LocalClassifierPerParentNode(make_pipeline(MaxAbsScaler(), SVC)).fit(rows, Y)
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(rows)


def test_rows_of_another_width_are_refused():
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    for rows in (NEW[:, :-1], sp.hstack([NEW, NEW]).tocsr(), NEW.toarray()[:, 1:]):
        with pytest.raises(ValueError, match=f"expecting {N_FEATURES} features"):
            model.predict(rows)
