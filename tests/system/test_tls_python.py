"""TLS 1.3 with tlslite-ng, a stack that shares no code with OpenSSL: suites, KeyUpdate, records."""

import random
import socket
import sys

import pytest

from support.environment import LAST_RESORT_S, TOOLS
from support.server import Server

sys.path += map(str, (TOOLS / "python/lib").glob("python*/site-packages"))
try:
    import tlslite.api as tlslite
except ImportError:
    tlslite = None

pytestmark = pytest.mark.skipif(tlslite is None, reason="no tlslite-ng: see scripts/setup")

LIMIT_S = LAST_RESORT_S
NOT_REQUESTED, REQUESTED = range(2)  # RFC 8446, 4.6.3
SUITES = {"aes128gcm": 0x1301, "aes256gcm": 0x1302, "chacha20-poly1305": 0x1303}
BIG = random.Random(1).randbytes(1_000_000)


@pytest.fixture(scope="module")
def server():
    with Server(tls=True, workers=2) as started:
        (started.root / "page").write_bytes(b"the page")
        (started.root / "big").write_bytes(BIG)
        yield started


class Client:
    """A connection. `settings` are attributes of tlslite's HandshakeSettings."""

    def __init__(self, server, suite="aes128gcm", session=None, **settings):
        chosen = tlslite.HandshakeSettings()
        chosen.minVersion = (3, 4)
        chosen.cipherNames = [suite]
        for name, value in settings.items():
            setattr(chosen, name, value)
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
        self.tls = tlslite.TLSConnection(self.socket)
        self.tls.handshakeClientCert(settings=chosen, session=session, serverName="localhost",
                                     alpn=[bytearray(b"http/1.1")])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def update_keys(self, request):
        for _ in self.tls.send_keyupdate_request(request):
            pass

    def get(self, path, close=False):
        """Returns the body."""
        ending = "Connection: close\r\n" if close else ""
        self.tls.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{ending}\r\n".encode())
        received = bytearray()
        while b"\r\n\r\n" not in received:
            received += self.read()
        head, _, body = bytes(received).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        pieces = [body]
        left = int(fields[b"content-length"]) - len(body)
        while left > 0:
            pieces.append(self.read())
            left -= len(pieces[-1])
        return b"".join(pieces)

    def read(self):
        piece = self.tls.read(min=1, max=65536)
        assert piece, "the stream ended"
        return bytes(piece)


@pytest.mark.parametrize("suite, number", SUITES.items(), ids=SUITES)
def test_suite(server, suite, number):
    with Client(server, suite) as client:
        assert client.tls.version == (3, 4)
        assert client.tls.session.cipherSuite == number
        assert client.get("/big") == BIG
        assert client.get("/page", close=True) == b"the page"
        # An end without close_notify would be TLSAbruptCloseError.
        assert client.tls.read(min=1, max=1) == b""


@pytest.mark.parametrize("suite", SUITES)
def test_client_updates_its_keys(server, suite):
    with Client(server, suite) as client:
        session = client.tls.session
        for request in (NOT_REQUESTED, REQUESTED, REQUESTED, NOT_REQUESTED, REQUESTED):
            clients, servers = session.cl_app_secret, session.sr_app_secret
            client.update_keys(request)
            assert client.get("/page") == b"the page"
            assert session.cl_app_secret != clients
            assert (session.sr_app_secret != servers) == (request == REQUESTED)
        assert client.get("/big", close=True) == BIG
        assert client.tls.read(min=1, max=1) == b""


def test_server_changes_its_keys_between_records(server):
    """The answer to a KeyUpdate comes between records of a response."""
    with Client(server) as client:
        client.tls.write(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        first = client.read()
        client.update_keys(REQUESTED)
        servers = client.tls.session.sr_app_secret
        received = bytearray(first)
        while not received.endswith(BIG[-100:]):
            received += client.read()
        assert received.endswith(BIG)
        assert client.get("/page") == b"the page"
        assert client.tls.session.sr_app_secret != servers


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("size", [1, 2, 17, 100])
def test_small_records(server, suite, size):
    with Client(server, suite) as client:
        client.tls.recordSize = size
        for _ in range(2):
            assert client.get("/page") == b"the page"


@pytest.mark.parametrize("limit", [513, 1000, 4096])
def test_record_size_limit(server, limit):
    """tlslite-ng refuses longer records (RFC 8449)."""
    with Client(server, record_size_limit=limit) as client:
        assert client.get("/big") == BIG


@pytest.mark.parametrize("suite", SUITES)
def test_padding(server, suite):
    def padding(length, _content_type, length_max):
        return min(300, length_max - length)

    with Client(server, suite, padding_cb=padding) as client:
        for _ in range(3):
            assert client.get("/page") == b"the page"


def test_client_closes(server):
    """The server answers close_notify with its own, and only then ends the stream."""
    with Client(server) as client:
        assert client.get("/page") == b"the page"
        client.tls.closeSocket = False  # close() then waits for the server's close_notify
        client.tls.close()
        assert client.socket.recv(1) == b""


def test_ticket(server):
    with Client(server) as client:
        assert client.get("/page") == b"the page"
        session = client.tls.session
    with Client(server, session=session) as client:
        assert client.tls.resumed
        assert client.get("/page") == b"the page"
