"""How the server ends: SIGINT and SIGTERM, with nothing, something or too much under way."""

import errno
import signal
import socket
import subprocess

import pytest

from support import http2, sockets
from support.contents import form, form_type, noise
from support.environment import BINARY, PATIENCE
from support.http1 import chunk, get
from support.protocols import PROTOCOLS, SCHEMES, fetch, name_of
from support.server import Server
from support.waiting import wait_until

SIGNALS = [signal.SIGINT, signal.SIGTERM]
AT_ONCE_S = 1.0 * PATIENCE
SOON_S = min(3.0 * PATIENCE, 8.0)  # well before the drain ends
DRAIN_S = 10  # what is under way may take that long
CONTENT = noise(5_000_000)


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def protocol(request):
    return request.param


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return request.param


@pytest.fixture
def server(protocol, scheme):
    with Server("--scheme", scheme, "--threads", "2", tls=protocol.tls) as started:
        (started.root / "large").write_bytes(CONTENT)
        (started.root / "small").write_bytes(b"small")
        yield started


def refuses(server):
    """Whether a new connection is refused."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", server.port)) == errno.ECONNREFUSED


def wait_for_refusal(server):
    wait_until(lambda: refuses(server), "new connections are refused", 2)


# --- nothing under way ---------------------------------------------------------------------------


def idle_connection(server, protocol):
    """A connection on which one request has been answered."""
    connection = protocol.connect(server)
    if protocol.http2:
        connection.answer(connection.request("GET", "/small"))
    else:
        connection.send(get("/small"))
        assert connection.answer().body == b"small"
    return connection


@pytest.mark.parametrize("number", SIGNALS)
def test_ends_at_once_when_idle(server, protocol, number):
    idle = [idle_connection(server, protocol) for _ in range(20)]
    fresh = [sockets.connect(server, alpn=("http/1.1",)) for _ in range(10)]
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
    server.signal(number)
    for connection in idle:
        if protocol.http2:
            connection.run_to_end()
            assert connection.goaways[-1] == (0, 1), "the request was answered"
        else:
            assert connection.closed()
    for connection in [*fresh, *silent]:
        assert sockets.receive(connection) == b""
    assert server.ended_within(AT_ONCE_S)


@pytest.mark.parametrize("number", SIGNALS)
def test_ends_at_once_without_connections(server, number):
    server.signal(number)
    assert server.ended_within(AT_ONCE_S)


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_idle_clients_that_do_not_read(server, protocol):
    """A pool of connections reads from them when it has a request only: it sees no GOAWAY and
    answers no PING, and nothing is under way that would be worth waiting for."""
    idle = [idle_connection(server, protocol) for _ in range(5)]
    server.signal()
    assert server.ended_within(SOON_S)
    for connection in idle:
        connection.close()


def test_ends_after_many_connections(server, protocol):
    for _ in range(100):
        assert fetch(server, protocol, "/small").body == b"small"
    server.signal()
    assert server.ended_within(AT_ONCE_S)


# --- something under way -------------------------------------------------------------------------


class Download:
    """Of CONTENT, begun, and waiting for its reader."""

    def __init__(self, server, protocol):
        self._http2 = protocol.http2
        if protocol.http2:
            self.connection = protocol.connect(server, receive_buffer=4096, reading=False)
            self._stream = self.connection.request("GET", "/large")
            self.connection.run_until(lambda: self._stream.received == 65_535, "a window of it")
        else:
            self.connection = protocol.connect(server, receive_buffer=4096)
            self.connection.send(get("/large"))
            self._pieces = self.connection.body_pieces(self.connection.answer_head())
            self._begin = next(self._pieces)

    def finish(self):
        if self._http2:
            self.connection.take(self._stream, len(CONTENT))
            return self.connection.answer(self._stream).body
        return self._begin + b"".join(self._pieces)


@pytest.mark.parametrize("number", SIGNALS)
def test_finishes_a_download(server, protocol, number):
    download = Download(server, protocol)
    server.signal(number)
    wait_for_refusal(server)
    whole = download.finish() == CONTENT
    assert whole
    if protocol.http2:
        download.connection.run_to_end()
        assert download.connection.goaways == [(0, 2**31 - 1), (0, 1)], "RFC 9113, 6.8"
    else:
        assert download.connection.closed()
    assert server.ended_within(AT_ONCE_S)


def test_finishes_an_upload(server, protocol):
    body = form(("a.bin", CONTENT))
    with protocol.connect(server) as connection:
        finish = begin_upload(connection, protocol, body)
        wait_until(server.temporary_files, "the upload is under way")
        server.signal()
        wait_for_refusal(server)
        answer = finish()
        assert answer.status == 201
        if protocol.http2:
            connection.run_to_end()
            assert connection.goaways[-1] == (0, 1)
        else:
            assert answer.field("connection") == "close"
            assert connection.closed()
    assert server.ended_within(AT_ONCE_S)
    stored = (server.uploads / "a.bin").read_bytes() == CONTENT
    assert stored


def begin_upload(connection, protocol, body):
    """Sends a part of the form; the result sends the rest, and gives the answer."""
    if protocol.http2:
        stream = connection.request("POST", "/files", [form_type()], ends=False)
        connection.send_data(stream, body[: http2.FRAME_BYTES])

        def finish():
            stream.unsent, stream.ends = memoryview(body)[http2.FRAME_BYTES :], True
            connection.resume(stream)
            return connection.answer(stream)
    else:
        connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n".encode() + chunk(body[:16_384]))

        def finish():
            connection.send(chunk(body[16_384:]) + b"0\r\n\r\n")
            return connection.answer()
    return finish


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_requests_on_their_way_are_answered(server, protocol):
    """What a client sent before it could see the GOAWAY is served, and it is told which stream was
    the last to be."""
    with protocol.connect(server, reading=False) as connection:
        first = connection.request("GET", "/large")
        connection.run_until(lambda: first.received == 65_535, "a window of it")
        server.signal()
        wait_for_refusal(server)
        second = connection.request("GET", "/large")  # the GOAWAY has not been read yet
        connection.take(first, len(CONTENT))
        connection.take(second, len(CONTENT))
        assert len(connection.answer(first).body) == len(CONTENT)
        assert len(connection.answer(second).body) == len(CONTENT)
        connection.run_to_end()
        assert connection.goaways == [(0, 2**31 - 1), (0, second.number)]


def test_second_signal_ends_it_at_once(server, protocol):
    downloads = [Download(server, protocol) for _ in range(4)]
    server.signal(signal.SIGTERM)
    wait_for_refusal(server)
    assert server.running
    server.signal(signal.SIGINT)
    assert server.ended_within(AT_ONCE_S)
    for download in downloads:
        download.connection.close()


def stuck_connections(server, protocol):
    """Clients that will never come to an end."""
    download = Download(server, protocol)
    half_head = sockets.connect(server, alpn=("http/1.1",))
    half_head.sendall(b"GET / HTTP/1.1\r\nHo")
    upload = protocol.connect(server)
    begin_upload(upload, protocol, form(("a", CONTENT)))
    wait_until(server.temporary_files, "the upload is under way")
    return [download, half_head, upload]


def test_does_not_wait_for_ever():
    """Four servers at once, as this takes its time."""
    pairs = [(Server("--scheme", scheme, tls=protocol.tls), protocol)
             for scheme in SCHEMES for protocol in PROTOCOLS[1:3]]
    stuck = []
    try:
        for server, protocol in pairs:
            server.__enter__()
            (server.root / "large").write_bytes(CONTENT)
            stuck.append(stuck_connections(server, protocol))
        for server, _ in pairs:
            server.signal()
        for server, _ in pairs:
            assert server.ended_within(DRAIN_S + AT_ONCE_S)
    finally:
        for server, _ in pairs:
            server.__exit__(None)


# --- SIGPIPE -------------------------------------------------------------------------------------


def test_clients_that_leave_early(server, protocol):
    for _ in range(50):
        download = Download(server, protocol)
        download.connection.close()
        connection = protocol.connect(server)
        connection.request("GET", "/large")
        connection.reset()
    assert fetch(server, protocol, "/small").body == b"small"


def test_sigpipe(server, protocol):
    server.signal(signal.SIGPIPE)
    assert fetch(server, protocol, "/small").body == b"small"


def test_closed_standard_output(tmp_path):
    """h2server | head -0"""
    port = free_port()
    process = subprocess.Popen([BINARY, "--h2c", "--host", "127.0.0.1", "--port", str(port),
                                "--root", tmp_path], stdout=subprocess.PIPE)
    process.stdout.close()
    try:
        wait_until(lambda: listens(port), "it listens")
        process.terminate()
        assert process.wait(10 * PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


def listens(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0
