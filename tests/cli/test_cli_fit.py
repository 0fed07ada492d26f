"""``hiclass fit``, run in this process."""

import datetime
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cli_helpers import HEADER, TARGET, columns, make_rows, write_csv
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from hiclass import (
    HierarchicalClassifier,
    LocalClassifierPerParentNode,
    TableFeatures,
    datasets,
)
from hiclass._cli import main
from hiclass._cli._models import load_model
from hiclass._cli._recipe import make_model, set_jobs


class TestFit:
    def test_columns_are_told_apart(self, fit):
        rows = [[*row, "same", "", f"{i}", row[1][0]] for i, row in enumerate(make_rows())]
        model, _, err = fit(rows, header=[*HEADER, "constant", "empty", "number", "code"])
        assert columns(model) == {
            "text": ["narrative"], "numbers": ["amount"], "categories": ["state", "code"],
            "dates": [],
        }  # fmt: skip
        assert model.target == TARGET
        assert "No column is named as a feature, so features are chosen automatically" in err
        assert "Features, text: narrative (9 words per cell)\n" in err
        assert "Features, numbers: amount (every cell is a number)\n" in err
        assert "Features, categories: state (2 different values); code (3 different values)" in err
        left_out = "id (a different value in every row); constant (the same value in every row)"
        assert f"Left out: {left_out}; empty (empty); number (it numbers the rows)\n" in err
        warning = (
            "warning: 'code' alone predicts 'product' correctly for 100% of the rows that have a "
            "'product' and a value in this column"
        )
        assert f"{warning} (the most frequent label is correct for 40%). If the column" in err
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
            ("sub_product", 1.5, "line 8: 1.5 in 'sub_product' cannot be a label: labels must"),
            ("sub_product", True, "line 8: True in 'sub_product' cannot be a label: labels must"),
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
        assert f"of the type {kind}. Convert the column to texts, or name another" in message

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
            (lambda row: [*row[:3], "", *row[4:]], "'narrative' contains no word of two"),
            (lambda row: [*row[:4], "NA", row[5]], "'amount' contains no number. Exclude it"),
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


