"""What an event costs that is sent to many clients, and what a waiting client holds."""

import resource

from harness import servers
from harness.experiments.definition import Definition
from harness.findings import ratio_to_floor
from harness.lab import Cell
from harness.plots import Bars, Lines, Table
from harness.procedures import Subject, event_streams
from harness.spread import number

_COUNTS = [100, 1_000, 10_000]
_SENT = 20_000  # lines to clients that are enough for one run


def _cells(lab):
    # The server, its clients and the floor have a descriptor a client.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000
    cells = []
    for count in lab.mode.pick(_COUNTS, _COUNTS[:2], [20]):
        events = lab.mode.pick(max(_SENT // count, 5), max(_SENT // count, 5) // 2, 2)
        for server, owns_memory in ((servers.library(lab.build), True),
                                    (servers.event_floor(), False)):
            unable = "" if count <= most else f"only {most} descriptors are allowed here"
            subject = Subject(server, path="/events")
            cells.append(Cell({"server": server.name, "clients": count},
                              event_streams(subject, count, owns_memory, events), server,
                              unable=unable))
    return cells


def _findings(experiment):
    return [ratio_to_floor(experiment, "cpu_us", {"server": "h2server", "clients": count},
                           f"one event to each of {number(count)} clients",
                           "What keeping the list of clients costs in other languages than the "
                           "floor's, Python.")
            for count in _COUNTS]


_NOTE = ("CPU: of the server, for each client of an event. The floor calls send() once for each client, "
         "from a loop in Python, and does nothing else. Memory: after the events, beyond that with 16 "
         "clients.")

DEFINITION = Definition(
    "events",
    "Events to many clients",
    "A page that shows something live keeps a connection open and waits for events. What does one "
    "event cost for each client that waits, and how much memory does a waiting client hold?",
    _cells,
    [
        Bars("CPU per event and client", "cpu_us", "clients", "server"),
        Lines("Memory of a waiting client", "clients", "kib_per_connection", "server",
              {"server": "h2server"}, log_x=True, x_label="clients"),
        Table("One event to all clients", ("clients", "server"),
              ["cpu_us", "kib_per_connection"], note=_NOTE),
    ],
    _findings,
)
