"""A new configuration, and a new program, while requests come."""

from harness.experiments.common import PROTOCOLS, floor, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.lab import Cell
from harness.plots import Bars, Table
from harness.procedures import Subject
from harness.reload_procedures import RELOAD, UPGRADE, changed_under_load, kept

_NONE, _RELOAD, _UPGRADE = "nothing", "configuration", "program"
_SIGNALS = {_NONE: None, _RELOAD: RELOAD, _UPGRADE: UPGRADE}
_LOGS = {_RELOAD: ("server.log", "the configuration was read anew"),
         _UPGRADE: ("server.log", "serves; this one ends with its last request")}
_PID_FILES = {"h2server": "pid", "nginx": "nginx.pid"}
_KEEP, _EACH = "kept open", "one for each request"
_ORDER = {"replaced": [_NONE, _RELOAD, _UPGRADE], "connections": [_KEEP, _EACH]}
_RATES = {_KEEP: 10_000, _EACH: 2_000}


def _moments(lab):
    """Returns when the changes are made; a second apart, since reloads that follow sooner are one."""
    return lab.mode.pick((0.4, 1.5), (0.3,), (0.3,))


def _load(lab, connections):
    shape = {"rate": lab.mode.pick(_RATES[connections], _RATES[connections], 200),
             "seconds": lab.mode.pick(2, 0.7, 0.6), "connections": lab.mode.pick(64, 64, 4)}
    if connections == _EACH:
        shape["close"] = True
    return own_load(lab, "open", shape, seconds=0.2)


def _cell(lab, server, connections, replaced, log=None):
    spoken, tls = PROTOCOLS["h1"]
    factors = {"server": server.name, "connections": connections}
    pid_file = _PID_FILES.get(server.name, "")
    options = ("--pid-file", pid_file) if server.name == "h2server" else ()
    if server.name == "floor" and connections == _EACH:
        options = ("--close",)
    subject = Subject(kept(server), spoken, tls, options=options)
    procedure = changed_under_load(subject, _load(lab, connections), _SIGNALS[replaced or _NONE],
                                   _moments(lab), pid_file, log)
    return Cell({**factors, "replaced": replaced} if replaced else factors, procedure, server)


def _cells(lab):
    cells = []
    for connections in lab.mode.pick([_KEEP, _EACH], [_EACH], [_KEEP, _EACH]):
        cells += [_cell(lab, ours(lab), connections, replaced, _LOGS.get(replaced))
                  for replaced in _SIGNALS]
        cells += [_cell(lab, lab.peers["nginx"], connections, replaced)
                  for replaced in lab.mode.pick((_NONE, _RELOAD), (_RELOAD,), (_NONE, _RELOAD))]
        cells.append(_cell(lab, floor(lab), connections, None))
    return cells


def _findings(experiment):
    found = []
    for connections in (_KEEP, _EACH):
        what = f"connections {connections}"
        mine = {"server": "h2server", "connections": connections}
        peer = {**mine, "server": "nginx", "replaced": _RELOAD}
        for replaced in (_RELOAD, _UPGRADE):
            for measure in ("p99_ms", "max_ms"):
                found.append(compare_cells(
                    experiment, measure, {**mine, "replaced": replaced},
                    {**mine, "replaced": _NONE}, what,
                    names=(f"h2server whose {replaced} is replaced",
                           f"h2server of which {_NONE} is replaced")))
        for measure in ("p99_ms", "max_ms"):
            found.append(compare_cells(experiment, measure, {**mine, "replaced": _RELOAD}, peer,
                                       f"{what}, the {_RELOAD} is replaced"))
    return found


_NOTE = ("HTTP/1.1 in cleartext, 64 connections, requests at fixed times for 2 s (0.7 s when quick): "
         f"{_RATES[_KEEP]:,} a second, or {_RATES[_EACH]:,} with a connection for each. In that time the "
         "configuration is read anew twice (SIGHUP), or the program is replaced twice by "
         "itself (SIGUSR2); once when quick. h2server lets go of a busy connection after a minute, so "
         "those that are kept open stay with the earlier workers here. failed: requests of the run "
         "without the right answer. CPU: of all processes of the server, exact to 10 ms. The limit is the row in which "
         "nothing is replaced.")

DEFINITION = Definition(
    "reload",
    "A new configuration or program under load",
    "Requests come all the time. How long do they take, and does one fail, while the server reads its "
    "configuration anew, or while its program is replaced by a new one?",
    _cells,
    [
        Bars("Slowest request while something is replaced", "max_ms", ("connections", "replaced"),
             "server", order=_ORDER),
        Table("Requests while something is replaced", ("connections", "replaced", "server"),
              ["p50_ms", "p99_ms", "p999_ms", "max_ms", "failed", "rps", "cpu_us", "late_ms"],
              ratio="cpu_us", order=_ORDER, note=_NOTE),
    ],
    _findings,
)
