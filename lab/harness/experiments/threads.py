"""One listener per worker against one acceptor that hands over."""

from harness.experiments.common import LARGE, SMALL, TABLE, floor, h2_load, load_cell, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.plots import Lines, Table


def _cells(lab):
    cells = []
    for load in lab.mode.pick([SMALL, LARGE], [SMALL], [SMALL]):
        for protocol in lab.mode.pick(["h2c", "h2"], ["h2c", "h2"], ["h2c"]):
            for scheme in ("reuseport", "acceptor"):
                for threads in lab.mode.pick([1, 2, 4, 8], [1, 4], [2]):
                    cells.append(load_cell(
                        ours(lab, scheme, "epoll"), protocol, h2_load(lab, load),
                        {"scheme": scheme, "threads": threads, "load": load}, threads=threads))
            cells.append(load_cell(floor(lab, "epoll"), protocol, h2_load(lab, load),
                                   {"load": load}))
    return cells


def _findings(experiment):
    found = []
    for threads in (1, 4):
        for protocol in ("h2c", "h2"):
            one = {"protocol": protocol, "threads": threads, "load": SMALL}
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "scheme": "acceptor"}, {**one, "scheme": "reuseport"},
                f"{threads} {'thread' if threads == 1 else 'threads'}, {protocol}, {SMALL}",
                "More processors than the servers had.",
                ("An acceptor that hands over", "a listener for each worker"),
            ))
    return found


def _tables():
    return [
        Table(f"{protocol}, load {load}", ("server", "scheme", "threads"), TABLE,
              {"protocol": protocol, "load": load}, seed="article/schemes",
              note="All on epoll. The floor has one thread, beside every number of ours.")
        for protocol in ("h2", "h2c") for load in (SMALL, LARGE)
    ]


DEFINITION = Definition(
    "threads",
    "A listener for each worker, or one acceptor",
    "Does it matter who accepts connections, as the number of threads grows? Where the servers had "
    "one processor, this shows what threads cost, not what they bring.",
    _cells,
    [
        Lines("CPU per request by threads", "threads", "cpu_us", ("server", "scheme"),
              {"load": SMALL, "protocol": "h2c"}),
        *_tables(),
    ],
    _findings,
)
