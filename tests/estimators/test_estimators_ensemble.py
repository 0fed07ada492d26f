"""Several models that decide together."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from fakes import Counting, Soft
from model_helpers import FOREST, X2, joined, make, pair, rows_for
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from zoo import DAG, zoo

from hiclass import (
    ConformalClassifier,
    EnsembleClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._inference.paths import final_proba, node_proba
from hiclass.model_selection import deal_folds

# -- by hand -----------------------------------------------------------------------------------

ONE = [0.1, 0.2, 0.05, 0.3, 0.15, 0.2]
OTHER = [0.2, 0.2, 0.2, 0.1, 0.1, 0.2]


def assert_final(models, expected):
    np.testing.assert_allclose(final_proba(models, X2), [expected] * 2, rtol=1e-12, atol=1e-15)
    a, x, y, b, z, c = expected
    nodes = [1, a + x + y, x, y, b + z, z, c]
    np.testing.assert_allclose(node_proba(models, X2), [nodes] * 2, rtol=1e-12, atol=1e-15)


def test_the_product_is_normalised_and_summed_up_the_tree():
    product = np.array([0.02, 0.04, 0.01, 0.03, 0.015, 0.04])
    assert_final(joined(ONE, OTHER), product / 0.155)


def test_the_mean_is_normalised_and_summed_up_the_tree():
    assert_final(joined(ONE, OTHER, voting="mean"), (np.array(ONE) + OTHER) / 2)


def test_weights_are_exponents_for_the_product_and_factors_for_the_mean():
    product = np.array(ONE) ** 2 * np.array(OTHER) ** 0.5
    assert_final(joined(ONE, OTHER, weights=(2.0, 0.5)), product / product.sum())
    mean = (3 * np.array(ONE) + 1 * np.array(OTHER)) / 4
    assert_final(joined(ONE, OTHER, weights=(3.0, 1.0), voting="mean"), mean)


@pytest.mark.parametrize("voting", ["product", "mean"])
def test_a_model_of_weight_zero_has_no_say(voting):
    never = [1.0, 0, 0, 0, 0, 0]
    assert_final(joined(ONE, never, weights=(1.0, 0.0), voting=voting), ONE)


def test_a_final_class_that_one_model_excludes_has_probability_zero_in_the_product():
    sure = [0.5, 0.5, 0, 0, 0, 0]
    assert_final(joined(ONE, sure), [1 / 3, 2 / 3, 0, 0, 0, 0])


def test_where_the_models_agree_on_nothing_all_final_classes_are_equally_probable():
    models = joined([1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0])
    assert_final(models, [1 / 6] * 6)


def test_a_product_of_very_small_numbers_does_not_vanish():
    tiny = np.array([1 - 3e-200, 1e-200, 2e-200, 0, 0, 0])
    other = np.array([0, 3e-200, 1e-200, 0, 0, 1 - 4e-200])
    assert_final(joined(tiny, other), [0, 0.6, 0.4, 0, 0, 0])


@pytest.mark.parametrize("voting", ["product", "mean"])
def test_a_fitted_ensemble_puts_its_models_together(voting):
    """From the public probabilities of the models, fitted one by one."""
    X = rows_for(FOREST, 0)
    ensemble = pair(voting=voting, weights=[2, 1]).fit(X, FOREST)
    parts = []
    for _, model in ensemble.models:
        proba = clone(model).fit(X, FOREST).predict_node_proba(X)
        ends = sorted({ensemble.hierarchy_.find(tuple(path)) for path in FOREST})
        below = [proba[:, ensemble.hierarchy_.children(v)].sum(axis=1) for v in ends]
        parts.append(proba[:, ends] - np.column_stack(below))
    if voting == "product":  # weights are scaled to a sum of one
        expected = parts[0] ** (2 / 3) * parts[1] ** (1 / 3)
    else:
        expected = 2 * parts[0] + parts[1]
    expected /= expected.sum(axis=1, keepdims=True)
    nodes, proba = ensemble.predict_node_proba(X), ensemble.predict_paths(X, len(ends))[1]
    np.testing.assert_allclose(proba, -np.sort(-expected, axis=1), rtol=1e-9, atol=1e-12)
    for v in range(ensemble.hierarchy_.n_nodes):
        under = [v == e or v in ensemble.hierarchy_.ancestors(e) or v == 0 for e in ends]
        np.testing.assert_allclose(nodes[:, v], expected[:, under].sum(axis=1), atol=1e-9)


def test_copies_of_one_model_decide_as_the_model():
    X = rows_for(FOREST, 0)
    model = LocalClassifierPerNode(Soft()).fit(X, FOREST)
    twice = [("a", LocalClassifierPerNode(Soft())), ("b", LocalClassifierPerNode(Soft()))]
    ensemble = EnsembleClassifier(twice, voting="mean", decoding="top_down").fit(X, FOREST)
    np.testing.assert_allclose(ensemble.predict_node_proba(X), model.predict_node_proba(X))
    np.testing.assert_array_equal(ensemble.predict(X), model.predict(X))
    assert ensemble.score(X, FOREST) == model.score(X, FOREST)
    assert ensemble.classes_[0].tolist() == model.classes_[0].tolist()
    assert ensemble.missing_label_ == ""


# -- the contract ------------------------------------------------------------------------------


def test_a_threshold_is_refused_before_any_fold_is_fitted(monkeypatch, animals):
    monkeypatch.setattr(Counting, "fits", 0)
    models = [("flat", FlatClassifier(Counting()))]
    ensemble = EnsembleClassifier(models, decoding="expected_f1", threshold=0.3)
    with pytest.raises(ValueError, match=r"threshold=0.3 .* one path per row. Use min_confidence"):
        ensemble.fit(*animals)
    assert Counting.fits == 1


def test_an_ensemble_of_sets_can_be_a_model_of_another_one(animals):
    X, y = animals
    y = [[tuple(path)] for path in y]
    inner = EnsembleClassifier([("flat", FlatClassifier(GaussianNB(), multi_label=True))])
    local = LocalClassifierPerParentNode(GaussianNB(), multi_label=True)
    outer = EnsembleClassifier([("one", inner), ("two", local)], voting="mean", weights=[2, 1])
    one, two = (m.predict_node_proba(X) for m in outer.fit(X, y).models_)
    np.testing.assert_allclose(outer.predict_node_proba(X), (2 * one + two) / 3)


def test_parameters_of_the_models_are_reached_by_name():
    ensemble = pair()
    params = ensemble.get_params()
    assert params["flat"] is ensemble.models[0][1]
    assert params["local__local_classifier__scale"] == 1.0
    assert set(ensemble.get_params(deep=False)) == {
        "models", "voting", "weights", "decoding", "expected_f1", "min_confidence", "threshold",
            "class_texts",
    }  # fmt: skip
    ensemble.set_params(local__local_classifier__scale=3.0, voting="mean")
    assert ensemble.models[1][1].local_classifier.scale == 3.0
    assert ensemble.voting == "mean"
    ensemble.set_params(flat=LocalClassifierPerLevel())
    assert [(n, type(m)) for n, m in ensemble.models] == [
        ("flat", LocalClassifierPerLevel),
        ("local", LocalClassifierPerParentNode),
    ]


def test_models_are_cloned_and_found_by_name():
    X = rows_for(FOREST, 0)
    ensemble = pair().fit(X, FOREST)
    assert not hasattr(ensemble.models[0][1], "classes_")
    assert [type(m) for m in ensemble.models_] == [FlatClassifier, LocalClassifierPerParentNode]
    assert ensemble.named_models_["flat"] is ensemble.models_[0]
    assert ensemble.named_models_.local is ensemble.models_[1]
    assert ensemble.models_[1].hierarchy_ == ensemble.hierarchy_
    assert ensemble.n_features_in_ == 2


def test_clones_and_pickles_predict_alike():
    X = rows_for(FOREST, 0)
    ensemble = pair(weights=[1, 2], decoding="expected_f1").fit(X, FOREST)
    again = clone(ensemble)
    with pytest.raises(NotFittedError):
        again.predict(X)
    again.fit(X, FOREST)
    for other in (again, pickle.loads(pickle.dumps(ensemble))):
        assert other.expected_f1_ == ensemble.expected_f1_
        np.testing.assert_array_equal(other.predict(X), ensemble.predict(X))
        np.testing.assert_array_equal(other.predict_node_proba(X), ensemble.predict_node_proba(X))


def test_sample_weights_reach_every_model():
    X = rows_for(FOREST, 0)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X))
    ensemble = pair().fit(X, FOREST, sample_weight=weight)
    repeated = np.repeat(np.arange(len(X)), weight)
    other = pair().fit(X[repeated], [FOREST[i] for i in repeated])
    np.testing.assert_allclose(ensemble.predict_node_proba(X), other.predict_node_proba(X))
    plain = pair().fit(X, FOREST).predict_node_proba(X)
    assert np.abs(ensemble.predict_node_proba(X) - plain).max() > 0.01
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit does not take it"):
        EnsembleClassifier([("knn", FlatClassifier(KNeighborsClassifier()))]).fit(
            X, FOREST, sample_weight=weight
        )


def test_metadata_is_routed_to_the_models_that_request_it():
    X = rows_for(FOREST, 0)
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        requests = Soft().set_fit_request(sample_weight=True)
        declines = Soft().set_fit_request(sample_weight=False)
        ensemble = EnsembleClassifier(
            [("flat", FlatClassifier(requests)), ("local", LocalClassifierPerNode(declines))],
            decoding="expected_f1",
        ).fit(X, FOREST, sample_weight=weight)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            pair().fit(X, FOREST, sample_weight=weight)
    flat = FlatClassifier(Soft()).fit(X, FOREST, sample_weight=weight)
    local = LocalClassifierPerNode(Soft()).fit(X, FOREST)
    for one, other in zip(ensemble.models_, (flat, local), strict=True):
        np.testing.assert_array_equal(one.predict_node_proba(X), other.predict_node_proba(X))
    # The score that is reached is measured with the weights all the same.
    assert 0 < ensemble.expected_f1_ < 1


class TakesSparse(GaussianNB):
    """Says so, as those classifiers of scikit-learn that do have said since version 1.7."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def test_tags_are_what_all_models_take():
    def tags(*estimators):
        members = [(f"m{i}", FlatClassifier(estimator)) for i, estimator in enumerate(estimators)]
        return get_tags(EnsembleClassifier(members)).input_tags

    assert tags(TakesSparse()).sparse
    assert not tags(TakesSparse(), GaussianNB()).sparse
    assert not tags(GaussianNB(), TakesSparse()).sparse
    assert tags(lambda _: GaussianNB()).sparse  # whatever it is, it is trusted
    assert not tags(lambda _: GaussianNB(), GaussianNB()).sparse


