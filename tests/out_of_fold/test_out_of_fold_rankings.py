"""Which mixture ranks best: counted pairs against sorted ones, and weights worked out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, f1_score

from hiclass._out_of_fold import rankings
from hiclass._out_of_fold.rankings import Ranking, fewer_rows, learn_set_weights, mix
from hiclass._rows import one_in


def make_pairs(n_rows=300, n_nodes=8, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random((n_rows, n_nodes)) < 0.3
    truth[:, 0] = True  # as the root, and as a class that all rows have
    truth[:, 1] = False
    noise = rng.random((n_rows, n_nodes))
    return truth, (0.3 * truth + 0.7 * noise).astype(np.float32)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_is_that_of_scikit_learn_over_nodes_that_vary(weighted):
    truth, proba = make_pairs()
    weights = 0.5 + np.arange(len(truth)) % 3 if weighted else None
    ranking = Ranking(sp.csr_array(truth), weights, "average_precision")
    each = None if weights is None else np.repeat(weights, 6)
    expected = average_precision_score(
        truth[:, 2:].ravel(), proba[:, 2:].ravel(), sample_weight=each
    )
    assert ranking.score(ranking.pairs(proba)) == pytest.approx(expected, abs=2e-3)


def test_the_f1_is_the_best_of_all_thresholds():
    truth, proba = make_pairs(n_rows=60)
    ranking = Ranking(sp.csr_array(truth), None, "f1")
    flat, scores = truth[:, 2:].ravel(), proba[:, 2:].ravel()
    expected = max(f1_score(flat, scores >= t) for t in np.unique(scores))
    assert ranking.score(ranking.pairs(proba)) == pytest.approx(expected, abs=5e-3)


def test_perfect_probabilities_have_an_area_of_one_and_nothing_true_has_none():
    truth, _ = make_pairs()
    ranking = Ranking(sp.csr_array(truth), None, "average_precision")
    assert ranking.score(ranking.pairs(truth.astype(np.float32))) == 1
    nothing = Ranking(sp.csr_array(np.zeros((3, 2))), None, "f1")
    assert nothing.is_empty
    assert nothing.score(nothing.pairs(np.zeros((3, 2)))) == 0


def test_rows_are_thinned_out_where_there_are_too_many_pairs(monkeypatch):
    truth, proba = make_pairs()
    monkeypatch.setattr(rankings, "_MOST_PAIRS", 600)
    ranking = Ranking(sp.csr_array(truth), np.ones(300), "average_precision")
    assert len(ranking.pairs(proba)) == 600
    some = one_in(np.arange(300), 3)
    every = average_precision_score(truth[some, 2:].ravel(), proba[some, 2:].ravel())
    assert ranking.score(ranking.pairs(proba)) == pytest.approx(every, abs=2e-3)
    monkeypatch.setattr(rankings, "_MOST_NUMBERS", 100)
    assert (fewer_rows(np.arange(20), 10) // 2).tolist() == list(range(10))
    assert (fewer_rows(np.arange(21), 10) // 3).tolist() == list(range(7))
    assert fewer_rows(np.arange(10), 10).tolist() == list(range(10))


def test_rows_whose_classes_take_turns_are_thinned_out_at_random(monkeypatch):
    truth = np.eye(3)[np.arange(300) % 3]  # every third row is of the same class
    monkeypatch.setattr(rankings, "_MOST_PAIRS", 300)
    pairs = Ranking(sp.csr_array(truth), None, "f1").pairs(truth)
    assert pairs.reshape(-1, 3).sum(axis=0).min() > 20


@pytest.mark.parametrize("voting", ["mean", "product"])
def test_noise_gets_no_weight_and_equal_models_equal_ones(voting):
    truth, good = make_pairs()
    noise = np.random.default_rng(5).random(truth.shape).astype(np.float32)
    ranking = Ranking(sp.csr_array(truth), None, "average_precision")
    parts = [ranking.pairs(part) for part in (good, noise)]
    weights, score = learn_set_weights(parts, ranking, voting)
    assert weights[0] > 0.9
    assert score >= ranking.score(parts[0]) - 1e-3
    same, _ = learn_set_weights([parts[0], parts[0]], ranking, voting)
    assert same == (0.5, 0.5)
    assert learn_set_weights(parts[:1], ranking, voting)[0] == (1.0,)


def test_two_views_of_the_same_rows_are_better_together():
    truth, one = make_pairs()
    two = (0.3 * truth + 0.7 * np.random.default_rng(7).random(truth.shape)).astype(np.float32)
    ranking = Ranking(sp.csr_array(truth), None, "average_precision")
    parts = [ranking.pairs(part) for part in (one, two)]
    weights, score = learn_set_weights(parts, ranking)
    assert sum(weights) == pytest.approx(1)
    assert score > max(map(ranking.score, parts)) + 0.02
    assert ranking.score(ranking.pairs(mix([one, two], weights, "mean"))) == pytest.approx(score)


def test_mixtures_written_out():
    one, two = np.array([[0.2, 1.0]]), np.array([[0.8, 0.0]])
    np.testing.assert_allclose(mix([one, two], (0.25, 0.75), "mean"), [[0.65, 0.25]])
    np.testing.assert_allclose(mix([one, two], (0.5, 0.5), "product"), [[0.4, 0.0]])
    np.testing.assert_allclose(mix([one, two], (1.0, 0.0), "product"), one)
