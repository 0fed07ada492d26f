"""``HierarchicalClassifier``: what it chooses, what it is told, and what it says about that.

Labels and rows of all kinds are in ``test_automatic_classifier_data.py``, tools around it and files
in ``test_automatic_classifier_tools.py``.
"""

import copy
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from fakes import Centroids, Nearest, OnlyPredict, Recorder, Scored, Soft
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC
from zoo import DAG, zoo

from hiclass import (
    ByDepth,
    EnsembleClassifier,
    FlatClassifier,
    HierarchicalClassifier,
    Hierarchy,
)
from hiclass._automatic import choice

QUICK = {"effort": "quick", "random_state": 0}


# -- choosing ----------------------------------------------------------------------------------


def test_the_better_half_is_chosen_by_rows_held_out(noisy):
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y)
    assert set(model.scores_) == {"local", "flat", "local and flat"}
    joint = model.scores_["local and flat"]
    assert joint >= max(model.scores_.values()) - np.sqrt(0.1 / 60)
    assert isinstance(model.model_, EnsembleClassifier)
    assert model.choices_["why"].startswith(f"exact match {joint:.3f} out of fold (")


def test_the_reason_says_why_a_model_alone_with_a_higher_score_was_not_chosen():
    scores = {"local": 0.541, "flat": 0.553, "both": 0.552}
    product = SimpleNamespace(name="both", score=0.552)
    flat = SimpleNamespace(name="flat", score=0.553)
    assert choice._reason(product, scores, "exact match") == (
        "exact match 0.552 out of fold (local 0.541, flat 0.553; the difference may be chance)"
    )
    assert choice._reason(flat, scores, "hierarchical F1") == (
        "hierarchical F1 0.553 out of fold (local 0.541, both 0.552)"
    )
    assert choice._reason(flat, {"flat": 0.553}, "score") == (
        "the only candidate; score 0.553 out of fold"
    )


def test_its_predictions_are_those_of_the_model_that_it_chose(noisy, balanced):
    X, _ = noisy
    assert balanced.scaler_ is None
    np.testing.assert_array_equal(balanced.predict(X), balanced.model_.predict(X))
    np.testing.assert_array_equal(
        balanced.predict_node_proba(X), balanced.model_.predict_node_proba(X)
    )


def test_choices_tell_what_and_why(balanced, quick):
    assert set(balanced.choices_) >= {
        "features",
        "effort",
        "classifier",
        "why",
        "model",
        "decoding",
    }
    assert balanced.choices_["features"] == "4 dense features of numbers"
    assert balanced.choices_["effort"] == "balanced"
    assert balanced.choices_["classifier"] == "kernels and trees: the features are dense"
    assert "flat kernel" in balanced.scores_
    assert all(isinstance(text, str) for text in balanced.choices_.values())
    assert quick.choices_["why"] == "a fixed rule: nothing was compared"
    assert quick.scores_ == {}


def test_the_weights_of_a_product_are_told(noisy):
    """Each knows one half of the classes."""
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB(), optimize=_wants_products, random_state=0)
    model.fit(X, y)
    assert isinstance(model.model_, EnsembleClassifier)
    assert model.choices_["model"] == (
        "local: a GaussianNB per parent node; flat: a GaussianNB over all final classes"
    )
    parts = [part.rsplit(" ", 1) for part in model.choices_["weights"].split(", ")]
    assert [name for name, _ in parts] == ["local", "flat"]
    found = [float(number) for _, number in parts]
    np.testing.assert_allclose(found, model.model_.weights_, atol=0.005)


def _wants_products(model, X, y):
    return float(isinstance(model, EnsembleClassifier))


def test_what_was_left_out_is_told(noisy):
    X, y = noisy
    model = HierarchicalClassifier(OnlyPredict(), random_state=0).fit(X, y)
    assert model.choices_["no flat"] == (
        "OnlyPredict has neither predict_proba nor decision_function"
    )
    assert model.choices_["why"].startswith("the only candidate; exact match 0.")


def test_words_are_linear(noisy):
    X, y = noisy
    model = HierarchicalClassifier(random_state=0).fit(sp.csr_matrix(X), y)
    assert model.choices_["classifier"] == "linear: the features are sparse"
    assert set(model.scores_) == {"local", "flat", "local and flat"}


