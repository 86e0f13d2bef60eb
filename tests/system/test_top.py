"""h2server top: on a terminal, once, and against an admin listener."""

import contextlib
import fcntl
import http.server
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from support.environment import BINARY, LAST_RESORT_S
from support.http1 import Connection
from support.server import Server
from support.waiting import wait_until

ENTER = b"\x1b[?1049h"
LEAVE = b"\x1b[?1049l"


class Admin:
    """An admin listener whose status is `status`."""

    def __init__(self):
        self.status = {
            "version": "1.2.3", "pid": 7, "uptime_s": 60,
            "connections": [
                {"client": f"192.0.2.{number}", "age_s": number, "requests": 100 - number}
                for number in range(50)],
        }
        admin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802, http.server's name
                body = json.dumps(admin.status).encode()
                self.send_response(200 if self.path == "/-/status.json" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


class Terminal:
    """h2server top on a pseudo-terminal."""

    def __init__(self, address, rows=40, environment=None):
        self.seen = b""
        self.all = b""
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self._master, self._slave = pty.openpty()
        self.resize(rows, 120)
        self.modes = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            [BINARY, "top", "--admin", address], stdin=self._slave, stdout=self._slave,
            stderr=self._slave, env={**inherited, "TERM": "xterm", **(environment or {})},
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self._master], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                data = os.read(self._master, 65536)
                self.seen += data
                self.all += data
                continue
            return

    def shows(self, text):
        """Waits for a text, and forgets what came before it."""
        def found():
            self.read()
            return text.encode() in self.seen
        wait_until(found, f"the terminal shows {text!r}")
        self.seen = self.seen.partition(text.encode())[2]

    def press(self, keys):
        os.write(self._master, keys.encode())

    def ends(self, status):
        """Waits for the end, after which the terminal must be as it was."""
        wait_until(lambda: self.process.poll() is not None, "it ends")
        self.read()
        assert self.process.returncode == status
        assert self.seen.rstrip().endswith(LEAVE)
        assert termios.tcgetattr(self._slave) == self.modes


@pytest.fixture
def admin():
    with Admin() as running:
        yield running


def top(*arguments):
    return subprocess.run([BINARY, "top", *arguments], capture_output=True, text=True, check=False,
                          timeout=LAST_RESORT_S)


def test_keys(admin):
    with Terminal(admin.address) as terminal:
        terminal.shows(ENTER.decode())
        terminal.shows("192.0.2.49")  # the oldest
        terminal.shows("sorts by")
        terminal.press("s")
        terminal.shows("192.0.2.0 ")  # the one with the most requests
        terminal.press("\x1b[F")
        terminal.shows("192.0.2.49")
        terminal.press("q")
        terminal.ends(0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_restore_the_terminal(admin, number):
    with Terminal(admin.address) as terminal:
        terminal.shows("1.2.3")
        terminal.process.send_signal(number)
        terminal.ends(-number)


def test_stops_and_goes_on(admin):
    with Terminal(admin.address) as terminal:
        terminal.shows("1.2.3")
        terminal.press("\x1a")  # Ctrl-Z
        terminal.shows(LEAVE.decode())
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows(ENTER.decode())
        terminal.shows("1.2.3")
        terminal.press("q")
        terminal.ends(0)


def test_resize(admin):
    with Terminal(admin.address) as terminal:
        terminal.shows("1.2.3")
        terminal.resize(60, 200)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.shows("\x1b[2J")
        terminal.shows("Requests by duration")  # for which there is room now


def test_server_that_goes_and_comes(admin):
    with Terminal(admin.address) as terminal:
        terminal.shows("live")
        admin.stop()
        terminal.shows("no connection")
        terminal.shows("Connection refused")
        terminal.press("q")
        terminal.ends(0)


def test_hostile_status(admin):
    admin.status["paths"] = [{"path": "/\x1b]0;owned\x07", "count": 1}]
    with Terminal(admin.address) as terminal:
        terminal.shows("/%1B]0;owned%07")
    assert "\x1b" not in top("--admin", admin.address, "--once").stdout


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}], ids=["colour", "no-colour"])
def test_colours(admin, environment):
    with Terminal(admin.address, environment=environment) as terminal:
        terminal.shows("sorts by")
        terminal.press("q")
        terminal.ends(0)
        assert (b"\x1b[0m" in terminal.all) == (not environment)


def test_status_that_is_none(admin):
    with Terminal(admin.address) as terminal:
        terminal.shows("1.2.3")
        admin.status = None
        terminal.shows("no status of h2server")
        terminal.press("q")
        terminal.ends(0)


def test_of_a_real_server(tmp_path):
    address = f"unix:{tmp_path}/admin"
    with Server("--admin", address) as server, Connection(server) as client:
        for _ in range(3):
            client.request("GET", "/")
            client.answer()
        # The history has whole seconds only.
        until = time.monotonic() + LAST_RESORT_S
        while True:
            done = top("--once", "--admin", address)
            assert done.returncode == 0 and done.stderr == ""
            if "requests 3 " in done.stdout or time.monotonic() > until:
                break
        assert "requests 3 " in done.stdout
        assert f"process {server.pid} " in done.stdout
        assert "127.0.0.1" in done.stdout
