"""``min_coef``: weights that are small are dropped, and what is then left is used everywhere."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
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
)
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer
from sklearn.svm import LinearSVC
from sklearn.utils._param_validation import InvalidParameterError

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerParentNode,
    explain,
)

CALIBRATED = {"calibration": "temperature", "temperature": 1.0}


def dropped(coef, min_coef):
    """Weights as they have to be."""
    coef = coef.toarray() if sp.issparse(coef) else coef
    return np.where(np.abs(coef) < min_coef, 0, coef)


# -- what is dropped -------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [SVC, SGD, RidgeClassifier()], ids=["svc", "sgd", "ridge"])
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_weights_below_it_are_zero_and_others_as_they_were(estimator_class, estimator):
    y = Y if estimator_class is FlatClassifier else end_early(Y)
    params = {} if estimator is SGD else CALIBRATED
    model = estimator_class(estimator, min_coef=0.2, **params).fit(X, y)
    all_weights = estimator_class(estimator, **params).fit(X, y)
    for key, theirs in all_weights.local_classifiers_.items():
        mine = model.local_classifiers_[key]
        expected = dropped(theirs.coef_, 0.2)
        np.testing.assert_array_equal(mine.coef_.toarray(), expected)
        np.testing.assert_array_equal(mine.intercept_, theirs.intercept_)
        assert mine.n_features_in_ == N_FEATURES
    for packed in packed_in(model):
        coef = packed.estimator.coef_
        assert np.asarray(abs(coef).max(axis=0).todense() if sp.issparse(coef) else coef).any()
        assert packed.estimator.n_features_in_ == len(packed.columns)


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_predictions_follow_from_the_weights_that_are_left(estimator_class):
    model = estimator_class(SVC, min_coef=0.2, **CALIBRATED).fit(X, Y)
    other = estimator_class(SVC, **CALIBRATED).fit(X, Y)
    for packed in packed_in(other):
        packed.estimator.coef_[np.abs(packed.estimator.coef_) < 0.2] = 0
    for rows in (NEW, NEW.toarray(), NEW[:1]):
        assert_same(model, other, rows, atol=1e-12)


def test_none_are_dropped_by_default():
    model = LocalClassifierPerParentNode(SVC).fit(X, Y)
    assert model.get_params()["min_coef"] == 0
    assert not any(sp.issparse(p.estimator.coef_) for p in packed_in(model))
    exact = LocalClassifierPerParentNode(SVC, min_coef=1e-300).fit(X, Y)
    assert_same(exact, model)


def test_all_weights_may_be_dropped():
    model = LocalClassifierPerParentNode(SVC, min_coef=1e6, **CALIBRATED).fit(X, Y)
    proba = model.predict_node_proba(NEW)
    np.testing.assert_allclose(proba, proba[:1].repeat(len(proba), axis=0))
    assert {len(p.columns) for p in packed_in(model)} == {1}


@pytest.mark.parametrize("change", ROWS.values(), ids=list(ROWS))
def test_kinds_of_rows(change):
    model = LocalClassifierPerParentNode(SVC, min_coef=0.2, **CALIBRATED).fit(change(X), Y)
    same = LocalClassifierPerParentNode(SVC, min_coef=0.2, **CALIBRATED)
    same.fit(sp.csr_matrix(change(X), dtype=np.float64), Y)
    assert_same(model, same, change(NEW), atol=1e-6)


def test_rows_of_32_bits_and_weights_of_32_bits():
    rows, new = X.astype(np.float32), NEW.astype(np.float32)
    model = LocalClassifierPerParentNode(SGD, min_coef=0.3).fit(rows, Y)
    for some in (new, NEW, new.toarray()):
        assert model.predict_node_proba(some).shape == (40, model.hierarchy_.n_nodes)
    model.set_params(min_coef=0).partial_fit(rows, Y)


@pytest.mark.parametrize("change", [sp.csr_matrix, np.asarray], ids=["sparse", "dense"])
def test_a_fitted_model_continues_where_all_columns_are_left(change):
    rng = np.random.default_rng(0)
    rows = change(rng.normal(size=(len(Y), 5)))
    model = LocalClassifierPerParentNode(SGD, min_coef=1e-9).fit(rows, Y)
    other = LocalClassifierPerParentNode(SGD).fit(rows, Y)
    for one in (model, other):
        one.set_params(min_coef=0).partial_fit(rows, Y)
    assert_same(model, other, rows)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(MaxAbsScaler(), SGD),
        CalibratedClassifierCV(SVC, cv=2),
        LogisticRegression(),
    ],
    ids=["pipeline", "calibrated", "logistic"],
)
def test_classifiers_inside_others(estimator):
    model = LocalClassifierPerParentNode(estimator, min_coef=0.2).fit(X, Y)
    other = LocalClassifierPerParentNode(estimator).fit(X, Y)
    assert sum(len(p.columns) for p in packed_in(model)) < sum(
        len(p.columns) for p in packed_in(other)
    )
    assert np.mean(model.predict(NEW) == other.predict(NEW)) > 0.8


def test_classifiers_that_are_fitted_with_all_columns():
    """How ridge regression is solved depends on whether there are fewer rows than columns."""
    rows, y = make_rows(590)  # fewer than columns, and more than columns that occur
    model = LocalClassifierPerParentNode(RidgeClassifier(), min_coef=0.1).fit(rows, y)
    assert len(packed_in(model)) == len(model.local_classifiers_)
    assert max(len(p.columns) for p in packed_in(model)) < N_FEATURES / 2


def test_sets_of_classes():
    several = [[tuple(path), tuple(Y[i // 2])] for i, path in enumerate(Y)]
    model = LocalClassifierPerParentNode(SGD, multi_label=True, min_coef=0.3).fit(X, several)
    for classifier in model.local_classifiers_.values():
        for one in getattr(classifier, "estimators_", [classifier]):
            weights = one.coef_.toarray()
            assert (np.abs(weights[weights != 0]) >= 0.3).all()


def test_folds_are_fitted_that_way_too():
    model = LocalClassifierPerParentNode(SVC, min_coef=0.5, calibration="temperature").fit(X, Y)
    other = LocalClassifierPerParentNode(SVC, calibration="temperature").fit(X, Y)
    assert model.temperature_ != other.temperature_
    ensemble = EnsembleClassifier([("one", model), ("two", FlatClassifier(SGD, min_coef=0.3))])
    assert ensemble.fit(X, Y).predict(NEW).shape == (40, 3)


@pytest.mark.parametrize("estimator", [SVC, SGD, RidgeClassifier()], ids=["svc", "sgd", "ridge"])
@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_small_weights_of_dense_rows_are_dropped(estimator_class, estimator):
    params = {} if estimator is SGD else CALIBRATED
    rows, new = X.toarray(), NEW.toarray()
    model = estimator_class(estimator, min_coef=0.2, **params).fit(rows, Y)
    plain = estimator_class(estimator, **params).fit(rows, Y)
    for key, theirs in plain.local_classifiers_.items():
        mine = model.local_classifiers_[key]
        coef = mine.coef_.toarray() if sp.issparse(mine.coef_) else mine.coef_
        np.testing.assert_array_equal(coef, np.atleast_2d(dropped(theirs.coef_, 0.2)))
        assert mine.n_features_in_ == N_FEATURES
        theirs.coef_ = dropped(theirs.coef_, 0.2)
    assert_same(model, plain, new, atol=1e-12)
    assert_same(model, plain, new[:1], atol=1e-12)
    assert_same(pickle.loads(pickle.dumps(model)), model, new, atol=1e-6)
    # Rows in another form.
    np.testing.assert_array_equal(model.predict(NEW), model.predict(new))


def test_nan_in_dense_rows_is_refused_also_where_weights_were_dropped():
    model = LocalClassifierPerParentNode(SVC, min_coef=0.2).fit(X.toarray(), Y)
    for column in range(0, N_FEATURES, 20):
        bad = NEW[:2].toarray()
        bad[1, column] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model.predict(bad)


# -- where it runs, and what follows ---------------------------------------------------------------


def test_checkpoints_are_of_the_weights_that_are_left(tmp_path):
    first = LocalClassifierPerParentNode(SVC, min_coef=0.2, checkpoint_dir=tmp_path).fit(X, Y)
    n_files = len(list(tmp_path.iterdir()))
    again = clone(first).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == n_files == len(packed_in(first))
    assert_same(again, first)
    other = clone(first).set_params(min_coef=0).fit(X, Y)
    assert len(list(tmp_path.iterdir())) == 2 * n_files
    assert not any(p.double for p in packed_in(other))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_jobs_make_no_difference(backend):
    rows, y = make_rows(1200)
    serial = LocalClassifierPerParentNode(SGD, min_coef=0.2).fit(rows, y)
    with joblib.parallel_config(backend=backend):
        model = LocalClassifierPerParentNode(SGD, min_coef=0.2, n_jobs=2).fit(rows, y)
        assert_same(model, serial)


def test_explanations_name_words_that_have_weights():
    model = LocalClassifierPerParentNode(SVC, min_coef=0.2, **CALIBRATED).fit(X, Y)
    names = [f"word {j}" for j in range(N_FEATURES)]
    assert explain(model, NEW[0], feature_names=names).to_dict()


def test_batches_are_refused_until_it_is_zero():
    model = LocalClassifierPerParentNode(SGD, min_coef=0.2).fit(X, Y)
    before = model.predict_node_proba(NEW)
    for one in (model, LocalClassifierPerParentNode(SGD, min_coef=0.2)):
        with pytest.raises(ValueError, match=r"min_coef=0\.2 is for fit only\. Set min_coef=0"):
            one.partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict_node_proba(NEW), before)
    kept = copy.deepcopy(model)
    model.set_params(min_coef=0).partial_fit(X, Y)
    assert isinstance(model.local_classifiers_[()].coef_, np.ndarray)
    start = kept.local_classifiers_[()]
    start.densify()
    codes = np.array([int(path[0][1]) for path in Y])
    np.testing.assert_array_equal(
        start.partial_fit(X, codes).coef_, model.local_classifiers_[()].coef_
    )


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("min_coef", [-0.1, "small", None, float("nan"), [0.1]])
def test_only_numbers_from_zero_on(min_coef):
    with pytest.raises(InvalidParameterError, match="min_coef"):
        LocalClassifierPerParentNode(SVC, min_coef=min_coef).fit(X, Y)


@pytest.mark.parametrize("estimator_class", ESTIMATOR_CLASSES)
def test_frames_are_refused(estimator_class):
    message = r"min_coef=0\.1 drops .* but X has pandas\..*DataFrame rows\. Convert it with numpy"
    with pytest.raises(ValueError, match=message) as caught:
        estimator_class(SGD, min_coef=0.1).fit(pd.DataFrame(X.toarray()), Y)
    assert "while fitting the classifier of" in caught.value.__notes__[0]


def test_other_classifiers_of_dense_rows_are_refused():
    with pytest.raises(ValueError, match="of which GaussianNB with these parameters is not one"):
        LocalClassifierPerParentNode(GaussianNB(), min_coef=0.1).fit(X.toarray(), Y)


@pytest.mark.parametrize(
    "estimator",
    [
        MultinomialNB(),
        RandomForestClassifier(n_estimators=2),
        LinearSVC(penalty="l1", dual=False),
        SGDClassifier(loss="log_loss", warm_start=True),
        make_pipeline(Normalizer(), SVC),
    ],
)
def test_classifiers_without_such_weights_are_refused(estimator):
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=f"of which {name} with these parameters is not one. Use"):
        LocalClassifierPerParentNode(estimator, min_coef=0.1).fit(X, Y)


def test_a_file_of_a_version_without_it_has_the_default():
    state = LocalClassifierPerParentNode(SVC).fit(X, Y).__getstate__()
    del state["min_coef"]
    model = object.__new__(LocalClassifierPerParentNode)
    model.__setstate__(pickle.loads(pickle.dumps(state)))
    assert clone(model).min_coef == 0
    assert model.predict(NEW).shape == (40, 3)
