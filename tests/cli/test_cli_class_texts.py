"""A file of classes with texts on the command line."""

import pandas as pd
import pytest

from hiclass._cli._main import main
from hiclass._cli._models import load_model, load_summary

DATA = "what,kind,animal\nmeow,pet,cat\nbark,pet,dog\nmeow,pet,cat\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "data.csv").write_text(DATA)

    def run(classes):
        (tmp_path / "classes.csv").write_text(classes)
        names = [str(tmp_path / name) for name in ("data.csv", "classes.csv")]
        target = ["--target", "kind", "animal"]
        return main(["tree", names[0], *target, "--class-texts", names[1]])

    return run


def test_tree_shows_titles_and_classes_without_rows(files, capsys):
    classes = (
        "kind,animal,title,description\npet,,Pets,\npet,cat,Cats,small felines\n"
        "farm,cow,Cows,cattle\nfarm,pig,,\n"
    )
    assert files(classes) == 0
    out = capsys.readouterr().out
    assert "pet: Pets  3" in out
    assert "cat: Cats  2" in out
    assert "cow: Cows  0" in out
    assert "pig  0" in out
    assert "dog  1" in out


def test_a_file_without_texts_is_an_error(files, capsys):
    assert files("kind,animal\npet,cat\n") != 0
    assert "has no column of texts" in capsys.readouterr().err


def test_the_same_text_of_two_classes_is_an_error(files, capsys):
    assert files("kind,animal,title\npet,cat,Pets\npet,dog,Pets\n") != 0
    assert "have the same text" in capsys.readouterr().err


CLASSES = (
    "kind,animal,title,description\npet,,Pets,\npet,cat,Cats,small felines that meow and purr\n"
    "pet,dog,Dogs,canines that bark\nfarm,cow,Cows,cattle that moo and give milk\n"
    "farm,pig,Pigs,\n"
)
ROWS = (
    "what,more,legs,kind,animal\n"
    "it says meow,loudly,4,pet,cat\nthe thing will bark,,4,pet,dog\npurr and meow,,4,pet,cat\n"
    "bark and fetch,at night,4,pet,dog\nmeow at the door,,3,pet,cat\nit can bark,,4,pet,dog\n"
)
TARGET = ["--target", "kind", "animal"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "classes.csv").write_text(CLASSES)
    return tmp_path


def predicted(folder, text, column="text"):
    (folder / "new.csv").write_text(f"{column}\n{text}\n")
    assert main(["predict", "model.skops", "new.csv", "-o", "out.csv", "-q"]) == 0
    return pd.read_csv(folder / "out.csv").predicted_animal.tolist()


def test_fit_learns_rows_and_texts_and_predicts_classes_without_rows(folder, capsys):
    fit = ["fit", "data.csv", *TARGET, "--class-texts", "classes.csv", "-o", "model.skops"]
    assert main([*fit, "--text", "what", "more"]) == 0
    shown = capsys.readouterr().err
    assert "Features, text: what, more" in shown
    assert "on 6 rows, 8 texts of classes in" in shown
    assert load_model("model.skops").features.columns_ == {"what": "text", "more": "text"}
    assert load_summary("model.skops").hierarchy.has_texts
    assert predicted(folder, "cattle that give milk,", "what,more") == ["cow"]
    assert predicted(folder, ",meow", "what,more") == ["cat"]
    assert main(["explain", "model.skops", "new.csv"]) == 0
    assert main(["evaluate", "model.skops", "data.csv", "--report", "report.html"]) == 0
    assert "Cats" in (folder / "report.html").read_text(encoding="utf-8")


def test_fit_needs_no_rows(folder, capsys):
    assert main(["fit", *TARGET, "--class-texts", "classes.csv", "-o", "model.skops"]) == 0
    shown = capsys.readouterr().err
    assert "No training rows. Texts to predict are read from text" in shown
    assert "on 0 rows, 8 texts of classes in" in shown
    assert predicted(folder, "canines that bark") == ["dog"]
    only = ["fit", "--text", "note", "--class-texts", "classes.csv", *TARGET, "-o", "model.skops"]
    assert main(only) == 0
    assert predicted(folder, "cattle", "note") == ["cow"]


