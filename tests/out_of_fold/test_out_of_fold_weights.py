"""The weights of an ensemble, learned from rows that its models have not seen."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from fakes import Counting, Soft, recording
from hypothesis import given, settings
from hypothesis import strategies as st
from model_helpers import FOREST, X2, joined, make, pair, probability_of_final, rows_for
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
)
from hiclass._inference.paths import final_proba
from hiclass._out_of_fold.weights import best_exponents, best_shares, take_logs
from hiclass.model_selection import deal_folds

# -- the optimum -------------------------------------------------------------------------------


def proba_of_models(seed, n_models=2, n_rows=60, n_final=4, noise=(1.0, 1.0, 1.0)):
    """Probabilities of models that see the truth through noise, and the truth."""
    rng = np.random.default_rng(seed)
    right = rng.integers(n_final, size=n_rows)
    truth = 2.0 * np.eye(n_final)[right]
    scores = [truth + s * rng.normal(size=truth.shape) for s in noise[:n_models]]
    return np.stack([np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in scores]), right


def product_loss(proba, right, weights):
    """The mean log loss of a product as an ensemble predicts it; 1e-6 where the truth gets zero."""
    pooled = np.prod([p**w for p, w in zip(proba, weights, strict=True) if w], axis=0)
    pooled = np.broadcast_to(pooled, proba.shape[1:])
    pooled = np.where(pooled.any(axis=1, keepdims=True), pooled, 1.0)
    true = pooled[np.arange(len(right)), right] / pooled.sum(axis=1)
    return -np.log(np.where(true > 0, true, 1e-6)).mean()


def mean_loss(proba, right, weights):
    pooled = np.tensordot(weights, proba, 1)
    return -np.log(pooled[np.arange(len(right)), right]).mean()


def exponents(proba, right, weights=None, n_parts=1):
    """What is learned from probabilities that come in several parts, as from folds."""
    weights = np.ones(len(right)) if weights is None else weights
    parts = np.array_split(np.arange(len(right)), n_parts)
    return best_exponents([take_logs(proba[:, p], right[p], weights[p]) for p in parts])


def shares(proba, right, weights=None):
    weights = np.ones(len(right)) if weights is None else weights
    return best_shares(proba[:, np.arange(len(right)), right].T, weights)


@pytest.mark.parametrize("noise", [(1.5, 1.5), (1.5, 4.0), (1.3, 2.5)])
def test_the_exponents_of_a_product_are_those_that_a_fine_grid_finds(noise):
    proba, right = proba_of_models(0, noise=noise)
    found = exponents(proba, right, n_parts=3)
    grid = np.arange(0, 2, 0.02)
    losses = np.array([[product_loss(proba, right, (a, b)) for b in grid] for a in grid])
    assert product_loss(proba, right, found) <= losses.min()
    i, j = np.unravel_index(losses.argmin(), losses.shape)
    assert max(i, j) < len(grid) - 1
    np.testing.assert_allclose(found, [grid[i], grid[j]], atol=0.03)


@pytest.mark.parametrize("noise", [(1.5, 1.5), (1.5, 4.0), (1.3, 2.5)])
def test_the_weights_of_a_mean_are_those_that_a_fine_grid_finds(noise):
    proba, right = proba_of_models(0, noise=noise)
    found = shares(proba, right)
    grid = np.linspace(0, 1, 1001)
    losses = [mean_loss(proba, right, (a, 1 - a)) for a in grid]
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(grid[np.argmin(losses)], abs=0.002)
    assert mean_loss(proba, right, found) <= min(losses) + 1e-7


@pytest.mark.parametrize(("learn", "loss"), [(exponents, product_loss), (shares, mean_loss)])
def test_no_small_step_away_from_the_weights_of_three_models_is_better(learn, loss):
    proba, right = proba_of_models(1, n_models=3, noise=(1.0, 1.3, 4.0))
    found = learn(proba, right)
    smallest = loss(proba, right, found)
    assert smallest < loss(proba, right, np.full(3, 1 / 3)) - 0.01
    for step in np.random.default_rng(0).normal(scale=0.02, size=(50, 3)):
        other = np.maximum(found + step, 0)
        other = other / other.sum() if learn is shares else other
        assert loss(proba, right, other) > smallest - 1e-7


@pytest.mark.parametrize("learn", [exponents, shares])
def test_copies_of_a_model_share_the_weight(learn):
    proba, right = proba_of_models(2, n_models=1)
    alone = learn(proba, right)
    both = learn(np.repeat(proba, 2, axis=0), right)
    np.testing.assert_allclose(both, np.repeat(alone, 2) / 2, rtol=1e-4)


@pytest.mark.parametrize("learn", [exponents, shares])
def test_a_row_of_weight_three_counts_as_three_rows(learn):
    proba, right = proba_of_models(3, noise=(1.5, 1.6))
    weights = np.random.default_rng(0).integers(1, 4, size=len(right))
    repeated = np.repeat(np.arange(len(right)), weights)
    expected = learn(proba[:, repeated], right[repeated])
    np.testing.assert_allclose(learn(proba, right, 0.1 * weights), expected, rtol=1e-4)
    assert np.abs(learn(proba, right) - expected).max() > 0.01


def test_models_that_are_always_right_have_exponents_that_are_finite():
    proba = np.array([[[0.6, 0.4], [0.3, 0.7]]] * 2)
    found = exponents(proba, np.array([0, 1]))
    assert (found > 5).all()
    assert (found <= 1000).all()


# -- zeros -------------------------------------------------------------------------------------


def test_a_product_without_a_model_that_often_rules_out_the_truth():
    """Certain, and wrong in three rows of ten: no exponent can repair that but zero."""
    proba, right = proba_of_models(0, n_rows=100)
    said = right.copy()
    said[::10] = said[1::10] = said[2::10] = (right[::10] + 1) % 4
    proba[1] = np.eye(4)[said]
    found = exponents(proba, right)
    assert found[1] == 0
    assert found[0] == pytest.approx(exponents(proba[:1], right)[0], rel=1e-4)


def test_a_product_without_two_models_that_rule_out_the_same_truth():
    """Without one of them the other one rules out as much: both have to go at once."""
    proba, right = proba_of_models(0, n_rows=100)
    wrong = np.eye(4)[(right + 1) % 4]
    found = exponents(np.stack([wrong, proba[0], wrong]), right)
    assert found[[0, 2]].tolist() == [0, 0]
    assert found[1] == pytest.approx(exponents(proba[:1], right)[0], rel=1e-4)


def test_a_product_with_a_model_that_rarely_rules_out_the_truth():
    """Certain, and wrong in one row of a hundred: the loss of that row is worth it."""
    proba, right = proba_of_models(0, n_rows=100, noise=(3.0, 3.0))
    said = right.copy()
    said[0] = (right[0] + 1) % 4
    proba[1] = np.eye(4)[said]
    found = exponents(proba, right)
    assert found[1] > 0
    assert product_loss(proba, right, found) == pytest.approx(-np.log(1e-6) / 100)


def test_what_is_rightly_ruled_out_is_a_reason_to_keep_a_model():
    """It knows which two of four final classes are impossible, and nothing else."""
    proba, right = proba_of_models(4, noise=(1.0, 1.0))
    possible = np.eye(4, dtype=bool)[right] | np.eye(4, dtype=bool)[(right + 1) % 4]
    proba[1] = possible / 2
    found = exponents(proba, right)
    assert found[1] > 0
    conditional = proba[0] * possible / (proba[0] * possible).sum(axis=1, keepdims=True)
    expected = exponents(conditional[None], right)
    assert found[0] == pytest.approx(expected[0], rel=1e-3)


def test_rows_in_which_the_models_agree_on_nothing_are_as_good_as_chance():
    proba = np.array([[[1.0, 0, 0]] * 3, [[0, 0, 1.0]] * 3])
    right = np.array([0, 1, 2])
    # Together they say nothing: log(3). Alone, each is wrong in two rows.
    np.testing.assert_allclose(exponents(proba, right), [0.5, 0.5])


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n_models=st.integers(1, 3), zeros=st.floats(0, 0.6))
def test_learned_exponents_are_never_worse_than_equal_ones(seed, n_models, zeros):
    """As the ensemble itself predicts, with zeros anywhere."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(6), size=(n_models, 5))
    proba[rng.random(proba.shape) < zeros] = 0
    proba[~proba.any(axis=2)] = 1
    proba /= proba.sum(axis=2, keepdims=True)
    right = rng.integers(6, size=5)
    found = exponents(proba, right, n_parts=2)

    def loss(weights):
        losses = []
        for row, true in zip(proba.transpose(1, 0, 2), right, strict=True):
            p = final_proba(joined(*row, weights=tuple(weights)), X2)[0, true]
            losses.append(-np.log(p if p else 1e-6))
        return np.mean(losses)

    equal = np.full(n_models, 1 / n_models)
    if found.any():
        assert loss(found) == pytest.approx(product_loss(proba, right, found))
        assert loss(found) <= loss(equal) + 1e-9
    else:  # worse than a guess, all of them
        assert product_loss(proba, right, equal) >= np.log(6)


