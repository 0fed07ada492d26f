"""Weights of scores that depend on the class."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from hiclass._inference.class_texts import FEATURE as FEATURES
from hiclass._inference.mixing import BIAS, class_weights, sum_scores
from hiclass._out_of_fold import mixtures
from hiclass._out_of_fold.folds import hold_out_classes
from hiclass._out_of_fold.mixtures import hold, learn_mixture, unseen_weight
from hiclass._out_of_fold.words_and_rows import ROWS, WORDS, factors_of, mixture_of, most_lose_all
from hiclass.hierarchy import Hierarchy

FEATURE = np.array([0, 1, 1, BIAS])


def draw(seed=0, n=40, k=5):
    """Features, factors, true classes and weights."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(2, n, k)),
        rng.random((4, k)),
        rng.integers(0, k, n),
        rng.random(n),
    )


def held(seed=0, n=40, k=5):
    features, factors, right, weights = draw(seed, n, k)
    return hold(features, factors, FEATURE, np.ones(4), right, weights, np.zeros((n, k), bool))


def test_weights_of_classes_are_sums_of_parameters_times_factors():
    factors = np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0], [1.0, 3.0]])
    weights, bias = class_weights(np.array([2.0, 3.0, 5.0, 7.0]), factors, FEATURE, 2)
    assert weights.tolist() == [[2, 4], [3, 5]]
    assert bias.tolist() == [7, 21]
    features = np.array([[[1.0, 1.0]], [[0.0, 2.0]]])
    assert sum_scores(features, weights, bias).tolist() == [[9, 35]]
    assert sum_scores(features, weights, None).tolist() == [[2, 14]]


def proba_of(parameters, features, factors, right):
    """The probability of the true classes, worked out without candidates."""
    weights, bias = class_weights(parameters, factors, FEATURE, 2)
    logs = log_softmax(sum_scores(features, weights, bias), axis=1)
    return np.exp(logs[np.arange(len(right)), right])


@pytest.mark.parametrize("power", [0.0, 0.7])
def test_the_loss_is_what_its_formula_says_and_so_is_the_slope(power):
    features, factors, right, row_weights = draw()
    part, at = held(), np.array([0.5, 1.0, 0.2, -0.3])

    def loss(parameters):
        p = proba_of(parameters, features, factors, right)
        each = (1 - p**power) / power if power else -np.log(p)
        return float(row_weights @ each)

    value, slope = mixtures.loss_of(part, at, power)
    np.testing.assert_allclose(value, loss(at), rtol=1e-5)
    np.testing.assert_allclose(slope, approx_fprime(at, loss), rtol=1e-3, atol=1e-5)


def test_of_many_classes_those_with_the_largest_scores_are_kept_and_the_true_one(monkeypatch):
    monkeypatch.setattr(mixtures, "N_CANDIDATES", 3)
    features = np.array([[[5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]]])
    factors = np.array([[1.0] * 5, [0.0, 0.0, 0.0, 0.0, 2.0]])
    right, same = np.array([4, 4]), np.eye(2, 5, k=3, dtype=bool)
    found = hold(
        features, factors, np.array([0, BIAS]), np.ones(2), right, np.array([1.0, 2.0]), same
    )
    assert found.design.shape == (2, 2, 3)
    assert found.design[0, :, 0].tolist() == [1, 5]
    assert found.design[1, :, 0].tolist() == [2, 2]
    assert [sorted(row) for row in found.design[0, :, 1:].tolist()] == [[4, 5], [3, 4]]
    assert found.of(slice(1, 2)).design.tolist() == [[[2, 0, 0], [2, 0, 0]]]
    assert found.weights.tolist() == [1, 2]
    # The true class of the second row has an equal text; the class of the first is no candidate.
    assert found.same.tolist() == [[False] * 3, [True, False, False]]
    assert [sorted(row) for row in found.rest[0].tolist()] == [[2, 3], [1, 2]]
    assert found.each == 1


