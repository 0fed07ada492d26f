"""``hiclass fit --add``: rows that people have reviewed are learned; what they change is said."""

import pytest
from cli_helpers import HEADER, TARGET, make_rows, write_csv

from hiclass._cli._models import load_model

REVIEWED = [*HEADER, "review", "review_suggestion", "review_comment", "review_by", "review_at"]


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "data.csv", make_rows(40))


@pytest.fixture
def reviewed(tmp_path):
    rows = [
        [*row, "corrected" if i % 4 else "accepted", "1", "", "a", "t"]
        for i, row in enumerate(make_rows(20))
    ]
    rows[0][1:3] = ["Card", "Gift"]
    rows[1][3] = "'=wheels and a dealer"  # as a spreadsheet must see it
    rows[2][1:3], rows[2][6] = ["", ""], "skipped"
    return write_csv(tmp_path / "reviewed.csv", rows, header=REVIEWED)


@pytest.fixture
def fit_add(run, data, reviewed, tmp_path):
    def fit_add(*options):
        output = tmp_path / "m.skops"
        common = ("--target", *TARGET, "--text", "narrative", "--model", "parent", "-o", output)
        out, err = run("fit", data, "--add", reviewed, *common, *options)
        return load_model(str(output)), out, err

    return fit_add


def test_reviewed_rows_are_learned_and_described(fit_add):
    model, _, err = fit_add()
    tree = model.opened.model.hierarchy_
    assert tree.find(("Card", "Gift"))
    assert "Added 19 reviewed rows" in err
    assert "the first suggestion was correct for 5 (26%); 14 were corrected" in err
    assert "new classes, which had no rows before: Card > Gift (1 row)" in err
    assert "Fitted parent on 59 rows" in err
    vectorizer = model.features._vectorizers["narrative"][0]
    assert "wheels and" in vectorizer.vocabulary_


def test_scores_are_written_with_and_without_them(fit_add):
    _, out, _ = fit_add("--cv", "2")
    assert "Scores out of fold, 2 folds" in out
    assert out.count("hierarchical precision") == 2
    assert "without the 19 reviewed rows: hierarchical precision" in out


def test_a_model_of_batches_learns_them_alone(run, data, reviewed, tmp_path):
    first, second = tmp_path / "a.skops", tmp_path / "b.skops"
    common = ("--target", *TARGET, "--text", "narrative", "--model", "batches")
    run("fit", data, *common, "-o", first)
    _, err = run("fit", data, *common, "--add", reviewed, "--update", first, "-o", second)
    assert "Fitted" not in err
    assert "Added 19 reviewed rows" in err
    assert "% before the update, " in err
    assert "new classes, which had no rows before: Card > Gift (1 row)" in err
    assert f"Wrote {second}: {first}, updated with these rows" in err
    before, after = load_model(str(first)), load_model(str(second))
    assert after.opened.model.hierarchy_.n_nodes == before.opened.model.hierarchy_.n_nodes + 1


def test_a_model_that_cannot_is_fitted_on_all_rows(run, data, reviewed, model, tmp_path):
    output = tmp_path / "m.skops"
    options = ("--target", *TARGET, "--text", "narrative", "--model", "parent", "-o", output)
    _, err = run("fit", data, *options, "--add", reviewed, "--update", model)
    assert "cannot learn from single batches (--model batches can): fitting --model parent" in err
    assert "Fitted parent on 59 rows" in err


def test_places_are_those_of_the_right_file(fails, data, tmp_path):
    rows = [[*row] for row in make_rows(5)]
    rows[3][4] = "many"
    added = write_csv(tmp_path / "more.csv", rows)
    options = ("--target", *TARGET, "--numbers", "amount", "-o", tmp_path / "m.skops")
    error = fails("fit", data, "--add", added, *options)
    assert f"{added}, line 5:" in error
    assert "many" in error


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda row: row, ["--groups", "state"], "--groups and --add cannot be combined"),
        (lambda row: [*row[:6], "skipped", *row[7:]], [], "all rows were skipped"),
    ],
)
def test_what_cannot_be_added_is_refused(fails, data, tmp_path, change, options, message):
    rows = [change([*row, "accepted", "1", "", "a", "t"]) for row in make_rows(5)]
    added = write_csv(tmp_path / "added.csv", rows, header=REVIEWED)
    common = ("--target", *TARGET, "--text", "narrative", "-o", tmp_path / "m.skops")
    assert message in fails("fit", data, "--add", added, *common, *options)


