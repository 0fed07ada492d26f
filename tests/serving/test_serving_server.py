"""Ports: opened, in use, unknown."""

import socket

import pytest

from hiclass._serving.server import address_of, listen


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
