"""Short connections, sequential and concurrent: each is served, and no resource grows.

H2SERVER_CHURN sets their number; ctest's label `churn` runs 20 000 for each pair.
"""

import concurrent.futures
import multiprocessing
import os
import re
import socket
import struct
import subprocess

import pytest

from support.census import Base
from support.contents import noise
from support.environment import LAST_RESORT_S, SANITIZER, tool
from support.http1 import get
from support.pairs import PAIRS
from support.processes import anonymous_bytes
from support.protocols import PROTOCOLS, name_of
from support.server import Server

CONNECTIONS = int(os.environ.get("H2SERVER_CHURN", "1000"))
PORTION = 250  # connections of one client task
CLIENTS = 2
WORKERS = 2
POOL_THREADS = 4
GROWTH_MAX = 4_000_000  # bytes, between the halves: 400 for each of 10 000 connections
PAGE = noise(500)
TIMEOUT_S = LAST_RESORT_S
WITH_RST = struct.pack("ii", 1, 0)

multiprocess = multiprocessing.get_context("spawn")


@pytest.fixture(params=PAIRS, ids=name_of)
def server(request):
    pair = request.param
    with Server(pair=pair, workers=WORKERS, pool_threads=POOL_THREADS) as started:
        (started.root / "page").write_bytes(PAGE)
        started.threads = pair.threads(WORKERS, POOL_THREADS)
        yield started


def one_connection(port, ending):
    """Makes one request. `ending` 0: the server closes, 1: the client resets, 2: it closes."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        connection.sendall(get("/page", *(["Connection: close"] if ending == 0 else [])))
        received = b""
        while not received.endswith(PAGE):
            piece = connection.recv(4096)
            assert piece, received
            received += piece
        assert received.startswith(b"HTTP/1.1 200 ")
        if ending == 0:
            assert connection.recv(1) == b""
        elif ending == 1:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, WITH_RST)


def portion(port):
    for number in range(PORTION):
        one_connection(port, number % 3)
    return PORTION


def churn(server, connections):
    with concurrent.futures.ProcessPoolExecutor(CLIENTS, multiprocess) as clients:
        done = sum(clients.map(portion, [server.port] * (connections // PORTION)))
    assert done == connections


def test_every_connection_is_served(server):
    portion(server.port)  # fills the workers' caches
    base = Base(server, files_kept=1 + server.threads)
    churn(server, CONNECTIONS // 2)
    base.check()
    memory = anonymous_bytes(server.pid)
    churn(server, CONNECTIONS // 2)
    base.check()
    growth = anonymous_bytes(server.pid) - memory
    # A sanitizer keeps freed memory, to detect use after free.
    assert SANITIZER or growth < GROWTH_MAX, f"{growth} bytes more"


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
@pytest.mark.parametrize("protocol", PROTOCOLS[1:], ids=name_of)
def test_handshakes(pair, protocol):
    """Concurrent TLS handshakes or HTTP/2 prefaces, many more than there are workers."""
    with Server(pair=pair, workers=WORKERS, tls=protocol.tls) as server:
        (server.root / "page").write_bytes(PAGE)
        h2load(server, protocol, 20)
        base = Base(server, files_kept=1 + pair.threads(WORKERS))
        for _ in range(max(1, CONNECTIONS // 2000)):
            h2load(server, protocol, 100)
        base.check()


def h2load(server, protocol, connections):
    """Opens `connections` connections at once, each with one request."""
    version = [] if protocol.http2 else ["--h1"]
    done = subprocess.run(
        [tool("h2load"), "-n", str(connections), "-c", str(connections), *version,
         server.url + "page"],
        capture_output=True, text=True, check=False, timeout=LAST_RESORT_S)
    assert done.returncode == 0, done.stderr
    [succeeded] = re.findall(r"(\d+) succeeded, 0 failed, 0 errored, 0 timeout", done.stdout)
    assert int(succeeded) == connections
    assert re.search(rf"status codes: {connections} 2xx", done.stdout), done.stdout
