"""Hostile clients: each sends little that takes much of a server, reads nothing and stays.

ATTACKS has what a connection of each sends. hold() makes the connections of an attack.
"""

import contextlib
import dataclasses
import ssl
import time

from harness.frames import (CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_BYTES_MAX, HEADERS,
                            HOST, PING, RST_STREAM, WINDOW_MAX, WINDOW_USUAL, connect, field, frame,
                            head, opening)

ADDRESS = "127.0.0.2"  # where hostile clients come from; others come from 127.0.0.1
LARGE, TEXT, SMALL, FOLDER = "/large.bin", "/large.txt", "/small.txt", "/many/"
README_FOLDER = "/read/"
UPLOADED = "folder/"  # of uploads
BOUNDARY = b"part-of-a-form"
STREAMS = 100

SEND_S_MAX = 15  # for all connections of an attack
PAUSE_S_MAX = 0.5  # without a byte that a server takes, a connection sends no more


def _gets(window, path, tls, fields=b"", query=""):
    """A request for `path` on each of STREAMS, each with its own query."""
    return opening(window) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number,
              head(f"{path}?{query}{number}", tls, fields=fields)) for number in range(STREAMS))


_BOMB = field(b"x-a", b"z" * 3900, indexed=True)
_BOMBS = b"\xbe" * 7  # seven times the newest of the dynamic table


def _bomb(tls, _):
    first = head(LARGE, tls)
    return opening(0) + frame(HEADERS, END_STREAM | END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number, first + _BOMBS)
        for number in range(1, STREAMS))


def _trailers(tls, _):
    first = head("/none", tls, b"POST")
    return opening(0) + frame(HEADERS, END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(HEADERS, END_HEADERS, 1 + 2 * number, first)
        + frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number, _BOMBS)
        for number in range(1, STREAMS))


def _refused(tls, _):
    """Nine times 3.9 kB are more than 32 KiB, which h2server takes for a head."""
    first = head(SMALL, tls)
    return opening(0) + frame(HEADERS, END_STREAM | END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number, first + _BOMBS + b"\xbe\xbe")
        for number in range(1, STREAMS))


def _methods(tls, _):
    first = head(SMALL, tls, b"POST")
    return opening(WINDOW_USUAL) + frame(HEADERS, END_HEADERS, 1, first + _BOMB) + b"".join(
        frame(HEADERS, END_HEADERS, 1 + 2 * number, first + _BOMBS)
        for number in range(1, STREAMS))


def _heads(tls, _):
    fields = b"".join(field(b"x-%d" % number, b"y" * 200) for number in range(15))
    return _gets(0, LARGE, tls, fields)


def _continuation(tls, _):
    piece = field(b"x-a", b"z" * (FRAME_BYTES_MAX - 20))
    return (opening(WINDOW_USUAL) + frame(HEADERS, END_STREAM, 1, head(SMALL, tls))
            + frame(CONTINUATION, 0, 1, piece) * 60)


def _posts(tls, path):
    return opening(0) + b"".join(
        frame(HEADERS, END_HEADERS, 1 + 2 * number, head(f"{path}{number}", tls, b"PUT"))
        + frame(DATA, 0, 1 + 2 * number, b"x") for number in range(STREAMS))


def _forms(tls, path):
    kind = field(b"content-type", b"multipart/form-data; boundary=" + BOUNDARY)
    return opening(0) + b"".join(
        frame(HEADERS, END_HEADERS, 1 + 2 * number, head(path.rstrip("/"), tls, b"POST", kind))
        + frame(DATA, 0, 1 + 2 * number,
                b'--%s\r\nContent-Disposition: form-data; name="f"; filename="%d"\r\n\r\nx'
                % (BOUNDARY, number)) for number in range(STREAMS))


def _with_body(stream, first, body):
    return frame(HEADERS, END_HEADERS, stream, first) + frame(DATA, END_STREAM, stream, body)


def _locks(tls, path):
    lock = (b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:shared/></D:lockscope>'
            b"<D:locktype><D:write/></D:locktype><D:owner>" + b"o" * 2000
            + b"</D:owner></D:lockinfo>")
    find = b'<propfind xmlns="DAV:"><prop>' + b"<lockdiscovery/>" * 900 + b"</prop></propfind>"
    half = STREAMS // 2
    return opening(0) + b"".join(
        _with_body(1 + 2 * number, head(path + "locked", tls, b"LOCK"), lock)
        for number in range(half)) + b"".join(
        _with_body(1 + 2 * number, head(path + "locked", tls, b"PROPFIND"), find)
        for number in range(half, STREAMS))


def _copies(tls, path):
    target = path.encode() + b"copy-"
    return opening(WINDOW_USUAL) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number,
              head(path + UPLOADED, tls, b"COPY", field(b"destination", target + b"%d" % number)))
        + frame(RST_STREAM, 0, 1 + 2 * number, b"\0\0\0\x08") for number in range(2000))


def _slashes(tls, _):
    return opening(0) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number,
              head(FOLDER + "/" * number, tls)) for number in range(STREAMS))


