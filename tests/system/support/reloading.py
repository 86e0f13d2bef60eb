"""Servers whose configuration, certificates or program change while clients use them."""

import os
import pathlib
import signal
import threading

from support.configured import Configured
from support.environment import BINARY, LAST_RESORT_S
from support.waiting import holds_within, wait_until

RELOADED = "the configuration was read anew"


class Reloading(Configured):
    """Says on standard error what it does; the lines are read by the tests."""

    def __init__(self, text, files=None, **options):
        super().__init__(text, files, quiet=False, **options)

    def write(self, name, content):
        """Replaces a file as editors do."""
        path = self.folder / name
        new = path.with_name(path.name + ".new")
        new.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.replace(new, path)

    def reload(self):
        """Sends SIGHUP and waits until the new configuration is served."""
        before = self.stderr.count(RELOADED)
        self.signal(signal.SIGHUP)
        wait_until(lambda: self.stderr.count(RELOADED) > before, "it is read anew")

    def refuse_reload(self, reason):
        """Sends SIGHUP and waits until the log says why the new configuration is not served."""
        self.signal(signal.SIGHUP)
        wait_until(lambda: reason in self.stderr, f"it says {reason}: {self.stderr}")


class Upgrading(Reloading):
    """Runs from a copy of the program, which can be replaced."""

    def __init__(self, text, files=None, **options):
        super().__init__(f'pid-file = "pid"\n{text}', files, **options)
        self.program = self.folder / "h2server"
        self.command[0] = self.program
        self.replace_program(pathlib.Path(BINARY).read_bytes())

    def replace_program(self, content):
        new = self.folder / "h2server.new"
        new.write_bytes(content)
        new.chmod(0o755)
        os.replace(new, self.program)

    @property
    def serving(self):
        """The pid of the process that serves."""
        return int((self.folder / "pid").read_text())

    def wait_for_end_of(self, pid):
        ended = holds_within(lambda: not runs(pid), LAST_RESORT_S)
        assert ended, f"{pid} did not end: {self.stderr}"

    def stop(self):
        """Stops the process that serves; the first one has ended or ends, too."""
        try:
            serving = self.serving  # read once: the file goes before its process does
            os.kill(serving, signal.SIGTERM)
            self.wait_for_end_of(serving)
        except (FileNotFoundError, ProcessLookupError):
            pass  # a test has ended it
        wait_until(lambda: not self.running, "the first process ends")
        self.check()


def runs(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Load:
    """Calls `visit()` over and over in threads until the block is left. What it raises fails the
    block."""

    def __init__(self, *visits):
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(visit,)) for visit in visits]
        self.failures = []
        self.visits = 0

    def _run(self, visit):
        while not self._over.is_set() and not self.failures:
            try:
                visit()
            except Exception as failure:  # pylint: disable=broad-except
                self.failures.append(failure)
            self.visits += 1

    def wait_for_more(self, count):
        wanted = self.visits + count
        wait_until(lambda: self.visits >= wanted or self.failures, "more visits")
        assert not self.failures, self.failures

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()
        if kind is None:
            assert not self.failures, self.failures
