"""classification_report: numbers by hand, readable at 2,000 classes."""

import math

import metrics_reference as reference
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.exceptions import UndefinedMetricWarning

from hiclass.metrics import classification_report, exact_match, f1, level_scores, precision

TRUE = [["A", "x"]] * 4 + [["A", "y"]] * 2 + [["B", "x"]] * 3 + [["B"]]
PRED = [["A", "x"]] * 3 + [["A", "y"]] + [["A", "x"], ["A"]] + [["B", "x"]] * 2 + [["A", "y"]] * 2


def test_text():
    text = classification_report(TRUE, PRED)
    assert text.splitlines() == [
        "            precision  recall    f1  exact match  support",
        "all levels       0.68    0.68  0.68         0.50       10",
        "",
        "level  classes  accuracy  precision  recall    f1  support",
        "    1        2      0.80       0.88    0.75  0.76       10",
        "    2        3      0.50       0.44    0.35  0.39        9",
        "",
        "class      precision  recall    f1  support  errors  most often",
        "(top)                                    10       2  B -> A (2)",
        "├── A           0.75    1.00  0.86        6       3  x -> y (1)",
        "│   ├── x       0.75    0.75  0.75        4       0",
        "│   └── y       0.00    0.00  0.00        2       0",
        "└── B           1.00    0.50  0.67        4       0",
        "    └── x       1.00    0.67  0.80        3       0",
    ]


def test_paths_that_are_too_short_or_too_long_are_named():
    short = classification_report([["A", "x"]], [["A"]], zero_division=0)
    assert short.splitlines()[-2].endswith("1  x -> (end) (1)")
    long = classification_report([["A"]], [["A", "x"]], zero_division=0)
    assert long.splitlines()[-2].endswith("1  (end) -> x (1)")


def test_dict_agrees_with_the_metrics():
    report = classification_report(TRUE, PRED, output_dict=True)
    assert report["overall"] == {
        "precision": precision(TRUE, PRED),
        "recall": 13 / 19,
        "f1": pytest.approx(f1(TRUE, PRED)),
        "exact_match": exact_match(TRUE, PRED),
        "support": 10,
    }
    levels = level_scores(TRUE, PRED)
    for i, row in enumerate(report["levels"]):
        assert row == {name: column[i] for name, column in levels.items()}
    table = pd.DataFrame(report["classes"]).set_index("path")
    assert list(table.index) == [(), ("A",), ("A", "x"), ("A", "y"), ("B",), ("B", "x")]
    np.testing.assert_array_equal(table["f1"], f1(TRUE, PRED, average=None))
    np.testing.assert_array_equal(table["support"], [10, 6, 4, 2, 4, 3])
    np.testing.assert_array_equal(table["predicted"], [10, 8, 4, 3, 2, 2])
    np.testing.assert_array_equal(table["errors"], [2, 3, 0, 0, 0, 0])
    assert table["most_often"].iloc[0] == {"true": "B", "predicted": "A", "weight": 2.0}


@settings(max_examples=60)
@given(rows=reference.labelled_rows(weighted=True))
def test_every_wrong_row_is_counted_once_where_it_leaves_the_true_path(rows):
    y_true, y_pred, weight = reference.as_input(rows)
    report = classification_report(
        y_true, y_pred, sample_weight=weight, output_dict=True, zero_division=0
    )
    expected = reference.errors(rows)
    found = {row["path"]: row["errors"] for row in report["classes"] if row["errors"]}
    assert found == {path: w for path, w in expected.items() if w}
    total = sum(weight)
    wrong = total * (1 - report["overall"]["exact_match"])
    assert sum(found.values()) == pytest.approx(wrong)
    for row in report["classes"]:
        assert (row["most_often"] is None) == (row["errors"] == 0)


def test_weights_that_are_no_whole_numbers_keep_their_digits():
    text = classification_report(
        [["A"], ["B"]], [["A"], ["A"]], sample_weight=[1.5, 1], digits=3, zero_division=0
    )
    assert "A -> " not in text
    assert text.splitlines()[1].split()[-1] == "2.500"


def test_2000_classes_stay_readable():
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 2000, 20_000)
    y_true = np.column_stack([leaf // 200, leaf // 20, leaf])
    wrong = rng.integers(0, 2000, 20_000)
    guess = np.where(rng.random(20_000) < 0.7, leaf, wrong)
    y_pred = np.column_stack([guess // 200, guess // 20, guess])
    text = classification_report(y_true, y_pred, zero_division=0)
    lines = text.splitlines()
    assert len(lines) < 65
    assert max(map(len, lines)) < 110
    assert lines[-1] == "2060 more classes are not shown; see max_depth and max_rows."
    # Every class that is shown has its parent above it: ten sectors, then the largest groups.
    assert sum(line.startswith(("├── ", "└── ")) for line in lines) == 10
    flat = classification_report(y_true, y_pred, zero_division=0, max_depth=1)
    assert "2100 more classes" in flat
    everything = classification_report(y_true, y_pred, zero_division=0, max_rows=None)
    assert len(everything.splitlines()) > 2110
    top = classification_report(y_true, y_pred, zero_division=0, max_rows=0)
    assert top.splitlines()[-3].startswith("(top)")


def test_long_names_are_cut():
    name = "a very long name of a class that nobody would want to see in full"
    text = classification_report([[name]], [[name]])
    assert "a very long name of a class that nobody…" in text


def test_one_warning_per_call():
    with pytest.warns(UndefinedMetricWarning) as caught:
        classification_report([["A", "x"], ["B", "y"]], [["A", "x"], ["", ""]])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_zero_division_shows_in_the_classes():
    report = classification_report([["A"]], [["B"]], output_dict=True, zero_division=np.nan)
    by_path = {row["path"]: row for row in report["classes"]}
    assert math.isnan(by_path[("A",)]["precision"])
    assert math.isnan(by_path[("B",)]["recall"])
    assert by_path[("A",)]["recall"] == 0


@pytest.mark.parametrize("kwargs", [{"max_depth": -1}, {"max_rows": 1.5}, {"digits": -2}])
def test_bad_limits_are_errors(kwargs):
    (name,) = kwargs
    with pytest.raises(ValueError, match=f"{name}=.* must be a whole number"):
        classification_report(TRUE, PRED, **kwargs)


def test_with_several_parents_classes_are_named_by_label():
    edges = [("p", "z"), ("q", "z")]
    report = classification_report(["z"], ["z"], hierarchy=edges, output_dict=True)
    assert [row["class"] for row in report["classes"]] == ["p", "q", "z"]
