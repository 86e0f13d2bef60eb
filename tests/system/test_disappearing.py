"""Clients that vanish, in each state of a connection and in each way: others are still served, and
the vanished clients' resources are released."""

import os
import signal
import socket

import pytest

from support import sockets
from support.census import Base
from support.contents import form, form_type
from support.pairs import PAIRS
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.transfers import CONTENT, STATES, in_download, in_upload, silent
from support.waiting import wait_until

CLIENTS = 6  # vanish at once
WORKERS = 2
POOL_THREADS = 8  # for the clients, a bystander and a newcomer


@pytest.fixture(scope="module", params=PAIRS, ids=name_of)
def pair(request):
    return request.param


@pytest.fixture(scope="module", params=[False, True], ids=["cleartext", "tls"])
def crowd(request, pair):
    with Server(pair=pair, workers=WORKERS, pool_threads=POOL_THREADS,
                tls=request.param) as server:
        yield Crowd(server, pair.threads(WORKERS, POOL_THREADS))


class Crowd:
    """A server that has its files cached, and its census before any client vanishes."""

    def __init__(self, server, workers):
        self.server = server
        (server.root / "large").write_bytes(CONTENT)
        (server.root / "small").write_bytes(b"small")
        for protocol in self.protocols:
            for _ in range(2 * workers + 1):
                assert fetch(server, protocol, "/large").body == CONTENT
        # Each worker may keep the large file and a spare descriptor open.
        self.base = Base(server, files_kept=2 + workers)

    @property
    def protocols(self):
        return [protocol for protocol in PROTOCOLS if protocol.tls == self.server.tls]


class Bystander:
    """A client that stays connected and must not be affected."""

    def __init__(self, server, protocol):
        self._http2 = protocol.http2
        self.connection = protocol.connect(server)

    def check(self):
        if self._http2:
            answer = self.connection.answer(self.connection.request("GET", "/small"))
        else:
            self.connection.request("GET", "/small")
            answer = self.connection.answer()
        assert answer.body == b"small"


# --- the ways to vanish --------------------------------------------------------------------------


def close(connections):
    for connection in connections:
        connection.close()


def reset(connections):
    for connection in connections:
        sockets.reset(connection)


def half_close(connections):
    """Sends FIN. The client could still read, but does not."""
    for connection in connections:
        connection.shutdown(socket.SHUT_WR)


def kill(connections):
    """A child process gets the connections and is killed with SIGKILL."""
    client = os.fork()
    if client == 0:
        while True:
            signal.pause()
    close(connections)
    os.kill(client, signal.SIGKILL)
    os.waitpid(client, 0)


# A killed client's kernel closes: only test_uploads_of_the_vanished() kills one.
WAYS = [close, reset, half_close]
# A client that has sent nothing has no protocol yet.
CONVERSATIONS = [(http2, state) for http2 in (False, True) for state in STATES
                 if not (http2 and state is silent)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("http2, state", CONVERSATIONS)
def test_clients_vanish(crowd, http2, state, way):
    protocol = crowd.protocols[http2]
    bystander = Bystander(crowd.server, protocol)
    clients = [state(crowd.server, protocol) for _ in range(CLIENTS)]
    bystander.check()
    way(clients)
    bystander.check()
    check_newcomer(crowd.server, protocol)
    bystander.connection.close()
    if (state, way) == (in_download, half_close):  # the server gives such a reader a minute
        close(clients)
    crowd.base.check()
    close(clients)


def check_newcomer(server, protocol):
    assert fetch(server, protocol, "/small").body == b"small"
    answer = fetch(server, protocol, "/files", "POST", [form_type()], form(("new", b"content")))
    assert answer.status == 201
    assert (server.uploads / "new").read_bytes() == b"content"
    (server.uploads / "new").unlink()


def test_uploads_of_the_vanished(crowd):
    """In the middle of the content, when the temporary files exist."""
    for protocol in crowd.protocols:
        clients = [in_upload(crowd.server, protocol) for _ in range(CLIENTS)]
        wait_until(lambda: len(crowd.server.temporary_files()) == CLIENTS, "all are stored")
        kill(clients)
        crowd.base.check()
