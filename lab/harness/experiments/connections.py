"""zy-http's tables: one connection per request, and latency at fixed rates."""

from harness.cells import FLOOR
from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.plots import Lines, Statements, Table
from harness.loads import Hey


def _churn(lab, concurrency, status):
    """Returns a load of short connections, `concurrency` at once."""
    # Low concurrency takes longest, and its numbers vary least.
    connections = lab.mode.pick(20_000 if concurrency >= 50 else 10_000, 8_000, 100)
    connections = max(connections, 2 * concurrency)
    shape = {"connections": connections, "concurrency": concurrency, "expect_status": status}
    return own_load(lab, "churn", shape, connections=lab.mode.pick(2_000, 1_000, 50),
                    concurrency=min(concurrency, 100))


def _cells(lab):
    cells = []
    small = lab.file("1k.html", 1024)
    steps = lab.mode.pick([1, 2, 4, 8, 16, 32, 50, 100, 500, 5000], [50, 5000], [4])
    targets = [("1 KB", small, 200), ("404", "/no-such-file", 404)]
    for concurrency in steps:
        for server in [*_servers(lab), floor(lab)]:
            for target, path, status in lab.mode.pick(targets, targets[:1], targets):
                cells.append(load_cell(
                    server, "h1", _churn(lab, concurrency, status),
                    {"target": target, "concurrency": concurrency, "tool": "load"},
                    path=path, status=status, options=_closing(server)))
    return cells + _as_they_did(lab, small) + _at_fixed_rates(lab, small)


def _servers(lab):
    guests = [guest for guest in lab.guests if "h1" in guest.protocols]
    peers = lab.mode.pick(["nginx", "h2o"], ["nginx", "h2o"], [])
    return [ours(lab), *(lab.peers[name] for name in peers), *guests]


def _closing(server):
    """Returns the floor's option to close each connection; it cannot read Connection: close."""
    return ("--close",) if server.name == FLOOR else ()


def _as_they_did(lab, path):
    """Returns cells with hey, the tool of zy-http's author, at one concurrency."""
    load = Hey(lab.mode.pick(100, 100, 4), lab.mode.pick(20_000, 5_000, 100))
    return [
        load_cell(server, "h1", load, {"target": "1 KB", "concurrency": 100, "tool": "hey"},
                  path=path, options=_closing(server))
        for server in [ours(lab), *lab.mode.pick([lab.peers["nginx"]], [], []), floor(lab)]
    ]


def _at_fixed_rates(lab, path):
    cells = []
    for rate in lab.mode.pick([10_000, 20_000, 30_000, 40_000, 50_000], [10_000, 40_000], [500]):
        shape = {"rate": rate, "seconds": lab.mode.pick(2, 0.5, 0.3), "close": True,
                 "connections": lab.mode.pick(100, 100, 4)}
        load = own_load(lab, "open", shape, rate=rate // 2, seconds=0.2)
        for server in [*_servers(lab), floor(lab)]:
            cells.append(load_cell(server, "h1", load,
                                   {"concurrency": 100, "rate": rate, "tool": "open loop"},
                                   path=path, options=_closing(server)))
    return cells


def _findings(experiment):
    found = []
    steps = sorted({run.factors["concurrency"] for run in experiment.runs
                    if run.factors["tool"] == "load"})
    for concurrency in steps[len(steps) // 2:][:1] + steps[-1:]:
        one = {"target": "1 KB", "concurrency": concurrency, "tool": "load"}
        what = f"1 KB, a connection for each request, {concurrency} at once"
        for peer in ("nginx", "h2o"):
            for measure in ("cpu_us", "p99_ms"):
                found.append(compare_cells(experiment, measure, {**one, "server": "h2server"},
                                           {**one, "server": peer}, what))
        found.append(ratio_to_floor(experiment, "cpu_us", {**one, "server": "h2server"}, what))
    return found


_COLUMNS = ["rps", "mean_ms", "p99_ms", "cpu_us", "client_cpu"]

DEFINITION = Definition(
    "connections",
    "A connection for each request",
    "What does a short connection cost, for a file of 1 KB and for one that is not there, with 1 "
    "to 5 000 at once? And how does latency hold at fixed rates? Every server has one worker on the "
    "servers' processors; zy-http had 16 threads.",
    _cells,
    [
        Lines("CPU per short connection, 1 KB", "concurrency", "cpu_us", "server",
              {"target": "1 KB", "tool": "load"}, log_x=True),
        Lines("p99 of short connections, 1 KB", "concurrency", "p99_ms", "server",
              {"target": "1 KB", "tool": "load"}, log_x=True, log_y=True),
        Table("1 KB", ("concurrency", "server"), _COLUMNS, {"target": "1 KB", "tool": "load"},
              seed="zy-http/concurrency", ratio="cpu_us"),
        Table("404", ("concurrency", "server"), _COLUMNS, {"target": "404"},
              seed="zy-http/concurrency", ratio="cpu_us"),
        Table("As zy-http's author measured, with hey", ("server",), _COLUMNS, {"tool": "hey"},
              seed="zy-http/concurrency", ratio="cpu_us"),
        Statements("What zy-http's author says of latency", "zy-http"),
        Table("Fixed rates, a connection for each request, 100 at once", ("rate", "server"),
              [*_COLUMNS, "late_ms"], {"tool": "open loop"}, seed="zy-http/rates", ratio="cpu_us",
              note="Latency counts from when a request was due, and so has the connecting in it."),
    ],
    _findings,
)
