"""Clients that choose the name in the TLS handshake (SNI) and the one in the request (Host)."""

import socket
import ssl

from support import http1
from support.environment import LAST_RESORT_S

TIMEOUT_S = LAST_RESORT_S


def plain(port, address="127.0.0.1"):
    """Returns a connected socket. `address` may be the path of a Unix socket."""
    if address.startswith("/"):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(TIMEOUT_S)
        connection.connect(address)
        return connection
    return socket.create_connection((address, port), TIMEOUT_S)


def encrypt(connection, name, trusted, alpn=("http/1.1",), version=None):
    """Makes the TLS handshake. The certificate has to be one of `trusted` for `name`; without
    `trusted`, any one does. `version`: the only one to offer."""
    context = ssl.create_default_context(cafile=trusted) if trusted else ssl.SSLContext(
        ssl.PROTOCOL_TLS_CLIENT)
    if not trusted:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if version is not None:
        context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(list(alpn))
    return context.wrap_socket(connection, server_hostname=name)


class Client(http1.Connection):
    """HTTP/1.1 on a socket of plain() or encrypt()."""

    def __init__(self, connection):
        self.socket = connection
        self._buffer = b""

    def fetch(self, host, path="/", *lines, method="GET", body=b""):
        """Returns the answer to a request."""
        head = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host else []), *lines]
        if body or method in ("POST", "PUT"):
            head.append(f"Content-Length: {len(body)}")
        self.send(("\r\n".join(head) + "\r\n\r\n").encode() + body)
        return self.answer(to_head=method == "HEAD")


def fetch(port, host, path="/", *lines, **options):
    """Returns the answer to a request over a new connection without TLS."""
    address = options.pop("address", "127.0.0.1")
    with Client(plain(port, address)) as client:
        return client.fetch(host, path, *lines, **options)
