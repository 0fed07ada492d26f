"""A web application on a port of this machine, until it is told to stop."""

from __future__ import annotations

import os
import socket
from typing import Any

#: Seconds that an idle connection stays open, and that running requests get at the end.
_IDLE, _GRACE = 5, 10
#: Seconds in which the headers of a request must arrive.
_HEADERS = 10.0


def listen(host: str, port: int) -> socket.socket:
    """Open a port.

    Parameters
    ----------
    host : str
        A name or an address of this machine.
    port : int
        The port; 0 is any that is free.

    Returns
    -------
    socket
        It listens, so that a client that comes before the application is ready waits.

    Raises
    ------
    OSError
        If the name is unknown, or the port is in use or not allowed.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    opened = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Else the port stays taken for a minute after a service; elsewhere it means theft.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
    except OSError:
        opened.close()
        raise
    return opened


def address_of(opened: socket.socket) -> str:
    """The address of a port, as a browser writes it."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: Any, opened: socket.socket) -> None:
    """Serve an application until SIGINT or SIGTERM; what has begun is finished first.

    Parameters
    ----------
    app : FastAPI
        The application.
    opened : socket
        Where it listens.
    """
    server = make_server(app)
    try:
        server.run(sockets=[opened])
    except (KeyboardInterrupt, SystemExit):
        # uvicorn ends in order, and then raises the signal again.
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
        """uvicorn has a limit for idle connections, but none for headers that arrive slowly."""

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
        # Rows may be private, so that no request is logged; errors go to standard error.
        access_log=False,
        log_config=None,
        lifespan="on",
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        server_header=False,
    )
    return uvicorn.Server(config)
