"""A file of classes with texts on the command line."""

import pytest

from hiclass._cli._main import main

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
