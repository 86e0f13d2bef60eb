"""A hot object of a store costs what the same file on a disk costs: instructions per request,
counted by callgrind on one connection."""

import contextlib

import pytest

from support.callgrind import CountedServer
from support.configured import Configured
from support.environment import HTTP2, not_sanitized
from support.s3 import S3, credentials_given, needs_s3
from test_instructions import Http1, Http2, STREAMS

pytestmark = [not_sanitized, needs_s3,
              pytest.mark.skipif(bool(HTTP2), reason="counts the built-in HTTP/2")]

SIZE = 20_000
MOST = 1.05
# A round is so short that in most nothing is compared with the store or the disk, which happens
# once a second. The round with the fewest instructions counts.
ROUNDS = 30

SITE = """
host = "127.0.0.1"
port = 0
h2c = true
scheme = "reuseport"
io = "epoll"
threads = 1
"""


class CountedSite(CountedServer, Configured):
    pass


def measure(server, client):
    """Returns the instructions for one request."""
    connection = client(server, {"file": b"x" * SIZE})
    connection.run(2 * STREAMS)
    readings = [server.instructions()]
    for _ in range(ROUNDS):
        connection.run(STREAMS)
        readings.append(server.instructions())
    connection.close()
    return min(after - before for before, after in zip(readings, readings[1:])) // STREAMS


@contextlib.contextmanager
def credentials():
    with credentials_given() as patch:
        yield patch


def test_hot_object_against_file():
    measured = {}
    with credentials(), S3() as s3:
        s3.put("file", b"x" * SIZE)
        sites = {"file": 'root = "www"\ncompress = false\n',
                 "object": f'store = "s3://bucket"\ns3-endpoint = "{s3.url}"\n'}
        for kind, lines in sites.items():
            with CountedSite(SITE + lines, {"www/file": b"x" * SIZE}) as server:
                for client in (Http1, Http2):
                    measured[kind, client.__name__] = measure(server, client)
    print(measured)
    for client in ("Http1", "Http2"):
        assert measured["object", client] <= MOST * measured["file", client], measured