def test_missing_columns_are_named(fails, data, tmp_path):
    added = write_csv(tmp_path / "added.csv", [["Loan", "x"]], header=["product", "narrative"])
    common = ("--target", *TARGET, "--text", "narrative", "-o", tmp_path / "m.skops")
    assert "added.csv has no column 'sub_product'" in fails("fit", data, "--add", added, *common)
    assert "Add --add FILE." in fails("fit", data, "--update", "m.skops", *common)


@pytest.fixture
def batches(run, data, tmp_path):
    """A model that learns from batches, with two features."""
    path = tmp_path / "batches.skops"
    options = ("--text", "narrative", "--numbers", "amount", "--model", "batches", "-q")
    run("fit", data, "--target", *TARGET, *options, "-o", path)
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cv", "2"], "Leave one of --cv and --update out."),
        (["--effort", "best"], "Leave one of --effort and --update out."),
        (["--optimize", "f1"], "Leave one of --optimize and --update out."),
        (["--seed", "0"], "Leave one of --seed and --update out."),
        (["--model", "parent"], "Leave one of --model and --update out."),
        (
            ["--text", "narrative", "state"],
            "The features of {model} are: --text narrative; --numbers amount. An update cannot",
        ),
        (["--ignore", "id", "amount"], "--ignore names 'amount', which is a feature of {model}."),
    ],
)
def test_what_an_update_would_ignore_is_refused(
    fails, data, reviewed, batches, tmp_path, options, message
):
    output = tmp_path / "b.skops"
    update = ("--add", reviewed, "--update", batches, "-o", output)
    error = fails("fit", data, "--target", *TARGET, *update, *options)
    assert message.format(model=batches) in error
    assert not output.exists()


def test_another_target_than_that_of_the_updated_model_is_refused(
    fails, data, reviewed, batches, tmp_path
):
    update = ("--add", reviewed, "--update", batches, "-o", tmp_path / "b.skops")
    error = fails("fit", data, "--target", "product", *update)
    assert f"--target is product, but that of {batches} is product sub_product." in error


def test_an_update_follows_what_says_the_same_and_what_is_about_predictions(
    run, data, reviewed, batches, tmp_path
):
    output = tmp_path / "b.skops"
    same = ("--numbers", "amount", "--text", "narrative", "--ignore", "id", "--model", "batches")
    update = ("--add", reviewed, "--update", batches, "-o", output)
    run("fit", data, "--target", *TARGET, *same, *update, "--min-confidence", "0.3", "--jobs", "2")
    classifier = load_model(str(output)).opened.model
    assert classifier.min_confidence == 0.3
    assert classifier.n_jobs is None
    assert load_model(str(batches)).opened.model.min_confidence == 0.0


def test_another_separator_than_that_of_the_updated_model_is_refused(run, fails, tmp_path):
    rows = [[row[0], "/".join(filter(None, row[1:3])), row[3]] for row in make_rows(40)]
    data = write_csv(tmp_path / "data.csv", rows, header=["id", "path", "narrative"])
    model, output = tmp_path / "a.skops", tmp_path / "b.skops"
    options = ("--target", "path", "--text", "narrative", "-q")
    run("fit", data, *options, "--path-separator", "/", "--model", "batches", "-o", model)
    update = ("--add", data, "--update", model, "-o", output)
    error = fails("fit", data, *options, *update, "--path-separator", ">")
    assert f"--path-separator is '>', but that of {model} is '/'. Leave it out" in error
    run("fit", data, *options, *update)
    assert load_model(str(output)).separator == "/"
