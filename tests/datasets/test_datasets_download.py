"""Downloads against a real HTTP server on this machine that misbehaves on request."""

import csv
import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from hiclass.datasets import fetch_consumer_complaints
from hiclass.datasets._complaints import URL
from hiclass.datasets._download import download

FILE = "/complaints.csv.zip"
HEADER = [
    "Date received", "Product", "Sub-product", "Issue", "Sub-issue",
    "Consumer complaint narrative", "Complaint ID",
]  # fmt: skip
COMPLAINTS = [
    ["2024-01-02", "Mortgage", "FHA mortgage", "Trouble", "Fees", "They, lost\nmy payment", "1"],
    ["2024-01-03", "Mortgage", "", "Closing", "", "Zinsen zu hoch", "2"],
    ["2024-01-04", "Credit card", "Store card", "Fees", "", "", "3"],
    ["2024-01-05", "Credit card", "Store card", "Fees", "Late fee", "x" * 200_000, "4"],
]


def zipped(rows, header=HEADER):
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:  # stored: its length is known
        archive.writestr("complaints.csv", text.getvalue())
    return packed.getvalue()


class Server(ThreadingHTTPServer):
    """Serves one body. `faults` is what goes wrong in the first requests, one after another."""

    daemon_threads = True

    def __init__(self, body):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.etag, self.faults, self.requests = body, '"v1"', [], []
        self.release = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}{FILE}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.requests.append(wanted)
        fault = server.faults.pop(0) if server.faults else None
        if isinstance(fault, int):
            self.send_error(fault)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if fault == "ignores range" or self.headers.get("If-Range") != server.etag:
            start = 0
        if start >= len(server.body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = server.body[start:]
        self.send_response(206 if start else 200)
        if start:
            first = start + (5 if fault == "wrong start" else 0)
            span = f"bytes {first}-{len(server.body) - 1}/{len(server.body)}"
            self.send_header("Content-Range", "what?" if fault == "no span" else span)
        if fault == "weak":
            self.send_header("ETag", "W/" + server.etag)
        elif fault != "no version":
            self.send_header("ETag", server.etag)
        if fault == "unknown length":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault in ("truncates", "stalls", "no version", "weak"):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if fault == "stalls":
                server.release.wait(20)
        else:
            self.wfile.write(body)
        self.close_connection = True


@pytest.fixture
def server():
    server = Server(zipped(COMPLAINTS))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def get(server, tmp_path):
    def get(**options):
        options = {"n_retries": 0, "delay": 0.0, "progress": False} | options
        return download(server.url, tmp_path / "folder" / "file.zip", **options)

    return get


def files(folder):
    return sorted(path.name for path in (folder / "folder").iterdir())


def test_a_file_arrives_whole_and_alone(server, get, tmp_path):
    assert get().read_bytes() == server.body
    assert files(tmp_path) == ["file.zip"]
    assert server.requests == [None]


def test_a_truncated_body_is_noticed_and_resumed_by_the_next_call(server, get, tmp_path):
    server.faults = ["truncates"]
    half = len(server.body) // 2
    with pytest.raises(
        OSError, match=f"{half} of {len(server.body)} bytes arrived.*Call the function again"
    ):
        get()
    assert files(tmp_path) == ["file.zip.part", "file.zip.part.json"]
    assert get().read_bytes() == server.body
    assert server.requests == [None, f"bytes={half}-"]
    assert files(tmp_path) == ["file.zip"]


def test_a_server_that_stops_midway_is_left_after_the_timeout_and_resumed(server, get):
    server.faults = ["stalls"]
    assert get(n_retries=1, timeout=0.5).read_bytes() == server.body
    assert server.requests == [None, f"bytes={len(server.body) // 2}-"]


def test_several_failures_are_survived_in_one_call(server, get):
    server.faults = ["truncates", 503, "truncates"]
    assert get(n_retries=3).read_bytes() == server.body
    assert [r is None for r in server.requests] == [True, False, False, False]


def test_a_server_that_ignores_ranges_starts_from_the_beginning(server, get):
    server.faults = ["truncates", "ignores range"]
    assert get(n_retries=1).read_bytes() == server.body


def test_bytes_of_another_version_are_thrown_away(server, get):
    server.faults = ["truncates"]
    with pytest.raises(OSError, match="Call the function again"):
        get()
    server.body, server.etag = bytes(reversed(server.body)), '"v2"'
    assert get().read_bytes() == server.body


@pytest.mark.parametrize("fault", ["no version", "weak"])
def test_without_a_version_nothing_is_resumed(server, get, fault):
    server.faults = [fault]
    assert get(n_retries=1).read_bytes() == server.body
    assert server.requests == [None, None]


def test_a_complete_part_needs_no_more_bytes(server, get, tmp_path):
    server.faults = ["truncates"]
    with pytest.raises(OSError, match="Call the function again"):
        get()
    (tmp_path / "folder" / "file.zip.part").write_bytes(server.body)
    assert get().read_bytes() == server.body
    assert server.requests[-1] == f"bytes={len(server.body)}-"


def test_a_part_that_is_too_long_is_thrown_away(server, get, tmp_path):
    server.faults = ["truncates"]
    with pytest.raises(OSError, match="Call the function again"):
        get()
    (tmp_path / "folder" / "file.zip.part").write_bytes(server.body + b"more")
    assert get().read_bytes() == server.body


@pytest.mark.parametrize(
    ("fault", "message"),
    [("wrong start", "continued at byte"), ("no span", "without stating which")],
)
def test_a_wrong_part_is_refused(server, get, fault, message):
    server.faults = ["truncates", fault]
    with pytest.raises(OSError, match="arrived"):
        get()
    with pytest.raises(OSError, match=message):
        get()
    assert get().read_bytes() == server.body


def test_a_body_of_unknown_length_is_taken(server, get):
    server.faults = ["unknown length"]
    assert get().read_bytes() == server.body


def test_a_wrong_address_is_not_tried_again(server, get, tmp_path):
    server.faults = [404]
    with pytest.raises(OSError, match=r"404.*Check the address"):
        get(n_retries=5)
    assert len(server.requests) == 1
    assert files(tmp_path) == []


def test_a_server_that_is_not_there_is_an_error_of_one_line(tmp_path):
    with pytest.raises(OSError, match=r"failed \(.*\)\. Try again later\.$"):
        download("http://127.0.0.1:9/x", tmp_path / "x", n_retries=0)


def test_only_web_addresses_are_taken(tmp_path):
    with pytest.raises(ValueError, match="must start with http"):
        download("file:///etc/hostname", tmp_path / "x")


def test_the_checksum_is_checked(server, get, tmp_path):
    with pytest.raises(OSError, match="not the expected file"):
        get(sha256="0" * 64)
    assert files(tmp_path) == []
    assert get(sha256=hashlib.sha256(server.body).hexdigest().upper()).exists()


def test_a_folder_that_is_a_file_is_no_matter_of_patience(server, get, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file.zip.part").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        get(n_retries=5)
    assert len(server.requests) == 1


def test_progress_is_shown_if_asked_for(server, get, capsys):
    server.faults = ["unknown length"]
    get(progress=True)
    get(progress=True)
    shown = capsys.readouterr().err
    megabytes = f"{len(server.body) / 1e6:.1f}"
    assert f"file.zip: {megabytes} MB" in shown
    assert f" {megabytes} of {megabytes} MB, 100% \n" in shown
    get()
    assert capsys.readouterr().err == ""


class TestComplaints:
    @pytest.fixture
    def fetch(self, server, tmp_path):
        def fetch(**options):
            options = {"url": server.url, "n_retries": 0} | options
            return fetch_consumer_complaints(data_home=tmp_path, **options)

        return fetch

    def test_rows_with_a_narrative_become_texts_and_paths(self, fetch):
        bunch = fetch()
        assert bunch.data.tolist() == ["They, lost\nmy payment", "Zinsen zu hoch", "x" * 200_000]
        assert bunch.target.tolist() == [
            ["Mortgage", "FHA mortgage"],
            ["Mortgage", ""],
            ["Credit card", "Store card"],
        ]
        assert bunch.target_names == ["product", "sub_product"]
        assert bunch.date.tolist() == ["2024-01-02", "2024-01-03", "2024-01-05"]
        assert bunch.complaint_id.tolist() == ["1", "2", "4"]

    def test_the_file_is_kept(self, fetch, server):
        first, second = fetch(), fetch(download_if_missing=False)
        np.testing.assert_array_equal(first.data, second.data)
        assert len(server.requests) == 1

    def test_a_kept_file_of_another_address_is_not_taken(self, fetch, server, tmp_path):
        fetch()
        server.body = zipped([])
        assert len(fetch(url=f"{server.url}?year=2024").data) == 0
        assert len(server.requests) == 2
        assert len(fetch().data) == 3
        with pytest.raises(OSError, match=r"consumer_complaints\.csv\.zip does not exist"):
            fetch(url=URL, download_if_missing=False)
        assert len(list((tmp_path / "hiclass").iterdir())) == 2

    def test_an_interrupted_download_continues(self, fetch, server):
        server.faults = ["truncates"]
        with pytest.raises(OSError, match="again to resume"):
            fetch()
        assert len(fetch().data) == 3
        assert server.requests[1].startswith("bytes=")

    def test_other_target_fewer_rows_frames(self, fetch):
        X, y = fetch(target="issue", max_rows=2, as_frame=True, return_X_y=True)
        assert X.name == "text"
        assert y.to_dict("list") == {"issue": ["Trouble", "Closing"], "sub_issue": ["Fees", ""]}

    def test_a_missing_file_is_an_error_if_it_may_not_be_downloaded(self, fetch, server):
        with pytest.raises(OSError, match="Use download_if_missing=True"):
            fetch(download_if_missing=False)
        assert not server.requests

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"<html>Sorry</html>", "not a zipped CSV file, or it is damaged"),
            (zipped([], header=["Product", "Text"]), "no column 'Complaint ID'"),
        ],
        ids=["page", "columns"],  # not the file itself: it holds the time
    )
    def test_another_file_is_refused(self, fetch, server, body, message):
        server.body = body
        with pytest.raises(ValueError, match=message):
            fetch()

    def test_a_damaged_file_is_noticed(self, fetch, server):
        damaged = bytearray(server.body)
        damaged[len(damaged) // 2] ^= 1
        server.body = bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            fetch()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target": "company"}, "target must be 'product' or 'issue'; got 'company'"),
            ({"max_rows": True}, "max_rows must be an integer of at least 1, or None; got True"),
            ({"as_frame": "no"}, "as_frame must be True or False; got 'no'"),
            ({"max_rows": 0}, "max_rows must be an integer of at least 1, or None; got 0"),
        ],
    )
    def test_bad_parameters_are_named(self, fetch, options, message):
        with pytest.raises(ValueError, match=message):
            fetch(**options)
