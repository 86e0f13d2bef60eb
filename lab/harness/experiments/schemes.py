"""The paper's figures 4, 5 and 6: time for all clients, by scheme and by number of workers."""

from harness.experiments.common import floor, load_cell, ours, own_load
from harness.experiments.definition import Definition

MESSAGE_BYTES = 1204
_PAPER = {
    "process-per-connection": "PPR", "thread-per-connection": "TPR",
    "thread-pool": "TWP", "buffered-pool": "TWPB",
}  # fmt: skip
_LOOPS = [("acceptor", "epoll"), ("reuseport", "epoll"), ("acceptor", "io_uring"),
          ("reuseport", "io_uring")]  # fmt: skip
_ENOUGH = 160  # workers for every client: "sufficiently many", as in figure 4


def _load(lab, clients, messages):
    """N clients, each of which connects some times and exchanges messages on each connection."""
    clients = lab.mode.pick(clients, clients, 4)
    connections = lab.mode.pick(20, 10, 2)
    shape = ("--clients", clients, "--connections", connections, "--messages", messages,
             "--message-bytes", MESSAGE_BYTES)
    return own_load(lab, "exchange", shape, ("--clients", 4, "--connections", 2, "--messages", 2))


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
                                   {"scheme": _PAPER[scheme]}, clients, messages, _ENOUGH))
            for scheme, engine in lab.mode.pick(_LOOPS, _LOOPS[2:], _LOOPS[2:3]):
                cells.append(_cell(lab, ours(lab, scheme, engine),
                                   {"scheme": f"{scheme} {engine}"}, clients, messages))
            cells.append(_cell(lab, floor(lab), {}, clients, messages))
    return cells + _pools(lab)


def _pools(lab):
    """Figures 5 and 6: pools of different sizes."""
    cells = []
    for clients in lab.mode.pick([50, 100], [100], []):
        for messages in lab.mode.pick([2, 20], [20], []):
            for workers in lab.mode.pick([1, 2, 4, 8, 16, 32, 64, 100], [1, 4, 16, 64], []):
                for scheme in ("thread-pool", "buffered-pool"):
                    cells.append(_cell(lab, ours(lab, scheme, "blocking"),
                                       {"scheme": _PAPER[scheme], "workers": workers},
                                       clients, messages, workers))
    return cells


DEFINITION = Definition("schemes", "schemes", "", _cells, [], lambda experiment: [])
