"""The service as a web application: routes, limits, errors and the OpenAPI schema.

FastAPI is an extra, so it is imported inside functions. There is no ``from __future__ import
annotations`` here, because FastAPI evaluates the annotations of its endpoints.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from hiclass._serving.schema import DESCRIPTION, model_schema, predict_operation
from hiclass._serving.service import RequestError, Service
from hiclass._serving.web import KnownHosts, add_errors, check_type, read_body
from hiclass._version import __version__

_USE = "Use POST /predict, GET /model, GET /health or GET /openapi.json."
_TOO_LONG = "Send its rows in several requests, or start the service with a larger --max-bytes."


def make_app(service: Service, *, hosts: tuple[str, ...] | None = None) -> Any:
    """Make the web application of a service.

    Parameters
    ----------
    service : Service
        The service.
    hosts : tuple of str, default=None
        The host names that requests may use, which protects against DNS rebinding. By default,
        every name is accepted.

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
        # A prediction that has timed out must not prevent the service from stopping.
        pool.shutdown(wait=False, cancel_futures=True)

    app = FastAPI(
        title="hiclass",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        redirect_slashes=False,
        # These pages load scripts from the network.
        docs_url=None,
        redoc_url=None,
    )

    @app.get("/health", summary="Whether the service is up", response_class=JSONResponse)
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok", "hiclass": __version__})

    @app.get(
        "/model",
        summary="The model and the columns of a row",
        response_class=JSONResponse,
        responses=model_schema(),
    )
    async def model() -> JSONResponse:
        return JSONResponse(service.describe())

    @app.post(
        "/predict",
        summary="Predict one or more rows",
        response_class=JSONResponse,
        **predict_operation(service),
    )
    async def predict(request: Request) -> JSONResponse:
        k = service.paths_wanted(request.query_params.multi_items())
        check_type(request.headers.get("content-type", ""))
        if waiting.number >= limits.threads + limits.max_waiting:
            raise RequestError(
                503,
                "busy",
                f"{waiting.number} requests are already waiting. Try again in a moment, or send "
                "several rows in one request.",
            )
        with waiting:  # includes requests whose body is still being read, because they take memory
            body = await read_body(request, limits.max_bytes, limits.timeout, _TOO_LONG)

            def work() -> Any:
                rows, single = service.parse(body)
                found = service.predict(rows, k)
                return {"prediction": found[0]} if single else {"predictions": found}

            return JSONResponse(await _in_thread(pool, work, limits.timeout))

    add_errors(app, use=_USE, problem="The model could not predict these rows")
    if hosts is not None:
        app.add_middleware(KnownHosts, hosts=hosts)
    return app


class _Counter:
    """The number of requests in progress; all of them are in one event loop."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> None:
        self.number += 1

    def __exit__(self, *error: object) -> None:
        self.number -= 1


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], Any], timeout: float) -> Any:
    """Run a function in a thread, and stop waiting for its result after the timeout."""
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
