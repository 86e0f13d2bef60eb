"""An error log that is a FIFO: the program never waits for who reads it, nor ends with it."""

import contextlib
import os
import signal
import subprocess

import pytest

from support import named
from support.configured import CLEARTEXT, Configured
from support.environment import BINARY, LAST_RESORT_S
from support.waiting import wait_until

TEXT = CLEARTEXT + 'error-log = "error.log"\n[[site]]\nroot = "www"\n'
FILES = {"www/a.txt": "a"}


class Reader:
    """The reading end of a FIFO. Its open() does not wait for a writer."""

    def __init__(self, path):
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._bytes = b""

    def close(self):
        os.close(self._descriptor)

    def read(self):
        """Returns all that has been written since this end was opened."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._descriptor, 65536):
                self._bytes += piece
        return self._bytes.decode()


def fill(path):
    """Writes into a FIFO until it has no room for one more byte."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(descriptor, b"\n" * size)
    os.close(descriptor)


class Logging(Configured):
    """A server whose error log is a FIFO with a reader."""

    def __init__(self, **options):
        super().__init__(TEXT, FILES, **options)
        self.log = self.folder / "error.log"
        os.mkfifo(self.log)
        self.reader = Reader(self.log)

    def __exit__(self, *error):
        super().__exit__(*error)
        with contextlib.suppress(OSError):  # closed by the test
            self.reader.close()

    def report(self):
        """Asks for the counters, which are lines of the error log and are never folded."""
        self.signal(signal.SIGUSR1)

    def answers(self):
        return named.fetch(self.port, "a.test", "/a.txt").body == b"a"

    def handles_signals(self):
        """Returns true as soon as all signals so far have been handled."""
        status = f"/proc/{self.pid}/status"

        def pending():
            with open(status, encoding="ascii") as lines:
                return [int(line.split()[1], 16) for line in lines
                        if line.startswith(("SigPnd:", "ShdPnd:"))]

        wait_until(lambda: not any(pending()), "the signals are handled")
        return True


@pytest.fixture
def server():
    with Logging() as started:
        yield started


def test_without_a_reader(tmp_path):
    """An error, as for a file that can't be opened, and no waiting for somebody who reads it."""
    (tmp_path / "www").mkdir()
    (tmp_path / "site.toml").write_text(TEXT)
    os.mkfifo(tmp_path / "error.log")
    done = subprocess.run([BINARY, "--config", "site.toml"], cwd=tmp_path, text=True,
                          capture_output=True, check=False, timeout=LAST_RESORT_S)
    assert done.returncode == 2
    assert done.stderr == ("h2server: error: can't open the error log error.log: "
                           "No such device or address\n")


def test_with_a_reader(server):
    server.report()
    wait_until(lambda: "worker" in server.reader.read(), "the counters are written")
    assert all(line[:2] == "20" and "Z h2server: " in line
               for line in server.reader.read().splitlines())


def test_reader_that_leaves(server):
    """Lines are lost until there is another one, with or without SIGHUP."""
    server.reader.close()
    for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR1):
        server.signal(number)
        assert server.handles_signals() and server.answers()
    for number in (None, signal.SIGHUP):
        server.reader = Reader(server.log)
        if number is not None:
            server.signal(number)
            assert server.handles_signals()
        server.report()
        wait_until(lambda: "worker" in server.reader.read(), "the counters are written")
        server.reader.close()
    server.report()
    server.stop()


def test_reader_that_reads_nothing(server):
    """The thread that writes the line is the one that takes the signals: it must not wait."""
    fill(server.log)
    for _ in range(3):
        server.report()
        assert server.handles_signals() and server.answers()
    server.signal(signal.SIGHUP)
    assert server.handles_signals()
    assert server.reader.read().strip() == "", "lines without room are lost as a whole"
    server.report()
    wait_until(lambda: "worker" in server.reader.read(), "there is room again")
    fill(server.log)
    server.report()
    server.stop()
