"""The pairs that exist: who accepts and hands over (`--scheme`), on which engine (`--io`).

H2SERVER_TEST_PAIR="reuseport io_uring" runs the whole suite on that one, in place of what each test
would take by itself.
"""

import dataclasses
import os

POOL_THREADS = 100  # a thread for each connection that a test opens at once


@dataclasses.dataclass(frozen=True)
class Pair:
    scheme: str
    io: str

    @property
    def name(self):
        return f"{self.scheme}-{self.io}"

    @property
    def blocking(self):
        """A connection has a thread, or a process, for itself."""
        return self.io == "blocking"

    @property
    def pool(self):
        return self.scheme.endswith("-pool")

    @property
    def forks(self):
        return self.scheme == "process-per-connection"

    def threads(self, workers, pool=POOL_THREADS):
        """How many serve one connection after the other, and keep files in the meantime: `workers`
        where each has many connections, `pool` in a pool."""
        return pool if self.pool else 0 if self.blocking else workers

    def arguments(self, workers=None, pool=POOL_THREADS):
        """Those of the command line."""
        threads = self.threads(workers, pool)
        return ["--scheme", self.scheme, "--io", self.io,
                *(["--threads", str(threads)] if threads else [])]


EVENT_DRIVEN = [Pair(scheme, io) for scheme in ("acceptor", "reuseport")
                for io in ("epoll", "io_uring")]
BLOCKING = [Pair(scheme, "blocking") for scheme in
            ("thread-pool", "buffered-pool", "thread-per-connection", "process-per-connection")]
ALL = EVENT_DRIVEN + BLOCKING
SCHEMES = list(dict.fromkeys(pair.scheme for pair in ALL))


def _chosen():
    text = os.environ.get("H2SERVER_TEST_PAIR")
    if not text:
        return None
    pair = Pair(*text.split())
    assert pair in ALL, f"H2SERVER_TEST_PAIR={text}: no such pair"
    return pair


CHOSEN = _chosen()

# For tests of what every pair must do...
PAIRS = [CHOSEN] if CHOSEN else ALL
# ...and for those that look at both ways to accept, when nobody chose.
USUAL = [CHOSEN] if CHOSEN else [Pair("acceptor", "epoll"), Pair("reuseport", "epoll")]


def of_kind(condition):
    """Those of PAIRS for which it holds: pytest skips the test when there is none."""
    return [pair for pair in PAIRS if condition(pair)]
