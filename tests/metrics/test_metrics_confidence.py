"""calibration_error and risk_coverage: values by hand, literal implementations, scikit-learn."""

import metrics_reference as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from hiclass.metrics import calibration_error, risk_coverage

NAN = np.nan
# Level 1 right in 3 of 4; level 2: right, wrong, wrong (too long); row 4 ends.
TRUE = [["A", "x"], ["A", "x"], ["B"], ["B"]]
PRED = [["A", "x"], ["A", "y"], ["A", "x"], ["B"]]
CONFIDENCE = [[0.95, 0.9], [0.95, 0.45], [0.45, 0.45], [0.85, NAN]]
VALUES = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1.0])


@st.composite
def confident_rows(draw):
    rows = draw(reference.labelled_rows(weighted=True))
    p = [[draw(VALUES) if i < len(q) else NAN for i in range(3)] for _, q, _ in rows]
    return rows, np.array(p)


def test_uniform_bins_by_hand():
    # Level 1, bins of .1: {.95 .95} right, {.45} wrong, {.85} right.
    # Level 2: {.9} right, {.45 .45} wrong.
    expected = [(2 * 0.05 + 0.45 + 0.15) / 4, (0.1 + 2 * 0.45) / 3]
    result = calibration_error(TRUE, PRED, CONFIDENCE)
    np.testing.assert_allclose(result, expected)
    macro = calibration_error(TRUE, PRED, CONFIDENCE, average="macro")
    assert macro == pytest.approx(np.mean(expected))


def test_quantile_bins_by_hand():
    # Two bins of level 1: {.45, .85} with mean .65 and accuracy 1/2, {.95 .95}.
    result = calibration_error(TRUE, PRED, CONFIDENCE, strategy="quantile", n_bins=2)
    # Level 2: {.45 .45} has 2 of 3 rows, begins at 0; .9 begins at 2/3.
    np.testing.assert_allclose(result, [(2 * 0.15 + 2 * 0.05) / 4, (2 * 0.45 + 0.1) / 3])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_always_wrong_and_sure_is_one_and_a_perfect_model_is_zero(strategy):
    sure = np.ones((4, 2))
    wrong = [["C", "c"]] * 4
    np.testing.assert_array_equal(calibration_error(TRUE, wrong, sure, strategy=strategy), [1, 1])
    right = [["A", "x"]] * 4
    np.testing.assert_array_equal(calibration_error(right, right, sure, strategy=strategy), [0, 0])


def test_levels_that_no_prediction_reaches_are_nan():
    y = [["A", "x"], ["B", "y"]]
    result = calibration_error(y, [["A"], ["B"]], [[1.0, NAN, NAN]] * 2)
    np.testing.assert_array_equal(result, [0, NAN, NAN])
    assert calibration_error(y, [["A"], ["B"]], [[1.0, NAN, NAN]] * 2, average="macro") == 0


def test_one_column_may_be_flat():
    np.testing.assert_allclose(calibration_error(["a", "b"], ["a", "a"], [0.8, 0.8]), [0.3])


@settings(max_examples=50)
@given(case=confident_rows(), n_bins=st.integers(1, 5))
def test_uniform_bins_equal_scikit_learns_curve(case, n_bins):
    rows, p = case
    rows, p = reference.repeated(rows, p)
    y_true, y_pred, _ = reference.as_input(rows)
    result = calibration_error(y_true, y_pred, p, n_bins=n_bins)
    for level in range(1, 4):
        at = [i for i, (_, q, _) in enumerate(rows) if len(q) >= level]
        if not at:
            assert np.isnan(result[level - 1])
            continue
        right = np.array([rows[i][0][:level] == rows[i][1][:level] for i in at])
        values = p[at, level - 1]
        accuracy, mean = calibration_curve(right, values, n_bins=n_bins)
        place = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], values)
        size = np.unique(place, return_counts=True)[1]
        expected = (size * np.abs(accuracy - mean)).sum() / len(at)
        assert result[level - 1] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50)
