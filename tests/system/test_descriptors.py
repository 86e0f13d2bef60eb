"""Descriptors: too few of them, and where they go when connections die."""

import socket
import time

import pytest

from support import http2, sockets
from support.contents import form, form_type, noise
from support.environment import SANITIZER, not_sanitized
from support.http1 import Connection, chunk, get
from support.processes import cpu_seconds, descriptor_count, socket_count, thread_count
from support.protocols import PROTOCOLS, SCHEMES, fetch, name_of
from support.server import Server
from support.waiting import wait_until

ROOM = 8  # descriptors that the server may still open
WAITING = 20  # connections for which there is none


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return request.param


# --- too few (EMFILE) ----------------------------------------------------------------------------

# UBSan opens a pipe to look whether there is an object where a member is called, and takes it for
# none when it can't.
needs_descriptors = pytest.mark.skipif(SANITIZER == "address", reason="UBSan needs descriptors")


class Shortage:
    """A server whose descriptors are used up by connections, which it serves, while others wait."""

    def __init__(self, server):
        self.server = server
        (server.root / "small").write_bytes(b"small")
        self.first = Connection(server)
        self.ask(self.first)
        self.limit = descriptor_count(server.pid) + ROOM
        server.limit_descriptors(self.limit)
        self.served = [self.first] + [self.connected() for _ in range(ROOM)]
        for connection in self.served:
            self.ask(connection)
        self.waiting = [self.connected() for _ in range(WAITING)]

    def connected(self):
        """By the kernel at least. In TLS the handshake would wait for the server."""
        return Connection(self.server)

    def ask(self, connection):
        connection.send(get("/small"))
        assert connection.answer().body == b"small"


@pytest.fixture
def shortage(scheme):
    with Server("--scheme", scheme, quiet=False) as server:
        yield Shortage(server)


@needs_descriptors
def test_served_connections_are_served_on(shortage):
    """Longer than the second for which the server believes what it knows of a file."""
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        for connection in shortage.served:
            shortage.ask(connection)
        time.sleep(0.02)
    assert descriptor_count(shortage.server.pid) <= shortage.limit


@not_sanitized
def test_the_shortage_costs_no_time(shortage):
    """The server waits for a descriptor; it does not ask again and again."""
    before, begun = cpu_seconds(shortage.server.pid), time.monotonic()
    while time.monotonic() < begun + 2:
        shortage.first.send(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        assert shortage.first.answer().status == 204
        time.sleep(0.1)
    assert cpu_seconds(shortage.server.pid) - before < 0.1


@needs_descriptors
def test_those_who_waited_are_accepted_later(shortage):
    for connection in shortage.waiting:
        connection.send(get("/small"))
    for connection in shortage.served:
        connection.close()
    for connection in shortage.waiting:
        assert connection.answer().body == b"small"
        connection.close()
    assert fetch(shortage.server, PROTOCOLS[0], "/small").body == b"small"


@needs_descriptors
def test_the_operator_is_told_once(shortage):
    wait_until(lambda: shortage.server.stderr, "a line on standard error")
    for connection in shortage.served:
        shortage.ask(connection)
    lines = shortage.server.stderr.splitlines()
    assert len(lines) <= 2, lines  # each worker may tell
    assert "ulimit -n" in lines[0]


@needs_descriptors
def test_a_file_that_was_not_open_before(shortage):
    """It is served, or the client learns that it may ask again; not that there is no such file."""
    (shortage.server.root / "other").write_bytes(b"other")
    shortage.first.send(get("/other"))
    answer = shortage.first.answer()
    assert answer.body == b"other" or (answer.status, answer.field("retry-after")) == (503, "1")
    for connection in [*shortage.served[1:], *shortage.waiting]:
        connection.close()
    wait_until(lambda: other_is_served(shortage), "the file is served later")


def other_is_served(shortage):
    shortage.first.send(get("/other"))
    return shortage.first.answer().body == b"other"


@needs_descriptors
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_stops_in_a_shortage(protocol, scheme):
    with Server("--scheme", scheme, tls=protocol.tls, quiet=False) as server:
        server.limit_descriptors(descriptor_count(server.pid) + 2)
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
        wait_until(lambda: server.stderr, "the shortage is there")
        server.signal()
        assert server.ended_within(5)
        for connection in crowd:
            connection.close()


# --- where they go -------------------------------------------------------------------------------

LARGE = noise(3_000_000)


def silent(server, _):
    return socket.create_connection(("127.0.0.1", server.port))


def in_handshake(server, protocol):
    """Of TLS; without it, in the preface of HTTP/2 or in a request line."""
    connection = silent(server, protocol)
    begin = b"\x16\x03\x01\x02\x00\x01\x00" if protocol.tls else b"PRI * HT"
    connection.sendall(begin if protocol.http2 or protocol.tls else b"GE")
    return connection


def in_head(server, protocol):
    if not protocol.http2:
        connection = sockets.connect(server, alpn=("http/1.1",))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-A")
        return connection
    connection = http2.Connection(server).socket
    connection.sendall(b"\0\0\x10\x01\x04\0\0\0\x01\x82")  # HEADERS of 16 bytes, the first of them
    return connection


def in_body(server, protocol):
    connection = protocol.connect(server)
    part = form(("a", LARGE))[:10_000]
    if protocol.http2:
        stream = connection.request("POST", "/files", [form_type()], ends=False)
        connection.send_data(stream, part)
    else:
        connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n".encode() + chunk(part))
    return connection.socket


def in_download(server, protocol):
    connection = protocol.connect(server, receive_buffer=4096)
    if protocol.http2:
        stream = connection.request("GET", "/large")
        connection.run_until(lambda: stream.received > 0, "the first bytes")
    else:
        connection.request("GET", "/large")
        connection.take(1000)
    return connection.socket


def answered(server, protocol):
    connection = protocol.connect(server)
    if protocol.http2:
        connection.answer(connection.request("GET", "/absent"))
    else:
        connection.request("GET", "/absent")
        connection.answer()
    return connection.socket


def shut(connection):
    connection.shutdown(socket.SHUT_WR)


ENDS = [(state, death)
        for state in (silent, in_handshake, in_head, in_body, in_download, answered)
        for death in (socket.socket.close, sockets.reset, shut)
        if (state, death) != (in_download, shut)]  # may still read, and has its minute for it


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_dead_connections_leave_nothing(protocol, scheme):
    with Server("--scheme", scheme, "--threads", "2", tls=protocol.tls) as server:
        (server.root / "large").write_bytes(LARGE)
        for _ in range(4):  # until each worker has the file
            fetch(server, protocol, "/large")
        wait_until(lambda: not connected(server), "the first connections are closed")
        threads = thread_count(server.pid)
        opened = descriptor_count(server.pid)
        left = [die(server, protocol, state, death) for state, death in ENDS for _ in range(12)]
        assert len(left) >= 200
        wait_until(lambda: not connected(server), "their sockets are closed", 10)
        # A worker may have mapped the large file in the meantime, or have forgotten it, and keeps a
        # descriptor to spare since its first file.
        assert abs(descriptor_count(server.pid) - opened) <= 2
        assert thread_count(server.pid) == threads
        wait_until(lambda: not server.temporary_files(), "their uploads are removed")


def die(server, protocol, state, death):
    connection = state(server, protocol)
    death(connection)
    return connection  # one that is shut stays open on our side


def connected(server):
    """Whether the server has sockets beside those that listen, one for each worker at most."""
    return socket_count(server.pid) > listening_sockets(server)


def listening_sockets(server):
    return 2 if "reuseport" in server.command else 1
