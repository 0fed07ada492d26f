"""What is learned out of fold: the temperature, and the F-score of ``expected_f1``."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from fakes import Linear, Scored, Soft, counting, recording
from model_helpers import FOREST, LOCAL, blobs, make, rows_for
from samples import four_quarters
from scipy.special import log_softmax
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import (
    FlatClassifier,
    Hierarchy,
    LocalClassifierPerNode,
    LocalClassifierPerParentNode,
    metrics,
)
from hiclass._inference.paths import final_proba, node_proba
from hiclass._out_of_fold.folds import deal_paths
from hiclass._out_of_fold.temperatures import _f_of, best_temperature, fit_out_of_fold, reached_f
from hiclass.model_selection import deal_folds


@pytest.fixture(params=LOCAL)
def kind(request):
    """Each of the strategies that can be calibrated."""
    return request.param


# -- the search for the temperature ------------------------------------------------------------


def log_loss(blocks, t):
    """The definition."""
    total = 0.0
    for parts in blocks.values():
        for evidence, right, weights in parts:
            total -= weights @ log_softmax(evidence / t, axis=1)[np.arange(len(right)), right]
    return total


def random_blocks(seed, scale, weighted=False):
    """Right classes that are drawn from a softmax of the scores, which are then scaled."""
    rng = np.random.default_rng(seed)
    blocks = {}
    for width in (2, 3, 7):
        parts = []
        for n in (40, 300):
            score = rng.normal(size=(n, width)) * 2
            noise = rng.gumbel(size=(n, width))
            weights = rng.uniform(0, 3, size=n) if weighted else np.ones(n)
            parts.append((scale * score, (score + noise).argmax(axis=1), weights))
        blocks[width] = parts
    return blocks


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_best_temperature_agrees_with_a_slow_grid_and_with_the_truth(scale, weighted):
    blocks = random_blocks(0, scale, weighted)
    grid = np.exp(np.linspace(np.log(scale) - 1, np.log(scale) + 1, 401))
    losses = [log_loss(blocks, t) for t in grid]
    found = best_temperature(blocks)
    assert found == pytest.approx(grid[np.argmin(losses)], rel=0.01)
    assert log_loss(blocks, found) <= min(losses) * (1 + 1e-6)
    assert found == pytest.approx(scale, rel=0.15)


def test_a_weight_of_two_counts_as_two_rows():
    blocks = random_blocks(1, 3.0)
    (evidence, right, weights) = blocks[3][0]
    heavy = {3: [(evidence, right, weights * 2), blocks[3][1]]}
    twice = {3: [blocks[3][0], blocks[3][0], blocks[3][1]]}
    once = {3: blocks[3]}
    assert best_temperature(heavy) == pytest.approx(best_temperature(twice), rel=1e-9)
    assert best_temperature(heavy) != pytest.approx(best_temperature(once), rel=1e-3)


def test_scores_that_are_always_right_or_always_wrong_give_finite_temperatures():
    right = np.zeros(10, dtype=int)
    sure = np.tile([1.0, 0.0], (10, 1))
    assert np.exp(-5) <= best_temperature({2: [(sure, right, np.ones(10))]}) < 0.05
    assert 140 < best_temperature({2: [(-sure, right, np.ones(10))]}) <= np.exp(8)


def test_without_a_question_the_temperature_is_one():
    assert best_temperature({}) == 1.0


def test_a_large_number_of_rows_is_thinned_out_before_they_are_scored(monkeypatch):
    X, y = np.arange(300.0)[:, None], [f"c{i % 3}" for i in range(300)]
    queries = []
    model = LOCAL["flat"](recording(Soft, queries), calibration="temperature")
    monkeypatch.setattr("hiclass._out_of_fold.temperatures._MOST_NUMBERS", 300 * 4 // 5)
    model.fit(X, y)
    # Every fifth row for the temperature, and then all of them for the expected F.
    assert [len(rows) for rows in queries] == [20, 20, 20, 100, 100, 100]
    assert all((np.diff(rows[:, 0]) >= 5).all() for rows in queries[:3])


def test_rows_that_may_not_be_held_out_are_no_reason_to_fail():
    y = [["A"], ["A", "x"], ["B"], ["B", "y"]]
    model = LOCAL["parent"](Soft(), calibration="temperature").fit(np.eye(4)[:, :2], y)
    assert model.temperature_ > 0


# -- the temperature of a model ----------------------------------------------------------------


def test_scores_five_times_as_large_give_five_times_the_temperature(kind):
    X = blobs(0, FOREST * 3)
    one = make(kind, "temperature", estimator=Scored(scale=1.0)).fit(X, FOREST * 3)
    five = make(kind, "temperature", estimator=Scored(scale=5.0)).fit(X, FOREST * 3)
    assert five.temperature_ == pytest.approx(5 * one.temperature_, rel=2e-3)
    assert 0.1 < one.temperature_ < 30  # well within the bounds of the search
    difference = five.predict_node_proba(X) - one.predict_node_proba(X)
    assert np.abs(difference).max() < 1e-3
    assert five.expected_f1_ == pytest.approx(one.expected_f1_, abs=0.01)


def test_the_temperature_minimises_the_log_loss_of_the_true_paths_out_of_fold(kind):
    """All classes are in all folds, so the loss is that of the probability of ending there."""
    y = FOREST * 2
    X = blobs(1, y)
    model = make(kind, "temperature", estimator=Scored(scale=3.0)).fit(X, y)
    nodes = np.array([model.hierarchy_.find(tuple(path)) for path in y])
    fold = deal_folds(nodes, 3)
    grid = model.temperature_ * np.array([0.5, 0.9, 0.98, 1.0, 1.02, 1.1, 2.0])
    loss = np.zeros(len(grid))
    for k in range(3):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = make(kind, estimator=Scored(scale=3.0), hierarchy=model.hierarchy_)
        part.fit(X[train], [y[i] for i in train])
        column = np.searchsorted(part._models.options.ends, nodes[test])
        for j, t in enumerate(grid):
            proba = final_proba(replace(part._models, temperature=t), X[test])
            loss[j] -= np.log(proba[np.arange(len(test)), column]).sum()
    assert loss.argmin() == 3
    assert (np.diff(loss)[:3] < 0).all()
    assert (np.diff(loss)[3:] > 0).all()


def test_a_node_without_branches_counts_for_nothing(kind):
    """Nothing is known below A and B, so the temperature is as without."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=60) > 0, "A", "B")
    alone = make(kind, "temperature", estimator=LogisticRegression()).fit(X, y)
    tree = {"A": ["x", "y"], "B": ["z"]}
    deep = make(kind, "temperature", estimator=LogisticRegression(), hierarchy=tree).fit(X, y)
    assert deep.temperature_ == alone.temperature_
    np.testing.assert_array_equal(deep.predict_proba(X), alone.predict_proba(X))


