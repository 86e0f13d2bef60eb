"""Latency against offered load, up to overload."""

from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells, knee_of
from harness.plots import Lines, Percentiles, Table

_CONNECTIONS = 64
_STREAMS = {"h1": 1, "h2c": 10}


def _rates(lab, protocol):
    if protocol == "h1":
        return lab.mode.pick([10_000, 40_000, 60_000, 80_000, 100_000, 120_000],
                             [40_000, 80_000], [500])
    return lab.mode.pick([50_000, 100_000, 150_000, 200_000, 250_000],
                         [100_000, 150_000], [500])


def _cells(lab):
    cells = []
    for protocol, streams in _STREAMS.items():
        peers = {"h1": ["nginx", "h2o"], "h2c": ["nghttpd", "h2o"]}[protocol]
        names = lab.mode.pick(peers, peers[:1], [])
        for rate in _rates(lab, protocol):
            shape = {"rate": rate, "seconds": lab.mode.pick(1, 0.5, 0.3), "streams": streams,
                     "connections": lab.mode.pick(_CONNECTIONS, _CONNECTIONS, 4)}
            load = own_load(lab, "open", shape, rate=500, seconds=0.2)
            for engine in ("epoll", "io_uring"):
                cells.append(load_cell(ours(lab, engine=engine), protocol, load,
                                       {"rate": rate, "engine": engine}))
            for server in [*(lab.peers[name] for name in names), floor(lab)]:
                cells.append(load_cell(server, protocol, load, {"rate": rate}))
    return cells


def _findings(experiment):
    found = []
    for protocol in _STREAMS:
        for engine in ("epoll", "io_uring"):
            found.append(knee_of(experiment, "rate", {"server": "h2server", "protocol": protocol,
                                                      "engine": engine}, f"{protocol}, {engine}"))
        for peer in ("nginx", "nghttpd", "h2o", "floor"):
            one = {"server": peer, "protocol": protocol}
            found.append(knee_of(experiment, "rate", one, protocol))
        rate = 40_000 if protocol == "h1" else 100_000
        for peer in ("nginx", "nghttpd", "h2o"):
            found.append(compare_cells(
                experiment, "p99_ms",
                {"server": "h2server", "protocol": protocol, "engine": "io_uring", "rate": rate},
                {"server": peer, "protocol": protocol, "rate": rate},
                f"{protocol} at {rate:,}/s"))
    return found


def _figures():
    for protocol in _STREAMS:
        for measure in ("p50_ms", "p99_ms"):
            yield Lines(f"{protocol}: {measure[:3]} against offered load", "rate", measure,
                        ("server", "engine"), {"protocol": protocol}, log_y=True,
                        x_label="requests offered a second")
        yield Table(f"{protocol}", ("rate", "server", "engine"),
                    ["p50_ms", "p99_ms", "p999_ms", "max_ms", "rps", "cpu_us", "late_ms"],
                    {"protocol": protocol}, ratio="cpu_us")
    yield Percentiles("HTTP/1.1 at 40 000 requests a second", ("server", "engine"),
                      {"protocol": "h1", "rate": 40_000})
    yield Percentiles("h2c at 100 000 requests a second", ("server", "engine"),
                      {"protocol": "h2c", "rate": 100_000})


DEFINITION = Definition(
    "latency",
    "Latency against offered load",
    "How long do requests take at a given rate, and at which rate does a server no longer keep up? "
    "Requests are due at fixed times whatever the server does, and latency counts from then.",
    _cells,
    list(_figures()),
    _findings,
)