@pytest.mark.parametrize("optimize", ["path", "f1"])
def test_it_is_not_worse_than_its_parts_on_rows_held_out(noisy, optimize):
    model = HierarchicalClassifier(GaussianNB(), optimize=optimize, random_state=0).fit(*noisy)
    reached = float(model.choices_["why"].split(" out of fold")[0].rpartition(" ")[2])
    assert reached >= max(model.scores_.values()) - np.sqrt(0.1 / 60)
    if optimize == "f1":
        assert model.expected_f1_ == pytest.approx(reached, abs=1e-3)


def test_columns_in_units_of_their_own_are_scaled(noisy):
    X, y = noisy
    units = X * [1, 1000, 1, 0.001]
    model = HierarchicalClassifier(**QUICK).fit(units, y)
    assert model.choices_["features"] == "4 dense features of numbers, scaled: their spreads differ"
    np.testing.assert_allclose(model.scaler_.mean_, units.mean(axis=0))
    np.testing.assert_array_equal(
        model.predict(units), model.model_.predict(model.scaler_.transform(units))
    )


def test_counts_for_a_classifier_that_takes_no_negative_numbers_are_not_scaled(noisy):
    X, y = np.abs(noisy[0]) * [1, 1000, 1, 0.001], noisy[1]
    model = HierarchicalClassifier(MultinomialNB(), **QUICK).fit(X, y)
    assert model.scaler_ is None
    assert HierarchicalClassifier(GaussianNB(), **QUICK).fit(X, y).scaler_ is not None


# -- few rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_rows", [1, 2, 29, 30])
def test_few_rows(noisy, n_rows, form):
    X, y = noisy
    X, y = form(X)[:n_rows], y[:n_rows]
    model = HierarchicalClassifier(random_state=0).fit(X, y)
    assert model.predict(X).shape == (n_rows, 2)
    if n_rows < 30:
        text = f"quick: {n_rows} rows are too few to measure anything on"
        assert model.choices_["effort"] == text
        assert (model.scores_, model.expected_f1_) == ({}, 0.8)
    else:
        assert model.choices_["effort"] == "balanced"
        assert model.scores_


