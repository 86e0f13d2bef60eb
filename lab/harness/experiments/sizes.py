"""The content-size study: cost of a request by the size of its file."""

from harness.experiments.common import AGAIN_S, PROTOCOLS, floor, load_cell, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells, crossing_of
from harness.plots import Lines, Statements, Table
from harness.loads import H2load


def _load(lab, protocol, size):
    """Returns a load of 100 connections, with 100 streams on HTTP/2, as in the study."""
    bytes_all = lab.mode.pick(1_000_000_000, 250_000_000, 20_000_000)
    requests_max = lab.mode.pick(100_000, 20_000, 200)
    requests = max(min(requests_max, bytes_all // size), 20)
    connections = min(100, requests // 2, lab.mode.pick(100, 100, 4))
    # Fewer streams for large files: responses in flight take memory.
    streams = 1 if protocol.startswith("h1") else (100 if size <= 100_000 else 4)
    return H2load(connections, streams, requests)


def _cells(lab):
    cells = []
    sizes = lab.mode.pick([21, 6000, 20_000, 100_000, 1_000_000, 10_000_000],
                          [21, 20_000, 1_000_000], [21, 100_000])
    protocols = lab.mode.pick(list(PROTOCOLS), ["h1", "h2c", "h2"], ["h1", "h2"])
    for size in sizes:
        path = lab.file(f"{size}.bin", size)
        for protocol in protocols:
            for server in _servers(lab, protocol):
                cells.append(load_cell(server, protocol, _load(lab, protocol, size),
                                       {"bytes": size}, syscalls=size <= 1_000_000,
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
            (f"nghttpd over {protocol}", "nginx over HTTP/1.1"), "the study's servers", unit=" B"))
    for size in (6000, 20_000, 1_000_000):
        for protocol, peer in _RIVALS:
            one = {"bytes": size, "protocol": protocol}
            found.append(compare_cells(experiment, "cpu_us", {**one, "server": "h2server"},
                                       {**one, "server": peer}, f"{protocol}, {size:,} B"))
    one = {"bytes": 20_000, "protocol": "h2c"}
    found.append(compare_cells(experiment, "syscalls", {**one, "server": "h2server"},
                               {**one, "server": "nghttpd"}, "h2c, 20 000 B"))
    return found


_NOTE = ("The load changes with the size: 100 connections with 100 streams up to 100 kB, then 4 streams; "
         "of 10 MB 50 connections ask twice. h2server's system calls are those of the engine that the "
         "environment names: engines has both.")


def _lines(protocol):
    return Lines(f"{protocol}: CPU per request by size of the file", "bytes", "cpu_us", "server",
                 {"protocol": protocol}, log_x=True, log_y=True, note=_NOTE)


DEFINITION = Definition(
    "sizes",
    "How large the file is (the content-size study)",
    "How does the cost of a request grow with its file, over HTTP/1.1 and HTTP/2, in cleartext and "
    "with TLS? The study saw nghttpd's HTTP/2 fall below nginx's HTTP/1.1 from 6 kB on, and "
    "explained it by system calls. It measured SPDY/3.1 as well, which fell too; nothing speaks that today.",
    _cells,
    [
        *(_lines(protocol) for protocol in PROTOCOLS),
        Lines("h2server: HTTP/2 and HTTP/1.1", "bytes", "cpu_us", "protocol",
              {"server": "h2server"}, log_x=True, log_y=True),
        Lines("System calls a request", "bytes", "syscalls", ("server", "protocol"),
              {"protocol": ["h1", "h2c"], "server": ["h2server", "nginx", "nghttpd", "h2o"]},
              log_x=True, log_y=True),
        *(Table(f"{protocol}", ("bytes", "server"),
                ["cpu_us", "rps", "p99_ms", "syscalls", "wire_bytes", "client_cpu"],
                {"protocol": protocol}, note=_NOTE) for protocol in PROTOCOLS),
        Statements("What the study says", "content size"),
    ],
    _findings,
)
