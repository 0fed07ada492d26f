"""Path measures: values by hand, a literal implementation, lca-metrics as a black box."""

import math

import metrics_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from hiclass import Hierarchy
from hiclass.metrics import (
    exact_match,
    h_loss,
    lca_f1,
    lca_precision,
    lca_recall,
    level_scores,
    severity,
    tree_distance,
)

# Right; wrong leaf; wrong branch; too short; too long; nothing.
TRUE = [["A", "x", "1"], ["A", "x", "1"], ["A", "x", "1"], ["A", "x", "1"], ["B"], ["B", "z"]]
PRED = [["A", "x", "1"], ["A", "x", "2"], ["B", "z", "1"], ["A"], ["B", "z", "1"], [None]]
# Levels: true node 3 3 3 3 1 2, predicted node 3 3 3 1 3 0, where they meet 3 2 0 1 1 0.
DAG = [("p", "z"), ("q", "z")]


def test_exact_match_by_hand():
    assert exact_match(TRUE, PRED) == 1 / 6
    assert exact_match(["z", "p"], ["z", "q"], hierarchy=DAG) == 1 / 2


def test_tree_distance_by_hand():
    assert tree_distance(TRUE, PRED) == (0 + 2 + 6 + 2 + 2 + 2) / 6


def test_lca_by_hand():
    assert lca_precision(TRUE, PRED) == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 + 1 / 3 + 1) / 6)
    assert lca_recall(TRUE, PRED) == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 3 + 1 + 1 / 3) / 6)
    assert lca_f1(TRUE, PRED) == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 2 + 1 / 2 + 1 / 2) / 6)


def test_severity_by_hand():
    # Heights: root 3, A 2, A/x 1, B 2, B/z 1.
    assert severity(TRUE, PRED) == (0 + 1 + 3 + 2 + 2 + 3) / 6
    assert severity(TRUE, PRED, mistakes_only=True) == (1 + 3 + 2 + 2 + 3) / 5
    assert severity(TRUE[:1], PRED[:1], mistakes_only=True) == 0
    # A correct prediction at an inner node is not a mistake, whatever its height.
    assert severity([["A"], ["A", "x"]], [["A"], ["A", "x"]]) == 0


def test_h_loss_by_hand():
    assert h_loss(TRUE, PRED) == (0 + 2 + 2 + 1 + 1 + 1) / 6
    # Costs: A and B 1/2, their only children 1/2, A/x/1 and A/x/2 1/4.
    assert h_loss(TRUE, PRED, costs="siblings") == (0 + 1 / 2 + 1 + 1 / 2 + 1 / 2 + 1 / 2) / 6


def test_mistakes_below_the_first_one_are_free():
    first, deep = [["A", "x"]], [["A", "x", "1"]]
    assert h_loss(first, [["B", "y"]]) == h_loss(deep, [["B", "z", "3"]]) == 2


def test_level_scores_by_hand():
    scores = level_scores(TRUE, PRED, zero_division=0)
    np.testing.assert_array_equal(scores["level"], [1, 2, 3])
    # Level 1: A 4 (predicted 3), B 2 (2), nothing 0 (1). Level 2: A/x 4 (2), B/z 1 (2), end 1 (2).
    # Level 3: A/x/1 4 (1), A/x/2 0 (1), B/z/1 0 (2), end 2 (2).
    np.testing.assert_array_equal(scores["n_classes"], [2, 2, 3])
    np.testing.assert_array_equal(scores["support"], [6, 5, 4])
    np.testing.assert_allclose(scores["accuracy"], [4 / 6, 2 / 6, 2 / 6])
    np.testing.assert_allclose(
        scores["precision"], [(3 / 3 + 1 / 2 + 0) / 3, (2 / 2 + 0 + 0) / 3, (1 + 0 + 0 + 1 / 2) / 4]
    )
    np.testing.assert_allclose(
        scores["recall"],
        [(3 / 4 + 1 / 2 + 0) / 3, (2 / 4 + 0 + 0) / 3, (1 / 4 + 0 + 0 + 1 / 2) / 4],
    )
    weighted = level_scores(TRUE, PRED, average="weighted", zero_division=0)
    np.testing.assert_allclose(weighted["recall"], scores["accuracy"])


def test_level_scores_of_homonyms_count_nodes():
    scores = level_scores([["A", "Other"]], [["B", "Other"]], zero_division=0)
    np.testing.assert_array_equal(scores["accuracy"], [0, 0])


