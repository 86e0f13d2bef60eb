"""What an access log and metrics cost."""

import time

from harness.experiments.common import PROTOCOLS, SMALL, floor, h1_load, h2_load, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.lab import Cell
from harness.plots import Bars, Table
from harness.processes import Failure
from harness.procedures import Subject, under_load
from harness.variants import edited

_LOADS = {"h1": "-c100", "h2c": SMALL}
_NOTHING, _TEXT, _JSON, _METRICS = "nothing", "text log", "JSON log", "metrics"
_BOTH, _BUFFERED = "text log and metrics", "text log, in blocks"
_LOG = "access.log"
_TO_FILE = ("--access-log", _LOG)
_ADMIN = ("--admin", "unix:admin")
# {what is on: options of h2server}
_OURS = {
    _NOTHING: (),
    _TEXT: _TO_FILE,
    _JSON: (*_TO_FILE, "--log-format", "json"),
    _METRICS: _ADMIN,
    _BOTH: (*_TO_FILE, *_ADMIN),
}
# {what is on: the line of nginx's configuration}
_NGINX = {
    _NOTHING: "access_log off;",
    _TEXT: "access_log {folder}/access.log;",
    _BUFFERED: "access_log {folder}/access.log combined buffer=64k flush=1s;",
}
_ORDER = {"on": [_NOTHING, _TEXT, _BUFFERED, _JSON, _METRICS, _BOTH]}
_FLUSH_S = 3


def _lines_of(path):
    with path.open("rb") as log:
        return sum(piece.count(b"\n") for piece in iter(lambda: log.read(1 << 20), b""))


def _has_logged(load):
    """Returns the inspection that each request of the load and of its warm-up has a line."""

    def inspect(started, reading):
        wanted = load.warm_up().requests + reading.requests
        deadline = time.monotonic() + _FLUSH_S
        while (found := _lines_of(started.work / _LOG)) < wanted:
            if time.monotonic() > deadline:
                raise Failure(f"its log has {found} lines for {wanted} requests")
            time.sleep(0.05)

    return inspect


def _cell(server, protocol, load, what, options=()):
    spoken, tls = PROTOCOLS[protocol]
    logs = what in (_TEXT, _BUFFERED, _JSON, _BOTH)
    factors = {"server": server.name, "protocol": protocol, "load": _LOADS[protocol]}
    return Cell({**factors, "on": what} if what else factors,
                under_load(Subject(server, spoken, tls, options=options), load,
                           inspect=_has_logged(load) if logs else None), server, load.tool)


def _cells(lab):
    cells = []
    for protocol in lab.mode.pick(_LOADS, ["h2c"], _LOADS):
        load = h2_load(lab, SMALL) if protocol == "h2c" else h1_load(lab)
        mine = lab.mode.pick(_OURS, [_NOTHING, _TEXT, _METRICS], _OURS)
        cells += [_cell(ours(lab), protocol, load, what, _OURS[what]) for what in mine]
        for what in lab.mode.pick(_NGINX, [_NOTHING, _TEXT], _NGINX):
            line = _NGINX[what]
            server = edited(lab.peers["nginx"], "nginx.conf", {
                _NGINX[_NOTHING]: lambda setting, line=line: line.format(folder=setting.work)})
            cells.append(_cell(server, protocol, load, what))
        cells.append(_cell(floor(lab), protocol, load, ""))
    return cells


def _findings(experiment):
    found = []
    for protocol in _LOADS:
        one = {"server": "h2server", "protocol": protocol}
        for what in (_TEXT, _JSON, _METRICS, _BOTH):
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "on": what}, {**one, "on": _NOTHING}, protocol,
                names=(f"h2server with {what}", f"h2server with {_NOTHING}")))
        peer = {"server": "nginx", "protocol": protocol}
        for what in (_TEXT, _BUFFERED):
            found.append(compare_cells(
                experiment, "cpu_us", {**peer, "on": what}, {**peer, "on": _NOTHING}, protocol,
                names=(f"nginx with {what}", f"nginx with {_NOTHING}")))
            found.append(compare_cells(experiment, "cpu_us", {**one, "on": _TEXT},
                                       {**peer, "on": what}, f"{protocol}, nginx: {what}"))
        found.append(ratio_to_floor(experiment, "cpu_us", {**one, "on": _NOTHING}, protocol))
    return found


_NOTE = ("The log is a file in memory. Each request has its line, which is checked. metrics: the admin "
         "listener is open, and nobody asks it while the load runs. nginx writes each line by a call "
         "of its own unless it is told to collect them, here in blocks of 64 KiB. The floor logs "
         "nothing.")

DEFINITION = Definition(
    "observing",
    "What logs and metrics cost",
    "How much more processor time does a request need if the server writes a line for it into an "
    "access log, and counts it for the metrics?",
    _cells,
    [
        Bars("CPU per request with logs and metrics", "cpu_us", ("protocol", "on"), "server",
             {"protocol": list(_LOADS)}, order=_ORDER),
        Table("Logs and metrics", ("protocol", "on", "server"),
              ["cpu_us", "rps", "p50_ms", "p99_ms", "server_cpu", "client_cpu", "rss_kib",
               "switches"],
              {"protocol": list(_LOADS)}, order=_ORDER, note=_NOTE),
    ],
    _findings,
)
