"""Parts that all web applications share: bodies of requests, errors, host names."""

from __future__ import annotations

import asyncio
from typing import Any

from hiclass._serving.service import RequestError

#: Names by which a browser on this machine reaches it.
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def check_type(content_type: str) -> None:
    """Accept only JSON, which pages of other sites cannot send without permission."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(
            415,
            "wrong_content_type",
            f"The request has {f'the Content-Type {kind[:60]}' if kind else 'no Content-Type'}. "
            f"Send JSON with the header Content-Type: application/json (with curl: --json DATA).",
        )


async def read_body(request: Any, max_bytes: int, timeout: float, remedy: str) -> bytes:
    """Read the body of a request, up to a length and a time.

    Parameters
    ----------
    request : Request
        A request of Starlette.
    max_bytes : int
        The maximum length of the body.
    timeout : float
        Seconds within which the body must arrive.
    remedy : str
        The remedy if the body is too long.

    Returns
    -------
    bytes

    Raises
    ------
    RequestError
        If the body is too long, too slow or incomplete.
    """
    from starlette.requests import ClientDisconnect

    too_long = RequestError(
        413,
        "too_long",
        f"The request is longer than {max_bytes:,} bytes. {remedy}",
    )
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(timeout):
            async for part in request.stream():
                body += part
                if len(body) > max_bytes:
                    raise too_long
    except TimeoutError:
        raise RequestError(
            408, "timeout", f"The request did not arrive within {timeout} s. Send it again."
        ) from None
    except ClientDisconnect:
        raise RequestError(
            400,
            "disconnected",
            "The connection was closed before the request was complete. Send it again.",
        ) from None
    return bytes(body)


# -- errors ------------------------------------------------------------------------------------


def add_errors(app: Any, *, use: str, problem: str) -> None:
    """Return the same form of JSON for all errors.

    Parameters
    ----------
    app : FastAPI
        The application.
    use : str
        A sentence that lists the routes.
    problem : str
        The beginning of a sentence about an unexpected error.
    """
    from fastapi import Request
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    async def refuse(request: Request, error: Any) -> JSONResponse:
        headers = {"Retry-After": "1"} if error.status == 503 else None
        return JSONResponse(error.content, error.status, headers)

    async def lost(request: Request, error: Any) -> JSONResponse:
        path, allowed = request.url.path[:100], (error.headers or {}).get("Allow")
        if allowed is not None:
            what = f"{path} does not support {request.method[:20]}, only {allowed}."
            found = RequestError(405, "wrong_method", f"{what} {use}")
        else:
            what = f"There is nothing at {path}."
            found = RequestError(error.status_code, "not_found", f"{what} {use}")
        return JSONResponse(found.content, found.status, error.headers)

    async def broken(request: Request, error: Any) -> JSONResponse:
        found = RequestError(
            500,
            "internal",
            f"{problem} ({type(error).__name__}). The standard error of the program shows the "
            "reason.",
        )
        return JSONResponse(found.content, 500)

    app.add_exception_handler(RequestError, refuse)
    app.add_exception_handler(HTTPException, lost)
    app.add_exception_handler(Exception, broken)


class KnownHosts:
    """Rejects requests for unexpected host names.

    Parameters
    ----------
    app : ASGI application
        The application that gets the other requests.
    hosts : tuple of str
        The names.
    """

    def __init__(self, app: Any, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import JSONResponse

        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            # Remove the port; the colons of an IPv6 address are in brackets.
            name = given if given.endswith("]") else given.rpartition(":")[0] or given
            if name.lower() not in self.hosts:
                error = RequestError(
                    421,
                    "wrong_host",
                    f"The request is for the host {name[:60]!r}, but this service accepts only "
                    f"{', '.join(self.hosts)}. Use one of these names, or start the service with "
                    "--host.",
                )
                await JSONResponse(error.content, error.status)(scope, receive, send)
                return
        await self.app(scope, receive, send)
