"""Ports: opened, in use, unknown; clients that are slow."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from hiclass._serving.server import address_of, listen, make_server


def test_a_free_port_is_opened_and_named():
    with listen("127.0.0.1", 0) as opened:
        port = opened.getsockname()[1]
        assert address_of(opened) == f"http://127.0.0.1:{port}"
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass


def test_a_port_that_is_taken_is_an_error_and_nothing_stays_open():
    with listen("127.0.0.1", 0) as opened, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", opened.getsockname()[1])


def test_an_unknown_name_is_an_error():
    with pytest.raises(OSError, match=r"."):
        listen("no.such.host.invalid", 0)


def test_an_address_with_colons_is_in_brackets():
    class Opened:
        def getsockname(self):
            return "::1", 80, 0, 0

    assert address_of(Opened()) == "http://[::1]:80"


# -- slow clients ------------------------------------------------------------------------------

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def hello(scope, receive, send):
    """An application that greets."""
    if scope["type"] == "lifespan":
        while True:
            event = await receive()
            await send({"type": event["type"] + ".complete"})
            if event["type"] == "lifespan.shutdown":
                return
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


@contextmanager
def connected(header_timeout):
    """A connection to a running server."""
    pytest.importorskip("uvicorn")
    opened = listen("127.0.0.1", 0)
    server = make_server(hello, header_timeout)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        with socket.create_connection(opened.getsockname(), timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        opened.close()


def reply_to(client):
    """The body of a reply, which may arrive in pieces."""
    received = b""
    while not received.endswith(b"hello"):
        piece = client.recv(1_000)
        assert piece, "the connection was closed"
        received += piece
    return received.partition(b"\r\n\r\n")[2]


def drip(client, data):
    """Send a byte at a time until the other side closes the connection: how many were sent."""
    client.settimeout(0.02)
    for sent, byte in enumerate(data):
        try:
            client.sendall(bytes([byte]))
            if client.recv(100) == b"":
                return sent
        except TimeoutError:
            continue
        except OSError:
            return sent
    return len(data)


def test_headers_that_arrive_slowly_end_the_connection():
    with connected(0.3) as client:
        sent = drip(client, b"GET / HTTP/1.1\r\nX: " + b"x" * 2_000)
    assert 0 < sent < 2_000


def test_a_connection_without_a_request_is_closed():
    with connected(0.3) as client:
        assert client.recv(100) == b""


def test_slow_headers_of_a_second_request_end_the_connection():
    with connected(0.3) as client:
        client.sendall(REQUEST)
        assert reply_to(client) == b"hello"
        assert drip(client, b"GET / HTTP/1.1\r\nX: " + b"x" * 2_000) < 2_000


def test_requests_in_time_are_answered_on_one_connection():
    with connected(1.0) as client:
        for _ in range(3):
            client.sendall(REQUEST[:20])
            time.sleep(0.4)
            client.sendall(REQUEST[20:])
            assert reply_to(client) == b"hello"
