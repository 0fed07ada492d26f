"""automation_curve: values by hand, its intervals, ties, levels; and the display."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta

from hiclass import LocalClassifierPerParentNode, metrics
from hiclass.metrics import AutomationDisplay, automation_curve
from hiclass.metrics._automation import share_interval

TRUE = [["A", "x"], ["A", "y"], ["B", "x"], ["B", "x"], ["B", ""]]
PRED = [["A", "x"], ["B", "x"], ["B", "x"], ["B", ""], ["B", "x"]]
CONFIDENCE = [[0.9, 0.8], [0.9, 0.6], [0.7, 0.6], [0.6, np.nan], [0.5, 0.5]]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_the_curve_of_a_level_by_hand():
    curve = automation_curve(TRUE, PRED, CONFIDENCE, level=1)
    assert (curve.level, curve.n_rows) == (1, 5)
    assert curve.thresholds.tolist() == [0.9, 0.7, 0.6, 0.5]
    assert curve.n_answered.tolist() == [2, 3, 4, 5]
    assert curve.share.tolist() == [0.4, 0.6, 0.8, 1.0]
    np.testing.assert_allclose(curve.error, [1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_the_deepest_level_is_the_default_and_rows_without_a_label_there_are_not_answered():
    curve = automation_curve(TRUE, PRED, CONFIDENCE)
    assert curve.level == 2
    assert curve.thresholds.tolist() == [0.8, 0.6, 0.5]
    assert curve.share.tolist() == [0.2, 0.6, 0.8]
    # One more is wrong above, one because the true path ends before.
    np.testing.assert_allclose(curve.error, [0, 1 / 3, 2 / 4])


def test_intervals_are_those_of_clopper_and_pearson():
    curve = automation_curve(TRUE, PRED, CONFIDENCE, level=1, certainty=0.9)
    n, k = curve.n_answered, np.array([1, 1, 1, 1])
    np.testing.assert_allclose(curve.lower, beta.ppf(0.05, k, n - k + 1))
    np.testing.assert_allclose(curve.upper, beta.ppf(0.95, k + 1, n - k))
    lower, upper = share_interval(np.array([7, 7]), np.array([0, 7]), 0.1)
    assert (lower[0], upper[1]) == (0, 1)
    np.testing.assert_allclose([upper[0], lower[1]], [1 - 0.05 ** (1 / 7), 0.05 ** (1 / 7)])


def test_labels_of_one_level_take_one_column():
    curve = automation_curve(["a", "b", "a"], ["a", "a", "a"], [0.9, 0.2, 0.5])
    assert curve.share.round(2).tolist() == [0.33, 0.67, 1.0]
    assert curve.error.round(2).tolist() == [0, 0, 0.33]


def test_a_level_that_no_path_reaches_has_an_empty_curve():
    curve = automation_curve([["A", "x"]], [["A"]], [[0.5, np.nan]])
    assert len(curve.share) == len(curve.lower) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"level": 3}, "levels are the numbers 1 to 2"), ({"certainty": 1}, "certainty must be")],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        automation_curve(TRUE, PRED, CONFIDENCE, **options)


def test_the_display_draws_the_curves_and_their_bands():
    display = AutomationDisplay.from_predictions(TRUE, PRED, CONFIDENCE)
    for level, line in enumerate(display.lines_, start=1):
        curve = metrics.automation_curve(TRUE, PRED, CONFIDENCE, level=level)
        np.testing.assert_array_equal(line.get_xdata(), curve.share)
        np.testing.assert_array_equal(line.get_ydata(), curve.error)
        assert line.get_label() == f"level {level}"
    assert len(display.bands_) == 2
    one = AutomationDisplay.from_predictions(
        TRUE, PRED, CONFIDENCE, levels=[2], ax=display.ax_, color="k"
    )
    assert [line.get_color() for line in one.lines_] == ["k"]
    assert one.ax_ is display.ax_
    empty = AutomationDisplay.from_predictions([["A", "x"]], [["A"]], [[0.5, np.nan]])
    assert [curve.level for curve in empty.curves] == [1]


def test_the_display_of_an_estimator():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]] * 5), [["A"], ["A"], ["B"], ["B"]] * 5
    model = LocalClassifierPerParentNode().fit(X, y)
    display = AutomationDisplay.from_estimator(model, X, y)
    assert display.curves[0].share[-1] == 1
    assert display.curves[0].error[-1] == 0
