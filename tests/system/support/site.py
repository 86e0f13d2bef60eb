"""A place on a server for one test."""

import itertools

from support.protocols import fetch

_numbers = itertools.count()


class Site:
    """A server, a way to talk to it, and a folder whose paths no other test has asked for: the
    server remembers for a second what it found under a path."""

    def __init__(self, server, protocol):
        self.server = server
        self.protocol = protocol
        self.name = f"t{next(_numbers)}"
        self.folder = server.root / self.name
        self.folder.mkdir()

    def place(self, name, content):
        """Makes a file; returns the path to ask for."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return f"/{self.name}/{name}"

    def fetch(self, path, method="GET", fields=(), body=b""):
        return fetch(self.server, self.protocol, path, method, fields, body)

    def connect(self, **options):
        return self.protocol.connect(self.server, **options)
