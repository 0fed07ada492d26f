"""Whole paths in one column: recognised, split, learned, and written back."""

import pandas as pd
import pytest
import skops.io
from cli_helpers import WORDS, make_rows, read, write_csv

from hiclass import TRUSTED_TYPES
from hiclass._cli._models import load_model

HEADER = ["category", "narrative", "amount"]


def path_rows(separator=" > ", n=60):
    return [
        [separator.join(label for label in row[1:3] if label), row[3], row[4]]
        for row in make_rows(n)
    ]


@pytest.fixture
def paths(tmp_path):
    """A file of rows whose paths are in one column."""
    return write_csv(tmp_path / "paths.csv", path_rows(), header=HEADER)


@pytest.fixture
def fitted(run, paths, tmp_path):
    """The file of a model that learned from such a column."""
    options = ["--target", "category", "--path-separator", " > ", "--model", "parent"]
    run("fit", paths, *options, "-o", tmp_path / "p.skops")
    return tmp_path / "p.skops"


def test_the_levels_are_those_of_the_paths(fitted):
    model = load_model(str(fitted))
    assert (model.target, model.separator) == (["category"], " > ")
    assert model.levels == ["category_1", "category_2"]
    hierarchy = model.opened.model.hierarchy_
    assert hierarchy.n_nodes == 8
    assert all(hierarchy.find(path) for path in [("Loan", "Car"), ("Card",), ("Other",)])


def test_predictions_are_written_as_the_labels_were(run, fitted, paths):
    out, _ = run("predict", fitted, paths)
    rows = read(out)
    added = ["predicted_category", "confidence_category_1", "confidence_category_2"]
    assert list(rows[0]) == [*HEADER, *added]
    known = {" > ".join(label for label in path if label) for path in WORDS}
    assert {row["predicted_category"] for row in rows} == known
    for row in rows:
        assert (row["confidence_category_2"] >= "0") == (" > " in row["predicted_category"])


def test_a_path_that_is_not_predicted_at_all_is_an_empty_cell(run, fitted, tmp_path):
    vague = write_csv(tmp_path / "vague.csv", [["", "", "150"]], header=HEADER)
    out, _ = run("predict", fitted, vague, "--min-confidence", "1", "--keep")
    assert read(out) == [
        {"predicted_category": "", "confidence_category_1": "", "confidence_category_2": ""}
    ]


def test_scores_are_by_level(run, fitted, paths, tmp_path):
    out, _ = run("evaluate", fitted, paths)
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["category_1", "category_2"]
    # Paths that are deeper, or shorter, than all that was learned.
    deep = [[f"{row[0]} > more", *row[1:]] for row in path_rows(n=5)]
    out, _ = run("evaluate", fitted, write_csv(tmp_path / "d.csv", deep, header=HEADER))
    assert out.splitlines()[3].split()[:2] == ["3", "category_3"]
    short = [[row[0].split(" > ")[0], *row[1:]] for row in path_rows(n=5)]
    out, _ = run("evaluate", fitted, write_csv(tmp_path / "s.csv", short, header=HEADER))
    assert "over all levels" in out


def test_cross_validation_knows_the_levels(run, paths, tmp_path):
    options = ["--target", "category", "--path-separator", ">", "--model", "parent", "--cv", "2"]
    out, _ = run("fit", paths, *options, "-o", tmp_path / "m.skops")
    assert "2      category_2" in out


def test_paths_that_are_read_as_one_level_are_a_warning_with_the_option(run, paths, tmp_path):
    options = ["--target", "category", "--model", "parent", "-o", tmp_path / "m.skops"]
    _, err = run("fit", paths, *options)
    assert (
        "warning: 'category' seems to hold whole paths, such as 'Loan > Car', but is read as one "
        'flat level. To learn the levels, add: --path-separator " > "\n'
    ) in err
    assert load_model(str(tmp_path / "m.skops")).levels == ["category"]
    assert "--path-separator" in run("tree", paths, "--target", "category")[1]
    assert "--path-separator" not in run("tree", paths, "--target", "category", "-q")[1]


