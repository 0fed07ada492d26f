"""What holds for every metric: weights are repeated rows, the order of rows does not matter, and
bad input is refused with a message that says what is wrong and where."""

import inspect
import re

import metrics_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiclass import Hierarchy, metrics

AVERAGES = ("micro", "samples", "macro", "weighted", None)
#: Every metric of labels, with every option that changes what it computes.
OF_LABELS = {
    **{
        f"{metric.__name__}-{average}": (metric, {"average": average, "zero_division": 0, **more})
        for metric, more in [
            (metrics.precision, {}),
            (metrics.recall, {}),
            (metrics.f1, {}),
            (metrics.fbeta, {"beta": 0.5}),
            (metrics.jaccard, {}),
        ]
        for average in AVERAGES
    },
    "exact_match": (metrics.exact_match, {}),
    "tree_distance": (metrics.tree_distance, {}),
    "severity": (metrics.severity, {}),
    "severity-mistakes": (metrics.severity, {"mistakes_only": True}),
    "h_loss": (metrics.h_loss, {}),
    "h_loss-siblings": (metrics.h_loss, {"costs": "siblings"}),
    "lca_precision": (metrics.lca_precision, {}),
    "lca_recall": (metrics.lca_recall, {}),
    "lca_f1": (metrics.lca_f1, {}),
    "level_scores": (metrics.level_scores, {"zero_division": 0}),
    "level_scores-weighted": (metrics.level_scores, {"average": "weighted", "zero_division": 0}),
    "report": (metrics.classification_report, {"output_dict": True, "zero_division": 0}),
    "report-text": (metrics.classification_report, {"zero_division": 0, "max_rows": 3}),
}
OF_CONFIDENCE = {
    "calibration_error": (metrics.calibration_error, {"n_bins": 3}),
    "calibration_error-quantile": (
        metrics.calibration_error,
        {"n_bins": 3, "strategy": "quantile"},
    ),
    "calibration_error-macro": (metrics.calibration_error, {"average": "macro"}),
    "risk_coverage": (metrics.risk_coverage, {}),
    "risk_coverage-f1": (metrics.risk_coverage, {"loss": "f1"}),
}
OF_PROBABILITIES = {
    "node_log_loss": (metrics.node_log_loss, {}),
    "node_brier_score": (metrics.node_brier_score, {}),
    "node_brier_score-nodes": (metrics.node_brier_score, {"per_node": True}),
    "average_precision": (metrics.average_precision, {}),
    "average_precision-macro": (metrics.average_precision, {"average": "macro"}),
    "average_precision-weighted": (metrics.average_precision, {"average": "weighted"}),
    "average_precision-nodes": (metrics.average_precision, {"average": None}),
    "average_precision-interpolated": (metrics.average_precision, {"interpolate": True}),
    "average_precision-levels": (metrics.average_precision, {"per_level": True}),
    "precision_recall_curve": (metrics.precision_recall_curve, {}),
    "coverage_error": (metrics.coverage_error, {}),
    "ranking_loss": (metrics.ranking_loss, {}),
    "cafa_curve": (metrics.cafa_curve, {}),
    "f_max": (metrics.f_max, {}),
}


def params(table):
    return pytest.mark.parametrize(("metric", "kwargs"), table.values(), ids=table.keys())


@st.composite
def weighted_case(draw):
    """Rows, confidences, probabilities of the nodes, and the hierarchy of all rows."""
    rows = draw(reference.labelled_rows(weighted=True))
    paths = [[*p] for t, q, _ in rows for p in (t, q) if p]
    hierarchy = Hierarchy.from_paths(paths)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    confidence = rng.integers(0, 5, (len(rows), 3)) / 4
    for i, (_, q, _) in enumerate(rows):
        confidence[i, len(q) :] = np.nan
    return rows, confidence, rng.integers(0, 5, (len(rows), hierarchy.n_nodes)) / 4, hierarchy