@pytest.mark.parametrize("effort", ["quick", "balanced", "best"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_one_class(noisy, form, effort):
    X = form(noisy[0][:36])
    model = HierarchicalClassifier(effort=effort, random_state=0).fit(X, [["a", "b"]] * 36)
    assert model.predict(X).tolist() == [["a", "b"]] * 36
    np.testing.assert_array_equal(model.predict_confidence(X), 1)


def test_rows_that_are_the_only_ones_of_their_inner_class_are_never_held_out():
    """Of a chain in which every row ends one level deeper only the last one is a leaf."""
    X = np.random.default_rng(0).normal(size=(31, 2))
    y = [[f"level {j}" for j in range(i + 1)] for i in range(31)]
    for effort in ("quick", "balanced"):
        model = HierarchicalClassifier(GaussianNB(), effort=effort, random_state=0).fit(X, y)
        assert model.predict(X).shape == (31, 31)
    dense = HierarchicalClassifier(**QUICK).fit(X, y)
    assert dense.choices_["why"] == "a fixed rule: nothing was compared"
    known = Hierarchy.from_paths([*y, [*y[-1], "leaf"]])
    model = HierarchicalClassifier(GaussianNB(), hierarchy=known, random_state=0).fit(X, y)
    assert model.choices_["why"] == "a fixed rule: nothing was compared"


def test_one_column_and_no_spread(noisy):
    X, y = noisy
    for rows in (X[:, :1], np.ones((60, 2))):
        model = HierarchicalClassifier(**QUICK).fit(rows, y)
        assert model.predict(rows).shape == (60, 2)


def test_more_rows_are_held_out_on_one_fold(noisy, monkeypatch):
    X, y = noisy
    folds = []
    real = choice.select

    def watched(chosen, rows, n_folds, objective):
        folds.append(n_folds)
        return real(chosen, rows, n_folds, objective)

    monkeypatch.setattr(choice, "select", watched)
    monkeypatch.setattr(choice, "_FEW_ROWS", 60)
    for effort, expected in (("balanced", 1), ("best", 3)):
        HierarchicalClassifier(Nearest(), effort=effort).fit(X, y)
        assert folds.pop() == expected
    HierarchicalClassifier(Nearest()).fit(X, y, groups=np.arange(60) // 6)
    assert folds.pop() == 3
    monkeypatch.setattr(choice, "_FEW_ROWS", 61)
    HierarchicalClassifier(Nearest()).fit(X, y)
    assert folds.pop() == 3


# -- what predictions should be best at --------------------------------------------------------


def test_optimize_decides_on_the_decoding(noisy):
    X, y = noisy
    for optimize, decoding in ((None, "best_path"), ("path", "best_path"), ("f1", "expected_f1")):
        model = HierarchicalClassifier(GaussianNB(), optimize=optimize, random_state=0).fit(X, y)
        assert model.choices_["decoding"] == model.decoding == decoding


def test_f1_ends_a_path_where_going_on_is_not_worth_it():
    """All that is known of the last level is that three classes are equally likely."""
    y = [["a", "x"], ["a", "y"], ["a", "z"]] * 12
    X = np.zeros((36, 1))
    model = HierarchicalClassifier(DummyClassifier(), optimize="f1", random_state=0)
    assert model.fit(X, y).predict(X[:1]).tolist() == [["a", ""]]
    assert model.set_params(optimize="path").predict(X[:1]).tolist() == [["a", "x"]]
    assert model.set_params(optimize="f1").predict(X[:1]).tolist() == [["a", ""]]


@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_optimize_can_be_changed_after_fit(noisy, effort):
    X, y = noisy
    paths = HierarchicalClassifier(GaussianNB(), effort=effort, random_state=0).fit(X, y)
    assert paths.predict(X).astype(bool).all()
    assert paths.set_params(optimize="f1").decoding == "expected_f1"
    np.testing.assert_array_equal(
        paths.predict(X),
        copy.copy(paths.model_).set_params(decoding="expected_f1").predict(X),
    )
    with pytest.raises(ValueError, match="optimize='hF' is neither 'path' nor 'f1' nor a scorer"):
        paths.set_params(optimize="hF").predict(X)


def test_a_scorer_decides_on_model_and_decoding(noisy):
    X, y = noisy
    seen = []

    def scorer(model, features, labels):
        seen.append((type(model).__name__, model.decoding, features.shape[1], len(labels)))
        return float(model.decoding == "expected_f1") + isinstance(model, FlatClassifier)

    model = HierarchicalClassifier(GaussianNB(), optimize=scorer, random_state=0).fit(X, y)
    assert isinstance(model.model_, FlatClassifier)
    assert model.decoding == "expected_f1"
    assert max(model.scores_.values()) == 2.0
    assert {entry[2:] for entry in seen} == {(4, 20)}
    # After fit it is what was measured that counts.
    assert model.set_params(optimize="path").decoding == "best_path"
    assert model.set_params(optimize=scorer).decoding == "expected_f1"


def test_a_scorer_may_be_named(noisy):
    X, y = noisy
    model = HierarchicalClassifier(GaussianNB(), optimize="accuracy", random_state=0)
    model.fit(X, y[:, 1])
    assert model.score(X, y[:, 1]) > 0.8


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"optimize": "hF"}, ValueError, "neither 'path' nor 'f1' nor a scorer of scikit-learn"),
        ({"optimize": 3}, ValueError, "The 'optimize' parameter"),
        ({"effort": "most"}, ValueError, "The 'effort' parameter"),
        ({"min_confidence": 2}, ValueError, "The 'min_confidence' parameter"),
        ({"n_jobs": 0}, ValueError, "The 'n_jobs' parameter"),
        ({"random_state": "a"}, ValueError, "The 'random_state' parameter"),
        ({"multi_label": "yes"}, ValueError, "The 'multi_label' parameter"),
        ({"local_classifier": 5}, TypeError, "local_classifier=5 has no fit method"),
        ({"local_classifier": GaussianNB}, TypeError, "is the class GaussianNB. Pass an instance"),
        (
            {"optimize": "accuracy", "effort": "quick"},
            ValueError,
            "effort='quick' compares nothing, so a scorer cannot be used",
        ),
        ({"hierarchy": 5}, TypeError, "hierarchy"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused_and_nothing_is_fitted(noisy, params, error, message):
    model = HierarchicalClassifier(**params)
    with pytest.raises(error, match=message):
        model.fit(*noisy)
    assert [name for name in vars(model) if name.startswith("_") or name.endswith("_")] == []


def test_min_confidence_is_read_at_predict_time(noisy, quick):
    X, _ = noisy
    model = copy.copy(quick).set_params(min_confidence=0.9)
    confidence, paths = model.predict_confidence(X), model.predict(X)
    assert (confidence[paths != ""] >= 0.9).all()
    assert np.isnan(confidence[paths == ""]).all()
    assert 0 < (paths == "").mean() < 1
    assert quick.predict(X).astype(bool).all()
    model.set_params(min_confidence=7)
    with pytest.raises(ValueError, match="The 'min_confidence' parameter"):
        model.predict(X)


# -- the classifier that is given ----------------------------------------------------------------

GIVEN = {
    "probabilities": (Soft(), True, True),
    "scores": (Scored(), False, True),
    "plain object": (Centroids(), True, True),
    "only predict": (OnlyPredict(), False, False),
    "function": (lambda path: GaussianNB(), True, True),
    "by depth": (ByDepth(LogisticRegression(), C=[0.1, 1.0]), True, True),
    "by depth, scores": (ByDepth(LinearSVC(), C=[0.1, 1.0]), False, True),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_offered_is_what_the_given_classifier_can(noisy, name):
    X, y = noisy
    given, with_quick, with_balanced = GIVEN[name]
    for effort, offered in (("quick", with_quick), ("balanced", with_balanced)):
        model = HierarchicalClassifier(given, effort=effort, random_state=0)
        for one in (model, model.fit(X, y)):
            for method in ("predict_proba", "predict_confidence", "predict_node_proba"):
                assert hasattr(one, method) == offered
        assert model.score(X, y) > 0.6
        assert model.choices_["classifier"] == "given"
        assert model.decoding == ("best_path" if offered else "top_down")


def test_without_probabilities_the_message_says_what_helps(noisy):
    X, y = noisy
    model = HierarchicalClassifier(LinearSVC(), **QUICK).fit(X, y)
    with pytest.raises(AttributeError, match="Use effort='balanced', which needs only decision"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match=r"min_confidence=0.5 needs probabilities.*effort='bal"):
        model.set_params(min_confidence=0.5).predict(X)


def test_a_model_without_probabilities_stays_with_the_way_from_the_top(noisy):
    X, y = noisy
    model = HierarchicalClassifier(OnlyPredict(), optimize="f1", random_state=0).fit(X, y)
    assert model.choices_["decoding"] == model.decoding == "top_down"
    assert model.score(X, y) == 1.0


def test_a_given_classifier_is_copied(noisy):
    given = GaussianNB()
    HierarchicalClassifier(given, **QUICK).fit(*noisy)
    assert not hasattr(given, "classes_")


# -- weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("effort", ["quick", "balanced"])
def test_rows_without_weight_are_as_good_as_removed(noisy, form, effort):
    """All rows of one class among them, and every second one of the others."""
    X, y = noisy
    weights = ((y[:, 1] != "a2") & (np.arange(60) % 4 < 2)) * 1.0
    kept = weights > 0
    model = HierarchicalClassifier(GaussianNB(), effort=effort, random_state=0)
    if form is sp.csr_matrix:
        model.set_params(local_classifier=None)
    model.fit(form(X), y, sample_weight=weights)
    assert "a2" not in model.classes_[1]
    fewer = sklearn.base.clone(model).fit(form(X)[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(
        model.predict_node_proba(form(X)), fewer.predict_node_proba(form(X)), atol=1e-12
    )
    assert model.choices_ == fewer.choices_


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_the_scale_of_weights_changes_nothing_where_models_are_compared(noisy, form):
    X, y = noisy
    weights = np.linspace(0.5, 2, 60)
    one, many = (
        HierarchicalClassifier(random_state=0).fit(form(X), y, sample_weight=scale * weights)
        for scale in (1.0, 1024.0)  # a power of two, so that nothing is rounded
    )
    assert many.choices_ == one.choices_
    assert many.scores_ == pytest.approx(one.scores_)
    np.testing.assert_allclose(
        many.predict_node_proba(form(X)), one.predict_node_proba(form(X)), atol=1e-6
    )


def test_weights_reach_the_local_classifiers_and_the_scores(noisy):
    X, y = noisy
    weights = np.linspace(0.1, 3, 60)
    model = HierarchicalClassifier(Recorder(), **QUICK).fit(X, y, sample_weight=weights)
    seen = model.model_.local_classifiers_[()].seen_
    assert seen[2].tolist() == weights.tolist()
    plain = HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y)
    weighted = HierarchicalClassifier(GaussianNB(), random_state=0).fit(X, y, weights)
    assert plain.scores_ != weighted.scores_


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(60), r"sample_weight must not be negative; row 0 has -1.0"),
        (np.zeros(60), "at least one non-zero number"),
        (np.ones(5), "inconsistent|sample_weight"),
    ],
    ids=["negative", "none", "short"],
)
def test_bad_weights_are_refused(noisy, weights, message):
    with pytest.raises(ValueError, match=message):
        HierarchicalClassifier(**QUICK).fit(*noisy, sample_weight=weights)


def test_a_given_classifier_has_to_take_weights(noisy):
    with pytest.raises(ValueError, match=r"sample_weight was given but OnlyPredict\.fit"):
        HierarchicalClassifier(OnlyPredict()).fit(*noisy, sample_weight=np.ones(60))


# -- groups ------------------------------------------------------------------------------------


class Watched(GaussianNB):
    """Notes the rows of every fit."""

    fits: list = []  # noqa: RUF012  # shared on purpose

    def fit(self, X, y, sample_weight=None):
        self.fits.append({float(x) for x in X[:, -1]})
        return super().fit(X, y, sample_weight)


def test_whole_groups_are_held_out(noisy):
    X, y = noisy
    groups = np.arange(60) // 6
    Watched.fits.clear()
    model = HierarchicalClassifier(Watched(), random_state=0)
    model.fit(np.column_stack([X, groups]), y, groups=[f"patient {g}" for g in groups])
    most = [fit for fit in Watched.fits if len(fit) > 5]
    in_folds = {frozenset(fit) for fit in most if len(fit) < 10}
    # All groups are in two of the three training sets, and none in a part of one.
    assert sorted(chain.from_iterable(in_folds)) == sorted([*range(10)] * 2)
    assert model.choices_["effort"] == "balanced"


def test_the_temperature_of_a_quick_model_is_that_of_whole_groups(noisy, monkeypatch):
    X, y = noisy
    seen = []
    real = choice.deal_paths

    def watched(nodes, hierarchy, groups=None):
        seen.append(groups)
        return real(nodes, hierarchy, groups)

    monkeypatch.setattr(choice, "deal_paths", watched)
    monkeypatch.setattr(choice, "_MOST_FOR_TEMPERATURE", 30)  # one of every two rows
    HierarchicalClassifier(**QUICK).fit(X, y, groups=np.arange(60) // 6 + 5)
    assert len(seen[0]) == 30
    assert np.unique(seen[0]).tolist() == list(range(10))  # the groups of these rows, numbered
    seen.clear()
    HierarchicalClassifier(**QUICK).fit(X, y, groups=np.arange(60) // 30)
    assert seen == []  # two groups are too few: a usual temperature has to do


def test_the_temperature_of_a_quick_model_is_that_of_all_classes_where_they_take_turns(monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.arange(120) % 4
    X = np.eye(4)[classes] + rng.normal(scale=0.3, size=(120, 4))
    y = [["A", "a"], ["A", "b"], ["B", "c"], ["B", "d"]] * 30
    seen = []
    real = choice.deal_paths
    monkeypatch.setattr(choice, "deal_paths", lambda *args: seen.append(args[0]) or real(*args))
    monkeypatch.setattr(choice, "_MOST_FOR_TEMPERATURE", 30)  # one of every four rows
    HierarchicalClassifier(**QUICK).fit(X, y)
    assert len(seen[0]) == 30
    assert np.unique(seen[0], return_counts=True)[1].min() >= 7  # of 7.5 per class


def test_too_few_groups_are_refused_where_something_is_measured(noisy):
    X, y = noisy
    message = r"groups has 2 different groups, .* at least 3 groups, leave groups out, or use effo"
    with pytest.raises(ValueError, match=message):
        HierarchicalClassifier(GaussianNB()).fit(X, y, groups=np.arange(60) // 30)
    rows, labels = zoo()
    model = HierarchicalClassifier(hierarchy=DAG, multi_label=True)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, labels, groups=np.arange(60) // 30)
    HierarchicalClassifier(GaussianNB()).fit(X[:20], y[:20], groups=np.arange(20) // 10)


def test_groups_of_rows_without_weight_do_not_count(noisy):
    X, y = noisy
    weights = (np.arange(60) < 40) * 1.0
    model = HierarchicalClassifier(GaussianNB(), random_state=0)
    model.fit(X, y, weights, groups=np.arange(60) // 10)
    fewer = HierarchicalClassifier(GaussianNB(), random_state=0)
    fewer.fit(X[:40], y[:40], weights[:40], groups=np.arange(40) // 10)
    assert model.scores_ == fewer.scores_
    with pytest.raises(ValueError, match="groups has 2 different groups"):
        model.fit(X, y, weights, groups=np.arange(60) // 20)
    with pytest.raises(ValueError, match="groups has 5 entries"):
        model.fit(X, y, weights, groups=np.arange(5))


# -- metadata routing --------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_routing_hands_weights_to_what_is_chosen(noisy, form):
    X, y = noisy
    weights = np.linspace(0.1, 3, 60)
    routed = HierarchicalClassifier(random_state=0)
    routed.fit(form(X), y, sample_weight=weights, groups=np.arange(60) // 6)
    with sklearn.config_context(enable_metadata_routing=False):
        plain = HierarchicalClassifier(random_state=0)
        plain.fit(form(X), y, sample_weight=weights, groups=np.arange(60) // 6)
    assert routed.scores_ == plain.scores_
    np.testing.assert_array_equal(
        routed.predict_node_proba(form(X)), plain.predict_node_proba(form(X))
    )


@pytest.mark.usefixtures("routing")
def test_routing_wants_a_request_of_a_given_classifier(noisy):
    X, y = noisy
    weights = np.linspace(0.1, 3, 60)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        HierarchicalClassifier(GaussianNB(), **QUICK).fit(X, y, sample_weight=weights)
    given = GaussianNB().set_fit_request(sample_weight=True)
    model = HierarchicalClassifier(given, **QUICK).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=False):
        plain = HierarchicalClassifier(GaussianNB(), **QUICK).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_node_proba(X), plain.predict_node_proba(X))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_routing_reaches_models_of_sets(form):
    X, y = zoo()
    model = HierarchicalClassifier(hierarchy=DAG, multi_label=True, **QUICK)
    model.fit(form(X), y, sample_weight=np.linspace(1, 2, 60), groups=np.arange(60) // 6)
    assert model.score(form(X), y) > 0.9


def test_a_named_scorer_is_for_single_labels(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="'accuracy' is a scorer of scikit-learn for single"):
        HierarchicalClassifier(GaussianNB(), optimize="accuracy").fit(X, y)
    model = HierarchicalClassifier(GaussianNB(), optimize="accuracy", random_state=0)
    assert 0 < model.fit(X, y[:, 1]).scores_["local"] <= 1


def test_weights_count_in_what_a_scorer_says(noisy):
    X, y = noisy
    seen = []

    def scorer(estimator, X, y, sample_weight=None):
        seen.append(sample_weight)
        return 0.5

    weights = np.linspace(1, 2, len(X))
    HierarchicalClassifier(GaussianNB(), optimize=scorer).fit(X, y, weights)
    assert all(len(given) and given.min() >= 1 for given in seen)
    with pytest.raises(ValueError, match="has no parameter sample_weight"):
        HierarchicalClassifier(GaussianNB(), optimize=lambda e, X, y: 0).fit(X, y, weights)
