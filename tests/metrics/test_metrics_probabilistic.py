"""Measures of node probabilities: values by hand, literal implementations, scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, log_loss

from hiclass import Hierarchy
from hiclass.metrics import average_precision, node_brier_score, node_log_loss

H = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B"]])  # root, A, A/x, A/y, B
TRUE = [["A", "x"], ["A"], ["B"]]
PROBA = np.array([[1.0, 0.9, 0.6, 0.2, 0.1], [1.0, 0.5, 0.1, 0.2, 0.5], [1.0, 0.4, 0.4, 0.0, 0.6]])
DAG = Hierarchy.from_edges([("p", "z"), ("q", "z"), ("q", "y")])


def truth_of(hierarchy, nodes):
    """One row of zeros and ones per node: itself and its ancestors."""
    truth = np.zeros((len(nodes), hierarchy.n_nodes), dtype=bool)
    for row, v in enumerate(nodes):
        truth[row, [v, *hierarchy.ancestors(v)]] = True
    return truth


def test_log_loss_by_hand():
    rows = [0.9 * 0.6 * 0.8 * 0.9, 0.5 * 0.9 * 0.8 * 0.5, 0.6 * 0.6 * 1.0 * 0.6]
    expected = -sum(map(math.log, rows)) / 3
    assert node_log_loss(TRUE, PROBA, hierarchy=H) == pytest.approx(expected)
    per_node = node_log_loss(TRUE, PROBA, hierarchy=H, per_node=True)
    assert per_node[0] == 0
    assert per_node[1] == pytest.approx(-(math.log(0.9) + math.log(0.5) + math.log(0.6)) / 3)
    assert per_node.sum() == pytest.approx(expected)


def test_brier_score_by_hand():
    rows = [0.01 + 0.16 + 0.04 + 0.01, 0.25 + 0.01 + 0.04 + 0.25, 0.16 + 0.16 + 0 + 0.16]
    assert node_brier_score(TRUE, PROBA, hierarchy=H) == pytest.approx(sum(rows) / 3)
    weighted = node_brier_score(TRUE, PROBA, hierarchy=H, sample_weight=[1, 0, 3])
    assert weighted == pytest.approx((rows[0] + 3 * rows[2]) / 4)


def test_average_precision_by_hand():
    # A: true, true, false at 0.9 0.5 0.4: 1. A/x: true in row 1, ranked first: 1. B: 1.
    # A/y is never true.
    areas = average_precision(TRUE, PROBA, hierarchy=H, average=None)
    np.testing.assert_array_equal(areas, [np.nan, 1, 1, np.nan, 1])
    # All pairs by probability: .9+ .6+ .6+ .5+ .5- .4- .4- .2- .2- .1- .1- 0-
    # with ties .6 (2 true) and .5 (1 true of 2).
    expected = 1 / 4 * 1 + 2 / 4 * 1 + 1 / 4 * (4 / 5)
    assert average_precision(TRUE, PROBA, hierarchy=H) == pytest.approx(expected)


def test_average_precision_means():
    proba = PROBA.copy()
    proba[2, 1] = 0.7  # B's row between the two rows of A
    # A: ranks true, false, true: 1/2 * 1 + 1/2 * 2/3 = 5/6.
    assert average_precision(TRUE, proba, hierarchy=H, average="macro") == pytest.approx(
        (5 / 6 + 1 + 1) / 3
    )
    assert average_precision(TRUE, proba, hierarchy=H, average="weighted") == pytest.approx(
        (2 * 5 / 6 + 1 + 1) / 4
    )


def test_excluded_nodes_do_not_take_part():
    areas = average_precision(TRUE, PROBA, hierarchy=H, average=None, exclude=["B", ("A", "x")])
    np.testing.assert_array_equal(areas, [np.nan, 1, np.nan, np.nan, np.nan])
    without = average_precision(TRUE, PROBA, hierarchy=H, exclude=["A", ("A", "x"), ("A", "y")])
    assert without == average_precision_score([0, 0, 1], PROBA[:, 4])
    with pytest.raises(ValueError, match="exclude contains every node that is true in some row"):
        average_precision([["B"]], PROBA[:1], hierarchy=H, exclude=["B"])
    with pytest.raises(ValueError, match=r"exclude='B' must be a list"):
        average_precision(TRUE, PROBA, hierarchy=H, exclude="B")
    with pytest.raises(ValueError, match="no class 'C'"):
        average_precision(TRUE, PROBA, hierarchy=H, exclude=["C"])


@settings(max_examples=40)
@given(data=st.data(), hierarchy=st.sampled_from([H, DAG]))
def test_equal_the_literal_implementation(data, hierarchy):
    n = data.draw(st.integers(1, 8))
    nodes = data.draw(st.lists(st.integers(1, hierarchy.n_nodes - 1), min_size=n, max_size=n))
    weight = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    # Few distinct values, so that there are ties.
    value = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    proba = np.array(
        [[1.0] + [data.draw(value) for _ in range(hierarchy.n_nodes - 1)] for _ in nodes]
    )
    labels = [hierarchy.labels[v] for v in nodes]
    truth, w = truth_of(hierarchy, nodes), np.array(weight, dtype=float)
    kwargs = {"hierarchy": hierarchy, "sample_weight": weight}

    brier = sum(
        w[i] * (proba[i, v] - truth[i, v]) ** 2
        for i in range(n)
        for v in range(1, hierarchy.n_nodes)
    )
    assert node_brier_score(labels, proba, **kwargs) == pytest.approx(brier / w.sum())

    eps = np.finfo(float).eps
    losses = [
        log_loss(truth[:, v], np.clip(proba[:, v], eps, 1 - eps), sample_weight=w, labels=[0, 1])
        for v in range(1, hierarchy.n_nodes)
    ]
    per_node = node_log_loss(labels, proba, per_node=True, **kwargs)
    np.testing.assert_allclose(per_node[1:], losses, rtol=1e-10, atol=1e-12)

    keep = w > 0
    expected = average_precision_score(
        truth[keep, 1:].ravel(),
        proba[keep, 1:].ravel(),
        sample_weight=np.repeat(w[keep], hierarchy.n_nodes - 1),
    )
    assert average_precision(labels, proba, **kwargs) == pytest.approx(expected)
    areas, sizes = [], []
    for v in range(1, hierarchy.n_nodes):
        if truth[keep, v].any():
            areas.append(
                average_precision_score(truth[keep, v], proba[keep, v], sample_weight=w[keep])
            )
            sizes.append((truth[:, v] * w).sum())
    assert average_precision(labels, proba, average="macro", **kwargs) == pytest.approx(
        np.mean(areas)
    )
    assert average_precision(labels, proba, average="weighted", **kwargs) == pytest.approx(
        np.average(areas, weights=sizes)
    )


def test_many_rows_are_looked_at_in_blocks(monkeypatch):
    monkeypatch.setattr("hiclass.metrics._probabilistic._BLOCK", 12)
    test_log_loss_by_hand()
    test_brier_score_by_hand()


def test_probabilities_of_one_and_zero_give_a_finite_loss():
    proba = [[1, 0, 0, 0, 1]]
    assert 100 < node_log_loss([["A", "x"]], proba, hierarchy=H) < 150
    assert node_log_loss([["B"]], proba, hierarchy=H) == pytest.approx(0, abs=1e-12)
    single = np.array(proba, dtype=np.float32)
    assert math.isfinite(node_log_loss([["A", "x"]], single, hierarchy=H))


@pytest.mark.parametrize("metric", [node_log_loss, node_brier_score, average_precision])
def test_bad_probabilities_are_errors(metric):
    with pytest.raises(ValueError, match=r"node_proba has shape \(3, 4\); expected \(3, 5\)"):
        metric(TRUE, PROBA[:, 1:], hierarchy=H)
    with pytest.raises(ValueError, match=r"node_proba has shape \(2, 5\); expected \(3, 5\)"):
        metric(TRUE, PROBA[:2], hierarchy=H)
    with pytest.raises(ValueError, match=r"node_proba has nan in row 0 for node 4 \(B\)"):
        metric(TRUE, np.where(PROBA == 0.1, np.nan, PROBA), hierarchy=H)
    with pytest.raises(ValueError, match="Row 0 of y_true, level 1: The hierarchy has no class"):
        metric([["C"]], PROBA[:1], hierarchy=H)
    with pytest.raises(ValueError, match="Row 0 of y_true has no label"):
        metric([[None, None], ["A", "x"]], PROBA[:2], hierarchy=H)
    with pytest.raises(TypeError, match="hierarchy must be a Hierarchy"):
        metric(TRUE, PROBA, hierarchy=None)


def test_probabilities_outside_zero_and_one_are_errors():
    for metric in (node_log_loss, node_brier_score):
        with pytest.raises(ValueError, match=r"node_proba has 1.5 in row 0 .*not a probability"):
            metric([["B"]], [[1, 1.5, 0, 0, 0]], hierarchy=H)
    # Any score that ranks will do for the area.
    assert average_precision([["B"]], [[1, 1.5, 0, 0, 2]], hierarchy=H) == 1


def test_an_unknown_average_is_an_error():
    with pytest.raises(ValueError, match="average='samples' is unknown"):
        average_precision(TRUE, PROBA, hierarchy=H, average="samples")
