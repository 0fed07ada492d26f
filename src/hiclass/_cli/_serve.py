"""The command ``serve``: a model behind HTTP on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hiclass._cli import _screen
from hiclass._cli._errors import CommandError, require
from hiclass._cli._models import load_model
from hiclass._cli._recipe import set_jobs
from hiclass._serving.app import make_app
from hiclass._serving.server import address_of, listen, run
from hiclass._serving.service import Limits, Service
from hiclass._serving.web import LOCAL_NAMES

NEEDED = ("fastapi", "uvicorn")


def serve(args: argparse.Namespace) -> None:
    """Serve a model until Ctrl+C or SIGTERM."""
    require(NEEDED, "hiclass serve")
    service = make_service(args)
    opened = open_port(args.host, args.port, " or --host")
    is_local = args.host in ("127.0.0.1", "localhost", "::1")
    if not is_local:
        _screen.warning(
            f"{args.host} may be reachable from other machines, and the service has no encryption "
            "and no passwords. Put it behind a proxy that provides both.",
            args.quiet,
        )
    _screen.note(
        f"Serving {service.name} at {address_of(opened)}: POST /predict, GET /model, GET /health. "
        "Press Ctrl+C to stop.",
        args.quiet,
    )
    run(make_app(service, hosts=LOCAL_NAMES if is_local else None), opened)
    _screen.note("Stopped.", args.quiet)


def open_port(host: str, port: int, other: str = "") -> Any:
    """Open a port; ``other`` is a further remedy for the error message."""
    try:
        return listen(host, port)
    except OSError as error:
        raise CommandError(
            f"{host}, port {port}, cannot be opened: {error.strerror or error}. Choose another "
            f"--port (0 for any free port){other}."
        ) from error


def make_service(args: argparse.Namespace) -> Service:
    """Load the model of a command as a service."""
    model = load_model(args.model_file)
    classifier = model.opened.model
    # Requests already run in parallel.
    set_jobs(classifier, None)
    if args.min_confidence is not None:
        classifier.set_params(min_confidence=args.min_confidence)
    limits = Limits(
        max_rows=args.max_rows,
        max_bytes=args.max_bytes,
        timeout=args.timeout,
        threads=args.threads,
    )
    return Service(
        model.pipeline,
        model.levels,
        name=Path(args.model_file).name,
        separator=model.separator,
        limits=limits,
    )
