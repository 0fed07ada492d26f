"""Probabilities of classes that are corrected class by class, where predictions are sets."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from strategies import SETTINGS, hierarchies_with_sets
from zoo import DAG, EDGES, zoo

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._inference.set_calibrations import GRID, SET_CALIBRATIONS, Counts, learn_maps
from hiclass.datasets import make_hierarchical_classification

KINDS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
    GlobalClassifier,
]
METHODS = list(SET_CALIBRATIONS)


def counted(seed, n=200, n_nodes=3):
    rng = np.random.default_rng(seed)
    proba = rng.random((n, n_nodes))
    truth = rng.random((n, n_nodes)) < proba**2
    weights = rng.integers(1, 3, size=n).astype(float)
    counts = Counts(n_nodes)
    half = n // 2
    counts.add(proba[:half], truth[:half], weights[:half])
    counts.add(proba[half:], truth[half:], weights[half:])
    return proba, truth, weights, counts


def test_rows_are_counted_in_the_nearest_bin():
    proba, truth, weights, counts = counted(0)
    assert counts.n_positive.tolist() == truth.sum(axis=0).tolist()
    assert counts.n_negative.tolist() == (~truth).sum(axis=0).tolist()
    for node in range(3):
        for middle, rows, positive in zip(
            GRID, counts.rows[node], counts.positive[node], strict=True
        ):
            z = np.clip(logit(proba[:, node]), -10, 10)
            here = np.abs(z - middle) <= 0.125
            assert rows == weights[here].sum()
            assert positive == weights[here & truth[:, node]].sum()


def test_certain_probabilities_are_in_the_outermost_bins():
    counts = Counts(2)
    counts.add(np.array([[0.0, 1.0]]), np.array([[False, True]]), np.ones(1))
    assert counts.rows[0, 0] == counts.rows[1, -1] == counts.positive[1, -1] == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shared", [None, np.array([0.7, -0.4])])
def test_no_other_sigmoid_is_more_probable(seed, shared):
    counts = counted(seed)[-1]
    rows, positive = counts.rows[1], counts.positive[1]
    centre = np.array([1.0, 0.0]) if shared is None else shared

    def loss(parameters):
        z = parameters[0] * GRID + parameters[1]
        fit = positive * np.logaddexp(0, -z) + (rows - positive) * np.logaddexp(0, z)
        return fit.sum() + ((parameters - centre) ** 2).sum() / 2

    found = SET_CALIBRATIONS["sigmoid"].learn(rows, positive, shared)
    literal = minimize(loss, centre, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(found, literal.x, atol=1e-5)


def test_a_sigmoid_that_would_fall_is_the_shared_one():
    rows = np.zeros(len(GRID))
    positive = rows.copy()
    rows[[10, 70]] = 50
    positive[10] = 50  # the improbable ones are all positive
    shared = np.array([0.5, 0.1])
    assert SET_CALIBRATIONS["sigmoid"].learn(rows, positive, shared).tolist() == shared.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_maps_are_those_of_scikit_learn_on_bins(seed):
    counts = counted(seed)[-1]
    rows, positive = counts.rows[1], counts.positive[1]
    found = SET_CALIBRATIONS["isotonic"].learn(rows, positive, None)
    middle = expit(GRID)
    literal = IsotonicRegression().fit(
        np.tile(GRID, 3),
        np.concatenate([np.ones_like(GRID), np.zeros_like(GRID), middle]),
        np.concatenate([positive, rows - positive, np.full_like(GRID, 0.5)]),
    )
    np.testing.assert_allclose(found, literal.predict(GRID), atol=1e-9)
    between = SET_CALIBRATIONS["isotonic"].apply(
        np.array([[GRID[3], 0.3 * GRID[3] + 0.7 * GRID[4], GRID[-1]]]),
        found[None],
        np.zeros(3, int),
    )
    expected = [found[3], 0.3 * found[3] + 0.7 * found[4], found[-1]]
    np.testing.assert_allclose(between[0], expected)


@pytest.mark.parametrize("method", METHODS)
def test_classes_with_few_rows_share_a_map(method):
    rng = np.random.default_rng(0)
    proba = rng.random((100, 6))
    truth = rng.random((100, 6)) < proba
    truth[:, 1] = np.arange(100) < 9  # few positive rows
    truth[:, 2] = np.arange(100) >= 5  # few negative rows
    truth[:, 3] = True  # nothing to learn from
    truth[:, 0] = True
    counts = Counts(6)
    counts.add(proba, truth, np.ones(100))
    maps, map_of = learn_maps(SET_CALIBRATIONS[method], counts)
    assert map_of[1] == map_of[2]
    assert map_of[0] == map_of[3] == 0
    assert len({map_of[1], map_of[4], map_of[5]}) == 3
    together = SET_CALIBRATIONS[method].learn(
        counts.rows[1:3].sum(axis=0), counts.positive[1:3].sum(axis=0), None
    )
    np.testing.assert_array_equal(maps[map_of[1]], together)
    np.testing.assert_array_equal(maps[0], SET_CALIBRATIONS[method].identity)


def test_no_change_changes_nothing():
    z = np.linspace(-10, 10, 81)[None]
    for calibration in SET_CALIBRATIONS.values():
        maps = calibration.identity[None]
        found = calibration.apply(z, maps, np.zeros(81, dtype=int))
        np.testing.assert_allclose(found, expit(z), atol=1e-12)


# -- models ------------------------------------------------------------------------------------


@SETTINGS
@given(
    hierarchies_with_sets(),
    st.sampled_from(KINDS),
    st.sampled_from(METHODS),
    st.booleans(),
)
def test_calibrated_probabilities_are_coherent_and_independent(drawn, kind, method, one_label):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    if one_label:
        assume(not hierarchy.is_tree)
        y = [row[0] for row in y if row]
    assume(any(y))
    X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
    options = {"level_weight": 1} if kind is GlobalClassifier else {}
    model = kind(
        DecisionTreeClassifier(max_depth=2, random_state=0),
        hierarchy=hierarchy,
        multi_label=not one_label,
        calibration=method,
        **options,
    ).fit(X, y)
    proba = model.predict_node_proba(X)
    assert (proba[:, 0] == 1).all()
    for v in range(1, hierarchy.n_nodes):
        for parent in hierarchy.parents(v):
            assert (proba[:, v] <= proba[:, parent]).all()
    np.testing.assert_array_equal(model.predict_node_proba(X[::-1])[::-1], proba)
    for row in range(min(3, len(y))):
        np.testing.assert_array_equal(model.predict_node_proba(X[row : row + 1])[0], proba[row])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_node_proba(X), proba)
    assert list(model.local_classifiers_) == list(again.local_classifiers_)


def noisy(seed=0, n=1200):
    data = make_hierarchical_classification(
        n, 12, branching=[2, 3, 2], dag=0.2, multi_label=True, ragged=0.1, random_state=seed
    )
    X = data.data + np.random.default_rng(seed).normal(scale=2.0, size=data.data.shape)
    return X, np.array(data.target, dtype=object), data.hierarchy


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS[:4])
def test_calibration_lowers_the_log_loss_of_overconfident_models(kind, method):
    X, y, hierarchy = noisy()
    X = np.hstack([X] * 5)  # naive Bayes counts all evidence five times
    plain = kind(GaussianNB(), hierarchy=hierarchy, multi_label=True)
    losses = []
    for model in (plain, clone(plain).set_params(calibration=method)):
        proba = model.fit(X[:800], y[:800]).predict_node_proba(X[800:])
        losses.append(metrics.node_log_loss(y[800:], proba, hierarchy=hierarchy, multi_label=True))
    assert losses[1] < 0.9 * losses[0]


@pytest.mark.parametrize("method", METHODS)
def test_scores_become_probabilities(method):
    X, y, hierarchy = noisy()
    for estimator in (LinearSVC(random_state=0), RidgeClassifier()):
        model = FlatClassifier(
            estimator, hierarchy=hierarchy, multi_label=True, calibration=method
        ).fit(X[:800], y[:800])
        proba = model.predict_node_proba(X[800:])
        loss = metrics.node_log_loss(y[800:], proba, hierarchy=hierarchy, multi_label=True)
        prior = FlatClassifier(DummyClassifier(), hierarchy=hierarchy, multi_label=True)
        usual = prior.fit(X[:800], y[:800]).predict_node_proba(X[800:])
        assert loss < metrics.node_log_loss(y[800:], usual, hierarchy=hierarchy, multi_label=True)


def test_thresholds_are_learned_on_the_calibrated_scale():
    X, y, hierarchy = noisy()
    plain = FlatClassifier(
        GaussianNB(), hierarchy=hierarchy, multi_label=True, threshold="micro_f1"
    )
    model = clone(plain).set_params(calibration="sigmoid")
    scores = [m.fit(X[:800], y[:800]).score(X[800:], y[800:]) for m in (plain, model)]
    assert scores[1] > scores[0] - 0.02
    assert model.threshold_curve_[0, 0] != plain.threshold_curve_[0, 0]


@pytest.mark.parametrize("method", METHODS)
def test_restrictions_and_ensembles_of_calibrated_models(method):
    X, y = zoo(60)
    model = LocalClassifierPerNode(hierarchy=DAG, multi_label=True, calibration=method).fit(X, y)
    before, after = model.predict_node_proba(X), model.restricted_to(["pet"]).predict_node_proba(X)
    dog = DAG.find("dog")
    np.testing.assert_array_equal(after[:, dog], before[:, dog])
    assert after[:, DAG.find("lion")].max() == 0
    ensemble = EnsembleClassifier([("a", model), ("b", clone(model))], voting="mean").fit(X, y)
    np.testing.assert_allclose(ensemble.predict_node_proba(X), before, atol=1e-12)


def test_weights_count_rows():
    X, y = zoo(60)
    weights = np.random.default_rng(0).integers(1, 4, size=60)
    model = FlatClassifier(GaussianNB(), hierarchy=DAG, multi_label=True, calibration="sigmoid")
    heavy = clone(model).fit(X, y, sample_weight=weights).predict_node_proba(X)
    light = clone(model).fit(X, y).predict_node_proba(X)
    assert not np.allclose(heavy, light)


def test_too_few_rows_for_folds_are_not_calibrated():
    model = FlatClassifier(DummyClassifier(), multi_label=True, calibration="sigmoid")
    assert model.fit([[0.0]], [["a"]]).predict_node_proba([[0.0]]).tolist() == [[1.0, 1.0]]


def test_calibrations_of_paths_and_sets_are_not_mixed_up():
    X, y = zoo(30)
    tree = FlatClassifier(calibration="isotonic")
    with pytest.raises(ValueError, match=r"is for sets of classes.*Use calibration='temperature'"):
        tree.fit(X, [row[0] for row in y])
    for labels, options in ((y, {"multi_label": True}), ([row[0] for row in y], {})):
        model = FlatClassifier(hierarchy=EDGES, calibration="joint", **options)
        with pytest.raises(ValueError, match="use one of 'sigmoid', 'isotonic'"):
            model.fit(X, labels)
        warm = FlatClassifier(hierarchy=EDGES, calibration="sigmoid", temperature=2.0, **options)
        with pytest.raises(ValueError, match=r"temperature=2\.0 .*leave it out"):
            warm.fit(X, labels)
    with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba. Use calibration='sig"):
        FlatClassifier(LinearSVC(), hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match="calibration"):
        FlatClassifier(LogisticRegression(), calibration="beta", multi_label=True).fit(X, y)


def test_isotonic_maps_are_exactly_level_and_never_fall():
    rng = np.random.default_rng(0)
    z = np.sort(rng.uniform(-10, 10, size=(5000, 1)), axis=0)
    calibration = SET_CALIBRATIONS["isotonic"]
    level = np.repeat(np.sort(rng.random(9)), 9)[None]
    found = calibration.apply(z, level, np.zeros(1, dtype=int))[:, 0]
    assert (np.diff(found) >= 0).all()
    within = np.floor((z[:, 0] + 10) / 0.25) % 9 != 8  # not between two levels
    assert set(found[within]) <= set(level[0])
