"""SIGHUP at any time: it opens the logs anew and never ends the program."""

import contextlib
import os
import signal
import socket
import subprocess
import threading

from support import named
from support.configured import CLEARTEXT, Configured
from support.environment import BINARY, LAST_RESORT_S
from support.http1 import Connection, get
from support.server import without_held_turns
from support.waiting import wait_until

SITE = '[[site]]\nroot = "www"\n'
LOGS = 'access-log = "access.log"\nerror-log = "error.log"\n'
FILES = {"www/a.txt": "0123456789"}


class Storm:
    """Sends SIGHUP over and over until the process has ended or the block is left."""

    def __init__(self, process):
        self._process = process
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.sent = 0

    def _run(self):
        while not self._over.is_set() and self._process.poll() is None:
            self._process.send_signal(signal.SIGHUP)
            self.sent += 1

    def wait_for_more(self, count):
        wanted = self.sent + count
        wait_until(lambda: self.sent >= wanted or not self._thread.is_alive(),
                   "signals are sent")
        assert self.sent >= wanted, f"the program ended: {self._process.returncode}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def writer_of(fifo):
    """Returns the writing end of a FIFO once somebody has opened it to read."""
    opened = []

    def is_read():
        with contextlib.suppress(OSError):  # ENXIO
            opened.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read, "it is read")
    return open(opened[0], "wb")


@contextlib.contextmanager
def starting(folder, text):
    """A program that reads its configuration from a FIFO, which is empty. Returns it and a function
    that writes the configuration."""
    (folder / "www").mkdir()
    (folder / "www/a.txt").write_text("0123456789")
    fifo = folder / "site.toml"
    os.mkfifo(fifo)
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen([BINARY, "--config", fifo], cwd=folder, stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL)
    try:
        with writer_of(fifo) as configuration:
            def tell():
                configuration.write(text.encode())
                configuration.close()

            yield process, tell
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def printed(folder):
    return (folder / "stdout").read_text()


def test_while_it_starts_and_stops(tmp_path):
    """From its first lines of code to the last ones."""
    with starting(tmp_path, CLEARTEXT + LOGS + SITE) as (process, tell), Storm(process) as storm:
        storm.wait_for_more(1000)
        tell()
        wait_until(lambda: "http://localhost:" in printed(tmp_path) or process.poll() is not None,
                   "it has started")
        storm.wait_for_more(1000)
        assert process.poll() is None
        process.terminate()
        assert process.wait(LAST_RESORT_S) == 0
    assert without_held_turns((tmp_path / "stderr").read_text()) == ""


def test_after_a_wrong_configuration(tmp_path):
    """The exit status says what is wrong."""
    with starting(tmp_path, "prot = 1\n") as (process, tell), Storm(process) as storm:
        storm.wait_for_more(1000)
        tell()
        assert process.wait(LAST_RESORT_S) == 2
    assert "prot" in (tmp_path / "stderr").read_text()


def begin_large(server):
    """Returns a connection on which the head of a large file has come."""
    with open(server.folder / "www/large", "wb") as file:
        file.truncate(16 << 20)
    connection = Connection(server, receive_buffer=4096)
    connection.send(get("/large"))
    return connection, connection.answer_head()


def test_while_it_drains():
    """The request under way ends well, and so does the program."""
    with Configured(CLEARTEXT + LOGS + SITE, FILES) as server, Storm(server.process) as storm:
        connection, answer = begin_large(server)
        with connection:
            server.signal(signal.SIGTERM)
            wait_until(lambda: not server.accepts(), "it drains")
            storm.wait_for_more(1000)
            assert sum(len(piece) for piece in connection.body_pieces(answer)) == 16 << 20
        server.stop()


def test_behind_the_drain():
    """Spans are still sent after the last request, here to a collector that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        port = collector.getsockname()[1]
        text = (CLEARTEXT + LOGS + f'trace-endpoint = "http://127.0.0.1:{port}/v1/traces"\n'
                + "trace-sample = 1\n" + SITE)
        with Configured(text, FILES, quiet=False) as server:
            assert named.fetch(server.port, "a.test", "/a.txt").status == 200
            collector.settimeout(LAST_RESORT_S)
            post, _ = collector.accept()
            with post, Storm(server.process) as storm:
                server.signal(signal.SIGTERM)
                wait_until(lambda: not server.accepts(), "it drains")
                storm.wait_for_more(1000)
                server.stop()


def test_processes_of_connections():
    """A terminal sends it to all of them."""
    arguments = ["--scheme", "process-per-connection"]
    with Configured(CLEARTEXT + SITE, FILES, arguments=arguments) as server:
        with named.Client(named.plain(server.port)) as client:
            for _ in range(100):
                assert client.fetch("a.test", "/a.txt").status == 200
                os.killpg(server.pid, signal.SIGHUP)
        assert named.fetch(server.port, "a.test", "/a.txt").status == 200
