"""The desk over HTTP: the door, other origins, and what a page gets for what it sends."""

import asyncio
import re

import pytest
from desk_helpers import PATHS, TREE, make_desk

from hiclass._serving.desk.app import Door, make_desk_app

NODES = [TREE.find(path) for path in PATHS]


class Browser:
    """Sends requests as a browser does, with cookies, to an application in this process."""

    def __init__(self, app, base="http://127.0.0.1:8001"):
        self.app, self.base, self.cookies = app, base, {}

    def send(self, method, path, **options):
        import httpx

        async def send():
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            headers = dict(options.pop("headers", {}))
            if self.cookies:
                headers["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
                reply = await client.request(method, path, headers=headers, **options)
                self.cookies |= dict(reply.cookies)
                return reply

        return asyncio.run(send())

    def get(self, path, **options):
        return self.send("GET", path, **options)

    def post(self, path, content=None, **options):
        return self.send("POST", path, json={"worker": "w"} | (content or {}), **options)

    def fails(self, method, path, status, **options):
        reply = self.send(method, path, **options)
        assert reply.status_code == status, reply.text
        return reply.json()["error"]


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path / "j")


@pytest.fixture
def door():
    return Door(8001)


@pytest.fixture
def app(desk, door):
    return make_desk_app(desk, door)


@pytest.fixture
def stranger(app):
    return Browser(app)


@pytest.fixture
def browser(app, door):
    browser = Browser(app)
    browser.get(f"/?token={door.token}")
    return browser


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(stranger, door):
    reply = stranger.get(f"/?token={door.token}")
    assert reply.status_code == 303
    assert reply.headers["location"] == "/"
    cookie = reply.headers["set-cookie"]
    assert re.fullmatch(
        r"hiclass_desk_8001=[0-9a-f]{8}\.[\w-]{32}; HttpOnly; Path=/; SameSite=strict", cookie
    )
    assert door.token not in cookie
    reply = stranger.get("/")
    assert (reply.status_code, "desk.js" in reply.text) == (200, True)


@pytest.mark.parametrize("token", ["", "x", "ü"])
def test_a_wrong_token_is_refused(stranger, token):
    reply = stranger.get("/", params={"token": token})
    assert reply.status_code == 403
    assert "no access to the desk" in reply.text
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/desk"),
        ("GET", "/api/find?q=car"),
        ("GET", "/api/browse?node=0"),
        ("POST", "/api/take"),
        ("POST", "/api/decide"),
        ("POST", "/api/undo"),
        ("POST", "/api/stay"),
        ("POST", "/api/leave"),
    ],
)
def test_nothing_is_said_without_a_cookie(stranger, desk, method, path):
    stranger.cookies = {"hiclass_desk_8001": "0123abcd.guess"}
    assert stranger.fails(method, path, 401)["kind"] == "wrong_token"
    assert stranger.get("/").status_code == 401
    assert desk.progress()["taken"] == 0


def test_requests_of_other_origins_are_refused(browser, desk):
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1:8001"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        for method, path in (("POST", "/api/decide"), ("GET", "/api/desk"), ("GET", "/desk.js")):
            error = browser.fails(method, path, 403, headers=headers)
            assert error["kind"] == "foreign_origin"
    assert browser.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200
    own = {"origin": "http://127.0.0.1:8001", "sec-fetch-site": "same-origin"}
    assert browser.post("/api/take", headers=own).status_code == 200


def test_other_names_of_the_machine_are_refused(app, door):
    attacker = Browser(app, "http://evil.example:8001")
    reply = attacker.get(f"/?token={door.token}")
    assert (reply.status_code, reply.json()["error"]["kind"]) == (421, "wrong_host")
    assert Browser(app, "http://localhost:8001").get(f"/?token={door.token}").status_code == 303


@pytest.mark.parametrize("path", ["/", "/desk.js", "/desk.css", "/desk.svg", "/api/desk", "/none"])
def test_every_reply_has_the_headers_that_keep_browsers_safe(browser, path):
    headers = browser.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_pages_have_nothing_from_elsewhere_and_nothing_inline(browser):
    for path in ("/", "/desk.css", "/desk.js"):
        text = browser.get(path).text
        assert "http" not in text.replace("http-equiv", "")
        assert "innerHTML" not in text
    page = browser.get("/").text
    assert not re.search(r"<script(?! src=)|<style| style=| on\w+=", page)


def test_the_way_of_a_page(browser, desk):
    about = browser.get("/api/desk").json()
    assert (about["title"], about["levels"]) == ("queue.csv", ["product", "kind"])
    taken = browser.post("/api/take").json()
    assert taken["row"]["row"] == 0
    assert taken["progress"]["taken"] == 1
    body = {"row": 0, "node": NODES[0], "comment": "sure"}
    reply = browser.post("/api/decide", body).json()
    assert (reply["row"]["row"], reply["decided"], reply["progress"]["first"]) == (1, 1, 1)
    reply = browser.post("/api/decide", {"row": 1, "node": None}).json()
    assert reply["progress"]["skipped"] == 1
    reply = browser.post("/api/decide", {"row": 2, "node": NODES[2], "identical": True}).json()
    assert reply["decided"] == 2
    reply = browser.post("/api/undo").json()
    assert reply["row"]["row"] == 2
    assert browser.get("/api/find", params={"q": "mortgage"}).json()["classes"]
    assert browser.get("/api/browse").json()["total"] == 2
    assert browser.post("/api/stay").json()["progress"]["taken"] == 1
    assert browser.post("/api/leave").json() == {}
    assert desk.progress()["taken"] == 0
    assert browser.post("/api/take", {"skipped": True}).json()["row"]["row"] == 1