def assert_same(a, b):
    """Compare floats, arrays, tuples, lists and dicts of them, and text."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, str) or a is None:
        assert a == b
    else:
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@params(OF_LABELS)
@settings(max_examples=15)
@given(case=weighted_case())
def test_weights_are_repeated_rows(metric, kwargs, case):
    rows, _, _, hierarchy = case
    y_true, y_pred, weight = reference.as_input(rows)
    weighted = metric(y_true, y_pred, hierarchy=hierarchy, sample_weight=weight, **kwargs)
    (flat,) = reference.repeated(rows)
    y_true, y_pred, _ = reference.as_input(flat)
    assert_same(weighted, metric(y_true, y_pred, hierarchy=hierarchy, **kwargs))


@params(OF_CONFIDENCE)
@settings(max_examples=30)
@given(case=weighted_case())
def test_weights_are_repeated_rows_for_confidence(metric, kwargs, case):
    rows, confidence, _, _ = case
    y_true, y_pred, weight = reference.as_input(rows)
    weighted = metric(y_true, y_pred, confidence, sample_weight=weight, **kwargs)
    flat, p = reference.repeated(rows, confidence)
    y_true, y_pred, _ = reference.as_input(flat)
    assert_same(weighted, metric(y_true, y_pred, p, **kwargs))


@params(OF_PROBABILITIES)
@settings(max_examples=15)
@given(case=weighted_case())
def test_weights_are_repeated_rows_for_probabilities(metric, kwargs, case):
    rows, _, proba, hierarchy = case
    y_true, _, weight = reference.as_input(rows)
    weighted = metric(y_true, proba, hierarchy=hierarchy, sample_weight=weight, **kwargs)
    flat, p = reference.repeated(rows, proba)
    assert_same(weighted, metric(reference.as_input(flat)[0], p, hierarchy=hierarchy, **kwargs))


@params({**OF_LABELS, **OF_CONFIDENCE})
@settings(max_examples=6)
@given(case=weighted_case(), seed=st.integers(0, 100))
def test_the_order_of_rows_does_not_matter(metric, kwargs, case, seed):
    rows, confidence, _, _ = case
    y_true, y_pred, _ = reference.as_input(rows)
    more = (confidence,) if metric in (metrics.calibration_error, metrics.risk_coverage) else ()
    order = np.random.default_rng(seed).permutation(len(rows))
    expected = metric(y_true, y_pred, *more, **kwargs)
    assert_same(metric(y_true[order], y_pred[order], *(p[order] for p in more), **kwargs), expected)


LOSSES = {
    metrics.tree_distance,
    metrics.severity,
    metrics.h_loss,
    metrics.calibration_error,
    metrics.risk_coverage,
}


def figures_of(result):
    """The figures of quality in what a metric returns; the root has none."""
    if isinstance(result, str):
        return np.array([float(figure) for figure in re.findall(r"\d\.\d\d", result)])
    if isinstance(result, dict):
        rows = [result]
        if "overall" in result:
            rows = [result["overall"], *result["levels"], *result["classes"]]
        names = ("accuracy", "precision", "recall", "f1", "exact_match")
        found = [np.ravel(row[name]) for row in rows for name in names if name in row]
        result = np.concatenate(found)
    elif isinstance(result, metrics.RiskCoverage):
        result = [*result.risk, result.area]
    result = np.ravel(result)
    return result[~np.isnan(result)]


@params({**OF_LABELS, **OF_CONFIDENCE})
def test_a_perfect_prediction_of_one_row_has_the_best_value(metric, kwargs):
    more = ([[1.0, 1.0]],) if "confidence" in inspect.signature(metric).parameters else ()
    found = figures_of(metric([["A", "x"]], [["A", "x"]], *more, **kwargs))
    assert len(found)
    assert (found == (0 if metric in LOSSES else 1)).all(), found


@params({**OF_LABELS, **OF_CONFIDENCE})
def test_bad_labels_are_errors(metric, kwargs):
    more = ([[1.0, 1.0]] * 2,) if "confidence" in inspect.signature(metric).parameters else ()
    y = [["A", "x"], ["B", "y"]]
    with pytest.raises(ValueError, match="different lengths: 2 and 1 rows"):
        metric(y, y[:1], *more, **kwargs)
    with pytest.raises(ValueError, match=r"Row 1 of y_pred, level 1: .* no class 'B'"):
        metric([["A"], ["A"]], y, *more, hierarchy={"A": ["x"]}, **kwargs)
    with pytest.raises(ValueError, match="Row 1 of y_true has no label at all"):
        metric([["A", "x"], ["", ""]], y, *more, **kwargs)
    with pytest.raises(ValueError, match=r"Row 0 of y_pred has a label at level 2 \('x'\)"):
        metric(y, [["", "x"], ["B", "y"]], *more, **kwargs)
    with pytest.raises(ValueError, match="one label per row but y_true holds paths"):
        metric(y, ["A", "B"], *more, **kwargs)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"sample_weight has shape \(1,\) but there are 2 rows"),
        ([[1.0], [1.0]], r"sample_weight has shape \(2, 1\) but there are 2 rows"),
        ([1.0, -1.0], "sample_weight has -1.0 in row 1"),
        ([np.nan, 1.0], "sample_weight has nan in row 0"),
        ([1.0, np.inf], "sample_weight has inf in row 1"),
        ([0.0, 0.0], "sample_weight is zero in every row"),
    ],
)
def test_bad_weights_are_errors(weight, message):
    y = [["A", "x"], ["B", "y"]]
    with pytest.raises(ValueError, match=message):
        metrics.f1(y, y, sample_weight=weight)
    h = Hierarchy.from_paths(y)
    with pytest.raises(ValueError, match=message):
        metrics.node_brier_score(y, np.ones((2, 5)), hierarchy=h, sample_weight=weight)


def test_one_number_is_the_weight_of_all_rows():
    y_true, y_pred = [["A", "x"], ["B", "y"]], [["A", "x"], ["B", "x"]]
    assert metrics.f1(y_true, y_pred, sample_weight=3) == metrics.f1(y_true, y_pred)


def test_every_metric_is_tested_here():
    tested = {metric for metric, _ in [*OF_LABELS.values(), *OF_CONFIDENCE.values()]}
    tested |= {metric for metric, _ in OF_PROBABILITIES.values()}
    functions = {f for name in metrics.__all__ if inspect.isfunction(f := getattr(metrics, name))}
    # Its intervals are exact and count rows: it takes no weights. The other two need what a law
    # does not have, labels without predictions and their information; all have tests of their own.
    others = {metrics.automation_curve, metrics.information_content, metrics.s_min}
    assert tested == functions - others
