"""The frame around the commands: help, exit codes, colours, unexpected errors."""

import io
import os
import sys

import numpy as np
import pytest

import hiclass
from hiclass._cli import _screen, main

COMMANDS = [
    "fit", "predict", "evaluate", "explain", "report", "tune", "serve", "tree", "demo",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(run, command):
    out, _ = run(command, "--help")
    assert "examples:" in out
    assert f"hiclass {command}" in out
    assert max(map(len, out.splitlines())) <= 100


def test_version_and_general_help(run):
    assert run("--version")[0] == f"hiclass {hiclass.__version__}\n"
    assert "hiclass demo" in run("--help")[0]


def test_no_command_at_all_shows_the_commands(run, monkeypatch):
    everything = run("--help")[0]
    assert run()[0] == everything
    monkeypatch.setattr(sys, "argv", ["hiclass"])
    assert main() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["guess"], "invalid choice: 'guess'"),
        (["fit", "x.csv", "-o", "m"], "required: --target"),
        (
            ["predict", "m", "x", "--min-confidence", "2"],
            "a number from 0 to 1 is needed, one per level",
        ),
        (["predict", "m", "x", "--min-confidence", "x"], "with one per class, not 'x'"),
        (["predict", "m", "x", "--jobs", "0"], "a number of jobs is needed"),
        (["predict", "m", "x", "--jobs", "two"], "not 'two'"),
        (["fit", "x", "--target", "a", "-o", "m", "--cv", "1"], "at least 2 is needed, not '1'"),
        (["fit", "x", "--target", "a", "-o", "m", "--cv", "x"], "at least 2 is needed, not 'x'"),
    ],
)
def test_a_command_that_is_not_understood_has_status_2(run, arguments, message):
    assert message in run(*arguments, status=2)[1]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (
            ["fit", "--target", "a", "b", "data.csv", "-o", "m"],
            "--target, --text, --numbers, --categories, --dates, --ignore",
        ),
        (["tree", "--target", "a", "data.csv"], "--target"),
        (["predict", "m.skops", "--keep", "id", "new.csv"], "--keep"),
    ],
)
def test_a_file_that_an_option_has_taken_is_missed_with_the_remedy(run, arguments, options):
    _, err = run(*arguments, status=2)
    remedy = f"FILE comes before options that take several columns: {options}"
    assert err.splitlines()[-1].endswith(f"the following arguments are required: FILE. {remedy}")


def test_help_has_the_file_where_it_belongs(run):
    first = run("fit", "--help")[0].splitlines()[0]
    assert first == "usage: hiclass fit [FILE] --target COLUMN [COLUMN ...] -o FILE [options]"
    assert "FILE comes before" not in run("evaluate", "m.skops", status=2)[1]


def test_an_unexpected_error_is_one_line_and_its_place_can_be_had(fails, monkeypatch, train):
    def broken(args):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr("hiclass._cli._commands.tree", broken)
    message = fails("tree", train, "--target", "product", status=1)
    assert message == "RuntimeError: something odd (HICLASS_TRACEBACK=1 shows where this happened)"
    monkeypatch.setenv("HICLASS_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="odd"):
        main(["tree", train, "--target", "product"])


def test_an_interruption_is_one_line(fails, monkeypatch, train):
    def stopped(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("hiclass._cli._commands.tree", stopped)
    assert fails("tree", train, "--target", "product", status=130) == "interrupted"


def test_missing_libraries_are_named_with_the_remedy(fails, monkeypatch, train):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "skops" else object()
    )
    message = fails("tree", train, "--target", "product")
    assert message == "The command line needs skops. Install with: pip install skops"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class TestColours:
    @pytest.fixture(autouse=True)
    def _plain_environment(self, monkeypatch):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")

    def test_a_terminal_gets_colours(self):
        assert _screen.paint("x", "bold", Terminal()) == "\x1b[1mx\x1b[0m"

    def test_a_file_gets_none(self):
        assert _screen.paint("x", "bold", io.StringIO()) == "x"

    @pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
    def test_a_user_can_refuse_them(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        assert _screen.paint("x", "bold", Terminal()) == "x"

    def test_an_empty_no_color_refuses_nothing(self, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "")
        assert "\x1b" in _screen.paint("x", "bold", Terminal())


def test_a_screen_without_box_characters_gets_plain_lines(monkeypatch):
    hierarchy = hiclass.Hierarchy.from_paths([["a", "b"], ["c"]])
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    lines = _screen.tree_lines(hierarchy, np.ones(4), None)
    assert lines == ["|-- a  1", "|   `-- b  1", "`-- c  1"]


def test_a_tree_of_many_levels_is_drawn():
    depth = 1_500
    hierarchy = hiclass.Hierarchy.from_paths([[f"{level}" for level in range(depth)], ["last"]])
    lines = _screen.tree_lines(hierarchy, np.ones(hierarchy.n_nodes), None)
    assert len(lines) == depth + 1
    assert lines[2].endswith("-- 2  1") or lines[2].endswith("── 2  1")
    few = _screen.tree_lines(hierarchy, np.ones(hierarchy.n_nodes), 2)
    assert [few[0], few[2]] == [lines[0], lines[-1]]
    assert few[1].endswith(f"1  1 ({depth - 2:,} below)")
    assert len(few) == 3


def test_a_path_shows_the_confidence_of_every_step():
    nan = float("nan")
    assert _screen.path_text(["a", "b", ""], [0.9, 0.6, nan]) == "a 0.90 > b 0.60"
    assert _screen.path_text(["", ""], [nan, nan]) == "(no class reaches the threshold)"
    assert _screen.path_text([1, None], [0.2, nan]) == "1 0.20"
    assert _screen.path_text(["x" * 40, "y " * 30]) == f"{'x' * 40} > {'y ' * 18}y..."


def test_figures_are_written_as_people_write_them():
    assert [_screen.count(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    sizes = [_screen.size_text(n) for n in (20_400, 999_499, 1_250_000)]
    assert sizes == ["20 kB", "999 kB", "1.2 MB"]


def test_python_m_hiclass_is_the_command(capsys, monkeypatch):
    import runpy

    monkeypatch.setattr(sys, "argv", ["hiclass", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("hiclass", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("hiclass ")


def test_the_entry_point_is_installed_as_a_script():
    text = (os.path.dirname(os.path.dirname(os.path.dirname(__file__)))) + "/pyproject.toml"
    with open(text, encoding="utf-8") as file:
        assert 'hiclass = "hiclass._cli:main"' in file.read()
