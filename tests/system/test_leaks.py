"""Load leaves no descriptor, thread, process or temporary file behind. After a drain, no process of
the server is left."""

import concurrent.futures
import signal

import pytest

from support import processes
from support.census import Base
from support.contents import form, form_type, noise
from support.pairs import PAIRS
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.transfers import CONTENT, Download, begin_upload, silent
from support.waiting import wait_until

WORKERS = 2
POOL_THREADS = 6
CLIENTS = 4  # at once
ROUNDS = 10  # per client and protocol
MEDIUM = noise(200_000, seed=1)  # large enough to be mapped


@pytest.fixture(params=PAIRS, ids=name_of)
def pair(request):
    return request.param


def start(pair, tls, *arguments):
    return Server(*arguments, pair=pair, tls=tls, workers=WORKERS, pool_threads=POOL_THREADS)


def place_files(server):
    (server.root / "large").write_bytes(CONTENT)
    (server.root / "medium").write_bytes(MEDIUM)
    (server.root / "small").write_bytes(b"small")


# --- load ----------------------------------------------------------------------------------------


def visit(server, protocol, name):
    """One client's requests, including aborted ones."""
    assert fetch(server, protocol, "/small").body == b"small"
    assert fetch(server, protocol, "/medium").body == MEDIUM
    assert fetch(server, protocol, "/absent").status == 404
    stored = fetch(server, protocol, "/files", "POST", [form_type()], form((name, MEDIUM)))
    assert stored.status == 201
    assert (server.uploads / name).read_bytes() == MEDIUM
    (server.uploads / name).unlink()
    Download(server, protocol).connection.reset()
    Download(server, protocol).connection.close()
    with protocol.connect(server) as connection:
        begin_upload(connection, protocol, form((f"half {name}", CONTENT)))
        connection.reset()
    several_requests(server, protocol)


def several_requests(server, protocol):
    """Makes several requests on one connection; over HTTP/2 concurrently, and one is reset."""
    with protocol.connect(server) as connection:
        if protocol.http2:
            streams = [connection.request("GET", "/medium") for _ in range(5)]
            connection.reset_stream(streams.pop())
            assert [connection.answer(stream).body == MEDIUM for stream in streams] == [True] * 4
        else:
            for _ in range(5):
                connection.request("GET", "/medium")
                assert connection.answer().body == MEDIUM


def load(server, rounds):
    """Runs CLIENTS * rounds visits over each protocol, CLIENTS at a time."""
    protocols = [protocol for protocol in PROTOCOLS if protocol.tls == server.tls]
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        visits = [clients.submit(visit, server, protocol, f"{protocol.name}-{number}")
                  for number in range(CLIENTS * rounds) for protocol in protocols]
        for done in visits:
            done.result()


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_load_leaves_nothing(pair, tls):
    with start(pair, tls) as server:
        place_files(server)
        load(server, rounds=2)
        # Each worker may keep the two larger files and a spare descriptor open.
        base = Base(server, files_kept=3 + pair.threads(WORKERS, POOL_THREADS))
        load(server, ROUNDS)
        base.check()


# --- the end -------------------------------------------------------------------------------------

# Longer than a test waits: what ends before has not waited for the drain's limit.
LONG_DRAIN = "--drain-timeout=10m"


def gone(server):
    """Returns true if no process of the server's group is left, not even a zombie."""
    return processes.members(server.pid) == [] and processes.zombies(server.pid) == []


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_drains_a_download_to_its_end(pair, protocol):
    with start(pair, protocol.tls, LONG_DRAIN) as server:
        place_files(server)
        idle = [silent(server, protocol) for _ in range(2)]
        downloads = [Download(server, protocol) for _ in range(3)]
        server.signal()
        wait_until(lambda: not server.accepts(), "new connections are refused")
        assert server.running
        for download in downloads:
            whole = download.finish() == CONTENT
            assert whole
            download.connection.close()
        assert server.ends()
        wait_until(lambda: gone(server), "all of its processes are gone")
        for connection in idle:
            connection.close()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_second_signal_leaves_nothing(pair, protocol):
    """Downloads and uploads in flight are cut off."""
    with start(pair, protocol.tls, LONG_DRAIN) as server:
        place_files(server)
        downloads = [Download(server, protocol) for _ in range(2)]
        upload = protocol.connect(server)
        begin_upload(upload, protocol, form(("a", CONTENT)))
        wait_until(server.temporary_files, "the upload is under way")
        server.signal(signal.SIGTERM)
        wait_until(lambda: not server.accepts(), "new connections are refused")
        assert server.running
        server.signal(signal.SIGTERM)
        assert server.ends()
        wait_until(lambda: gone(server), "all of its processes are gone")
        assert server.temporary_files() == []
        for connection in [*(download.connection for download in downloads), upload]:
            connection.close()