def test_level_scores_warn_once():
    with pytest.warns(UndefinedMetricWarning, match="Precision or recall is ill-defined") as caught:
        level_scores(TRUE, PRED)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_level_scores_are_scikit_learn_on_each_level(average):
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, 4, (2, 80, 3))
    weight = rng.random(80)
    ours = level_scores(y_true, y_pred, average=average, sample_weight=weight, zero_division=0)
    for level in range(3):
        flat = [[str(row[: level + 1]) for row in y] for y in (y_true, y_pred)]
        expected = precision_recall_fscore_support(
            *flat, average=average, sample_weight=weight, zero_division=0
        )
        result = [ours[name][level] for name in ("precision", "recall", "f1")]
        np.testing.assert_allclose(result, expected[:3])
        assert ours["accuracy"][level] == pytest.approx(accuracy_score(*flat, sample_weight=weight))


@settings(max_examples=80)
@given(rows=reference.labelled_rows(weighted=True))
def test_equals_the_literal_implementation(rows):
    y_true, y_pred, weight = reference.as_input(rows)
    kwargs = {"sample_weight": weight}
    close = pytest.approx
    assert exact_match(y_true, y_pred, **kwargs) == close(
        reference.weighted_mean((t == p, w) for t, p, w in rows)
    )
    assert tree_distance(y_true, y_pred, **kwargs) == close(reference.tree_distance(rows))
    for mistakes_only in (False, True):
        result = severity(y_true, y_pred, mistakes_only=mistakes_only, **kwargs)
        assert result == close(reference.severity(rows, mistakes_only))
    for costs in ("uniform", "siblings"):
        result = h_loss(y_true, y_pred, costs=costs, **kwargs)
        assert result == close(reference.h_loss(rows, costs))
    assert lca_precision(y_true, y_pred, **kwargs) == close(reference.lca(rows, "precision"))
    assert lca_recall(y_true, y_pred, **kwargs) == close(reference.lca(rows, "recall"))
    assert lca_f1(y_true, y_pred, **kwargs) == close(reference.lca(rows, "f1"))


@pytest.mark.parametrize("fill", [0.0, 1.0, np.nan])
@settings(max_examples=30)
@given(rows=reference.labelled_rows(weighted=True), average=st.sampled_from(["macro", "weighted"]))
def test_level_scores_equal_the_literal_implementation(rows, average, fill):
    y_true, y_pred, weight = reference.as_input(rows)
    result = level_scores(y_true, y_pred, average=average, sample_weight=weight, zero_division=fill)
    for level in result["level"].tolist():
        labels = reference.level_labels(rows, level)
        expected = {
            "accuracy": reference.weighted_mean((t == p, w) for t, p, w in labels),
            "support": sum(w for t, _, w in labels if t),
            "n_classes": len({c for t, p, _ in labels for c in (t, p)} - {None}),
        }
        for name, beta in (("precision", 0), ("recall", math.inf), ("f1", 1)):
            expected[name] = reference.level_score(rows, level, average, beta, fill)
        for name, value in expected.items():
            np.testing.assert_allclose(result[name][level - 1], value, rtol=1e-12)


# What lca-metrics 0.1.0 returns for single rows of this tree, edges given from child to parent:
# fbeta_lca_score with beta 0 (precision) and 1 (F1); `benchmarks/metrics.py --lca` repeats it.
LCA_TREE = {"a": ["a1", "a2"], "a1": ["x", "y"], "b": ["b1"]}
LCA_VALUES = [
    ("x", "x", 1.0, 1.0),
    ("x", "y", 0.5, 0.5),
    ("x", "a2", 0.5, 0.4),
    ("x", "b1", 0.3333333333333333, 0.28571428571428575),
    ("x", "b", 0.5, 0.3333333333333333),
    ("x", "a", 1.0, 0.5),
    ("a", "x", 0.3333333333333333, 0.5),
]


@pytest.mark.parametrize(("true", "pred", "precision", "f1"), LCA_VALUES)
def test_lca_agrees_with_lca_metrics(true, pred, precision, f1):
    assert lca_precision([true], [pred], hierarchy=LCA_TREE) == pytest.approx(precision)
    assert lca_f1([true], [pred], hierarchy=LCA_TREE) == pytest.approx(f1)


@pytest.mark.parametrize(
    "metric",
    [tree_distance, severity, h_loss, lca_precision, lca_recall, lca_f1, level_scores],
    ids=lambda m: m.__name__,
)
def test_several_parents_are_refused(metric):
    with pytest.raises(ValueError, match=f"{metric.__name__} is defined on trees, but 'z' has sev"):
        metric(["z"], ["p"], hierarchy=DAG)


def test_heights_come_from_the_given_hierarchy():
    h = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B", "z", "deep", "deeper"]])
    assert severity([["A"]], [["B"]]) == 1
    assert severity([["A"]], [["B"]], hierarchy=h) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: h_loss(TRUE, PRED, costs="none"), "costs='none' is unknown"),
        (lambda: level_scores(TRUE, PRED, average="micro"), "average='micro' is unknown"),
        (lambda: level_scores(TRUE, PRED, zero_division="x"), "zero_division='x'"),
    ],
)
def test_unknown_options_are_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
