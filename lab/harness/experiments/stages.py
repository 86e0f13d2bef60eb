"""The article's 4.1: what each stage of a server's growth costs or saves."""

from harness import servers
from harness.experiments.common import LARGE, SMALL, floor, h2_load, load_cell
from harness.experiments.definition import Definition

_STAGES = {
    "prototype": ("read", "reuseport"),
    "mmap": ("cache", "reuseport"),
    "router": ("router", "reuseport"),
    "balancer": ("router", "acceptor"),
}


def _cells(lab):
    cells = []
    path = {"read": "/index.html", "cache": "/index.html", "router": "/files/images/index.html"}
    for load in lab.mode.pick([SMALL, LARGE], [SMALL, LARGE], [SMALL]):
        for protocol in ("h2c", "h2"):
            for name, (stage, scheme) in _STAGES.items():
                if (name, protocol) == ("prototype", "h2"):
                    continue  # the article has no such row
                server = servers.stage(lab.build, "h2server", stage, scheme)
                cells.append(load_cell(server, protocol, h2_load(lab, load),
                                       {"stage": name, "load": load}, path=path[stage]))  # fmt: skip
            cells.append(load_cell(floor(lab), protocol, h2_load(lab, load), {"load": load}))
    return cells


DEFINITION = Definition("stages", "stages", "", _cells, [], lambda experiment: [])
