"""The article's 4.1.1: a listener for each worker against one acceptor that hands over."""

from harness.experiments.common import LARGE, SMALL, floor, h2_load, load_cell, ours
from harness.experiments.definition import Definition


def _cells(lab):
    cells = []
    for load in lab.mode.pick([SMALL, LARGE], [SMALL], [SMALL]):
        for protocol in lab.mode.pick(["h2c", "h2"], ["h2c", "h2"], ["h2c"]):
            for scheme in ("reuseport", "acceptor"):
                for threads in lab.mode.pick([1, 2, 4, 8], [1, 4], [2]):
                    cells.append(load_cell(
                        ours(lab, scheme, "epoll"), protocol, h2_load(lab, load),
                        {"scheme": scheme, "threads": threads, "load": load}, threads=threads))
            cells.append(load_cell(floor(lab), protocol, h2_load(lab, load), {"load": load}))
    return cells


DEFINITION = Definition("threads", "threads", "", _cells, [], lambda experiment: [])