def test_a_sample_of_the_other_classes_stands_for_all_of_them(monkeypatch):
    monkeypatch.setattr(mixtures, "N_CANDIDATES", 3)
    monkeypatch.setattr(mixtures, "_N_SAMPLED", 2)
    features = np.array([[[4.0, 3.0, 2.0, *[1.0] * 8]]])
    one = np.ones(1)
    none = np.zeros((1, 11), dtype=bool)
    part = hold(features, np.ones((1, 11)), np.array([0]), one, np.array([0]), one, none)
    assert part.each == 4
    found, total = part.exponentials(np.array([2.0]), 0.5)
    np.testing.assert_allclose(np.sort(found), np.exp([[-2.0, -1.0, 0.0]]))
    np.testing.assert_allclose(total, np.exp([0.0, -1.0, -2.0]).sum() + 8 * np.exp(-3.0))


@pytest.mark.parametrize("n_right", [0, 5, 20])
def test_classes_with_an_equal_text_get_the_probability_that_was_counted(n_right):
    # 20 rows, 4 classes: the second has an equal text, and a probability of 1/4.
    right, same = np.where(np.arange(20) < n_right, 1, 2), np.zeros((20, 4), dtype=bool)
    same[:, 1] = True
    features, ones = np.zeros((1, 20, 4)), np.ones(1)
    part = hold(features, np.ones((1, 4)), np.array([0]), ones, right, np.ones(20), same)
    share = (n_right + 10 / 4) / 30  # what was believed counts as ten rows
    expected = np.log(share / (1 - share)) - np.log((1 / 4) / (3 / 4))
    assert mixtures.weigh_same([part], ones) == pytest.approx(expected)
    # Other counts may be known: 60 rows, all of them right.
    share = (60 + 10 / 4) / 70
    expected = np.log(share / (1 - share)) - np.log((1 / 4) / (3 / 4))
    assert mixtures.weigh_same([part], ones, (60.0, 60.0)) == pytest.approx(expected)


@pytest.mark.parametrize("certain", [-80.0, 80.0])
def test_certain_rows_have_a_bonus_and_a_small_one_if_they_are_right(certain):
    # Classes with an equal text have a probability of almost 0 and are wrong, or of 1 and right.
    features, ones = np.zeros((1, 2, 3)), np.ones(1)
    features[:, :, 1] = certain
    right, same = np.full(2, 1 if certain > 0 else 2), np.zeros((2, 3), dtype=bool)
    same[:, 1] = True
    part = hold(features, np.ones((1, 3)), np.array([0]), ones, right, np.ones(2), same)
    expected = np.sign(certain) * np.log(12 / 10)  # the odds of 1e-6 * 10 / 12 for those of 1e-6
    assert mixtures.weigh_same([part], ones) == pytest.approx(expected, abs=1e-4)


def test_without_equal_texts_nothing_is_added():
    assert mixtures.weigh_same([held()], np.ones(4)) == 0
    assert mixtures.weigh_same([], np.ones(4), (3.0, 2.0)) == 0


def test_parameters_are_not_negative_and_scaled_to_the_least_loss_of_confidences(monkeypatch):
    monkeypatch.setattr(mixtures, "_DOUBT", 0.0)
    features, factors, right, weights = draw(1)
    features[:, np.arange(40), right] += 1.5
    none = np.zeros((40, 5), dtype=bool)
    parts = [hold(features, factors, FEATURE, np.ones(4), right, weights, none)]
    found = learn_mixture(parts, FEATURE, np.ones(4), 1.0)
    assert (found[:3] >= 0).all()

    def loss(parameters):
        sums = sum_scores(features, *class_weights(parameters, factors, FEATURE, 2))
        proba = np.exp(log_softmax(sums, axis=1))
        sure, is_right = proba.max(axis=1), proba.argmax(axis=1) == right
        return -weights @ np.log(np.where(is_right, sure, 1 - sure))

    assert all(loss(found) <= loss(found * t) + 1e-9 for t in (0.5, 0.8, 1.2, 2.0))


