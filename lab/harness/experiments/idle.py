"""New: what a connection costs in memory while nothing happens on it."""

from harness.experiments.common import PROTOCOLS, floor, ours
from harness.experiments.definition import Definition
from harness.lab import Cell
from harness.procedures import Subject, idle


def _cells(lab):
    cells = []
    connections = lab.mode.pick(2000, 1000, 50)
    for protocol, (spoken, tls) in PROTOCOLS.items():
        subjects = [(ours(lab, engine=engine), {"engine": engine}) for engine in ("epoll", "io_uring")]
        subjects += [(peer, {}) for peer in lab.peers.values() if protocol in peer.protocols]
        for server, factors in lab.mode.pick(
            [*subjects, (floor(lab), {})], [*subjects, (floor(lab), {})], subjects[:1]
        ):
            cells.append(Cell({"server": server.name, "protocol": protocol, **factors},
                              idle(Subject(server, spoken, tls), connections), server))
    return cells


DEFINITION = Definition("idle", "idle", "", _cells, [], lambda experiment: [])
