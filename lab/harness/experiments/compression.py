"""What a compressed answer costs: compressed beforehand, once by the server, or for each request."""

import dataclasses
import functools
import http.client
import json
import random
import sys

from harness import processes, servers
from harness.codec import CODINGS, decode, encode
from harness.experiments.common import floor, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.lab import Cell
from harness.loads import H2load
from harness.plots import Bars, Table
from harness.processes import Failure
from harness.procedures import Outcome, Subject, under_load
from harness.spread import number
from harness.variants import edited

_SIZES = [20_000, 1_000_000]
_PLAIN, _READY, _COPY = "as it is", "compressed beforehand", "from the server's copy"
_FIRST, _EACH = "first answer, makes the copy", "for each answer"
_WAYS = [_PLAIN, _READY, _COPY, _FIRST, _EACH]
_ORDER = {"way": _WAYS, "coding": ["none", *CODINGS]}
_TEXT_ALIKE = 20_000  # words: about as many as a long text has

# h2server's gzip has level 5, so these have it, too.
_NGINX_GZIP = {"gzip_static off;": lambda setting: "gzip on; gzip_comp_level 5; gzip_vary on;"}
_H2O_GZIP = {"file.send-compressed: OFF": lambda setting: "compress:\n  gzip: 5"}


@functools.cache
def text(size):
    """Returns a page of words as frequent as in a language (Zipf), the same each time."""
    source = random.Random(size)
    words = ["".join(source.choices("etaoinshrdlucmfwypvbgk", k=source.randint(2, 10)))
             for _ in range(min(_TEXT_ALIKE, size // 8))]
    frequent = [1 / place for place in range(1, len(words) + 1)]
    lines, length = [], 0
    while length < size:
        picked = source.choices(words, frequent, k=source.randint(6, 14))
        lines.append(f"<p class=\"{picked[0]}\">{' '.join(picked)}.</p>\n")
        length += len(lines[-1])
    return "".join(lines)[:size].encode()


@dataclasses.dataclass(frozen=True)
class _Once(H2load):
    """Asks for each path once. Warms up with another file, so that each answer is a first one."""

    warm_path: str = ""

    def warm_up(self):
        return H2load(1, 1, 20, paths=(self.warm_path,))


def _is_encoded(path, coding, size):
    """Returns the inspection that the server sends the file in that coding."""

    def inspect(started, _):
        connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=30)
        connection.request("GET", path, headers={"Accept-Encoding": coding})
        response = connection.getresponse()
        body, said = response.read(), response.getheader("Content-Encoding", "none")
        connection.close()
        if said != coding:
            raise Failure(f"asked for {coding}, it sends {said}")
        if decode(coding, body, size) != text(size):
            raise Failure(f"its {coding} is not that of the file")

    return inspect


def _answers(lab, size, way):
    """Returns how many answers a load has."""
    small = size == _SIZES[0]
    if way in (_FIRST, _EACH):
        return lab.mode.pick(2000, 500, 20) if small else lab.mode.pick(60, 20, 10)
    return lab.mode.pick(60_000, 15_000, 100) if small else lab.mode.pick(3000, 500, 10)


def _cell(server, size, way, coding, load, path, options=()):
    inspect = None
    if coding != "none" and server.name != "floor":
        load = dataclasses.replace(load, fields=(f"accept-encoding: {coding}",))
        inspect = _is_encoded(path, coding, size)
    return Cell({"server": server.name, "way": way, "coding": coding, "bytes": size},
                under_load(Subject(server, path=path, options=options), load, inspect=inspect),
                server, load.tool)


def _codec_cell(lab, size, way, coding):
    """The limit: the codec in a process that does nothing else."""
    seconds = lab.mode.pick(1.0, 0.3, 0.05)

    def procedure(lab, _):
        command = ["env", f"PYTHONPATH={servers.ROOT / 'lab'}", sys.executable, "-m",
                   "harness.codec", coding, lab.root / f"text{size}.html", seconds]
        output, _ = processes.run_load(command, lab.server_cpus, 60)
        said = json.loads(output)
        measures = {"cpu_us": said["cpu_us"], "wire_bytes": said["bytes"]}
        return Outcome(said["times"], measures, f"harness.codec {coding} text{size}.html")

    return Cell({"server": "floor", "way": way, "coding": coding, "bytes": size}, procedure,
                floor(lab))


def _write(lab, name, content):
    (lab.root / name).write_bytes(content)
    return f"/{name}"


def _plain_and_ready(lab, size):
    load = H2load(10, 1, _answers(lab, size, _PLAIN))
    path = _write(lab, f"text{size}.html", text(size))
    ready = _write(lab, f"ready{size}.html", text(size))
    packed = _write(lab, f"ready{size}.html.gz", encode("gzip", text(size)))
    nginx = lab.peers["nginx"]
    for server in (ours(lab), nginx, floor(lab)):
        yield _cell(server, size, _PLAIN, "none", load, path)
    yield _cell(ours(lab), size, _READY, "gzip", load, ready)
    yield _cell(nginx, size, _READY, "gzip", load, ready, ("precompressed",))
    yield _cell(floor(lab), size, _READY, "gzip", load, packed)


def _copies(lab, size, codings):
    load = H2load(10, 1, _answers(lab, size, _COPY))
    for coding in codings:
        packed = _write(lab, f"copy{size}.{coding}", encode(coding, text(size)))
        yield _cell(ours(lab), size, _COPY, coding, load, f"/text{size}.html")
        yield _cell(floor(lab), size, _COPY, coding, load, packed)


def _first_answers(lab, size, codings):
    count = _answers(lab, size, _FIRST)
    paths = tuple(_write(lab, f"first{size}-{number}.html", text(size))
                  for number in range(count))
    warm = f"/text{size}.html"
    for coding in codings:
        load = _Once(1, 1, count, paths=paths, fields=(f"accept-encoding: {coding}",),
                     warm_path=warm)
        yield _cell(ours(lab), size, _FIRST, coding, load, warm)
        yield _codec_cell(lab, size, _FIRST, coding)


def _each_time(lab, size, codings):
    load = H2load(10, 1, _answers(lab, size, _EACH))
    library = dataclasses.replace(
        servers.library(lab.build),
        command=lambda binary, setting: [binary, "--port", setting.port, "--body", setting.file,
                                         setting.root])
    for coding in codings:
        yield _cell(library, size, _EACH, coding, load, f"/encoded/text{size}.html")
        yield _codec_cell(lab, size, _EACH, coding)
    if "gzip" in codings:
        for server in (edited(lab.peers["nginx"], "nginx.conf", _NGINX_GZIP),
                       edited(lab.peers["h2o"], "h2o.conf", _H2O_GZIP)):
            yield _cell(server, size, _EACH, "gzip", load, f"/text{size}.html")


def _cells(lab):
    cells = []
    codings = lab.mode.pick(CODINGS, ["gzip"], CODINGS)
    for size in lab.mode.pick(_SIZES, _SIZES[:1], _SIZES):
        of_size = [*_plain_and_ready(lab, size), *_copies(lab, size, codings),
                   *_first_answers(lab, size, codings), *_each_time(lab, size, codings)]
        left_out = lab.mode.pick((), (_READY, _FIRST), ())
        cells += [cell for cell in of_size if cell.factors["way"] not in left_out]
    return cells


def _findings(experiment):
    found = []
    for size in _SIZES:
        one = {"server": "h2server", "bytes": size}
        what = f"{number(size)} B"
        plain = {**one, "way": _PLAIN}
        found.append(compare_cells(
            experiment, "cpu_us", {**one, "way": _COPY, "coding": "gzip"}, plain, what,
            names=("h2server with gzip from its copy", "h2server with the file as it is")))
        for way in (_READY, _EACH):
            mine = {**one, "way": way, "coding": "gzip"}
            for peer in ("nginx", "h2o"):
                found.append(compare_cells(experiment, "cpu_us", mine, {**mine, "server": peer},
                                           f"{what}, gzip {way}"))
        for coding in CODINGS:
            for way in (_FIRST, _EACH):
                mine = {**one, "way": way, "coding": coding}
                found.append(compare_cells(
                    experiment, "cpu_us", mine, {**mine, "server": "floor"},
                    f"{what}, {coding} {way}", names=("h2server", "the codec alone")))
    return found


_NOTE = ("HTTP/1.1 in cleartext, 10 connections; for first answers one, which asks for another file each "
         "time. floor: where the server compresses, what the codec takes in a process that does nothing "
         "else, at the server's level; otherwise the floor with the same bytes. on the wire: both "
         "directions; of the codec, the size of what it makes.")
_NOTE_EACH = ("h2server: a handler on the library behind compression(), whose answers are not kept. nginx "
              "and H2O compress a file for each request, with gzip's level 5, which h2server has.")

_COLUMNS = ["cpu_us", "rps", "p50_ms", "wire_bytes", "rss_kib", "client_cpu"]

DEFINITION = Definition(
    "compression",
    "What a compressed answer costs",
    "A text that is sent compressed needs fewer bytes on the wire. How much processor time does that "
    "take, if it was compressed beforehand, if the server does it once, and if it does it for each "
    "request?",
    _cells,
    [
        *(Bars(f"CPU per answer, a text of {number(size)} B", "cpu_us", ("way", "coding"), "server",
               {"bytes": [size]}, order=_ORDER) for size in _SIZES),
        Table("Texts that are compressed at most once", ("bytes", "way", "coding", "server"),
              _COLUMNS, {"way": [_PLAIN, _READY, _COPY, _FIRST]}, order=_ORDER, note=_NOTE),
        Table("Texts that are compressed for each answer", ("bytes", "coding", "server"),
              _COLUMNS, {"way": _EACH}, order=_ORDER, note=_NOTE_EACH),
    ],
    _findings,
)
