"""``hiclass review`` as users run it: a desk on a free port, decisions on disk, kills."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_helpers import TARGET, contested_rows, make_rows, read, unlabelled_rows, write_csv

import hiclass
from hiclass._cli import main
from hiclass._cli._models import load_model, save_model
from hiclass._cli._parser import make_parser
from hiclass._cli._review import open_desk

COMMAND = [sys.executable, "-m", "hiclass", "review"]


@pytest.fixture(scope="module")
def folder(unsure_model, tmp_path_factory):
    """A queue of a model, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("review")
    rows = unlabelled_rows(50)
    rows[4][3] = "=cmd() and a card"
    rows[6][3] = "'=cmd() and a card"
    rows[8][3] = "-5"
    new = write_csv(folder / "new.csv", rows)
    model = unsure_model
    output = ["-o", str(folder / "done.csv"), "--review", str(folder / "queue.csv")]
    assert main(["triage", model, str(new), "--min-confidence", "0.99", "-q", *output]) == 0
    return folder


@pytest.fixture
def model(unsure_model):
    return unsure_model


@pytest.fixture
def queue(folder):
    return str(folder / "queue.csv")


@pytest.fixture
def output(tmp_path):
    return tmp_path / "reviewed.csv"


class Client:
    """A page: it has a cookie, and decides."""

    def __init__(self, port, token):
        self.port = port
        status, headers, _ = self.send("GET", f"/?token={token}")
        assert status == 303
        self.cookie = headers["set-cookie"].partition(";")[0]

    cookie = ""

    def send(self, method, path, content=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Content-Type": "application/json", "Cookie": self.cookie}
            body = None if content is None else json.dumps({"worker": "w", **content})
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def post(self, path, content):
        status, _, body = self.send("POST", path, content)
        return status, json.loads(body)


@contextmanager
def desk(queue, model, output, *options, **more):
    """A desk in a process of its own; yields it and a page."""
    source = str(Path(hiclass.__file__).parents[1])
    server = subprocess.Popen(
        [*COMMAND, queue, "--model", model, "-o", str(output), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
        **more,
    )
    lines = []
    try:
        while not (found := re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)", "".join(lines[-1:]))):
            lines.append(server.stderr.readline())
            assert lines[-1], lines
        yield server, Client(int(found[1]), found[2])
    finally:
        server.kill()
        server.communicate(timeout=60)


def stop(server):
    server.send_signal(signal.SIGTERM)
    _, err = server.communicate(timeout=60)
    assert server.returncode == 0, err
    return err


def test_decisions_survive_kills_and_the_result_is_a_labelled_file(queue, model, output, run):
    original = read(Path(queue).read_text())
    nodes = {}
    confirmed = 0
    for turn in range(2):
        with desk(queue, model, output) as (server, page):
            _, taken = page.post("/api/take", {})
            assert taken["progress"]["coded"] + taken["progress"]["skipped"] == confirmed
            for step in range(3):
                row = taken["row"]["row"]
                path = taken["row"]["suggestions"][step % 2]["path"]
                node = None if (turn, step) == (0, 1) else path[0 if step == 2 else -1]["node"]
                body = {"row": row, "node": node, "comment": "Zoë, =1" if step == 2 else ""}
                status, taken = page.post("/api/decide", body)
                assert status == 200
                end = 1 if step == 2 else None
                nodes[row] = None if node is None else [s["label"] for s in path][:end]
                confirmed += 1
            if turn < 1:
                server.kill()
            else:
                assert "Wrote" in stop(server)
    found = read(output.read_text())
    assert len(found) == 6
    by_id = {row["id"]: row for row in original}
    for (row, labels), written in zip(sorted(nodes.items()), found, strict=True):
        assert written["id"] == original[row]["id"]
        assert written["narrative"] == by_id[written["id"]]["narrative"]
        expected = [*(labels or []), "", ""][:2]
        assert [written[name] for name in TARGET] == expected
        suggested = json.loads(original[row]["suggestion_1"])
        kind = "accepted" if labels == suggested else "corrected"
        assert written["review"] == ("skipped" if labels is None else kind)
        assert re.fullmatch("[0-9a-f]{8}", written["review_by"])
        assert re.match(r"20\d\d-\d\d-\d\dT", written["review_at"])
    assert {row["review_comment"] for row in found} == {"", "Zoë, =1"}
    # The journal alone is enough.
    output.unlink()
    _, err = run("review", queue, "--model", model, "-o", output, "--write")
    assert read(output.read_text()) == found
    assert "5 rows coded, 1 skipped" in err


def open_here(queue, model, output):
    """A desk in this process, without a server."""
    args = ["review", str(queue), "--model", str(model), "-o", str(output), "-q"]
    desk, _, _ = open_desk(make_parser().parse_args(args))
    return desk


def test_cells_are_on_the_page_as_they_were(queue, model, output, run):
    desk = open_here(queue, model, output)
    texts = set()
    while (shown := desk.take("w")) is not None:
        texts.add(next(cell["text"] for cell in shown["cells"] if cell["name"] == "narrative"))
        desk.decide("w", "a", shown["row"], -1)
    desk.journal.close()
    assert {"=cmd() and a card", "'=cmd() and a card", "-5"} <= texts
    run("review", queue, "--model", model, "-o", output, "--write")
    written = {row["narrative"] for row in read(output.read_text())}
    assert {"'=cmd() and a card", "''=cmd() and a card", "-5"} <= written


@pytest.mark.skipif(os.name != "posix", reason="limits of files are POSIX")
def test_a_full_disk_is_said_and_nothing_confirmed_is_lost(queue, model, output):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    confirmed = 0
    with desk(queue, model, output, preexec_fn=limit) as (server, page):
        _, taken = page.post("/api/take", {})
        while True:
            row = taken["row"]
            node = row["suggestions"][0]["path"][-1]["node"]
            status, reply = page.post("/api/decide", {"row": row["row"], "node": node})
            if status != 200:
                break
            taken, confirmed = reply, confirmed + 1
        assert (status, reply["error"]["kind"]) == (507, "not_stored")
        assert (
            "The decision was not stored: File too large. Earlier decisions"
            in (reply["error"]["message"])
        )
        # The same row is still there.
        _, again = page.post("/api/take", {})
        assert again["row"]["row"] == row["row"]
        server.kill()
    assert confirmed > 3
    desk_again = open_here(queue, model, output)
    assert desk_again.progress()["coded"] == confirmed
    assert desk_again.take("w")["row"] == row["row"]
    desk_again.journal.close()


def test_two_desks_do_not_share_a_journal(queue, model, output, fails):
    desk = open_here(queue, model, output)
    error = fails("review", queue, "--model", model, "-o", output)
    assert "this queue is already being reviewed. Use the address" in error
    desk.journal.close()


def refuse(fails, queue, model, output):
    return fails("review", queue, "--model", model, "-o", output, "--write")


def test_a_queue_of_another_model_or_other_classes_is_refused(
    queue, model, output, fails, fit, tmp_path
):
    changed = load_model(model)
    changed.opened.model.set_params(min_confidence=0.123)
    save_model(changed, str(tmp_path / "other.skops"))
    error = refuse(fails, queue, tmp_path / "other.skops", output)
    assert "queue.csv, line 2: This row is from a model other than the given one" in error
    rows = make_rows()
    for row in rows:
        row[2] = row[2].replace("Car", "Vehicle")
    fit(rows, "--text", "narrative")
    error = refuse(fails, queue, tmp_path / "m.skops", output)
    assert "line 2: The suggestions of this row are from a taxonomy" in error
    assert not Path(f"{output}.journal").exists()


@pytest.mark.parametrize("name", ["suggestion_1", "narrative", "queue_model"])
def test_missing_columns_are_named(queue, model, output, fails, tmp_path, name):
    rows = read(Path(queue).read_text())
    header = [column for column in rows[0] if column != name]
    less = write_csv(
        tmp_path / "less.csv", [[row[column] for column in header] for row in rows], header=header
    )
    error = refuse(fails, less, model, output)
    assert f"less.csv: The queue has no column '{name}'" in error


def test_an_edited_journal_is_refused_and_kept(queue, model, output, fails):
    desk = open_here(queue, model, output)
    for row in range(3):
        desk.decide("w", "a", row, 1)
    desk.journal.close()
    journal = Path(f"{output}.journal")
    edited = journal.read_text().replace('"rows":[1]', '"rows":[9]')
    journal.write_text(edited)
    error = refuse(fails, queue, model, output)
    assert "reviewed.csv.journal, line 3: this line was changed" in error
    assert "The 1 entries before it are valid" in error
    assert journal.read_text() == edited


def test_the_journal_of_another_queue_is_refused(queue, model, output, fails, tmp_path):
    main(["review", queue, "--model", model, "-o", str(output), "--write", "-q"])
    lines = Path(queue).read_text().splitlines(keepends=True)
    shorter = tmp_path / "shorter.csv"
    shorter.write_text("".join(lines[:-1]))
    error = refuse(fails, shorter, model, output)
    assert "is the journal of another queue. Choose another output with -o" in error


def test_a_torn_line_is_reported(queue, model, output, run):
    run("review", queue, "--model", model, "-o", output, "--write")
    with Path(f"{output}.journal").open("ab") as journal:
        journal.write(b"0123")
    _, err = run("review", queue, "--model", model, "-o", output, "--write")
    assert "the last line was unfinished when the desk was killed (4 bytes)" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "-"], "-o needs the name of a file, because the journal is written next to it."),
        (["-o", "no/r.csv"], "there is no folder no"),
        (["-o", "r.x"], "the name does not show the format. Use a name that ends with .csv"),
        (["-o", "/dev/null"], "/dev/null is not a regular file, so the journal cannot be"),
    ],
)
def test_wrong_outputs_are_refused(queue, model, fails, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in fails("review", queue, "--model", model, *options)


def test_a_journal_that_cannot_be_opened(queue, model, output, fails, monkeypatch):
    Path(f"{output}.journal").mkdir()
    assert "reviewed.csv.journal is a folder" in refuse(fails, queue, model, output)
    Path(f"{output}.journal").rmdir()

    def full(path, header):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hiclass._cli._review.Journal", full)
    error = refuse(fails, queue, model, output)
    assert "reviewed.csv.journal cannot be written: No space left on device. Free some" in error


def test_other_formats_keep_their_cells(folder, model, tmp_path, run):
    queue, output = tmp_path / "q.parquet", tmp_path / "r.jsonl"
    options = ("-o", tmp_path / "d.csv", "--review", queue, "--min-confidence", "0.99")
    run("triage", model, folder / "new.csv", *options)
    run("review", queue, "--model", model, "-o", output, "--write")
    assert output.read_text() == ""


def test_paths_in_one_column_are_written_as_one(run, tmp_path):
    rows = [[row[0], " > ".join(filter(None, row[1:3])), row[3]] for row in contested_rows()]
    train = write_csv(tmp_path / "t.csv", rows, header=["id", "category", "narrative"])
    model, queue, output = (tmp_path / name for name in ("m.skops", "q.csv", "r.csv"))
    run(
        "fit", train, "--target", "category", "--path-separator", " > ", "--text", "narrative",
        "--model", "parent", "-o", model, "-q",
    )  # fmt: skip
    options = ("-o", tmp_path / "d.csv", "--review", queue, "--min-confidence", "0.99")
    new = write_csv(tmp_path / "n.csv", [["1", "engine mortgage card"]], header=["id", "narrative"])
    run("triage", model, new, *options)
    desk = open_here(queue, model, output)
    path = desk.take("w")["suggestions"][0]["path"]
    desk.decide("w", "a", 0, path[-1]["node"])
    desk.journal.close()
    run("review", queue, "--model", model, "-o", output, "--write")
    (row,) = read(output.read_text())
    assert row["category"] == " > ".join(step["label"] for step in path)


def test_the_address_is_printed_and_the_port_is_opened(
    queue, model, output, run, fails, monkeypatch
):
    served = []

    def serve(app, opened):
        served.append((app, opened.getsockname()))
        opened.close()

    monkeypatch.setattr("hiclass._cli._review.run", serve)
    _, err = run("review", queue, "--model", model, "-o", output, "--port", "0", "-q")
    ((_, (host, port)),) = served
    assert re.fullmatch(rf"Open http://{host}:{port}/\?token=[\w-]{{32}}\n", err)
    assert host == "127.0.0.1"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = fails("review", queue, "--model", model, "-o", output, "--port", port)
    assert f"127.0.0.1, port {port}, cannot be opened" in error
    assert error.endswith("Choose another --port (0 for any free port).")
