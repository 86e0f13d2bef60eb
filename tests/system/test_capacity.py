"""Schemes with a thread or process per connection: connections that arrive when all threads or
processes are busy."""

import select
import socket

import pytest

from support import pairs, sockets
from support.answer import Broken
from support.counters import count, line_of
from support.processes import Census
from support.protocols import PROTOCOLS, name_of
from support.server import Server
from support.waiting import wait_until

CAPACITY = 2  # connections at once
WAITING = 4
# Longer than a test waits: what ends before has not waited for the drain's limit.
LONG_DRAIN = "--drain-timeout=10m"

# Options that limit each scheme to CAPACITY connections.
LIMITS = {
    "thread-pool": ["--threads", f"{CAPACITY}"],
    "buffered-pool": ["--threads", f"{CAPACITY}", "--queue-size", "1", "--when-full", "wait"],
    "thread-per-connection": ["--connections-max", f"{CAPACITY}"],
    "process-per-connection": ["--connections-max", f"{CAPACITY}"],
}


def limited(pair, *arguments, **options):
    """Returns a server with these limits."""
    return Server("--scheme", pair.scheme, "--io", pair.io, *arguments, **options)


@pytest.fixture(params=pairs.of_kind(lambda pair: pair.blocking), ids=name_of)
def server(request):
    with limited(request.param, LONG_DRAIN, *LIMITS[request.param.scheme]) as started:
        (started.root / "small").write_bytes(b"small")
        yield started


class Client:
    """A client over either protocol, in cleartext: the kernel alone completes its connection, while
    a TLS handshake would wait for the server."""

    def __init__(self, server, protocol):
        self._http2 = protocol.http2
        self.connection = protocol.connect(server)

    def ask(self):
        self._stream = self.connection.request("GET", "/small")

    def is_answered(self):
        if self._http2:
            return self.connection.answer(self._stream).body == b"small"
        return self.connection.answer().body == b"small"

    def served(self):
        self.ask()
        assert self.is_answered()
        return self

    def hears_nothing(self):
        return select.select([self.connection.socket], [], [], 0)[0] == []

    def close(self):
        self.connection.close()


cleartext = pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[2]], ids=name_of)


@cleartext
def test_one_more_waits_until_another_ends(server, protocol):
    held = [Client(server, protocol).served() for _ in range(CAPACITY)]
    full = Census.of(server.pid)
    more = Client(server, protocol)
    more.ask()
    for _ in range(20):
        for client in held:
            client.served()
    assert more.hears_nothing()
    now = Census.of(server.pid)
    assert (now.threads, now.processes) == (full.threads, full.processes)
    held[0].close()
    assert more.is_answered()
    held[1].served()
    for client in [*held, more]:
        client.close()


@cleartext
def test_all_who_wait_are_served_in_the_end(server, protocol):
    held = [Client(server, protocol).served() for _ in range(CAPACITY)]
    waiting = [Client(server, protocol) for _ in range(WAITING)]
    for client in waiting:
        client.ask()
    for client in held:
        client.close()
    for client in waiting:
        assert client.is_answered()
        client.close()


@cleartext
def test_stops_while_some_wait(server, protocol):
    """Waiting clients are answered or cut off. They do not delay the end."""
    held = [Client(server, protocol).served() for _ in range(CAPACITY)]
    waiting = [Client(server, protocol) for _ in range(WAITING)]
    for client in waiting:
        client.ask()
    server.signal()
    assert server.ends()
    for client in waiting:
        try:
            assert client.is_answered()
        except Broken:
            pass
    for client in [*held, *waiting]:
        client.close()


# --- buffered-pool: the server's own queue --------------------------------------------------------

buffered = pytest.mark.parametrize(
    "pair", pairs.of_kind(lambda pair: pair.scheme == "buffered-pool"), ids=name_of)


def queueing(pair, when_full, size=1):
    return limited(pair, "--threads", "1", "--queue-size", f"{size}", "--when-full", when_full,
                   quiet=False)


def queue_line(server):
    return line_of(server, "queue")


@buffered
def test_refuses_when_full(pair):
    with queueing(pair, "refuse", size=2) as server:
        (server.root / "small").write_bytes(b"small")
        served = Client(server, PROTOCOLS[0]).served()
        queued = [Client(server, PROTOCOLS[0]) for _ in range(2)]
        for client in queued:
            client.ask()
        for _ in range(3):
            refused = socket.create_connection(("127.0.0.1", server.port))
            refused.settimeout(sockets.TIMEOUT_S)
            assert sockets.receive(refused) == b""
            refused.close()
        wait_until(lambda: count(queue_line(server), "refused") == 3, "they are counted")
        assert all(client.hears_nothing() for client in queued)
        served.served()
        served.close()
        for client in queued:
            assert client.is_answered()
            client.close()
        newcomer = Client(server, PROTOCOLS[0]).served()
        newcomer.close()
