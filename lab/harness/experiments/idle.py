"""Memory of an idle connection."""

from harness.experiments.common import PROTOCOLS, floor, ours
from harness.experiments.definition import Definition
from harness.findings import best_of, compare_cells
from harness.plots import Bars, Table
from harness.lab import Cell
from harness.procedures import Subject, idle


def _cells(lab):
    cells = []
    connections = lab.mode.pick(2000, 1000, 50)
    for protocol in lab.mode.pick(list(PROTOCOLS), ["h1", "h2"], list(PROTOCOLS)):
        spoken, tls = PROTOCOLS[protocol]
        subjects = [(ours(lab, engine=engine), {"engine": engine})
                    for engine in ("epoll", "io_uring")]
        subjects += [(peer, {}) for peer in lab.peers.values() if protocol in peer.protocols]
        for server, factors in lab.mode.pick(
            [*subjects, (floor(lab), {})], [*subjects, (floor(lab), {})], subjects[:1]
        ):
            cells.append(Cell({"server": server.name, "protocol": protocol, **factors},
                              idle(Subject(server, spoken, tls), connections), server))
    return cells


def _findings(experiment):
    found = []
    for protocol in PROTOCOLS:
        found.append(best_of(experiment, "kib_per_connection", {"protocol": protocol},
                             what=f"{protocol}, idle after one request"))
        mine = {"server": "h2server", "protocol": protocol, "engine": "io_uring"}
        for peer in ("nginx", "h2o"):
            found.append(compare_cells(experiment, "kib_per_connection", mine,
                                       {"server": peer, "protocol": protocol}, protocol))
    return found


DEFINITION = Definition(
    "idle",
    "Memory of an idle connection",
    "What does a connection cost in the server's own memory after one request, while nothing "
    "happens on it? The kernel's buffers are not counted.",
    _cells,
    [
        Bars("KiB an idle connection", "kib_per_connection", "protocol", ("server", "engine")),
        Table("KiB an idle connection", ("protocol", "server", "engine"),
              ["kib_per_connection", "rss_kib"]),
    ],
    _findings,
)
