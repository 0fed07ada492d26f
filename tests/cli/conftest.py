"""A small labelled file, a model that was fitted on it, and what runs commands in process."""

import io
import sys

import pytest
from cli_helpers import HEADER, TARGET, contested_rows, make_rows, write_csv

from hiclass._cli import main
from hiclass._cli._models import load_model


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder with train.csv and model.skops, for tests that change nothing in it."""
    folder = tmp_path_factory.mktemp("shared")
    write_csv(folder / "train.csv", make_rows())
    arguments = ["--target", *TARGET, "--text", "narrative", "--numbers", "amount"]
    arguments += ["--categories", "state", "--model", "parent", "-q"]
    output = ["-o", str(folder / "model.skops")]
    assert main(["fit", str(folder / "train.csv"), *arguments, *output]) == 0
    return folder


@pytest.fixture(scope="session")
def unsure_model(tmp_path_factory):
    """A model that is sure of some rows only."""
    folder = tmp_path_factory.mktemp("unsure")
    write_csv(folder / "train.csv", contested_rows())
    model = str(folder / "model.skops")
    options = ["--target", *TARGET, "--text", "narrative", "--model", "parent", "-q", "-o", model]
    assert main(["fit", str(folder / "train.csv"), *options]) == 0
    return model


@pytest.fixture
def model(shared):
    return str(shared / "model.skops")


@pytest.fixture
def train(shared):
    return str(shared / "train.csv")


@pytest.fixture
def run(capsys):
    """Run a command in this process; return status, standard output and standard error."""

    def run(*arguments, status=0):
        found = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert found == status, err
        return out, err

    return run


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


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line; return that line."""

    def fails(*arguments, status=2):
        out, err = run(*arguments, "-q", status=status)
        assert out == ""
        lines = err.splitlines()
        assert len(lines) == 1, err
        assert lines[0].startswith("hiclass: error: ")
        return lines[0].removeprefix("hiclass: error: ")

    return fails


@pytest.fixture
def stdin(monkeypatch):
    """Put bytes on standard input."""

    def stdin(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return stdin