def test_two_opposite_scores_per_node_have_twice_the_temperature_of_one():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=60) > 0, "A", "B")
    node = make("node", "temperature", estimator=LogisticRegression()).fit(X, y)
    parent = make("parent", "temperature", estimator=LogisticRegression()).fit(X, y)
    assert node.temperature_ == pytest.approx(2 * parent.temperature_, rel=2e-3)
    np.testing.assert_allclose(node.predict_proba(X), parent.predict_proba(X), atol=1e-3)


def test_an_overconfident_local_classifier_is_put_right_on_rows_it_has_not_seen(kind):
    """Every feature comes ten times, which naive Bayes takes for ten witnesses."""
    y = FOREST * 10
    X, X_new = (np.tile(blobs(seed, y, spread=2.0), 10) for seed in (2, 3))

    def loss(model):
        nodes = [model.hierarchy_.find(tuple(path)) for path in y]
        column = np.searchsorted(model._models.options.ends, nodes)
        final = final_proba(model._models, X_new)[np.arange(len(y)), column]
        return -np.log(np.maximum(final, 1e-300)).mean()

    plain = make(kind, estimator=GaussianNB()).fit(X, y)
    calibrated = make(kind, "temperature", estimator=GaussianNB()).fit(X, y)
    assert calibrated.temperature_ > 1.5
    assert loss(calibrated) < loss(plain) - 0.1
    # A single temperature keeps the order of the children at every node.
    if kind == "parent":
        np.testing.assert_array_equal(plain.predict(X_new), calibrated.predict(X_new))


ESTIMATORS = {
    "LinearSVC": LinearSVC(random_state=0),
    "RidgeClassifier": RidgeClassifier(),
    "forest": RandomForestClassifier(n_estimators=3, random_state=0),  # zeros in predict_proba
    "scores": Scored(),
    "probabilities": Soft(),
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_local_classifiers_with_scores_or_probabilities_of_zero_are_calibrated(kind, estimator):
    """Classes with one row only, and paths that stop, included."""
    y = [*FOREST, ["d", "only"], ["a", "z", "once"]]
    X = blobs(4, y)
    model = make(kind, "temperature", estimator=ESTIMATORS[estimator], decoding="best_path").fit(
        X, y
    )
    assert np.exp(-5) < model.temperature_ < np.exp(5)
    proba = model.predict_node_proba(X)
    assert np.isfinite(proba).all()
    assert (proba > 0).all()
    np.testing.assert_allclose(proba[:, 0], 1)


def test_a_single_row_gives_a_model_that_is_certain(kind):
    model = make(kind, "temperature", estimator=LinearSVC()).fit([[0.0]], [["a", "x"]])
    assert (model.temperature_, model.expected_f1_) == (1.0, 1.0)
    assert model.predict([[3.0]]).tolist() == [["a", "x"]]
    np.testing.assert_array_equal(model.predict_node_proba([[3.0]]), [[1, 1, 1]])


@pytest.mark.parametrize(
    "y",
    [
        [["a"], ["a", "x"], ["a", "y"]],
        [["a", "x"], ["b", "y"], ["c", "z"]],
        [["a", "x"], ["a", "x"]],
        [["a"], ["b"]],
    ],
    ids=["stop", "all different", "all equal", "two rows"],
)
def test_where_no_held_out_row_is_known_to_its_fold_the_temperature_is_one(kind, y):
    model = make(kind, "temperature").fit(rows_for(y, 0), y)
    assert model.temperature_ == 1.0
    assert 0 < model.expected_f1_ <= 1


def test_leaf_only_leaves_rows_of_inner_nodes_out_of_the_questions(kind):
    """Whether they are there or not, their scores count for nothing."""
    y = [*FOREST, ["c"]]
    X = blobs(5, y)
    model = make(kind, "temperature", leaf_only=True).fit(X, y)
    assert np.isfinite(model.temperature_)
    ends = {tuple(label for label in path if label) for path in model.predict(X).tolist()}
    assert ends <= {("a", "x"), ("a", "y", "u"), ("a", "y", "v"), ("b", "x"), ("c",)}


def test_equal_weights_change_nothing_and_unequal_ones_do(kind):
    y = FOREST * 3
    X = blobs(6, y, spread=2.0)
    plain = make(kind, "temperature").fit(X, y)
    twice = make(kind, "temperature").fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert twice.temperature_ == pytest.approx(plain.temperature_, rel=2e-3)
    assert twice.expected_f1_ == pytest.approx(plain.expected_f1_, abs=0.01)
    uneven = np.random.default_rng(0).uniform(0.01, 3, size=len(y))
    other = make(kind, "temperature").fit(X, y, sample_weight=uneven)
    assert other.temperature_ != pytest.approx(plain.temperature_, rel=5e-3)


def test_a_calibration_needs_scores_or_probabilities(kind):
    message = "needs predict_proba or decision_function; Linear has neither"
    with pytest.raises(ValueError, match=message):
        make(kind, "temperature", estimator=Linear()).fit(rows_for(FOREST, 0), FOREST)


def test_the_temperature_is_there_only_with_a_calibration(kind):
    X = rows_for(FOREST, 0)
    assert not hasattr(make(kind).fit(X, FOREST), "temperature_")
    model = make(kind, "temperature").fit(X, FOREST)
    assert model.temperature_ == model._models.temperature
    model.set_params(calibration=None).fit(X, FOREST)
    assert not hasattr(model, "temperature_")
    assert not hasattr(model, "expected_f1_")


# -- folds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [2, 3, 28])
def test_every_row_is_held_out_once(n_rows):
    """Counted where folds are fitted and where they are queried."""
    y = FOREST[:n_rows]
    hierarchy = Hierarchy.from_paths(y)
    nodes = np.array([hierarchy.find(tuple(path)) for path in y])
    X = np.arange(n_rows, dtype=float)[:, None]
    trained, queries = [], []

    def fit_fold(rows):
        trained.append(rows)
        model = LOCAL["flat"](recording(Soft, queries), hierarchy=hierarchy)
        return model.fit(X[rows], [y[i] for i in rows])._models

    fit_out_of_fold(fit_fold, X, nodes, deal_paths(nodes, hierarchy), None, calibrate=False)
    n_folds = min(3, n_rows)
    assert len(trained) == n_folds
    held_out = [np.setdiff1d(np.arange(n_rows), rows) for rows in trained]
    np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(n_rows))
    assert max(map(len, held_out)) - min(map(len, held_out)) <= 1
    if n_rows > 2:
        assert [rows[:, 0].tolist() for rows in queries] == [rows.tolist() for rows in held_out]


def test_folds_are_fitted_only_where_they_are_needed(kind):
    fits = []
    estimator = counting(Soft, fits)
    X = rows_for(FOREST, 0)
    for calibration, decoding, times in (
        (None, "best_path", 1),
        ("temperature", "best_path", 4),
        (None, "expected_f1", 4),
        ("temperature", "expected_f1", 4),
    ):
        fits.clear()
        make(kind, calibration, estimator=estimator, decoding=decoding).fit(X, FOREST)
        problems = len(fits) / times
        assert problems == int(problems) >= 1
        assert fits.count(len(FOREST)) >= 1


# -- an F-score that is known ------------------------------------------------------------------


@pytest.mark.parametrize("leaf_only", [False, True])
def test_a_known_f_score_needs_no_folds_and_decides_as_a_learned_one(kind, leaf_only):
    fits = []
    estimator = counting(Soft, fits)
    X, options = rows_for(FOREST, 0), {"decoding": "expected_f1", "leaf_only": leaf_only}
    learned = make(kind, estimator=estimator, **options).fit(X, FOREST)
    n_fits = len(fits)
    fits.clear()
    known = make(kind, estimator=estimator, expected_f1=learned.expected_f1_, **options).fit(
        X, FOREST
    )
    assert len(fits) == n_fits / 4
    assert not hasattr(known, "expected_f1_")
    np.testing.assert_array_equal(known.predict(X), learned.predict(X))


def test_a_smaller_known_f_score_goes_on_where_a_larger_one_stops(kind):
    X, noise = rows_for(FOREST, 0), np.random.default_rng(0).normal(size=(200, 1))
    model = make(kind, decoding="expected_f1", expected_f1=0.3).fit(X, FOREST)
    X = np.repeat(X, 200 // len(X) + 1, axis=0)[:200] * noise

    def lengths(f):
        return (model.set_params(expected_f1=f).predict(X) != "").sum(axis=1)

    assert (lengths(0.3) >= lengths(1)).all()
    assert lengths(0.3).sum() > lengths(1).sum()


def test_a_given_f_score_goes_before_the_learned_one(kind):
    X = rows_for(FOREST, 0)
    model = make(kind, decoding="expected_f1").fit(X, FOREST)
    given = make(kind, decoding="expected_f1", expected_f1=1e-6).fit(X, FOREST)
    learned, X = model.expected_f1_, X / 10  # near the middle, where nothing is sure
    before = model.predict(X)
    np.testing.assert_array_equal(model.set_params(expected_f1=1e-6).predict(X), given.predict(X))
    assert (model.predict(X) != before).any()
    assert model.expected_f1_ == learned


def test_a_known_f_score_is_checked(kind):
    X = rows_for(FOREST, 0)
    for bad in (0, 1.5, "high"):
        with pytest.raises(ValueError, match="The 'expected_f1' parameter"):
            make(kind, decoding="expected_f1", expected_f1=bad).fit(X, FOREST)
    with pytest.raises(ValueError, match=r"expected_f1=0.8 is for one path .* leave it out"):
        make(kind, multi_label=True, expected_f1=0.8).fit(X, [[tuple(path)] for path in FOREST])
    model = make(kind, decoding="best_path").fit(X, FOREST).set_params(decoding="expected_f1")
    with pytest.raises(ValueError, match=r"Fit the model again with decoding"):
        model.predict(X)
    assert model.set_params(expected_f1=0.8).predict(X).shape == (len(FOREST), 3)


class WantsAllRows(BaseEstimator):
    """Refuses fewer than 28 rows."""

    def fit(self, X, y):
        if len(y) < 28:
            raise RuntimeError("too few rows")
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_an_error_in_a_fold_says_that_it_was_in_a_fold(kind):
    y = ["a", "b"] * 14
    with pytest.raises(RuntimeError, match="too few rows") as caught:
        make(kind, "temperature", estimator=WantsAllRows()).fit(rows_for(y, 0), y)
    assert "while fitting a fold to learn from out-of-fold scores" in caught.value.__notes__


def test_the_warning_about_a_policy_is_given_once_and_not_for_every_fold():
    y = [["a", "x"], ["a", "y"], ["b", "z"]] * 4
    model = LocalClassifierPerNode(Soft(), binary_policy="exclusive", calibration="temperature")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows_for(y, 0), y)
    assert [str(w.message)[:38] for w in caught] == ["No training row ends at an inner node,"]
    assert caught[0].filename == __file__


# -- the F-score -------------------------------------------------------------------------------


