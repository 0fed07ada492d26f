"""The sub-commands, run in this process."""

import csv
import datetime
import io
import json
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cli_helpers import HEADER, TARGET, make_rows, write_csv

import hiclass
from hiclass._cli import main
from hiclass._cli._features import by_kind
from hiclass._cli._models import load_model
from hiclass._estimators.base import BaseHierarchicalClassifier


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


def columns(model):
    """The features of a model by kind."""
    return by_kind(model.features.columns_)


@pytest.fixture
def fit(run, tmp_path):
    """Fit on some rows; return the model."""

    def fit(rows=None, *arguments, header=HEADER, name="data.csv", target=TARGET):
        path = tmp_path / name
        if rows is not None:
            write_csv(path, rows, header=header)
        options = ["--target", *target, "--model", "parent", "-o", tmp_path / "m.skops"]
        out, err = run("fit", path, *options, *arguments)
        return load_model(str(tmp_path / "m.skops")), out, err

    return fit


class TestFit:
    def test_columns_are_told_apart(self, fit):
        rows = [[*row, "same", "", f"{i}", row[1][0]] for i, row in enumerate(make_rows())]
        model, _, err = fit(rows, header=[*HEADER, "constant", "empty", "number", "code"])
        assert columns(model) == {
            "text": ["narrative"], "numbers": ["amount"], "categories": ["state", "code"],
            "dates": [],
        }  # fmt: skip
        assert model.target == TARGET
        assert "No column is named as a feature, so the features are chosen by their cells" in err
        assert "Features, text: narrative (9 words per cell)\n" in err
        assert "Features, numbers: amount (every cell is a number)\n" in err
        assert "Features, categories: state (2 different values); code (3 different values)" in err
        left_out = "id (a different value in every row); constant (the same value in every row)"
        assert f"Left out: {left_out}; empty (empty); number (it numbers the rows)\n" in err
        warning = (
            "warning: 'code' alone gives the right 'product' for 100% of the rows that have a "
            "'product' and a value in this column"
        )
        assert f"{warning} (the commonest label is right for 40%). If it is not known yet" in err
        # Texts recur, and every class has amounts of its own.
        assert re.findall("warning: '(.*?)' alone", err) == ["narrative", "amount", "code"]

    def test_short_texts_with_many_values_are_texts(self, fit):
        rows = [[*row[:3], f"word{i % 55} hello", *row[4:]] for i, row in enumerate(make_rows(110))]
        model, _, _ = fit(rows, "--ignore", "amount", "id")
        assert columns(model)["text"] == ["narrative"]
        assert columns(model)["numbers"] == []

    def test_constant_numbers_and_other_types_are_left_out(self, fit, tmp_path):
        frame = pd.DataFrame(make_rows(), columns=HEADER).assign(
            one=1, day=pd.Timestamp("2024-1-1")
        )
        frame.to_parquet(tmp_path / "data.parquet")
        _, _, err = fit(None, name="data.parquet")
        assert "one, day (the same value in every row)" in err

    def test_named_columns_are_the_only_features(self, fit):
        model, _, err = fit(make_rows(), "--categories", "state", "--numbers", "amount")
        assert columns(model) == {
            "text": [], "numbers": ["amount"], "categories": ["state"], "dates": []
        }  # fmt: skip
        assert "Features, numbers: amount\nFeatures, categories: state\n" in err
        assert "Left out: id, narrative (not named)\n" in err
        assert "warning" not in err

    @pytest.mark.parametrize("name", ["node", "level", "flat", "auto"])
    def test_every_model_can_be_fitted_and_loaded(self, fit, name):
        model, _, err = fit(make_rows(), "--text", "narrative", "--model", name)
        assert f"Fitted {name} on 60 rows" in err
        assert model.opened.model.predict_proba is not None

    def test_integers_stay_integers(self, fit, run, tmp_path):
        frame = pd.DataFrame(make_rows(), columns=HEADER)
        codes = {name: i for i, name in enumerate(dict.fromkeys(frame["product"]), start=1)}
        frame = pd.DataFrame({"code": frame["product"].map(codes), "narrative": frame["narrative"]})
        frame.to_parquet(tmp_path / "data.parquet")
        model, _, _ = fit(None, name="data.parquet", target=["code"])
        assert set(model.opened.model.hierarchy_.labels[1:]) == {1, 2, 3}
        frame.to_csv(tmp_path / "test.csv", index=False)
        out, _ = run("evaluate", tmp_path / "m.skops", tmp_path / "test.csv")
        assert "1      code" in out
        frame.assign(code="x").to_csv(tmp_path / "test.csv", index=False)
        _, err = run("evaluate", tmp_path / "m.skops", tmp_path / "test.csv", status=2)
        assert "test.csv, line 2: the label 'x' in 'code' is not a whole number" in err

    def test_paths_with_a_gap_can_be_cut_and_rows_without_labels_left_out(self, fit, tmp_path):
        rows = [*make_rows(), ["x", "", "Car", "lost label", "1", "BY"]]
        _, _, err = fit(rows, "--truncate-gaps", "--skip-unlabelled")
        assert "Left out 1 row without labels" in err
        assert "Fitted parent on 60 rows" in err

    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("product", [1], "line 8: [1] in 'product' cannot be a label"),
            ("sub_product", 1.5, "line 8: 1.5 in 'sub_product' cannot be a label: labels are"),
            ("sub_product", True, "line 8: True in 'sub_product' cannot be a label: labels are"),
            (
                "product",
                10**60,
                f"line 8: 1{'0' * 46}... in 'product' is of the type int, but 'Loan'",
            ),
            ("amount", 10**400, "line 8: '1000000000"),
        ],
    )
    def test_cells_of_json_that_are_no_labels_or_numbers(
        self, fails, tmp_path, column, value, message
    ):
        records = [dict(zip(HEADER, row, strict=True)) for row in make_rows()]
        records[7][column] = value
        path = tmp_path / "data.jsonl"
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        options = ["--target", *TARGET, "--numbers", "amount", "-o", tmp_path / "m.skops"]
        found = fails("fit", path, *options)
        assert message in found
        if column == "amount":
            assert "in the column 'amount' is too large a number. Correct it" in found

    def test_huge_integers_and_half_characters_need_not_stop_a_fit(self, fit, tmp_path):
        records = [dict(zip(HEADER, row, strict=True)) for row in make_rows()]
        records[7].update(id=10**400, narrative="half \ud800 of a character")
        lines = "\n".join(map(json.dumps, records))
        (tmp_path / "data.jsonl").write_text(lines, encoding="utf-8")
        model, _, _ = fit(None, name="data.jsonl")
        assert columns(model)["text"] == ["narrative"]

    @pytest.mark.parametrize(
        ("label", "kind"),
        [
            (True, "bool"),
            (pd.Timestamp("2024-01-02"), "Timestamp"),
            (datetime.date(2024, 1, 2), "date"),
            (datetime.time(10), "time"),
            (b"x", "bytes"),
            (Decimal("1.5"), "Decimal"),
        ],
    )
    def test_labels_that_no_model_file_holds_are_refused(self, fails, tmp_path, label, kind):
        frame = pd.DataFrame(make_rows(), columns=HEADER).assign(product=[None, *[label] * 59])
        frame["sub_product"] = ""
        frame.to_parquet(tmp_path / "data.parquet")
        command = ["--target", "product", "--text", "narrative", "--skip-unlabelled"]
        message = fails("fit", tmp_path / "data.parquet", *command, "-o", tmp_path / "m.skops")
        assert f"data.parquet, row 2: {label!r} in 'product' cannot be a label" in message
        assert f"of the type {kind}. Write the column as texts, or name another" in message

    def test_whole_decimal_numbers_are_labels_and_decimal_numbers_are_features(
        self, fit, run, tmp_path
    ):
        frame = pd.DataFrame(make_rows(), columns=HEADER)
        codes = {"Loan": Decimal(1), "Card": Decimal(2), "Other": Decimal(3)}
        frame["product"] = frame["product"].map(codes)
        frame["amount"] = [Decimal(i % 40) / 4 for i in range(60)]
        frame.to_parquet(tmp_path / "data.parquet")
        model, _, _ = fit(None, name="data.parquet", target=["product"])
        assert set(model.opened.model.hierarchy_.labels[1:]) == {1, 2, 3}
        assert columns(model)["numbers"] == ["amount"]
        run("evaluate", tmp_path / "m.skops", tmp_path / "data.parquet")

    def test_only_rows_with_labels_decide_which_columns_are_features(self, fit, run, tmp_path):
        # "verdict" is filled in, and "amount" no number, only where there is no label.
        rows = [[*row, ""] for row in make_rows()]
        rows[30:30] = [[f"n{i}", "", "", "x", "much", "BY", f"{i}"] for i in range(30)]
        model, _, err = fit(rows, "--skip-unlabelled", header=[*HEADER, "verdict"])
        assert columns(model) == {
            "text": ["narrative"], "numbers": ["amount"], "categories": ["state"], "dates": []
        }  # fmt: skip
        assert "verdict (empty)" in err
        out, _ = run("evaluate", tmp_path / "m.skops", tmp_path / "data.csv", "--skip-unlabelled")
        assert out.splitlines()[1].split()[:4] == ["1", "product", "3", "60"]
        rows[-1][4] = "more"
        path = write_csv(tmp_path / "data.csv", rows, header=[*HEADER, "verdict"])
        _, err = run("evaluate", tmp_path / "m.skops", path, "--skip-unlabelled", status=2)
        assert "data.csv, line 91: 'more' in the column 'amount' is not" in err

    def test_every_column_has_its_reason_however_many_there_are(self, fit):
        header = [*HEADER, *(f"n{i}" for i in range(25)), *(f"e{i}" for i in range(25))]
        rows = [
            [*row, *(f"{(i * j) % 7}" for j in range(1, 26)), *[""] * 25]
            for i, row in enumerate(make_rows(), start=1)
        ]
        for row in rows:
            row[HEADER.index("amount")] = ""
        _, _, err = fit(rows, header=header)
        numbers = [f"n{i}" for i in range(25) if (i + 1) % 7]
        shown = f"{', '.join(numbers[:20])} and 2 more (every cell is a number)"
        assert f"Features, numbers: {shown}\n" in err
        empty = ", ".join(["amount", *(f"e{i}" for i in range(25))])
        constant = "n6, n13, n20 (the same value in every row)"
        unique = "id (a different value in every row)"
        assert f"Left out: {unique}; {empty} (empty); {constant}\n" in err

    def test_cross_validation_writes_scores_out_of_fold(self, fit):
        _, out, err = fit(make_rows(), "--text", "narrative", "--cv", "3")
        assert out.startswith("Scores out of fold, 3 folds\n")
        level_1 = next(line for line in out.splitlines() if line.startswith("1 "))
        assert level_1.split()[:5] == ["1", "product", "3", "60", "100%"]
        assert float(level_1.split()[5]) > 0.8
        assert "Fold 3 of 3" in err

    def test_a_deep_row_that_only_one_fold_has_is_no_problem(self, fit):
        rows = [[*row[:2], "", *row[3:]] for row in make_rows()]
        rows[3][2] = "rare"
        _, out, _ = fit(rows, "--text", "narrative", "--cv", "2")
        assert "over all levels" in out

    def test_the_same_seed_gives_the_same_model_with_any_number_of_jobs(self, fit, tmp_path):
        files = []
        for jobs in ("1", "2"):
            model, _, _ = fit(make_rows(), "--jobs", jobs, "--seed", "3")
            classifiers = model.opened.model.local_classifiers_
            files.append({path: fitted.coef_ for path, fitted in classifiers.items()})
        for path, coef in files[0].items():
            np.testing.assert_array_equal(coef, files[1][path])

    def test_a_model_can_go_through_a_pipe(self, train, tmp_path, capfdbinary):
        assert main(["fit", train, "--target", *TARGET, "--model", "parent", "-q", "-o", "-"]) == 0
        (tmp_path / "m.skops").write_bytes(capfdbinary.readouterr().out)
        assert load_model(str(tmp_path / "m.skops")).target == TARGET

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--text", "naratives"], "has no column 'naratives'. Did you mean 'narrative'?"),
            (["--text", "product"], "'product' is named twice, as target and as text"),
            (["--text", "id", "--numbers", "id"], "named twice, as text and as numbers"),
            (["--numbers", "state"], "line 2: 'BY' in the column 'state' is not a number. Correct"),
            (["--ignore", "x"], "has no column 'x'"),
            (["--text", "id", "--ignore", "id"], "'id' is named with --text and with --ignore"),
            (["--ignore", "narrative", "amount", "state"], "no column that can be a feature (id: "),
            (["--cv", "70"], "--cv 70 is more than the 60 rows. Use fewer folds."),
            (["--target", "product", "product"], "--target names the column 'product' twice"),
        ],
    )
    def test_wrong_columns_are_named(self, fails, train, tmp_path, arguments, message):
        options = ["--target", *TARGET, *arguments, "--model", "parent", "-o", tmp_path / "m.skops"]
        assert message in fails("fit", train, *options)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda row: ["", "", "", *row[3:]],
                "no label in 'product'. Fill it in, or use --skip",
            ),
            (lambda row: [row[0], "A", "B", *row[3:]], "every row has the same labels"),
            (lambda row: [*row[:3], "", *row[4:]], "'narrative' holds no word of two letters"),
            (lambda row: [*row[:4], "NA", row[5]], "'amount' holds no number. Leave it out"),
            (
                lambda row: [*row[:4], "1_000", row[5]],
                "'1_000' in the column 'amount' is not a number",
            ),
        ],
    )
    def test_rows_without_use_are_named(self, fails, tmp_path, change, message):
        path = write_csv(tmp_path / "data.csv", [change(row) for row in make_rows()])
        options = ["--target", *TARGET, "--text", "narrative", "--numbers", "amount"]
        assert message in fails("fit", path, *options, "-o", tmp_path / "m.skops")
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("option", "remedy"),
        [
            ([], "Fill it in, or use --truncate-gaps to end such paths at the gap."),
            (["--skip-unlabelled"], "Fill it in, or use --truncate-gaps to end such paths"),
        ],
    )
    def test_a_gap_names_line_column_and_remedy(self, fails, tmp_path, option, remedy):
        rows = [*make_rows(5), ["x", "", "Car", "text", "1", "BY"]]
        path = write_csv(tmp_path / "data.csv", rows)
        message = fails("fit", path, "--target", *TARGET, *option, "-o", tmp_path / "m.skops")
        assert "data.csv, line 7: 'sub_product' has a label ('Car') but 'product', one" in message
        assert remedy in message

    def test_no_label_at_all(self, fails, tmp_path):
        path = write_csv(tmp_path / "data.csv", [["x", "", "", "text", "1", "BY"]])
        options = ["--target", *TARGET, "--skip-unlabelled", "-o", tmp_path / "m.skops"]
        assert "no row has a label in 'product'" in fails("fit", path, *options)

    def test_only_targets(self, fails, tmp_path):
        path = write_csv(tmp_path / "data.csv", [["A"], ["B"]], header=["a"])
        message = fails("fit", path, "--target", "a", "-o", tmp_path / "m.skops")
        assert "has no column that can be a feature (only targets)" in message


