"""Descriptor exhaustion (EMFILE): which connections make room, what still works, what is logged."""

import http.client
import socket
import time

import pytest

from support import http2, pairs
from support.environment import LAST_RESORT_S, SANITIZER, not_sanitized
from support.http1 import Connection, get
from support.processes import cpu_seconds, descriptor_count
from support.protocols import PROTOCOLS, name_of
from support.server import Server
from support.waiting import wait_until

ROOM = 8  # descriptors that the server may still open
MORE = 20  # connections beyond the limit


@pytest.fixture(params=pairs.USUAL, ids=name_of)
def pair(request):
    if request.param.forks:
        pytest.skip("each connection has a process, and so a limit, of its own")
    return request.param


# UBSan's vptr check needs a pipe. If it cannot open one, it reports a false error.
needs_descriptors = pytest.mark.skipif(SANITIZER == "address", reason="UBSan needs descriptors")


class Shortage:
    """A server whose descriptors are used up by idle connections."""

    def __init__(self, server):
        self.server = server
        (server.root / "small").write_bytes(b"small")
        with Connection(server) as connection:
            self.ask(connection)
            self.limit = descriptor_count(server.pid) + ROOM
        server.restart_with_descriptors(self.limit)
        # accept() needs a free descriptor even to return EAGAIN, so one stays free.
        self.served = [self.served_connection() for _ in range(ROOM)]
        for connection in self.served:
            self.ask(connection)

    def served_connection(self):
        connection = Connection(self.server)
        self.ask(connection)
        return connection

    def ask(self, connection):
        connection.send(get("/small"))
        assert connection.answer().body == b"small"


@pytest.fixture
def shortage(pair):
    if pair.blocking:
        pytest.skip("each connection opens its files anew, for which there is no descriptor")
    with Server("--connections-per-address", "1000", pair=pair, quiet=False) as server:
        yield Shortage(server)


@needs_descriptors
def test_the_longest_idle_make_room(shortage):
    """Each new connection is served. Once idle, it is closed for the next one."""
    crowd = [shortage.served_connection() for _ in range(MORE)]
    for connection in shortage.served:
        assert connection.ended()
    assert descriptor_count(shortage.server.pid) <= shortage.limit
    shortage.ask(crowd[-1])


@not_sanitized
def test_the_shortage_costs_no_time(shortage):
    """The server waits for a free descriptor instead of retrying in a loop, which would take about
    as much CPU time as the test's own loop."""
    crowd = [shortage.served_connection() for _ in range(MORE)]
    last = crowd[-1]
    before, spent = cpu_seconds(shortage.server.pid), 0
    for _ in range(20):
        last.send(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        assert last.answer().status == 204
        spent += spend(0.1)
    assert cpu_seconds(shortage.server.pid) - before < spent / 10


def spend(seconds):
    """Uses so much CPU time. Returns how much it was."""
    begun = time.process_time()
    while (spent := time.process_time() - begun) < seconds:
        pass
    return spent


@needs_descriptors
def test_the_operator_is_told_once(shortage):
    crowd = [shortage.served_connection() for _ in range(MORE)]
    wait_until(lambda: shortage.server.stderr, "a line on standard error")
    lines = shortage.server.stderr.splitlines()
    assert len(lines) <= 2, lines  # each worker may print one
    assert "ulimit -n" in lines[0]
    shortage.ask(crowd[-1])


@needs_descriptors
def test_a_file_that_was_not_open_before(shortage):
    """It is served, or the status is 503 with Retry-After, but not 404."""
    (shortage.server.root / "other").write_bytes(b"other")
    last = shortage.served_connection()
    last.send(get("/other"))
    answer = last.answer()
    assert answer.body == b"other" or (answer.status, answer.field("retry-after")) == (503, "1")
    for connection in shortage.served:
        connection.close()
    wait_until(lambda: other_is_served(last), "the file is served later")


def other_is_served(connection):
    connection.send(get("/other"))
    return connection.answer().body == b"other"


@needs_descriptors
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_stops_in_a_shortage(protocol, pair):
    with Server("--drain-timeout=10m", pair=pair, tls=protocol.tls, quiet=False) as server:
        server.restart_with_descriptors(descriptor_count(server.pid) + 2)
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]
        wait_until(lambda: server.stderr, "the shortage is there")
        server.signal()
        assert server.ends()
        for connection in crowd:
            connection.close()


def test_one_client_does_not_hold_all_uploads():
    """It begins many and sends nothing. Another address is served."""
    with Server() as server:
        server.restart_with_descriptors(200)
        with http2.Connection(server) as client:
            fields = [("content-length", "1")]
            streams = [client.request("PUT", f"/files/{number}", fields, ends=False)
                       for number in range(60)]
            client.run_until(lambda: sum(stream.status == 503 for stream in streams) == 60 - 200 // 3 // 8,
                             "it has its share")
            other = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LAST_RESORT_S,
                                               source_address=("127.0.0.2", 0))
            other.request("PUT", "/files/other", body=b"x")
            assert other.getresponse().status == 201
            other.close()
            for stream in streams:
                if stream.status is None:
                    client.send_data(stream, b"x", end=True)
                    assert client.answer(stream).status == 201
            assert client.answer(client.request("PUT", "/files/more", [], b"x")).status == 201
