"""The sub-commands, run in this process."""

import csv
import io
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from cli_helpers import HEADER, TARGET, make_rows, read, write_csv

import hiclass
from hiclass._cli._models import load_model
from hiclass._estimators.base import BaseHierarchicalClassifier


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
        assert "exact match" in run("evaluate", model, train)[0]

    def test_labels_that_were_never_seen_are_wrong_not_an_error(self, run, model, tmp_path):
        rows = [[row[0], "New", "Class", *row[3:]] for row in make_rows(5)]
        out, _ = run("evaluate", model, write_csv(tmp_path / "test.csv", rows))
        assert "exact match 0.000" in out

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
        assert message == "--examples is for the report. Add --report FILE."
        message = fails("evaluate", model, train, "--label-errors")
        assert message == "--label-errors is for the report. Add --report FILE."
        message = fails("evaluate", model, train, "--compare", train)
        assert message == "--compare is for the report. Add --report FILE."
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


class TestBaseline:
    def test_a_flat_model_is_scored_beside_the_model(self, run, model, train):
        out, err = run("evaluate", model, train, "--baseline", train)
        lines = out.splitlines()
        flat = next(line for line in lines if line.startswith("flat baseline:"))
        ours = next(line for line in lines if line.startswith("over all levels:"))
        both = [[float(x) for x in re.findall(r"\d\.\d{3}", line)] for line in (ours, flat)]
        found = re.fullmatch(r"model minus flat baseline: F1 (.*), exact match (.*)", lines[5])
        for i, gain in ((2, found[1]), (3, found[2])):
            assert float(gain) == pytest.approx(both[0][i] - both[1][i], abs=0.0011)
            assert gain[0] in "+-"
        assert "Fitting a flat model over all leaves, to compare" in err

    def test_a_file_that_is_not_there_or_standard_input_is_refused(self, fails, model, train):
        assert "no.csv cannot be read" in fails("evaluate", model, train, "--baseline", "no.csv")
        assert "not standard input" in fails("evaluate", model, train, "--baseline", "-")

    def test_a_file_that_lacks_labels_is_named(self, fails, model, train, tmp_path):
        rows = [row[3:] for row in make_rows()]
        path = write_csv(tmp_path / "b.csv", rows, header=HEADER[3:])
        message = fails("evaluate", model, train, "--baseline", path)
        assert "b.csv has no column 'product'" in message


class TestExplain:
    def test_a_row_is_explained_as_text(self, run, model, train):
        out, _ = run("explain", model, train, "--row", "2", "--top", "2", "--runners-up", "1")
        lines = out.splitlines()
        assert lines[:2] == [f"{train}, line 3", "true: Loan > House"]
        assert lines[2].startswith("Loan > House (probability ")
        assert "   runner-up: Card" in out
        assert len(re.findall(r"^     [+-]", out, flags=re.MULTILINE)) == 6  # 2 and the rest, twice

    def test_the_explanation_is_that_of_the_library(self, run, model, train):
        out, _ = run("explain", model, train, "--row", "7")
        loaded = hiclass.load(model)
        frame = pd.read_csv(train, dtype=str, keep_default_na=False)
        assert str(hiclass.explain(loaded, frame[list(loaded.feature_names_in_)].iloc[[6]])) in out

    def test_rows_need_no_labels(self, run, model, tmp_path):
        path = write_csv(tmp_path / "new.csv", [r[3:] for r in make_rows(3)], header=HEADER[3:])
        assert "true:" not in run("explain", model, path)[0]
        empty = write_csv(tmp_path / "empty.csv", [["1", "", "", "rate", "1", "BY"]])
        assert "true:" not in run("explain", model, empty)[0]

    def test_a_page_and_data_by_the_name_of_the_output(self, run, model, tmp_path):
        rows = make_rows(3)
        rows[0][1] = "<b>Loan</b>"
        path = write_csv(tmp_path / "d.csv", rows)
        _, err = run("explain", model, path, "-o", tmp_path / "why.html")
        assert f"Wrote {tmp_path / 'why.html'}" in err
        page = (tmp_path / "why.html").read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert "true: &lt;b&gt;Loan&lt;/b&gt; &gt; Car" in page
        run("explain", model, path, "-o", tmp_path / "why.json")
        data = json.loads((tmp_path / "why.json").read_text(encoding="utf-8"))
        assert data["true"] == ["<b>Loan</b>", "Car"]
        assert data["path"] == [step["label"] for step in data["steps"]]
        run("explain", model, path, "-o", tmp_path / "why.txt")
        text = (tmp_path / "why.txt").read_text(encoding="utf-8")
        assert text == run("explain", model, path)[0]

    def test_control_characters_in_labels_do_nothing(self, run, model, tmp_path):
        rows = make_rows(1)
        rows[0][1] = "\x1b[2JLoan"
        out, _ = run("explain", model, write_csv(tmp_path / "d.csv", rows))
        assert "\x1b" not in out

    def test_a_row_that_is_not_there_or_wrong_is_named(self, fails, model, train, tmp_path):
        message = fails("explain", model, train, "--row", "61")
        assert message == (
            f"--row 61 does not exist: {train} has 60 rows. Use a number from 1 to 60."
        )
        rows = make_rows(3)
        rows[2][4] = "many"
        path = write_csv(tmp_path / "d.csv", rows)
        message = fails("explain", model, path, "--row", "3", "-o", tmp_path / "why.html")
        assert "d.csv, line 4: 'many' in the column 'amount' is not a number" in message
        assert list(tmp_path.iterdir()) == [path]


