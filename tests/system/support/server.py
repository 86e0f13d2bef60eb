"""The program under test, in its own temporary directory."""

import contextlib
import errno
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile

from support import pairs
from support.environment import BINARY, HTTP2, LAST_RESORT_S, tool
from support.processes import members
from support.waiting import holds_within, wait_until

TEMPORARY_PREFIX = "h2_tmp_"

_URL = re.compile(r"^\s*(https?://localhost(?::(\d+))?/)\s*$", re.MULTILINE)
# What it says when a drain takes more than a second, as on a slow machine.
_DRAINING = re.compile(r"^h2server: waiting for .*\n", re.MULTILINE)
# What it says when it had no processor for a while, as on a busy machine.
_HELD = re.compile(r"^(?:\S+Z )?(?:h2server: )?(?:warning: )?a worker served nobody for .*\n",
                   re.MULTILINE)
# What it says of a response whose file a test has changed.
_CUT_OFF = re.compile(r"^.*: response to .* was cut off: the file was .*\n", re.MULTILINE)
_SANITIZER_REPORT = re.compile(r"Sanitizer|runtime error:|assertion|ASSERT")


def without_held_turns(text):
    """Returns what a program has printed without the lines that a busy machine may bring about."""
    return _HELD.sub("", text)


class Server:
    """with Server("--upload-overwrite", tls=True, workers=2) as server: ...

    On exit it is stopped by SIGTERM. It must then end with `status`, print nothing on standard
    error, and leave no process and no temporary file. With `quiet=False` it may print. `user`: the
    uid to run it as, from a copy of the program that this user can reach. `pair`: the scheme and
    the engine; the default is the chosen pair (support.pairs), unless the arguments name a scheme.
    """

    start_s = LAST_RESORT_S
    # Longer than any test waits: what a client or a signal must bring about, no time limit does.
    time_limits = [f"--{what}-timeout=10m" for what in ("idle", "head", "body", "send")]
    status = 0  # the expected exit status

    def __init__(self, *arguments, tls=False, self_signed=True, uploads=True, quiet=True,
                 user=None, pair=None, workers=None, pool_threads=pairs.POOL_THREADS):
        self.tls = tls
        self.quiet = quiet
        self._user = user
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="h2server-test-"))
        self.root = self._folder / "root"
        self.uploads = self._folder / "uploads"
        self.certificate = self._folder / "cert/server.crt"
        self.key = self._folder / "cert/server.key"
        self.process = None
        self.command = [BINARY, "--port", "0", "--host", "127.0.0.1", "--root", self.root]
        self.command += self.time_limits
        if uploads:
            self.command += ["--upload-dir", self.uploads]
        if not tls:
            self.command += ["--h2c"]
        elif self_signed:
            self.command += ["--self-signed", "--cert", self.certificate, "--key", self.key]
        self.command += self._how_to_run(arguments, pair or pairs.CHOSEN, workers, pool_threads)
        if HTTP2 and "--h2" not in arguments:
            self.command += ["--h2", HTTP2]
        self.command += arguments

    @staticmethod
    def _how_to_run(arguments, pair, workers, pool_threads):
        if pair and "--scheme" not in arguments:
            return pair.arguments(workers, pool_threads)
        return ["--threads", str(workers)] if workers else []

    def __enter__(self):
        self.root.mkdir()
        if self._user is not None:
            self.command[0] = shutil.copy(BINARY, self._folder)
            os.chown(self._folder, self._user, self._user)
        try:
            self.start()
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.stop()
        finally:
            self._discard()

    def start(self):
        """Starts the program and waits until it prints its URL."""
        with open(self._folder / "stdout", "wb") as out, open(self._folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self._folder,
                user=self._user, group=self._user,
                extra_groups=None if self._user is None else [],
                start_new_session=True)  # its processes form a group
        known = holds_within(lambda: self._find_url() or not self.running, self.start_s)
        assert known and self.running, f"h2server did not start: {self.stderr}"

    def _find_url(self):
        found = _URL.search(self.stdout)
        if found:
            self.url = found[1]
            self.port = int(found[2])
        return found is not None

    @property
    def running(self):
        return self.process.poll() is None

    def accepts(self):
        """Returns false if a new connection is refused."""
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) != errno.ECONNREFUSED

    @property
    def pid(self):
        return self.process.pid

    @property
    def stdout(self):
        return (self._folder / "stdout").read_text()

    @property
    def stderr(self):
        return without_held_turns((self._folder / "stderr").read_text(errors="replace"))

    def wait_for_message(self, text):
        """Another thread may print it, after what it is about has been seen."""
        wait_until(lambda: text in self.stderr, f"it prints {text!r}")

    def temporary_files(self):
        if not self.uploads.exists():
            return []
        # The server remembers stored uploads for a day; their bytes have another name.
        return [path for path in self.uploads.iterdir()
                if path.name.startswith(TEMPORARY_PREFIX) and not path.name.endswith(".info")]

    def uploaded(self):
        """Returns the names in the upload directory."""
        return sorted(path.name for path in self.uploads.iterdir())

    def restart_with_descriptors(self, most):
        """Restarts it with that limit of open descriptors. io_uring reads the limit when it starts
        to accept, so a running server would not notice a change."""
        self.stop()
        self.command = [tool("prlimit"), f"--nofile={most}:{most}", *self.command]
        self.start()

    def limit(self, what, most):
        """Lowers a resource limit of each process; later forks inherit it."""
        for pid in members(self.pid):
            resource.prlimit(pid, what, (most, resource.prlimit(pid, what)[1]))

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def ends(self):
        """Waits for the end. Returns false if it does not come."""
        return holds_within(lambda: not self.running, LAST_RESORT_S)

    def stop(self):
        """Stops it if it still runs, and checks how it ended."""
        if self.running:
            self.signal()
        wait_until(lambda: not self.running, "the server ends after SIGTERM")
        self.check()

    def check(self):
        """Checks the exit status, standard error, processes and temporary files after the end."""
        stderr = _CUT_OFF.sub("", _DRAINING.sub("", self.stderr))
        assert not _SANITIZER_REPORT.search(stderr), stderr
        assert self.process.returncode == self.status, f"status {self.process.returncode}: {stderr}"
        assert not self.quiet or stderr == "", stderr
        assert members(self.pid) == []
        assert self.temporary_files() == []

    def _discard(self):
        if self.process is not None:
            for pid in members(self.pid):
                with contextlib.suppress(ProcessLookupError):  # it ends with the main process
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            if self.stderr:
                print(f"--- standard error of the server:\n{self.stderr}")
        shutil.rmtree(self._folder)
