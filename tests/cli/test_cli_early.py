"""How many predicted paths stop early, and why."""

import numpy as np
import pytest
from cli_helpers import TARGET, make_rows, write_csv

from hiclass import LocalClassifierPerParentNode
from hiclass._cli._early import Early, count_early

Y = np.array([["A", "x"]] * 3 + [["A", "y"]] * 3 + [["B", "z"]] * 3, dtype=object)
X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [9.0], [9.1], [9.2]])


def test_all_paths_that_reach_a_leaf_are_said_in_one_sentence():
    model = LocalClassifierPerParentNode().fit(X, Y)
    early = count_early(model, X, model.predict(X))
    assert early == Early(9, 0, 0.0, 0, 0)
    assert str(early) == "No predicted path stops early: all go down to a leaf."


def test_min_confidence_is_the_reason_where_paths_go_on_without_it():
    model = LocalClassifierPerParentNode(min_confidence=0.99).fit(X, Y)
    predicted = model.predict(X)
    early = count_early(model, X, predicted)
    ended = int((predicted[:, 1] == "").sum())
    assert early == Early(9, ended, 0.99, 0, 0)
    assert ended > 0
    assert model.min_confidence == 0.99
    share = f"{ended} of 9 predicted paths ({ended / 9:.0%}) stop early, above a leaf"
    assert str(early) == f"{share}: {ended} below min_confidence 0.99"


def test_the_threshold_comes_back_after_an_error(monkeypatch):
    model = LocalClassifierPerParentNode(min_confidence=0.99).fit(X, Y)
    predicted = model.predict(X)

    def broken(self, X):
        raise MemoryError

    monkeypatch.setattr(LocalClassifierPerParentNode, "predict", broken)
    with pytest.raises(MemoryError):
        count_early(model, X, predicted)
    assert model.min_confidence == 0.99


def test_training_rows_that_end_early_are_a_reason():
    y = Y.copy()
    y[6:, 1] = ""
    y[8, 1] = "z"
    model = LocalClassifierPerParentNode().fit(X, y)
    early = count_early(model, X, np.array([["B", ""], ["B", "z"], ["A", "x"]], dtype=object))
    assert early == Early(3, 0, 0.0, 1, 0)
    assert str(early).endswith(
        "stop early, above a leaf: 1 at classes where training rows end, too"
    )


def test_what_remains_is_the_decoding():
    model = LocalClassifierPerParentNode(decoding="expected_f1", expected_f1=0.9).fit(X, Y)
    early = count_early(model, X, np.array([["A", ""], ["", ""], ["B", "z"]], dtype=object))
    assert early == Early(3, 0, 0.0, 0, 2)
    assert str(early).endswith(": 2 where a shorter path has a better expected F-score")


def test_evaluate_and_the_whole_sentence(run, model, train, tmp_path):
    assert run("evaluate", model, train)[0].splitlines()[-1].startswith("No predicted path")
    vague = write_csv(tmp_path / "vague.csv", [["1", "Loan", "Car", "", "150", ""]] * 3)
    out, _ = run("evaluate", model, vague, "--min-confidence", "1")
    assert out.splitlines()[-1] == (
        "3 of 3 predicted paths (100%) stop early, above a leaf: 3 below min_confidence 1"
    )


def test_rows_that_end_early_in_a_file(run, tmp_path):
    rows = [[*row[:2], "", *row[3:]] if row[2] == "Car" else row for row in make_rows()]
    path = write_csv(tmp_path / "d.csv", rows)
    options = ["--target", *TARGET, "--text", "narrative", "--model", "parent"]
    run("fit", path, *options, "-o", tmp_path / "m.skops")
    out, _ = run("evaluate", tmp_path / "m.skops", path)
    assert "at classes where training rows end, too" in out.splitlines()[-1]
