"""Every pair of scheme and engine: command line, content, request limits, and crash isolation."""

import os
import re
import signal
import subprocess

import pytest

from support import pairs
from support.answer import Broken
from support.contents import form, form_type, noise
from support.environment import BINARY, LAST_RESORT_S, SANITIZER
from support.http1 import get
from support.pairs import ALL, PAIRS, SCHEMES, Pair
from support.processes import children, members, zombies
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.transfers import CONTENT
from support.waiting import wait_until

MEDIUM = noise(300_000)


@pytest.fixture(params=PAIRS, ids=name_of)
def pair(request):
    return request.param


def place_files(server):
    (server.root / "large").write_bytes(CONTENT)
    (server.root / "small").write_bytes(b"small")


# --- the command line ----------------------------------------------------------------------------


def run(root, *arguments):
    return subprocess.run([BINARY, "--h2c", "--port", "0", "--root", root, *arguments],
                          capture_output=True, text=True, timeout=LAST_RESORT_S, check=False,
                          stdin=subprocess.DEVNULL)


def test_table(tmp_path):
    """One line per scheme, which names its engines."""
    done = run(tmp_path, "--scheme", "help")
    assert (done.returncode, done.stderr) == (0, "")
    for scheme in SCHEMES:
        [line] = re.findall(rf"^ *{scheme}\b.*$", done.stdout, re.MULTILINE)
        for pair in ALL:
            if pair.scheme == scheme:
                assert pair.io in line, line


def engine_line(server):
    [line] = re.findall(r"^  engine .*$", server.stdout, re.MULTILINE)
    return line


def test_the_engine_is_named(pair):
    with Server(pair=pair) as server:
        assert re.match(rf"  engine +{pair.io}\b", engine_line(server))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("io", [[], ["--io", "auto"]], ids=["default", "auto"])
def test_an_engine_is_found(scheme, io):
    with Server("--scheme", scheme, *io) as server:
        found = re.match(r"  engine +(\w+)\b", engine_line(server))
        assert Pair(scheme, found[1]) in ALL
        assert fetch(server, PROTOCOLS[0], "/absent").status == 404


# --- what is served and stored -------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_bytes(pair, protocol):
    with Server(pair=pair, tls=protocol.tls, workers=2) as server:
        place_files(server)
        large = fetch(server, protocol, "/large").body == CONTENT
        assert large
        assert fetch(server, protocol, "/small").body == b"small"
        assert fetch(server, protocol, "/large", "HEAD").field("content-length") == "5000000"
        part = fetch(server, protocol, "/large", fields=[("range", "bytes=4000000-4099999")])
        assert (part.status, part.body == CONTENT[4_000_000:4_100_000]) == (206, True)
        assert fetch(server, protocol, "/absent").status == 404
        body = form(("a.bin", CONTENT), ("b.bin", MEDIUM))
        assert fetch(server, protocol, "/files", "POST", [form_type()], body).status == 201
        for name, content in (("a.bin", CONTENT), ("b.bin", MEDIUM)):
            stored = (server.uploads / name).read_bytes() == content
            assert stored
        again = fetch(server, protocol, "/files/a.bin").body == CONTENT
        assert again


# --- --requests-per-connection -------------------------------------------------------------------

REQUESTS = 3


@pytest.fixture
def of_few_requests(pair, request):
    with Server("--requests-per-connection", f"{REQUESTS}", pair=pair, workers=2,
                tls=request.param.tls) as server:
        place_files(server)
        yield server, request.param


over_http1 = pytest.mark.parametrize("of_few_requests", PROTOCOLS[:2], ids=name_of, indirect=True)
over_http2 = pytest.mark.parametrize("of_few_requests", PROTOCOLS[2:], ids=name_of, indirect=True)


@over_http1
def test_the_last_answer_says_so(of_few_requests):
    server, protocol = of_few_requests
    for _ in range(2):
        with protocol.connect(server) as connection:
            for number in range(1, REQUESTS + 1):
                connection.request("GET", "/small")
                answer = connection.answer()
                assert answer.body == b"small"
                assert (answer.field("connection") == "close") == (number == REQUESTS)
            assert connection.closed()


@over_http1
def test_requests_beyond_are_not_served(of_few_requests):
    """They arrive together with the others, pipelined."""
    server, protocol = of_few_requests
    with protocol.connect(server) as connection:
        connection.send(get("/small") * (REQUESTS + 2))
        answers = [connection.answer() for _ in range(REQUESTS)]
        assert [answer.body for answer in answers] == [b"small"] * REQUESTS
        assert answers[-1].field("connection") == "close"
        assert connection.closed()


