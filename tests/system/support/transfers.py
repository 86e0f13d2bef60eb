"""Requests that stop halfway, to be finished later or never."""

import itertools
import socket

from support import http1, http2, sockets
from support.contents import form, form_type, noise

CONTENT = noise(5_000_000)

_numbers = itertools.count()


class Download:
    """A download of a file that holds CONTENT, stalled after its first bytes."""

    def __init__(self, server, protocol, path="/large"):
        self._http2 = protocol.http2
        if protocol.http2:
            self.connection = protocol.connect(server, receive_buffer=4096, reading=False)
            self._stream = self.connection.request("GET", path)
            self.connection.run_until(lambda: self._stream.received == 65_535, "a window of it")
        else:
            self.connection = protocol.connect(server, receive_buffer=4096)
            self.connection.send(http1.get(path))
            self._pieces = self.connection.body_pieces(self.connection.answer_head())
            self._begin = next(self._pieces)

    def finish(self):
        if self._http2:
            self.connection.take(self._stream, len(CONTENT))
            return self.connection.answer(self._stream).body
        return self._begin + b"".join(self._pieces)


def begin_upload(connection, protocol, body):
    """Sends part of the form. Returns a function that sends the rest and returns the answer."""
    if protocol.http2:
        stream = connection.request("POST", "/files", [form_type()], ends=False)
        connection.send_data(stream, body[: http2.FRAME_BYTES])

        def finish():
            stream.unsent, stream.ends = memoryview(body)[http2.FRAME_BYTES :], True
            connection.resume(stream)
            return connection.answer(stream)
    else:
        connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n".encode()
                        + http1.chunk(body[: http2.FRAME_BYTES]))

        def finish():
            connection.send(http1.chunk(body[http2.FRAME_BYTES :]) + b"0\r\n\r\n")
            return connection.answer()
    return finish


# --- connections in each state: functions of the server and the protocol -------------------------


def silent(server, _):
    return socket.create_connection(("127.0.0.1", server.port))


def in_handshake(server, protocol):
    """In the TLS handshake; without TLS, in the HTTP/2 preface or in a request line."""
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
    connection.sendall(b"\0\0\x10\x01\x04\0\0\0\x01\x82")  # HEADERS of 16 bytes, 1 of them sent
    return connection


def in_upload(server, protocol):
    """Of a name of its own: the server refuses the second of two uploads of one name."""
    connection = protocol.connect(server)
    begin_upload(connection, protocol, form((f"half {next(_numbers)}", CONTENT)))
    return connection.socket


def in_download(server, protocol):
    return Download(server, protocol).connection.socket


def between_requests(server, protocol):
    connection = protocol.connect(server)
    if protocol.http2:
        connection.answer(connection.request("GET", "/absent"))
    else:
        connection.request("GET", "/absent")
        connection.answer()
    return connection.socket


STATES = [silent, in_handshake, in_head, in_upload, in_download, between_requests]
