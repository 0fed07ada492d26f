"""The command as users run it: real processes, on good files and on bad ones."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import HEADER, TARGET, make_rows, write_csv

import hiclass


def hiclass_command(*arguments, cwd, stdin=b"", **environment):
    source = str(Path(hiclass.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "hiclass", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONUTF8": "1"} | environment,
        timeout=300,
    )


def test_from_a_file_to_predictions(tmp_path):
    rows = make_rows()
    write_csv(tmp_path / "data.csv", rows)
    options = ["--target", *TARGET, "--text", "narrative", "-o", "model.skops"]
    done = hiclass_command("fit", "data.csv", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b""
    assert b"Fitted auto on 60 rows" in done.stderr
    assert b"\x1b[" not in done.stderr  # no colours: it is no terminal

    new = (tmp_path / "data.csv").read_bytes()
    done = hiclass_command("predict", "model.skops", "-", "--keep", "id", cwd=tmp_path, stdin=new)
    assert done.returncode == 0, done.stderr.decode()
    predicted = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["id"] for row in predicted] == [row[0] for row in rows]
    right = [
        found["predicted_product"] == row[1] for found, row in zip(predicted, rows, strict=True)
    ]
    assert sum(right) > 50

    done = hiclass_command("evaluate", "model.skops", "data.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert b"over all levels: hierarchical precision" in done.stdout

    done = hiclass_command("tree", "data.csv", "--target", *TARGET, "-q", cwd=tmp_path)
    assert "├── Card  24" in done.stdout.decode().splitlines()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "model.skops"]


FIT = ["fit", "data.csv", "--target", *TARGET, "--text", "narrative", "-o", "out.skops"]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (
            "id,product,text\n1,a,hello there\n",
            FIT,
            "data.csv has no column 'sub_product'. Did you mean 'product'?",
        ),
        ("", FIT, "data.csv is empty. It needs a header and at least one row."),
        (
            "product,sub_product,narrative\na,b,na\xefve\n".encode("latin-1"),
            FIT,
            "data.csv, line 2: the byte 0xef is not utf-8. Use the encoding of the file, for "
            "example --encoding cp1252 (Windows) or utf-16.",
        ),
        (
            'product,sub_product,narrative\na,b,"two\nlines"\n,b,one\n',
            FIT,
            "data.csv, line 4: 'sub_product' has a label ('b') but 'product', one level up, is "
            "empty. Fill it in, or use --truncate-gaps to end such paths at the gap.",
        ),
        (
            "id\n1\n",
            ["predict", "data.csv", "data.csv", "-o", "out.csv"],
            "data.csv is not a skops file. Create a model with hiclass fit.",
        ),
        (
            "product,sub_product,narrative\na,b,hello there\n",
            [*FIT[:-1], "missing/out.skops"],
            "missing/out.skops cannot be written: there is no folder missing. Create it first.",
        ),
    ],
    ids=["missing column", "empty", "encoding", "gap", "no model", "unwritable"],
)
def test_bad_files_are_one_line_with_the_remedy(tmp_path, content, arguments, message):
    raw = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "data.csv").write_bytes(raw)
    done = hiclass_command(*arguments, "-q", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().splitlines() == [f"hiclass: error: {message}"]
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    rows = [[f"class {i}", "", "", "", "", ""] for i in range(30_000)]
    write_csv(tmp_path / "data.csv", [[r[0], r[0], *r[1:5]] for r in rows], header=HEADER)
    source = str(Path(hiclass.__file__).parents[1])
    command = f"{sys.executable} -m hiclass tree data.csv -q --target id | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONUTF8": "1"},
        timeout=300,
    )
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.decode() == "├── class 0  1\n"
