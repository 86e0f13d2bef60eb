"""Connections to the server, below HTTP."""

import os
import select
import socket
import ssl
import struct

from support.environment import LAST_RESORT_S

TIMEOUT_S = LAST_RESORT_S


def connect(server, receive_buffer=None, alpn=()):
    """Returns a connected socket, with TLS if the server uses it. `receive_buffer` is SO_RCVBUF; a
    small one soon stalls a sending server."""
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
    """Returns the received bytes. Empty if the peer closed or reset the connection."""
    while True:
        try:
            return connection.recv(size)
        except ssl.SSLZeroReturnError:
            return b""
        except (ConnectionError, ssl.SSLEOFError):
            # Python 3.13 with OpenSSL 3.5 may give a connection that has to wait the error of another
            # that the server has cut or reset: OpenSSL's queue of errors is the thread's.
            if _is_at_end(connection):
                return b""
        readable = select.poll()
        readable.register(connection, select.POLLIN)
        if not readable.poll(TIMEOUT_S * 1000):
            raise TimeoutError


def _is_at_end(connection):
    """Returns true if the peer has closed or reset the TCP connection and nothing is left to read."""
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        try:
            return plain.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True


def send(connection, data):
    """Returns false if the peer has closed or reset the connection."""
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
