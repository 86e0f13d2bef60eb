"""The program under test with a configuration file."""

import socket

from support.environment import BINARY
from support.server import Server


_given = set()


def free_port(host="127.0.0.1"):
    """Returns a port that nobody listened on a moment ago, and that it has not returned before."""
    while True:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
            trial.bind((host, 0))
            port = trial.getsockname()[1]
        if port not in _given:
            _given.add(port)
            return port


class Configured(Server):
    """with Configured(text, {"www/index.html": "text"}) as server: ...

    `files` are made in the working directory, below which the configuration names its files. The
    port of the first listener is `server.port`.
    """

    def __init__(self, text, files=None, arguments=(), **options):
        super().__init__(uploads=False, **options)
        self.folder = self._folder
        limits = [one for one in self.time_limits if one[2:].split("=")[0] not in text]
        self.command = [BINARY, "--config", "site.toml", *limits, *arguments]
        for name, content in {"site.toml": text, **(files or {})}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def lines_of(self, name):
        """Returns the lines of a file in the working directory. Empty if there is none."""
        try:
            return (self.folder / name).read_bytes().splitlines()
        except FileNotFoundError:
            return []


# A cleartext listener at any free port.
CLEARTEXT = 'host = "127.0.0.1"\nport = 0\nh2c = true\n'
