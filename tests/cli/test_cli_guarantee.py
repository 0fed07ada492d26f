"""``hiclass guarantee``, and thresholds on the command line."""

import argparse
import json
import math

import pytest
from cli_helpers import make_rows, read, write_csv

import hiclass
from hiclass._cli._models import load_model
from hiclass._cli._thresholds import read_min_confidence
from hiclass._estimators.guarantees import guarantee_of


@pytest.fixture
def valid(tmp_path):
    """Rows of calibration."""
    return write_csv(tmp_path / "valid.csv", make_rows(200))


class TestGuarantee:
    def test_thresholds_and_what_they_promise_are_in_the_new_model(
        self, run, model, valid, tmp_path
    ):
        sure = tmp_path / "sure.skops"
        out, err = run("guarantee", model, valid, "--max-error", "0.1", "-o", sure)
        assert out.startswith(
            "With 95% certainty, for rows with a predicted label (from 200 calibra"
        )
        assert f"Wrote {sure}: the same model with these thresholds" in err
        classifier = load_model(str(sure)).opened.model
        found = guarantee_of(classifier)
        assert [(p.level, p.limit) for p in found.promises] == [(1, 0.1), (2, 0.1)]
        assert classifier.min_confidence == found.min_confidence
        assert load_model(model).opened.model.min_confidence == 0
        assert guarantee_of(hiclass.load(sure)) == found
        run("predict", sure, valid)
        run("evaluate", sure, valid)
        run("tune", sure, valid, "--precision", "0.5", "-o", tmp_path / "tuned.skops")

    def test_levels_and_branches_by_name_or_number(self, run, model, valid, tmp_path):
        sure = tmp_path / "sure.skops"
        options = ("--max-error", "0.2", "--branch-level", "product", "--level", "2")
        run("guarantee", model, valid, *options, "-o", sure)
        found = guarantee_of(load_model(str(sure)).opened.model)
        assert {p.level for p in found.promises} == {2}
        assert {p.branch for p in found.promises} > {("Card",), ("Loan",)}

    def test_costs_come_from_a_file(self, run, fails, model, valid, tmp_path):
        costs, sure = tmp_path / "costs.csv", tmp_path / "sure.skops"
        costs.write_text("product,sub_product,cost\nCard,,5\nLoan,Car,2.5\n", encoding="utf-8")
        options = ("--costs", costs, "--max-cost", "1", "--level", "product")
        out, _ = run("guarantee", model, valid, *options, "-o", sure)
        assert "mean cost" in out
        assert guarantee_of(load_model(str(sure)).opened.model).kind == "cost"
        for content, message in (
            ("product,price\nCard,5\n", "has no column 'cost'"),
            ("sub_product,cost\nCar,5\n", "has no column 'product'"),
            ("product,cost\nCard,much\n", "the cost 'much' is not a number"),
        ):
            costs.write_text(content, encoding="utf-8")
            assert message in fails("guarantee", model, valid, *options, "-o", sure)

    def test_too_few_rows_are_refused_with_the_number_and_leave_nothing(
        self, fails, model, train, tmp_path
    ):
        message = fails("guarantee", model, train, "-o", tmp_path / "sure.skops")
        assert "train.csv: No threshold guarantees" in message
        assert "60 calibration rows are too few; at least 72 are needed" in message
        assert list(tmp_path.iterdir()) == []

    def test_wrong_options(self, fails, model, valid, tmp_path):
        output = ("-o", tmp_path / "sure.skops")
        assert "must be used together" in fails(
            "guarantee", model, valid, "--max-cost", "1", *output
        )
        both = ("--costs", valid, "--max-cost", "1", "--max-error", "0.1")
        assert "cannot be combined with --costs" in fails("guarantee", model, valid, *both, *output)
        message = fails("guarantee", model, valid, "--level", "3", *output)
        assert "'3' is not a level of this model. Use one of product, sub_product" in message
        assert "-o needs the name of a file" in fails("guarantee", model, valid, "-o", "-")


class TestMinConfidence:
    def test_a_number_or_one_per_level(self):
        assert read_min_confidence("0.5") == 0.5
        assert read_min_confidence("0.5, 0.7,inf") == [0.5, 0.7, math.inf]

    @pytest.mark.parametrize("text", ["1.5", "-1", "high", "0.5,high", "nan", ""])
    def test_anything_else_is_refused(self, text):
        with pytest.raises(argparse.ArgumentTypeError, match="a number from 0 to 1 is needed"):
            read_min_confidence(text)

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ({"Card": 0.5, "Loan": [0.1, None]}, {"Card": 0.5, "Loan": [0.1, math.inf]}),
            ([{"class": ["Card", "Debit"], "threshold": 1}], {("Card", "Debit"): 1}),
            ([{"class": "Card", "threshold": None}], {"Card": math.inf}),
            ([0.5, None], [0.5, math.inf]),
        ],
    )
    def test_a_json_file_has_one_per_class(self, tmp_path, content, expected):
        path = tmp_path / "limits.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        assert read_min_confidence(str(path)) == expected

    @pytest.mark.parametrize("content", ["{", '{"a": -1}', '[{"class": "a"}]'])
    def test_a_json_file_that_makes_no_sense_is_refused(self, tmp_path, content):
        path = tmp_path / "limits.json"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(argparse.ArgumentTypeError, match=r"limits\.json"):
            read_min_confidence(str(path))
        with pytest.raises(argparse.ArgumentTypeError, match="No such file"):
            read_min_confidence(str(tmp_path / "none.json"))

    def test_predictions_end_by_level_and_class(self, run, model, train, tmp_path):
        rows = read(run("predict", model, train, "--min-confidence", "0,inf")[0])
        assert all(row["predicted_product"] and not row["predicted_sub_product"] for row in rows)
        path = tmp_path / "limits.json"
        path.write_text('{"Card": null}', encoding="utf-8")
        rows = read(run("predict", model, train, "--min-confidence", path)[0])
        assert {row["predicted_product"] for row in rows} == {"Loan", "Other", ""}
        out, _ = run("evaluate", model, train, "--min-confidence", "0.1,inf")
        assert "below the threshold of its level (0.1, inf)" in out