def _propfinds(tls, path):
    return opening(0) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number,
              head(path + UPLOADED, tls, b"PROPFIND", field(b"depth", b"1")))
        for number in range(STREAMS))


def _ranges(tls, _):
    return _gets(0, LARGE, tls, field(b"range", b"bytes=0-99999,200000-299999"))


def _resets(tls, _):
    return opening(WINDOW_USUAL) + b"".join(
        frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * number, head(LARGE, tls))
        + frame(RST_STREAM, 0, 1 + 2 * number, b"\0\0\0\x08") for number in range(20_000))


def _pings(_, __):
    return opening(WINDOW_USUAL) + frame(PING, payload=b"12345678") * 200_000


def _first_flight(_, __):
    """A ClientHello, without what follows it."""
    outgoing = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


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
    stored: int = 0  # files in UPLOADED
    shakes: bool = True  # over TLS, it begins behind the handshake; otherwise it is one of TLS only


ATTACKS = (
    Attack("bomb", "a field of 3.9 kB, named seven times by each of 100 streams", "h2", 60, _bomb),
    Attack("trailers", "the same in trailers, to what is not there", "h2", 60, _trailers),
    Attack("refused", "heads that are too large by the same on 100 streams, windows closed", "h2", 60,
           _refused),
    Attack("methods", "the same field, POST to a file", "h2", 60, _methods),
    Attack("heads", "heads of 3 kB on 100 streams, windows closed", "h2", 60, _heads),
    Attack("unread", "60 MB on each of 100 streams, windows open, nothing read", "h2", 60,
           lambda tls, _: _gets(WINDOW_MAX, LARGE, tls)),
    Attack("ranges", "two ranges of a file on 100 streams, windows closed", "h2", 60, _ranges),
    Attack("texts", "a text to be compressed on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, TEXT, tls, field(b"accept-encoding", b"br, gzip"))),
    Attack("listings", "a folder of 3,000 names on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, FOLDER, tls)),
    Attack("coded", "the same, to be compressed", "h2", 20,
           lambda tls, _: _gets(0, FOLDER, tls, field(b"accept-encoding", b"gzip"))),
    Attack("sorts", "the same in another order", "h2", 20,
           lambda tls, _: _gets(0, FOLDER, tls, query="sort=-modified&n=")),
    Attack("slashes", "the same, each with another number of slashes", "h2", 20, _slashes),
    Attack("readmes", "a folder with a README of 60 kB on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, README_FOLDER, tls)),
    Attack("archives", "an archive of 3,000 files on 100 streams, windows closed", "h2", 20,
           lambda tls, _: _gets(0, FOLDER, tls, query="archive=zip&n=")),
    Attack("pages", "the page for uploads on 100 streams, windows closed", "h2", 20,
           lambda tls, path: _gets(0, path.rstrip("/"), tls)),
    Attack("propfinds", "PROPFIND of 100,000 uploads on 100 streams, windows closed", "h2", 20,
           _propfinds, stored=100_000),
    Attack("locks", "50 locks with owners of 2 kB, and 50 PROPFINDs of them, windows closed", "h2", 20,
           _locks),
    Attack("copies", "2,000 COPYs of a folder of 1,000 files, each reset at once", "h2", 10, _copies,
           stored=1000),
    Attack("continuation", "a head of 1 MB that does not end", "h2", 200, _continuation),
    Attack("posts", "uploads of which one byte comes, on 100 streams", "h2", 40, _posts),
    Attack("forms", "the same in forms", "h2", 40, _forms),
    Attack("resets", "20,000 requests, each reset at once", "h2", 10, _resets),
    Attack("pings", "200,000 PING frames whose answers nobody reads", "h2", 20, _pings),
    Attack("endless", "heads of 27 kB that do not end", "h1", 500, _endless_head),
    Attack("pipeline", "2,000 requests for 60 MB in a row, nothing read", "h1", 100, _pipeline),
    Attack("begun", "uploads of which 60 kB come", "h1", 400, _begun_upload),
    Attack("asked", "connections that ask for a file and stay", "h1", 2000,
           lambda _, __: _request(b"GET", SMALL) + b"\r\n"),
    Attack("idle", "connections that ask for nothing", "h1", 2000, lambda _, __: b""),
    Attack("handshakes", "the first flight of a TLS handshake", "h1", 2000, _first_flight,
           shakes=False),
)


def _send(connection, octets):
    """Returns how many bytes the server took."""
    sent, view = 0, memoryview(octets)
    connection.settimeout(PAUSE_S_MAX)
    with contextlib.suppress(OSError):
        while sent < len(view):
            sent += connection.send(view[sent:sent + 65536])
    return sent


def hold(attack, port, tls, uploads, connections):
    """Makes an attack. Returns (connections to be closed, bytes sent). Ends early if the server
    takes no more connections."""
    held, sent = [], 0
    deadline = time.monotonic() + SEND_S_MAX
    for _ in range(connections):
        try:
            connection = connect(port, tls and attack.shakes, attack.protocol, ADDRESS, PAUSE_S_MAX)
        except OSError:
            break
        held.append(connection)
        sent += _send(connection, attack.sends(tls, uploads))
        if time.monotonic() > deadline:
            break
    return held, sent
