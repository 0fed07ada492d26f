"""Which classes are selected from probabilities, by numbers, targets and ranks."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from strategies import SETTINGS, hierarchies_with_sets
from zoo import DAG, EDGES, zoo

from hiclass import (
    EnsembleClassifier,
    FlatClassifier,
    GlobalClassifier,
    HierarchicalKFold,
    Hierarchy,
    LocalClassifierPerLevel,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._inference.selections import (
    SELECTIONS,
    Learned,
    _some_of,
    curve_of,
    make_rule,
    read_threshold,
)

KINDS = [
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    LocalClassifierPerLevel,
    FlatClassifier,
]
ALL = ["tuned", "micro_f1", ("precision", 0.6), ("cost", 1, 5), ("top", 2)]
LEAST = 0.01


def random_rows(seed, n=30, n_nodes=6):
    """Probabilities with ties and without small ones, true classes and weights; the root is in."""
    rng = np.random.default_rng(seed)
    proba = rng.integers(0, 8, size=(n, n_nodes)) / 8
    truth = rng.random((n, n_nodes)) < 0.2 + 0.6 * proba
    proba[:, 0] = truth[:, 0] = 1
    return proba, truth, rng.integers(1, 4, size=n).astype(float)


def totals(proba, truth, weights, threshold):
    """Weighted counts of right, predicted and true classes, without the root, by loops."""
    right = predicted = true = 0.0
    for row in range(len(proba)):
        for node in range(1, proba.shape[1]):
            chosen = proba[row, node] >= threshold
            right += weights[row] * (chosen and truth[row, node])
            predicted += weights[row] * chosen
            true += weights[row] * truth[row, node]
    return right, predicted, true


def learn(proba, truth, weights):
    curve = curve_of(sp.csc_array(proba), sp.csc_array(truth), weights, LEAST)
    return Learned(np.full(proba.shape[1], 0.5), curve)


def threshold_of(threshold, learned):
    return float(make_rule(read_threshold(threshold), learned, 6).thresholds[1])


@pytest.mark.parametrize("seed", range(10))
def test_a_curve_has_what_every_threshold_reaches(seed):
    proba, truth, weights = random_rows(seed)
    curve = learn(proba, truth, weights).curve
    assert len(curve) == len(np.unique(proba[:, 1:][proba[:, 1:] > 0]))
    for threshold, right, predicted in curve:
        found = totals(proba, truth, weights, threshold)
        assert right == pytest.approx(found[0] / found[2])
        assert predicted == pytest.approx(found[1] / found[2])


@pytest.mark.parametrize("seed", range(10))
def test_no_threshold_has_a_better_micro_f1(seed):
    rows = random_rows(seed)

    def f1(threshold):
        right, predicted, true = totals(*rows, threshold)
        return 2 * right / (predicted + true)

    best = f1(threshold_of("micro_f1", learn(*rows)))
    assert best == pytest.approx(max(f1(k / 16) for k in range(1, 17)))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("precision", [0.4, 0.6, 0.7])
def test_no_lower_threshold_has_the_precision(seed, precision):
    rows = random_rows(seed)
    reached = {}
    for k in range(1, 17):
        right, predicted, _ = totals(*rows, k / 16)
        if predicted:
            reached[k / 16] = right / predicted
    if max(reached.values()) < precision:
        with pytest.raises(
            ValueError, match=f"no threshold reaches .* {max(reached.values()):.3f}"
        ):
            threshold_of(("precision", precision), learn(*rows))
        return
    found = threshold_of(("precision", precision), learn(*rows))
    right, predicted, _ = totals(*rows, found)
    assert right / predicted >= precision
    assert all(share < precision for k, share in reached.items() if k < found - 1 / 16)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("wrong", "missed"), [(1, 5), (5, 1), (1, 0), (0, 1), (0.5, 0.5)])
def test_no_threshold_is_cheaper(seed, wrong, missed):
    rows = random_rows(seed)

    def cost(threshold):
        right, predicted, true = totals(*rows, threshold)
        return wrong * (predicted - right) + missed * (true - right)

    found = cost(threshold_of(("cost", wrong, missed), learn(*rows)))
    assert found == pytest.approx(min(cost(k / 16) for k in range(1, 18)))


def test_nothing_is_predicted_where_a_wrong_class_costs_too_much():
    learned = Learned(np.full(6, 0.5), np.array([[0.5, 0.5, 1.0], [0.2, 1.0, 3.0]]))
    assert threshold_of(("cost", 10, 1), learned) == np.inf
    assert threshold_of(("cost", 1, 10), learned) == 0.2


def test_long_curves_are_thinned_and_keep_their_ends():
    some = _some_of(100_000)
    assert len(some) <= 1000
    assert some[:10].tolist() == list(range(10))
    assert some[-1] == 99_999
    assert _some_of(5).tolist() == [0, 1, 2, 3, 4]


def test_rows_without_a_hint_leave_a_curve_of_one_point():
    nothing = sp.csc_array(np.array([[1.0, 0.0]]))
    assert curve_of(nothing, nothing, np.ones(1), LEAST).tolist() == [[0.5, 0.0, 1.0]]


# -- ranks -------------------------------------------------------------------------------------


@SETTINGS
@given(hierarchies_with_sets(), st.sampled_from(KINDS), st.integers(1, 4))
def test_so_many_of_the_most_probable_final_classes_are_predicted(drawn, kind, k):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    assume(any(y))
    X = np.random.default_rng(len(y)).normal(size=(len(y), 2))
    tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=2, random_state=0)
    model = kind(tree, hierarchy=hierarchy, multi_label=True, threshold=("top", k)).fit(X, y)
    labels, proba = model.predict_paths(X, k)
    confidence = model.predict_confidence(X)
    nodes = model.predict_node_proba(X)
    for i, row in enumerate(model.predict(X)):
        best = {hierarchy.find(labels[i, j]) for j in range(k) if proba[i, j] > 0}
        closed = {u for v in best for u in (v, *hierarchy.ancestors(v).tolist())} - {0}
        specific = [v for v in sorted(closed) if not closed & set(hierarchy.children(v).tolist())]
        assert row == [hierarchy.labels[v] for v in specific]
        assert confidence[i] == [nodes[i, v] for v in specific]


# -- models ------------------------------------------------------------------------------------


def test_all_selections_can_be_set_after_a_fit_with_one_of_them():
    X, y = zoo(90)
    models = {
        threshold if isinstance(threshold, str) else threshold[0]: FlatClassifier(
            hierarchy=DAG, multi_label=True, threshold=threshold
        ).fit(X, y)
        for threshold in ALL
    }
    assert list(models) == list(SELECTIONS)
    one = clone(models["tuned"]).fit(X, y)
    for threshold in ALL:
        name = threshold if isinstance(threshold, str) else threshold[0]
        expected = models[name].predict(X).tolist()
        assert one.set_params(threshold=threshold).predict(X).tolist() == expected


@pytest.mark.parametrize("kind", [*KINDS, GlobalClassifier])
def test_targets_are_reached_on_other_rows(kind):
    X, y = zoo(600, seed=1)
    X = X + np.random.default_rng(0).normal(scale=0.5, size=X.shape)
    train, test = X[:300], X[300:]
    estimator = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    options = {"level_weight": 1} if kind is GlobalClassifier else {}
    model = kind(estimator, hierarchy=DAG, multi_label=True, threshold="micro_f1", **options)
    model.fit(train, y[:300])
    scores = {}
    for threshold in (0.5, "micro_f1", ("precision", 0.85), ("cost", 1, 20), ("cost", 3, 1)):
        predicted = model.set_params(threshold=threshold).predict(test)
        common = {"hierarchy": DAG, "multi_label": True}
        scores[threshold] = (
            metrics.f1(y[300:], predicted, **common),
            metrics.precision(y[300:], predicted, **common),
            metrics.recall(y[300:], predicted, **common),
        )
    assert scores["micro_f1"][0] > scores[0.5][0] - 0.02
    assert scores[("precision", 0.85)][1] > 0.82
    assert scores[("cost", 1, 20)][2] > scores[0.5][2]
    assert scores[("cost", 3, 1)][1] > scores[0.5][1]


def test_a_precision_that_is_out_of_reach_is_an_error_of_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), [[str(label)] for label in rng.integers(4, size=60)]
    model = FlatClassifier(multi_label=True, threshold=("precision", 1.0))
    with pytest.raises(ValueError, match="no threshold reaches this precision"):
        model.fit(X, y)


def test_one_label_per_row_has_targets_but_no_ranks():
    X, y = zoo(60)
    labels = [row[0] for row in y]
    model = FlatClassifier(LogisticRegression(), hierarchy=EDGES, threshold="micro_f1")
    model.fit(X, labels)
    assert model.predict(X).shape == (60,)
    for threshold in (("top", 2), ("precision", 0.5)):
        with pytest.raises(ValueError, match=r"has one label\. Use a number, or predict_paths"):
            model.set_params(threshold=threshold).predict(X)


def test_what_was_not_learned_is_an_error_that_says_so():
    X, y = zoo(30)
    model = FlatClassifier(hierarchy=DAG, multi_label=True).fit(X, y)
    assert model.set_params(threshold=("top", 1)).predict(X).shape == (30,)
    for threshold in ALL[:-1]:
        with pytest.raises(ValueError, match=r"learned out of fold.*Fit the model again"):
            model.set_params(threshold=threshold).predict(X)
    model.thresholds_ = np.full(DAG.n_nodes, 0.4)  # as in files without a curve
    assert model.set_params(threshold="tuned").predict(X).shape == (30,)
    with pytest.raises(ValueError, match=r"learned out of fold.*Fit the model again"):
        model.set_params(threshold="micro_f1").predict(X)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("best", "threshold must be a number above 0 and at most 1, or one of 'tuned'"),
        ((), "threshold must be a number"),
        ([0.5], "threshold must be a number"),
        (("tuned", 1), "it takes no arguments, for example threshold='tuned'"),
        (("precision",), r"it takes one number above 0 and at most 1, for example .*0.9"),
        (("precision", 2), "it takes one number above 0 and at most 1"),
        (("cost", 1), "it takes two numbers"),
        (("cost", 0, 0), "not both 0"),
        (("cost", 1, float("inf")), "it takes two numbers"),
        (("top", 1.5), "it takes one integer of at least 1"),
        (("top", True), "it takes one integer of at least 1"),
        (("top", 0), "it takes one integer of at least 1"),
    ],
)
def test_wrong_selections_are_refused(threshold, message):
    X, y = zoo(30)
    with pytest.raises(ValueError, match=message):
        FlatClassifier(hierarchy=DAG, multi_label=True, threshold=threshold).fit(X, y)
    model = FlatClassifier(hierarchy=DAG, multi_label=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(threshold=threshold).predict(X)


def test_a_search_chooses_among_selections():
    X, y = zoo(60)
    model = FlatClassifier(hierarchy=DAG, multi_label=True)
    splits = HierarchicalKFold(2, multi_label=True, hierarchy=DAG)
    grid = {"threshold": [0.5, "micro_f1", ("top", 2)]}
    search = GridSearchCV(model, grid, cv=splits).fit(X, y)
    assert search.best_params_["threshold"] in grid["threshold"]


def test_ensembles_rank_and_learn_thresholds():
    X, y = zoo(60)
    members = [("a", FlatClassifier(hierarchy=DAG, multi_label=True))]
    model = EnsembleClassifier(members, threshold=("top", 1)).fit(X, y)
    assert model.predict(X).shape == (60,)
    learned = EnsembleClassifier(members, threshold="tuned").fit(X, y)
    for threshold in ALL:
        assert learned.set_params(threshold=threshold).predict(X).shape == (60,)


def test_thresholds_lie_between_numbers_that_hardly_differ():
    for low in np.random.default_rng(0).random(20):
        high = np.nextafter(low, 1)
        proba, truth = sp.csc_array([[1, high, low]]), sp.csc_array([[1, 1, 0]])
        curve = curve_of(proba, truth, np.ones(1), 0.0)
        assert low < curve[0, 0] <= high
        assert 0 < curve[1, 0] <= low
