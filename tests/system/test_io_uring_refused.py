"""A kernel that refuses io_uring, as in many containers: the server uses epoll and prints why,
unless --io io_uring was given. So does each thread if there is no memory for one more."""

import errno
import re
import subprocess
import sys

import pytest

from support.contents import noise
from support.environment import BINARY, CLIENTS, LAST_RESORT_S
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

CONTENT = noise(500_000)
SCHEMES = ["acceptor", "reuseport"]  # the event-driven ones
REFUSALS = [errno.EPERM, errno.ENOSYS]  # a seccomp filter or sysctl; a kernel without it


@pytest.fixture(params=REFUSALS, ids=errno.errorcode.get)
def refusal(request):
    return request.param


def wrapper(refusal):
    """Returns the command prefix that makes io_uring_setup fail with that errno."""
    return [sys.executable, CLIENTS / "without_io_uring.py", str(refusal)]


def refused(server, refusal):
    server.command = [*wrapper(refusal), *server.command]
    return server


def engine_line(server):
    [line] = re.findall(r"^  engine .*$", server.stdout, re.MULTILINE)
    return line


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("io", [[], ["--io", "auto"]], ids=["default", "auto"])
def test_auto_takes_epoll(refusal, scheme, io):
    with refused(Server("--scheme", scheme, *io, workers=2), refusal) as server:
        line = engine_line(server)
        assert re.match(r"  engine +epoll\b.*io_uring", line), line
        (server.root / "file").write_bytes(CONTENT)
        assert fetch(server, PROTOCOLS[0], "/file").body == CONTENT


@pytest.mark.parametrize("protocol", PROTOCOLS[1:], ids=name_of)
def test_serves_on_epoll(refusal, protocol):
    with refused(Server("--scheme", "acceptor", tls=protocol.tls), refusal) as server:
        (server.root / "file").write_bytes(CONTENT)
        assert fetch(server, protocol, "/file").body == CONTENT


@pytest.mark.parametrize("scheme", SCHEMES)
def test_io_uring_is_not_replaced(refusal, scheme, tmp_path):
    done = subprocess.run(
        [*wrapper(refusal), BINARY, "--scheme", scheme, "--io", "io_uring", "--h2c", "-p", "0",
         "--root", tmp_path],
        capture_output=True, text=True, timeout=LAST_RESORT_S, check=False,
        stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"h2server: error: [^\n]*io_uring[^\n]*\n", done.stderr), done.stderr


# A trial of io_uring works, and then other processes of the user take the memory that all may lock.
RINGS_OF_WORKERS = f"{errno.ENOMEM}:1024"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_threads_take_epoll(scheme):
    with refused(Server("--scheme", scheme, workers=2, quiet=False), RINGS_OF_WORKERS) as server:
        assert re.match(r"  engine +io_uring\b", engine_line(server))
        (server.root / "file").write_bytes(CONTENT)
        assert fetch(server, PROTOCOLS[0], "/file").body == CONTENT
        server.wait_for_message("a thread runs on epoll: no memory for another io_uring")


def test_no_memory_for_what_was_asked_for(tmp_path):
    done = subprocess.run([*wrapper(RINGS_OF_WORKERS), BINARY, "--io", "io_uring", "--h2c", "-p", "0",
                           "--root", tmp_path], capture_output=True, text=True, check=False,
                          timeout=LAST_RESORT_S, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "io_uring_setup: Cannot allocate memory" in done.stderr


@pytest.mark.parametrize("scheme", SCHEMES)
def test_epoll_does_not_care(refusal, scheme):
    with refused(Server("--scheme", scheme, "--io", "epoll"), refusal) as server:
        assert re.match(r"  engine +epoll\b", engine_line(server))
        assert fetch(server, PROTOCOLS[0], "/absent").status == 404
