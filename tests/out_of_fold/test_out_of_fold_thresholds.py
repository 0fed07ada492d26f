"""Thresholds that are learned out of fold."""

import numpy as np
import pytest
import scipy.sparse as sp

from hiclass import Hierarchy
from hiclass._out_of_fold.folds import deal_sets, rarest_nodes
from hiclass._out_of_fold.thresholds import (
    _best,
    best_thresholds,
    score_out_of_fold,
    tune_thresholds,
)
from hiclass._targets.sets import encode_sets

TREE = Hierarchy.from_edges([("a", "b"), (None, "c")])
A, B, C = (TREE.find(name) for name in "abc")


def f1(p, positive, weights, total, threshold):
    chosen = p >= threshold
    tp = (weights * positive)[chosen].sum()
    return 2 * tp / (weights[chosen].sum() + total)


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_has_a_better_f1(seed):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 8, size=12) / 8
    positive = rng.random(12) < 0.5
    weights = rng.integers(1, 4, size=12).astype(float)
    total = float((weights * positive).sum()) + 2
    best = _best(p, positive, weights, total)
    reached = f1(p, positive, weights, total, best)
    others = [f1(p, positive, weights, total, t) for t in np.unique(p)]
    if positive.any():
        assert reached == pytest.approx(max(others))
    else:
        assert best == 0.5


def test_the_threshold_is_halfway_to_the_next_probability():
    p = np.array([0.9, 0.6, 0.2])
    assert _best(p, np.array([1, 1, 0]), np.ones(3), 2.0) == pytest.approx(0.4)
    assert _best(p, np.array([1, 1, 1]), np.ones(3), 3.0) == pytest.approx((0.2 + 0.01) / 2)


def columns(n, **by_label):
    matrix = np.zeros((n, TREE.n_nodes))
    for label, values in by_label.items():
        matrix[:, TREE.find(label)] = values
    return sp.csc_array(matrix)


def test_a_child_is_tuned_among_the_rows_that_its_parent_is_given():
    n = 30
    in_a = np.arange(n) < 15
    p_a = np.where(in_a, 0.8, 0.3)
    # Outside a, rows look like b: they must not matter for its threshold.
    p_b = np.where(np.arange(n) < 10, 0.25, np.where(in_a, 0.1, 0.2))
    truth = columns(n, a=in_a, b=np.arange(n) < 10)
    found = best_thresholds(columns(n, a=p_a, b=p_b), truth, np.ones(n), TREE)
    assert found[0] == 0
    assert found[A] == pytest.approx(0.55)
    assert found[B] == pytest.approx((0.25 + 0.1) / 2)


def test_classes_with_few_rows_share_a_threshold():
    n = 40
    rare = np.arange(n) < 3
    truth = columns(n, a=np.arange(n) < 20, b=rare, c=np.arange(n) >= 38)
    proba = columns(n, a=np.where(np.arange(n) < 20, 0.9, 0.1), b=0.4 * rare, c=0.02)
    found = best_thresholds(proba, truth, np.ones(n), TREE)
    assert found[B] == found[C]
    assert 0.02 < found[B] < 0.4


def test_without_any_hint_the_threshold_is_one_half():
    truth = columns(3, a=[1, 0, 0])
    found = best_thresholds(columns(3), truth, np.ones(3), TREE)
    assert found[1:].tolist() == [0.5, 0.5, 0.5]
    target = encode_sets([["a"]], TREE)
    X, fold = np.zeros((1, 1)), deal_sets(target)
    assert score_out_of_fold(None, X, target, fold, None, count=True) is None
    found = tune_thresholds(None, target, None)
    assert found.thresholds.tolist() == [0.5] * TREE.n_nodes
    assert found.curve.tolist() == [[0.5, 1.0, 1.0]]


def test_rows_are_dealt_out_by_their_rarest_class():
    target = encode_sets([["b", "c"], ["c"], [], ["b"], ["c"]], TREE)
    assert rarest_nodes(target).tolist() == [B, C, 0, B, C]
