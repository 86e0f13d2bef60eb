"""The report's first half page: three charts and five sentences, from whatever was measured."""

import dataclasses

from harness import cells, spread
from harness.plots import Bars

_SMALL = "-c100 -m10"
_MEGABYTE = 1_000_000
_SERVERS = ["h2server", "nginx", "nghttpd", "h2o", "floor"]
# [(experiment, figure)]
CHARTS = (
    ("peers", Bars("A request for a small file", "cpu_us", "protocol", "server",
                   {"threads": 1, "load": [_SMALL, "-c100"], "protocol": ["h1", "h2c", "h2"],
                    "server": _SERVERS}, label="processor time, µs")),
    ("bodies", Bars("A megabyte of a large file", "cpu_us", "protocol", "server",
                    {"bytes": _MEGABYTE}, label="processor time, µs")),
    ("engines", Bars("A request by scheme", "cpu_us", "load", ("server", "scheme"),
                     {"load": ["h1 -c100", f"h2c {_SMALL}"], "engine": ["io_uring", "blocking"]},
                     label="processor time, µs")),
)


@dataclasses.dataclass(frozen=True)
class Sentence:
    text: str
    experiment: str  # its evidence


def sentences(results, found):
    """Returns up to five Sentences. `found` are all Findings of the report."""
    by_name = {experiment.name: experiment for experiment in results.experiments}
    made = [make(by_name[name]) for name, make in _MAKERS if name in by_name]
    return [sentence for sentence in [*made, _score(found)] if sentence]


def _median(experiment, measure, **factors):
    """Returns the median of the cell with these factors; of several, of the cheapest."""
    values = [cell.median(measure) for cell in cells.cells_of(experiment, factors)]
    return min((value for value in values if value is not None), default=None)


def _beside(ours, others):
    """Returns: 0.60 × what h2o needs, 0.10 × what nginx needs."""
    return ", ".join(f"{spread.share(ours / value)} × what {name} needs"
                     for name, value in others.items() if value)


def _request(experiment):
    one = {"protocol": "h2c", "load": _SMALL, "threads": 1}
    ours = _median(experiment, "cpu_us", server="h2server", **one)
    others = {name: _median(experiment, "cpu_us", server=name, **one)
              for name in ("h2o", "nghttpd", "nginx")}
    floor = _median(experiment, "cpu_us", server="floor", **one)
    if not ours or not floor or not any(others.values()):
        return None
    return Sentence(
        f"A request for a small file takes h2server {spread.number(ours)} µs of a processor over HTTP/2: "
        f"{_beside(ours, others)}, and {spread.share(ours / floor)} × the {spread.number(floor)} µs "
        "that the kernel alone needs.", "peers")


def _byte(experiment):
    one = {"bytes": _MEGABYTE}
    ours = _median(experiment, "cpu_us", server="h2server", protocol="h2", **one)
    others = {name: _median(experiment, "cpu_us", server=name, protocol="h2", **one)
              for name in ("h2o", "nginx")}
    clear = _median(experiment, "cpu_us", server="h2server", protocol="h1", **one)
    if not ours or not clear or not any(others.values()):
        return None
    return Sentence(
        f"A megabyte takes it {spread.number(ours)} µs over HTTP/2 with TLS, {_beside(ours, others)}; "
        f"without TLS, over HTTP/1.1, {spread.number(clear)} µs.", "bodies")


def _scheme(experiment):
    one = {"server": "h2server", "load": "h1 -c100"}
    loop = _median(experiment, "cpu_us", scheme=["acceptor", "reuseport"], **one)
    thread = _median(experiment, "cpu_us", scheme="thread-per-connection", **one)
    process = _median(experiment, "cpu_us", scheme="process-per-connection", **one)
    if not loop or not thread or not process:
        return None
    return Sentence(
        f"With 100 connections an event loop needs {spread.share(loop / thread)} × the processor time of "
        f"a thread for each connection, and {spread.share(loop / process)} × that of a process for "
        "each.", "engines")


def _memory(experiment):
    ours, nginx, other = (_median(experiment, "kib_per_connection", server=name, protocol="h2")
                          for name in ("h2server", "nginx", "h2o"))
    if not ours or not nginx or not other:
        return None
    return Sentence(
        f"A connection that is open and idle over TLS keeps {spread.number(ours)} KiB of memory; nginx "
        f"keeps {spread.number(nginx)} KiB and h2o {spread.number(other)} KiB.", "idle")


def _score(found):
    """Returns how often h2server wins and loses: losses are as much a result as wins."""
    wins, losses, evens = (sum(one.kind == kind for one in found) for kind in ("win", "loss", "even"))
    every = wins + losses + evens
    if not every:
        return None
    return Sentence(
        f"Of {every} {'comparison' if every == 1 else 'comparisons'} with other servers h2server is "
        f"better in {wins} and worse in {losses}; in {evens} the difference is within the spread.", "")


_MAKERS = (("peers", _request), ("bodies", _byte), ("engines", _scheme), ("idle", _memory))
