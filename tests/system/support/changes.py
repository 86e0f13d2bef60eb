"""Responses that are read slowly, and changes of their file meanwhile."""

import os
import time

from support import http2
from support.answer import Broken
from support.contents import noise
from support.http1 import get
from support.processes import bytes_to_send
from support.waiting import wait_until

KIB = 1024
OLD = noise(5000 * KIB, seed=1)
NEW = noise(5000 * KIB, seed=2)


class Reader:
    """The response to GET, read on demand. HTTP/2's windows are wide open, so that only the socket
    stalls the server."""

    def __init__(self, site, path, fields=()):
        self._http2 = site.protocol.http2
        self._received = []
        if self._http2:
            self._connection = site.connect(receive_buffer=64 * KIB, reading=False,
                                            settings=http2.WIDE_WINDOWS)
            self._connection.protocol.increment_flow_control_window(1 << 28)
            self._stream = self._connection.request("GET", path, fields)
            self._connection.run_until(lambda: self._stream.status, "response")
            self.status = self._stream.status
        else:
            self._connection = site.connect(receive_buffer=64 * KIB)
            self._connection.send(get(path, *(f"{name}: {value}" for name, value in fields)))
            answer = self._connection.answer_head()
            self.status = answer.status
            self._pieces = self._connection.body_pieces(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    @property
    def received(self):
        return self._stream.received if self._http2 else sum(map(len, self._received))

    def read_to(self, size):
        """Reads until `size` bytes of the body have arrived."""
        if self._http2:
            self._connection.run_until(lambda: self._stream.received >= size, f"{size} bytes")
            return
        while self.received < size:
            self._received.append(next(self._pieces))

    def finish(self):
        """Returns the whole body, or None if the server cut it off."""
        try:
            if self._http2:
                return self._connection.answer(self._stream).body
            self._received.extend(self._pieces)
            return b"".join(self._received)
        except Broken:
            return None


# How long the server uses a file's state without a check, and a step of the clocks.
_FRESH_S = 1.0 + 0.1


def seen_in_time(is_new, changed):
    """Calls is_new(), which makes a request, until it returns true. Returns false if a request that
    was sent too late still gets what was there before. `changed`: the time of the change."""
    while True:
        sent = time.monotonic()
        if is_new():
            return True
        if sent > changed + _FRESH_S:
            return False


def wait_for_stall(server):
    """Waits until the server stalls because the client does not read."""
    seen = []

    def stalled():
        seen.append(bytes_to_send(server.port))
        return len(seen) > 8 and seen[-1] > 0 and len(set(seen[-8:])) == 1

    wait_until(stalled, "the server stops sending")


# --- changes in place of a file that holds OLD ---------------------------------------------------


def rewrite(file, start=0, end=len(NEW)):
    with open(file, "r+b") as opened:
        opened.seek(start)
        opened.write(NEW[start:end])


def truncate_and_restore(file):
    os.truncate(file, 0)
    rewrite(file)


def rewrite_with_the_old_time(file):
    status = os.stat(file)
    rewrite(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def rewrite_and_grow(file):
    rewrite(file)
    append(file)


def append(file):
    with open(file, "ab") as opened:
        opened.write(b"more")


def link(file):
    os.link(file, file.with_name(file.name + ".link"))


CHANGES = {
    "emptied": lambda file: os.truncate(file, 0),
    "cut to half": lambda file: os.truncate(file, len(OLD) // 2),
    "cut to less than a page": lambda file: os.truncate(file, 100),
    "cut by a byte": lambda file: os.truncate(file, len(OLD) - 1),
    "rewritten": rewrite,
    "start rewritten": lambda file: rewrite(file, 0, 1),
    "middle rewritten": lambda file: rewrite(file, len(OLD) // 2, len(OLD) // 2 + 100),
    "end rewritten": lambda file: rewrite(file, len(OLD) - 1),
    "emptied and written": truncate_and_restore,
    "rewritten, with its old time": rewrite_with_the_old_time,
    "rewritten and longer": rewrite_and_grow,
}

# Changes that leave the bytes as they are.
HARMLESS = {
    "appended to": append,
    "linked": link,
    "other rights": lambda file: file.chmod(0o640),
    "renamed": lambda file: file.rename(file.with_name(file.name + ".moved")),
    "removed": os.unlink,
}
