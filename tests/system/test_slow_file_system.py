"""A file system that does not respond, as NFS and FUSE may, delays no other site of its worker."""

import concurrent.futures
import contextlib
import http.client

import pytest

from support.configured import CLEARTEXT, Configured
from support.contents import noise
from support.environment import LAST_RESORT_S
from support.pairs import EVENT_DRIVEN, of_kind
from support.protocols import name_of
from support.stalling_disk import StallingDisk, obstacle
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=obstacle())

PAIRS = of_kind(lambda pair: pair in EVENT_DRIVEN)
REQUESTS = 20
FILM = noise(1_000_000)  # not held in memory
NOTE = b"a note"         # held in memory

SITES = CLEARTEXT + """
[[site]]
host = "local.test"
root = "local"
[[site]]
host = "slow.test"
root = "{}"
"""


@pytest.fixture
def disk(tmp_path):
    with StallingDisk(tmp_path) as mounted:
        (mounted.mount / "film").write_bytes(FILM)
        (mounted.mount / "note").write_bytes(NOTE)
        yield mounted


def server_on(root, pair):
    return Configured(SITES.format(root), {"local/page": "page"}, pair.arguments(1))


@contextlib.contextmanager
def asked(server, host, path):
    """Sends a request. Its response is read by the caller."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LAST_RESORT_S)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Host": host})
        yield connection


def get(server, host, path):
    with asked(server, host, path) as connection:
        response = connection.getresponse()
        return response.status, response.read()


def answers_others_while_stuck(server, disk, kind):
    wait_until(lambda: disk.stuck(kind), f"{kind} waits")
    for _ in range(REQUESTS):
        assert get(server, "local.test", "/page") == (200, b"page")
    assert disk.stuck(kind), "it was not stuck all the time"


@pytest.mark.parametrize("kind", ["getattr", "open", "read", "flush"])
@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_first_request(disk, pair, kind):
    with server_on(disk.mount, pair) as server:
        for path, content in ("/note", NOTE), ("/film", FILM):
            with disk.held(kind), asked(server, "slow.test", path) as connection:
                answers_others_while_stuck(server, disk, kind)
                disk.release()
                assert connection.getresponse().read() == content


@pytest.mark.parametrize("kind", ["getattr", "open", "read", "flush"])
@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_cached_file(disk, pair, kind):
    """The server has its lookup, but not its bytes."""
    with server_on(disk.mount, pair) as server:
        assert get(server, "slow.test", "/film") == (200, FILM)
        with disk.held(kind), asked(server, "slow.test", "/film") as connection:
            answers_others_while_stuck(server, disk, kind)
            disk.release()
            assert connection.getresponse().read() == FILM


@pytest.mark.parametrize("kind", ["getattr", "read"])
@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_while_it_is_sent(disk, pair, kind):
    film = noise(30_000_000)  # more than the sockets take
    (disk.mount / "long").write_bytes(film)
    with server_on(disk.mount, pair) as server, asked(server, "slow.test", "/long") as connection:
        response = connection.getresponse()
        begin = response.read(1000)
        with concurrent.futures.ThreadPoolExecutor(1) as reader:
            with disk.held(kind):
                rest = reader.submit(response.read)
                answers_others_while_stuck(server, disk, kind)
            assert begin + rest.result() == film


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_listing(disk, pair):
    with server_on(disk.mount, pair) as server:
        with disk.held("getattr"), asked(server, "slow.test", "/") as connection:
            answers_others_while_stuck(server, disk, "getattr")
            disk.release()
            assert b"film" in connection.getresponse().read()


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_mounted_below_a_local_root(disk, pair):
    """The root is a folder on a local disk that the mount point is in."""
    with server_on(disk.mount.parent, pair) as server:
        path = f"/{disk.mount.name}/film"
        for _ in range(2):
            with disk.held("getattr"), asked(server, "slow.test", path) as connection:
                answers_others_while_stuck(server, disk, "getattr")
                disk.release()
                assert connection.getresponse().read() == FILM