def shown_in(page):
    """The data of a report."""
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text("utf-8"), re.S)
    return json.loads(found[1])


class TestReport:
    def test_it_is_the_report_of_evaluate(self, run, model, train, tmp_path):
        options = ["--examples", "id", "--min-confidence", "0.9", "--label-errors"]
        options += ["--compare", train]
        _, err = run("report", model, train, *options, "-o", tmp_path / "a.html")
        assert f"Wrote {tmp_path / 'a.html'}" in err
        run("evaluate", model, train, *options, "--report", tmp_path / "b.html")
        pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "b.html")]
        assert pages[0] == pages[1]
        assert "train.csv" in pages[0]
        shown = shown_in(tmp_path / "b.html")
        assert all(shown[section] for section in ("automation", "label_errors", "use"))

    def test_it_has_a_title(self, run, model, train, tmp_path):
        run("report", model, train, "--title", "How <good>?", "-o", tmp_path / "a.html")
        page = (tmp_path / "a.html").read_text(encoding="utf-8")
        assert "How &lt;good&gt;?" in page
        assert "How <good>?" not in page

    def test_it_needs_a_file(self, fails, model, train, tmp_path):
        assert "-o needs the name of a file" in fails("report", model, train, "-o", "-")
        assert "is a folder" in fails("report", model, train, "-o", tmp_path)

    def test_it_shows_wrong_labels_and_changes_only_if_asked_for(self, run, model, tmp_path):
        rows = make_rows(120)
        wrong = next(i for i, row in enumerate(rows) if i > 20 and row[1:3] == ["Loan", "Car"])
        rows[wrong][1:3] = ["Card", "Debit"]
        now = write_csv(tmp_path / "now.csv", rows)
        cars = [row for row in make_rows(1000) if row[1:3] == ["Loan", "Car"]]
        then = write_csv(tmp_path / "then.csv", cars)
        page = tmp_path / "a.html"
        run("report", model, now, "-o", page)
        assert (shown_in(page)["label_errors"], shown_in(page)["use"]) == (None, None)
        _, err = run("report", model, now, "-o", page, "--label-errors", "--compare", then)
        assert "Fitting copies of the model" in err
        assert f"Read {then}: 200 rows" in err
        shown = shown_in(page)
        # The same rows as those of the command, which counts from 1.
        out, _ = run("label-errors", model, now, "--rows", "10", "-q")
        found = [row["row"] + 1 for row in shown["label_errors"]["table"]]
        assert found[:10] == [int(row["row"]) for row in read(out)]
        assert wrong + 1 in found[:10]
        use = shown["use"]
        assert (use["then"], use["now"]) == (200, 120)
        out, _ = run("compare", model, then, now, "-q")
        changed = [line.split(": ")[0] for line in out.splitlines()[1:]]
        assert [row["what"] for row in use["tests"][: use["changed"]]] == changed != []

    def test_wrong_labels_have_their_row_numbers_in_the_file(self, run, model, tmp_path):
        rows = make_rows(60)
        rows[4][1:3] = rows[9][1:3] = ["", ""]
        path, page = write_csv(tmp_path / "gaps.csv", rows), tmp_path / "a.html"
        run("report", model, path, "-o", page, "--label-errors", "--skip-unlabelled")
        for row in shown_in(page)["label_errors"]["table"]:
            assert row["given"] == [label for label in rows[row["row"]][1:3] if label]

    def test_what_cannot_be_checked_is_said(self, fails, model, train, tmp_path):
        report = ["report", model, train, "-o", tmp_path / "a.html"]
        assert "--compare needs the name of a file" in fails(*report, "--compare", "-")
        few = write_csv(tmp_path / "few.csv", make_rows(60)[:1])
        message = fails("report", model, few, "-o", tmp_path / "a.html", "--label-errors")
        assert message.startswith(f"{few}: ")
        short = write_csv(tmp_path / "short.csv", [row[:4] for row in make_rows(5)], HEADER[:4])
        assert "short.csv has no column 'amount'" in fails(*report, "--compare", short)
        assert not (tmp_path / "a.html").exists()


