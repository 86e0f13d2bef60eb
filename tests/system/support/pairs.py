"""The valid pairs of a scheme (`--scheme`) and an I/O engine (`--io`).

H2SERVER_TEST_PAIR="reuseport io_uring" runs the whole suite on that pair, not on each test's own.
"""

import dataclasses
import os

import pytest

POOL_THREADS = 100  # one per connection that a test holds open


@dataclasses.dataclass(frozen=True)
class Pair:
    scheme: str
    io: str

    @property
    def name(self):
        return f"{self.scheme}-{self.io}"

    @property
    def blocking(self):
        """True if each connection has its own thread or process."""
        return self.io == "blocking"

    @property
    def pool(self):
        return self.scheme.endswith("-pool")

    @property
    def forks(self):
        return self.scheme == "process-per-connection"

    def threads(self, workers, pool=POOL_THREADS):
        """Returns the number of threads that outlive connections and cache files: `workers` of
        an event-driven scheme, `pool` of a pool, otherwise 0."""
        return pool if self.pool else 0 if self.blocking else workers

    def arguments(self, workers=None, pool=POOL_THREADS):
        """Returns the command-line arguments."""
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

# For tests of behaviour that every pair has.
PAIRS = [CHOSEN] if CHOSEN else ALL
# For tests that cover both ways to accept, unless a pair was chosen.
USUAL = [CHOSEN] if CHOSEN else [Pair("acceptor", "epoll"), Pair("reuseport", "epoll")]


def of_kind(condition, among=None):
    """Returns the pairs, PAIRS or `among`, that satisfy the condition; what skips a test if a pair was
    chosen that does not."""
    found = [pair for pair in among or PAIRS if condition(pair)]
    assert found or CHOSEN
    return found or [pytest.param(None, marks=pytest.mark.skip("it is another engine's row"), id="none")]