class TestGroups:
    HEADER = (*HEADER, "customer")

    @pytest.fixture
    def path(self, tmp_path):
        rows = [[*row, f"customer {i // 4}"] for i, row in enumerate(make_rows())]
        return write_csv(tmp_path / "data.csv", rows, header=self.HEADER)

    @pytest.fixture
    def calls(self, monkeypatch):
        """The rows and groups of every fit."""
        calls = []
        whole = LocalClassifierPerParentNode.fit

        def fit(self, X, y, sample_weight=None, **more):
            calls.append((len(y), None if "groups" not in more else list(more["groups"])))
            return whole(self, X, y, sample_weight)

        monkeypatch.setattr(LocalClassifierPerParentNode, "fit", fit)
        return calls

    OPTIONS = ("--target", *TARGET, "--model", "parent", "--groups", "customer")

    def test_fit_gets_the_groups_and_they_are_no_feature(self, run, path, tmp_path, calls):
        _, err = run("fit", path, *self.OPTIONS, "-o", tmp_path / "m.skops")
        assert calls == [(60, [i // 4 for i in range(60)])]
        assert "Keeping together 15 groups of rows by customer\n" in err
        assert "customer (--groups)" in err
        assert "customer" not in load_model(str(tmp_path / "m.skops")).features.columns_

    def test_folds_keep_groups_together(self, run, path, tmp_path, calls):
        run("fit", path, *self.OPTIONS, "--cv", "3", "-o", tmp_path / "m.skops")
        *folds, (_, whole) = calls
        assert [n_rows for n_rows, _ in folds] == [len(groups) for _, groups in folds]
        for _, groups in folds:
            held_out = set(whole) - set(groups)
            # A group is in a fold with all of its rows, or with none.
            assert {groups.count(group) for group in set(groups)} == {4}
            assert len(held_out) * 4 + len(groups) == 60

    def test_rows_without_labels_lose_their_groups(self, run, path, tmp_path, calls):
        with path.open("a") as file:
            file.write("x,,,text,1,BY,\n")
        run("fit", path, *self.OPTIONS, "--skip-unlabelled", "-o", tmp_path / "m.skops")
        assert len(calls[0][1]) == 60

    @pytest.mark.parametrize(
        ("change", "options", "message"),
        [
            (lambda row: [*row[:-1], ""], [], "line 2: no group in 'customer'. Fill it in. A row"),
            (lambda row: [*row[:-1], "c"], [], "all rows have the same value in 'customer', so"),
            (list, ["--cv", "16"], "--cv 16 is more than the 15 groups of 'customer'. Use fewer"),
            (list, ["--categories", "customer"], "is named with --categories and with --groups"),
            (list, ["--groups", "product"], "'product' is named with --target and with --groups"),
            (list, ["--groups", "costumer"], "has no column 'costumer'. Did you mean 'customer'?"),
        ],
    )
    def test_groups_that_are_wrong_are_named(self, fails, tmp_path, change, options, message):
        rows = [change([*row, f"customer {i // 4}"]) for i, row in enumerate(make_rows())]
        path = write_csv(tmp_path / "data.csv", rows, header=self.HEADER)
        assert message in fails("fit", path, *self.OPTIONS, *options, "-o", tmp_path / "m.skops")
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("option", [["--optimize", "f1"], ["--effort", "quick"]])
def test_what_only_auto_takes_is_refused_elsewhere(fails, train, tmp_path, option):
    options = ["--target", *TARGET, "--model", "flat", *option, "-o", tmp_path / "m.skops"]
    message = fails("fit", train, *options)
    assert message.startswith(f"{' '.join(option)} is for --model auto; ")
    assert not list(tmp_path.iterdir())


class TestAuto:
    @pytest.fixture
    def fitted(self, run, train, tmp_path):
        """The file of the default model, and what was said while it was fitted."""
        options = ["--target", *TARGET, "--text", "narrative", "--optimize", "f1"]
        output = ["--effort", "quick", "-o", tmp_path / "m.skops"]
        return tmp_path / "m.skops", run("fit", train, *options, *output)[1]

    def test_it_is_the_estimator_of_the_library(self, fitted):
        (_, features), (_, classifier) = load_model(str(fitted[0])).pipeline.steps
        assert isinstance(features, TableFeatures)
        assert isinstance(classifier, HierarchicalClassifier)
        expected = HierarchicalClassifier(optimize="f1", effort="quick", random_state=0)
        assert classifier.get_params() == expected.get_params()

    def test_what_was_chosen_is_said_with_the_reason(self, fitted):
        path, err = fitted
        choices = load_model(str(path)).opened.model.choices_
        said = [line for line in err.splitlines() if line.startswith("  ")]
        assert said == [f"  {name}: {why}" for name, why in choices.items() if name != "features"]
        assert any(line.startswith("  model: ") for line in said)
        assert any(line.startswith("  why: ") for line in said)

    def test_without_options_it_decides_by_itself(self, monkeypatch):
        model = make_model("auto")
        assert model.get_params() == HierarchicalClassifier(random_state=0).get_params()

    def test_the_other_commands_take_it(self, run, fitted, train, tmp_path):
        path, _ = fitted
        vague = write_csv(tmp_path / "vague.csv", [["1", "Loan", "Car", "", "", ""]])
        out, _ = run("evaluate", path, vague, "--min-confidence", "1")
        assert out.splitlines()[-1].endswith("stop early, above a leaf: 1 below min_confidence 1")
        run("tune", path, train, "--precision", "0.5", "-o", tmp_path / "t.skops")
        assert "house again = " in run("explain", path, train, "--row", "2")[0]
        run("report", path, train, "-o", tmp_path / "r.html")
        assert "mortgage" in (tmp_path / "r.html").read_text(encoding="utf-8")

    def test_jobs_reach_what_was_chosen_and_stay_out_of_the_file(self, run, train, tmp_path):
        options = ["--target", *TARGET, "--text", "narrative", "--effort", "quick", "--jobs", "2"]
        run("fit", train, *options, "-o", tmp_path / "m.skops")
        model = load_model(str(tmp_path / "m.skops")).opened.model
        assert (model.n_jobs, model.model_.n_jobs) == (None, None)
        set_jobs(model, 2)
        assert (model.n_jobs, model.model_.n_jobs) == (2, 2)

    def test_features_before_it_cost_nothing(self):
        animals = datasets.load_animals(as_frame=True)
        X, y = animals.data, animals.target.to_numpy(dtype=object)
        model = make_model("auto", effort="quick")
        before = make_pipeline(TableFeatures(), clone(model)).fit(X, y)
        inside = clone(model).fit(X, y)
        np.testing.assert_array_equal(before.predict(X), inside.predict(X))
        assert before[-1].scaler_ is None  # columns of 0 and 1 are on one scale with scaled ones
