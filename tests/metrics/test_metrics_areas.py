"""Precision-recall curves and areas: values by hand, literal implementations, scikit-learn."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from strategies import SETTINGS, hierarchies_with_sets

from hiclass import Hierarchy
from hiclass.metrics import average_precision, precision_recall_curve

H = Hierarchy.from_paths([["A", "x"], ["A", "y"], ["B"]])  # root, A, A/x, A/y, B
TRUE = [["A", "x"], ["A"], ["B"]]
PROBA = np.array([[1.0, 0.9, 0.6, 0.2, 0.1], [1.0, 0.5, 0.1, 0.2, 0.5], [1.0, 0.7, 0.4, 0.0, 0.6]])


@st.composite
def rows_with_scores(draw):
    """A hierarchy, sets of labels with at least one label, scores with ties, and weights."""
    edges, y = draw(hierarchies_with_sets(max_rows=8).filter(lambda drawn: any(drawn[1])))
    hierarchy = Hierarchy.from_edges(edges)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scores = rng.integers(0, 6, (len(y), hierarchy.n_nodes)) / 5
    weight = rng.integers(1, 4, len(y)).astype(float)
    return hierarchy, y, scores, weight


def literal_points(truth, scores, weight):
    """True and false positives at every distinct score, by counting pairs."""
    points = []
    for threshold in sorted({s for row in scores for s in row}, reverse=True):
        tp = fp = 0.0
        for i, row in enumerate(scores):
            for v, s in enumerate(row):
                if s >= threshold:
                    tp += weight[i] * truth[i][v]
                    fp += weight[i] * (1 - truth[i][v])
        points.append((tp, fp))
    return points


def literal_interpolated_area(points, n_steps=4000):
    """The area in many narrow strips, false positives growing in proportion to true ones."""
    total, before = 0.0, (0.0, 0.0)
    for tp, fp in points:
        gain = tp - before[0]
        for k in range(n_steps if gain else 0):
            part = (k + 0.5) / n_steps
            t, f = before[0] + part * gain, before[1] + part * (fp - before[1])
            total += gain / n_steps * t / (t + f)
        before = tp, fp
    return total / points[-1][0]


def test_a_curve_by_hand():
    # A by probability: row 1 true, row 3 false, row 2 true.
    curve = precision_recall_curve(TRUE, PROBA, hierarchy=H, node="A")
    np.testing.assert_allclose(curve.precision, [1, 1 / 2, 2 / 3])
    np.testing.assert_allclose(curve.recall, [1 / 2, 1 / 2, 1])
    np.testing.assert_array_equal(curve.thresholds, [0.9, 0.7, 0.5])
    weighted = precision_recall_curve(
        TRUE, PROBA, hierarchy=H, node=("A",), sample_weight=[1, 2, 1]
    )
    np.testing.assert_allclose(weighted.precision, [1, 1 / 2, 3 / 4])
    np.testing.assert_allclose(weighted.recall, [1 / 3, 1 / 3, 1])


def test_interpolation_by_hand():
    # Points (tp, fp): (1, 0), (1, 1), (2, 1). From the second to the third tp grows by x and fp
    # does not: the integral of (1 + x) / (2 + x) is 1 - log(3/2).
    area = average_precision(TRUE, PROBA, hierarchy=H, average=None, interpolate=True)[1]
    assert area == pytest.approx((1 + 1 - math.log(3 / 2)) / 2, abs=1e-15)
    # Two equal scores, one true: precision is 1/2 from the start.
    same = average_precision(["x", "y"], np.ones((2, 3)), hierarchy=[(None, "x"), (None, "y")],
                             average=None, interpolate=True)  # fmt: skip
    np.testing.assert_array_equal(same, [np.nan, 1 / 2, 1 / 2])


@SETTINGS
@given(rows_with_scores())
def test_all_areas_equal_the_literal_ones(case):
    hierarchy, y, scores, weight = case
    truth = hierarchy.indicator(y).toarray().astype(int)
    options = {"hierarchy": hierarchy, "multi_label": True, "sample_weight": weight}
    points = literal_points(truth[:, 1:], scores[:, 1:], weight)
    step = sum((tp - before) * tp / (tp + fp) for (tp, fp), before in zip(
        points, [0, *(tp for tp, _ in points)], strict=False))  # fmt: skip
    assert average_precision(y, scores, **options) == pytest.approx(step / points[-1][0])
    found = average_precision(y, scores, interpolate=True, **options)
    assert found == pytest.approx(literal_interpolated_area(points), rel=1e-4)

    each = np.full(hierarchy.n_nodes, np.nan)
    smooth = each.copy()
    for v in range(1, hierarchy.n_nodes):
        if truth[:, v].any():
            each[v] = sklearn.metrics.average_precision_score(
                truth[:, v], scores[:, v], sample_weight=weight
            )
            smooth[v] = literal_interpolated_area(
                literal_points(truth[:, [v]], scores[:, [v]], weight)
            )
    np.testing.assert_allclose(average_precision(y, scores, average=None, **options), each)
    np.testing.assert_allclose(
        average_precision(y, scores, average=None, interpolate=True, **options), smooth, rtol=1e-4
    )
    known, often = ~np.isnan(each), truth.T @ weight
    macro = average_precision(y, scores, average="macro", **options)
    assert macro == pytest.approx(each[known].mean())
    weighted = average_precision(y, scores, average="weighted", **options)
    assert weighted == pytest.approx(np.average(each[known], weights=often[known]))


@SETTINGS
@given(rows_with_scores())
def test_areas_per_level_are_those_of_the_nodes_of_the_level(case):
    hierarchy, y, scores, weight = case
    truth = hierarchy.indicator(y).toarray()
    options = {"hierarchy": hierarchy, "multi_label": True, "sample_weight": weight}
    each = average_precision(y, scores, average=None, **options)
    for average in ("micro", "macro", "weighted"):
        found = average_precision(y, scores, average=average, per_level=True, **options)
        assert found.shape == (hierarchy.depth,)
        for level, area in enumerate(found, start=1):
            nodes = [v for v in hierarchy.nodes_by_level[level] if truth[:, v].any()]
            if not nodes:
                assert np.isnan(area)
            elif average == "micro":
                here = hierarchy.nodes_by_level[level]
                expected = sklearn.metrics.average_precision_score(
                    truth[:, here].ravel(),
                    scores[:, here].ravel(),
                    sample_weight=np.repeat(weight, len(here)),
                )
                assert area == pytest.approx(expected)
            else:
                by = (truth.T @ weight)[nodes] if average == "weighted" else None
                assert area == pytest.approx(np.average(each[nodes], weights=by))


@SETTINGS
@given(rows_with_scores())
def test_curves_equal_those_of_scikit_learn(case):
    hierarchy, y, scores, weight = case
    truth = hierarchy.indicator(y).toarray()
    options = {"hierarchy": hierarchy, "multi_label": True, "sample_weight": weight}
    curve = precision_recall_curve(y, scores, **options)
    precision, recall, thresholds = sklearn.metrics.precision_recall_curve(
        truth[:, 1:].ravel(),
        scores[:, 1:].ravel(),
        sample_weight=np.repeat(weight, hierarchy.n_nodes - 1),
    )
    np.testing.assert_allclose(curve.precision[::-1], precision[:-1])
    np.testing.assert_allclose(curve.recall[::-1], recall[:-1])
    np.testing.assert_array_equal(curve.thresholds[::-1], thresholds)
    labels = {label for row in y for label in row}
    node = min(labels)
    one = precision_recall_curve(y, scores, node=node, **options)
    v = hierarchy.find(node)
    precision, recall, thresholds = sklearn.metrics.precision_recall_curve(
        truth[:, v], scores[:, v], sample_weight=weight
    )
    np.testing.assert_allclose(one.precision[::-1], precision[:-1])
    np.testing.assert_allclose(one.recall[::-1], recall[:-1])
    np.testing.assert_array_equal(one.thresholds[::-1], thresholds)


def test_what_has_no_curve_is_an_error():
    with pytest.raises(ValueError, match="A > y is true in no row, so it has no curve"):
        precision_recall_curve(TRUE, PROBA, hierarchy=H, node=("A", "y"))
    with pytest.raises(ValueError, match="node='A' is the root or excluded"):
        precision_recall_curve(TRUE, PROBA, hierarchy=H, node="A", exclude=["A"])
    with pytest.raises(ValueError, match="no class 'C'"):
        precision_recall_curve(TRUE, PROBA, hierarchy=H, node="C")
    with pytest.raises(ValueError, match="there is nothing per level"):
        average_precision(TRUE, PROBA, hierarchy=H, average=None, per_level=True)
