"""The order of the report: one chapter for each question that an engineer asks."""

import dataclasses

from harness.experiments.common import SMALL, TABLE
from harness.plots import Bars, Lines, Table


@dataclasses.dataclass(frozen=True)
class Chapter:
    """`words` explain what the chapter's figures name. `figures` are [(experiment, figure)] that
    stand before the sections, which are the experiments of `names`."""

    id: str
    question: str
    words: str
    names: tuple
    figures: tuple = ()


_WITH_TLS = Bars("The same request with TLS and without", "cpu_us", "server", "protocol",
                 {"threads": 1, "load": [SMALL, "-c100"],
                  "server": ["h2server", "nginx", "h2o", "floor"]},
                 note="h1 has 100 connections with one request at a time, h2 has ten at a time on each.")

_MEGABYTE = Bars("A megabyte with TLS and without, HTTP/1.1", "cpu_us", "server", "protocol",
                 {"bytes": 1_000_000, "protocol": ["h1", "h1 TLS"]},
                 note="Without TLS nginx and h2server send it by sendfile.")
_SCALED = ["h2server", "nghttpd", "floor"]
_MORE_THREADS = Lines("More threads, h2c", "threads", "cpu_us", "server",
                      {"protocol": "h2c", "load": SMALL, "server": _SCALED})
_THREADS_TABLE = Table("More threads", ("protocol", "load", "server", "threads"), TABLE,
                       {"server": _SCALED, "protocol": ["h2", "h2c"]}, seed="article/scaling")

CHAPTERS = (
    Chapter(
        "request", "What does a request cost?",
        "The measure is the processor time of the server, in microseconds a request (µs): it decides how "
        "many requests a processor can answer, whatever the network. h1 is HTTP/1.1, h2c is HTTP/2 in "
        "cleartext, h2 is HTTP/2 over TLS. -c100 -m10 means 100 connections with 10 requests at a time "
        "on each. The floor is a program that sends a ready answer for each request, by plain system calls, "
        "without reading it: about what the kernel alone needs. A server is below it where it makes "
        "fewer system calls or sends files without a copy.",
        ("peers", "breakdown", "pages", "compression", "library", "observing", "stages")),
    Chapter(
        "tls", "What does TLS cost?",
        "TLS costs once for each connection, the handshake, and then for each byte, which is "
        "encrypted. All servers use the same OpenSSL, TLS 1.3 and a P-256 certificate.",
        ("handshakes",), (("peers", _WITH_TLS), ("bodies", _MEGABYTE))),
    Chapter(
        "scheme", "Which scheme?",
        "A scheme says what serves a connection: a process of its own, a thread of its own, a thread "
        "of a pool, or an event loop that serves many. All schemes here run the same code for the "
        "protocol.",
        ("schemes",)),
    Chapter(
        "threads", "How many threads?",
        "The servers had one processor here, unless “How was it measured?” says otherwise: these "
        "figures show what threads cost, not what they bring. With reuseport each worker thread has a "
        "listening socket of its own, and the kernel chooses by "
        "a hash of the client's address. With an acceptor one thread accepts and hands connections over "
        "in turn.",
        ("threads", "balance"), (("peers", _MORE_THREADS), ("peers", _THREADS_TABLE))),
    Chapter(
        "engine", "Which engine?",
        "An engine is the way in which a worker talks to the kernel: epoll says which sockets are ready "
        "and each is read by a call of its own; io_uring takes many operations in one call; blocking "
        "calls wait, so each connection needs a thread.",
        ("engines",)),
    Chapter(
        "size", "How large are the answers and uploads?",
        "The cost of a small file is that of a request. The cost of a large one is that of its bytes: "
        "copying, encrypting, sending.",
        ("sizes", "bodies", "receiving", "stores")),
    Chapter(
        "distance", "How far away is the client?",
        "The round-trip time is how long a byte needs to the other end and an answer back. A relay on "
        "the same machine delays the bytes.",
        ("uploads",)),
    Chapter(
        "memory", "How much memory?",
        "An idle connection is one that has been answered and stays open.",
        ("idle", "events")),
    Chapter(
        "limits", "What breaks first?",
        "p50, p99 and p99.9 are percentiles: half of the requests, 99 % and 99.9 % of them took no "
        "longer. A server is overloaded from the rate on from which its p99 is more than ten times that at "
        "the lowest rate, in every round, or less than 95 % of the requests are answered in time.",
        ("latency", "connections", "reload")),
)


def sections(names):
    """Returns [(Chapter, [experiment's name …]) …] of `names`. What no chapter names comes last."""
    listed = [(chapter, [name for name in chapter.names if name in names]) for chapter in CHAPTERS]
    others = [name for name in names if not any(name in chapter.names for chapter in CHAPTERS)]
    rest = Chapter("others", "What else was measured?", "", tuple(others))
    return [(chapter, mine) for chapter, mine in [*listed, (rest, others)] if mine or chapter.figures]