def test_the_tree_of_paths(run, paths):
    out, err = run("tree", paths, "--target", "category", "--path-separator", " > ")
    assert out.splitlines()[:2] == ["├── Card  24", "│   ├── Credit  12"]
    assert "warning" not in err


@pytest.mark.parametrize(
    ("cell", "level"),
    [
        ("Loan >  > Car", 2),
        ("Loan > ", 2),
        ("Loan >", 2),
        (" > Car", 1),
        ("> Car", 1),
        ("Loan > Car > ", 3),
    ],
)
def test_an_empty_level_names_line_and_level(fails, tmp_path, cell, level):
    rows = path_rows(n=10)
    rows[3][0] = cell
    path = write_csv(tmp_path / "d.csv", rows, header=HEADER)
    options = ["--target", "category", "--path-separator", " > ", "-o", tmp_path / "m.skops"]
    message = fails("fit", path, *options)
    shown = " ".join(repr(cell).split())  # a message is one line, without double spaces
    assert f"d.csv, line 5: level {level} of {shown} in 'category' is empty. Fill" in message
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_cell_is_a_row_without_labels(fails, run, tmp_path):
    rows = [*path_rows(), ["", "text", "1"], ["  ", "text", "1"]]
    path = write_csv(tmp_path / "d.csv", rows, header=HEADER)
    options = ["--target", "category", "--path-separator", ">", "--model", "parent"]
    options += ["-o", tmp_path / "m.skops"]
    assert "line 62: no label in 'category'. Fill it in" in fails("fit", path, *options)
    assert "Left out 2 rows without labels" in run("fit", path, *options, "--skip-unlabelled")[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--path-separator", ""], "--path-separator is empty. Use the text between levels"),
        (["amount", "--path-separator", ">"], "but --target names 2: category, amount. Name one"),
        (["--path-separator", "::"], "no cell of 'category' contains '::'; the first one is 'Loan"),
    ],
)
def test_separators_that_separate_nothing_are_refused(fails, paths, tmp_path, options, message):
    output = ["-o", tmp_path / "m.skops"]
    assert message in fails("fit", paths, "--target", "category", *options, *output)
    assert message in fails("tree", paths, "--target", "category", *options)
    assert list(tmp_path.iterdir()) == [paths]


def test_paths_are_texts(fails, tmp_path):
    pd.DataFrame({"category": [1, 2], "text": ["a b", "c d"]}).to_parquet(tmp_path / "d.parquet")
    command = ["fit", tmp_path / "d.parquet", "--target", "category", "--path-separator", "/"]
    message = fails(*command, "-o", tmp_path / "m.skops")
    assert "d.parquet, row 1: 1 in 'category' is of the type int, but --path-separator" in message


def test_the_file_says_what_separates(fitted, tmp_path):
    content = skops.io.load(fitted, trusted=list(TRUSTED_TYPES))
    assert (content["version"], content["separator"]) == (3, " > ")


@pytest.mark.parametrize("separator", ["", 1, [">"]])
def test_a_file_with_something_else_as_separator_is_refused(fails, fitted, paths, separator):
    content = skops.io.load(fitted, trusted=list(TRUSTED_TYPES))
    skops.io.dump(content | {"separator": separator}, fitted)
    assert "is not a model of hiclass fit" in fails("predict", fitted, paths)


def test_files_of_the_layout_before_are_read(run, model, train, tmp_path):
    content = skops.io.load(model, trusted=list(TRUSTED_TYPES))
    assert content.pop("separator") is None
    skops.io.dump(content | {"version": 2}, tmp_path / "old.skops")
    old, new = (run("predict", path, train, "-q")[0] for path in (tmp_path / "old.skops", model))
    assert old == new


def test_an_explanation_has_the_true_path(run, fitted, paths):
    out, _ = run("explain", fitted, paths, "--row", "2")
    assert out.splitlines()[1] == "true: Loan > House"
