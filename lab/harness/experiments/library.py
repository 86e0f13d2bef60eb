"""What a handler on the library costs beside a cached file."""

from harness import servers
from harness.experiments.common import SMALL, floor, h2_load, load_cell
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.loads import H2load
from harness.plots import Bars, Table

_H1 = "-c100"
_LOADS = {"h1": _H1, "h2c": SMALL}
_TEXT = "Hello, World!"
# {handler: (path, what it answers)}. POST /echo answers with the request's body of 1 kB; curl's GET
# gets a 405 there.
_HANDLERS = {
    "cached file": ("/file/hello", _TEXT),
    "text": ("/text", _TEXT),
    "JSON": ("/json", f'{{"message":"{_TEXT}","count":7}}'),
    "coroutine": ("/coroutine", _TEXT),
    "ten middlewares": ("/middleware", _TEXT),
    "run_blocking": ("/blocking", _TEXT),
    "echo of 1 kB": ("/echo", None),
}
_NAMES = {
    "cached file": "the cached file",
    "text": "a function that returns text",
    "coroutine": "a coroutine that never waits",
    "ten middlewares": "that function behind ten middlewares",
    "run_blocking": "a coroutine that waits for another thread",
}


def _load(lab, protocol, posted_bytes=0):
    if protocol == "h2c":
        load = h2_load(lab, SMALL)
        return H2load(load.connections, load.streams, load.requests, posted_bytes)
    connections, requests = lab.mode.pick(100, 100, 10), lab.mode.pick(100_000, 30_000, 500)
    return H2load(connections, 1, requests, posted_bytes)


def _cells(lab):
    server = servers.library(lab.build)
    for path, body in _HANDLERS.values():
        if body is not None:
            (lab.root / path.rpartition("/")[2]).write_text(body)
    cells = []
    for protocol, load in _LOADS.items():
        cells.append(load_cell(floor(lab), protocol, _load(lab, protocol), {"load": load},
                               path="/text"))
        for handler, (path, body) in _HANDLERS.items():
            posted_bytes, status = (0, 200) if body is not None else (1000, 405)
            cells.append(load_cell(server, protocol, _load(lab, protocol, posted_bytes),
                                   {"load": load, "handler": handler}, path=path, status=status))
    return cells


def _findings(experiment):
    found = []
    for protocol, load in _LOADS.items():
        one = {"server": "h2server", "protocol": protocol, "load": load}
        for handler, other in (("text", "cached file"), ("coroutine", "text"),
                               ("run_blocking", "coroutine"), ("ten middlewares", "text")):
            found.append(compare_cells(
                experiment, "cpu_us", {**one, "handler": handler}, {**one, "handler": other},
                f"{protocol}, {load}",
                names=(_NAMES[handler].capitalize(), _NAMES[other])))
        found.append(ratio_to_floor(experiment, "cpu_us", {**one, "handler": "text"},
                                    f"{protocol}, {load}, text"))
    return found


_ORDER = {"handler": list(_HANDLERS)}

DEFINITION = Definition(
    "library",
    "Handlers on the library",
    "What does a request cost that a function answers: 13 bytes of text, a JSON object, a coroutine "
    "that never waits, one that waits for a call on another thread, ten middlewares that do "
    "nothing, a body that is sent back?",
    _cells,
    [
        Bars("CPU per request by handler", "cpu_us", "protocol", ("server", "handler"),
             {"load": [_H1, SMALL]}, order=_ORDER),
        *(Table(f"{protocol}, load {load}, one worker", ("server", "handler"),
                ["cpu_us", "rps", "p50_ms", "p99_ms", "server_cpu", "client_cpu", "switches"],
                {"protocol": protocol, "load": load}, order=_ORDER)
          for protocol, load in _LOADS.items()),
    ],
    _findings,
)
