"""The article's 4.2: beside other servers, on one thread and on several."""

from harness.experiments.common import LARGE, SMALL, floor, h1_load, h2_load, load_cell, ours
from harness.experiments.definition import Definition

_H1 = "-c100"


def _servers(lab, protocol):
    everyone = [ours(lab), *lab.peers.values(), *lab.guests, floor(lab)]
    return [server for server in everyone if protocol in server.protocols]


def _cells(lab):
    cells = []
    for protocol in ("h2c", "h2"):
        for load in lab.mode.pick([SMALL, LARGE], [SMALL, LARGE], [SMALL]):
            for server in _servers(lab, protocol):
                cells.append(load_cell(server, protocol, h2_load(lab, load),
                                       {"threads": 1, "load": load}, syscalls=load == SMALL))
    for protocol in ("h1", "h1 TLS"):
        for server in _servers(lab, protocol):
            cells.append(load_cell(server, protocol, h1_load(lab),
                                   {"threads": 1, "load": _H1}, syscalls=True))
    return cells + _scaling(lab)


def _scaling(lab):
    """Several threads, ours and nghttpd's."""
    cells = []
    for load in lab.mode.pick([SMALL, LARGE], [], []):
        for protocol in ("h2c", "h2"):
            for threads in (2, 4, 8):
                for server in (ours(lab), lab.peers["nghttpd"]):
                    cells.append(load_cell(server, protocol, h2_load(lab, load),
                                           {"threads": threads, "load": load}, threads=threads))
    return cells


DEFINITION = Definition("peers", "peers", "", _cells, [], lambda experiment: [])
