"""System calls for one thousand requests on one connection, counted by strace."""

import dataclasses
import os
import re
import signal
import subprocess

import pytest

from support import pairs, waiting
from support.environment import LAST_RESORT_S, not_sanitized, tool
from support.protocols import name_of
from support.server import Server

pytestmark = not_sanitized

REQUESTS = 1000
BODY = b"x" * 158


@dataclasses.dataclass(frozen=True)
class Row:
    """Bounds for REQUESTS requests: about 1.5 times the measured counts, because strace slows the
    server down and changes how much it reads at a time."""

    name: str
    tls: bool
    load: tuple  # h2load's options
    waits_max: int
    receives_max: int
    sends_max: int
    total_max: int
    io: str = "epoll"


PIPELINED = ("--h1", "-m", "32")
STREAMS = ("-m", "100")
ROWS = [
    # measured: 33 each, as requests arrive 32 at a time
    Row("http1", False, PIPELINED, 50, 50, 50, 150),
    Row("http1-tls", True, PIPELINED, 53, 53, 50, 170),
    # measured: 10 to 14; at least 10, as requests arrive 100 at a time
    Row("http2", False, STREAMS, 25, 25, 25, 80),
    Row("http2-tls", True, STREAMS, 30, 30, 30, 110),
    # measured: 66 and 23 waits; io_uring receives and sends within them
    Row("http1-io_uring", False, PIPELINED, 100, 5, 5, 110, io="io_uring"),
    Row("http2-io_uring", False, STREAMS, 50, 5, 5, 60, io="io_uring"),
]
WAITS = ("epoll_wait", "epoll_pwait", "io_uring_enter")
RECEIVES = ("recvfrom", "recvmsg", "read")
SENDS = ("sendto", "sendmsg", "write", "writev", "sendfile")


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_calls_of_a_thousand_requests(row, tmp_path):
    if pairs.CHOSEN and pairs.CHOSEN.io != row.io:
        pytest.skip("it is another engine's row")
    pair = pairs.CHOSEN or pairs.Pair("reuseport", row.io)
    with Server(pair=pair, workers=1, tls=row.tls) as server:
        (server.root / "small").write_bytes(BODY)
        run_load(server, row)  # warms up: caches the file, allocates buffers
        counts = traced(server.pid, tmp_path / "counts", lambda: run_load(server, row))
    message = f"{counts}"
    assert of(counts, WAITS) <= row.waits_max, message
    assert of(counts, RECEIVES) <= row.receives_max, message
    assert of(counts, SENDS) <= row.sends_max, message
    assert sum(counts.values()) <= row.total_max, message


def test_a_file_asked_for_again_is_sent_by_sendfile(tmp_path):
    """From its snapshot: see test_snapshots.py."""
    pair = pairs.CHOSEN or pairs.Pair("reuseport", "epoll")
    if pair.forks:
        pytest.skip("each connection's process has a cache of its own")
    row = Row("large", False, ("--h1", "-m", "1"), 0, 0, 0, 0)
    with Server(pair=pair, workers=1) as server:
        (server.root / "small").write_bytes(b"x" * 300_000)
        counts = {}

        def sends_by_sendfile():  # the first sends are of the mapped file
            nonlocal counts
            counts = traced(server.pid, tmp_path / "counts", lambda: run_load(server, row))
            return counts.get("sendfile", 0) >= REQUESTS

        waiting.wait_until(sends_by_sendfile, "it is sent by sendfile")
    message = f"{counts}"
    assert REQUESTS <= counts.get("sendfile", 0) <= 6 * REQUESTS, message
    assert counts.get("fstat", 0) + counts.get("newfstatat", 0) <= 20, message
    # not none: the load that is counted may be the one in which the snapshot is made
    assert counts.get("pread64", 0) <= 20, message


def of(counts, names):
    return sum(counts.get(name, 0) for name in names)


def run_load(server, row):
    done = subprocess.run([tool("h2load"), "-n", str(REQUESTS), "-c", "1", *row.load,
                           server.url + "small"],
                          capture_output=True, text=True, check=False, timeout=LAST_RESORT_S)
    assert f"{REQUESTS} succeeded" in done.stdout, done.stdout + done.stderr


def traced(pid, summary, action):
    """Returns {system call: count} while `action` runs."""
    said = summary.with_suffix(".log")
    with open(said, "w", encoding="utf-8") as log:
        strace = subprocess.Popen([tool("strace"), "-f", "-c", "-p", str(pid), "-o", summary],
                                  stderr=log)
    try:
        waiting.wait_until(lambda: "attached" in said.read_text() or strace.poll() is not None,
                           "strace")
        if strace.poll() is not None:
            pytest.skip(f"strace can't be used here: {said.read_text().strip()[-200:]}")
        action()
    finally:
        if strace.poll() is None:
            os.kill(strace.pid, signal.SIGINT)
        strace.wait()
    return {name: int(calls) for calls, name in re.findall(
        r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", summary.read_text(), re.MULTILINE)
        if name != "total"}