def test_a_mean_ignores_rows_that_all_models_rule_out():
    proba, right = proba_of_models(5, noise=(1.0, 2.0))
    expected = shares(proba, right)
    proba = np.concatenate([proba, np.tile([1.0, 0, 0, 0], (2, 3, 1))], axis=1)
    np.testing.assert_allclose(shares(proba, np.append(right, [1, 2, 3])), expected)
    assert shares(proba[:, -3:], np.array([1, 2, 3])).tolist() == [0, 0]


# -- in an ensemble ----------------------------------------------------------------------------


def blobs(n_samples=240, seed=0):
    """Rows of eight overlapping leaves under two times two parents."""
    X, leaf = make_blobs(n_samples, centers=8, n_features=4, cluster_std=4.0, random_state=seed)
    y = np.column_stack([leaf // 4, leaf // 2, leaf]).astype(str).astype(object)
    return X / 10, y


def members(*models):
    return [(f"m{i}", model) for i, model in enumerate(models)]


def out_of_fold(models, X, y, weight):
    """The probabilities of the true classes' fold mates, from the public API alone."""
    hierarchy = clone(models[0][1]).fit(X, y).hierarchy_
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    fold = deal_folds(nodes, 3)
    ends = np.unique(nodes)
    proba = np.empty((len(models), len(X), len(ends)))
    for k in range(3):
        train, test = fold != k, fold == k
        for i, (_, model) in enumerate(models):
            model = clone(model).set_params(hierarchy=hierarchy)
            model.fit(X[train], y[train], sample_weight=weight[train])
            proba[i, test] = probability_of_final(model, X[test], ends)
    return proba, np.searchsorted(ends, nodes)


@pytest.mark.parametrize("voting", ["product", "mean"])
def test_a_fitted_ensemble_has_the_weights_that_are_best_out_of_fold(voting):
    X, y = blobs()
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    models = members(FlatClassifier(GaussianNB()), LocalClassifierPerNode(LogisticRegression()))
    ensemble = EnsembleClassifier(models, voting=voting, weights="learned")
    ensemble.fit(X, y, sample_weight=weight)
    proba, right = out_of_fold(models, X, y, weight)
    expected = (exponents if voting == "product" else shares)(proba, right, weight)
    np.testing.assert_allclose(ensemble.weights_, expected, rtol=1e-3)
    equal = EnsembleClassifier(models, voting=voting).fit(X, y, sample_weight=weight)
    assert np.abs(ensemble.weights_ - equal.weights_).max() > 0.05
    assert ensemble._models.weights == tuple(ensemble.weights_)


class Confused(Soft):
    """Sure of what it learned, which is nothing."""

    def fit(self, X, y):
        return super().fit(X, np.random.default_rng(0).permutation(y))


@pytest.mark.parametrize("voting", ["product", "mean"])
def test_a_useless_model_loses_its_weight(voting):
    X, y = blobs(600)
    models = members(
        FlatClassifier(LogisticRegression()),
        FlatClassifier(Confused(scale=10.0)),
        LocalClassifierPerParentNode(LogisticRegression()),
    )
    equal = EnsembleClassifier(models, voting=voting).fit(X[:300], y[:300])
    learned = EnsembleClassifier(models, voting=voting, weights="learned").fit(X[:300], y[:300])
    assert learned.weights_[1] < 0.05
    assert learned.weights_.sum() - learned.weights_[1] > 0.8

    def loss(model):
        leaves = [model.hierarchy_.find(tuple(path)) for path in y[300:]]
        return -np.log(model.predict_node_proba(X[300:])[np.arange(300), leaves]).mean()

    assert loss(learned) < loss(equal) - 0.01
    assert learned.score(X[300:], y[300:]) > equal.score(X[300:], y[300:]) + 0.02


def test_a_product_of_one_model_is_calibrated_by_its_weight():
    """The exponent of a softmax is one over its temperature."""
    X, y = blobs()
    model = FlatClassifier(Soft(scale=30.0))
    ensemble = EnsembleClassifier([("flat", model)], weights="learned").fit(X, y)
    proba, right = out_of_fold([("flat", model)], X, y, np.ones(len(X)))
    grid = np.linspace(0.01, 1, 100)
    best = grid[np.argmin([product_loss(proba, right, (w,)) for w in grid])]
    assert best < 0.5
    assert ensemble.weights_ == pytest.approx([best], abs=0.01)
    mean = EnsembleClassifier([("flat", model)], weights="learned", voting="mean")
    assert mean.fit(X, y).weights_.tolist() == [1.0]


def test_weights_show_however_they_came_about():
    X = rows_for(FOREST, 0)
    assert pair().fit(X, FOREST).weights_.tolist() == [0.5, 0.5]
    assert pair(weights=[3, 1]).fit(X, FOREST).weights_.tolist() == [0.75, 0.25]
    assert pair(weights="learned").fit(X, FOREST).weights_.shape == (2,)
    sets = [("a", FlatClassifier(multi_label=True)), ("b", FlatClassifier(multi_label=True))]
    y = [["p"], ["q"], ["p", "q"], ["p"]]
    ensemble = EnsembleClassifier(sets, weights=[1, 3]).fit(np.eye(4), y)
    assert ensemble.weights_.tolist() == [0.25, 0.75]


def test_weights_cost_no_fits_beyond_those_of_expected_f1():
    X = rows_for(FOREST, 0)

    def fits(**params):
        Counting.fits = 0
        models = members(FlatClassifier(Counting()), FlatClassifier(Counting()))
        ensemble = EnsembleClassifier(models, **params).fit(X, FOREST)
        return Counting.fits, hasattr(ensemble, "expected_f1_")

    assert fits() == (2, False)
    assert fits(decoding="expected_f1") == (2 + 6, True)
    assert fits(weights="learned") == (2 + 6, False)
    assert fits(weights="learned", decoding="expected_f1") == (2 + 6, True)


def test_temperatures_of_the_models_serve_while_weights_are_learned():
    """A calibrated model needs no other temperature, whatever the scale of its scores."""
    X, y = blobs()
    models = members(FlatClassifier(LinearSVC(), calibration="temperature"))
    ensemble = EnsembleClassifier(models, weights="learned").fit(X, y)
    assert ensemble.weights_ == pytest.approx([1.0], abs=0.01)


@pytest.mark.parametrize("voting", ["product", "mean"])
@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([["a", "x"]], "one row makes no folds"),
        ([["a", "x"], ["a", "y"], ["b", "z"]], "no fold knows a class that it holds out"),
        ([["a", "x"]] * 6, "there is one final class, and nothing to choose"),
    ],
)
def test_weights_are_equal_where_there_is_nothing_to_learn(voting, rows, why):
    ensemble = pair(weights="learned", voting=voting).fit(rows_for(rows, 0), rows)
    assert ensemble.weights_.tolist() == [0.5, 0.5], why


