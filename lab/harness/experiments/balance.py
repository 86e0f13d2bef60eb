"""New: how evenly connections fall on workers, when some have more to do than others."""

from harness.experiments.common import ours, own_load
from harness.experiments.definition import Definition
from harness.lab import Cell
from harness.procedures import Subject, balance

WORKERS = 4
# How much each connection in turn asks for. The table deals connections out in turn as well, so
# "every fourth" is the worst that can happen to it with four workers.
_SKEWS = {"even": "1", "every fourth is heavy": "20,1,1,1", "every fifth is heavy": "20,1,1,1,1"}


def _cells(lab):
    cells = []
    for skew, weights in _SKEWS.items():
        for scheme in ("acceptor", "reuseport"):
            shape = ("--requests", lab.mode.pick(100_000, 30_000, 500), "--connections",
                     lab.mode.pick(64, 64, 16), "--weights", weights)
            server = ours(lab, scheme, "epoll")
            subject = Subject(server, threads=WORKERS)
            load = own_load(lab, "closed", shape, ())
            cells.append(Cell({"server": "h2server", "scheme": scheme, "skew": skew},
                              balance(subject, load), server))
    return cells


DEFINITION = Definition("balance", "balance", "", _cells, [], lambda experiment: [])
