"""More simultaneous connections than an engine has buffers or ring entries."""

import signal

import pytest

from support.http1 import get
from support.pairs import of_kind
from support.protocols import name_of
from support.server import Server
from support.sockets import connect

CONNECTIONS = 1500  # more than the 1024 entries of io_uring's submission queue
PAGE = b"burst" * 20


@pytest.fixture(params=of_kind(lambda pair: not pair.blocking), ids=name_of)
def server(request):
    # The acceptor spreads the connections over two workers.
    workers = 2 if request.param.scheme == "acceptor" else 1
    with Server(pair=request.param, workers=workers) as started:
        (started.root / "page").write_bytes(PAGE)
        yield started


def test_all_that_ask_while_the_server_sleeps_are_answered(server):
    server.signal(signal.SIGSTOP)
    clients = [connect(server) for _ in range(CONNECTIONS)]
    for client in clients:
        client.sendall(get("/page", "Connection: close"))
    server.signal(signal.SIGCONT)
    for client in clients:
        received = b""
        while piece := client.recv(65536):
            received += piece
        client.close()
        assert received.endswith(PAGE)