@given(case=confident_rows(), n_bins=st.integers(1, 5))
def test_quantile_bins_equal_the_literal_implementation(case, n_bins):
    rows, p = case
    y_true, y_pred, weight = reference.as_input(rows)
    result = calibration_error(
        y_true, y_pred, p, strategy="quantile", n_bins=n_bins, sample_weight=weight
    )
    for level in range(1, 4):
        entries = [
            (p[i, level - 1], t[:level] == q[:level])
            for i, (t, q, w) in enumerate(rows)
            for _ in range(w)
            if len(q) >= level
        ]
        bins = {}
        for value, right in entries:
            before = sum(v < value for v, _ in entries)  # rows below: they fill the first bins
            bins.setdefault(before * n_bins // len(entries), []).append((value, right))
        gaps = [abs(sum(v - r for v, r in entries)) for entries in bins.values()]
        expected = sum(gaps) / len(entries) if entries else NAN
        np.testing.assert_allclose(result[level - 1], expected, atol=1e-12)


def test_quantile_bins_hold_equally_many_rows():
    rng = np.random.default_rng(0)
    p = rng.random(1000) ** 3
    y_true = (rng.random(1000) < p).astype(int)
    from hiclass.metrics._confidence import calibration_bins

    _, _, weight = calibration_bins(p, y_true * 1.0, np.ones(1000), "quantile", 10)
    np.testing.assert_array_equal(weight, [100] * 10)


def test_risk_coverage_by_hand():
    # Confidence of the last node: .9 right, .45 wrong twice, .85 right.
    result = risk_coverage(TRUE, PRED, CONFIDENCE)
    np.testing.assert_allclose(result.thresholds, [0.9, 0.85, 0.45])
    np.testing.assert_allclose(result.coverage, [1 / 4, 2 / 4, 1])
    np.testing.assert_allclose(result.risk, [0, 0, 2 / 4])
    assert result.area == pytest.approx(1 / 2 * 2 / 4)
    coverage, risk, thresholds, area = result
    assert len(coverage) == len(risk) == len(thresholds)
    assert area == result.area


def test_risk_by_f1():
    # F1 of the rows 1, 1/2, 0, 1.
    result = risk_coverage(TRUE, PRED, CONFIDENCE, loss="f1")
    np.testing.assert_allclose(result.risk, [0, 0, 1.5 / 4])


def test_an_empty_prediction_has_confidence_zero():
    result = risk_coverage([["A"], ["B"]], [["A"], [None]], [[0.4], [NAN]])
    np.testing.assert_array_equal(result.thresholds, [0.4, 0])
    np.testing.assert_array_equal(result.risk, [0, 0.5])


@settings(max_examples=50)
@given(case=confident_rows(), loss=st.sampled_from(["exact_match", "f1"]))
def test_risk_coverage_equals_the_literal_implementation(case, loss):
    rows, p = case
    y_true, y_pred, weight = reference.as_input(rows)
    result = risk_coverage(y_true, y_pred, p, loss=loss, sample_weight=weight)
    entries = []
    for (t, q, w), values in zip(rows, p, strict=True):
        score = values[len(q) - 1] if q else 0.0
        f1 = reference.set_score([(t, q, 1)], 1, "micro", 0)
        entries += [(score, float(t != q) if loss == "exact_match" else 1 - f1)] * w
    risks = []
    for score, _ in entries:
        kept = [x for s, x in entries if s >= score]
        risks.append((score, len(kept) / len(entries), sum(kept) / len(kept)))
    distinct = sorted(set(risks), reverse=True)
    np.testing.assert_allclose(np.column_stack(result[:2]), [r[1:] for r in distinct], atol=1e-12)
    # The area is the mean, over rows, of the risk at the row's confidence.
    assert result.area == pytest.approx(np.mean([r for *_, r in risks]), abs=1e-12)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"strategy": "kmeans"}, "strategy='kmeans' is unknown"),
        ({"n_bins": 0}, "n_bins=0 must be a positive integer"),
        ({"n_bins": 2.5}, "n_bins=2.5 must be a positive integer"),
        ({"average": "micro"}, "average='micro' is unknown"),
        ({"hierarchy": {"C": ["c"]}}, "The hierarchy has no class 'A'"),
    ],
)
def test_bad_options_are_errors(kwargs, message):
    with pytest.raises(ValueError, match=message):
        calibration_error(TRUE, PRED, CONFIDENCE, **kwargs)


@pytest.mark.parametrize(
    ("confidence", "message"),
    [
        (CONFIDENCE[:3], r"confidence has shape \(3, 2\), but y_true has 4 rows"),
        (np.zeros((4, 2, 1)), r"confidence has shape \(4, 2, 1\)"),
        (np.zeros((4, 0)), r"confidence has shape \(4, 0\)"),
        ([[0.5, 0.5]] * 3 + [[1.5, NAN]], "confidence has 1.5 in row 3 at level 1"),
        ([[0.5, 0.5]] * 3 + [[-0.5, NAN]], "confidence has -0.5 in row 3 at level 1"),
    ],
)
def test_bad_confidence_is_an_error(confidence, message):
    for metric in (calibration_error, risk_coverage):
        with pytest.raises(ValueError, match=message):
            metric(TRUE, PRED, confidence)


def test_confidence_must_cover_the_predicted_paths():
    with pytest.raises(ValueError, match=r"has 1 column\(s\), but a predicted path has 2 levels"):
        calibration_error(TRUE, PRED, [0.5] * 4)
    bad = [[0.5, 0.5], [0.5, 0.5], [0.5, NAN], [0.5, NAN]]
    with pytest.raises(ValueError, match="confidence is NaN in row 2 at level 2"):
        calibration_error(TRUE, PRED, bad)
    with pytest.raises(ValueError, match="confidence is NaN in row 2 at level 2"):
        calibration_error(TRUE, PRED, bad, sample_weight=[0, 1, 1, 1])


def test_unknown_loss_and_several_parents_are_errors():
    with pytest.raises(ValueError, match="loss='squared' is unknown"):
        risk_coverage(TRUE, PRED, CONFIDENCE, loss="squared")
    dag = [("p", "z"), ("q", "z")]
    with pytest.raises(ValueError, match="calibration_error is defined on trees"):
        calibration_error(["z"], ["z"], [[1.0, 1.0]], hierarchy=dag)