class TestPredict:
    def test_labels_and_confidences_follow_the_input(self, run, model, train):
        out, err = run("predict", model, train)
        rows = read(out)
        assert list(rows[0]) == [
            *HEADER, "predicted_product", "confidence_product",
            "predicted_sub_product", "confidence_sub_product",
        ]  # fmt: skip
        assert [row["id"] for row in rows] == [row[0] for row in make_rows()]
        assert np.mean([row["predicted_product"] == row["product"] for row in rows]) > 0.9
        for row in rows:
            ended = row["predicted_sub_product"] == ""
            assert ended == (row["confidence_sub_product"] == "")
            if not ended:
                assert float(row["confidence_sub_product"]) <= float(row["confidence_product"]) <= 1
        assert "Read" in err
        assert "Wrote" not in err

    def test_min_confidence_ends_paths(self, run, model, tmp_path):
        vague = write_csv(tmp_path / "vague.csv", [["1", "", "", "", "150", ""]] * 3)
        everything, nothing = (
            read(run("predict", model, vague, "--keep", "--min-confidence", p, "-q")[0])
            for p in ("0", "1")
        )
        assert all(row["predicted_product"] for row in everything)
        assert not any(row["predicted_product"] for row in nothing)
        assert list(nothing[0]) == [
            "predicted_product", "confidence_product",
            "predicted_sub_product", "confidence_sub_product",
        ]  # fmt: skip

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
    def test_every_format_goes_in_and_out(self, run, model, train, tmp_path, suffix):
        output = tmp_path / f"out.{suffix}"
        _, err = run("predict", model, train, "-o", output)
        assert f"Wrote {output}: 60 rows" in err
        again, _ = run("predict", model, output, "--keep", "id", "-q")
        first, _ = run("predict", model, train, "--keep", "id", "-q")
        assert again == first

    def test_confidences_are_floating_point_numbers_in_parquet(self, run, shared, tmp_path):
        output = tmp_path / "out.parquet"
        vague = write_csv(tmp_path / "vague.csv", [["1", "", "", "", "150", ""]] * 3)
        run("predict", shared / "model.skops", vague, "-o", output, "--min-confidence", "1")
        frame = pd.read_parquet(output)
        assert [frame[f"confidence_{name}"].dtype for name in TARGET] == [np.float64] * 2
        assert frame["confidence_product"].isna().all()

    def test_rows_need_no_target(self, run, model, tmp_path):
        path = write_csv(tmp_path / "new.csv", [r[3:] for r in make_rows(3)], header=HEADER[3:])
        assert len(read(run("predict", model, path)[0])) == 3

    def test_standard_input_to_json_lines(self, run, model, stdin, tmp_path):
        stdin(write_csv(tmp_path / "new.csv", make_rows(2)).read_bytes())
        out, _ = run("predict", model, "-", "--output-format", "jsonl", "--jobs", "2")
        assert [json.loads(line)["id"] for line in out.splitlines()] == ["c0", "c1"]

    def test_unknown_categories_and_missing_cells_are_fine(self, run, model, tmp_path):
        path = write_csv(tmp_path / "new.csv", [["1", "", "", "", "", "Mars"], [""] * 6])
        assert len(read(run("predict", model, path)[0])) == 2

    def test_cells_that_start_a_formula_are_safe(self, run, fit, tmp_path):
        rows = [[*row[:3], f"=cmd() and {row[3]}", *row[4:]] for row in make_rows()]
        for row in rows:
            row[1] = {"Loan": "=LOAN()", "Card": "+Card", "Other": "@Other"}[row[1]]
        fit(rows, "--text", "narrative")
        path = write_csv(tmp_path / "new.csv", rows)
        out, _ = run("predict", tmp_path / "m.skops", path)
        cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
        assert {"'=LOAN()", "'+Card", "'@Other"} <= set(cells)
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "-"))]
        raw, _ = run("predict", tmp_path / "m.skops", path, "--unprotected")
        assert "=LOAN()" in raw
        assert "'" not in raw

    def test_a_column_of_the_same_name_is_refused(self, fails, model, tmp_path):
        rows = [[*row, "x"] for row in make_rows(3)]
        path = write_csv(tmp_path / "new.csv", rows, header=[*HEADER, "predicted_product"])
        assert "already has a column 'predicted_product'" in fails("predict", model, path)

    def test_missing_and_wrong_columns(self, fails, model, tmp_path):
        path = write_csv(tmp_path / "new.csv", [["a", "b"]], header=["id", "narrative"])
        assert "has no column 'amount'" in fails("predict", model, path)
        path = write_csv(tmp_path / "new.csv", [["a b", "x", "BY"]], header=HEADER[3:])
        message = fails("predict", model, path, "-o", tmp_path / "out.csv")
        assert "new.csv, line 2: 'x' in the column 'amount' is not a number" in message
        assert not (tmp_path / "out.csv").exists()

    def test_an_unwritable_output_leaves_nothing(self, fails, model, train, tmp_path):
        assert "is a folder" in fails("predict", model, train, "-o", tmp_path)
        assert "No space left" in fails("predict", model, train, "-o", "/dev/full")
        assert not list(tmp_path.iterdir())