def test_without_rows_or_with_a_strong_pull_nothing_changes():
    start = np.array([1.0, 2.0, 3.0, 4.0])
    assert learn_mixture([], FEATURE, start, 1.0) is start
    found = learn_mixture([held()], FEATURE, start, 1e9)
    np.testing.assert_allclose(found / found[0], start, rtol=1e-3)


def test_rows_of_classes_without_rows_have_their_share():
    assert unseen_weight(40, 10) == 1.0
    assert unseen_weight(4, 10) == 0.1
    assert unseen_weight(40, 2) == 2.0  # and not five, however few there are
    assert unseen_weight(0, 10) == unseen_weight(10, 0) == 0.0


def test_every_eighth_class_is_held_out_as_a_whole():
    nodes = np.repeat(np.arange(16), 3)
    fold = hold_out_classes(np.tile([0, 1, 2], 16), nodes)
    whole = [v for v in range(16) if len(set(fold[nodes == v])) == 1]
    assert whole == [4, 12]
    assert fold[nodes == 4].tolist() == [0, 0, 0]
    assert fold[nodes == 12].tolist() == [1, 1, 1]
    kept = hold_out_classes(np.full(48, -1), nodes)
    assert (kept == -1).all()


def test_of_many_rows_one_fold_is_held_out_with_every_sixteenth_class():
    nodes = np.repeat(np.arange(32), 3)
    fold = hold_out_classes(np.tile([0, 1, 2], 32), nodes, 1)
    whole = [v for v in range(32) if (fold[nodes == v] == 0).all()]
    assert whole == [8, 24]
    assert fold[nodes == 0].tolist() == [0, -1, -1]


def test_classes_that_lose_all_rows():
    assert most_lose_all(np.arange(6), np.arange(6) % 3)
    assert not most_lose_all(np.repeat([1, 2], 3), np.arange(6) % 3)
    assert most_lose_all(np.array([1]), np.array([-1]))


def test_weights_depend_on_the_rows_of_a_class_and_of_its_siblings():
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b", "z"]])
    ends = tree.leaves()
    nodes = np.repeat(tree.find("x"), 4)
    factors = factors_of(tree, ends, nodes)
    # x: 4 rows, siblings none; y: none, siblings 4; z: none, and none beside it.
    np.testing.assert_allclose(factors, [[0.5, 0, 0], [0, 0.5, 0], [0.5, 0.5, 1]])


def test_models_of_one_kind_share_what_serves_where_nothing_is_learned():
    one, two = mixture_of([ROWS, WORDS]), mixture_of([ROWS, WORDS, ROWS])
    assert one.feature[:3].tolist() == [0, 0, 0]
    assert one.feature[3:].tolist() == np.where(FEATURES == BIAS, BIAS, FEATURES + 1).tolist()
    assert two.feature[-3:].tolist() == [6, 6, 6]
    np.testing.assert_allclose(two.start[two.own(0)] * 2, one.start[one.own(0)])
    np.testing.assert_allclose(two.start[two.own(2)] * 2, one.start[one.own(0)])
    np.testing.assert_allclose(two.start[two.own(1)], one.start[one.own(1)])


def test_a_few_rows_that_are_out_of_reach_do_not_spoil_the_others():
    rng = np.random.default_rng(0)
    n, k = 400, 4
    right = rng.integers(0, k, n)
    # The first feature is right for 90 % of the rows, and sure but wrong for the others. The second
    # is right for 70 % of the rows, and never sure.
    features = np.zeros((2, n, k))
    shown = np.where(rng.random(n) < 0.9, right, (right + 1) % k)
    features[0, np.arange(n), shown] = 20.0
    shown = np.where(rng.random(n) < 0.7, right, rng.integers(0, k, n))
    features[1, np.arange(n), shown] = 1.0
    feature = np.array([0, 1])
    none = np.zeros((n, k), dtype=bool)
    part = hold(features, np.ones((2, k)), feature, np.ones(2), right, np.ones(n), none)
    found = learn_mixture([part], feature, np.ones(2), 0.1)
    best = (features[0] * found[0] + features[1] * found[1]).argmax(axis=1)
    assert (best == right).mean() >= 0.88
