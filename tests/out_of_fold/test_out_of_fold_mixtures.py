"""Weights of scores that depend on the class."""

import numpy as np
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from hiclass._inference.mixing import BIAS, class_weights, sum_scores
from hiclass._out_of_fold import mixtures
from hiclass._out_of_fold.folds import hold_out_classes
from hiclass._out_of_fold.mixtures import Held, learn_mixture, limited_share, sharpen
from hiclass._out_of_fold.words_and_rows import factors_of, most_lose_all
from hiclass.hierarchy import Hierarchy

FEATURE = np.array([0, 1, 1, BIAS])


def held(seed=0, n=40, k=5):
    rng = np.random.default_rng(seed)
    return Held(
        rng.normal(size=(2, n, k)), rng.random((4, k)), rng.integers(0, k, n), rng.random(n)
    )


def test_weights_of_classes_are_sums_of_parameters_times_factors():
    factors = np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0], [1.0, 3.0]])
    weights, bias = class_weights(np.array([2.0, 3.0, 5.0, 7.0]), factors, FEATURE, 2)
    assert weights.tolist() == [[2, 4], [3, 5]]
    assert bias.tolist() == [7, 21]
    features = np.array([[[1.0, 1.0]], [[0.0, 2.0]]])
    assert sum_scores(features, weights, bias).tolist() == [[9, 35]]
    assert sum_scores(features, weights, None).tolist() == [[2, 14]]


def test_the_slope_is_that_of_the_loss():
    part, at = held(), np.array([0.5, 1.0, 0.2, -0.3])

    def loss(parameters):
        weights, bias = class_weights(parameters, part.factors, FEATURE, 2)
        logs = log_softmax(sum_scores(part.features, weights, bias), axis=1)
        return -float(part.weights @ logs[np.arange(40), part.right])

    value, slope = mixtures._log_loss(part, at, FEATURE)
    np.testing.assert_allclose(value, loss(at))
    np.testing.assert_allclose(slope, approx_fprime(at, loss), rtol=1e-4)


def test_parameters_are_those_with_the_least_loss_and_not_negative():
    parts = [held(1), held(2)]
    start = np.ones(4)
    found = learn_mixture(parts, FEATURE, start, 1e-6)
    assert (found[:3] >= 0).all()

    def loss(parameters):
        return sum(mixtures._log_loss(part, parameters, FEATURE)[0] for part in parts)

    rng = np.random.default_rng(0)
    for _ in range(20):
        other = found + rng.normal(scale=0.05, size=4)
        other[:3] = np.maximum(other[:3], 0)
        assert loss(found) <= loss(other) + 1e-3


def test_without_rows_or_with_a_strong_pull_nothing_changes():
    start = np.array([1.0, 2.0, 3.0, 4.0])
    assert learn_mixture([], FEATURE, start, 1.0) is start
    np.testing.assert_allclose(learn_mixture([held()], FEATURE, start, 1e9), start, atol=1e-3)


def test_rows_of_classes_without_rows_have_at_most_their_share():
    assert limited_share(70, 10) == 1.0
    assert limited_share(70, 5) == 1.0
    assert limited_share(7, 10) == 0.1
    assert limited_share(0, 10) == limited_share(10, 0) == 0.0


def test_every_eighth_class_is_held_out_as_a_whole():
    nodes = np.repeat(np.arange(16), 3)
    fold = hold_out_classes(np.tile([0, 1, 2], 16), nodes)
    whole = [v for v in range(16) if len(set(fold[nodes == v])) == 1]
    assert whole == [4, 12]
    assert fold[nodes == 4].tolist() == [0, 0, 0]
    assert fold[nodes == 12].tolist() == [1, 1, 1]
    kept = hold_out_classes(np.full(48, -1), nodes)
    assert (kept == -1).all()


def test_classes_that_lose_all_rows():
    assert most_lose_all(np.arange(6), np.arange(6) % 3)
    assert not most_lose_all(np.repeat([1, 2], 3), np.arange(6) % 3)
    assert most_lose_all(np.array([1]), np.array([-1]))


def test_weights_depend_on_the_rows_of_a_class_and_of_its_siblings():
    tree = Hierarchy.from_paths([["a", "x"], ["a", "y"], ["b", "z"]])
    ends = tree.leaves()
    nodes = np.repeat(tree.find("x"), 4)
    factors = factors_of(tree, ends, nodes, 1)
    # x: 4 rows, siblings none; y: none, siblings 4; z: none, and none beside it.
    np.testing.assert_allclose(factors, [[0.5, 0, 0], [0, 0.5, 0], [0.5, 0.5, 1], [0, 1, 1]])


def test_features_count_for_more_where_more_classes_are_right_then():
    rng = np.random.default_rng(0)
    n, k = 300, 4
    right = rng.integers(0, k, n)
    # The first is right for 90 % of the rows, but hardly sure; the second is noise.
    good = np.zeros((n, k))
    shown = np.where(rng.random(n) < 0.9, right, rng.integers(0, k, n))
    good[np.arange(n), shown] = 0.4
    features = np.stack([good, rng.normal(size=(n, k))])
    part = Held(features, np.ones((3, k)), right, np.ones(n))
    feature = np.array([0, 1, BIAS])
    start = np.array([1.0, 1.0, 0.0])
    found = sharpen([part], feature, start)
    assert found[0] / found[1] == 16
    before = mixtures._share_right([part], start, feature)
    assert mixtures._share_right([part], found, feature) > before + 0.3
    assert mixtures._log_loss(part, found, feature)[0] < mixtures._log_loss(part, start, feature)[0]


def test_nothing_is_sharpened_without_rows_or_without_gain():
    start = np.array([1.0, 1.0, 0.0])
    feature = np.array([0, 1, BIAS])
    assert sharpen([], feature, start) is start
    scores = np.eye(3)[None].repeat(2, axis=0)
    part = Held(scores, np.ones((3, 3)), np.arange(3), np.ones(3))
    assert sharpen([part], feature, start) is start