class IgnoresWeights(Soft):
    """Takes sample weights and makes nothing of them."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_rows_without_weight_teach_nothing():
    X, y = blobs()
    X, y = np.concatenate([X, X[:40]]), np.concatenate([y, y[::-1][:40]])
    some = np.concatenate([np.ones(len(X) - 40), np.zeros(40)])
    models = members(
        FlatClassifier(IgnoresWeights()), LocalClassifierPerParentNode(IgnoresWeights())
    )
    ensemble = EnsembleClassifier(models, weights="learned")
    proba, right = out_of_fold(models, X, y, some)
    expected = exponents(proba[:, :-40], right[:-40])
    found = ensemble.fit(X, y, sample_weight=some).weights_
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert np.abs(ensemble.fit(X, y).weights_ - expected).max() > 0.01


def test_many_numbers_are_thinned_out_before_models_are_queried(monkeypatch):
    X, y = blobs(90)
    queries = []
    flat = FlatClassifier(recording(GaussianNB, queries))
    ensemble = EnsembleClassifier([("flat", flat)], weights="learned")
    ensemble.fit(X, y)
    # Once for the weights, and once for the average of all classes.
    assert list(map(len, queries)) == [30] * 6
    queries.clear()
    monkeypatch.setattr("hiclass._out_of_fold.weights._MOST_NUMBERS", 90 * 8 // 5)
    ensemble.fit(X, y)
    assert list(map(len, queries)) == [6, 6, 6, 30, 30, 30]
    queries.clear()
    ensemble.set_params(voting="mean").fit(X, y)  # which needs a number per row and model
    assert list(map(len, queries)) == [30] * 6


def test_an_ensemble_in_an_ensemble_learns_its_weights_once():
    X, y = blobs()
    inner = EnsembleClassifier(
        members(FlatClassifier(Counting()), LocalClassifierPerParentNode(LogisticRegression())),
        weights="learned",
        decoding="expected_f1",
    )
    alone = clone(inner).fit(X, y)
    Counting.fits = 0
    models = [("inner", inner), ("level", LocalClassifierPerLevel(LogisticRegression()))]
    outer = EnsembleClassifier(models, weights="learned", decoding="expected_f1").fit(X, y)
    assert Counting.fits == (1 + 3) + 3
    assert outer.models_[0].weights_.tolist() == alone.weights_.tolist()
    only = EnsembleClassifier([("inner", inner)], weights="learned").fit(X, y)
    # Its product is calibrated already: it is the best there is on the same folds.
    assert only.weights_ == pytest.approx([1.0], abs=1e-3)
    np.testing.assert_allclose(
        only.predict_node_proba(X), alone.predict_node_proba(X), rtol=0.01, atol=1e-4
    )


@pytest.mark.parametrize("voting", ["product", "mean"])
def test_clones_pickles_and_jobs_predict_alike(voting):
    X, y = blobs(120)
    ensemble = make("ensemble", weights="learned", voting=voting, estimator=GaussianNB()).fit(X, y)
    jobs = clone(ensemble).set_params(flat__n_jobs=2, parent__n_jobs=2)
    for other in (clone(ensemble).fit(X, y), pickle.loads(pickle.dumps(ensemble)), jobs.fit(X, y)):
        assert other.weights_.tolist() == ensemble.weights_.tolist()
        np.testing.assert_array_equal(other.predict_node_proba(X), ensemble.predict_node_proba(X))


def test_learned_weights_serve_restricted_and_conformal_models():
    X, y = blobs()
    ensemble = make("ensemble", weights="learned", estimator=GaussianNB()).fit(X, y)
    some = ensemble.restricted_to([("0", "0"), ("1",)])
    nodes = ensemble.predict_node_proba(X)
    find = ensemble.hierarchy_.find
    allowed = nodes[:, find(("0", "0"))] + nodes[:, find(("1",))]
    restricted = some.predict_node_proba(X)[:, find(("1",))]
    np.testing.assert_allclose(restricted, nodes[:, find(("1",))] / allowed)
    sure = ConformalClassifier(clone(ensemble), alpha=0.2, random_state=0).fit(X, y)
    assert sure.model_.weights_.shape == (2,)
    assert sure.predict(X).shape == y.shape


def test_routed_sample_weights_count_in_the_loss():
    X, y = blobs()
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        requests = GaussianNB().set_fit_request(sample_weight=True)
        declines = Soft().set_fit_request(sample_weight=False)
        models = members(FlatClassifier(requests), LocalClassifierPerParentNode(declines))
        ensemble = EnsembleClassifier(models, weights="learned").fit(X, y, sample_weight=weight)
    models = members(FlatClassifier(GaussianNB()), LocalClassifierPerParentNode(IgnoresWeights()))
    proba, right = out_of_fold(models, X, y, weight)
    np.testing.assert_allclose(ensemble.weights_, exponents(proba, right, weight), rtol=1e-3)


def test_neighbours_that_rule_out_true_classes_leave_the_product():
    X, y = blobs()
    models = members(FlatClassifier(LogisticRegression()), FlatClassifier(KNeighborsClassifier(1)))
    ensemble = EnsembleClassifier(models, weights="learned").fit(X, y)
    assert ensemble.weights_[1] == 0 < ensemble.weights_[0]
    # The mean has no such trouble.
    mean = EnsembleClassifier(models, weights="learned", voting="mean").fit(X, y)
    assert (mean.weights_ > 0).all()


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [["a", "b"], [None, 1], [[1, 1]], [1, np.inf], [1, -1]])
def test_weights_that_are_none_are_refused(weights):
    message = r"weights must be 2 numbers, one per model, .* or 'learned'; got"
    with pytest.raises(ValueError, match=message):
        pair(weights=weights).fit(rows_for(FOREST, 0), FOREST)


@pytest.mark.parametrize("weights", ["equal", "", "11"])
def test_a_word_that_is_none_of_the_weights_is_refused(weights):
    with pytest.raises(ValueError, match=r"'weights' .* a str among {'learned'} or None. Got"):
        pair(weights=weights).fit(rows_for(FOREST, 0), FOREST)


# -- scikit-learn's checks ---------------------------------------------------------------------

FOLDS = "a row of weight 2 and two equal rows, which may be in two folds, are not the same"


def test_passes_the_checks_of_scikit_learn_but_for_the_listed_ones():
    expected = {
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": FOLDS,
        "check_classifier_multioutput": (
            "it wants the most probable label of every level, which need not lie on one path"
        ),
    }
    ensemble = make("ensemble", weights="learned", estimator=GaussianNB())
    with warnings.catch_warnings():
        # What naive Bayes says about a class of weight 0.
        warnings.filterwarnings("ignore", "divide by zero encountered in log", RuntimeWarning)
        results = check_estimator(
            ensemble, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []
