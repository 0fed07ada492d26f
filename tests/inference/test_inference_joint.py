"""``calibration="joint"``: odds of every option, multiplied along the paths, normalised once."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import Proba, Scored, Scores, counting
from model_helpers import (
    FOREST,
    LOCAL,
    TREE,
    X2,
    assert_nodes,
    blobs,
    make,
    mix,
    models_of,
    rows_for,
)
from scipy.special import expit, log_expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from hiclass import EnsembleClassifier, FlatClassifier, LocalClassifierPerParentNode
from hiclass._inference.paths import final_proba
from hiclass._problems.index import branches
from hiclass.model_selection import deal_folds


@pytest.fixture(params=LOCAL)
def kind(request):
    """Each of the strategies that can be calibrated."""
    return request.param


# -- by hand: the tree of model_helpers -----------------------------------------------------------


def assert_joint(models, a, x, y, at_a, b, z, at_b, c):
    """All final classes have the product of these shares along their path, over the sum of all."""
    final = np.array([a * at_a, a * x, a * y, b * at_b, b * z, c])
    p = final / final.sum()
    assert_nodes(models, [1, p[:3].sum(), p[1], p[2], p[3:5].sum(), p[4], p[5]])


def test_per_parent_every_option_has_a_sigmoid_of_its_own():
    tables = {0: Scores([3.0, 1.0, -1.0]), 1: Scores([0.5, 0.0, 2.0]), 4: Scores([1.5])}
    models = models_of("parent", TREE, tables, soft=False, temperature=2.0, joint=True)
    a, b, c = expit(np.array([3.0, 1.0, -1.0]) / 2)
    x, y, at_a = expit(np.array([0.5, 0.0, 2.0]) / 2)
    # The score of a binary problem is for its second class: stop.
    assert_joint(models, a, x, y, at_a, b, expit(-0.75), expit(0.75), c)


def test_per_node_the_gate_shares_with_the_children():
    score = {1: 3.0, 4: 1.0, 6: -1.0, 2: 0.5, 3: 0.0}
    tables = {v: Scores([s]) for v, s in score.items()}
    gates = {1: Scores([2.0]), 4: Scores([-1.0])}
    models = models_of("node", TREE, tables, gates, soft=False, temperature=2.0, joint=True)
    a, b, c, x, y = expit(np.array([3.0, 1.0, -1.0, 0.5, 0.0]) / 2)
    on = expit(-1.0)
    # z has no sibling, so that only the gate speaks below B.
    assert_joint(models, a, x * on, y * on, 1 - on, b, expit(0.5), expit(-0.5), c)


def test_per_level_and_flat():
    top, below = np.array([3.0, 1.0, -1.0]), np.array([0.5, 0.0, 2.0, 7.0, 8.0])
    tables = {1: Scores(top), 2: Scores(below)}
    models = models_of("level", TREE, tables, soft=False, temperature=2.0, joint=True)
    assert_joint(models, *expit(np.array([3.0, 0.5, 0.0, 2.0, 1.0, 7.0, 8.0, -1.0]) / 2))
    score = np.array([1.0, 2.0, 0.0, -1.0, 3.0, 0.5])
    models = models_of("flat", TREE, {0: Scores(score)}, soft=False, temperature=2.0, joint=True)
    p = expit(score / 2) / expit(score / 2).sum()
    assert_nodes(models, [1, p[:3].sum(), p[1], p[2], p[3:5].sum(), p[4], p[5]])


def test_probabilities_become_odds_and_come_back_with_a_temperature_of_one():
    """They sum to one at every node, so that there is nothing left to normalise."""
    parent = {0: Proba([0.5, 0.3, 0.2]), 1: Proba([0.2, 0.2, 0.6]), 4: Proba([0.25, 0.75])}
    models = models_of("parent", TREE, parent, temperature=1.0, joint=True)

    def share(p):
        return mix(p, 1 - p)[0]

    assert_joint(models, *map(share, (0.5, 0.2, 0.2, 0.6, 0.3, 0.25, 0.75, 0.2)))
    plain = final_proba(models_of("parent", TREE, parent), X2)
    np.testing.assert_allclose(final_proba(models, X2), plain, atol=0.01)


def test_scores_of_a_multinomial_model_are_no_odds():
    """All of its scores may be large: its probabilities are used, where it has both."""
    y = FOREST * 5
    X = blobs(0, y) * 10
    estimator = LogisticRegression(max_iter=1000)
    plain = FlatClassifier(estimator).fit(X, y).predict(X)
    joint = FlatClassifier(estimator, calibration="joint").fit(X, y).predict(X)
    assert (joint == plain).mean() > 0.9


def test_no_final_class_is_lost_where_all_scores_are_far_below_zero():
    tables = {0: Scores([-3e3, -2e3, -4e3]), 1: Scores([-1e3, -2e3, -3e3]), 4: Scores([0.5])}
    models = models_of("parent", TREE, tables, soft=False, temperature=0.01, joint=True)
    final = final_proba(models, X2)
    np.testing.assert_allclose(final.sum(axis=1), 1)
    assert models.options.ends[final[0].argmax()] == 4  # B, where the path stops


# -- models --------------------------------------------------------------------------------------


def test_a_wrong_branch_has_no_likely_child():
    """The point of it: at every node the old way must choose a child, here it need not."""
    tables = {0: Scores([0.1, 0.2, -5.0]), 1: Scores([2.0, -2.0, -2.0]), 4: Scores([-0.01])}
    step = models_of("parent", TREE, tables, soft=False, temperature=0.2)
    joint = models_of("parent", TREE, tables, soft=False, temperature=0.2, joint=True)
    wrong = {1: Scores([-2.0, -2.1, -2.2])}
    # x is as likely by itself (score 2) as it gets; then nothing below A fits.
    for models in (step, joint):
        assert models.options.ends[final_proba(models, X2)[0].argmax()] == 2
    step_wrong, joint_wrong = (
        final_proba(
            models_of("parent", TREE, tables | wrong, soft=False, temperature=0.2, **how), X2
        )[0]
        for how in ({}, {"joint": True})
    )
    below_a = slice(0, 3)
    assert step_wrong[below_a].sum() > 0.3
    assert joint_wrong[below_a].sum() < 1e-3


def test_the_temperature_minimises_the_log_loss_of_the_final_classes_out_of_fold(kind):
    """All classes are in all folds. The loss may have several valleys: this is the deepest."""
    y = FOREST * 4
    X = blobs(1, y)
    model = make(kind, "joint", estimator=LinearSVC(random_state=0)).fit(X, y)
    nodes = np.array([model.hierarchy_.find(tuple(path)) for path in y])
    fold = deal_folds(nodes, 3)
    grid = model.temperature_ * np.exp([-4, -2, -1, -0.3, -0.05, 0, 0.05, 0.3, 1, 2, 4])
    loss = np.zeros(len(grid))
    for k in range(3):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        part = make(kind, "joint", estimator=LinearSVC(random_state=0), temperature=1.0)
        part.set_params(hierarchy=model.hierarchy_).fit(X[train], [y[i] for i in train])
        column = np.searchsorted(part._models.options.ends, nodes[test])
        for j, t in enumerate(grid):
            proba = final_proba(replace(part._models, temperature=t), X[test])
            loss[j] -= np.log(proba[np.arange(len(test)), column]).sum()
    assert loss.argmin() == 5
    assert loss[5] < loss.max() - 1


def test_scores_five_times_as_large_give_five_times_the_temperature(kind):
    X = blobs(0, FOREST * 3)
    one = make(kind, "joint", estimator=Scored(scale=1.0)).fit(X, FOREST * 3)
    five = make(kind, "joint", estimator=Scored(scale=5.0)).fit(X, FOREST * 3)
    assert five.temperature_ == pytest.approx(5 * one.temperature_, rel=2e-3)
    assert np.abs(five.predict_node_proba(X) - one.predict_node_proba(X)).max() < 1e-3


@pytest.mark.parametrize(
    "limits", [{"_JOINT_NUMBERS": 1500, "_JOINT_ROWS": 10}, {"_MOST_NUMBERS": 1500}], ids=str
)
def test_many_rows_are_thinned_out(limits, monkeypatch):
    y = FOREST * 20
    X = blobs(2, y)
    everything = make("parent", "joint", estimator=LinearSVC()).fit(X, y)
    for name, limit in limits.items():
        monkeypatch.setattr(f"hiclass._out_of_fold.temperatures.{name}", limit)
    some = make("parent", "joint", estimator=LinearSVC()).fit(X, y)
    assert some.temperature_ != everything.temperature_
    assert some.temperature_ == pytest.approx(everything.temperature_, rel=0.5)


def test_a_single_row_gives_a_model_that_is_certain(kind):
    model = make(kind, "joint", estimator=LinearSVC()).fit([[0.0]], [["a", "x"]])
    assert (model.temperature_, model.expected_f1_) == (1.0, 1.0)
    np.testing.assert_array_equal(model.predict_node_proba([[3.0]]), [[1, 1, 1]])


@pytest.mark.parametrize("calibration", ["joint", "temperature"])
def test_what_all_rows_have_in_common_is_certain(kind, calibration):
    """Exactly: sums of many probabilities are not."""
    y = [["all", *path] for path in FOREST * 4]
    X = blobs(6, y)
    model = make(kind, calibration, estimator=LinearSVC(), temperature=0.5, min_confidence=1.0)
    model.fit(X, y)
    proba = model.predict_node_proba(X)
    assert (proba[:, :2] == 1).all()
    assert proba.max() == 1
    assert set(model.predict(X)[:, 0]) == {"all"}


@pytest.mark.parametrize("estimator", [LinearSVC(), GaussianNB()], ids=["scores", "probabilities"])
def test_all_that_has_probabilities_agrees(kind, estimator):
    y = FOREST * 3
    X = blobs(3, y)
    model = make(kind, "joint", estimator=estimator).fit(X, y)
    proba = model.predict_node_proba(X)
    hierarchy = model.hierarchy_
    np.testing.assert_allclose(proba[:, 0], 1)
    for node in range(hierarchy.n_nodes):
        assert (proba[:, hierarchy.children(node)].sum(axis=1) <= proba[:, node] + 1e-12).all()
    # Decisions follow these probabilities.
    model.set_params(decoding="best_path")
    ends = model._models.options.ends
    best = ends[final_proba(model._models, X).argmax(axis=1)]
    nodes = [hierarchy.find(tuple(v for v in path if v)) for path in model.predict(X).tolist()]
    np.testing.assert_array_equal(nodes, best)
    paths, sure = model.predict_paths(X, k=2)
    np.testing.assert_array_equal(paths[:, 0], model.predict(X))
    np.testing.assert_allclose(sure[:, 0], final_proba(model._models, X).max(axis=1))
    model.set_params(decoding="expected_f1", min_confidence=0.3)
    confidence = model.predict_confidence(X)
    assert np.nanmin(confidence) >= 0.3
    some = model.set_params(min_confidence=0.0).restricted_to([["a", "x"], ["b", "x"]])
    allowed = [hierarchy.find(("a", "x")), hierarchy.find(("b", "x"))]
    share = proba[:, allowed] / proba[:, allowed].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(some.predict_node_proba(X)[:, allowed], share)


# -- a temperature that is known ---------------------------------------------------------------


@pytest.mark.parametrize("calibration", ["temperature", "joint"])
def test_a_known_temperature_needs_no_folds(kind, calibration):
    fits = []
    estimator = counting(Scored, fits)
    X = rows_for(FOREST, 0)
    learned = make(kind, calibration, estimator=estimator).fit(X, FOREST)
    n_fits = len(fits)
    fits.clear()
    known = make(kind, calibration, estimator=estimator, temperature=learned.temperature_).fit(
        X, FOREST
    )
    assert len(fits) == n_fits / 4
    assert known.temperature_ == learned.temperature_
    np.testing.assert_array_equal(known.predict_node_proba(X), learned.predict_node_proba(X))
    assert not hasattr(known, "expected_f1_")
    known.set_params(decoding="expected_f1")
    with pytest.raises(ValueError, match=r"which this model has not learned. Fit the model again"):
        known.predict(X)
    known.fit(X, FOREST)
    assert known.expected_f1_ == learned.expected_f1_


def test_a_known_temperature_without_a_calibration_is_refused(kind):
    message = r"temperature=2.0 requires a calibration. Set calibration='temperature'"
    with pytest.raises(ValueError, match=message):
        make(kind, temperature=2.0).fit(rows_for(FOREST, 0), FOREST)
    for bad in (0, -1.0, "warm"):
        with pytest.raises(ValueError, match="temperature"):
            make(kind, "joint", temperature=bad).fit(rows_for(FOREST, 0), FOREST)


@pytest.mark.parametrize("temperature", [2, np.float32(2)], ids=repr)
def test_a_temperature_may_be_any_kind_of_number(kind, temperature):
    X = rows_for(FOREST, 0)
    model = make(kind, "joint", estimator=Scored(), temperature=temperature).fit(X, FOREST)
    assert type(model.temperature_) is float
    usual = make(kind, "joint", estimator=Scored(), temperature=2.0).fit(X, FOREST)
    np.testing.assert_array_equal(model.predict_node_proba(X), usual.predict_node_proba(X))


def test_an_ensemble_fits_its_folds_with_the_temperatures_of_its_members():
    y = FOREST * 4
    X = blobs(4, y)
    members = [
        ("flat", FlatClassifier(LinearSVC(), calibration="joint")),
        ("local", LocalClassifierPerParentNode(LinearSVC(), calibration="joint")),
    ]
    model = EnsembleClassifier(members, decoding="expected_f1").fit(X, y)
    flat, local = model.models_
    # The product of both, each normalised over all final classes.
    parts = [np.log(final_proba(m._models, X)) / 2 for m in (flat, local)]
    total = sum(parts)
    expected = np.exp(total - logsumexp(total, axis=1, keepdims=True))
    np.testing.assert_allclose(final_proba(model._models, X), expected)
    assert 0.5 < model.expected_f1_ <= 1


def test_log_shares_add_up_to_what_a_slow_loop_finds():
    """On a random forest of classes, by walking up from every final class."""
    y = FOREST * 3
    X = blobs(5, y)
    model = LocalClassifierPerParentNode(LinearSVC(), calibration="joint", temperature=0.5).fit(
        X, y
    )
    models, hierarchy = model._models, model.hierarchy_
    slow = np.zeros((len(X), len(models.options.ends)))
    for j, end in enumerate(models.options.ends.tolist()):
        steps = [(end, end)] if models.options.can_stop[end] else []
        node = end
        while node:
            steps.append((int(hierarchy.parent[node]), node))
            node = int(hierarchy.parent[node])
        for parent, chosen in steps:
            if parent not in models.classifiers:
                continue
            scores = models.classifiers[parent].decision_function(X)
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
            column = branches(models.options, parent).tolist().index(chosen)
            slow[:, j] += log_expit(scores[:, column] / 0.5)
    expected = np.exp(slow - logsumexp(slow, axis=1, keepdims=True))
    np.testing.assert_allclose(final_proba(models, X), expected, rtol=1e-10)
