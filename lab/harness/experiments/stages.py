"""Cost or saving of each stage of a server's growth."""

from harness import servers
from harness.experiments.common import LARGE, SMALL, TABLE, floor, h2_load, load_cell
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.plots import Bars, Table

_STAGES = {
    "prototype": ("read", "reuseport"),
    "mmap": ("cache", "reuseport"),
    "router": ("router", "reuseport"),
    "balancer": ("router", "acceptor"),
}


def _cells(lab):
    cells = []
    path = {"read": "/index.html", "cache": "/index.html", "router": "/files/images/index.html"}
    for load in lab.mode.pick([SMALL, LARGE], [SMALL], [SMALL]):
        for protocol in ("h2c", "h2"):
            for name, (stage, scheme) in _STAGES.items():
                if (name, protocol) == ("prototype", "h2"):
                    continue  # its source has no such row
                server = servers.stage(lab.build, stage, scheme)
                cells.append(load_cell(server, protocol, h2_load(lab, load),
                                       {"stage": name, "load": load}, path=path[stage]))
            cells.append(load_cell(floor(lab, "epoll"), protocol, h2_load(lab, load),
                                   {"load": load}))
    return cells


def _findings(experiment):
    def step(stage, before, protocol, what):
        one = {"server": "h2server", "protocol": protocol, "load": SMALL}
        return compare_cells(
            experiment, "cpu_us", {**one, "stage": stage}, {**one, "stage": before},
            f"{protocol}, {SMALL}", names=(what, f"the stage before ({before})"),
        )

    return [
        step("mmap", "prototype", "h2c", "The file cache"),
        step("router", "mmap", "h2c", "A route with a parameter"),
        step("balancer", "router", "h2c", "An acceptor with a balancer"),
        compare_cells(
            experiment, "cpu_us",
            {"stage": "mmap", "protocol": "h2", "load": SMALL},
            {"stage": "mmap", "protocol": "h2c", "load": SMALL},
            SMALL, "Encryption alone: a handshake for every 1 500 requests (400 when quick) is in it.",
            ("The file cache over TLS", "that in cleartext"),
        ),
    ]


_ORDER = {"stage": list(_STAGES)}

DEFINITION = Definition(
    "stages",
    "Stages of growth",
    "What does each step of a server's growth cost or save: reading the file for each request, a "
    "file cache, TLS, routes, a balancer? One worker, an index.html of 158 bytes; all on epoll.",
    _cells,
    [
        Bars("CPU per request by stage", "cpu_us", ("load", "protocol"), ("server", "stage"),
             order=_ORDER),
        Table(f"Load {SMALL}", ("protocol", "server", "stage"), TABLE, {"load": SMALL},
              seed="article/stages", order=_ORDER),
        Table(f"Load {LARGE}", ("protocol", "server", "stage"), TABLE, {"load": LARGE},
              seed="article/stages", order=_ORDER),
    ],
    _findings,
)
