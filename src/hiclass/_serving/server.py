"""Run a web application on a port of this machine until it is stopped."""

from __future__ import annotations

import os
import socket
from typing import Any

#: Seconds after which an idle connection is closed, and that running requests get at shutdown.
_IDLE, _GRACE = 5, 10
#: Seconds within which the headers of a request must arrive.
_HEADERS = 10.0


def listen(host: str, port: int) -> socket.socket:
    """Open a port.

    Parameters
    ----------
    host : str
        A name or an address of this machine.
    port : int
        The port; 0 for any free port.

    Returns
    -------
    socket
        A listening socket, so that clients wait until the application is ready.

    Raises
    ------
    OSError
        If the name is unknown, or the port is in use or not allowed.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    opened = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Otherwise, the port stays in use for a minute after a service has stopped. On other
            # systems, this option would allow another program to take over the port.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except OSError:
        opened.close()
        raise
    return opened


def address_of(opened: socket.socket) -> str:
    """The address of a port, as written in a browser."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: Any, opened: socket.socket) -> None:
    """Serve an application until SIGINT or SIGTERM; running requests are completed first.

    Parameters
    ----------
    app : FastAPI
        The application.
    opened : socket
        The listening socket.
    """
    server = make_server(app)
    try:
        server.run(sockets=[opened])
    except (KeyboardInterrupt, SystemExit):
        # uvicorn shuts down cleanly and then raises the signal again.
        if not server.should_exit:
            raise
    finally:
        opened.close()


def make_server(app: Any, header_timeout: float = _HEADERS) -> Any:
    """Make a server that closes connections whose headers do not arrive in time.

    Parameters
    ----------
    app : FastAPI
        The application.
    header_timeout : float, default=10.0
        Seconds from the connection, or from the first byte of a later request on it, until the
        headers are complete.

    Returns
    -------
    uvicorn.Server
        The server, not started.
    """
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Impatient(AutoHTTPProtocol):
        """Adds a time limit for headers that arrive slowly, which uvicorn does not have."""

        timer: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.timer = self.loop.call_later(header_timeout, transport.close)

        def data_received(self, data: bytes) -> None:
            request = self.cycle
            super().data_received(data)
            if self.cycle is not request:  # the headers are complete
                self._stop_timer()
            elif self.timer is None and (request is None or request.response_complete):
                self.timer = self.loop.call_later(header_timeout, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _stop_timer(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    config = uvicorn.Config(
        app,
        http=Impatient,
        # Rows may be private, so requests are not logged; errors go to standard error.
        access_log=False,
        log_config=None,
        lifespan="on",
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        server_header=False,
    )
    return uvicorn.Server(config)