def decide_slowly(hierarchy, proba, f):
    """The first node with the largest sum over its path of P(a) - F / 2, as a path of labels."""
    chosen = []
    for row in proba:
        values = [-np.inf]
        for v in range(1, hierarchy.n_nodes):
            path = hierarchy.path(v)
            on = [hierarchy.find(path[: j + 1]) for j in range(len(path))]
            values.append(sum(row[a] - f / 2 for a in on))
        chosen.append(list(hierarchy.path(int(np.argmax(values)))))
    return chosen


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("calibration", [None, "temperature"])
def test_expected_f1_is_the_score_that_is_reached_out_of_fold(kind, calibration, weighted):
    """Literally: fit the folds, decode for F, measure the F-score, until it stays."""
    X = blobs(8, FOREST, spread=2.0)
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(X)) if weighted else None
    model = make(kind, calibration, decoding="expected_f1").fit(X, FOREST, sample_weight=weight)
    hierarchy = model.hierarchy_
    fold = deal_folds(np.array([hierarchy.find(tuple(path)) for path in FOREST]), 3)
    proba = np.empty((len(X), hierarchy.n_nodes))
    for k in range(3):
        train = np.flatnonzero(fold != k)
        part = make(kind, hierarchy=hierarchy)
        part.fit(
            X[train],
            [FOREST[i] for i in train],
            sample_weight=None if weight is None else weight[train],
        )
        models = replace(part._models, temperature=getattr(model, "temperature_", None))
        proba[fold == k] = node_proba(models, X[fold == k])
    f = 1.0
    for _ in range(20):
        found = decide_slowly(hierarchy, proba, f)
        new = metrics.f1(FOREST, found, hierarchy=hierarchy, sample_weight=weight)
        before, f = f, new
        if abs(f - before) < 1e-4:
            break
    else:  # two values may follow each other for ever: their mean
        f = (before + f) / 2
    assert 0.2 < f < 0.95
    assert model.expected_f1_ == pytest.approx(f, rel=1e-9)


def parts_of(y, seed=0):
    """What the F-score is measured on: one held-out part that is all rows."""
    model = LocalClassifierPerParentNode(Soft()).fit(rows_for(y, seed), y)
    nodes = np.array([model.hierarchy_.find(tuple(path)) for path in y])
    return [(model._models, np.arange(len(y)))], rows_for(y, seed), nodes


def test_the_search_for_the_score_ends_even_if_it_never_settles(monkeypatch):
    queried = []

    def swing(parts, nodes, weights, f):
        queried.append(f)
        return 0.4 if f > 0.5 else 0.6

    monkeypatch.setattr("hiclass._out_of_fold.temperatures._f_of", swing)
    found, _ = reached_f(*parts_of(FOREST), np.ones(len(FOREST)))
    assert queried == [1.0, *[0.4, 0.6] * 10][:20]
    assert found == pytest.approx(0.5)


def test_the_score_has_a_floor_below_which_nodes_are_not_looked_at(monkeypatch):
    monkeypatch.setattr("hiclass._out_of_fold.temperatures._f_of", lambda *args: 0.0)
    assert reached_f(*parts_of(FOREST), np.ones(len(FOREST)))[0] == 0.1


def test_the_score_of_no_weight_at_all_is_one():
    held_out, X, nodes = parts_of(FOREST)
    f, expected = reached_f(held_out, X, nodes, np.zeros(len(X)))
    assert f == 1.0
    assert expected is None  # of a model that is queried node by node
    assert _f_of([], nodes, np.ones(len(X)), 0.5) == 1.0


class Scaled(LogisticRegression):
    """Scores on another scale."""

    def decision_function(self, X):
        return 1e5 * super().decision_function(X)

    def predict_proba(self, X):
        raise AssertionError("the scores are what counts")


def test_a_temperature_undoes_any_scale_of_the_scores():
    X, y = four_quarters(200)
    y = [["AB"[int(a > 0)], path[1]] for a, path in zip(X[::-1, 0] + X[:, 0], y, strict=True)]
    usual = FlatClassifier(LogisticRegression(), calibration="temperature").fit(X, y)
    scaled = FlatClassifier(Scaled(), calibration="temperature").fit(X, y)
    assert scaled.temperature_ == pytest.approx(1e5 * usual.temperature_, rel=0.01)
    np.testing.assert_allclose(scaled.predict_node_proba(X), usual.predict_node_proba(X), atol=0.01)


@pytest.mark.parametrize("policy", ["exclusive", "less_exclusive", "exclusive_siblings"])
def test_one_row_at_an_inner_class_is_enough_for_folds(policy):
    y = [["A", "x"]] * 6 + [["A", "z"]] * 6 + [["A"]] + [["B", "u"]] * 6 + [["B"]] * 4
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    model = LocalClassifierPerNode(binary_policy=policy, calibration="temperature").fit(X, y)
    assert model.temperature_ > 0
    assert 0 < model.expected_f1_ <= 1
