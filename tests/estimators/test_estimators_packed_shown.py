"""Packed classifiers as users see them in ``local_classifiers_``: what is looked at, no more."""

import numpy as np
import pytest
import scipy.sparse as sp
from packed_helpers import N_FEATURES, NEW, SGD, X, Y, assert_same, packed_in
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import RidgeClassifier, SGDClassifier

from hiclass import (
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
)
from hiclass._engine import packed
from hiclass._inspect.models import open_model
from hiclass._inspect.report import _describe
from hiclass._inspect.report._features import collect_features


def fit_plain(monkeypatch, model, *args):
    """Fit a model all of whose classifiers have all columns."""
    with monkeypatch.context() as patch:
        patch.setattr(packed, "can_be_packed", lambda estimator: False)
        return clone(model).fit(*args)


@pytest.fixture
def widened(monkeypatch):
    """The classifiers that were brought to the width of X."""
    found, widen = [], packed.widened
    monkeypatch.setattr(packed, "widened", lambda fitted: found.append(fitted) or widen(fitted))
    return found


@pytest.mark.parametrize("estimator_class", [LocalClassifierPerParentNode, LocalClassifierPerNode])
def test_to_ask_for_a_key_does_not_widen_a_classifier(estimator_class, widened):
    fitted = estimator_class(SGD).fit(X, Y).local_classifiers_
    for key in fitted:
        assert key in fitted
    assert ("a0", "b0", "c0", "d0") not in fitted
    assert ("unknown",) not in fitted
    assert not widened
    assert fitted["a0"].n_features_in_ == N_FEATURES
    assert len(widened) == 1


def test_levels_are_looked_for_and_represented_without_widening(widened):
    fitted = LocalClassifierPerLevel(SGD).fit(X, Y).local_classifiers_
    assert [level in fitted for level in (0, 1, 3, 4)] == [False, True, True, False]
    assert repr(fitted) == repr(dict.fromkeys((1, 2, 3), SGD))
    assert not widened


def test_the_report_names_the_types_of_classifiers_without_widening(widened):
    model = LocalClassifierPerParentNode(SGD).fit(X, Y)
    assert _describe(open_model(model))["local_classifiers"] == ["SGDClassifier"]
    assert not widened


@pytest.mark.parametrize("average", [True, 10**6], ids=["now", "later"])
@pytest.mark.parametrize("level", [0, 1], ids=["three classes", "two classes"])
def test_an_averaged_classifier_can_be_made_dense_and_trained_on(average, level, monkeypatch):
    sgd = SGDClassifier(loss="log_loss", average=average, max_iter=5, tol=None, random_state=0)
    model = FlatClassifier(sgd)
    y = [path[level] for path in Y]
    ours = model.fit(X, y).local_classifiers_[()]
    other = fit_plain(monkeypatch, model, X, y).local_classifiers_[()]
    assert sp.issparse(ours.coef_)
    for classifier in (ours.densify(), other):
        classifier.partial_fit(X, np.unique(y, return_inverse=True)[1])
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-12, atol=1e-15)


def test_the_default_of_a_calibrated_classifier_is_packed(monkeypatch):
    model = LocalClassifierPerNode(CalibratedClassifierCV(cv=2))
    other = fit_plain(monkeypatch, model, X, Y)
    model.fit(X, Y)
    columns = [len(p.columns) for p in packed_in(model)]
    assert len(columns) == len(model.local_classifiers_)
    assert min(columns) < N_FEATURES
    assert_same(model, other, atol=1e-3)


def test_a_classifier_that_would_be_solved_in_another_way_has_all_columns():
    y = [path[0] for path in Y]
    used = len(np.unique(X.indices))
    n_rows = 2 * used - 2 * used % 120  # more than columns that occur, fewer than columns
    assert used < n_rows < N_FEATURES
    rows, y = sp.vstack([X] * (n_rows // 120), format="csr"), y * (n_rows // 120)
    model = FlatClassifier(RidgeClassifier(), min_coef=0.01).fit(rows, y)
    (fitted,) = packed_in(model)
    assert fitted.n_features == N_FEATURES
    assert model.score(NEW, [path[0] for path in Y][:40]) > 0.9


def test_columns_are_found_by_sorting_and_by_flags(monkeypatch):
    rows = sp.random(5, 10_000, 0.001, format="csr", random_state=0)
    found = {}
    for cost in (0, 10**9):
        monkeypatch.setattr(packed, "_SORT_COST", cost)
        columns = found[cost] = packed.columns_of(rows)
        np.testing.assert_array_equal(
            packed.renumbered(rows, columns).toarray(), rows.toarray()[:, columns]
        )
    np.testing.assert_array_equal(found[0], found[10**9])


@pytest.mark.parametrize(
    "estimator_class", [LocalClassifierPerParentNode, LocalClassifierPerLevel, FlatClassifier]
)
def test_explanations_and_reports_do_not_depend_on_what_users_do_to_a_copy(estimator_class):
    model = estimator_class(SGD).fit(X, Y)

    def seen():
        features = collect_features(open_model(model), model.hierarchy_)
        return str(explain(model, X[0]).to_dict()), str(features)

    before = seen()
    held = list(model.local_classifiers_.values())
    for classifier in held:
        classifier.coef_ = classifier.coef_ * 0
    assert seen() == before