def test_a_model_may_be_an_ensemble():
    X = rows_for(FOREST, 0)
    nested = EnsembleClassifier([("pair", pair()), ("node", LocalClassifierPerNode(Soft()))])
    flat = [*pair().models, ("node", LocalClassifierPerNode(Soft()))]
    weights = [1, 1, 2]  # each model of the pair has half of the pair's half
    expected = EnsembleClassifier(flat, weights=weights).fit(X, FOREST).predict_node_proba(X)
    np.testing.assert_allclose(nested.fit(X, FOREST).predict_node_proba(X), expected, atol=1e-12)
    nested.set_params(decoding="expected_f1").fit(X, FOREST)
    expected = EnsembleClassifier(flat, weights=weights, decoding="expected_f1").fit(X, FOREST)
    assert nested.expected_f1_ == pytest.approx(expected.expected_f1_)


# -- the expected F-score ----------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "learned"])
def test_expected_f1_is_the_score_that_the_whole_ensemble_reaches_out_of_fold(weights):
    X = rows_for(FOREST, 0)
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
    ensemble = pair(decoding="expected_f1", weights=weights).fit(X, FOREST, sample_weight=weight)
    hierarchy = ensemble.hierarchy_
    fold = deal_folds(np.array([hierarchy.find(tuple(path)) for path in FOREST]), 3)
    parts = []
    for k in range(3):
        train = np.flatnonzero(fold != k)
        part = pair(decoding="best_path").set_params(
            flat__hierarchy=hierarchy, local__hierarchy=hierarchy
        )
        y_train = [FOREST[i] for i in train]
        parts.append(part.fit(X[train], y_train, sample_weight=weight[train]))
        part._models = replace(part._models, weights=tuple(ensemble.weights_))
        parts[-1].decoding = "expected_f1"
    f = 1.0
    for _ in range(20):
        found = np.empty((len(X), 3), dtype=object)
        for k, part in enumerate(parts):
            part.expected_f1_ = f
            found[fold == k] = part.predict(X[fold == k])
        new = metrics.f1(FOREST, found, hierarchy=hierarchy, sample_weight=weight)
        before, f = f, new
        if abs(f - before) < 1e-4:
            break
    else:  # as it does here: two values follow each other for ever
        f = (before + f) / 2
    assert ensemble.expected_f1_ == pytest.approx(f, rel=1e-9)
    assert not hasattr(pair().fit(X, FOREST), "expected_f1_")