@over_http1
def test_the_last_may_be_an_upload(of_few_requests):
    server, protocol = of_few_requests
    with protocol.connect(server) as connection:
        for _ in range(REQUESTS - 1):
            connection.request("GET", "/small")
            connection.answer()
        connection.request("POST", "/files", [form_type()], form(("a", MEDIUM)))
        answer = connection.answer()
        assert (answer.status, answer.field("connection")) == (201, "close")
        assert connection.closed()
    assert (server.uploads / "a").read_bytes() == MEDIUM


@over_http2
def test_streams_beyond_are_not_served(of_few_requests):
    server, protocol = of_few_requests
    with protocol.connect(server) as connection:
        streams = [connection.request("GET", "/small", now=False) for _ in range(REQUESTS + 2)]
        connection.run_to_end()
        assert [stream.body for stream in streams[:REQUESTS]] == [b"small"] * REQUESTS
        assert [stream.status for stream in streams[REQUESTS:]] == [None] * 2
        assert connection.goaways[-1] == (0, streams[REQUESTS - 1].number)
    assert fetch(server, protocol, "/small").body == b"small"


@over_http2
def test_streams_that_have_begun_are_finished(of_few_requests):
    server, protocol = of_few_requests
    with protocol.connect(server) as connection:
        download = connection.request("GET", "/large")
        connection.run_until(lambda: download.received > 0, "its first bytes")
        upload = connection.request("POST", "/files", [form_type()], form(("a", CONTENT)))
        last = connection.request("GET", "/small")
        assert connection.answer(last).body == b"small"
        assert connection.answer(upload).status == 201
        whole = connection.answer(download).body == CONTENT
        assert whole
        connection.run_to_end()
        assert connection.goaways[-1] == (0, last.number)
    stored = (server.uploads / "a").read_bytes() == CONTENT
    assert stored


# --- process-per-connection: a crash affects one connection --------------------------------------

forking = pytest.mark.parametrize("pair", pairs.of_kind(lambda pair: pair.forks), ids=name_of)


class Visitor:
    """A connection and the process that was forked for it."""

    def __init__(self, server, protocol):
        before = set(members(server.pid))
        self._http2 = protocol.http2
        self.connection = protocol.connect(server)
        self.ask()
        [self.child] = set(members(server.pid)) - before

    def ask(self):
        if self._http2:
            answer = self.connection.answer(self.connection.request("GET", "/small"))
        else:
            self.connection.request("GET", "/small")
            answer = self.connection.answer()
        assert answer.body == b"small"


# A sanitizer would report the other signals.
CRASHES = [signal.SIGKILL] if SANITIZER else [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL]


@forking
@pytest.mark.parametrize("number", CRASHES)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_a_crash_is_isolated(pair, protocol, number):
    with Server(pair=pair, tls=protocol.tls, quiet=False) as server:
        place_files(server)
        base = members(server.pid)
        visitors = [Visitor(server, protocol) for _ in range(3)]
        os.kill(visitors[0].child, number)
        with pytest.raises(Broken):
            visitors[0].ask()
        visitors[1].ask()
        visitors.append(Visitor(server, protocol))
        for visitor in visitors[1:]:
            visitor.ask()
        for visitor in visitors:
            visitor.connection.close()
        wait_until(lambda: members(server.pid) == base, "their processes have ended")
        wait_until(lambda: zombies(server.pid) == [], "somebody has waited for them")


@forking
@pytest.mark.parametrize("victim, status", [("main", -signal.SIGKILL), ("listening", 1)])
@pytest.mark.parametrize("protocol", PROTOCOLS[1:3], ids=name_of)
def test_no_process_outlives_the_others(pair, protocol, victim, status):
    """Without the main process nothing could stop the others. Without the listening process there
    is no server."""
    with Server(pair=pair, tls=protocol.tls, quiet=False) as server:
        place_files(server)
        visitors = [Visitor(server, protocol) for _ in range(3)]
        [listening] = children(server.pid, server.pid)
        os.kill(server.pid if victim == "main" else listening, signal.SIGKILL)
        server.status = status
        wait_until(lambda: not server.running, "the main process ends")
        wait_until(lambda: members(server.pid) == [], "the others end")
        for visitor in visitors:
            visitor.connection.close()
