"""The counters that SIGUSR1 prints."""

import pytest

from support import pairs
from support.counters import count, lines, worker_lines
from support.pairs import PAIRS
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.transfers import CONTENT
from support.waiting import wait_until

H1, H2 = PROTOCOLS[0], PROTOCOLS[2]
WORKERS = 2
VISITS = 12
STREAMS = 40

event_driven = pytest.mark.parametrize("pair", pairs.of_kind(lambda pair: not pair.blocking),
                                       ids=name_of)


def started(pair, **options):
    return Server(pair=pair, workers=WORKERS, quiet=False, **options)


def place_files(server):
    (server.root / "small").write_bytes(b"small")
    (server.root / "large").write_bytes(CONTENT)


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_the_server_goes_on(pair):
    """SIGUSR1's default action would end the server."""
    with started(pair) as server:
        place_files(server)
        with H1.connect(server) as connection:
            for _ in range(3):
                assert lines(server, r"\d")
                connection.request("GET", "/small")
                assert connection.answer().body == b"small"


@event_driven
@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_connections_are_counted(pair, tls):
    with started(pair, tls=tls) as server:
        place_files(server)
        protocols = [protocol for protocol in PROTOCOLS if protocol.tls == tls]
        for _ in range(VISITS):
            for protocol in protocols:
                fetch(server, protocol, "/small")
        held = [protocol.connect(server) for protocol in protocols for _ in range(2)]
        total = len(protocols) * VISITS + len(held)
        wait_until(lambda: totals(server) == (len(held), total), "all are counted")
        for connection in held:
            connection.close()
        wait_until(lambda: totals(server) == (0, total), "the closed ones are not connected")


def totals(server):
    """Returns (open connections, accepted connections) of all workers."""
    printed = worker_lines(server, WORKERS)
    assert len(printed) == WORKERS, printed
    return tuple(sum(count(line, what) for line in printed) for what in ("connection", "accepted"))


@event_driven
def test_a_busy_worker_is_seen(pair):
    """A connection with many streams counts once as a connection; its streams show the work."""
    with started(pair) as server:
        place_files(server)
        with H2.connect(server, reading=False) as connection:
            for _ in range(STREAMS):
                connection.request("GET", "/large")
            wait_until(lambda: streams_of_workers(server) == [0, STREAMS], "its streams are seen")
        wait_until(lambda: streams_of_workers(server) == [0, 0], "they are gone")


def streams_of_workers(server):
    """Returns the number of streams of each worker, in ascending order."""
    return sorted(count(line, "stream") for line in worker_lines(server, WORKERS))
