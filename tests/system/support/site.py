"""A private place on a shared server for one test."""

import itertools

from support.protocols import fetch

_numbers = itertools.count()


class Site:
    """A server, a protocol, and a folder whose paths no other test has requested. The server caches
    for a second what it found under a path."""

    def __init__(self, server, protocol):
        self.server = server
        self.protocol = protocol
        self.name = f"t{next(_numbers)}"
        self.folder = server.root / self.name
        self.folder.mkdir()

    def place(self, name, content):
        """Creates a file. Returns its URL path."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return f"/{self.name}/{name}"

    def fetch(self, path, method="GET", fields=(), body=b""):
        return fetch(self.server, self.protocol, path, method, fields, body)

    def connect(self, **options):
        return self.protocol.connect(self.server, **options)
