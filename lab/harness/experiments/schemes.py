"""Figures 4, 5 and 6 of Lim et al. (seeds.py): time for all clients, by scheme and by number of workers."""

from harness.cells import cells_of
from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import Finding, compare_cells
from harness.plots import Lines, Statements, Table
from harness.spread import ratio

MESSAGE_BYTES = 1204
_NAMES = {
    "process-per-connection": "PPR", "thread-per-connection": "TPR",
    "thread-pool": "TWP", "buffered-pool": "TWPB",
}
_LOOPS = [("acceptor", "epoll"), ("acceptor", "io_uring"), ("reuseport", "epoll"),
          ("reuseport", "io_uring")]
# Factor "pool": "enough" if every client has a worker, "counted" if the number of workers varies.
_ENOUGH = 160  # a worker for every client: "sufficiently many", as in figure 4


def _load(lab, clients, messages):
    """Returns a load of N clients, each with several connections and messages on each."""
    clients = lab.mode.pick(clients, clients, 4)
    # Theirs has 100, and 20 in figure 5. Figure 6 uses 20 here as well, to save minutes.
    connections = lab.mode.pick(100 if messages == 2 else 20, 10, 2)
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
        for messages in lab.mode.pick((2, 20), (20,), (2, 20)):
            for scheme in _NAMES:
                cells.append(_cell(lab, ours(lab, scheme, "blocking"),
                                   {"scheme": _NAMES[scheme], "pool": "enough"},
                                   clients, messages, _ENOUGH))
            for scheme, engine in lab.mode.pick(_LOOPS, _LOOPS[:2], _LOOPS[:1]):
                cells.append(_cell(lab, ours(lab, scheme, engine),
                                   {"scheme": scheme, "engine": engine, "pool": "enough"},
                                   clients, messages))
            cells.append(_cell(lab, floor(lab), {"pool": "enough"}, clients, messages))
    return cells + _pools(lab)


def _pools(lab):
    """Returns the cells of figures 5 and 6: pools of different sizes."""
    cells = []
    for clients in lab.mode.pick([50, 100], [100], []):
        for messages in lab.mode.pick([2, 20], [20], []):
            for workers in lab.mode.pick([1, 2, 4, 8, 16, 32, 64, 100], [1, 16, 64], []):
                for scheme in ("thread-pool", "buffered-pool"):
                    cells.append(_cell(lab, ours(lab, scheme, "blocking"),
                                       {"scheme": _NAMES[scheme], "pool": "counted",
                                        "workers": workers},
                                       clients, messages, workers))
            cells.append(_cell(lab, floor(lab), {"pool": "counted"}, clients, messages))
    return cells


def _findings(experiment):
    found = []
    clients = max((run.factors["clients"] for run in experiment.runs), default=0)
    for messages in (2, 20):
        one = {"clients": clients, "messages": messages}
        what = f"{clients} clients, {messages} exchanges a connection"
        found.append(_compare(experiment, one, "TPR", "PPR", what))
        found.append(_compare(experiment, one, "TWPB", "PPR", what))
        found.append(_compare(experiment, one, "TWPB", "TWP", what))
        found.append(_compare(experiment, one, "acceptor", "TWPB", what))
    return found + [_a_sixth(experiment, scheme, clients)
                    for scheme in ("TWP", "TWPB") for clients in (50, 100)]


def _compare(experiment, one, scheme, other, what):
    """Compares cells of figure 4. Pools with enough workers have no factor "workers"."""
    def cell(name):
        engine = {"engine": "io_uring"} if name == "acceptor" else {}
        return {**one, **engine, "scheme": name, "pool": "enough"}

    return compare_cells(experiment, "elapsed_s", cell(scheme), cell(other), what,
                         "A line between client and server, or work other than answering.",
                         (scheme, other))


def _differs(cell, other):
    found = ratio(cell.values("elapsed_s"), other.values("elapsed_s"))
    return found is not None and found.differs


def _a_sixth(experiment, scheme, clients):
    """Tests the rule of Lim et al. that a pool needs workers for a sixth of its connections."""
    where = {"scheme": scheme, "messages": 20, "clients": clients, "pool": "counted"}
    cells = sorted((cell for cell in cells_of(experiment, where) if cell.values("elapsed_s")),
                   key=lambda cell: cell.factors["workers"])
    if len(cells) < 3:
        return None
    best = min(cells, key=lambda cell: cell.median("elapsed_s"))
    alike = [cell for cell in cells
             if cell is best
             or not _differs(cell, best)]
    sizes, enough = (", ".join(str(cell.factors["workers"]) for cell in some)
                     for some in (cells, alike))
    return Finding(
        f"Of pools with {sizes} workers, {best.factors['workers']} took the least time "
        f"({best.median('elapsed_s'):.2f} s); not beyond the spread from it: {enough} ({scheme}, "
        f"{clients} clients, 20 exchanges a connection). The rule of Lim et al., a sixth of the "
        f"connections, would be {clients / 6:.0f}.",
        "note",
        "Clients that think between their requests, or a line with a delay: there a worker waits.",
    )


DEFINITION = Definition(
    "schemes",
    "Who serves a connection",
    "How long does it take until all clients are served, by a process or a thread for each "
    "connection (PPR, TPR), a pool whose threads accept (TWP), a pool with a buffer (TWPB), or "
    "one event loop (acceptor, reuseport)? Each client exchanges messages of 1 204 bytes, 2 on each "
    "of 100 connections or 20 on each of 20 (10 connections in a quick run).",
    _cells,
    [
        Lines("2 exchanges a connection (figure 4 of Lim et al.)", "clients", "elapsed_s",
              ("server", "scheme", "engine"),
              {"messages": 2, "pool": "enough"}, log_y=True),
        Lines("20 exchanges a connection", "clients", "elapsed_s", ("server", "scheme", "engine"),
              {"messages": 20, "pool": "enough"}, log_y=True),
        Lines("Workers of a pool, 50 clients, 20 exchanges (figure 5 of Lim et al.)", "workers", "elapsed_s",
              "scheme", {"clients": 50, "messages": 20, "pool": "counted"}, log_x=True),
        Lines("Workers of a pool, 100 clients, 20 exchanges (figure 6 of Lim et al.)", "workers", "elapsed_s",
              "scheme", {"clients": 100, "messages": 20, "pool": "counted"}, log_x=True),
        *(Lines(f"Workers of a pool, {clients} clients, 2 exchanges", "workers", "elapsed_s",
                "scheme", {"clients": clients, "messages": 2, "pool": "counted"}, log_x=True)
          for clients in (50, 100)),
        Table("With a worker for each client", ("messages", "clients", "server", "scheme", "engine"),
              ["elapsed_s", "cpu_us", "p50_ms", "p99_ms", "rss_kib", "client_cpu"],
              {"pool": "enough"}),
        Table("With a given number of workers", ("messages", "clients", "server", "workers", "scheme"),
              ["elapsed_s", "cpu_us", "p50_ms", "p99_ms", "rss_kib", "client_cpu"],
              {"pool": "counted"}),
        Statements("What Lim et al. say", "paper"),
    ],
    _findings,
)
