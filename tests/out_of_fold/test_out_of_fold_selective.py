"""Walks from strict to lax thresholds: exact bounds, ties, starts, and the promise itself."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from hiclass._out_of_fold.selective import (
    Walk,
    bets_against,
    first_size,
    rows_needed,
    walk_errors,
    walk_losses,
)


@pytest.mark.parametrize(
    ("limit", "risk", "needed"),
    [(0.05, 0.05, 59), (0.1, 0.05, 29), (0.03, 0.05, 99), (0.5, 0.5, 1), (0.9, 0.5, 1)],
)
def test_rows_needed_if_none_is_wrong(limit, risk, needed):
    assert rows_needed(limit, risk) == needed
    assert binom.cdf(0, needed, limit) <= risk + 1e-12
    assert needed == 1 or binom.cdf(0, needed - 1, limit) > risk


def test_the_walk_starts_at_a_number_that_depends_on_no_row():
    assert first_size(100, 0.05, 0.05) == 59
    assert first_size(1000, 0.05, 0.05) == 100
    assert first_size(100_000, 0.05, 0.05) == 4 * 59


def by_hand(confidence, wrong, limit, risk):
    """The same walk, written down row by row."""
    start, found = first_size(len(confidence), limit, risk), math.inf
    for value in sorted(set(confidence.tolist()), reverse=True):
        answered = confidence >= value
        if answered.sum() < start:
            continue
        if binom.cdf(wrong[answered].sum(), answered.sum(), limit) > risk:
            return found
        found = value
    return 0.0 if (confidence >= found).all() else found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decimals", [1, 2, 12])
def test_the_walk_ends_before_the_first_threshold_that_fails(seed, decimals):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(3, 1, 600).round(decimals)
    wrong = rng.random(600) > confidence
    for limit in (0.05, 0.15, 0.4):
        walk = walk_errors(confidence, wrong, limit, 0.1)
        assert walk.threshold == by_hand(confidence, wrong, limit, 0.1)
        if walk.threshold < math.inf:
            answered = confidence >= walk.threshold
            assert (walk.n_answered, walk.total) == (answered.sum(), wrong[answered].sum())


def test_rows_of_equal_confidence_are_answered_together_or_not_at_all():
    confidence = np.repeat([0.9, 0.5], 100)
    right = np.zeros(200, dtype=bool)
    assert walk_errors(confidence, right, 0.05, 0.05) == Walk(0.0, 200, 0.0)
    wrong = right.copy()
    wrong[100:150] = True
    assert walk_errors(confidence, wrong, 0.05, 0.05) == Walk(0.9, 100, 0.0)
    wrong[:20] = True
    assert walk_errors(confidence, wrong, 0.05, 0.05) == Walk(math.inf, 100, 20.0)


def test_too_few_rows_end_nowhere():
    none = np.zeros(10, dtype=bool)
    assert walk_errors(np.linspace(0, 1, 10), none, 0.05, 0.05) == Walk(math.inf, 10, 0.0)
    assert walk_losses(np.linspace(0, 1, 10), none.astype(float), 0.05, 0.05).threshold == math.inf
    assert walk_errors(np.empty(0), none[:0], 0.05, 0.05) == Walk(math.inf, 0, 0.0)


def test_bets_win_against_small_losses_only():
    rng = np.random.default_rng(0)
    loss = rng.random(2000) * 0.2  # a mean of 0.1
    assert bets_against(loss, 0.12, 0.05)
    assert not bets_against(loss, 0.09, 0.05)
    assert not bets_against(np.empty(0), 0.5, 0.05)
    assert not bets_against(np.ones(50), 0.5, 0.05)


def test_bets_against_the_truth_win_as_rarely_as_promised():
    rng = np.random.default_rng(0)
    losses = rng.choice([0.0, 0.3, 1.0], p=[0.8, 0.1, 0.1], size=(600, 300))
    won = [bets_against(row, 0.13, 0.1) for row in losses]  # 0.13 is the mean
    assert np.mean(won) <= 0.1


def test_bets_need_fewer_rows_than_hoeffding_where_losses_vary_little():
    rng = np.random.default_rng(0)
    confidence = rng.random(2000)
    loss = np.where(rng.random(2000) > confidence, 0.1, 0.0)
    walk = walk_losses(confidence, loss, 0.03, 0.05)
    answered = confidence >= walk.threshold
    assert walk.n_answered == answered.sum()
    assert walk.total == pytest.approx(loss[answered].sum())
    assert 0.02 < walk.total / walk.n_answered < 0.03
    # Hoeffding's bound would allow a mean of limit - sqrt(log(1 / risk) / 2 n) at most.
    assert walk.total / walk.n_answered > 0.03 - math.sqrt(math.log(20) / 2 / walk.n_answered)


def test_rows_that_are_sorted_by_their_losses_promise_no_more_than_others():
    rng = np.random.default_rng(0)
    confidence, loss = rng.random(1000), np.sort(rng.random(1000) < 0.2).astype(float)
    assert bets_against(loss, 0.1, 0.05)  # bets win before the losses begin
    assert walk_losses(confidence, loss, 0.1, 0.05).threshold == math.inf


@pytest.mark.parametrize("ties", [False, True])
def test_more_errors_than_the_limit_are_as_rare_as_promised(ties):
    """The pool is the population; calibration rows are drawn from it with replacement."""
    rng = np.random.default_rng(0)
    pool = rng.beta(3, 1, 5000)
    wrong = rng.random(5000) > pool**1.3  # overconfident
    pool = pool.round(2) if ties else pool
    bad = 0
    for _ in range(400):
        rows = rng.integers(0, 5000, 800)
        threshold = walk_errors(pool[rows], wrong[rows], 0.1, 0.1).threshold
        answered = pool >= threshold
        bad += answered.any() and wrong[answered].mean() > 0.1
    assert 0 < bad <= binom.ppf(0.99, 400, 0.1)
