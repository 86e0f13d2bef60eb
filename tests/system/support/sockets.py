"""Connections to the server, below HTTP."""

import socket
import ssl
import struct

from support.environment import PATIENCE

TIMEOUT_S = 10 * PATIENCE


def connect(server, receive_buffer=None, alpn=()):
    """A connected socket, in TLS when the server speaks it. `receive_buffer` bytes, about: a small
    one soon stops a server that sends."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.settimeout(TIMEOUT_S)
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.connect(("127.0.0.1", server.port))
    if not server.tls:
        return connection
    context = ssl.create_default_context(cafile=server.certificate)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context.wrap_socket(connection, server_hostname="localhost")


def receive(connection, size=65536):
    """What has arrived; empty at the end, however the peer made it."""
    try:
        return connection.recv(size)
    except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return b""


def send(connection, data):
    """False when the peer does not take it any more."""
    try:
        connection.sendall(data)
        return True
    except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
        return False


def reset(connection):
    """Closes with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(connection, ssl.SSLSocket):
        raw = connection.detach()
        socket.socket(fileno=raw).close()
    else:
        connection.close()
