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
    assert "the first suggestion was right for 5 (26%), and corrected for 14" in err
    assert "classes that had no rows before: Card > Gift (1 row)" in err
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
    assert "now that they are learned" in err
    assert "classes that had no rows before: Card > Gift (1 row)" in err
    assert f"Wrote {second}: {first} with these rows learned" in err
    before, after = load_model(str(first)), load_model(str(second))
    assert after.opened.model.hierarchy_.n_nodes == before.opened.model.hierarchy_.n_nodes + 1


def test_a_model_that_cannot_is_fitted_on_all_rows(run, data, reviewed, model, tmp_path):
    output = tmp_path / "m.skops"
    options = ("--target", *TARGET, "--text", "narrative", "--model", "parent", "-o", output)
    _, err = run("fit", data, *options, "--add", reviewed, "--update", model)
    assert "cannot learn from single batches (--model batches can): fitting on all rows" in err
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
        (lambda row: row, ["--groups", "state"], "--groups and --add do not go together"),
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
    assert "Give --add FILE, too." in fails("fit", data, "--update", "m.skops", *common)


def test_what_an_update_would_ignore_is_refused(run, fails, data, reviewed, tmp_path):
    first, before = tmp_path / "a.skops", ("--text", "narrative", "--model", "batches")
    run("fit", data, "--target", *TARGET, *before, "-o", first)
    update = (*before, "--add", reviewed, "--update", first, "-o", tmp_path / "b.skops")
    error = fails("fit", data, "--target", "product", *update)
    assert f"--target is product, but that of {first} is product sub_product." in error
    error = fails("fit", data, "--target", *TARGET, *update, "--cv", "2")
    assert "Leave one of --cv and --update out." in error
