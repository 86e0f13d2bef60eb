"""An upload to a disk that does not respond delays no other client."""

import pytest

from support.contents import form, form_type, noise
from support.pairs import EVENT_DRIVEN, of_kind
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.stalling_disk import StallingDisk, obstacle
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=obstacle())

PAIRS = of_kind(lambda pair: pair in EVENT_DRIVEN)
REQUESTS = 50


@pytest.fixture
def disk(tmp_path):
    with StallingDisk(tmp_path) as mounted:
        yield mounted


def server_on(disk, pair):
    server = Server(uploads=False, pair=pair, workers=1)
    server.uploads = disk.mount
    server.command += ["--upload-dir", disk.mount]
    return server


def begin(server, protocol, name, body):
    """Starts an upload. Returns its connection and, over HTTP/2, its stream."""
    connection = protocol.connect(server)
    if protocol.http2:
        return connection, connection.request("POST", "/files", [form_type()], form((name, body)))
    connection.request("POST", "/files", [form_type()], form((name, body)))
    return connection, None


@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[2]], ids=name_of)
@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_others_are_answered(disk, pair, protocol):
    content = noise(100_000)
    with server_on(disk, pair) as server, disk.held():
        (server.root / "page.txt").write_bytes(b"page")
        connection, stream = begin(server, protocol, "slow.bin", content)
        with connection:
            wait_until(disk.stuck, "the upload waits for the disk")
            for _ in range(REQUESTS):
                assert fetch(server, PROTOCOLS[0], "/page.txt").body == b"page"
            assert disk.stuck() and server.temporary_files(), "it was not stuck all the time"
            disk.release()
            answer = connection.answer(stream) if stream else connection.answer()
            assert answer.status == 201, answer
        assert (disk.mount / "slow.bin").read_bytes() == content


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_client_that_leaves_meanwhile(disk, pair):
    """The connection ends after the write, and its file is removed."""
    with server_on(disk, pair) as server, disk.held():
        connection, _ = begin(server, PROTOCOLS[2], "slow.bin", noise(3_000_000))
        wait_until(disk.stuck, "the upload waits for the disk")
        connection.reset()
        disk.release()
        wait_until(lambda: server.uploaded() == [], "its file is removed")


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_stop_meanwhile(disk, pair):
    with server_on(disk, pair) as server, disk.held():
        connection, _ = begin(server, PROTOCOLS[2], "slow.bin", noise(3_000_000))
        with connection:
            wait_until(disk.stuck, "the upload waits for the disk")
            server.signal()
            server.signal()
            wait_until(lambda: not server.accepts(), "the server stops")
            disk.release()
            assert server.ends()
        # FUSE is told of the last close after the process has ended.
        wait_until(lambda: server.uploaded() == [], "nothing is left")
