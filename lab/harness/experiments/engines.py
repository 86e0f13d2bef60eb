"""Every scheme on each of its engines, by load."""

from harness.experiments.common import SMALL, TABLE, floor, h1_load, h2_load, load_cell, ours
from harness.experiments.common import own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.plots import HeatMap, Table

PAIRS = [
    ("acceptor", "epoll"), ("acceptor", "io_uring"), ("reuseport", "epoll"),
    ("reuseport", "io_uring"), ("thread-pool", "blocking"), ("buffered-pool", "blocking"),
    ("thread-per-connection", "blocking"), ("process-per-connection", "blocking"),
]
_COUNTED = ("h1 -c100", f"h2c {SMALL}")  # system calls are counted
_WORKERS = 128  # of a pool: more than connections, since each connection keeps a thread


def _loads(lab):
    """Returns {name: (protocol, load)}."""
    churn = {"connections": lab.mode.pick(10_000, 4_000, 100),
             "concurrency": lab.mode.pick(50, 50, 4)}
    return {
        "h1 -c100": ("h1", h1_load(lab)),
        "h1 TLS -c100": ("h1 TLS", h1_load(lab)),
        f"h2c {SMALL}": ("h2c", h2_load(lab, SMALL)),
        f"h2 {SMALL}": ("h2", h2_load(lab, SMALL)),
        "short connections": ("h1", own_load(lab, "churn", churn, connections=200)),
    }


def _cells(lab):
    cells = []
    for name, (protocol, load) in _loads(lab).items():
        short = name == "short connections"
        if lab.mode.name != "full" and protocol in ("h1 TLS", "h2"):
            continue
        if lab.mode.name == "quick" and short:
            continue
        for scheme, engine in PAIRS:
            threads = _WORKERS if scheme.endswith("-pool") else 1
            server = ours(lab, scheme, engine)
            # strace cannot attach to processes that come and go.
            counted = name in _COUNTED and not server.transient
            cells.append(load_cell(server, protocol, load,
                                   {"scheme": scheme, "engine": engine, "load": name},
                                   syscalls=counted, threads=threads))
        for engine in ("epoll", "io_uring"):
            cells.append(load_cell(floor(lab, engine), protocol, load,
                                   {"engine": engine, "load": name},
                                   syscalls=name in _COUNTED,
                                   options=("--close",) if short else ()))
    return cells


def _findings(experiment):
    found = []
    loads = dict.fromkeys(run.factors["load"] for run in experiment.runs)
    for load in loads:
        one = {"load": load, "server": "h2server"}
        for scheme in ("acceptor", "reuseport"):
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "scheme": scheme, "engine": "io_uring"},
                {**one, "scheme": scheme, "engine": "epoll"}, f"{scheme}, {load}",
                "Other kernels: io_uring changes with each.", ("io_uring", "epoll")))
        found.append(ratio_to_floor(
            experiment, "cpu_us", {**one, "scheme": "reuseport", "engine": "io_uring"},
            f"reuseport on io_uring, {load}"))
    return found


DEFINITION = Definition(
    "engines",
    "Every scheme on every engine",
    "What does the same connection code cost under each scheme, on epoll, io_uring and blocking "
    "calls? One worker, or as many threads as there are connections.",
    _cells,
    [
        HeatMap("CPU µs per request", "load", ("server", "scheme", "engine"), "cpu_us"),
        Table("All cells", ("load", "server", "scheme", "engine"), [*TABLE, "syscalls"],
              note="io_uring does in one system call what is one call each on epoll."),
    ],
    _findings,
)
