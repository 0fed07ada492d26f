"""Files as people have them: integers beside gaps, row numbers, lists, pipes, a killed program."""

import os
import signal
import stat
import subprocess
import sys
import time

import pandas as pd
import pytest
from cli_helpers import TARGET


def small(path, n=40, **columns):
    """Texts that tell two integer codes below two categories; every fifth row has no code."""
    codes = [None if i % 5 == 0 else 1 + i % 2 for i in range(n)]
    frame = pd.DataFrame(
        {
            "text": [
                f"{'cat' if i % 4 < 2 else 'dog'} number{code}" for i, code in enumerate(codes)
            ],
            "kind": ["a" if i % 4 < 2 else "b" for i in range(n)],
            "code": codes,
            **columns,
        }
    )
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.assign(code=frame["code"].astype("Int64")).to_csv(path, index=False)
    return path


def test_integers_beside_empty_cells_are_the_same_labels_in_csv_and_parquet(run, tmp_path):
    csv, parquet = small(tmp_path / "x.csv"), small(tmp_path / "x.parquet")
    model = tmp_path / "m.skops"
    run("fit", csv, "--target", "kind", "code", "--text", "text", "--model", "parent", "-o", model)
    scores = [run("evaluate", model, file)[0] for file in (csv, parquet)]
    assert scores[0] == scores[1].replace("x.parquet", "x.csv")
    assert "1.0 " not in run("tree", parquet, "--target", "kind", "code")[0]


def test_numbers_that_count_the_rows_are_no_feature(run, tmp_path):
    file = small(tmp_path / "x.csv", number=range(100, 140))
    out, err = run("fit", file, "--target", "kind", "--model", "parent", "-o", tmp_path / "m.skops")
    assert "it numbers the rows" in out + err


def test_a_column_of_lists_is_carried_along(run, tmp_path):
    csv, model = small(tmp_path / "x.csv"), tmp_path / "m.skops"
    run("fit", csv, "--target", "kind", "--text", "text", "--model", "parent", "-o", model)
    parquet = small(tmp_path / "x.parquet", tags=[["one", "two"]] * 40)
    for name in ("out.csv", "out.jsonl"):
        run("predict", model, parquet, "-o", tmp_path / name)
        assert "one" in (tmp_path / name).read_text()


def test_a_report_goes_into_a_pipe_and_keeps_the_mode_of_a_file(run, fails, shared, tmp_path):
    model, train = shared / "model.skops", shared / "train.csv"
    private = tmp_path / "private.html"
    private.touch(mode=0o600)
    run("evaluate", model, train, "--report", private)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert private.stat().st_size > 10_000
    assert "--report needs the name of a file" in fails("evaluate", model, train, "--report", "-")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        run("evaluate", model, train, "--report", pipe)
        assert b"<html" in reader.stdout.read()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_output_whose_name_says_no_format_is_refused(fails, shared, tmp_path):
    line = fails("predict", shared / "model.skops", shared / "train.csv", "-o", tmp_path / "o.json")
    assert "the name does not show the format" in line
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_nothing_but_a_byte_order_mark_is_empty(fails, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf\n")
    assert "x.csv is empty" in fails("tree", tmp_path / "x.csv", "--target", "kind")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_program_that_is_terminated_leaves_nothing_behind(train, tmp_path):
    script = (
        "import sys, time, hiclass._cli._tables as t\n"
        "from hiclass._cli import main\n"
        "real = t.os.replace\n"
        "def slow(*args):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "t.os.replace = slow\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    arguments = ["fit", train, "--target", *TARGET, "--text", "narrative", "--model", "parent"]
    arguments += ["-o", str(tmp_path / "m.skops"), "-q"]
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        assert list(tmp_path.iterdir()) != []
        process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert process.wait(timeout=50) == 128 + signal.SIGTERM
        assert time.monotonic() - started < 50
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "{data}", "--target", "product", "-o", "{data}"],
        ["fit", "{data}", "--target", "product", "--add", "{other}", "-o", "{other}"],
        ["predict", "{model}", "{data}", "-o", "{data}"],
        ["predict", "{model}", "{data}", "-o", "{model}"],
        ["evaluate", "{model}", "{data}", "--report", "{data}"],
        ["evaluate", "{model}", "{data}", "--baseline", "{other}", "--report", "{other}"],
        ["report", "{model}", "{data}", "-o", "{model}"],
        ["report", "{model}", "{data}", "--compare", "{other}", "-o", "{other}"],
        ["explain", "{model}", "{data}", "-o", "{data}"],
        ["tune", "{model}", "{data}", "-o", "{data}"],
        ["guarantee", "{model}", "{data}", "-o", "{data}"],
        ["label-errors", "{model}", "{data}", "-o", "{data}"],
        ["compare", "{model}", "{data}", "{other}", "-o", "{other}"],
        ["review", "{data}", "--model", "{model}", "-o", "{data}"],
        ["review", "{data}", "--model", "{model}", "-o", "{model}"],
    ],
)
def test_no_command_replaces_what_it_reads(fails, shared, tmp_path, command):
    names = {"model": shared / "model.skops", "data": shared / "train.csv"}
    files = {"other": tmp_path / "other.csv"}
    files["other"].write_bytes(names["data"].read_bytes())
    for name, path in names.items():
        files[name] = tmp_path / path.name
        files[name].write_bytes(path.read_bytes())
    before = {name: path.read_bytes() for name, path in files.items()}
    error = fails(*(part.format(**files) for part in command))
    assert "is an input of this command and would be replaced by its result." in error
    assert {name: path.read_bytes() for name, path in files.items()} == before