class TestEvaluate:
    def test_scores_per_level_and_over_all(self, run, model, train):
        out, _ = run("evaluate", model, train)
        lines = out.splitlines()
        assert lines[0].split() == [
            "level", "name", "classes", "here", "rows", "reached",
            "accuracy", "precision", "recall", "F1",
        ]  # fmt: skip
        assert lines[1].split()[:4] == ["1", "product", "3", "60"]
        assert lines[2].split()[:4] == ["2", "sub_product", "4", "48"]
        table = hiclass.metrics.level_scores  # the figures are those of the library
        frame = pd.read_csv(train, dtype=str, keep_default_na=False)
        predicted = pd.DataFrame(read(run("predict", model, train, "-q")[0]))
        y, found = (
            frame[TARGET].to_numpy(dtype=object),
            predicted[[f"predicted_{name}" for name in TARGET]].to_numpy(dtype=object),
        )
        scores = table(y, found, zero_division=0.0)
        assert lines[2].split()[5] == f"{scores['accuracy'][1]:.3f}"
        assert f"F1 {hiclass.metrics.f1(y, found):.3f}" in lines[3]

    def test_confidences_are_not_computed(self, run, model, train, monkeypatch):
        def refuse(self, X):
            raise AssertionError

        monkeypatch.setattr(BaseHierarchicalClassifier, "predict_confidence", refuse)
        assert "whole path right" in run("evaluate", model, train)[0]

    def test_labels_that_were_never_seen_are_wrong_not_an_error(self, run, model, tmp_path):
        rows = [[row[0], "New", "Class", *row[3:]] for row in make_rows(5)]
        out, _ = run("evaluate", model, write_csv(tmp_path / "test.csv", rows))
        assert "whole path right 0.000" in out

    def test_nothing_is_certain_enough(self, run, model, tmp_path):
        vague = write_csv(tmp_path / "vague.csv", [["1", "Loan", "Car", "", "150", ""]] * 3)
        out, _ = run("evaluate", model, vague, "--min-confidence", "1")
        assert out.splitlines()[1].split()[4] == "0%"

    def test_a_folder_as_report_is_refused_first(self, fails, model, train, tmp_path):
        assert "is a folder" in fails("evaluate", model, train, "--report", tmp_path)

    def test_the_report_is_written_whole_and_shows_labels_as_text(self, run, fit, tmp_path):
        rows = [[row[0], f"<script>{row[1]}</script>", *row[2:]] for row in make_rows()]
        path = write_csv(tmp_path / "data.csv", rows)
        fit(None)
        report = tmp_path / "report.html"
        out, err = run("evaluate", tmp_path / "m.skops", path, "--report", report)
        assert "over all levels" in out
        assert f"Wrote {report}" in err
        text = report.read_text(encoding="utf-8")
        assert text.lstrip().lower().startswith("<!doctype html")
        assert "<script>Loan" not in text
        assert "mortgage" in text  # the strongest features have their names
        assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "m.skops", "report.html"]

    def test_rows_are_in_the_report_only_if_asked_for(self, run, model, tmp_path):
        rows = [[*row, f"marked {i}"] for i, row in enumerate(make_rows())]
        rows[5][1:3] = rows[17][1:3] = ["Card", "Debit"]
        # A row without a label, which is left out, must not shift the texts of the others.
        rows.insert(0, ["x", "", "", "nothing", "1", "BY", "marked as unlabelled"])
        path = write_csv(tmp_path / "data.csv", rows, header=[*HEADER, "remark"])
        report = tmp_path / "report.html"
        command = ["evaluate", model, path, "--report", report, "--skip-unlabelled"]
        run(*command)
        assert "marked" not in report.read_text(encoding="utf-8")
        run(*command, "--examples", "remark")
        shown = {int(i) for i in re.findall(r"marked (\d+)", report.read_text(encoding="utf-8"))}
        out, _ = run("predict", model, path, "--keep", *TARGET)
        wrong = {
            i
            for i, row in enumerate(read(out)[1:])
            if any(row[name] != row[f"predicted_{name}"] for name in TARGET)
        }
        assert {5, 17} <= wrong
        assert shown == wrong

    def test_examples_that_cannot_be_shown_are_refused(self, fails, model, train, tmp_path):
        report = ["--report", tmp_path / "report.html"]
        message = fails("evaluate", model, train, *report, "--examples", "narative")
        assert message == f"{train} has no column 'narative'. Did you mean 'narrative'?"
        message = fails("evaluate", model, train, "--examples", "narrative")
        assert message == "--examples puts rows into the report. Give --report FILE as well."
        assert list(tmp_path.iterdir()) == []

    def test_the_report_gets_the_features_of_the_model_by_name(self, model, run, train):
        loaded = load_model(model)
        frame = pd.DataFrame(make_rows(), columns=HEADER)
        names = loaded.features.get_feature_names_out()
        X = loaded.opened.transform(frame[list(loaded.features.columns_)])
        assert len(names) == X.shape[1] == loaded.opened.model.n_features_in_
        assert {"mortgage", "amount", "state=BY", "state=NA"} <= set(names)

    def test_two_columns_of_text_name_their_words(self, fit):
        loaded, _, _ = fit(make_rows(), "--text", "narrative", "state")
        names = loaded.features.get_feature_names_out()
        assert {"narrative: mortgage", "state: by"} <= set(names)

    def test_labels_of_mixed_types_are_taken_as_they_are(self, fit, run, tmp_path):
        lines = [
            json.dumps({"kind": row[1], "number": i % 2, "text": row[3]})
            for i, row in enumerate(make_rows())
        ]
        (tmp_path / "data.jsonl").write_text("\n".join(lines), encoding="utf-8")
        fit(None, "--text", "text", name="data.jsonl", target=["kind", "number"])
        out, _ = run("evaluate", tmp_path / "m.skops", tmp_path / "data.jsonl")
        assert "2      number" in out


