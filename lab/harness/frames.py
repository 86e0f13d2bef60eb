"""A plain client: connections from an address of loopback, frames of HTTP/2 made by hand.

Attackers say with it what no proper client says; answered() is what another client meets meanwhile.
"""

import socket
import ssl
import struct
import time

HOST = b"localhost"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
FRAME_BYTES_MAX = 16384
WINDOW_USUAL, WINDOW_MAX = 65535, 2**31 - 1

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_INITIAL_WINDOW_SIZE = 4
_STATUS_200 = b"\x88"  # in the static table (RFC 7541, A)


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
    first = _PREFACE + frame(SETTINGS, payload=struct.pack(">HI", _INITIAL_WINDOW_SIZE, window))
    if window > WINDOW_USUAL:
        first += frame(WINDOW_UPDATE, payload=struct.pack(">I", window - WINDOW_USUAL))
    return first


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


def answered(port, tls, protocol, source, path, timeout_s):
    """Asks for a file on a new connection. Returns the seconds; raises OSError without a 200."""
    begun = time.monotonic()
    with connect(port, tls, protocol, source, timeout_s) as connection:
        if protocol == "h2":
            connection.sendall(opening(WINDOW_USUAL) + frame(
                HEADERS, END_STREAM | END_HEADERS, 1, head(path, tls)))
            _await_stream(connection.makefile("rb"))
        else:
            connection.sendall(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: " + HOST
                               + b"\r\nConnection: close\r\n\r\n")
            received = b""
            while piece := connection.recv(65536):
                received += piece
            if not received.startswith(b"HTTP/1.1 200"):
                raise ConnectionError("no 200")
    return time.monotonic() - begun


def _await_stream(reader):
    """Reads frames until stream 1 has ended with a status of 200."""
    good = False
    while start := reader.read(9):
        length = int.from_bytes(start[:3], "big")
        kind, flags, stream = start[3], start[4], struct.unpack(">I", start[5:])[0]
        payload = reader.read(length)
        if stream == 1 and kind == HEADERS:
            good = _STATUS_200 in payload[:4]  # at most behind a change of the table's size
        if stream == 1 and kind in (DATA, HEADERS) and flags & END_STREAM:
            if good:
                return
            break
    raise ConnectionError("no 200")
