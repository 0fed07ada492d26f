"""What the report shows of automation: the curves at the steps of a slider, and the promises."""

import copy
import math

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from hiclass import (
    ConformalClassifier,
    LocalClassifierPerParentNode,
    guarantee_error,
    make_report,
    metrics,
)
from hiclass.datasets import make_hierarchical_classification


@pytest.fixture(scope="module")
def data():
    X, y = make_hierarchical_classification(
        1500, branching=[3, 2], depth=2, noise=1.3, random_state=1, return_X_y=True
    )
    return (X[:500], y[:500]), (X[500:1000], y[500:1000]), (X[1000:], y[1000:])


@pytest.fixture(scope="module")
def model(data):
    return LocalClassifierPerParentNode(decoding="best_path").fit(*data[0])


def test_steps_of_the_slider_are_points_of_the_curve(model, data):
    X, y = data[2]
    found = make_report(model, X, y).data["automation"]
    assert found["rows"] == 500
    assert found["promises"] is None
    assert [level["level"] for level in found["levels"]] == [1, 2]
    for level in found["levels"]:
        curve = metrics.automation_curve(
            y, model.predict(X), model.predict_confidence(X), level=level["level"]
        )
        assert len(level["answered"]) == 101
        assert level["answered"][0] == level["wrong"][0] == 0
        assert level["threshold"][0] is None
        assert level["answered"][50] == 250
        for step in range(1, 101):
            at = curve.n_answered.tolist().index(level["answered"][step])
            assert level["wrong"][step] == round(curve.error[at] * curve.n_answered[at])
            assert level["upper"][step] == pytest.approx(curve.upper[at], abs=1e-4)
            assert level["threshold"][step] == pytest.approx(curve.thresholds[at], abs=1e-4)


def test_the_promises_of_a_model_are_shown(model, data):
    model = copy.copy(model)
    with pytest.warns(UserWarning, match="No label is predicted"):
        guarantee = guarantee_error(model, *data[1], [0.1, 0.01])
    report = make_report(guarantee.apply(model), *data[2])
    found = report.data["automation"]
    shown = found["promises"]
    assert (shown["kind"], shown["certainty"], shown["rows"]) == ("error", 0.95, 500)
    assert [row["limit"] for row in shown["table"]] == [0.1, 0.01]
    assert [math.isinf(row["threshold"]) for row in shown["table"]] == [False, True]
    assert "wrong labels among the most confident" in shown["table"][1]["reason"]
    assert ":Infinity" not in report.html


@pytest.mark.parametrize("thresholds", [0.7, [0.0, 0.9], [np.inf, np.inf]])
def test_the_curves_go_on_below_the_thresholds_of_the_model(model, data, thresholds):
    """What laxer thresholds would do is the same whatever the model has now."""
    X, y = data[2]
    whole = make_report(model, X, y).data["automation"]
    strict = copy.copy(model).set_params(min_confidence=thresholds)
    found = make_report(strict, X, y).data
    assert found["automation"] == {**whole, "truncated": True}
    assert not whole["truncated"]
    assert strict.min_confidence is thresholds
    assert found["depths"]["predicted"][2] < 500  # the other sections are about the model as it is


def test_rows_without_weight_are_not_counted_with_thresholds_either(model, data):
    X, y = data[2]
    weight = np.r_[np.zeros(100), np.full(400, 3.0)]
    strict = copy.copy(model).set_params(min_confidence=0.7)
    found = make_report(strict, X, y, sample_weight=weight).data["automation"]
    expected = make_report(model, X[100:], y[100:]).data["automation"]
    assert found == {**expected, "truncated": True}


def test_a_model_without_answers_has_no_curve(model, data):
    X, y = data[1]
    with pytest.warns(UserWarning, match="rows"):
        silent = ConformalClassifier(FrozenEstimator(model), alpha=0.01).fit(X[:20], y[:20])
    found = make_report(silent, *data[2]).data["automation"]
    assert found["levels"] == []
    assert not found["truncated"]