class TestTree:
    def test_counts_and_shape(self, run, train):
        out, _ = run("tree", train, "--target", *TARGET)
        assert out.splitlines() == [
            "├── Card  24",
            "│   ├── Credit  12",
            "│   └── Debit  12",
            "├── Loan  24",
            "│   ├── Car  12",
            "│   └── House  12",
            "└── Other  12",
            "60 rows, 7 classes, 2 levels, 5 leaves",
        ]

    def test_a_level_can_be_the_last_one_shown(self, run, train):
        out, _ = run("tree", train, "--target", *TARGET, "--depth", "1")
        assert out.splitlines()[:3] == [
            "├── Card  24 (2 below)",
            "├── Loan  24 (2 below)",
            "└── Other  12",
        ]

    def test_rows_that_end_early_are_counted(self, run, tmp_path):
        path = write_csv(tmp_path / "d.csv", [["A", "x"], ["A", ""], ["A", ""]], header=["a", "b"])
        out, _ = run("tree", path, "--target", "a", "b")
        assert out.splitlines()[-1] == (
            "3 rows, 2 classes, 2 levels, 1 leaf; 2 rows end at an inner class"
        )
        path = write_csv(tmp_path / "d.csv", [["A", "x"], ["A", ""]], header=["a", "b"])
        out, _ = run("tree", path, "--target", "a", "b")
        assert out.splitlines()[-1].endswith("; 1 row ends at an inner class")

    def test_control_characters_in_labels_do_nothing(self, run, tmp_path):
        path = write_csv(tmp_path / "d.csv", [["\x1b[2Jgone"], ["two\nlines"]], header=["a"])
        out, _ = run("tree", path, "--target", "a")
        assert out.splitlines()[:2] == ["├── \\x1b[2Jgone  1", "└── two\\nlines  1"]


