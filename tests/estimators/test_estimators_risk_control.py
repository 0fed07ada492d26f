"""Promises about sets of classes: rates of errors that are kept, and thresholds for a precision."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from zoo import DAG, EDGES, zoo

from hiclass import (
    ConformalClassifier,
    FlatClassifier,
    LocalClassifierPerLevel,
    metrics,
    tune_confidence,
)
from hiclass._out_of_fold.risk_control import GRID, RISKS, Chunk
from hiclass._out_of_fold.selective import bets_against
from hiclass._targets.sets import known_sets
from hiclass.datasets import make_hierarchical_classification

KINDS = list(RISKS)


def losses(kind, predicted, chunk):
    """The loss of every row, by loops."""
    found = []
    for row in range(len(predicted)):
        chosen = {v for v in range(predicted.shape[1]) if predicted[row, v]}
        true = {v for v in range(predicted.shape[1]) if chunk.truth[row, v]}
        if kind == "false_negatives":
            n = len(true) + chunk.n_unknown[row]
            found.append((n - len(true & chosen)) / n if n else 0.0)
        else:
            found.append(len(chosen - true) / len(chosen) if chosen else 0.0)
    return np.array(found)


def rows(seed, n=40, n_nodes=5):
    rng = np.random.default_rng(seed)
    proba = rng.integers(0, 20, size=(n, n_nodes)) / 20
    truth = rng.random((n, n_nodes)) < proba
    return Chunk(proba, truth, (rng.random(n) < 0.1).astype(int))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_no_larger_threshold_controls_the_misses(seed, alpha):
    chunk = rows(seed)
    n = len(chunk.proba)
    risk = RISKS["false_negatives"]
    found = risk.choose(risk.collect(chunk), n, alpha, 0.0)

    def holds(threshold):
        total = losses("false_negatives", chunk.proba >= threshold, chunk).sum()
        return (total + 1) / (n + 1) <= alpha + 1e-12

    if found == -np.inf:
        assert not holds(0.0)
    else:
        assert holds(found)
        assert not holds(found + 0.025)


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_tested_in_turn_until_one_fails(seed):
    chunk = rows(seed, n=300)
    risk = RISKS["false_discoveries"]
    found = risk.choose(risk.collect(chunk), 300, 0.4, 0.1)
    order = np.random.default_rng(300).permutation(300)
    passed = []
    for threshold in GRID:
        loss = losses("false_discoveries", chunk.proba >= threshold, chunk)
        if not bets_against(loss[order], 0.4, 0.1):
            break
        passed.append(threshold)
    assert found == (passed[-1] if passed else np.inf)


def noisy(n, seed):
    data = make_hierarchical_classification(
        n, 8, branching=[2, 3, 2], dag=0.2, multi_label=True, ragged=0.2, random_state=3
    )
    order = np.random.default_rng(seed).permutation(n)
    X = data.data + np.random.default_rng(3).normal(scale=1.5, size=data.data.shape)
    return X[order], [data.target[i] for i in order], data.hierarchy


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_the_promise_about_misses_holds_on_average_over_draws(alpha):
    X, y, hierarchy = noisy(3000, 0)
    model = FlatClassifier(GaussianNB(), hierarchy=hierarchy, multi_label=True).fit(
        X[:400], y[:400]
    )
    proba = model.predict_node_proba(X[400:])[:, 1:]
    truth = hierarchy.indicator(y[400:]).toarray()[:, 1:]
    rng, means, risk = np.random.default_rng(0), [], RISKS["false_negatives"]
    none = np.zeros(len(proba), dtype=int)
    for _ in range(300):
        order = rng.permutation(len(proba))
        held, new = order[:100], order[100:]
        chunk = Chunk(proba[held], truth[held], none[held])
        threshold = risk.choose(risk.collect(chunk), 100, alpha, 0.0)
        found = (truth[new] & (proba[new] >= threshold)).sum(axis=1)
        n_true = truth[new].sum(axis=1)
        means.append(np.where(n_true, 1 - found / np.maximum(n_true, 1), 0).mean())
    error = np.std(means) / np.sqrt(len(means))
    assert np.mean(means) <= alpha + 2 * error
    assert np.mean(means) >= alpha - 0.05  # and it is not wasted


@pytest.mark.parametrize("certainty", [0.8, 0.95])
def test_the_promise_about_discoveries_holds_with_the_certainty(certainty):
    X, y, hierarchy = noisy(3000, 1)
    model = FlatClassifier(GaussianNB(), hierarchy=hierarchy, multi_label=True).fit(
        X[:400], y[:400]
    )
    proba = model.predict_node_proba(X[400:])[:, 1:]
    truth = hierarchy.indicator(y[400:]).toarray()[:, 1:]
    everything = Chunk(proba, truth, np.zeros(len(proba), dtype=int))
    risk = RISKS["false_discoveries"]
    # Rows are drawn with replacement: the risk of a threshold is its mean over all rows.
    table = risk.collect(everything)
    true_risk = dict(zip(GRID.tolist(), table.mean(axis=0), strict=True)) | {np.inf: 0.0}
    rng, broken, kept = np.random.default_rng(0), 0, []
    for _ in range(300):
        held = rng.integers(len(proba), size=300)
        threshold = risk.choose(table[held], 300, 0.3, 1 - certainty)
        broken += true_risk[threshold] > 0.3
        kept.append(threshold)
    assert broken / 300 <= 1 - certainty
    assert np.isfinite(kept).mean() > 0.5  # and it says something


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_are_predicted_at_the_threshold(kind):
    X, y, hierarchy = noisy(900, 2)
    inner = FlatClassifier(GaussianNB(), hierarchy=hierarchy, multi_label=True)
    model = ConformalClassifier(inner, alpha=0.3, kind=kind, random_state=0).fit(X[:600], y[:600])
    proba = model.predict_node_proba(X[600:])
    closed = hierarchy.indicator(model.predict(X[600:])).toarray()
    np.testing.assert_array_equal(closed[:, 1:], (proba >= model.threshold_)[:, 1:])
    assert model.predict_set(X[600:]) == model.predict(X[600:]).tolist()
    truth = hierarchy.indicator(y[600:]).toarray()
    chunk = Chunk(proba[:, 1:], truth[:, 1:], np.zeros(300, dtype=int))
    assert losses(kind, closed[:, 1:], chunk).mean() < 0.36
    confidence = model.predict_confidence(X[600:])
    assert [len(row) for row in confidence] == [len(row) for row in model.predict(X[600:])]
    assert model.predict_paths(X[600:], 2)[0].shape == (300, 2)
    assert 0 < model.score(X[600:], y[600:]) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_models_pipelines_and_groups(kind):
    X, y, hierarchy = noisy(600, 4)
    inner = make_pipeline(
        StandardScaler(), FlatClassifier(GaussianNB(), hierarchy=hierarchy, multi_label=True)
    )
    fitted = inner.fit(X[:300], y[:300])
    model = ConformalClassifier(FrozenEstimator(fitted), alpha=0.4, kind=kind)
    model.fit(X[300:], y[300:])
    assert model.predict(X[:5]).shape == (5,)
    grouped = ConformalClassifier(inner, alpha=0.4, kind=kind, random_state=0)
    grouped.fit(X, y, groups=np.arange(600) // 3)
    assert np.isfinite(grouped.threshold_)


def test_one_label_in_a_dag_gets_a_set():
    X, y = zoo(120)
    labels = [row[0] for row in y]
    model = ConformalClassifier(
        FlatClassifier(LogisticRegression(), hierarchy=EDGES),
        kind="false_negatives",
        random_state=0,
    ).fit(X, labels)
    sets = model.predict_set(X)
    assert all(isinstance(row, list) for row in sets)
    assert set(model.predict(X)) <= set(labels)


def test_classes_that_the_model_does_not_know_are_missed():
    closed, lacking = known_sets([["cat"], ["cow", "dog"], []], DAG, True)
    assert lacking.tolist() == [0, 1, 0]
    assert closed.toarray()[1, DAG.find("dog")]
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = [[("a", "x")], [("b", "y"), ("c",)]] * 45
    model = LocalClassifierPerLevel(GaussianNB(), multi_label=True).fit(X, y)
    closed, lacking = known_sets([[("a", "new", "er")], [("q",)]], model.hierarchy_, True)
    assert lacking.tolist() == [2, 1]
    assert closed.toarray()[0].sum() == 2  # the root and a
    frozen = ConformalClassifier(FrozenEstimator(model), kind="false_negatives")
    with pytest.warns(UserWarning, match="labels that the model was not trained on"):
        frozen.fit(X, [[("q",)]] * 90)
    everything = frozen.predict(X[:2])
    assert everything.tolist() == [[("a", "x"), ("b", "y"), ("c",)]] * 2


@pytest.mark.parametrize("alpha", [0.05, 0.4])
def test_classes_without_training_rows_are_missed(alpha):
    rng = np.random.default_rng(0)
    tree = {"a": ["b", "c"], "d": ["e", "never"]}
    X = rng.normal(size=(400, 2))
    y = [["b"] if x > 0 else ["e", "c"] for x in X[:, 0]]
    model = FlatClassifier(GaussianNB(), hierarchy=tree, multi_label=True).fit(X[:200], y[:200])
    # Half of the true classes, above included, of a third of the rows are never predicted.
    y[200::3] = [["never"]] * len(y[200::3])
    promised = ConformalClassifier(FrozenEstimator(model), alpha, kind="false_negatives")
    if alpha < 1 / 6:
        with pytest.warns(UserWarning, match="No threshold satisfies alpha"):
            promised.fit(X[200:], y[200:])
        assert promised.threshold_ == -np.inf
    else:
        promised.fit(X[200:], y[200:])
        truth = model.hierarchy_.indicator(y[200:]).toarray()[:, 1:]
        found = model.hierarchy_.indicator(promised.predict(X[200:])).toarray()[:, 1:]
        missed = (truth & ~found).sum(axis=1) / truth.sum(axis=1)
        assert (200 * missed.mean() + 1) / 201 <= alpha


def test_too_few_rows_promise_nothing():
    X, y = zoo(40)
    fitted = FlatClassifier(GaussianNB(), hierarchy=DAG, multi_label=True).fit(X, y)
    few = ConformalClassifier(FrozenEstimator(fitted), alpha=0.1, kind="false_negatives")
    with pytest.warns(UserWarning, match="At least 9 rows are needed"):
        few.fit(X[:8], y[:8])
    few = ConformalClassifier(FrozenEstimator(fitted), alpha=0.1, kind="false_discoveries")
    with pytest.warns(UserWarning, match="every set will be empty"):
        few.fit(X[:8], y[:8])
    assert few.predict(X[:2]).tolist() == [[], []]


def test_promises_about_the_other_kind_of_predictions_are_refused():
    X, y = zoo(20)
    single = [row[0] for row in y]
    for model, labels in (
        (FlatClassifier(hierarchy=DAG, multi_label=True), y),
        (FlatClassifier(hierarchy=EDGES), single),
    ):
        with pytest.raises(ValueError, match=r"kind='path' requires one path.*kind='false_neg"):
            ConformalClassifier(model).fit(X, labels)
    for kind in KINDS:
        with pytest.raises(ValueError, match=r"is for sets of classes.*kind='path'"):
            ConformalClassifier(FlatClassifier(), kind=kind).fit(X, single)
    with pytest.raises(ValueError, match=r"certainty=0\.9 is for kind='false_discoveries'"):
        ConformalClassifier(FlatClassifier(), certainty=0.9).fit(X, single)


# -- a threshold for a precision -----------------------------------------------------------------


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.9])
def test_the_smallest_threshold_with_a_precision_is_found(precision):
    X, y, hierarchy = noisy(900, 5)
    model = FlatClassifier(LogisticRegression(), hierarchy=hierarchy, multi_label=True)
    model.fit(X[:500], y[:500])
    X, y = X[500:], y[500:]
    found = tune_confidence(model, X, y, precision)
    common = {"hierarchy": hierarchy, "multi_label": True}

    def reached(threshold):
        return metrics.precision(y, model.set_params(threshold=threshold).predict(X), **common)

    assert reached(found) >= precision
    proba = np.unique(model.predict_node_proba(X)[:, 1:])
    lower = proba[proba < found]
    assert all(reached(t) < precision for t in lower[-200:])


@pytest.mark.parametrize("precision", [0.6, 0.7, 0.75])
def test_one_label_in_a_dag_is_tuned_by_what_is_predicted(precision):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    first, second = (X + rng.normal(size=X.shape)).T
    y = np.where(first > 0.3, "x", np.where(second > 0, "z", "w"))
    y[::5] = "p"  # a class that others are below
    edges = [("p", "x"), ("q", "x"), ("p", "z"), ("q", "w")]
    model = FlatClassifier(GaussianNB(), hierarchy=edges).fit(X[:200], y[:200])

    def reached(threshold):
        nodes = model.set_params(threshold=threshold).predict(X[200:])
        sets = ([[label] for label in labels] for labels in (y[200:], nodes))
        return metrics.precision(*sets, hierarchy=model.hierarchy_, multi_label=True)

    every = {t: reached(t) for t in np.arange(1, 101) / 100}
    good = [t for t, value in every.items() if value >= precision]
    if good:
        assert tune_confidence(model, X[200:], y[200:], precision) == good[0]
    else:
        with pytest.raises(ValueError, match="No threshold reaches a precision"):
            tune_confidence(model, X[200:], y[200:], precision)


def test_pipelines_are_tuned_and_what_is_out_of_reach_is_an_error():
    X, y, hierarchy = noisy(300, 6)
    model = make_pipeline(
        StandardScaler(), FlatClassifier(GaussianNB(), hierarchy=hierarchy, multi_label=True)
    ).fit(X[:200], y[:200])
    assert 0 < tune_confidence(model, X[200:], y[200:], 0.5) < 1
    with pytest.raises(ValueError, match="No threshold reaches a precision of 1"):
        tune_confidence(model, X, [[]] * 300, 1.0)
    with pytest.raises(ValueError, match="precision must be a number"):
        tune_confidence(model, X, y, 2)
    promised = ConformalClassifier(model, kind="false_negatives", random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="hierarchical classifier with threshold"):
        tune_confidence(promised, X, y)