def test_folds_do_not_repeat_the_warning_about_a_policy():
    y = [["a", "x"], ["a", "y"], ["b", "z"]] * 4
    members = [("node", LocalClassifierPerNode(Soft(), binary_policy="exclusive"))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        EnsembleClassifier(members, decoding="expected_f1").fit(rows_for(y, 0), y)
    assert [str(w.message)[:37] for w in caught] == ["No training row ends at an inner node"]


def test_expected_f1_of_single_labels_and_of_a_given_hierarchy():
    y = ["A", "x", "w", "B", "x", "w"] * 3
    X = rows_for(y, 0)
    tree = {"A": ["x", "w"], "B": ["z"]}
    members = [(n, c(Soft(), hierarchy=tree)) for n, c in
               (("flat", FlatClassifier), ("node", LocalClassifierPerNode))]  # fmt: skip
    ensemble = EnsembleClassifier(members, decoding="expected_f1").fit(X, y)
    assert 0 < ensemble.expected_f1_ <= 1
    assert set(ensemble.predict(X)) <= {"A", "B", "x", "w", "z"}


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"models": []}, ValueError, "models is empty"),
        ({"models": "flat"}, ValueError, "'models' parameter .* must be an instance of 'list'"),
        ({"models": [("a", FlatClassifier()), ("a", FlatClassifier())]}, ValueError, "not unique"),
        ({"models": [("a__b", FlatClassifier())]}, ValueError, "must not contain __"),
        ({"models": [("voting", FlatClassifier())]}, ValueError, "conflict with constructor"),
        ({"models": [("lr", LogisticRegression())]}, TypeError, "'lr' is a LogisticRegression"),
        ({"models": [("s", FlatClassifier(LinearSVC()))]}, ValueError, "'s' has no probabilities"),
        ({"weights": [1]}, ValueError, "must be 2 numbers, one per model"),
        ({"weights": [1, -1]}, ValueError, "not negative"),
        ({"weights": [0, 0]}, ValueError, "not all zero"),
        ({"weights": [np.nan, 1]}, ValueError, "must be 2 numbers"),
        ({"voting": "sum"}, ValueError, "'voting' parameter"),
        ({"decoding": "greedy"}, ValueError, "'decoding' parameter"),
        ({"min_confidence": 2.0}, ValueError, "'min_confidence' parameter"),
    ],
)
def test_wrong_parameters_are_refused(params, error, message):
    ensemble = EnsembleClassifier(**{"models": pair().models, **params})
    with pytest.raises(error, match=message):
        ensemble.fit(rows_for(FOREST, 0), FOREST)
    assert not hasattr(ensemble, "classes_")