def test_two_browsers_are_two_sessions(app, door, desk):
    browsers = [Browser(app) for _ in range(2)]
    rows = []
    for number, browser in enumerate(browsers):
        browser.get(f"/?token={door.token}")
        worker = {"worker": str(number)}
        row = browser.post("/api/take", worker).json()["row"]["row"]
        reply = browser.post("/api/decide", worker | {"row": row, "node": NODES[row]})
        rows += [row, reply.json()["row"]["row"]]
    assert rows == [0, 1, 2, 3]
    assert len({decision.by for decision in desk.decisions().values()}) == 2
    assert browsers[0].post("/api/undo", {"worker": "0"}).json()["row"]["row"] == 0
    assert list(desk.decisions()) == [2]
    # What another browser has in the meantime is not decided twice.
    error = browsers[0].post("/api/decide", {"worker": "0", "row": 3, "node": NODES[0]}).json()
    assert error["error"]["kind"] == "taken"


def test_a_session_goes_on_after_a_restart(browser, desk):
    browser.post("/api/decide", {"row": 0, "node": NODES[0]})
    started = Door(8001)
    again = Browser(make_desk_app(desk, started))
    again.cookies = browser.cookies
    assert again.fails("POST", "/api/undo", 401)["message"].endswith("in the terminal.")
    again.get(f"/?token={started.token}")
    assert again.post("/api/undo").json()["row"]["row"] == 0


@pytest.mark.parametrize(
    ("options", "status", "kind"),
    [
        ({"json": {"row": 0}}, 422, "wrong_type"),  # no worker
        ({"json": {"worker": "w", "row": "0"}}, 422, "wrong_type"),
        ({"json": {"worker": "w", "row": True}}, 422, "wrong_type"),
        ({"json": {"worker": "w", "node": 1.5}}, 422, "wrong_type"),
        ({"json": {"worker": "w", "node": 99}}, 409, "unknown_class"),
        ({"json": {"worker": "w", "row": 99, "node": 1}}, 409, "unknown_row"),
        ({"json": []}, 400, "malformed_json"),
        ({"json": {"worker": "w", "comment": "x" * 200_000}}, 413, "too_long"),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "malformed_json"),
        ({"content": b"{}"}, 415, "wrong_content_type"),
    ],
)
def test_bad_requests_change_nothing(browser, desk, options, status, kind):
    assert browser.fails("POST", "/api/decide", status, **options)["kind"] == kind
    assert desk.progress()["left"] == 6


def test_bad_addresses_are_refused(browser):
    assert browser.fails("GET", "/api/browse?node=x", 409)["kind"] == "unknown_class"
    error = browser.fails("GET", "/predict", 404)
    assert error["message"].endswith("Open the address that hiclass review printed.")


def test_a_full_disk_is_replied_and_the_row_stays(browser, desk, monkeypatch):
    browser.post("/api/take")

    def full(entry):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(desk.journal, "append", full)
        for path in ("/api/decide", "/api/undo"):
            reply = browser.post(path, {"row": 0, "node": NODES[0]})
            if path == "/api/undo":
                assert reply.status_code == 409  # nothing was decided that it could take back
                continue
            assert reply.status_code == 507
            error = reply.json()["error"]
            assert error["kind"] == "not_stored"
            assert "was not stored: No space left on device. Earlier" in error["message"]
    assert browser.post("/api/decide", {"row": 0, "node": NODES[0]}).status_code == 200


def test_halves_of_characters_in_rows_and_comments_do_no_harm(tmp_path, door):
    desk = make_desk(tmp_path / "half", texts=["\ud83d", "b"])
    browser = Browser(make_desk_app(desk, door))
    browser.get(f"/?token={door.token}")
    row = browser.post("/api/take").json()["row"]
    assert row["cells"][1]["text"] == "\ud83d"
    sent = b'{"worker": "w", "row": 0, "node": %d, "comment": "a\\ud83d"}' % NODES[0]
    kind = {"content-type": "application/json"}
    assert browser.send("POST", "/api/decide", content=sent, headers=kind).status_code == 200
    assert desk.decisions()[0].comment == "a?"
    assert browser.post("/api/undo").json()["row"]["comment"] == "a?"


def test_pages_that_skip_a_skipped_row_get_the_next_one(browser):
    for row in (0, 1):
        browser.post("/api/decide", {"row": row})
    got = browser.post("/api/take", {"skipped": True}).json()["row"]["row"]
    again = browser.post("/api/decide", {"row": got, "skipped": True}).json()["row"]["row"]
    assert (got, again) == (0, 1)
