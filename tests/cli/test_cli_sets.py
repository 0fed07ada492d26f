"""Several labels per row on the command line: how they are written, fitted, scored, predicted."""

import csv
import json
import random

import pandas as pd
import pytest
from cli_helpers import read, write_csv

from hiclass import Hierarchy, metrics
from hiclass._cli._models import load_model

WORDS = {
    "cat": "purr meow whiskers",
    "dog": "bark fetch leash",
    "lion": "mane savanna roar",
    "wolf": "pack howl forest",
    "fish": "bowl swim scales",
}
EDGES = [
    ("pet", "cat"), ("pet", "dog"), ("pet", "fish"), ("feline", "cat"), ("feline", "lion"),
    ("canine", "dog"), ("canine", "wolf"), ("mammal", "feline"), ("mammal", "canine"),
]  # fmt: skip
PATHS = {
    "cat": "mammal > cat", "dog": "mammal > dog", "lion": "mammal > lion", "wolf": "mammal > wolf",
    "fish": "fish",
}  # fmt: skip
SEPARATED = ["--target", "animals", "--label-separator", ";"]


def sets_of_rows(n=80, seed=0):
    """Rows as (labels, text): every label has words of its own; some rows are mislabelled."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        labels = rng.sample(list(WORDS), 1 + i % 2)
        words = [rng.choice(WORDS[label].split()) for label in labels for _ in range(3)]
        rows.append((labels if i % 16 else ["wolf"], " ".join([*words, "seen", "today"])))
    return rows


@pytest.fixture
def folder(tmp_path):
    """Files with the same rows in all forms, and hierarchies."""
    rows = sets_of_rows()
    forms = {
        "cells": (["animals"], lambda labels: ["; ".join(labels)]),
        "columns": (["first", "second"], lambda labels: [*labels, ""][:2]),
        "indicator": (list(WORDS), lambda labels: [int(name in labels) for name in WORDS]),
        "paths": (["animals"], lambda labels: ["; ".join(PATHS[name] for name in labels)]),
    }
    for name, (header, write) in forms.items():
        cells = [[*write(labels), text] for labels, text in rows]
        write_csv(tmp_path / f"{name}.csv", cells, header=[*header, "text"])
    write_csv(tmp_path / "edges.csv", EDGES, header=["parent", "child"])
    return tmp_path


@pytest.fixture
def fitted(folder, run):
    """Fit on one of the files; return the model."""

    def fit(name, *options, model="parent"):
        output = folder / "model.skops"
        run("fit", folder / f"{name}.csv", *options, "--text", "text", "--model", model, "-q",
            "-o", output)  # fmt: skip
        return output

    return fit


def test_labels_in_one_cell_with_a_dag(folder, fitted, run):
    model = fitted("cells", *SEPARATED, "--hierarchy", folder / "edges.csv")
    loaded = load_model(str(model), of_sets=True)
    assert loaded.opened.model.hierarchy_ == Hierarchy.from_edges(EDGES)
    out, _ = run("predict", model, folder / "cells.csv", "-q")
    rows = read(out)
    predicted = [r["predicted_animals"].split(";") if r["predicted_animals"] else [] for r in rows]
    expected = loaded.pipeline.predict(pd.DataFrame({"text": [r["text"] for r in rows]}))
    assert [set(labels) for labels in predicted] == [set(labels) for labels in expected]
    for row, labels in zip(rows, predicted, strict=True):
        chances = [float(c) for c in row["confidence_animals"].split(";") if c]
        assert len(chances) == len(labels)
        assert chances == sorted(chances, reverse=True)
    true = [labels for labels, _ in sets_of_rows()]
    options = {"hierarchy": EDGES, "multi_label": True}
    assert metrics.f1(true, predicted, **options) > 0.8


def test_scores_are_those_of_the_metrics(folder, fitted, run):
    model = fitted("cells", *SEPARATED, "--hierarchy", folder / "edges.csv")
    out, _ = run("evaluate", model, folder / "cells.csv", "-q")
    pipeline = load_model(str(model), of_sets=True).pipeline
    true = [labels for labels, _ in sets_of_rows()]
    X = pd.DataFrame({"text": [text for _, text in sets_of_rows()]})
    options = {"hierarchy": EDGES, "multi_label": True}
    predicted, proba = (
        pipeline.predict(X),
        pipeline[-1].predict_node_proba(pipeline[0].transform(X)),
    )
    for name, metric in (("F1", metrics.f1), ("Jaccard", metrics.jaccard)):
        assert f"{name} {metric(true, predicted, **options):.3f}" in out
    area = metrics.average_precision(true, proba, **options)
    assert f"AU(PRC) {area:.3f}" in out
    loss = metrics.ranking_loss(true, proba, **options)
    assert f"ranking loss {loss:.3f}" in out
    areas = metrics.average_precision(true, proba, per_level=True, **options)
    lines = out.splitlines()
    assert lines[0].split() == ["level", "classes", "here", "labels", "precision", "recall", "F1",
                                "AU(PRC)"]  # fmt: skip
    assert [line.split()[-1] for line in lines[1:4]] == [f"{area:.3f}" for area in areas]


def test_labels_in_several_columns(folder, fitted, run):
    model = fitted("columns", "--target", "first", "second", "--multi-label", "columns",
                   model="node")  # fmt: skip
    out, _ = run("predict", model, folder / "columns.csv", "--keep", "-q")
    header = out.splitlines()[0].split(",")
    assert header[:4] == ["predicted_1", "confidence_1", "predicted_2", "confidence_2"]
    first = read(out)[1]
    assert {first["predicted_1"], first["predicted_2"]} == set(sets_of_rows()[1][0])


def test_an_indicator_is_predicted_as_an_indicator(folder, fitted, run):
    model = fitted("indicator", "--target", *WORDS, "--multi-label", "indicator", model="flat")
    out, _ = run("predict", model, folder / "indicator.csv", "-q")
    rows = read(out)
    assert {row["predicted_cat"] for row in rows} == {"0", "1"}
    right = [row["predicted_dog"] == row["dog"] for row in rows]
    assert sum(right) / len(right) > 0.9
    assert all(0 <= float(row["confidence_dog"]) <= 1 for row in rows)


def test_labels_that_are_paths(folder, fitted, run):
    model = fitted("paths", *SEPARATED, "--path-separator", " > ", model="level")
    tree = load_model(str(model), of_sets=True).opened.model.hierarchy_
    assert tree == Hierarchy.from_paths([path.split(" > ") for path in PATHS.values()])
    out, _ = run("predict", model, folder / "paths.csv", "-q")
    found = {label for row in read(out) for label in row["predicted_animals"].split(";")}
    assert found <= {*PATHS.values(), "mammal", ""}
    write_csv(folder / "new.csv", [["mammal > bat; fish", "swim bowl"]], header=["animals", "text"])
    out, _ = run("evaluate", model, folder / "new.csv", "-q")
    assert "1 label of these rows is unknown to the model" in out


def test_the_automatic_model_and_a_threshold(folder, fitted, run):
    model = fitted("cells", *SEPARATED, "--hierarchy", folder / "edges.csv", model="auto")
    sizes = {}
    for threshold in (0.05, 0.95):
        out, _ = run("predict", model, folder / "cells.csv", "--threshold", threshold, "-q")
        rows = read(out)
        sizes[threshold] = sum(row["confidence_animals"].count(".") for row in rows)
        for row in rows:
            chances = [float(c) for c in row["confidence_animals"].split(";") if c]
            assert all(c >= threshold - 1e-6 for c in chances)
    assert sizes[0.95] < sizes[0.05]


@pytest.mark.parametrize("model", ["auto", "parent"])
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("0.4", 0.4),
        ("tuned", "tuned"),
        ("micro_f1", "micro_f1"),
        ("precision:0.6", ("precision", 0.6)),
        ("cost:1:5", ("cost", 1, 5)),
        ("top:2", ("top", 2)),
    ],
)
def test_every_way_to_select_classes_is_an_option_of_fit(folder, run, model, written, meant):
    file, saved = folder / "indicator.csv", folder / "m.skops"
    effort = ["--effort", "quick"] if model == "auto" else []
    run("fit", file, "--target", *WORDS, "--multi-label", "indicator", "--model", model, *effort,
        "--threshold", written, "-o", saved, "-q")  # fmt: skip
    classifier = load_model(str(saved), of_sets=True).opened.model
    assert classifier.threshold == meant
    out, _ = run("predict", saved, file, "-q")
    sizes = {sum(int(row[f"predicted_{name}"]) for name in WORDS) for row in read(out)}
    assert sizes == {2} if written == "top:2" else sizes


def test_predict_selects_otherwise_if_that_was_learned(folder, fitted, run):
    rows = folder / "cells.csv"
    learned = fitted("cells", *SEPARATED, model="auto")
    out, _ = run("predict", learned, rows, "--threshold", "top:1", "-q")
    assert {row["predicted_animals"].count(";") for row in read(out)} == {0}
    run("evaluate", learned, rows, "--threshold", "precision:0.9", "-q")
    fixed = folder / "fixed.skops"
    run("fit", rows, *SEPARATED, "--model", "flat", "--threshold", "0.5", "-o", fixed, "-q")
    _, err = run("predict", fixed, rows, "--threshold", "micro_f1", "-q", status=2)
    assert "--threshold: threshold='micro_f1' is learned out of fold" in err


def test_a_separator_that_is_in_no_cell_is_noticed(folder, run):
    options = ["--target", "animals", "--label-separator"]
    _, err = run("tree", folder / "cells.csv", *options, "|")
    assert "no cell of 'animals' contains '|', so every row has one label" in err
    n_several = sum(len(labels) > 1 for labels, _ in sets_of_rows())
    assert f"{n_several} rows have ';': did you mean --label-separator ';'?" in err
    assert run("tree", folder / "cells.csv", *options, "|", "-q")[1] == ""
    _, err = run("tree", folder / "cells.csv", *options, ";")
    assert "no cell" not in err
    write_csv(folder / "single.csv", [["cat", "meow"], ["dog", "bark"]], header=["animals", "text"])
    _, err = run("tree", folder / "single.csv", *options, ";")
    assert "so every row has one label. Check --label-separator." in err
    write_csv(folder / "paths.csv", [["a/cat", "meow"], ["a/dog", "bark"]], ["animals", "text"])
    _, err = run("tree", folder / "paths.csv", *options, ";", "--path-separator", "/")
    assert "so every row has one label. Check --label-separator." in err


def test_folds_that_leave_too_few_groups_are_refused_before_anything_is_fitted(folder, run):
    rows = [
        [";".join(labels), text, f"g{i % 3}"] for i, (labels, text) in enumerate(sets_of_rows())
    ]
    write_csv(folder / "three.csv", rows, header=["animals", "text", "group"])
    options = [folder / "three.csv", *SEPARATED, "--groups", "group", "--cv", "3"]
    for model in ("auto", "node"):
        _, err = run("fit", *options, "--model", model, "-o", folder / "m.skops", status=2)
        assert "--cv 3 leaves 2 of the 3 groups of 'group' for training, but 3 are needed" in err
        assert "Fold 1" not in err
    out, _ = run("fit", *options, "--model", "node", "--threshold", "0.5", "-o", folder / "m.skops")
    assert "Scores out of fold, 3 folds" in out


def test_cross_validation_with_groups(folder, run):
    rows = [
        [";".join(labels), text, f"g{i // 4}"] for i, (labels, text) in enumerate(sets_of_rows())
    ]
    write_csv(folder / "grouped.csv", rows, header=["animals", "text", "group"])
    out, err = run("fit", folder / "grouped.csv", *SEPARATED, "--model", "parent", "--groups",
                   "group", "--cv", 3, "-o", folder / "m.skops")  # fmt: skip
    assert "Keeping together 20 groups" in err
    assert "Fold 3 of 3" in err
    assert "AU(PRC)" in out
    _, err = run("fit", folder / "grouped.csv", *SEPARATED, "--model", "parent", "--groups",
                 "group", "--cv", 30, "-o", folder / "m.skops", status=2)  # fmt: skip
    assert "--cv 30 is more than the 20 groups of 'group'" in err


def test_a_column_that_gives_the_labels_away_is_named(folder, run):
    rows = [["; ".join(labels), text, "-".join(sorted(labels))] for labels, text in sets_of_rows()]
    write_csv(folder / "away.csv", rows, header=["animals", "text", "code"])
    _, err = run("fit", folder / "away.csv", *SEPARATED, "--model", "parent", "-o",
                 folder / "m.skops")  # fmt: skip
    assert "'code' alone predicts 'animals' correctly" in err


def test_tree_draws_a_dag_with_counts(folder, run):
    out, _ = run(
        "tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / "edges.csv", "-q"
    )
    lines = out.splitlines()
    rows = [set(labels) for labels, _ in sets_of_rows()]
    n_cats = sum("cat" in labels for labels in rows)
    assert sum(f" cat  {n_cats}" in line for line in lines) == 2
    n_pets = sum(bool(labels & {"cat", "dog", "fish"}) for labels in rows)
    assert f"pet  {n_pets}" in out
    assert lines[-1].startswith("80 rows, ")
    assert "9 classes, 3 levels, 5 leaves; 2 with several parents" in lines[-1]


def test_classes_below_a_shared_one_are_drawn_once(folder, run):
    edges = [("a", "s"), ("b", "s"), ("s", "cat"), (None, "dog"), (None, "fish"), (None, "lion"),
             (None, "wolf"), (None, "owl")]  # fmt: skip
    write_csv(folder / "shared.csv", edges, header=["parent", "child"])
    out, _ = run(
        "tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / "shared.csv", "-q"
    )
    assert out.count(" cat  ") == 1
    assert out.count("(see above)") == 1
    assert "1 class without rows" in out
    out, _ = run("tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / "shared.csv",
                 "--depth", 1, "-q")  # fmt: skip
    assert out.count("(2 below)") == 2


def test_hierarchies_in_json_and_as_an_ontology(folder, run):
    expected, _ = run("tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / "edges.csv",
                      "-q")  # fmt: skip
    children = {}
    for parent, child in EDGES:
        children.setdefault(parent, []).append(child)
    (folder / "dict.json").write_text(json.dumps(children))
    (folder / "written.json").write_text(Hierarchy.from_edges(EDGES).to_json())
    above = {}
    for parent, child in EDGES:
        above.setdefault(parent, [])
        above.setdefault(child, []).append(parent)
    terms = [
        "\n".join(["[Term]", f"id: {name}", *(f"is_a: {p} ! the {p}" for p in parents), ""])
        for name, parents in above.items()
    ]
    terms += ["[Term]\nid: old\nis_a: pet\nis_obsolete: true\n", "[Typedef]\nid: part_of\n"]
    (folder / "terms.obo").write_text("\n".join(["format-version: 1.2\n", *terms]))
    for name in ("dict.json", "written.json", "terms.obo"):
        found, _ = run("tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / name, "-q")
        assert found == expected


def test_lists_in_json_lines_and_whole_numbers(folder, run):
    codes = {name: i for i, name in enumerate(WORDS)}
    lines = [
        json.dumps({"codes": [codes[name] for name in labels], "text": text})
        for labels, text in sets_of_rows()
    ]
    (folder / "lists.jsonl").write_text("\n".join(lines))
    model = folder / "m.skops"
    run("fit", folder / "lists.jsonl", "--target", "codes", "--multi-label", "columns", "--text",
        "text", "--model", "parent", "-q", "-o", model)  # fmt: skip
    out, _ = run(
        "predict", model, folder / "lists.jsonl", "--keep", "--output-format", "jsonl", "-q"
    )
    assert {type(json.loads(line)["predicted_1"]) for line in out.splitlines()} <= {int, type(None)}
    # In a CSV file the same labels are texts.
    write_csv(folder / "texts.csv", [[codes["cat"], "purr meow"]], header=["codes", "text"])
    out, _ = run("evaluate", model, folder / "texts.csv", "-q")
    assert "unknown" not in out


def test_options_that_do_not_go_together(folder, run):
    file, output = folder / "cells.csv", ["-o", folder / "m.skops"]
    columns = ["--target", "animals", "--multi-label", "columns"]
    for options, message in (
        ([*SEPARATED, "--multi-label", "columns"], "--label-separator and --multi-label columns"),
        (
            ["--target", "animals", "text", "--label-separator", ";"],
            "--target names 2: animals, text",
        ),
        (["--target", "animals", "--label-separator", ""], "--label-separator is empty"),
        ([*SEPARATED, "--path-separator", ""], "--path-separator is empty"),
        ([*SEPARATED, "--path-separator", ";"], "are both ';'"),
        ([*SEPARATED, "--truncate-gaps"], "--truncate-gaps is for levels in columns"),
        ([*SEPARATED, "--min-confidence", "0.5"], "Use --threshold"),
        ([*SEPARATED, "--optimize", "path"], "Use --optimize f1"),
        ([*SEPARATED, "--threshold", "most"], "or tuned, micro_f1, precision:0.9, cost:1:5 or top"),
        ([*SEPARATED, "--threshold", "top:1.5"], "(numbers are examples), not 'top:1.5'"),
        ([*SEPARATED, "--threshold", "1.5"], "a number above 0 and up to 1 is needed"),
        ([*SEPARATED, "--model", "batches"], "--model batches needs one path per row"),
        ([*SEPARATED, "--model", "flat", "--effort", "best"], "--effort best is for --model auto"),
        ([*SEPARATED, "--add", "x.csv"], "--add and --update learn reviewed rows"),
        (["--target", "animals", "--hierarchy", "e.csv"], "--hierarchy is for several labels"),
        (["--target", "animals", "--threshold", "0.5"], "Use --min-confidence instead"),
        (["--target", "text", "text", "--multi-label", "columns"], "names the column 'text' twice"),
        ([*columns, "--cv", "99", "--model", "node"], "--cv 99 is more than the 80 rows"),
    ):
        _, err = run("fit", file, *options, *output, status=2)
        assert message in err, options
    _, err = run("tree", file, *SEPARATED, "--class-texts", file, status=2)
    assert "--class-texts is for one path per row" in err


def test_files_that_are_wrong_are_named_with_their_place(folder, run):
    def fails(rows, header, *options, message):
        write_csv(folder / "bad.csv", rows, header=header)
        _, err = run("fit", folder / "bad.csv", *options, "-o", folder / "m.skops", status=2)
        assert message in err

    header, dag = ["animals", "text"], ["--hierarchy", folder / "edges.csv"]
    fails([["cat", "a"], ["", "b"]], header, *SEPARATED, message="line 3: no label in 'animals'")
    fails([["", "a"], ["", "b"]], header, *SEPARATED, "--skip-unlabelled",
          message="no row has a label in 'animals'")  # fmt: skip
    fails([["cat", "a"], ["cats", "b"]], header, *SEPARATED, *dag,
          message="line 3: the hierarchy has no class 'cats'. Did you mean 'cat'?")  # fmt: skip
    fails([["cat", "a"], ["cat; cat", "b"]], header, *SEPARATED, message="every row has the same")
    fails([["a > ; b", "a"]], header, *SEPARATED, "--path-separator", ">",
          message="line 2: level 2 of 'a >' in 'animals' is empty")  # fmt: skip
    indicator = ["--target", "cat", "--multi-label", "indicator"]
    fails([["2", "a"]], ["cat", "text"], *indicator, message="line 2: '2' in 'cat' is neither yes")
    both = ["--target", "cat", "dog", "--multi-label", "indicator"]
    fails([["1", "", "a"]], ["cat", "dog", "text"], *both, message="an empty cell in 'dog' is")
    (folder / "bad.jsonl").write_text('{"l": ["a", 1], "t": "x"}\n{"l": [true], "t": "y"}')
    options = ["--target", "l", "--multi-label", "columns", "-o", folder / "m.skops"]
    _, err = run("fit", folder / "bad.jsonl", *options, status=2)
    assert "line 2: True in 'l' cannot be a label" in err
    (folder / "bad.jsonl").write_text('{"l": ["a", 1], "t": "x"}\n{"l": ["b"], "t": "y"}')
    _, err = run("fit", folder / "bad.jsonl", *options, status=2)
    assert "the label 1 is of the type int, but 'a' of" in err


def test_hierarchies_that_are_wrong_are_refused(folder, run):
    def fails(name, text, message):
        (folder / name).write_text(text)
        _, err = run("tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / name,
                     status=2)  # fmt: skip
        assert message in err

    fails("e.csv", "a,b\nx,y\n", "a hierarchy needs the columns 'parent' and 'child'")
    fails("e.csv", "parent,child\nx,\n", "line 2: no class in 'child'")
    fails("e.csv", "parent,child\nx,y\ny,x\n", "cycle")
    fails("e.csv", "parent,child\nx;y,cat\n", "contains ';', which is the --label-separator")
    fails("e.json", "[1, 2]", "a hierarchy in JSON must be in the format of")
    fails("e.json", "{", "e.json: ")
    fails("e.obo", "format-version: 1.2\n", "no terms were found")
    _, err = run("tree", folder / "cells.csv", *SEPARATED, "--hierarchy", folder / "no.json",
                 status=2)  # fmt: skip
    assert "no.json cannot be read" in err


def test_commands_about_paths_refuse_such_a_model(folder, fitted, run):
    model, file = fitted("cells", *SEPARATED), folder / "cells.csv"
    out = ["-o", folder / "x.csv"]
    for command in (
        ["tune", model, file, *out],
        ["guarantee", model, file, *out],
        ["label-errors", model, file],
        ["compare", model, file, file],
        ["triage", model, file, *out, "--review", folder / "q.csv"],
        ["serve", model],
    ):
        _, err = run(*command, status=2)
        assert "predicts several labels per row, but this command is for one path per row" in err
    for options, message in (
        (["--min-confidence", "0.5"], "Use --threshold"),
        (["--baseline", file], "Fit the other model with --model flat"),
        (["--truncate-gaps"], "--truncate-gaps is for levels in columns"),
    ):
        _, err = run("evaluate", model, file, *options, status=2)
        assert message in err
    for option in (["--label-errors"], ["--compare", file]):
        _, err = run("report", model, file, *option, "-o", folder / "r.html", status=2)
        assert f"{option[0]} is for one path per row" in err


def test_a_model_of_paths_refuses_a_threshold(model, train, run):
    _, err = run("predict", model, train, "--threshold", "0.4", status=2)
    assert "Use --min-confidence instead" in err


def test_the_output_can_be_read_again(folder, fitted, run):
    model = fitted("cells", *SEPARATED, "--hierarchy", folder / "edges.csv")
    run("predict", model, folder / "cells.csv", "-o", folder / "out.csv", "-q")
    with (folder / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    renamed = [[row["predicted_animals"], row["text"]] for row in rows if row["predicted_animals"]]
    write_csv(folder / "again.csv", renamed, header=["animals", "text"])
    out, _ = run("evaluate", model, folder / "again.csv", "-q")
    assert "exact match 1.000" in out


def test_a_row_is_explained_and_a_report_written(folder, fitted, run):
    model = fitted("cells", *SEPARATED, "--hierarchy", folder / "edges.csv")
    labels = sets_of_rows()[1][0]
    out, _ = run("explain", model, folder / "cells.csv", "--row", 2, "--top", 2, "-q")
    lines = out.splitlines()
    assert lines[0].endswith("cells.csv, line 3")
    assert lines[1] == f"true: {', '.join(labels)}"
    assert set(lines[2].split(", ")) == set(labels)
    assert "against rows without this class, below" in out
    run("explain", model, folder / "cells.csv", "--row", 2, "-q", "-o", folder / "why.json")
    content = json.loads((folder / "why.json").read_text())
    assert content["true"] == labels
    assert set(content["labels"]) == set(labels)
    write_csv(folder / "new.csv", [["", "purr meow"]], header=["animals", "text"])
    out, _ = run("explain", model, folder / "new.csv", "-q")
    assert "true:" not in out
    page, other = folder / "report.html", folder / "other.html"
    run("report", model, folder / "cells.csv", "-o", page, "--examples", "text", "--threshold", 0.4,
        "--title", "Animals", "-q")  # fmt: skip
    assert "<title>Animals</title>" in page.read_text()
    assert "Rows with the most errors" in page.read_text()
    out, _ = run("evaluate", model, folder / "cells.csv", "--report", other, "-q")
    area = out.partition("AU(PRC) ")[2]
    assert area
    assert '"of_sets":true' in other.read_text()
