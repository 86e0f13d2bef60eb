"""Where the time of a request goes, beside the floor."""

import math
import time

from harness import breakdown
from harness.experiments.common import AGAIN_S, LARGE, PROTOCOLS, SMALL, floor, h1_load, h2_load
from harness.experiments.common import ours
from harness.experiments.definition import Definition
from harness.findings import ratio_to_floor
from harness.lab import Cell
from harness.plots import Stacked, Table
from harness.meter import Meter
from harness.procedures import Outcome, Started, Subject, check, load_once, measures_of

_LOAD_S_MAX = 300
_PROFILED_NS = 300_000_000  # enough samples: more than a thousand
_LOADS_MAX = 10  # in which this should be reached
_LOADS = (("h2c", SMALL), ("h2c", LARGE), ("h1", "-c100"), ("h2", SMALL))
_QUICK = (("h2c", SMALL), ("h1", "-c100"))


def _broken_down(subject, load, pause_s):
    """Returns the procedure that measures a load and then profiles it in a run of its own.

    perf slows the server down, so its shares are applied to the time without it.
    """

    def procedure(lab, _):
        with Started(lab, subject) as started:
            def run(wanted):
                return load_once(lab, wanted, started.target, _LOAD_S_MAX)

            check(lab, subject, started)
            run(load.warm_up())
            if pause_s:
                time.sleep(pause_s)
                run(load.warm_up())
            with Meter(started.pid) as metered:
                reading, client_cpu, command = run(load)
            measures = measures_of(reading, metered.usage, client_cpu)
            wanted = math.ceil(_PROFILED_NS / max(metered.usage.cpu_ns, 1))

            def several():
                for _ in range(min(wanted, _LOADS_MAX)):
                    run(load)

            report = breakdown.profile(started.pid, lab.load_cpus, started.work, several)
        measures.update(breakdown.measures_of(report, measures["cpu_us"]))
        return Outcome(reading.requests, measures, command, reading.histogram)

    return procedure


def _cells(lab):
    why = breakdown.unable()
    cells = []
    for protocol, name in lab.mode.pick(_LOADS, _QUICK, _LOADS):
        load = h1_load(lab) if protocol == "h1" else h2_load(lab, name)
        for server in (ours(lab), floor(lab)):
            subject = Subject(server, *PROTOCOLS[protocol])
            factors = {"server": server.name, "protocol": protocol, "load": name}
            pause_s = AGAIN_S if server.name == "h2server" else 0
            procedure = _broken_down(subject, load, pause_s)
            cells.append(Cell(factors, procedure, server, load.tool, why))
    return cells


def _findings(experiment):
    return [ratio_to_floor(experiment, "cpu_us",
                           {"server": "h2server", "protocol": protocol, "load": load},
                           f"{protocol} {load}")
            for protocol, load in _LOADS]


_NOTE = ("Samples of perf, by the function whose machine code ran; an inlined function counts for the one "
         "that it is inlined into. parse: frames and heads. hpack: field compression. route: from the "
         "path to the file. respond: head, frames and body of the answer. engine: waiting, reading, "
         "writing, coroutines. other: the C library, ciphers, and the bookkeeping of exchanges.")

DEFINITION = Definition(
    "breakdown",
    "Where the time of a request goes",
    "What does the server do for a request of a small file that the floor, which answers without "
    "reading, does not?",
    _cells,
    [
        Stacked("Processor time by part", {f"{part}_us": part for part in breakdown.PARTS},
                ("protocol", "load"), note=_NOTE),
        Table("Processor time by part", ("protocol", "load", "server"),
              ["cpu_us", *breakdown.MEASURES]),
    ],
    _findings,
)
