"""What load balancers ask before they send requests, and a stop that gives them time to notice."""

import signal
import time

import pytest

from support.configured import CLEARTEXT, Configured, free_port
from support.named import fetch
from support.waiting import wait_until

PAGE = {"www/a.txt": "a"}


class Watched(Configured):
    def __init__(self, *lines):
        self.admin = free_port()
        text = "".join(f"{line}\n" for line in lines)
        super().__init__(f'{CLEARTEXT}admin = "127.0.0.1:{self.admin}"\n{text}'
                         '[[site]]\nroot = "www"\n', PAGE, quiet=False)

    def asked(self, path):
        answer = fetch(self.admin, "10.0.0.1", path)
        return answer.status, answer.body

    def page(self):
        return fetch(self.port, "any.example", "/a.txt").status


def test_it_is_healthy_and_ready():
    with Watched('admin-token = "t"') as server:
        assert server.asked("/-/healthy") == (200, b"healthy\n")
        assert server.asked("/-/ready") == (200, b"ready\n")
        assert server.asked("/-/status")[0] == 401, "all else needs the token"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_goes_on_until_load_balancers_have_noticed(number):
    with Watched('shutdown-delay = "1h"') as server:
        server.signal(number)
        wait_until(lambda: server.asked("/-/ready") == (503, b"ending\n"), "it is not ready")
        assert server.asked("/-/healthy")[0] == 200
        assert server.page() == 200, "new connections are still served"
        server.signal(signal.SIGHUP)  # changes nothing now
        server.signal(number)
        assert server.ends()
        assert "stops in 1h" in server.stderr
        assert "read anew" not in server.stderr


def test_it_ends_when_the_time_is_over():
    with Watched('shutdown-delay = "1500ms"') as server:
        began = time.monotonic()
        server.signal()
        assert server.ends()
        assert time.monotonic() - began >= 1.5
        assert "stops in 1500ms" in server.stderr
