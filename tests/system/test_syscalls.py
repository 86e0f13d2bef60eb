"""How many system calls a thousand requests on one connection cost, counted by strace."""

import dataclasses
import os
import re
import signal
import subprocess

import pytest

from support import pairs, waiting
from support.environment import not_sanitized, tool
from support.protocols import name_of
from support.server import Server

pytestmark = not_sanitized

REQUESTS = 1000
BODY = b"x" * 158


@dataclasses.dataclass(frozen=True)
class Row:
    """Bounds for REQUESTS requests: what was measured, and about half of it again, since strace
    slows the server down, which then finds more or less at a time."""

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
    # 33 each, for requests that come 32 at a time
    Row("http1", False, PIPELINED, 50, 50, 50, 150),
    Row("http1-tls", True, PIPELINED, 53, 53, 50, 170),
    # 10 to 14: ten at least, for requests that come 100 at a time
    Row("http2", False, STREAMS, 25, 25, 25, 80),
    Row("http2-tls", True, STREAMS, 30, 30, 30, 110),
    # 66 and 23: io_uring receives and sends within its waits
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
        run_load(server, row)  # the file is known, memory is at hand
        counts = traced(server.pid, tmp_path / "counts", lambda: run_load(server, row))
    message = f"{counts}"
    assert of(counts, WAITS) <= row.waits_max, message
    assert of(counts, RECEIVES) <= row.receives_max, message
    assert of(counts, SENDS) <= row.sends_max, message
    assert sum(counts.values()) <= row.total_max, message


def of(counts, names):
    return sum(counts.get(name, 0) for name in names)


def run_load(server, row):
    done = subprocess.run([tool("h2load"), "-n", str(REQUESTS), "-c", "1", *row.load,
                           server.url + "small"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert f"{REQUESTS} succeeded" in done.stdout, done.stdout + done.stderr


def traced(pid, summary, action):
    """{system call: how often} while `action` runs."""
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
