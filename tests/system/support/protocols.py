"""The four protocols, and one function that makes a request over any of them."""

import dataclasses

from support import http1, http2


@dataclasses.dataclass(frozen=True)
class Protocol:
    name: str
    tls: bool
    http2: bool
    curl: str  # curl's option

    def connect(self, server, **options):
        return (http2 if self.http2 else http1).Connection(server, **options)


PROTOCOLS = [
    Protocol("h1", tls=False, http2=False, curl="--http1.1"),
    Protocol("h1_tls", tls=True, http2=False, curl="--http1.1"),
    Protocol("h2c", tls=False, http2=True, curl="--http2-prior-knowledge"),
    Protocol("h2_tls", tls=True, http2=True, curl="--http2"),
]


def name_of(parameter):
    """For pytest's `ids`: the name of a protocol, a pair or a row."""
    return getattr(parameter, "name", None)


def fetch(server, protocol, path, method="GET", fields=(), body=b""):
    """Returns the answer to one request on a new connection."""
    with protocol.connect(server) as connection:
        if protocol.http2:
            stream = connection.request(method, path, fields, body or None)
            return connection.answer(stream)
        connection.request(method, path, [*fields, ("connection", "close")], body)
        return connection.answer(to_head=method == "HEAD")