def test_models_with_different_hierarchies_are_refused():
    y = ["A", "x", "w", "B"] * 3
    members = [
        ("deep", FlatClassifier(Soft(), hierarchy={"A": ["x", "w"], "B": ["z"]})),
        ("plain", FlatClassifier(Soft())),
    ]
    with pytest.raises(ValueError, match="'deep' and 'plain' have different hierarchies"):
        EnsembleClassifier(members).fit(rows_for(y, 0), y)


def test_models_that_end_at_different_nodes_are_refused():
    members = [("a", FlatClassifier(Soft())), ("b", FlatClassifier(Soft(), leaf_only=True))]
    with pytest.raises(ValueError, match="'a' and 'b' may end at different nodes"):
        EnsembleClassifier(members).fit(rows_for(FOREST, 0), FOREST)


def test_a_fit_that_fails_leaves_nothing_of_the_one_before():
    X = rows_for(FOREST, 0)
    ensemble = pair().fit(X, FOREST)
    with pytest.raises(ValueError, match="rows"):
        ensemble.fit(X[:3], FOREST)
    assert not hasattr(ensemble, "models_")
    with pytest.raises(NotFittedError):
        ensemble.predict(X)


# -- scikit-learn's checks ---------------------------------------------------------------------


def test_passes_the_checks_of_scikit_learn():
    """All of them; none is expected to fail."""
    members = [(n, make(n, estimator=GaussianNB())) for n in ("flat", "parent")]
    with warnings.catch_warnings():
        # What naive Bayes says about a class of weight 0.
        warnings.filterwarnings("ignore", "divide by zero encountered in log", RuntimeWarning)
        results = check_estimator(EnsembleClassifier(members), on_fail=None, on_skip=None)
    assert [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"] == []
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {
        "check_array_api_input"  # runs only where SCIPY_ARRAY_API=1 is set at start
    }
    assert "check_classifiers_train" in {r["check_name"] for r in results}


def test_temperatures_are_learned_once_and_serve_in_the_folds_of_the_ensemble():
    X = rows_for(FOREST, 0)
    member = FlatClassifier(Counting(), calibration="temperature", decoding="expected_f1")
    Counting.fits = 0
    alone = clone(member).fit(X, FOREST)
    assert Counting.fits == 1 + 3
    Counting.fits = 0
    ensemble = EnsembleClassifier([("flat", member)], decoding="expected_f1").fit(X, FOREST)
    assert Counting.fits == 1 + 3 + 3
    # One member, the same folds, the same temperature: what it reaches is the same as well.
    assert ensemble.models_[0].temperature_ == alone.temperature_
    assert ensemble.expected_f1_ == pytest.approx(alone.expected_f1_)
    Counting.fits = 0
    f = alone.expected_f1_
    given = EnsembleClassifier([("flat", member)], decoding="expected_f1", expected_f1=f)
    np.testing.assert_array_equal(given.fit(X, FOREST).predict(X), alone.predict(X))
    assert Counting.fits == 1 + 3  # those of the member
    # A member's own way to decide is not used, and does no harm.
    Counting.fits = 0
    member.set_params(expected_f1=f)
    EnsembleClassifier([("flat", member)], decoding="expected_f1").fit(X, FOREST)
    assert Counting.fits == 1 + 3 + 3
    Counting.fits = 0
    nested = EnsembleClassifier([("one", ensemble)], decoding="expected_f1").fit(X, FOREST)
    assert Counting.fits == 1 + 3 + 3 + 3
    assert nested.expected_f1_ == pytest.approx(alone.expected_f1_)


def test_learned_weights_serve_in_the_folds_of_all_ensembles_above():
    X, y = rows_for(FOREST * 3, 0), FOREST * 3
    pair = [("node", LocalClassifierPerNode(Soft())), ("flat", FlatClassifier(Counting()))]
    Counting.fits = 0
    model = EnsembleClassifier(pair, weights="learned").fit(X, y)
    weights = model.weights_
    assert Counting.fits == 1 + 3
    Counting.fits = 0
    for _ in range(2):
        model = EnsembleClassifier([("one", model)], decoding="expected_f1")
    model.fit(X, y)
    assert Counting.fits == 1 + 3 + 3 + 3
    inner = model._models.members[0].members[0]
    np.testing.assert_array_equal(inner.weights, weights)
    some = np.arange(0, len(X), 2)
    fold = model._refit(X[some], [y[i] for i in some], model.hierarchy_, {})
    np.testing.assert_array_equal(fold.members[0].members[0].weights, weights)


@pytest.mark.parametrize(
    "model",
    [
        FlatClassifier(Counting(), decoding="expected_f1"),
        FlatClassifier(Counting(), calibration="temperature"),
        EnsembleClassifier(
            [("flat", FlatClassifier(Counting(), decoding="expected_f1"))],
            weights="learned",
            decoding="expected_f1",
        ),
    ],
    ids=["expected_f1", "temperature", "ensemble"],
)
def test_a_copy_for_a_fold_learns_nothing_out_of_fold_and_leaves_the_model_alone(model):
    X, y = rows_for(FOREST * 3, 0), FOREST * 3
    model = clone(model).fit(X, y)
    before, params = dict(vars(model)), model.get_params()
    Counting.fits = 0
    some = np.arange(0, len(X), 2)
    weight = np.linspace(1, 2, len(some))
    refitted = model._refit(
        X[some], [y[i] for i in some], model.hierarchy_, {"sample_weight": weight}
    )
    assert Counting.fits == 1
    assert refitted.hierarchy == model.hierarchy_
    assert refitted.temperature == model._models.temperature
    assert getattr(refitted, "weights", None) == getattr(model._models, "weights", None)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == before.keys()
    assert model.get_params() == params


@pytest.mark.parametrize("wrapped", ["ensemble", "conformal"])
def test_score_of_a_wrapper_is_the_hierarchical_f_score_for_single_labels_too(wrapped):
    rng = np.random.default_rng(0)
    y = rng.choice(["x", "y", "z", "u"], size=200)
    X = np.array([[ord(label), rng.normal()] for label in y]) + rng.normal(size=(200, 2))
    hierarchy = {"a": ["x", "y"], "b": ["z", "u"]}
    base = FlatClassifier(GaussianNB(), hierarchy=hierarchy)
    model = (
        EnsembleClassifier([("only", base)])
        if wrapped == "ensemble"
        else ConformalClassifier(base, random_state=0)
    ).fit(X, y)
    expected = metrics.f1(y, model.predict(X), hierarchy=hierarchy)
    assert model.score(X, y) == expected
    if wrapped == "ensemble":
        assert expected == base.fit(X, y).score(X, y)


def test_an_ensemble_refuses_a_member_whose_guarantee_it_would_lose():
    members = [("safe", ConformalClassifier(FlatClassifier()))]
    with pytest.raises(TypeError, match="Put the ensemble into the ConformalClassifier"):
        EnsembleClassifier(members).fit([[0.0], [1.0]], ["a", "b"])


def test_an_ensemble_of_leaf_only_models_ends_at_leaves():
    X = np.arange(12.0)[:, None]
    y = [["a", "x"], ["a", "z"], ["b", "y"], ["a"]] * 3
    members = [
        ("flat", FlatClassifier(GaussianNB(), leaf_only=True)),
        ("node", LocalClassifierPerNode(GaussianNB(), leaf_only=True)),
    ]
    model = EnsembleClassifier(members, decoding="expected_f1").fit(X, y)
    assert model.leaf_only
    assert "" not in model.predict(X)[:, 1]
    assert 0 < model.expected_f1_ <= 1
    with pytest.raises(ValueError, match="leaf_only=True requires every path to end at a leaf"):
        model.set_params(min_confidence=0.5).predict(X)


def test_ensembles_and_conformal_models_predict_with_the_jobs_of_their_models():
    flat = FlatClassifier(n_jobs=2)
    ensemble = EnsembleClassifier([("local", LocalClassifierPerParentNode()), ("flat", flat)])
    assert ensemble.n_jobs == 2
    assert ConformalClassifier(ensemble).n_jobs == 2
    assert ConformalClassifier(LocalClassifierPerParentNode()).n_jobs is None


# -- sets of classes: what is learned out of fold ------------------------------------------------


class Dice(ClassifierMixin, BaseEstimator):
    """Probabilities that have nothing to do with the rows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y):
        self.n_columns_ = y.shape[1]
        return self

    def predict_proba(self, X):
        return np.random.default_rng(len(X)).random((len(X), self.n_columns_))


def set_models(**options):
    good = FlatClassifier(KNeighborsClassifier(5), hierarchy=DAG, multi_label=True)
    dice = FlatClassifier(Dice(), hierarchy=DAG, multi_label=True)
    return EnsembleClassifier([("good", good), ("dice", dice)], **options)


@pytest.mark.parametrize("voting", ["mean", "product"])
def test_weights_of_models_of_sets_are_learned_by_their_ranking(voting):
    X, y = zoo(120)
    model = set_models(voting=voting, weights="learned").fit(X, y)
    assert model.weights_[0] > 0.8
    assert model.weights_.sum() == pytest.approx(1)
    assert not hasattr(model, "thresholds_")
    members = [member.predict_node_proba(X) for member in model.models_]
    expected = members[0] * model.weights_[0] + members[1] * model.weights_[1]
    if voting == "mean":
        np.testing.assert_allclose(model.predict_node_proba(X), expected)


def test_thresholds_of_an_ensemble_of_sets_are_learned_from_its_mixture():
    X, y = zoo(120)
    model = set_models(voting="mean", weights="learned", threshold="tuned").fit(X, y)
    assert model.thresholds_.shape == (DAG.n_nodes,)
    assert model.score(X, y) > 0.9
    assert model.set_params(threshold="micro_f1").score(X, y) > 0.9
    groups = np.arange(len(X)) // 10
    grouped = set_models(weights="learned").fit(X, y, groups=groups)
    assert grouped.weights_[0] > 0.5
    with pytest.raises(ValueError, match="groups has 2 different groups"):
        set_models(threshold="tuned").fit(X, y, groups=groups % 2)


def test_models_of_sets_of_a_single_row_have_equal_weights_and_usual_thresholds():
    X, y = zoo(1)
    good = FlatClassifier(KNeighborsClassifier(1), hierarchy=DAG, multi_label=True)
    options = {"weights": "learned", "threshold": "tuned"}
    model = EnsembleClassifier([("one", good), ("two", good)], **options).fit(X, y)
    assert model.weights_.tolist() == [0.5, 0.5]
    assert (model.thresholds_ == 0.5).all()


def test_weights_of_models_of_one_label_in_a_dag_are_learned_too():
    X, y = zoo(120)
    first = [row[0] for row in y]
    models = [
        (name, LocalClassifierPerNode(local, hierarchy=DAG))
        for name, local in (("bayes", GaussianNB()), ("prior", DummyClassifier()))
    ]
    model = EnsembleClassifier(models, weights="learned", voting="mean").fit(X, first)
    assert model.weights_[0] > 0.5
    assert model.score(X, first) > 0.7
