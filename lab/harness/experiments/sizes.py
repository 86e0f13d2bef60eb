"""The content-size study: what a request costs as its file grows."""

from harness.experiments.common import PROTOCOLS, floor, load_cell, ours
from harness.experiments.definition import Definition
from harness.loads import H2load


def _load(lab, protocol, size):
    """100 connections; 100 streams on HTTP/2, as in the study; requests by the bytes there are."""
    bytes_all = lab.mode.pick(1_000_000_000, 250_000_000, 20_000_000)
    requests_max = lab.mode.pick(100_000, 20_000, 200)
    requests = max(min(requests_max, bytes_all // size), 20)
    connections = min(100, requests // 2, lab.mode.pick(100, 100, 4))
    # Of large files fewer at once: what is under way lies in memory.
    streams = 1 if protocol.startswith("h1") else (100 if size <= 100_000 else 4)
    return H2load(connections, streams, requests)


def _cells(lab):
    cells = []
    sizes = lab.mode.pick([21, 1000, 6000, 20_000, 100_000, 1_000_000, 10_000_000],
                          [21, 6000, 20_000, 1_000_000], [21, 100_000])
    protocols = lab.mode.pick(list(PROTOCOLS), ["h1", "h2c", "h2"], ["h1", "h2"])
    for size in sizes:
        path = lab.file(f"{size}.bin", size)
        for protocol in protocols:
            for server in _servers(lab, protocol):
                cells.append(load_cell(server, protocol, _load(lab, protocol, size),
                                       {"bytes": size}, syscalls=size <= 1_000_000, path=path))
    return cells


def _servers(lab, protocol):
    peers = [lab.peers[name] for name in lab.mode.pick(["nginx", "nghttpd", "h2o"],
                                                       ["nginx", "nghttpd"], [])]
    return [ours(lab), *(peer for peer in peers if protocol in peer.protocols), floor(lab)]


DEFINITION = Definition("sizes", "sizes", "", _cells, [], lambda experiment: [])
