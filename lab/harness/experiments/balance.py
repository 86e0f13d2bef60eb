"""How evenly connections are distributed over workers when some are heavier than others."""

from harness.experiments.common import floor, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.plots import Bars, Table
from harness.lab import Cell
from harness.procedures import Subject, balance

WORKERS = 4
# Relative load of the connections, in turn. The table assigns connections in turn as well, so
# "every fourth" is its worst case with four workers.
_SKEWS = {"even": "1", "every fourth is heavy": "20,1,1,1", "every fifth is heavy": "20,1,1,1,1"}


def _cells(lab):
    cells = []
    servers = [(ours(lab, scheme, "epoll"), {"scheme": scheme})
               for scheme in ("acceptor", "reuseport")]
    for skew, weights in _SKEWS.items():
        shape = {"requests": lab.mode.pick(100_000, 30_000, 500),
                 "connections": lab.mode.pick(64, 64, 16), "weights": weights}
        load = own_load(lab, "closed", shape)
        for server, factors in [*servers, (floor(lab, "epoll"), {})]:
            cells.append(Cell({"server": server.name, **factors, "skew": skew},
                              balance(Subject(server, threads=WORKERS), load), server))
    return cells


def _findings(experiment):
    return [
        compare_cells(
            experiment, "imbalance", {"scheme": "acceptor", "skew": skew},
            {"scheme": "reuseport", "skew": skew}, f"{WORKERS} workers, 64 connections, {skew}",
            "Other numbers of connections: the kernel's hash evens out with more of them.",
            ("The indirection table", "the kernel's choice (reuseport)"),
        )
        for skew in _SKEWS
    ]


DEFINITION = Definition(
    "balance",
    "Balance over workers",
    "How evenly does processor time fall on four workers, when the acceptor deals connections out "
    "by its table, and when the kernel hashes them, as it does for the floor too? Heavy connections "
    "ask for 20 times as much.",
    _cells,
    [
        Bars("The busiest worker over the mean", "imbalance", "skew", ("server", "scheme"),
             order={"skew": list(_SKEWS)}),
        Table("Balance", ("skew", "server", "scheme"), ["imbalance", "cpu_us"], ratio="cpu_us",
              order={"skew": list(_SKEWS)}),
    ],
    _findings,
)
