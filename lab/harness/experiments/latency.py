"""New: latency against offered load, up to where the server no longer keeps up."""

from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition

_CONNECTIONS = 64
_STREAMS = {"h1": 1, "h2c": 10}


def _rates(lab, protocol):
    if protocol == "h1":
        return lab.mode.pick([5_000, 20_000, 40_000, 60_000, 80_000, 100_000, 120_000],
                             [10_000, 40_000, 80_000], [500])
    return lab.mode.pick([20_000, 60_000, 100_000, 150_000, 200_000, 250_000],
                         [20_000, 80_000, 150_000], [500])


def _cells(lab):
    cells = []
    for protocol, streams in _STREAMS.items():
        peers = {"h1": ["nginx", "h2o"], "h2c": ["nghttpd", "h2o"]}[protocol]
        names = lab.mode.pick(peers, peers[:1], [])
        for rate in _rates(lab, protocol):
            shape = ("--rate", rate, "--seconds", lab.mode.pick(1.5, 1, 0.3), "--connections",
                     lab.mode.pick(_CONNECTIONS, _CONNECTIONS, 4), "--streams", streams)
            load = own_load(lab, "open", shape, ("--rate", 500, "--seconds", 0.2, "--connections", 4))
            for engine in ("epoll", "io_uring"):
                cells.append(load_cell(ours(lab, engine=engine), protocol, load,
                                       {"rate": rate, "engine": engine}))
            for server in [*(lab.peers[name] for name in names), floor(lab)]:
                cells.append(load_cell(server, protocol, load, {"rate": rate}))
    return cells


DEFINITION = Definition("latency", "latency", "", _cells, [], lambda experiment: [])
