"""Large transfers: content, memory use, and fairness between streams of a connection."""

import json
import subprocess

import pytest

from support import http2, named, pairs
from support.contents import form, form_type, noise, sha256_of_file, write_noise
from support.environment import SANITIZER, tool
from support.processes import MemoryWatch
from support.protocols import PROTOCOLS, name_of
from support.server import Server

MB = 1_000_000
LARGE = 100 * MB
GROWTH_MAX = 16 * MB  # of anonymous memory, during a transfer
STREAMS = 100
SHARE_MIN = 0.8  # of each stream's bytes, when the first stream completes
BUFFER = 384 * 1024  # of an upload, on average; 64 of them may have 1 MiB, while the disk is slow
UNREAD_MAX = 32 * 1024 * 1024  # connection window of HTTP/2, which a slow disk may leave unread


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """A file of 100 MB and its SHA-256."""
    file = tmp_path_factory.mktemp("large") / "large.bin"
    digest = write_noise(file, LARGE)
    yield file, digest
    file.unlink()


def curl(protocol, *arguments):
    done = subprocess.run([tool("curl"), "-sS", "-k", protocol.curl, *arguments],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_growth(watch, most=GROWTH_MAX):
    # A sanitizer keeps freed memory, to detect use after free.
    assert SANITIZER or watch.growth < most, f"{watch.growth / MB:.1f} MB more"


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_download(protocol, large_file, tmp_path):
    source, digest = large_file
    with Server(tls=protocol.tls) as server:
        (server.root / "large.bin").hardlink_to(source)
        with MemoryWatch(server.pid) as watch:
            version = curl(protocol, "-o", tmp_path / "copy", "-w", "%{http_version}",
                           server.url + "large.bin")
        assert version == ("2" if protocol.http2 else "1.1")
        assert sha256_of_file(tmp_path / "copy") == digest
        check_growth(watch)
    (tmp_path / "copy").unlink()


@pytest.mark.parametrize("pair", pairs.PAIRS, ids=name_of)
def test_download_by_sendfile(pair, large_file, tmp_path):
    source, digest = large_file
    with Server("--sendfile", pair=pair) as server:
        (server.root / "large.bin").hardlink_to(source)
        curl(PROTOCOLS[0], "-o", tmp_path / "copy", server.url + "large.bin")
        assert sha256_of_file(tmp_path / "copy") == digest
        part = curl(PROTOCOLS[0], "-r", "20000001-60000000", "-o", tmp_path / "copy", "-w",
                    "%{http_code}", server.url + "large.bin")
        assert part == "206"
        assert (tmp_path / "copy").read_bytes() == source.read_bytes()[20_000_001:60_000_001]
    (tmp_path / "copy").unlink()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_upload(protocol, large_file):
    source, digest = large_file
    with Server(tls=protocol.tls) as server:
        with MemoryWatch(server.pid) as watch:
            answer = curl(protocol, "-F", f"file=@{source}", server.url + "files")
        assert json.loads(answer) == [{"name": "large.bin", "size": LARGE, "sha256": digest}]
        assert sha256_of_file(server.uploads / "large.bin") == digest
        check_growth(watch, GROWTH_MAX + UNREAD_MAX if protocol.http2 else GROWTH_MAX)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_slow_reader_takes_no_memory(protocol, large_file):
    """Data that a client does not read is not buffered in memory."""
    source, _ = large_file
    with Server(tls=protocol.tls) as server, MemoryWatch(server.pid) as watch:
        (server.root / "large.bin").hardlink_to(source)
        readers = [begin_to_read(protocol, server) for _ in range(20)]
        for reader in readers:
            reader.close()
    check_growth(watch)


def begin_to_read(protocol, server):
    """Returns a connection with wide windows that has read only the start of the file."""
    if not protocol.http2:
        connection = protocol.connect(server, receive_buffer=4096)
        connection.request("GET", "/large.bin")
        connection.take(100_000)
        return connection
    connection = protocol.connect(server, receive_buffer=4096, settings=http2.WIDE_WINDOWS)
    connection.protocol.increment_flow_control_window(1 << 28)
    stream = connection.request("GET", "/large.bin")
    connection.run_until(lambda: stream.received > 100_000, "some of the file")
    return connection


# --- one hundred streams of one connection -------------------------------------------------------


@pytest.mark.parametrize("settings", [None, http2.WIDE_WINDOWS], ids=["usual", "wide"])
@pytest.mark.parametrize("pair", pairs.USUAL, ids=name_of)
@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_streams_share_a_download(protocol, pair, settings):
    with Server(pair=pair, tls=protocol.tls) as server:
        contents = [noise(MB, seed) for seed in range(STREAMS)]
        for number, content in enumerate(contents):
            (server.root / f"{number}").write_bytes(content)
        with protocol.connect(server, reading=False, settings=settings) as connection:
            streams = [connection.request("GET", f"/{number}", now=False)
                       for number in range(STREAMS)]
            # So that none is ahead because the server has opened its file sooner.
            connection.run_until(lambda: all(stream.status for stream in streams), "all heads")
            if settings:
                connection.protocol.increment_flow_control_window(1 << 28)
            connection.read_on()
            connection.run_until(lambda: any(stream.ended for stream in streams), "the first")
            shares = [stream.received / MB for stream in streams]
            assert min(shares) >= SHARE_MIN, sorted(shares)
            for stream, content in zip(streams, contents):
                same = connection.answer(stream).body == content
                assert same, stream.number


# Not with a process for each connection, where nobody can tell what has been received.
@pytest.mark.parametrize("pair", pairs.of_kind(lambda pair: not pair.forks, pairs.USUAL), ids=name_of)
@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_streams_share_an_upload(protocol, pair, tmp_path):
    """The client sends one frame of each stream in turn, as the server opens the windows."""
    admin = tmp_path / "admin"
    with Server("--admin", f"unix:{admin}", pair=pair, tls=protocol.tls) as server:
        contents = {f"{number:03}": noise(MB, seed=number) for number in range(STREAMS)}
        with protocol.connect(server) as connection, MemoryWatch(server.pid) as watch:
            streams = [connection.request("POST", "/files", [form_type()], form((name, content)),
                                          now=False) for name, content in contents.items()]
            connection.run_until(lambda: any(stream.ended for stream in streams), "the first")
            # The files say less: bytes may wait for the next batch that is written.
            shares = [received / MB for received in received_of_uploads(admin)]
            assert min(shares, default=1) >= SHARE_MIN, sorted(shares)
            for stream in streams:
                assert connection.answer(stream).status == 201, stream.number
        check_growth(watch, GROWTH_MAX + STREAMS * BUFFER + UNREAD_MAX)
        for name, content in contents.items():
            same = (server.uploads / name).read_bytes() == content
            assert same, name


def received_of_uploads(admin):
    """Returns the bytes of content that each upload under way has received."""
    status = json.loads(named.fetch(0, "localhost", "/-/status.json", address=str(admin)).body)
    return [upload["received"] for upload in status["uploads"]]


def test_a_stalled_stream_does_not_hold_up_the_others(site_h2):
    """Its window is closed; the other stream's and the connection's windows are open."""
    large = site_h2.place("large", noise(MB))
    small = site_h2.place("small", b"small")
    with site_h2.connect(reading=False) as connection:
        stalled = connection.request("GET", large)
        connection.run_until(lambda: stalled.received == 65_535, "its window is used up")
        connection.protocol.increment_flow_control_window(MB)
        other = connection.request("GET", small)
        assert connection.answer(other).body == b"small"
        connection.take(stalled, MB)
        assert connection.answer(stalled).body == noise(MB)
