"""The service as a web application: routes, limits, errors and the OpenAPI schema.

FastAPI is an extra, so that it is imported inside functions. Annotations are evaluated here (there
is no ``from __future__ import annotations``), because FastAPI reads those of its endpoints.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from hiclass._serving.schema import DESCRIPTION, model_schema, predict_operation
from hiclass._serving.service import RequestError, Service
from hiclass._version import __version__

#: Names that a browser on this machine uses for it.
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def make_app(service: Service, *, hosts: tuple[str, ...] | None = None) -> Any:
    """Make the web application of a service.

    Parameters
    ----------
    service : Service
        What predicts.
    hosts : tuple of str, default=None
        The names that requests may call this machine by. A page from elsewhere that has its own
        name point here is refused by that. By default every name is taken.

    Returns
    -------
    FastAPI
        An ASGI application.
    """
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse

    limits = service.limits
    pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="hiclass-predict")
    waiting = _Counter()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        # A prediction that has timed out must not keep the service from ending.
        pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="hiclass",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        # Their pages load programs from the network.
        docs_url=None,
        redoc_url=None,
    )

    @app.get("/health", summary="Whether the service is up", response_class=JSONResponse)
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok", "hiclass": __version__})

    @app.get(
        "/model",
        summary="What the model is, and what a row needs",
        response_class=JSONResponse,
        responses=model_schema(),
    )
    async def model() -> JSONResponse:
        return JSONResponse(service.describe())

    @app.post(
        "/predict",
        summary="Predict one row or several",
        response_class=JSONResponse,
        **predict_operation(service),
    )
    async def predict(request: Request) -> JSONResponse:
        k = service.paths_wanted(request.query_params.multi_items())
        _check_type(request.headers.get("content-type", ""))
        if waiting.number >= limits.threads + limits.max_waiting:
            raise RequestError(
                503,
                "busy",
                f"{waiting.number} requests are waiting already. Try again in a moment, or send "
                f"several rows in one request.",
            )
        with waiting:  # from the first byte of a body on: bodies that are being read take memory
            body = await _read_body(request, limits.max_bytes, limits.timeout)

            def work() -> Any:
                rows, single = service.parse(body)
                found = service.predict(rows, k)
                return {"prediction": found[0]} if single else {"predictions": found}

            return JSONResponse(await _in_thread(pool, work, limits.timeout))

    _add_errors(app)
    if hosts is not None:
        app.add_middleware(_KnownHosts, hosts=hosts)
    return app


class _Counter:
    """How many requests are being worked on; all of them are in one event loop."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> None:
        self.number += 1

    def __exit__(self, *error: object) -> None:
        self.number -= 1


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], Any], timeout: float) -> Any:
    """Run something beside the event loop; after the timeout its result is not waited for."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.wait_for(future, timeout)
    except TimeoutError:
        raise RequestError(
            503,
            "timeout",
            f"The prediction took longer than {timeout} s. Send fewer rows in one request, or "
            f"start the service with a larger --timeout.",
        ) from None


def _check_type(content_type: str) -> None:
    """Take JSON only: a page from elsewhere cannot send it here without being asked first."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(
            415,
            "wrong_content_type",
            f"The request has {f'the Content-Type {kind[:60]}' if kind else 'no Content-Type'}. "
            f"Send JSON with the header Content-Type: application/json (with curl: --json DATA).",
        )


async def _read_body(request: Any, max_bytes: int, timeout: float) -> bytes:
    """Read the body of a request, but no more of it than is allowed, and no longer."""
    from starlette.requests import ClientDisconnect

    too_long = RequestError(
        413,
        "too_long",
        f"The request is longer than {max_bytes:,} bytes. Send its rows in several requests, or "
        f"start the service with a larger --max-bytes.",
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
        raise RequestError(400, "disconnected", "The request broke off. Send it again.") from None
    return bytes(body)


# -- errors ------------------------------------------------------------------------------------

_USE = "Use POST /predict, GET /model, GET /health or GET /openapi.json."


def _add_errors(app: Any) -> None:
    """Reply with the same form of JSON to everything that goes wrong."""
    from fastapi import Request
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    async def refuse(request: Request, error: Any) -> JSONResponse:
        headers = {"Retry-After": "1"} if error.status == 503 else None
        return JSONResponse(error.content, error.status, headers)

    async def lost(request: Request, error: Any) -> JSONResponse:
        path, allowed = request.url.path[:100], (error.headers or {}).get("Allow")
        if allowed is not None:
            problem = f"{path} does not take {request.method[:20]}, but {allowed}."
            found = RequestError(405, "wrong_method", f"{problem} {_USE}")
        else:
            problem = f"There is nothing at {path}."
            found = RequestError(error.status_code, "not_found", f"{problem} {_USE}")
        return JSONResponse(found.content, found.status, error.headers)

    async def broken(request: Request, error: Any) -> JSONResponse:
        found = RequestError(
            500,
            "internal",
            f"The model could not predict these rows ({type(error).__name__}). The service has "
            f"written the reason to its standard error.",
        )
        return JSONResponse(found.content, 500)

    app.add_exception_handler(RequestError, refuse)
    app.add_exception_handler(HTTPException, lost)
    app.add_exception_handler(Exception, broken)


class _KnownHosts:
    """Refuses requests that call this machine by another name than expected."""

    def __init__(self, app: Any, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.responses import JSONResponse

        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            # Without the port; the colons of an IPv6 address are in brackets.
            name = given if given.endswith("]") else given.rpartition(":")[0] or given
            if name.lower() not in self.hosts:
                error = RequestError(
                    421,
                    "wrong_host",
                    f"The request is for the host {name[:60]!r}, and this service is for "
                    f"{', '.join(self.hosts)}. Use one of these names, or start the service with "
                    f"--host.",
                )
                await JSONResponse(error.content, error.status)(scope, receive, send)
                return
        await self.app(scope, receive, send)
