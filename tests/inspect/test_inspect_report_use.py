"""What the report shows of a comparison of then and now: only if it is given one."""

import pytest

from hiclass import LocalClassifierPerParentNode, compare_use, guarantee_error, make_report
from hiclass._inspect.report._use import collect_use
from hiclass._inspect.shifts import Shift
from hiclass._inspect.use import OUTSIDE, UseComparison
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    return make_hierarchical_classification(
        600, branching=[3, 2], depth=2, noise=0.6, random_state=0, return_X_y=True
    )


@pytest.fixture(scope="module")
def model(data):
    return LocalClassifierPerParentNode().fit(data[0][:200], data[1][:200])


def test_all_comparisons_are_shown_and_alarms_are_the_first_ones(model, data):
    X, y = data
    found = compare_use(model, X[200:400], X[400:] + 1)
    report = make_report(model, X[400:], y[400:], use=found)
    shown = report.data["use"]
    assert (shown["then"], shown["now"], shown["max_false_alarms"]) == (200, 200, 0.01)
    assert shown["changed"] == len(found.alarms) > 0
    names = [row["what"] for row in shown["tests"]]
    assert names[: shown["changed"]] == [shift.what for shift in found.alarms]
    assert sorted(names) == sorted(shift.what for shift in found.shifts)
    assert names[shown["outside"]] == OUTSIDE
    assert [row["what"] for row in shown["classes"]] == [shift.what for shift in found.classes]
    assert [row["now"] for row in shown["features"]] == [shift.now for shift in found.features]
    tests = {row["what"].split(" ")[0]: row["test"] for row in shown["tests"]}
    assert tests == {
        "share": "Fisher's exact",
        "confidence": "Kolmogorov-Smirnov",
        "classes": "chi-squared",
        "outside": "Kolmogorov-Smirnov",
        "feature": f"Kolmogorov-Smirnov, smallest of {X.shape[1]}",
    }
    assert report.html.count('id="use"') == 1


def test_adjusted_p_values_say_the_same_as_the_alarms():
    # By hand, for Holm: 4 * 0.0001, 3 * 0.004, then 2 * 0.005 raised to the one before, 1.
    shifts = [Shift(str(p), 0, 1, p) for p in (1.0, 0.004, 0.005, 0.0001)]
    found = UseComparison(10, 20, tuple(shifts), (), (), 0.01)
    shown = collect_use(found)
    adjusted = [row["adjusted"] for row in shown["tests"]]
    assert adjusted == pytest.approx([0.0004, 0.012, 0.012, 1.0])
    assert shown["changed"] == sum(p <= 0.01 for p in adjusted) == 1
    assert shown["outside"] is None


def test_a_guarantee_is_mentioned_and_without_a_comparison_there_is_none(model, data):
    X, y = data
    assert make_report(model, X[400:], y[400:]).data["use"] is None
    assert collect_use(compare_use(model, X[200:400], X[400:]))["guarantee"] == ""
    sure = LocalClassifierPerParentNode().fit(X[:200], y[:200])
    guarantee_error(sure, X[200:400], y[200:400], 0.2, levels=1).apply(sure)
    found = compare_use(sure, X[200:400], X[400:] + 1)
    shown = make_report(sure, X[400:], y[400:], use=found).data["use"]
    assert "do not rely on it" in shown["guarantee"]


def test_something_else_is_refused(model, data):
    with pytest.raises(TypeError, match=r"use must be the result of compare_use; got a tuple"):
        make_report(model, *data, use=(data[0], data[0]))
