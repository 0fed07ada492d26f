"""Metrics of several labels per row, and what refuses them."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy, metrics

DAG = Hierarchy.from_edges([("pet", "cat"), ("feline", "cat"), ("feline", "lion"), ("pet", "dog")])
TRUE = [["cat"], ["lion", "dog"], ["pet"], []]
PRED = [["cat", "dog"], ["lion"], [], ["dog"]]


def test_precision_recall_and_f1_by_hand():
    # Sets: {cat pet feline} {lion feline dog pet} {pet} {} against {cat pet feline dog}
    # {lion feline} {} {dog pet}: 3 + 2 + 0 + 0 in common, 8 true, 8 predicted.
    options = {"hierarchy": DAG, "multi_label": True}
    assert metrics.precision(TRUE, PRED, **options) == 5 / 8
    assert metrics.recall(TRUE, PRED, **options) == 5 / 8
    assert metrics.f1(TRUE, PRED, **options) == 5 / 8
    assert metrics.fbeta(TRUE, PRED, beta=2.0, **options) == pytest.approx(5 / 8)
    assert metrics.exact_match(TRUE, PRED, **options) == 0
    assert metrics.exact_match(TRUE, [["cat", "pet"], *TRUE[1:3], ["dog"]], **options) == 3 / 4
    weight = [1, 0, 2, 1]
    assert metrics.recall(TRUE, PRED, sample_weight=weight, **options) == 3 / (3 + 2)


@SETTINGS
@given(hierarchies_with_sets(max_rows=8))
def test_scores_equal_those_of_scikit_learn_on_closed_indicators(drawn):
    edges, y = drawn
    hierarchy = Hierarchy.from_edges(edges)
    pred = y[1:] + y[:1]
    a, b = (hierarchy.indicator(s).toarray()[:, 1:] for s in (y, pred))
    options = {"hierarchy": hierarchy, "multi_label": True, "zero_division": 0.0}
    for ours, theirs in (
        (metrics.precision, precision_score),
        (metrics.recall, recall_score),
        (metrics.f1, f1_score),
    ):
        for average in ("micro", "samples"):
            expected = theirs(a, b, average=average, zero_division=0)
            assert ours(y, pred, average=average, **options) == pytest.approx(expected)
        each = ours(y, pred, average=None, **options)[1:]
        present = (a | b).any(axis=0)
        expected = theirs(a, b, average=None, zero_division=0)
        np.testing.assert_allclose(each[present], expected[present])
        assert np.isnan(each[~present]).all()


def test_node_probabilities_of_several_labels():
    proba = np.random.default_rng(0).random((4, DAG.n_nodes))
    truth = DAG.indicator(TRUE).toarray()
    options = {"hierarchy": DAG, "multi_label": True}
    expected = average_precision_score(truth[:, 1:].ravel(), proba[:, 1:].ravel())
    assert metrics.average_precision(TRUE, proba, **options) == pytest.approx(expected)
    keep = [v for v in range(1, DAG.n_nodes) if DAG.labels[v] != "pet"]
    expected = average_precision_score(truth[:, keep].ravel(), proba[:, keep].ravel())
    found = metrics.average_precision(TRUE, proba, exclude=["pet"], **options)
    assert found == pytest.approx(expected)
    brier = np.square(proba - truth)[:, 1:].sum(axis=1).mean()
    assert metrics.node_brier_score(TRUE, proba, **options) == pytest.approx(brier)
    loss = -np.log(np.where(truth, proba, 1 - proba))[:, 1:].sum(axis=1).mean()
    assert metrics.node_log_loss(truth, proba, **options) == pytest.approx(loss)


def test_the_report_of_several_labels():
    report = metrics.classification_report(
        TRUE, PRED, hierarchy=DAG, multi_label=True, output_dict=True, zero_division=0
    )
    assert report["overall"] == {
        "precision": 5 / 8, "recall": 5 / 8, "f1": 5 / 8, "exact_match": 0.0, "support": 4.0
    }  # fmt: skip
    assert [row["level"] for row in report["levels"]] == [1, 2]
    classes = {row["class"]: row for row in report["classes"]}
    assert set(classes) == {"pet", "feline", "cat", "dog", "lion"}
    assert classes["pet"] == {
        "class": "pet", "level": 1, "precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5,
        "support": 3.0, "predicted": 2.0,
    }  # fmt: skip
    assert report["levels"][0] == {
        "level": 1, "n_classes": 2, "precision": 3 / 4, "recall": 2 / 3,
        "f1": pytest.approx((2 / 5 + 1) / 2), "support": 5.0,
    }  # fmt: skip


def test_the_text_of_the_report_shows_the_largest_classes():
    text = metrics.classification_report(TRUE, PRED, hierarchy=DAG, multi_label=True, max_rows=2)
    assert text == "\n".join(
        [
            "             precision  recall    f1  exact match  support",
            "all classes       0.62    0.62  0.62         0.00        4",
            "",
            "level  classes  precision  recall    f1  support",
            "    1        2       0.75    0.67  0.70        5",
            "    2        3       0.67    0.67  0.67        3",
            "",
            "class   level  precision  recall    f1  support  predicted",
            "feline      1       1.00    1.00  1.00        2          2",
            "pet         1       0.50    0.33  0.40        3          2",
            "",
            "3 more classes are not shown; see max_depth and max_rows.",
        ]
    )
    short = metrics.classification_report(TRUE, PRED, hierarchy=DAG, multi_label=True, max_depth=1)
    assert "lion" not in short
    half = metrics.classification_report(
        TRUE, PRED, hierarchy=DAG, multi_label=True, sample_weight=[0.5] * 4
    )
    assert "1.50" in half


def test_one_label_per_row_in_a_dag_is_reported_in_the_same_way():
    found = metrics.classification_report(["cat", "pet"], ["cat", "cat"], hierarchy=DAG)
    sets = metrics.classification_report(
        [["cat"], ["pet"]], [["cat"], ["cat"]], hierarchy=DAG, multi_label=True
    )
    assert found == sets


def test_never_predicted_classes_warn_once():
    with pytest.warns(match="ill-defined for 1 class"):
        metrics.classification_report(
            [["cat"], ["dog"]], [["cat"], ["cat"]], hierarchy=DAG, multi_label=True
        )


TREE = Hierarchy.from_edges([("a", "b"), ("a", "c")])
LISTS = [[("a", "b"), ("a", "c")], [("a",)]]


@pytest.mark.parametrize(
    "metric",
    [
        metrics.tree_distance,
        metrics.severity,
        metrics.h_loss,
        metrics.lca_f1,
        metrics.level_scores,
        metrics.ConfusionByLevelDisplay.from_predictions,
        metrics.HierarchyDisplay.from_predictions,
    ],
    ids=lambda f: f.__qualname__,
)
def test_measures_of_single_paths_refuse_sets(metric):
    with pytest.raises(ValueError, match=r"Row 0 of y_true is .*, a list of paths\."):
        metric(LISTS, LISTS)
    with pytest.raises(TypeError, match="Several labels per row require multi_label=True"):
        metric(TREE.indicator(LISTS), TREE.indicator(LISTS))
    with pytest.raises(ValueError, match="is defined on trees, but 'cat' has several parents"):
        metric(["cat"], ["dog"], hierarchy=DAG)
