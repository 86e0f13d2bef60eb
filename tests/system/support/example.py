"""The example programs as servers under test."""

import re
import subprocess

from support.environment import BUILD, LAST_RESORT_S
from support.server import without_held_turns


class Example:
    """An example program while it runs, with the attributes of Server that the clients use."""

    tls = False

    def __init__(self, name, *arguments, status=0, **options):
        """`status` is what the program exits with; `options` are of Popen."""
        self._command = [BUILD / "examples" / name, *map(str, arguments)]
        self._status = status
        self._options = options

    def __enter__(self):
        self.process = subprocess.Popen(self._command, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **self._options)
        self.read_start()
        return self

    def read_start(self):
        """Reads what the program prints once it listens."""
        self.port = int(re.search(r":(\d+)\b", self.process.stdout.readline())[1])

    def __exit__(self, kind, *_):
        self.process.terminate()
        _, stderr = self.process.communicate(timeout=LAST_RESORT_S)
        if kind is None:
            assert (self.process.returncode, without_held_turns(stderr)) == (self._status, "")
