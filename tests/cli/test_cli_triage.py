"""``hiclass triage``: two files, and what people need in the second."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import HEADER, TARGET, make_rows, read, unlabelled_rows, write_csv
from sklearn.ensemble import RandomForestClassifier

from hiclass import LocalClassifierPerParentNode
from hiclass._cli._models import load_model, save_model


@pytest.fixture
def model(unsure_model):
    return unsure_model


@pytest.fixture
def new(tmp_path):
    return write_csv(tmp_path / "new.csv", unlabelled_rows(40))


@pytest.fixture
def triage(run, model, new, tmp_path):
    def triage(*options):
        done, queue = tmp_path / "done.csv", tmp_path / "queue.csv"
        out, err = run("triage", model, new, "-o", done, "--review", queue, *options)
        assert out == ""
        return read(done.read_text()), read(queue.read_text()), err

    return triage


def test_every_row_is_in_one_of_two_files(triage, model):
    done, queue, err = triage("--min-confidence", "0.5")
    assert len(done) + len(queue) == 40
    assert sorted([row["id"] for row in done] + [row["id"] for row in queue]) == sorted(
        f"c{i}" for i in range(40)
    )
    assert f"{len(done)} of 40 rows ({len(done) / 40:.1%}) are sure: wrote" in err
    assert "Code them with: hiclass review" in err
    assert list(done[0]) == [
        *HEADER, "predicted_product", "confidence_product", "predicted_sub_product",
        "confidence_sub_product",
    ]  # fmt: skip
    assert all(float(row["confidence_product"]) >= 0.5 for row in done)
    for row in queue:
        found = [json.loads(row[f"suggestion_{j}"]) for j in range(1, 6)]
        assert len({tuple(path) for path in found}) == 5
        shares = [float(row[f"probability_{j}"]) for j in range(1, 6)]
        assert shares == sorted(shares, reverse=True)
        assert row["id"] == f"c{int(row['source_row']) - 1}"
    firsts = [float(row["probability_1"]) for row in queue]
    ordered = sum(a <= b for a, b in itertools.pairwise(firsts))
    assert ordered >= len(firsts) - 8  # identical rows follow each other


def test_a_level_is_named_or_numbered(triage, model):
    by_name = triage("--min-confidence", "0.5", "--level", "product", "--suggestions", "2")
    by_number = triage("--min-confidence", "0.5", "--level", "1", "--suggestions", "2")
    assert by_name[:2] == by_number[:2]
    assert "suggestion_3" not in by_name[1][0]
    assert all(len(json.loads(row["suggestion_1"])) == 1 for row in by_name[1])
    # No label is written that nobody asked for.
    assert all(row["predicted_product"] for row in by_name[0])
    assert {row["predicted_sub_product"] for row in by_name[0]} == {""}
    assert {row["confidence_sub_product"] for row in by_name[0]} == {""}
    assert any(row["predicted_sub_product"] for row in triage("--min-confidence", "0.5")[0])


def test_by_branch(triage):
    _, queue, _ = triage("--min-confidence", "0.5", "--order", "branch")
    assert queue


def test_the_thresholds_of_the_model_are_used(run, fails, model, new, tmp_path, shared):
    tuned = load_model(model)
    tuned.opened.model.set_params(min_confidence=0.5)
    save_model(tuned, str(tmp_path / "tuned.skops"))
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    run("triage", tmp_path / "tuned.skops", new, *options)
    assert read((tmp_path / "q.csv").read_text())
    assert "has no thresholds" in fails("triage", model, new, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "-", "--review", "q.csv"], "-o and --review need names of files"),
        (
            ["-o", "q.csv", "--review", "q.csv"],
            "-o and --review are both q.csv. Use two different files.",
        ),
        (
            ["-o", "q.csv", "--review", "./q.csv"],
            "-o and --review are both q.csv. Use two different files.",
        ),
        (
            ["-o", "d.csv", "--review", "q.x"],
            "q.x: the name does not show the format. Use a name that ends with .csv, .tsv",
        ),
        (["-o", "no/d.csv", "--review", "q.csv"], "there is no folder no"),
        (
            ["-o", "d.csv", "--review", "q.csv", "--level", "color"],
            "'color' is not a level of this model. Use one of product, sub_product, or a number",
        ),
        (["-o", "d.csv", "--review", "q.csv", "--level", "3"], "'3' is not a level"),
    ],
)
def test_wrong_options_are_refused(fails, model, new, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in fails("triage", model, new, "--min-confidence", "0.5", *options)
    assert not (tmp_path / "d.csv").exists()


@pytest.mark.parametrize("number", range(4))
def test_no_output_is_one_of_the_inputs(fails, model, new, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    costs = write_csv(tmp_path / "costs.csv", [["Loan", "2"]], header=["product", "cost"])
    labelled = write_csv(tmp_path / "labelled.csv", make_rows(200))
    copy = tmp_path / "copy.skops"
    copy.write_bytes(Path(model).read_bytes())
    read = [copy, new, costs, labelled][number]
    before = read.read_bytes()
    common = (copy, new, "--max-error", "0.1", "--labelled", labelled, "--costs", costs)
    for outputs in (
        ("-o", f"./{read.name}", "--review", "q.csv"),
        ("-o", "d.csv", "--review", read),
    ):
        error = fails("triage", *common, "--order", "cost", *outputs)
        assert "is an input of this command and would be replaced by its result." in error
    assert read.read_bytes() == before


def test_rows_without_reasons_are_announced(run, shared, new, tmp_path):
    model = tmp_path / "forest.skops"
    run("fit", shared / "train.csv", "--target", *TARGET, "--numbers", "amount", "-o", model, "-q")
    loaded = load_model(str(model))
    forest = LocalClassifierPerParentNode(RandomForestClassifier(3, random_state=0))
    X = np.arange(80.0).reshape(-1, 2)
    loaded.pipeline.steps[-1] = ("classifier", forest.fit(X, [["A", "a"], ["B", "b"]] * 20))
    save_model(loaded, str(model))
    options = ("--min-confidence", "1", "-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    _, err = run("triage", model, new, *options)
    assert "have no reasons, because reasons require linear classifiers, which Random" in err


def test_a_column_that_triage_adds_must_not_be_there(fails, model, tmp_path):
    rows = [[*row, "x"] for row in unlabelled_rows(10)]
    new = write_csv(tmp_path / "new.csv", rows, header=[*HEADER, "suggestion_1"])
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    error = fails("triage", model, new, "--min-confidence", "0.99", *options)
    assert "already has a column 'suggestion_1', which triage adds. Rename it." in error
    assert not (tmp_path / "d.csv").exists()


def test_a_missing_feature_is_named(fails, model, tmp_path):
    new = write_csv(tmp_path / "new.csv", [["1"]], header=["id"])
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    error = fails("triage", model, new, "--min-confidence", "0.5", *options)
    assert "has no column 'narrative'" in error


def test_the_level_by_default_is_the_whole_path_and_all_rows_may_be_sure(run, model, new, tmp_path):
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    _, err = run("triage", model, new, "--min-confidence", "0.000001", *options)
    assert "40 of 40 rows (100.0%) are sure" in err
    assert "0 rows for review" in err
    assert "Code them" not in err


# -- a limit of errors -------------------------------------------------------------------------


@pytest.fixture
def easy(shared):
    """A model that is right about nearly all rows."""
    return str(shared / "model.skops")


@pytest.fixture
def labelled(tmp_path):
    return write_csv(tmp_path / "labelled.csv", make_rows(200))


def test_a_limit_of_errors_is_kept_with_labelled_rows(run, easy, new, labelled, tmp_path):
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    _, err = run("triage", easy, new, "--max-error", "0.2", "--labelled", labelled, *options)
    assert "With 95% certainty, for rows with a predicted label (from 200 calibration rows" in err
    direct = read((tmp_path / "d.csv").read_text())
    sure = tmp_path / "sure.skops"
    run("guarantee", easy, labelled, "--max-error", "0.2", "-o", sure)
    run("triage", sure, new, "--max-error", "0.2", *options)
    assert read((tmp_path / "d.csv").read_text()) == direct
    # A stricter promise serves a laxer limit.
    run("triage", sure, new, "--max-error", "0.5", *options)


def test_a_limit_that_nothing_promises_is_refused(run, fails, easy, new, labelled, tmp_path):
    options = ("-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    error = fails("triage", easy, new, "--max-error", "0.2", *options)
    assert "has no guarantee about errors. Pass labelled rows with --labelled FILE" in error
    sure = tmp_path / "sure.skops"
    run("guarantee", easy, labelled, "--max-error", "0.2", "--level", "1", "-o", sure)
    error = fails("triage", sure, new, "--max-error", "0.2", *options)
    assert "has no guarantee for level 2, 'sub_product'" in error
    error = fails("triage", sure, new, "--max-error", "0.1", "--level", "product", *options)
    assert "guarantees an error of at most 0.2 at level 1, not 0.1. Pass labelled" in error
    promised = ("--max-error", "0.2", "--level", "product", *options)
    run("triage", sure, new, *promised)
    run("triage", sure, new, "--certainty", "0.9", *promised)
    error = fails("triage", sure, new, "--certainty", "0.99", *promised)
    assert "has a certainty of 0.95, not 0.99. Pass labelled" in error
    few = write_csv(tmp_path / "few.csv", make_rows(10))
    error = fails("triage", easy, new, "--max-error", "0.01", "--labelled", few, *options)
    assert error.startswith(str(few))
    for more, message in (
        (["--labelled", few], "--labelled requires --max-error."),
        (["--certainty", "0.9"], "--certainty requires --max-error."),
        (["--max-error", "0.1", "--min-confidence", "0.5"], "Leave one of them out."),
    ):
        assert message in fails("triage", easy, new, *more, *options)


def test_by_cost(run, fails, model, new, tmp_path):
    costs = write_csv(tmp_path / "c.csv", [["Loan", "9"]], header=["product", "cost"])
    options = ("--min-confidence", "0.5", "-o", tmp_path / "d.csv", "--review", tmp_path / "q.csv")
    run("triage", model, new, "--order", "cost", "--costs", costs, *options)
    dear = [json.loads(row["suggestion_1"])[0] for row in read((tmp_path / "q.csv").read_text())]
    assert dear.index("Loan") > 0  # what is taken for a loan is dear to miss elsewhere
    error = fails("triage", model, new, "--costs", costs, *options)
    assert 'costs are for order="cost"' in error
