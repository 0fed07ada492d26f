"""The desk as a web application: access by token, and the requests of the page.

The address that the command line prints has a token. Opening it sets a cookie, which scripts and
other sites cannot read, and redirects to an address without the token. FastAPI is an extra, so it
is imported inside functions, and it evaluates annotations.
"""

import json
import re
import secrets
from importlib.resources import files
from typing import Any

from hiclass._serving.desk.desk import SKIPPED, Desk, DeskError
from hiclass._serving.service import RequestError
from hiclass._serving.web import LOCAL_NAMES, KnownHosts, add_errors, check_type, read_body

#: The longest request in bytes, and the seconds within which it must arrive.
_MAX_BYTES, _TIMEOUT = 100_000, 30
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "html": "text/html"}
_SESSION = re.compile(r"[0-9a-f]{8}")
_USE = "Open the address that hiclass review printed."


class Door:
    """Controls access: exchanges the token for a cookie, and checks the cookie.

    Parameters
    ----------
    port : int
        The port of the desk, because browsers share cookies between the ports of a machine.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie = f"hiclass_desk_{port}"
        self._sessions: dict[str, str] = {}

    def enter(self, token: str, cookie: str) -> str | None:
        """Exchange the token for the value of a cookie; None if the token is wrong.

        A browser with a cookie from an earlier start keeps its session and can undo its decisions.
        """
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        before = cookie.partition(".")[0]
        session = before if _SESSION.fullmatch(before) else secrets.token_hex(4)
        value = f"{session}.{secrets.token_urlsafe(24)}"
        self._sessions[value] = session
        return value

    def session(self, cookie: str) -> str | None:
        """The session of a cookie; None if the cookie is not valid."""
        return self._sessions.get(cookie)


def make_desk_app(desk: Desk, door: Door) -> Any:
    """Make the web application of a desk.

    Parameters
    ----------
    desk : Desk
        The state of the desk.
    door : Door
        The access control.

    Returns
    -------
    FastAPI
        An ASGI application.
    """
    from fastapi import FastAPI, Request
    from fastapi.responses import RedirectResponse, Response

    app = FastAPI(redirect_slashes=False, docs_url=None, redoc_url=None, openapi_url=None)
    page = files("hiclass._serving.desk") / "page"
    content = {path.name: path.read_bytes() for path in page.iterdir() if path.is_file()}

    def static(name: str, status: int = 200) -> Response:
        kind = _TYPES[name.rpartition(".")[2]]
        return Response(content[name], status, media_type=f"{kind}; charset=utf-8")

    def session_of(request: Request) -> str:
        session = door.session(request.cookies.get(door.cookie, ""))
        if session is None:
            raise RequestError(
                401,
                "wrong_token",
                "This browser has no access to the desk, or the desk was restarted. Open the "
                "address that hiclass review printed in the terminal.",
            )
        return session

    async def read(request: Request) -> tuple[str, str, dict[str, Any]]:
        """The session, the page and the content of a request."""
        session = session_of(request)
        check_type(request.headers.get("content-type", ""))
        body = await read_body(request, _MAX_BYTES, _TIMEOUT, "Shorten the comment.")
        wanted = parse(body)
        return session, wanted["worker"], wanted

    def reply(row: Any, **more: Any) -> Response:
        return _as_json({"row": row, "progress": desk.progress(), **more})

    @app.get("/")
    async def enter(request: Request) -> Response:
        cookie = request.cookies.get(door.cookie, "")
        token = request.query_params.get("token")
        if token is not None:
            value = door.enter(token, cookie)
            if value is None:
                return static("door.html", 403)
            inside = RedirectResponse("/", 303)
            inside.set_cookie(door.cookie, value, httponly=True, samesite="strict", path="/")
            return inside
        return static("desk.html") if door.session(cookie) else static("door.html", 401)

    for name in ("desk.css", "desk.js", "desk.svg"):
        app.get(f"/{name}")(_serve(static, name))

    @app.get("/api/desk")
    async def about(request: Request) -> Response:
        session_of(request)
        described = {"title": desk.title, "levels": desk.levels, "progress": desk.progress()}
        return _as_json(described)

    @app.get("/api/find")
    async def find(request: Request) -> Response:
        session_of(request)
        return _as_json({"classes": desk.find(request.query_params.get("q", ""))})

    @app.get("/api/browse")
    async def browse(request: Request) -> Response:
        session_of(request)
        wanted = [_number(request.query_params.get(name, "0")) for name in ("node", "start")]
        return _as_json(_ask(desk.browse, *wanted))

    @app.post("/api/take")
    async def take(request: Request) -> Response:
        _, worker, wanted = await read(request)
        return reply(desk.take(worker, skipped=wanted["skipped"]))

    @app.post("/api/decide")
    async def decide(request: Request) -> Response:
        session, worker, wanted = await read(request)
        node = wanted["node"]
        number = _ask(
            desk.decide,
            worker,
            session,
            wanted["row"],
            SKIPPED if node is None else node,
            # Lone surrogates, which a file cannot store, become question marks.
            comment=wanted["comment"].encode(errors="replace").decode(),
            identical=wanted["identical"],
        )
        row = desk.take(worker, skipped=wanted["skipped"], after=wanted["row"])
        return reply(row, decided=number)

    @app.post("/api/undo")
    async def undo(request: Request) -> Response:
        session, worker, _ = await read(request)
        return reply(_ask(desk.undo, worker, session))

    @app.post("/api/stay")
    async def stay(request: Request) -> Response:
        _, worker, _ = await read(request)
        desk.stay(worker)
        return _as_json({"progress": desk.progress()})

    @app.post("/api/leave")
    async def leave(request: Request) -> Response:
        _, worker, _ = await read(request)
        desk.leave(worker)
        return _as_json({})

    add_errors(app, use=_USE, problem="The desk could not process the request")
    app.add_middleware(_SameOrigin)
    app.add_middleware(KnownHosts, hosts=LOCAL_NAMES)
    app.add_middleware(_Headers)
    return app


def _as_json(content: Any) -> Any:
    """A response in ASCII, because UTF-8 cannot encode lone surrogates in rows."""
    from starlette.responses import Response

    return Response(json.dumps(content), media_type="application/json")


def _serve(static: Any, name: str) -> Any:
    async def serve() -> Any:
        return static(name)

    return serve


def parse(body: bytes) -> dict[str, Any]:
    """Read the JSON object that a page sends, and check the types of its entries.

    Parameters
    ----------
    body : bytes
        The body of the request.

    Returns
    -------
    dict
        All possible entries, with defaults for those that were not sent.

    Raises
    ------
    RequestError
        If the body is not a JSON object, or an entry has the wrong type.
    """
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise RequestError(
            400, "malformed_json", "The request is not a JSON object. Reload the page."
        )
    wanted: dict[str, Any] = {}
    for name, (types, default) in _ENTRIES.items():
        value = sent.get(name, default)
        if type(value) not in types:
            raise RequestError(
                422, "wrong_type", f"{name!r} is {value!r:.60} in the request. Reload the page."
            )
        wanted[name] = value
    return wanted


_ENTRIES: dict[str, tuple[tuple[type, ...], Any]] = {
    "worker": ((str,), None),
    "row": ((int,), 0),
    "node": ((int, type(None)), None),
    "comment": ((str,), ""),
    "identical": ((bool,), False),
    "skipped": ((bool,), False),
}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _ask(method: Any, *args: Any, **options: Any) -> Any:
    """Call a method of the desk, and convert its errors and those of the disk to responses."""
    try:
        return method(*args, **options)
    except DeskError as error:
        raise RequestError(409, error.kind, str(error)) from error
    except OSError as error:
        raise RequestError(
            507,
            "not_stored",
            f"The decision was not stored: {error.strerror or error}. Earlier decisions are on "
            "disk, and the row is still open. Free some disk space, then decide again.",
        ) from error


# -- middleware --------------------------------------------------------------------------------


class _Headers:
    """Adds headers that prevent a browser from loading from, or sending to, other sites."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_more(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, send_more)


class _SameOrigin:
    """Rejects requests from pages of other origins."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import JSONResponse

        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            origin = headers.get(b"origin")
            own = f"http://{headers.get(b'host', '')}"
            # Links to the first page are allowed from anywhere, because it checks the token.
            is_elsewhere = headers.get(b"sec-fetch-site") in ("cross-site", "same-site")
            if (origin is not None and origin != own) or (is_elsewhere and scope["path"] != "/"):
                error = RequestError(
                    403,
                    "foreign_origin",
                    f"The request is from another site ({(origin or 'unknown')[:60]}), but the "
                    f"desk accepts requests only from its own page. {_USE}",
                )
                await JSONResponse(error.content, error.status)(scope, receive, send)
                return
        await self.app(scope, receive, send)
