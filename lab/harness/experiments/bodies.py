"""Where most bytes travel: bodies from 20 kB to 100 MB, most of them over TLS."""

from harness.experiments.common import AGAIN_S, PROTOCOLS, floor, load_cell, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.loads import H2load
from harness.plots import Bars, Table
from harness.spread import number

_MEDIUM, _LARGE, _HUGE = 20_000, 1_000_000, 100_000_000
# (protocol, bytes, connections, streams, requests in full and quick mode; None: not in quick mode)
_LOADS = [
    ("h2", _MEDIUM, 100, 100, (100_000, None)),
    ("h1", _MEDIUM, 100, 1, (100_000, None)),
    ("h2", _LARGE, 10, 4, (4_000, 1_000)),
    ("h1 TLS", _LARGE, 10, 1, (4_000, None)),
    ("h1", _LARGE, 10, 1, (4_000, 1_000)),
    ("h2", _HUGE, 4, 1, (40, None)),
    ("h1 TLS", _HUGE, 4, 1, (40, None)),
]


def _peers(protocol):
    """Returns the names of the peers that speak it."""
    return ["nginx", "nghttpd", "h2o"] if protocol == "h2" else ["nginx", "h2o"]


def _load(lab, size, connections, streams, requests):
    full, quick = requests
    return H2load(lab.mode.pick(connections, connections, min(connections, 4)), streams,
                  lab.mode.pick(full, quick, 40 if size < _HUGE else 4))


def _cells(lab):
    cells = []
    for protocol, size, connections, streams, requests in _LOADS:
        if lab.mode.name == "quick" and requests[1] is None:
            continue
        load = _load(lab, size, connections, streams, requests)
        path = lab.file(f"{size}.bin", size)
        peers = [lab.peers[name] for name in _peers(protocol)]
        for server in (ours(lab), *peers, floor(lab)):
            cells.append(load_cell(server, protocol, load, {"bytes": size}, path=path,
                                   pause_s=lab.mode.pick(AGAIN_S, AGAIN_S, 0)))
    return cells


def _findings(experiment):
    return [compare_cells(experiment, "cpu_us",
                          {"bytes": size, "protocol": protocol, "server": "h2server"},
                          {"bytes": size, "protocol": protocol, "server": peer},
                          f"{protocol}, {number(size)} B")
            for protocol, size, *_ in _LOADS for peer in _peers(protocol)]


_NOTE = ("20 kB: 100 connections, with 100 streams on HTTP/2. 1 MB: 10 connections, with 4 streams. "
         "100 MB: 4 connections. TLS 1.3 with AES-128-GCM. Each server is warmed up twice, "
         f"{AGAIN_S} s apart.")

DEFINITION = Definition(
    "bodies",
    "Where most bytes travel",
    "What does a body of 20 kB, 1 MB and 100 MB cost, over TLS and by sendfile, where the time goes "
    "into encryption and into the kernel's copies?",
    _cells,
    [
        *(Bars(f"CPU per request, {number(size)} B", "cpu_us", "protocol", "server", {"bytes": [size]})
          for size in (_MEDIUM, _LARGE, _HUGE)),
        Table("CPU per request", ("bytes", "protocol", "server"),
              ["cpu_us", "rps", "p99_ms", "wire_bytes", "rss_kib", "client_cpu"],
              {"protocol": list(PROTOCOLS)}, note=_NOTE),
    ],
    _findings,
)
