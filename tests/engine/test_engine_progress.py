"""The progress bar, as somebody sees it in a terminal, in a pipe, and not at all."""

import io
import os
import pty
import re
import subprocess
import sys
import types
from pathlib import Path

import joblib
import numpy as np
import pytest
from engine_helpers import end_early, make_data
from fakes import BrokenError, Unruly
from sklearn.naive_bayes import GaussianNB

from hiclass import LocalClassifierPerLevel, LocalClassifierPerParentNode
from hiclass._engine import progress as _progress
from hiclass._engine.progress import Progress

SCRIPT = """
import sys
from engine_helpers import make_data
from fakes import Unruly
from hiclass import LocalClassifierPerNode
estimator = Unruly(pause=0.15, fail_at=int(sys.argv[1]))
try:
    LocalClassifierPerNode(estimator, verbose=1).fit(*make_data())
except ValueError:
    print("failed")
"""


def in_terminal(fail_at, columns):
    """What a pseudo-terminal of some width receives."""
    main, other = pty.openpty()
    command = [sys.executable, "-c", SCRIPT, str(fail_at)]
    env = os.environ | {"COLUMNS": str(columns)}
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], env=env, stdout=-3, stderr=other):
        os.close(other)
        said = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # Linux's way to say that the other end is closed
                part = b""
            if not part:
                break
            said += part
    os.close(main)
    return said.decode()


def test_a_terminal_sees_one_line_that_is_redrawn():
    said = in_terminal(fail_at=0, columns=80)
    assert said.endswith("\r\n")
    assert said.count("\n") == 1
    drawn = said.strip("\r\n").split("\r")
    assert len(drawn) > 5
    assert drawn[0].startswith("Fitting [....................] 0/16: p0")
    assert re.fullmatch(r"Fitting \[#{20}\] 16/16, done in \d:\d\d *", drawn[-1])
    assert any(re.search(r" 1[0-5]/16, 0:\d\d left: p\d > leaf \d\d *$", line) for line in drawn)
    assert max(map(len, drawn)) < 80


def test_a_terminal_that_is_narrow_is_not_wrapped():
    drawn = in_terminal(fail_at=0, columns=30).strip("\r\n").split("\r")
    assert max(map(len, drawn)) < 30


def test_a_terminal_sees_where_it_stopped():
    said = in_terminal(fail_at=240, columns=80)
    assert re.search(r"/16, stopped after \d:\d\d *\r\n$", said)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_pipe_gets_one_line_for_a_short_fit(capfd, n_jobs):
    X, y = make_data()
    with joblib.parallel_config(backend="threading"):
        LocalClassifierPerParentNode(GaussianNB(), verbose=1, n_jobs=n_jobs).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err == f"Fitting [{'#' * 20}] 5/5, done in 0:00\n"


def test_a_pipe_gets_a_line_now_and_then(capfd, monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(_progress, "_PAUSE_BY_LINE", 0.0)
    LocalClassifierPerParentNode(Unruly(pause=0.01), verbose=1).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 6
    assert [re.search(r"(\d)/5", line).group() for line in lines[:5]] == [
        f"{i}/5" for i in range(5)
    ]
    assert all("left" in line for line in lines[1:5])
    assert lines[4].endswith(": p0")


@pytest.mark.parametrize("calibration", [None, "temperature"])
def test_quiet_unless_asked(capfd, calibration):
    X, y = make_data()
    model = LocalClassifierPerParentNode(GaussianNB(), calibration=calibration).fit(X, y)
    model.predict(X)
    assert capfd.readouterr() == ("", "")


def test_an_error_says_stopped(capfd):
    X, y = make_data()
    with pytest.raises(BrokenError):
        LocalClassifierPerParentNode(Unruly(fail_at=240), verbose=1).fit(X, y)
    assert re.fullmatch(r"Fitting \[#+\.+\] 3/5, stopped after 0:00\n", capfd.readouterr().err)


def test_the_total_is_right_with_gates_and_levels(local_class, capfd):
    X, y = make_data()
    model = local_class(GaussianNB(), verbose=1).fit(X, end_early(y))
    n_models = len(model._models.classifiers) + len(model._models.gates)
    assert n_models == {"Node": 16 + 4, "Level": 2}.get(local_class.__name__[18:], 5)
    assert f"{n_models}/{n_models}, done" in capfd.readouterr().err


def test_folds_are_announced(capfd):
    X, y = make_data()
    LocalClassifierPerLevel(GaussianNB(), calibration="temperature", verbose=1).fit(X, y)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("Fitting [")
    assert all(line.startswith("Fitting a fold [") for line in lines[1:])
    assert len(lines) > 2


def test_a_notebook_is_redrawn_in_place(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    X, y = make_data()
    LocalClassifierPerParentNode(GaussianNB(), verbose=1).fit(X, y)
    assert stream.getvalue().startswith("\rFitting [")
    assert stream.getvalue().endswith("done in 0:00       \n") or "done in" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_no_stderr_at_all(monkeypatch):
    X, y = make_data()
    monkeypatch.setattr(sys, "stderr", None)
    for verbose in (0, 1):
        LocalClassifierPerParentNode(GaussianNB(), verbose=verbose).fit(X, y)


def test_a_name_cannot_break_the_line(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress, "_PAUSE_BY_LINE", 0.0)
    with Progress(2, "Fitting", enabled=True) as progress:
        progress.begin(0, lambda: "first", 5)
        progress.begin(1, lambda: "two\nlines\x1b[2J", 5)
        progress.finish(0)
        progress.finish(1)
    assert "two lines [2J" in stream.getvalue().splitlines()[1]
    assert len(stream.getvalue().splitlines()) == 3


def test_the_time_left_follows_the_size_of_the_problems(monkeypatch):
    stream = io.StringIO()
    now = iter(np.arange(100) * 30.0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: float(next(now)))
    with Progress(11, "Fitting", enabled=True) as progress:
        for i, size in enumerate((3000, 100, 100)):
            progress.begin(i, lambda: "name", size)
            if i < 2:
                progress.finish(i)
    # Two minutes for 3,000 rows: ten problems of that size would take twenty minutes. Those that
    # are left are no larger than the last one.
    _, first, second, _ = stream.getvalue().splitlines()
    assert "1/11, 20:00 left: name" in first
    assert "2/11, 0:52 left: name" in second


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")]
)
def test_clock(seconds, expected):
    assert _progress._clock(seconds) == expected
