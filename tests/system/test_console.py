"""The program on a terminal: a line for each request, keys, the QR code."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from support.environment import BINARY
from support.protocols import PROTOCOLS, fetch
from support.contents import form, form_type
from support.waiting import wait_until

PLAIN = PROTOCOLS[0]


class Terminal:
    """The program on a pseudo-terminal, in place of Server's files."""

    def __init__(self, folder, *arguments, rows=60, environment=None):
        self.root = folder
        self.seen = b""
        self.tls = False
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 120, 0, 0))
        self.process = subprocess.Popen(
            [BINARY, "--h2c", "-p", "0", folder, *arguments], stdin=slave, stdout=slave,
            stderr=slave, env={**inherited, "TERM": "xterm", **(environment or {})},
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(slave)
        try:
            self.shows("Ctrl-C stops")
        except BaseException:
            self.close()
            raise
        self.port = int(re.search(rb"localhost:(\d+)/", self.seen)[1])

    def read(self):
        while select.select([self._master], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                self.seen += os.read(self._master, 65536)
                continue
            return

    def shows(self, text):
        def found():
            self.read()
            return text.encode() in self.seen
        wait_until(found, f"the terminal shows {text!r}")

    def press(self, keys):
        os.write(self._master, keys.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path):
    terminals = []

    def make(*arguments, **options):
        root = tmp_path / f"root{len(terminals)}"
        root.mkdir()
        (root / "a.txt").write_bytes(b"text")
        terminals.append(Terminal(root, *arguments, **options))
        return terminals[-1]

    yield make
    for one in terminals:
        one.close()


def test_lines_of_requests(terminal):
    shown = terminal()
    fetch(shown, PLAIN, "/a.txt")
    fetch(shown, PLAIN, "/gone?x=1")
    shown.shows("\x1b[32m200\x1b[0m  GET /a.txt  127.0.0.1")
    shown.shows("\x1b[33m404\x1b[0m  GET /gone?x=1  127.0.0.1")


def test_many_requests_are_counted(terminal):
    """Each worker has 20 lines for a second. Behind that, it tells how many more there were."""
    shown = terminal()
    asked = 0

    def ask(times):
        nonlocal asked
        for _ in range(times):
            fetch(shown, PLAIN, "/a.txt")
        asked += times

    def told():
        shown.read()
        others = re.findall(rb"and (\d+) more\r\n", shown.seen)
        return shown.seen.count(b"GET /a.txt") + sum(map(int, others))

    def all_are_told():
        if told() == asked:
            return True
        ask(1)
        time.sleep(0.2)  # few enough for all lines to be printed
        return False

    ask(60)
    wait_until(all_are_told, "all are printed or counted")


def test_without_colours(terminal):
    shown = terminal(environment={"NO_COLOR": "1"})
    fetch(shown, PLAIN, "/a.txt")
    shown.shows("  200  GET /a.txt")


def test_no_console_beside_a_process_per_connection(terminal):
    """Their requests and switches would be those of other processes."""
    shown = terminal("--scheme", "process-per-connection")
    assert fetch(shown, PLAIN, "/a.txt").status == 200
    shown.process.terminate()
    wait_until(lambda: (shown.read(), shown.process.poll() is not None)[1], "the end")
    assert b"QR code" not in shown.seen and b"GET /a.txt" not in shown.seen


def test_keys(terminal, tmp_path):
    shown = terminal("--upload-dir", str(tmp_path / "uploads"))
    upload = [PLAIN, "/files", "POST", [form_type()], form(("a", b"x"))]
    shown.press("u")
    shown.shows("uploads are off")
    assert fetch(shown, *upload).status == 403
    shown.press("u")
    shown.shows("uploads are on")
    assert fetch(shown, *upload).status == 201
    shown.press("s")
    shown.shows("worker 1: ")
    shown.press("x")
    shown.shows("keys: q QR code, s statistics, u uploads on or off, Ctrl-C stops")
    before = shown.seen.count("\u2580".encode())
    shown.press("q")
    wait_until(lambda: (shown.read(), shown.seen.count("\u2580".encode()) > before)[1], "a QR code")


def test_no_uploads_to_switch(terminal):
    shown = terminal()
    shown.press("u")
    shown.shows("start with --upload-dir")


def test_terminal_that_nobody_reads(terminal):
    shown = terminal()
    for _ in range(100):
        shown.press("q")
    time.sleep(0.5)
    shown.process.terminate()
    wait_until(lambda: shown.process.poll() is not None, "the end")
    assert shown.process.returncode == 0


def test_interrupt(terminal):
    """Ctrl-C stops it, and the terminal is as before."""
    shown = terminal()
    changed = termios.ECHO | termios.ICANON

    def mode():
        return termios.tcgetattr(shown._master)[3] & changed

    wait_until(lambda: mode() == 0, "keys are read at once")
    shown.press("\x03")
    wait_until(lambda: (shown.read(), shown.process.poll() is not None)[1], "the end")
    assert shown.process.returncode == 0
    assert mode() == changed