def test_control_characters_in_names_of_columns_do_nothing(run, tmp_path):
    header = ["id", "\x1b[2Jproduct", "sub_product", "\x1b[31mnarrative", "amount", "sta\x07te"]
    path = write_csv(tmp_path / "d.csv", make_rows(), header=header)
    options = ["--target", header[1], "--model", "parent", "-o", tmp_path / "m.skops"]
    shown = [*run("fit", path, *options), *run("evaluate", tmp_path / "m.skops", path)]
    shown += run("tree", path, "--target", "nothing", status=2)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", "".join(shown))
    assert "Features, text: \\x1b[31mnarrative" in shown[1]
    assert "1      \\x1b[2Jproduct" in shown[2]
    assert "sta\\x07te" in shown[-1]


def test_warnings_are_one_line_each(run, tmp_path):
    rows = [
        [*row[:1], row[1].lower() if i % 2 else row[1], *row[2:]]
        for i, row in enumerate(make_rows())
    ]
    path = write_csv(tmp_path / "d.csv", rows)
    with warnings.catch_warnings():
        _, err = run(
            "fit", path, "--target", "product", "--text", "narrative",
            "--model", "parent", "-o", tmp_path / "m",
        )  # fmt: skip
    (line,) = [line for line in err.splitlines() if line.startswith("warning:")]
    assert "differ only by case" in line
