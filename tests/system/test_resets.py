"""Clients of TCP that have reset their connection before the server looks at it. They have no
address any more, as clients of Unix sockets have none, whose word counts."""

import contextlib
import json
import signal

import pytest

from support import named, sockets
from support.certificates import make_certificate
from support.configured import Configured, free_port
from support.http1 import get
from support.processes import of_threads
from support.waiting import wait_until

TEXT = """
host = "127.0.0.1"
threads = 1
access-log = "access.log"
log-format = "json"
trusted-proxy = ["127.0.0.1"]
[[listener]]
port = 0
h2c = true
[[listener]]
unix = "direct.sock"
h2c = true
[[listener]]
port = {proxy}
h2c = true
proxy-protocol = true
[[listener]]
unix = "proxy.sock"
h2c = true
proxy-protocol = true
[[listener]]
port = {tls}
[[listener]]
unix = "tls.sock"
[[site]]
root = "www"
cert = "one.crt"
key = "one.key"
"""
HEADER = b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 443\r\n"
FORWARDED = b"X-Forwarded-For: 192.0.2.7\r\n"


@pytest.fixture(scope="module")
def server():
    proxy, tls = free_port(), free_port()
    started = Configured(TEXT.format(proxy=proxy, tls=tls), {"www/a.txt": "a"})
    started.proxy, started.port_tls = proxy, tls
    make_certificate(started.folder, "one", "one.test")
    with started:
        yield started


def states_of(server):
    """Returns the states of the threads, see proc(5)."""
    return {text.rpartition(") ")[2][0] for text in of_threads(server.pid, "stat")}


@contextlib.contextmanager
def halted(server):
    """Keeps the server from running. The kernel still takes connections for it."""
    server.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: states_of(server) == {"T"}, "no thread runs")
        yield
    finally:
        server.signal(signal.SIGCONT)


def request(path, fields=b""):
    return get(path).replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n")


def ask_and_leave(server, data, port=0, address="127.0.0.1"):
    """Sends it and is gone when the server looks: by a reset, but for a Unix socket."""
    with halted(server):
        connection = named.plain(port, address)
        connection.sendall(data)
        sockets.reset(connection)


def line_of(server, path, before):
    """Returns the line of the request for the path."""

    def found():
        return [json.loads(line) for line in server.lines_of("access.log")[before:]
                if json.loads(line)["url.path"] == path]

    wait_until(found, "the line is written")
    return found()[0]


@pytest.mark.parametrize("fields", [FORWARDED, b"Forwarded: for=192.0.2.7\r\n"])
def test_forwarded_field_of_a_client_that_is_gone(server, fields):
    """A client of the Unix socket that leaves just as early is believed."""
    before = len(server.lines_of("access.log"))
    ask_and_leave(server, request("/unix", fields), address=str(server.folder / "direct.sock"))
    assert line_of(server, "/unix", before)["client.address"] == "192.0.2.7"
    before = len(server.lines_of("access.log"))
    ask_and_leave(server, request("/tcp", fields), server.port)
    line = line_of(server, "/tcp", before)
    assert not line.get("client.address"), line
    assert "192.0.2.7" not in json.dumps(line)


def ask_over_tls_and_leave(server, data, port=0, address="127.0.0.1"):
    """The same behind a handshake and a request, since the server ends its handshake later than the
    client."""
    connection = named.encrypt(named.plain(port, address), "one.test", server.folder / "one.crt")
    assert named.Client(connection).fetch("one.test", "/a.txt").status == 200
    with halted(server):
        connection.sendall(data)
        sockets.reset(connection)


def test_forwarded_field_over_tls(server):
    before = len(server.lines_of("access.log"))
    ask_over_tls_and_leave(server, request("/unix", FORWARDED),
                           address=str(server.folder / "tls.sock"))
    assert line_of(server, "/unix", before)["client.address"] == "192.0.2.7"
    before = len(server.lines_of("access.log"))
    ask_over_tls_and_leave(server, request("/tcp", FORWARDED), server.port_tls)
    assert "192.0.2.7" not in json.dumps(line_of(server, "/tcp", before))


def test_proxy_header_of_a_client_that_is_gone(server):
    """Nothing says that it was a trusted proxy, so it is not served. The one worker would have
    logged its request before the last one."""
    before = len(server.lines_of("access.log"))
    ask_and_leave(server, HEADER + request("/unix"), address=str(server.folder / "proxy.sock"))
    assert line_of(server, "/unix", before)["client.address"] == "192.0.2.7"
    before = len(server.lines_of("access.log"))
    ask_and_leave(server, HEADER + request("/tcp"), server.proxy)
    assert named.fetch(server.port, "one.test", "/last").status == 404
    line_of(server, "/last", before)
    assert len(server.lines_of("access.log")) == before + 1
