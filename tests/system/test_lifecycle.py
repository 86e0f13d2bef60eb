"""Shutdown by SIGINT and SIGTERM: idle, with requests in flight, and with stuck clients."""

import signal
import socket
import subprocess

import pytest

from support import pairs, sockets
from support.contents import form
from support.environment import BINARY, LAST_RESORT_S
from support.http1 import get
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.transfers import CONTENT, Download, begin_upload
from support.waiting import wait_until

SIGNALS = [signal.SIGINT, signal.SIGTERM]
# Longer than a test waits: what ends before has not waited for the drain's limit.
LONG_DRAIN = "--drain-timeout=10m"


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def protocol(request):
    return request.param


@pytest.fixture(params=pairs.USUAL, ids=name_of)
def pair(request):
    return request.param


@pytest.fixture
def server(protocol, pair):
    with Server(LONG_DRAIN, pair=pair, workers=2, tls=protocol.tls) as started:
        (started.root / "large").write_bytes(CONTENT)
        (started.root / "small").write_bytes(b"small")
        yield started


def wait_for_refusal(server):
    wait_until(lambda: not server.accepts(), "new connections are refused")


# --- idle ----------------------------------------------------------------------------------------


def idle_connection(server, protocol):
    """Returns a connection on which one request has been answered."""
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
    assert server.ends()


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_idle_clients_that_do_not_read(server, protocol):
    """A client's connection pool may read only when it has a request: it sees no GOAWAY and answers
    no PING. Nothing is in flight, so the server does not wait for it."""
    idle = [idle_connection(server, protocol) for _ in range(5)]
    server.signal()
    assert server.ends()
    for connection in idle:
        connection.close()


# --- requests in flight --------------------------------------------------------------------------


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
        # The server waits for that, so that no reset destroys what the client has not read yet.
        download.connection.close()
    else:
        assert download.connection.closed()
    assert server.ends()


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
    assert server.ends()
    stored = (server.uploads / "a.bin").read_bytes() == CONTENT
    assert stored


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_requests_on_their_way_are_answered(server, protocol):
    """Requests that the client sent before it saw the GOAWAY are served. The final GOAWAY names the
    last stream."""
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


def stuck_connections(server, protocol):
    """Returns a download, a request head and an upload that never finish."""
    download = Download(server, protocol)
    half_head = sockets.connect(server, alpn=("http/1.1",))
    half_head.sendall(b"GET / HTTP/1.1\r\nHo")
    upload = protocol.connect(server)
    begin_upload(upload, protocol, form(("a", CONTENT)))
    wait_until(server.temporary_files, "the upload is under way")
    return [download, half_head, upload]


def test_does_not_wait_for_ever():
    """Runs all servers at once, because a drain takes ten seconds. No other time limit is as short
    as a test's last resort."""
    servers = [(Server(pair=pair, tls=protocol.tls), protocol)
               for pair in pairs.USUAL for protocol in PROTOCOLS[1:3]]
    stuck = []
    try:
        for server, protocol in servers:
            server.__enter__()
            (server.root / "large").write_bytes(CONTENT)
            stuck.append(stuck_connections(server, protocol))
        for server, _ in servers:
            server.signal()
        for server, _ in servers:
            assert server.ends()
            if not (pairs.CHOSEN and pairs.CHOSEN.blocking):
                for waiting in ("GET /large (route /{path...})", "POST /files (route /files)"):
                    assert f"h2server: waiting for {waiting}\n" in server.stderr
    finally:
        for server, _ in servers:
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
        assert process.wait(LAST_RESORT_S) == 0
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
