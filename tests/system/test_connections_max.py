"""Limits of connections: in total and per address."""

import pytest

from support import pairs
from support.http1 import Connection, get
from support.protocols import name_of
from support.server import Server
from support.waiting import wait_until

MOST = 4


@pytest.fixture(params=pairs.EVENT_DRIVEN, ids=name_of)
def pair(request):
    return request.param


def limited(pair, *arguments):
    return Server(*arguments, pair=pair, workers=1, quiet=False)


def answered(connection):
    connection.send(get("/small"))
    return connection.answer().body == b"small"


def test_the_longest_idle_makes_room(pair):
    with limited(pair, "--connections-max", str(MOST),
                 "--connections-per-address", "100") as server:
        (server.root / "small").write_bytes(b"small")
        crowd = []
        for _ in range(3 * MOST):
            crowd.append(Connection(server))
            assert answered(crowd[-1])
        for connection in crowd[:-MOST]:
            assert connection.ended()
        for connection in crowd[-MOST:]:
            assert answered(connection)
        for connection in crowd:
            connection.close()


def test_a_busy_connection_is_left_alone(pair):
    with limited(pair, "--connections-max", str(MOST),
                 "--connections-per-address", "100") as server:
        (server.root / "small").write_bytes(b"small")
        busy = Connection(server)
        busy.send(b"POST /files HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n"
                  b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x")
        for _ in range(3 * MOST):
            with Connection(server) as connection:
                assert answered(connection)
        busy.send(b"--\r\n...")  # ends the form, which has no file: status 400
        assert busy.answer().status == 400
        busy.close()


def test_an_address_has_a_limit_of_its_own(pair):
    with limited(pair, "--connections-per-address", str(MOST)) as server:
        (server.root / "small").write_bytes(b"small")
        crowd = [Connection(server) for _ in range(MOST)]
        for connection in crowd:
            assert answered(connection)
        for _ in range(3):
            with Connection(server) as beyond:
                assert beyond.ended()
        server.wait_for_message("as connections_per_address allows")
        crowd.pop().close()
        wait_until(lambda: accepts_one_more(server), "there is room again")
        for connection in crowd:
            connection.close()


def accepts_one_more(server):
    with Connection(server) as connection:
        connection.send(get("/small"))
        return not connection.ended()
