"""The paper's figures 4, 5 and 6: time for all clients, by scheme and by number of workers."""

from harness.cells import cells_of
from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import Finding, compare_cells
from harness.plots import Lines, Statements, Table

MESSAGE_BYTES = 1204
_PAPER = {
    "process-per-connection": "PPR", "thread-per-connection": "TPR",
    "thread-pool": "TWP", "buffered-pool": "TWPB",
}
_LOOPS = ["epoll", "io_uring"]
# Factor "pool": "enough" where every client has a worker, "counted" where that is what varies.
_ENOUGH = 160  # workers for every client: "sufficiently many", as in figure 4


def _load(lab, clients, messages):
    """N clients, each of which connects some times and exchanges messages on each connection."""
    clients = lab.mode.pick(clients, clients, 4)
    connections = lab.mode.pick(20, 10, 2)
    shape = {"clients": clients, "connections": connections, "messages": messages,
             "message_bytes": MESSAGE_BYTES}
    return own_load(lab, "exchange", shape, clients=4, connections=2, messages=2)


def _cell(lab, server, factors, clients, messages, threads=1):
    return load_cell(
        server, "h1", _load(lab, clients, messages),
        {"clients": clients, "messages": messages, **factors}, threads=threads,
        path=lab.file("message.bin", MESSAGE_BYTES),
    )


def _cells(lab):
    cells = []
    for clients in lab.mode.pick([50, 100, 150], [50, 150], [4]):
        for messages in (2, 20):
            for scheme in _PAPER:
                cells.append(_cell(lab, ours(lab, scheme, "blocking"),
                                   {"scheme": _PAPER[scheme], "pool": "enough"},
                                   clients, messages, _ENOUGH))
            for engine in lab.mode.pick(_LOOPS, _LOOPS, _LOOPS[:1]):
                cells.append(_cell(lab, ours(lab, "acceptor", engine),
                                   {"scheme": "event loop", "engine": engine, "pool": "enough"},
                                   clients, messages))
            cells.append(_cell(lab, floor(lab), {"pool": "enough"}, clients, messages))
    return cells + _pools(lab)


def _pools(lab):
    """Figures 5 and 6: pools of different sizes."""
    cells = []
    for clients in lab.mode.pick([50, 100], [100], []):
        for messages in lab.mode.pick([2, 20], [20], []):
            for workers in lab.mode.pick([1, 2, 4, 8, 16, 32, 64, 100], [1, 16, 64], []):
                for scheme in ("thread-pool", "buffered-pool"):
                    cells.append(_cell(lab, ours(lab, scheme, "blocking"),
                                       {"scheme": _PAPER[scheme], "pool": "counted",
                                        "workers": workers},
                                       clients, messages, workers))
            cells.append(_cell(lab, floor(lab), {"pool": "counted"}, clients, messages))
    return cells


_ENOUGH_WORSE = 1.1  # a pool is large enough where its time is within a tenth of the best


def _findings(experiment):
    found = []
    clients = max((run.factors["clients"] for run in experiment.runs), default=0)
    for messages in (2, 20):
        one = {"clients": clients, "messages": messages}
        what = f"{clients} clients, {messages} exchanges a connection"
        found.append(_paper_compare(experiment, one, "TPR", "PPR", what))
        found.append(_paper_compare(experiment, one, "TWPB", "PPR", what))
        found.append(_paper_compare(experiment, one, "TWPB", "TWP", what))
        found.append(_paper_compare(experiment, one, "event loop", "TWPB", what))
    return found + [_a_sixth(experiment, scheme) for scheme in ("TWP", "TWPB")]


def _paper_compare(experiment, one, scheme, other, what):
    """Figure 4's cells: those of pools with enough workers have no factor that says how many."""
    def cell(name):
        engine = {"engine": "io_uring"} if name == "event loop" else {}
        return {**one, **engine, "scheme": name, "pool": "enough"}

    return compare_cells(experiment, "elapsed_s", cell(scheme), cell(other), what,
                         "A line between client and server, or work other than answering.",
                         (scheme, other))


def _a_sixth(experiment, scheme):
    """Does a pool still need a worker for every sixth connection?"""
    cells = [cell for cell in cells_of(experiment, {"scheme": scheme, "messages": 20})
             if "workers" in cell.factors]
    clients = max((cell.factors["clients"] for cell in cells), default=0)
    times = {cell.factors["workers"]: cell.median("elapsed_s")
             for cell in cells if cell.factors["clients"] == clients}
    if len(times) < 3:
        return None
    best = min(times.values())
    enough = min(workers for workers, time in times.items() if time <= best * _ENOUGH_WORSE)
    sizes = ", ".join(map(str, sorted(times)))
    return Finding(
        f"Of pools with {sizes} workers, the smallest that came within a tenth of the best time "
        f"({best:.2f} s) has {enough} ({scheme}, {clients} clients, 20 exchanges a connection); the "
        f"paper's rule, a sixth of the connections, would be {clients / 6:.0f}.",
        "note",
        "Clients that think between their requests, or a line with a delay: there a worker waits.",
    )


DEFINITION = Definition(
    "schemes",
    "Who serves a connection (the paper's figures 4, 5 and 6)",
    "How long does it take until all clients are served, by a process or a thread for each "
    "connection (PPR, TPR), a pool whose threads accept (TWP), a pool with a buffer (TWPB), or "
    "event loops? Each client connects 20 times (10 in a quick run), and exchanges messages of "
    "1 204 bytes on each connection.",
    _cells,
    [
        Lines("Figure 4: 2 exchanges a connection", "clients", "elapsed_s",
              ("server", "scheme", "engine"),
              {"messages": 2, "pool": "enough"}),
        Lines("20 exchanges a connection", "clients", "elapsed_s", ("server", "scheme", "engine"),
              {"messages": 20, "pool": "enough"}),
        Lines("Figure 5: workers of a pool, 50 clients, 20 exchanges", "workers", "elapsed_s",
              "scheme", {"clients": 50, "messages": 20, "pool": "counted"}, log_x=True),
        Lines("Figure 6: workers of a pool, 100 clients, 20 exchanges", "workers", "elapsed_s",
              "scheme", {"clients": 100, "messages": 20, "pool": "counted"}, log_x=True),
        *(Lines(f"Workers of a pool, {clients} clients, 2 exchanges", "workers", "elapsed_s",
                "scheme", {"clients": clients, "messages": 2, "pool": "counted"}, log_x=True)
          for clients in (50, 100)),
        Table("Figure 4's cells", ("messages", "clients", "server", "scheme", "engine"),
              ["elapsed_s", "cpu_us", "p50_ms", "p99_ms", "rss_kib", "client_cpu"],
              {"pool": "enough"}),
        Table("Cells of figures 5 and 6", ("messages", "clients", "server", "workers", "scheme"),
              ["elapsed_s", "cpu_us", "p50_ms", "p99_ms", "rss_kib", "client_cpu"],
              {"pool": "counted"}),
        Statements("What the paper says", "paper"),
    ],
    _findings,
)
