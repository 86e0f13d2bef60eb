"""Comparison with other servers, on one thread and on several."""

import dataclasses

from harness.experiments.common import LARGE, SMALL, TABLE, floor, h2_load, load_cell, ours
from harness.experiments.definition import Definition
from harness.findings import best_of, compare_cells, ratio_to_floor
from harness.loads import H2load
from harness.plots import Bars, Table

_H1 = "-c100"


def _servers(lab, protocol):
    left_out = lab.mode.pick((), ("lighttpd", "caddy"), ())
    peers = [peer for name, peer in lab.peers.items() if name not in left_out]
    everyone = [ours(lab), *peers, *lab.guests, floor(lab)]
    return [server for server in everyone if protocol in server.protocols]


def _cells(lab):
    cells = []
    for protocol in ("h2c", "h2"):
        for load in lab.mode.pick([SMALL, LARGE], [SMALL], [SMALL]):
            for server in _servers(lab, protocol):
                cell = load_cell(server, protocol, _load(lab, load, server),
                                 {"threads": 1, "load": load}, syscalls=load == SMALL)
                if (server.name, protocol, load) == ("caddy", "h2", LARGE):
                    cell.unable = "it closes a part of the connections under this load"
                cells.append(cell)
    h1_load = H2load(lab.mode.pick(100, 100, 10), 1, lab.mode.pick(100_000, 30_000, 500))
    for protocol in ("h1", "h1 TLS"):
        for server in _servers(lab, protocol):
            cells.append(load_cell(server, protocol, h1_load,
                                   {"threads": 1, "load": _H1}, syscalls=True))
    return cells + _scaling(lab)


def _load(lab, load, server):
    """Returns a load of common.py. Caddy is slow under the large one and gets fewer requests."""
    asked = h2_load(lab, load)
    if (server.name, load) != ("caddy", LARGE):
        return asked
    return dataclasses.replace(asked, requests=asked.requests // 4)


def _scaling(lab):
    """Returns cells with several threads: h2server, nghttpd and the floor."""
    cells = []
    for load in lab.mode.pick([SMALL, LARGE], [], []):
        for protocol in ("h2c", "h2"):
            for threads in (2, 4, 8):
                for server in (ours(lab), lab.peers["nghttpd"], floor(lab)):
                    cells.append(load_cell(server, protocol, h2_load(lab, load),
                                           {"threads": threads, "load": load}, threads=threads))
    return cells


_FIRST = [("h2c", SMALL), ("h2c", LARGE), ("h2", SMALL), ("h2", LARGE), ("h1", _H1),
          ("h1 TLS", _H1)]
_NOTE = ("lighttpd allows 8 streams a connection, whatever the load asks for. Over TLS, handshakes "
         "are in the numbers: one a connection. Caddy is asked a quarter as often "
         "under -c1000 -m100, and over TLS not at all, as it closes connections then.")
_OTHER_TASKS = "Other files, features that are turned off here, or other versions."


def _findings(experiment):
    found = []
    for protocol, load in _FIRST:
        one = {"protocol": protocol, "load": load, "threads": 1}
        what = f"{protocol}, {load}"
        found.append(best_of(experiment, "cpu_us", one, what=what, not_shown=_OTHER_TASKS))
        for peer in ("nginx", "nghttpd", "h2o"):
            found.append(compare_cells(experiment, "cpu_us", {**one, "server": "h2server"},
                                       {**one, "server": peer}, what))
        found.append(ratio_to_floor(experiment, "cpu_us", {**one, "server": "h2server"}, what))
    return found


def _tables():
    columns = [*TABLE, "syscalls", "switches", "wire_bytes"]
    for protocol, load in _FIRST:
        yield Table(f"{protocol}, load {load}, one thread", ("server",), columns,
                    {"protocol": protocol, "load": load, "threads": 1}, seed="article/peers",
                    note=_NOTE)


DEFINITION = Definition(
    "peers",
    "Beside other servers",
    "What does a request for a file of 158 bytes cost here, and on nginx, nghttpd, H2O, lighttpd "
    "and Caddy, each with its configuration tuned for this (lab/peers)?",
    _cells,
    [
        Bars("CPU per request, one thread", "cpu_us", ("protocol", "load"), "server",
             {"threads": 1}),
        *_tables(),
    ],
    _findings,
)
