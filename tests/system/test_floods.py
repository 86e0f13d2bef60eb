"""HTTP/2 floods against both implementations: the server closes the connection with
ENHANCE_YOUR_CALM and serves others."""

import select
import socket
import struct

import pytest

from support.environment import LAST_RESORT_S
from support.protocols import PROTOCOLS, fetch
from support.server import Server

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 2, 3, 4, 6, 7
ACK, END_STREAM, END_HEADERS = 1, 1, 4
ENHANCE_YOUR_CALM = 11
POST = b"\x83\x86\x84\x41\x01a"  # POST /, from the static table
FRAMES_MAX = 50_000  # far above the limits


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack(
        ">BBI", kind, flags, stream) + payload


def reset_streams(count):
    """Returns frames that open and immediately reset `count` streams."""
    return b"".join(frame(HEADERS, END_HEADERS, stream, POST)
                    + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                    for stream in range(3, 3 + 2 * count, 2))


# Frames to send after opening stream 1, which stays open.
FLOODS = {
    "PING": frame(PING, 0, 0, b"01234567") * FRAMES_MAX,
    "SETTINGS": frame(SETTINGS) * FRAMES_MAX,
    "PRIORITY": frame(PRIORITY, 0, 5, struct.pack(">IB", 0, 15)) * FRAMES_MAX,
    "empty DATA": frame(DATA, 0, 1) * FRAMES_MAX,
    "an extension": frame(0x77, 0, 0, b"abc") * FRAMES_MAX,
    "resets": reset_streams(FRAMES_MAX),
}


@pytest.fixture(scope="module", params=["native", "nghttp2"])
def server(request):
    with Server("--h2", request.param) as started:
        (started.root / "page").write_bytes(b"the page")
        yield started


def goaway_code(received):
    """Returns the error code of the last GOAWAY, or None if there is none."""
    code, at = None, 0
    while at + 9 <= len(received):
        size = int.from_bytes(received[at:at + 3], "big")
        if received[at + 3] == GOAWAY and len(received) >= at + 9 + size:
            code = int.from_bytes(received[at + 13:at + 17], "big")
        at += 9 + size
    return code


def flood(server, frames):
    """Sends the frames while reading. Returns the error code of the server's GOAWAY."""
    opening = PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, POST)
    left = memoryview(opening + frames)
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT_S) as connection:
        while goaway_code(received) is None:
            readable, writable, _ = select.select([connection], [connection] if left else [], [],
                                                  LAST_RESORT_S)
            assert readable or writable, "all was taken"
            if readable:
                piece = connection.recv(65536)
                assert piece, "closed without a GOAWAY"
                received += piece
            elif writable:
                left = left[connection.send(left[:2000]):]
    return goaway_code(received)


@pytest.mark.parametrize("frames", FLOODS.values(), ids=FLOODS)
def test_flood(server, frames):
    assert flood(server, frames) == ENHANCE_YOUR_CALM
    assert fetch(server, PROTOCOLS[2], "/page").body == b"the page"
