"""Out of memory: the process prints one line and ends."""

import re
import resource

from support.environment import not_sanitized
from support.http1 import Connection
from support.server import Server
from support.waiting import wait_until

ROOM = 1024 * 1024  # bytes of address space that the server may still map


def address_space(pid):
    status = open(f"/proc/{pid}/status", encoding="ascii").read()
    return int(re.search(r"^VmSize:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024


@not_sanitized
def test_ends_with_one_line():
    with Server("--scheme", "reuseport", "--io", "epoll", quiet=False) as server:
        server.status = 1
        most = address_space(server.pid) + ROOM
        server.limit(resource.RLIMIT_AS, most)
        crowd = []
        while server.running:
            try:
                crowd.append(Connection(server))
                crowd[-1].send(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 30_000)  # unfinished
            except OSError:
                break
        wait_until(lambda: not server.running, "the process ends")
        assert server.stderr == "h2server: out of memory\n"