def test_the_kind_of_columns_is_found_and_others_than_texts_are_left_out(folder, capsys):
    rows = "".join(
        f"{what} number {i},{i % 7 + 0.5},{path}\n"
        for i in range(30)
        for what, path in (("meow and purr", "pet,cat"), ("bark and fetch it", "pet,dog"))
    )
    (folder / "data.csv").write_text(f"what,legs,kind,animal\n{rows}")
    fit = ["fit", "data.csv", *TARGET, "--class-texts", "classes.csv", "-o", "model.skops"]
    assert main([*fit, "--cv", "2"]) == 0
    shown = capsys.readouterr()
    assert "legs (class texts are compared with texts)" in shown.err
    assert "Scores out of fold" in shown.out
    assert predicted(folder, "cattle", "what") == ["cow"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fit", "data.csv", "--target", "kind", "--label-separator", ";"],
            "--class-texts is for one path per row",
        ),
        (["fit", "data.csv", *TARGET, "--model", "flat"], "is for --model auto"),
        (["fit", "data.csv", *TARGET, "--numbers", "legs"], "--numbers and --class-texts"),
        (["fit", *TARGET, "--cv", "3"], "--cv needs a FILE of rows"),
        (["fit", "data.csv", *TARGET, "--ignore", "what", "more"], "has no column of text"),
        (
            ["fit", "data.csv", *TARGET, "--add", "data.csv", "--update", "model.skops"],
            "--update and --class-texts cannot be combined",
        ),
    ],
)
def test_what_does_not_go_with_texts_is_an_error(folder, capsys, arguments, message):
    assert main([*arguments, "--class-texts", "classes.csv", "-o", "model.skops"]) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("kind,animal\npet,cat\n", "has no column of texts"),
        ("kind,animal,title\npet,cat,Pets\npet,dog,Pets\n", "have the same text"),
        ("kind,title\npet,Pets\n", "animal"),
    ],
)
def test_files_of_classes_that_are_of_no_use_are_errors(folder, capsys, classes, message):
    (folder / "classes.csv").write_text(classes)
    assert main(["fit", *TARGET, "--class-texts", "classes.csv", "-o", "model.skops"]) != 0
    assert message in capsys.readouterr().err


NUMBERS = [{"code": 1, "what": "it says meow"}, {"code": 2, "what": "it will bark"}] * 4


@pytest.mark.parametrize("command", ["tree", "fit"])
def test_numbers_of_classes_are_the_same_in_both_formats(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(NUMBERS).to_json("rows.jsonl", orient="records", lines=True)
    given = [command, "rows.jsonl", "--target", "code", "--class-texts", "classes.csv"]
    given += ["--text", "what", "-o", "model.skops"] if command == "fit" else []
    (tmp_path / "classes.csv").write_text("code,title\n1,Cats\n2,Dogs\n3,Cows\n")
    assert main(given) == 0
    if command == "fit":
        assert load_model("model.skops").pipeline[-1].hierarchy_.labels.tolist()[1:] == [1, 2, 3]
    (tmp_path / "classes.csv").write_text("code,title\n1,Cats\nC2,Dogs\n")
    capsys.readouterr()
    assert main(given) == 2
    assert "classes.csv, line 3: the label 'C2' in 'code' is not a whole number" in (
        capsys.readouterr().err
    )


def test_types_of_classes_that_differ_are_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "classes.jsonl").write_text(
        '{"code": 1, "title": "Cats"}\n{"code": "C2", "title": "Dogs"}\n'
    )
    given = ["fit", "--target", "code", "--class-texts", "classes.jsonl", "-o", "model.skops"]
    assert main(given) == 2
    assert "classes.jsonl, line 2: 'C2' in 'code' is of the type str" in capsys.readouterr().err
    assert not (tmp_path / "model.skops").exists()
