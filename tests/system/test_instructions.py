"""Instructions per request for a cached file, counted by callgrind on one connection.

instructions.json has the expected numbers of each kind of build. A number that differs by more than
TOLERANCE fails: if it is higher, something became slower; if it is lower, the record would hide the
next change. H2SERVER_TEST_UPDATE=1 records the measured numbers."""

import json
import os
import pathlib
import struct

import hpack
import pytest

from support import pairs, sockets
from support.callgrind import CountedServer, build_kind
from support.environment import HTTP2, not_sanitized

pytestmark = [not_sanitized,
              pytest.mark.skipif(bool(HTTP2), reason="counts the built-in HTTP/2")]

RECORD = pathlib.Path(__file__).with_name("instructions.json")
TOLERANCE = 0.03
# A round is so short that in most the clock's second does not change: each second, the server
# encodes the date and checks the files. The round with the fewest instructions counts.
ROUNDS = 8
REQUESTS = 500
STREAMS = 100
NAMES = [f"file-{number}" for number in range(50)]


def content(name):
    return b"x" * (158 + NAMES.index(name))


def place_files(server):
    for number, name in enumerate(NAMES):
        (server.root / name).write_bytes(content(name))
        os.utime(server.root / name, (0, 1_600_000_000 + 3600 * number))


class Http1:
    """Sends each request when the response to the previous one has arrived. `contents` has the one
    file by its name."""

    def __init__(self, server, contents):
        self._socket = sockets.connect(server)
        (name, body), = contents.items()
        self._request = (f"GET /{name} HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
                         "User-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n").encode()
        self._size = self._size_of_first(body)

    def _size_of_first(self, body):
        self._socket.sendall(self._request)
        answer = b""
        while not answer.endswith(b"\r\n\r\n" + body):
            answer += self._received()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
        return len(answer)

    def _received(self):
        data = sockets.receive(self._socket)
        assert data, "the server closed the connection"
        return data

    def run(self, requests):
        for _ in range(requests):
            self._socket.sendall(self._request)
            size = 0
            while size < self._size:
                size += len(self._received())
            assert size == self._size

    def close(self):
        self._socket.close()


class Http2:
    """Sends STREAMS requests at once when the responses to the previous ones have arrived."""

    WINDOW = (1 << 30) - 1
    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
    END_STREAM, ACK, END_HEADERS = 1, 1, 4

    def __init__(self, server, contents):
        self._socket = sockets.connect(server)
        self._authority = f"localhost:{server.port}"
        self._names = list(contents)
        self._contents = contents
        self._encoder = hpack.Encoder()
        self._next_stream = 1
        self._received = b""
        self._socket.sendall(
            self.PREFACE + self._frame(self.SETTINGS, 0, 0, struct.pack(">HI", 4, self.WINDOW)) +
            self._frame(self.SETTINGS, self.ACK, 0) +
            self._frame(self.WINDOW_UPDATE, 0, 0, struct.pack(">I", self.WINDOW - 65535)))

    @staticmethod
    def _frame(kind, flags, stream, payload=b""):
        return struct.pack(">IBBI", len(payload), kind, flags, stream)[1:] + payload

    def run(self, requests):
        assert requests % STREAMS == 0
        for _ in range(requests // STREAMS):
            names = [self._names[i % len(self._names)] for i in range(STREAMS)]
            self._socket.sendall(b"".join(map(self._request, names)))
            self._take(sum(len(self._contents[name]) for name in names))

    def _request(self, name):
        block = self._encoder.encode([
            (":path", f"/{name}"), (":scheme", "http"), (":authority", self._authority),
            (":method", "GET"), ("user-agent", "h2load nghttp2/1.52.0")])
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        return self._frame(self.HEADERS, self.END_STREAM | self.END_HEADERS, stream, block)

    def _take(self, expected):
        """Reads until STREAMS streams have ended, with so many bytes of content."""
        ended = content_bytes = 0
        while ended < STREAMS:
            data = sockets.receive(self._socket, 1 << 18)
            assert data, "the server closed the connection"
            self._received += data
            while len(self._received) >= 9:
                size, kind, flags = struct.unpack(">IBB", b"\0" + self._received[:5])
                if len(self._received) < 9 + size:
                    break
                self._received = self._received[9 + size:]
                if kind in (self.DATA, self.HEADERS):
                    ended += flags & self.END_STREAM
                    content_bytes += size if kind == self.DATA else 0
        assert (ended, content_bytes) == (STREAMS, expected)

    def close(self):
        self._socket.close()


CASES = {
    "h1, one file": (Http1, NAMES[:1]),
    "h2c, 100 streams, one file": (Http2, NAMES[:1]),
    "h2c, 100 streams, fifty files": (Http2, NAMES),
}


def measure(server, client, names):
    """Returns the instructions for one request."""
    connection = client(server, {name: content(name) for name in names})
    connection.run(REQUESTS)  # warms up: caches the files, fills the tables of HPACK
    readings = [server.instructions()]
    for _ in range(ROUNDS):
        connection.run(REQUESTS)
        readings.append(server.instructions())
    connection.close()
    return min(after - before for before, after in zip(readings, readings[1:])) // REQUESTS


def test_instructions_per_request():
    records = json.loads(RECORD.read_text())
    kind = build_kind()
    updates = os.environ.get("H2SERVER_TEST_UPDATE") == "1"
    if kind not in records and not updates:
        pytest.skip(f"instructions.json has no numbers for {kind}; H2SERVER_TEST_UPDATE=1 records")
    with CountedServer(pair=pairs.Pair("reuseport", "epoll"), workers=1) as server:
        place_files(server)
        measured = {case: measure(server, *how) for case, how in CASES.items()}
    print(kind, measured)
    if updates:
        records[kind] = measured
        RECORD.write_text(json.dumps(records, indent=2, sort_keys=True) + "\n")
        return
    wrong = [f"{case}: {measured[case]}, recorded: {recorded}"
             for case, recorded in records[kind].items()
             if abs(measured[case] - recorded) > TOLERANCE * recorded]
    assert not wrong, f"{wrong}; if that is right, H2SERVER_TEST_UPDATE=1 records it"
