"""``hiclass serve`` as users run it: a real server on a free port of this machine."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_helpers import make_rows

import hiclass
from hiclass._cli import main
from hiclass._cli._models import load_model

COLUMNS = ("narrative", "amount", "state")


def row_of(values):
    """A row of the file as a request has it."""
    return dict(zip(COLUMNS, values[3:], strict=True))


@contextmanager
def serving(model, *options):
    """A server in a process of its own; yields it and its port."""
    source = str(Path(hiclass.__file__).parents[1])
    server = subprocess.Popen(
        [sys.executable, "-m", "hiclass", "serve", model, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": source, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
    )
    try:
        lines = []
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", "".join(lines[-1:]))):
            lines.append(server.stderr.readline())
            assert lines[-1], lines
        yield server, int(found[1])
    finally:
        server.kill()
        server.communicate(timeout=60)


def send(port, method, path, content=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        given = {"Content-Type": "application/json"} | headers
        connection.request(method, path, json.dumps(content) if content else None, given)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def port(shared):
    with serving(str(shared / "model.skops"), "--max-rows", "50") as (_, port):
        yield port


class TestRequests:
    def test_replies_are_those_of_the_model(self, port, model):
        rows = [row_of(values) for values in make_rows(20)]
        status, content = send(port, "POST", "/predict?k=2", {"rows": rows})
        assert status == 200
        expected = load_model(model).pipeline.predict(rows)
        for found, path in zip(content["predictions"], expected, strict=True):
            assert found["path"] == [label for label in path if label]
            assert len(found["path"]) == len(found["confidence"])
            assert found["paths"][0]["path"] == found["path"]

    def test_requests_at_the_same_time(self, port, model):
        rows = [row_of(values) for values in make_rows(40)]
        expected = load_model(model).pipeline.predict(rows)
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda row: send(port, "POST", "/predict", {"row": row}), rows))
        for (status, content), path in zip(replies, expected, strict=True):
            assert status == 200
            assert content["prediction"]["path"] == [label for label in path if label]

    def test_health_and_model(self, port):
        assert send(port, "GET", "/health")[1]["status"] == "ok"
        _, found = send(port, "GET", "/model")
        assert [level["name"] for level in found["levels"]] == ["product", "sub_product"]
        assert [column["name"] for column in found["features"]] == list(COLUMNS)
        assert found["name"] == "model.skops"

    def test_errors(self, port):
        row = row_of(make_rows(1)[0])
        for content, status, kind in [
            ({"row": {"narrative": "x"}}, 422, "missing_column"),
            ({"rows": [row] * 51}, 413, "too_many_rows"),
            ({"row": row | {"amount": "much"}}, 422, "wrong_type"),
        ]:
            found = send(port, "POST", "/predict", content)
            assert (found[0], found[1]["error"]["kind"]) == (status, kind)
        assert send(port, "GET", "/nothing")[0] == 404
        assert send(port, "GET", "/health", Host="evil.example")[0] == 421

    def test_a_request_that_says_that_it_is_too_long_is_not_read(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "99999999999")
        connection.endheaders()
        reply = connection.getresponse()
        assert reply.status == 413
        assert json.loads(reply.read())["error"]["kind"] == "too_long"
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(model, number):
    with serving(model, "--min-confidence", "1") as (server, port):
        assert send(port, "GET", "/model")[1]["min_confidence"] == 1
        server.send_signal(number)
        out, err = server.communicate(timeout=60)
    assert server.returncode == 0
    assert (out, err) == ("", "Stopped.\n")


class TestErrors:
    def test_a_port_in_use(self, fails, model):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            message = fails("serve", model, "--port", port)
        assert message == (
            f"127.0.0.1, port {port}, cannot be opened: Address already in use. Choose another "
            f"--port (0 for any free port) or --host."
        )

    def test_a_host_that_does_not_exist(self, fails, model):
        message = fails("serve", model, "--host", "no.such.host.invalid")
        assert message.startswith("no.such.host.invalid, port 8000, cannot be opened: ")

    def test_a_file_that_is_not_a_model(self, fails, train, tmp_path):
        assert "is not a skops file" in fails("serve", train)
        assert "does not exist, or is not a file" in fails("serve", tmp_path)

    def test_missing_libraries(self, fails, model, monkeypatch):
        find = __import__("importlib.util").util.find_spec
        absent = ("fastapi", "uvicorn")
        monkeypatch.setattr(
            "importlib.util.find_spec", lambda name: None if name in absent else find(name)
        )
        assert fails("serve", model) == (
            "hiclass serve needs fastapi, uvicorn. Install with: pip install fastapi uvicorn"
        )

    @pytest.mark.parametrize("port", ["-1", "65536", "http"])
    def test_a_port_that_is_none(self, run, model, port):
        _, err = run("serve", model, f"--port={port}", status=2)
        assert f"a port from 0 to 65535 is needed, not '{port}'" in err


class TestInProcess:
    """What a server in another process does, where coverage sees it."""

    @pytest.fixture
    def served(self, monkeypatch):
        import uvicorn

        served = []

        def run(self, sockets):
            self.should_exit = bool(served) or True
            served.append((self.config, sockets[0].getsockname()))
            raise KeyboardInterrupt  # as uvicorn does in the end

        monkeypatch.setattr(uvicorn.Server, "run", run)
        return served

    def test_what_is_served_and_said(self, run, model, served):
        out, err = run("serve", model, "--port", "0")
        ((config, (host, port)),) = served
        assert host == "127.0.0.1"
        assert config.access_log is False
        assert out == ""
        address = f"http://127.0.0.1:{port}"
        assert err == (
            f"Serving model.skops at {address}: POST /predict, GET /model, GET /health. Press "
            f"Ctrl+C to stop.\nStopped.\n"
        )

    def test_other_machines_are_warned_of(self, run, model, served):
        _, err = run("serve", model, "--host", "0.0.0.0", "--port", "0")
        assert (
            "warning: 0.0.0.0 may be reachable from other machines, and the service has no" in err
        )

    def test_an_interruption_before_it_runs_is_one(self, run, model, monkeypatch):
        import uvicorn

        def run_(self, sockets):
            raise KeyboardInterrupt

        monkeypatch.setattr(uvicorn.Server, "run", run_)
        assert main(["serve", model, "--port", "0", "-q"]) == 130