class TestTune:
    @pytest.fixture
    def hard(self, tmp_path):
        """Rows with wrong labels, of which the model is unsure, beside good ones."""
        rows = make_rows()
        for i, row in enumerate(rows):
            if i % 3 == 0:
                row[1:3] = ["Card", "Debit"]
                row[3:] = ["", "150", ""]
        return write_csv(tmp_path / "hard.csv", rows)

    def test_the_precision_is_reached_on_these_rows(self, run, model, hard, tmp_path):
        tuned = tmp_path / "tuned.skops"
        out, err = run("tune", model, hard, "--precision", "0.9", "-o", tuned)
        header, before, after = (line.split() for line in out.splitlines())
        assert header[:3] == ["min_confidence", "precision", "recall"]
        assert (before[0], before[1], after[0]) == ("before", "0", "tuned")
        assert float(before[2]) < 0.9 <= float(after[2])
        limit = load_model(str(tuned)).opened.model.min_confidence
        assert 0 < limit <= 1
        assert f"Wrote {tuned}: min_confidence {limit:.4g}, chosen on 60 rows. Evaluate it" in err
        precision = re.search(r"hierarchical precision (\S+),", run("evaluate", tuned, hard)[0])
        assert precision[1] == after[2]
        assert load_model(model).opened.model.min_confidence == 0

    def test_nothing_is_truncated_where_nothing_has_to_be(self, run, model, train, tmp_path):
        tuned = tmp_path / "tuned.skops"
        _, err = run("tune", model, train, "--precision", "0.5", "-o", tuned)
        assert load_model(str(tuned)).opened.model.min_confidence == 0
        assert "min_confidence 0, chosen on 60 rows, whose paths reach the precision without" in err

    def test_a_precision_that_is_not_reached_leaves_nothing(self, fails, model, tmp_path):
        rows = [[row[0], "Card", "Debit", "mortgage house", "100", "BY"] for row in make_rows(4)]
        path = write_csv(tmp_path / "wrong.csv", rows)
        message = fails("tune", model, path, "-o", tmp_path / "tuned.skops")
        assert "wrong.csv: No threshold reaches a precision of 0.95; the best is 0.0" in message
        assert list(tmp_path.iterdir()) == [path]

    def test_an_output_that_cannot_be_written_is_refused_first(self, fails, model, train, tmp_path):
        assert "there is no folder" in fails("tune", model, train, "-o", tmp_path / "no" / "m")


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


def test_a_report_whose_name_ends_with_md_is_a_model_card(run, model, train, tmp_path):
    run("report", model, train, "-o", tmp_path / "card.md")
    run("evaluate", model, train, "--report", tmp_path / "same.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert card == (tmp_path / "same.md").read_text(encoding="utf-8")
    assert "# train.csv" in card
