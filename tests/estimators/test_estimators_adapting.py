"""Models for rows whose classes have other shares than in training."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import skops.io
from fakes import Soft
from model_helpers import FOREST, KINDS, LOCAL, make, rows_for
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import hiclass
from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    explain,
)
from hiclass._inference.paths import final_proba
from hiclass._inference.shares import estimate, smoothed
from hiclass._out_of_fold.folds import deal_paths, fit_folds

PATHS = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "z"), ("c",)]
CENTRES = np.array([[0, 0], [0, 2], [3, 0], [3, 2], [6, 1]], dtype=float)


def draw(n, shares, seed, spread=0.9):
    """Rows around the centres of five final classes, with given shares."""
    rng = np.random.default_rng(seed)
    k = rng.choice(len(PATHS), size=n, p=shares)
    X = CENTRES[k] + rng.normal(scale=spread, size=(n, 2))
    y = np.full((n, 2), "", dtype=object)
    for i, path in enumerate(k):
        y[i, : len(PATHS[path])] = PATHS[path]
    return X, y, np.bincount(k, minlength=len(PATHS)) / n


OLD, NEW = [0.3, 0.3, 0.2, 0.15, 0.05], [0.05, 0.1, 0.15, 0.1, 0.6]


@pytest.fixture(scope="module")
def shifted():
    return draw(1500, OLD, 0)[:2], draw(1500, NEW, 1)


def calibrated(kind):
    if kind == "global":
        return GlobalClassifier(random_state=0, calibration="temperature")
    if kind == "learned":
        return make("learned", estimator=GaussianNB())
    return make(kind, "temperature", estimator=GaussianNB())


def adapted(model, kind, X):
    """With rows as in training for models that do not know what they predict on average."""
    reference = None if kind in ("flat", "global", "learned") else draw(1500, OLD, 5)[0]
    return model.adapted_to(X, reference=reference)


def final_shares(model):
    return model.prior_[[model.hierarchy_.find(path) for path in PATHS]]


@pytest.mark.parametrize("kind", [*LOCAL, "learned", "global"])
def test_a_shift_is_found_from_rows_without_labels_and_predictions_get_better(kind, shifted):
    (X, y), (X_new, y_new, shares) = shifted
    model = calibrated(kind).fit(X, y)
    light = adapted(model, kind, X_new)
    assert np.abs(final_shares(model) - shares).sum() > 1
    assert np.abs(final_shares(light) - shares).sum() < 0.15
    assert light.n_iter_ > 1
    right = [(m.predict(X_new) == y_new).all(axis=1).mean() for m in (model, light)]
    assert right[1] > right[0] + 0.02
    # As good as with the true shares, within chance.
    known = model.adapted_to(prior=dict(zip(PATHS, shares, strict=True)))
    assert right[1] > (known.predict(X_new) == y_new).all(axis=1).mean() - 0.01
    assert known.n_iter_ == 0
    np.testing.assert_allclose(final_shares(known), shares)


@pytest.mark.parametrize("kind", [*LOCAL, "learned", "global"])
def test_without_a_shift_hardly_anything_changes(kind, shifted):
    (X, y), _ = shifted
    X_new, y_new, _ = draw(1500, OLD, 2)
    model = calibrated(kind).fit(X, y)
    light = adapted(model, kind, X_new)
    assert np.abs(final_shares(light) - final_shares(model)).sum() < 0.12
    assert light.score(X_new, y_new) > model.score(X_new, y_new) - 0.005


class Leaning(GaussianNB):
    """Finds the last class ten times as probable as it should."""

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[:, -1] *= 10
        return proba / proba.sum(axis=1, keepdims=True)


def test_a_biased_model_is_compared_with_itself_and_not_with_labels():
    X, y, _ = draw(1500, OLD, 0, spread=2.0)
    X_new, _, shares = draw(1500, OLD, 2, spread=2.0)
    model = FlatClassifier(Leaning(), calibration="temperature").fit(X, y)
    by_itself = model.adapted_to(X_new, strength=0, max_iter=1000)
    object.__setattr__(model._models, "expected_own", None)
    with pytest.warns(UserWarning, match="has no out-of-fold predictions"):
        by_labels = model.adapted_to(X_new, strength=0, max_iter=1000)
    away = [np.abs(final_shares(m) - shares).sum() for m in (by_itself, by_labels)]
    assert away[0] < 0.3 * away[1]


@pytest.mark.parametrize("kind", ["flat", "joint", "global", "learned"])
def test_expected_classes_are_the_average_out_of_fold(kind, shifted):
    X, y = (part[:200] for part in shifted[0])
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = make("parent", "joint") if kind == "joint" else calibrated(kind)
    model.fit(X, y, sample_weight=weights)
    tree = model.hierarchy_
    nodes = np.array([tree.find(tuple(label for label in path if label)) for path in y])

    def fit_fold(rows):
        return model._refit(X[rows], y[rows], tree, {"sample_weight": weights[rows]})

    expected = np.zeros(tree.n_nodes)
    for fitted, rows in fit_folds(fit_fold, deal_paths(nodes, tree, None)):
        each = weights[rows] / weights.mean()
        expected[fitted.options.ends] += each @ final_proba(fitted, X[rows])
    np.testing.assert_allclose(model._models.expected_own, expected, rtol=1e-9)
    assert model._models.expected_own.sum() == pytest.approx(200)


def test_rows_as_in_training_may_be_given(shifted):
    (X, y), (X_new, _, _) = shifted
    model = LocalClassifierPerParentNode(GaussianNB()).fit(X[:750], y[:750])
    light = model.adapted_to(X_new, reference=X[750:], strength=3.0, max_iter=7)
    models = model._models
    training = final_shares(model)
    order = np.argsort([model.hierarchy_.find(path) for path in PATHS])
    reference = smoothed(models, final_proba(models, X[750:]).sum(axis=0), training[order])
    found = estimate(models, final_proba(models, X_new), reference, strength=3.0, max_iter=7)
    expected = training[order] * found.ratios
    np.testing.assert_allclose(final_shares(light)[order], expected / expected.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_shares_as_in_training_change_nothing(kind):
    X = rows_for(FOREST, 0)
    model = make(kind).fit(X, FOREST)
    for prior in ({}, {"a": model.prior_[model.hierarchy_.find("a")]}, model.prior_):
        light = model.adapted_to(prior=prior)
        np.testing.assert_allclose(
            light.predict_node_proba(X), model.predict_node_proba(X), atol=1e-12
        )
        np.testing.assert_allclose(light.prior_, model.prior_)
    np.testing.assert_array_equal(light.classes_[0], model.classes_[0])


@pytest.mark.parametrize("kind", KINDS)
def test_restrictions_and_shares_can_come_in_any_order(kind):
    X = rows_for(FOREST, 0)
    model = make(kind, "joint").fit(X, FOREST)
    before = model.predict_node_proba(X)
    some = [("a",), ("b",)]
    one = model.adapted_to(prior={"a": 0.1, "b": 0.3, "c": 0.6}).restricted_to(some)
    other = model.restricted_to(some).adapted_to(prior={"a": 0.25, "b": 0.75})
    np.testing.assert_allclose(one.predict_node_proba(X), other.predict_node_proba(X), atol=1e-12)
    np.testing.assert_allclose(one.prior_, other.prior_, atol=1e-12)
    assert {path[0] for path in one.predict(X)} <= {"a", "b"}
    with pytest.raises(ValueError, match="their shares are 0"):
        model.adapted_to(prior={"c": 0}).restricted_to(["c"])
    # To adapt again starts from training.
    again = one.adapted_to(prior={"a": 0.5})
    whole = model.restricted_to(some).adapted_to(prior={"a": 0.5})
    np.testing.assert_allclose(again.predict_node_proba(X), whole.predict_node_proba(X), atol=1e-12)
    # The model that it was made from is as before.
    np.testing.assert_array_equal(model.predict_node_proba(X), before)


def test_a_restricted_model_is_adapted_to_rows(shifted):
    (X, y), (X_new, y_new, shares) = shifted
    model = calibrated("parent").fit(X, y).restricted_to(["a", "c"])
    some = np.isin(y_new[:, 0], ["a", "c"])
    like_training, labels, _ = draw(1500, OLD, 5)
    reference = like_training[np.isin(labels[:, 0], ["a", "c"])]
    light = model.adapted_to(X_new[some], reference=reference)
    expected = np.array(shares)[[0, 1, 4]]
    assert np.abs(final_shares(light)[[0, 1, 4]] - expected / expected.sum()).max() < 0.07
    np.testing.assert_array_equal(final_shares(light)[2:4], 0)


def test_a_restricted_model_knows_its_average_from_that_of_the_whole(shifted):
    (X, y), (X_new, y_new, _) = shifted
    model = FlatClassifier(GaussianNB(), calibration="temperature").fit(X, y)
    some = model.restricted_to(["a", "c"])
    light = some.adapted_to(X_new[np.isin(y_new[:, 0], ["a", "c"])])
    assert final_shares(light)[4] > 2 * final_shares(some)[4]
    assert final_shares(light)[[0, 1, 4]].sum() == pytest.approx(1)


def test_what_is_predicted_for_a_row_does_not_depend_on_the_others(shifted):
    (X, y), (X_new, _, _) = shifted
    light = adapted(calibrated("parent").fit(X, y), "parent", X_new)
    whole = light.predict_node_proba(X_new)
    for rows in (slice(0, 1), slice(5, 9)):
        np.testing.assert_allclose(light.predict_node_proba(X_new[rows]), whole[rows], rtol=1e-12)


@pytest.mark.parametrize("kind", [*LOCAL, "ensemble"])
def test_files_hold_adapted_models(kind, tmp_path):
    X = rows_for(FOREST, 0)
    light = make(kind, estimator=GaussianNB()).fit(X, FOREST).adapted_to(prior={"a": 0.9})
    skops.io.dump(light, tmp_path / "model.skops")
    for again in (pickle.loads(pickle.dumps(light)), hiclass.load(tmp_path / "model.skops")):
        np.testing.assert_array_equal(again.predict_node_proba(X), light.predict_node_proba(X))
        np.testing.assert_array_equal(again.prior_, light.prior_)
        assert again.score(X, FOREST) == light.score(X, FOREST)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_models_of_files_without_shares_say_so():
    folder = Path(__file__).parents[1] / "golden"
    model = hiclass.load(folder / "parent.skops")
    assert not hasattr(model, "prior_")
    with pytest.raises(
        ValueError, match="not known, because this LocalClassifierPerParentNode was loaded"
    ):
        model.adapted_to(prior={"a": 0.5})
    with pytest.raises(ValueError, match="are not known"):
        model.restricted_to(["a"]).adapted_to(prior={"a": 1})
    light = hiclass.load(folder / "adapted.skops")
    assert light.prior_[light.hierarchy_.find("a")] == pytest.approx(0.9)


def test_truncation_and_explanations_follow_the_new_probabilities():
    X = rows_for(FOREST, 0)
    model = LocalClassifierPerNode(Soft(), min_confidence=0.7).fit(X, FOREST)
    light = model.adapted_to(prior={"b": 0.98})
    assert (light.predict(X)[:, 0] == "b").mean() > (model.predict(X)[:, 0] == "b").mean()
    confidence = light.predict_confidence(X)
    assert np.nanmin(confidence) >= 0.7
    assert explain(light, X[:1]).confidence == pytest.approx(np.nanmin(confidence[0]))


def test_single_labels():
    y = np.array([3, 1, 2, 3] * 4)
    X = rows_for(y, 0)
    model = FlatClassifier(Soft()).fit(X, y)
    np.testing.assert_allclose(model.prior_, [1, 0.25, 0.25, 0.5])
    proba = model.predict_proba(X) * [0.1 / 0.25, 0.8 / 0.25, 0.1 / 0.5]
    light = model.adapted_to(prior={1: 0.1, 3: 0.1})
    expected = proba / proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(light.predict_proba(X), expected)
    np.testing.assert_array_equal(light.predict(X), np.array([1, 2, 3])[expected.argmax(axis=1)])


# -- learning from batches -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["node", "parent", "level", "flat"])
def test_batches_add_up_to_shares_also_with_weights_and_new_classes(kind):
    model = LOCAL[kind](SGDClassifier(loss="log_loss", random_state=0))
    y = [path for path in FOREST if path[0] != "c"]
    first = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model.partial_fit(rows_for(y, 0), y, classes=FOREST, sample_weight=first)
    model.partial_fit(rows_for(FOREST, 1), FOREST)
    of_c = sum(path[0] == "c" for path in FOREST)
    share = of_c / (first.sum() + len(FOREST))
    assert model.prior_[model.hierarchy_.find("c")] == pytest.approx(share)
    light = model.adapted_to(prior={"c": 0.9})
    assert light.prior_[light.hierarchy_.find("c")] == pytest.approx(0.9)
    with pytest.raises(ValueError, match="adapted to other shares of classes cannot be updated"):
        light.partial_fit(rows_for(y, 0), y)


def test_a_hierarchy_that_grows_keeps_its_shares():
    model = LocalClassifierPerNode(SGDClassifier(loss="log_loss", random_state=0))
    model.fit(rows_for(FOREST, 0), FOREST)
    late = [["a", "b"], ["a", "z"]] * 2
    model.partial_fit(rows_for(late, 1), late)
    tree, n = model.hierarchy_, len(FOREST) + 4
    counts = {("a", "b"): 2, ("a", "z"): 2, ("c",): 4, ("a", "x"): 4, ("a",): 20}
    for path, count in counts.items():
        assert model.prior_[tree.find(path)] == pytest.approx(count / n)
    unknown = pickle.loads(pickle.dumps(model))
    object.__setattr__(unknown._models, "own_weight", None)  # as from an older file
    unknown.partial_fit(rows_for(late, 1), [["d"]] * 4)
    assert not hasattr(unknown, "prior_")


def test_after_a_batch_nothing_is_known_out_of_fold():
    model = FlatClassifier(SGDClassifier(loss="log_loss", random_state=0), decoding="expected_f1")
    X = rows_for(FOREST, 0)
    model.fit(X, FOREST).adapted_to(X)
    model.partial_fit(X, FOREST)
    with pytest.warns(UserWarning, match="Pass reference="):
        model.adapted_to(X)


# -- what is refused or warned about -------------------------------------------------------------


def test_rows_or_shares_must_be_given_and_not_both():
    X = rows_for(FOREST, 0)
    model = make("parent").fit(X, FOREST)
    with pytest.raises(ValueError, match="got neither"):
        model.adapted_to()
    with pytest.raises(ValueError, match="got both"):
        model.adapted_to(X, prior={})
    with pytest.raises(ValueError, match="reference is only used if shares are estimated"):
        model.adapted_to(prior={}, reference=X)
    for strength in (-1, float("nan"), float("inf"), "much", True):
        with pytest.raises(ValueError, match="strength must be a number of rows, 0 or more; got"):
            model.adapted_to(X, strength=strength)
    for max_iter in (0, 1.5, True, None):
        with pytest.raises(ValueError, match="max_iter must be an integer of at least 1; got"):
            model.adapted_to(X, max_iter=max_iter)
    with pytest.raises(ValueError, match="features"):
        model.adapted_to(np.zeros((3, 5)))
    with pytest.raises(NotFittedError):
        make("parent").adapted_to(prior={})
    assert not hasattr(make("parent"), "prior_")
    assert not hasattr(model, "n_iter_")


def test_models_without_probabilities_do_not_offer_it():
    X = rows_for(FOREST, 0)
    model = LocalClassifierPerParentNode(LinearSVC()).fit(X, FOREST)
    with pytest.raises(AttributeError, match="has no probabilities"):
        model.adapted_to(prior={})


def test_of_very_many_rows_some_are_enough(shifted, monkeypatch):
    (X, y), (X_new, _, shares) = shifted
    model = calibrated("flat").fit(X, y)
    monkeypatch.setattr("hiclass._estimators.adapting.MOST_NUMBERS", 5 * 500)
    light, again = model.adapted_to(X_new), model.adapted_to(X_new)
    np.testing.assert_array_equal(light.prior_, again.prior_)
    rows = np.sort(np.random.default_rng(0).permutation(1500)[:500])
    np.testing.assert_array_equal(model.adapted_to(X_new[rows]).prior_, light.prior_)
    assert np.abs(final_shares(light) - shares).sum() < 0.3


def test_an_ensemble_of_too_few_rows_for_folds_knows_nothing_out_of_fold():
    members = [("flat", FlatClassifier(Soft())), ("local", LocalClassifierPerParentNode(Soft()))]
    for params in ({"weights": "learned"}, {"decoding": "expected_f1"}):
        model = EnsembleClassifier(members, **params).fit(np.zeros((1, 2)), [["a", "x"]])
        assert model._models.expected_own is None
        assert model.prior_.tolist() == [1, 1, 1]
