"""The content-size study: cost of a request by the size of its file."""

import dataclasses

from harness import servers
from harness.experiments.common import (
    AGAIN_S, PROTOCOLS, SPDY_PROTOCOLS, floor, load_cell, ours, own_load)
from harness.experiments.definition import Definition
from harness.findings import compare_cells, crossing_of
from harness.plots import Lines, Statements, Table
from harness.loads import H2load
from harness.spread import number


BY_LOAD = "h2server (lab/load)"  # over HTTP/2, with the client of SPDY
_H2 = ("h2c", "h2")


def _amounts(lab, protocol, size):
    """Returns (connections, streams, requests): 100 connections, and 100 streams, as matsumoto-r had."""
    bytes_all = lab.mode.pick(1_000_000_000, 200_000_000, 20_000_000)
    requests_max = lab.mode.pick(100_000, 20_000, 200)
    requests = max(min(requests_max, bytes_all // size), 20)
    connections = min(100, requests // 2, lab.mode.pick(100, 100, 4))
    # Fewer streams for large files: responses in flight take memory.
    streams = 1 if protocol.startswith("h1") else (100 if size <= 100_000 else 4)
    return connections, streams, requests


def _own_load(lab, protocol, size):
    """Returns the same load by lab/load. h2load does not speak SPDY."""
    connections, streams, requests = _amounts(lab, protocol, size)
    few = min(max(requests // 10, 20), 4000)
    return own_load(lab, "closed",
                    {"connections": connections, "streams": streams, "requests": requests},
                    requests=few, connections=max(few // 200, 1))


def _cells(lab):
    cells = []
    spdy = servers.spdy(lab.build)
    by_load = dataclasses.replace(ours(lab), name=BY_LOAD)
    sizes = lab.mode.pick([21, 6000, 20_000, 100_000, 1_000_000, 10_000_000],
                          [21, 20_000, 1_000_000], [21, 100_000])
    protocols = lab.mode.pick(list(PROTOCOLS), ["h1", "h2c"], ["h1", "h2"])
    own = lab.mode.pick([*((spdy, name) for name in SPDY_PROTOCOLS),
                         *((by_load, name) for name in _H2)],
                        [(spdy, "spdy"), (by_load, "h2c")],
                        [*((spdy, name) for name in SPDY_PROTOCOLS), (by_load, "h2")])
    for size in sizes:
        path = lab.file(f"{size}.bin", size)
        loads = [(server, protocol, H2load(*_amounts(lab, protocol, size)))
                 for protocol in protocols for server in _servers(lab, protocol)]
        loads += [(server, protocol, _own_load(lab, protocol, size)) for server, protocol in own]
        for server, protocol, load in loads:
            cells.append(load_cell(server, protocol, load, {"bytes": size},
                                   syscalls=size <= 1_000_000,
                                   pause_s=AGAIN_S if size >= 100_000 else 0, path=path))
    return cells


def _servers(lab, protocol):
    peers = [lab.peers[name] for name in lab.mode.pick(["nginx", "nghttpd", "h2o"],
                                                       ["nginx", "nghttpd"], [])]
    return [ours(lab), *(peer for peer in peers if protocol in peer.protocols), floor(lab)]


_RIVALS = [("h1", "nginx"), ("h2c", "nghttpd"), ("h2", "nghttpd"), ("h2", "h2o")]


def _findings(experiment):
    found = []
    for server in ("h2server", "h2o"):
        found.append(crossing_of(
            experiment, "cpu_us", "bytes", {"server": server, "protocol": "h2c"},
            {"server": server, "protocol": "h1"},
            (f"{server} over h2c", "the same over HTTP/1.1"), unit=" B"))
    for protocol in ("h2c", "h2"):
        found.append(crossing_of(
            experiment, "cpu_us", "bytes", {"server": "nghttpd", "protocol": protocol},
            {"server": "nginx", "protocol": "h1"},
            (f"nghttpd over {protocol}", "nginx over HTTP/1.1"), "matsumoto-r's servers", unit=" B"))
    found += _spdy_findings(experiment)
    for size in (6000, 20_000, 1_000_000):
        for protocol, peer in _RIVALS:
            one = {"bytes": size, "protocol": protocol}
            found.append(compare_cells(experiment, "cpu_us", {**one, "server": "h2server"},
                                       {**one, "server": peer}, f"{protocol}, {number(size)} B"))
    one = {"bytes": 20_000, "protocol": "h2c"}
    found.append(compare_cells(experiment, "syscalls", {**one, "server": "h2server"},
                               {**one, "server": "nghttpd"}, "h2c, 20 000 B"))
    return found


def _spdy_findings(experiment):
    """Where SPDY/3.1 crosses HTTP/1.1, and what it costs beside HTTP/2 under the same client."""
    found = []
    for spdy, h1, h2 in (("spdy", "h1", "h2c"), ("spdy TLS", "h1 TLS", "h2")):
        ours = {"server": "h2server", "protocol": spdy}
        found.append(crossing_of(
            experiment, "cpu_us", "bytes", ours, {"server": "h2server", "protocol": h1},
            (f"h2server's core over {spdy}", f"h2server over {h1}"),
            "SPDY/3.1 by lab/load, HTTP/1.1 by h2load", unit=" B"))
        found.append(crossing_of(
            experiment, "cpu_us", "bytes", ours, {"server": BY_LOAD, "protocol": h2},
            (f"h2server's core over {spdy}", f"h2server over {h2}"), "both by lab/load", unit=" B"))
        for size in (21, 20_000, 1_000_000):
            one = {"bytes": size}
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "server": BY_LOAD, "protocol": h2}, {**one, **ours},
                f"{number(size)} B, both by lab/load", names=(f"HTTP/2 ({h2})", f"SPDY/3.1 ({spdy})")))
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "server": BY_LOAD, "protocol": h2},
                {**one, "server": "h2server", "protocol": h2}, f"{h2}, {number(size)} B: the client",
                names=("h2server under lab/load", "h2server under h2load")))
    return found


_NOTE = ("The load changes with the size: 100 connections with 100 streams up to 100 kB, then 4 streams; "
         "of 10 MB 50 connections ask twice. h2server's system calls are those of the engine that the "
         "environment names: engines has both. SPDY/3.1, and HTTP/2 where it says so, are loaded by "
         "lab/load instead of h2load; the floor does not speak SPDY.")


def _lines(protocol):
    return Lines(f"{protocol}: CPU per request by size of the file", "bytes", "cpu_us", "server",
                 {"protocol": protocol}, log_x=True, log_y=True, note=_NOTE)


DEFINITION = Definition(
    "sizes",
    "How large the file is",
    "How does the cost of a request grow with its file, over HTTP/1.1 and HTTP/2, in cleartext and "
    "with TLS? matsumoto-r saw nghttpd's HTTP/2 fall below nginx's HTTP/1.1 from 6 kB on, and "
    "explained it by system calls. SPDY/3.1 fell, too; no server of today speaks it, so a session of "
    "the lab does, on h2server's core.",
    _cells,
    [
        *(_lines(protocol) for protocol in PROTOCOLS),
        Lines("h2server: SPDY/3.1, HTTP/2 and HTTP/1.1", "bytes", "cpu_us", "protocol",
              {"server": "h2server"}, log_x=True, log_y=True, note=_NOTE),
        Lines("SPDY/3.1 and HTTP/2, by client", "bytes", "cpu_us", ("server", "protocol"),
              {"server": ["h2server", BY_LOAD], "protocol": [*SPDY_PROTOCOLS, *_H2]},
              log_x=True, log_y=True, note=_NOTE),
        Lines("System calls a request", "bytes", "syscalls", ("server", "protocol"),
              {"protocol": ["h1", "h2c", "spdy"], "server": ["h2server", "nginx", "nghttpd", "h2o"]},
              log_x=True, log_y=True),
        *(Table(f"{protocol}", ("bytes", "server"),
                ["cpu_us", "rps", "p99_ms", "syscalls", "wire_bytes", "client_cpu"],
                {"protocol": protocol}, note=_NOTE) for protocol in PROTOCOLS),
        Table("SPDY/3.1, and HTTP/2 under the same client", ("bytes", "protocol", "server"),
              ["cpu_us", "rps", "p99_ms", "syscalls", "wire_bytes", "client_cpu"],
              {"server": ["h2server", BY_LOAD], "protocol": [*SPDY_PROTOCOLS, *_H2]}, floor=None,
              note=_NOTE),
        Statements("What matsumoto-r says", "content size"),
    ],
    _findings,
)
