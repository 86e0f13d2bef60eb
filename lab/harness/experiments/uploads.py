"""Speed of one upload over a line with a given delay."""

from harness.experiments.common import floor, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.plots import Bars, Lines, Table
from harness.lab import Cell
from harness.procedures import Line, Subject, upload_over_a_line

NARROW = Line(50, mbit_s=100)
_WIDE = "as wide as it goes"


def _lines(lab):
    wide = [Line(rtt_ms) for rtt_ms in lab.mode.pick([0, 10, 50, 150], [0, 50], [10])]
    return [*wide, *lab.mode.pick([NARROW], [], [])]


def _width(line):
    return f"{line.mbit_s} Mbit/s" if line.mbit_s else _WIDE


def _ways(lab):
    """Returns [(server, protocol in tables, path, glob of the stored file, load options)]."""
    form = {"method": "POST", "multipart": True, "expect_status": 201}
    put = {"method": "PUT", "expect_status": 201}
    post = {"method": "POST", "expect_status": 200}
    mine, nginx, nghttpd = ours(lab), lab.peers["nginx"], lab.peers["nghttpd"]
    h2o, caddy = lab.peers["h2o"], lab.peers["caddy"]
    return [
        (mine, "h1", "/files", "load-*", form), (mine, "h2c", "/files", "load-*", form),
        (nginx, "h1", "/upload/{n}", "upload/*", put),
        (nginx, "h2c", "/upload/{n}", "upload/*", put),
        # H2O, Caddy and nghttpd read the body and discard it.
        (h2o, "h1", "/upload/{n}", "", put), (h2o, "h2c", "/upload/{n}", "", put),
        (caddy, "h1", "/upload/{n}", "", put), (caddy, "h2c", "/upload/{n}", "", put),
        (nghttpd, "h2c", "/index.html", "", post),
        (floor(lab), "h1", "/index.html", "", post), (floor(lab), "h2c", "/index.html", "", post),
    ]


# Options that each server needs to accept an upload.
_OPTIONS = {"h2server": ("--upload-dir", "."), "nginx": ("uploads",), "h2o": ("uploads",),
            "caddy": ("uploads",), "floor": ("--uploads",)}


def _cells(lab):
    cells = []
    for line in _lines(lab):
        # Large enough for the start to be negligible.
        size = lab.mode.pick(8_000_000 if line.mbit_s else 32_000_000,
                             8_000_000 if line.rtt_ms else 32_000_000, 300_000)
        for server, protocol, path, stored, options in _ways(lab):
            upload = {"requests": 1, "connections": 1, "upload_bytes": size, **options}
            subject = Subject(server, "h1" if protocol == "h1" else "h2", path=path,
                              options=_OPTIONS.get(server.name, ()))
            factors = {"server": server.name, "protocol": protocol, "rtt_ms": line.rtt_ms,
                       "width": _width(line)}
            load = own_load(lab, "closed", upload, upload_bytes=100_000)
            procedure = upload_over_a_line(subject, load, line, size, stored)
            cells.append(Cell(factors, procedure, server))
    return cells


def _findings(experiment):
    found = []
    lines = {(run.factors["rtt_ms"], run.factors["width"]) for run in experiment.runs}
    for rtt_ms, width in sorted(lines):
        one = {"rtt_ms": rtt_ms, "width": width}
        ours_h2 = {**one, "server": "h2server", "protocol": "h2c"}
        what = f"round trip {rtt_ms} ms, {width}"
        found.append(compare_cells(
            experiment, "goodput_mb_s", ours_h2, {**ours_h2, "protocol": "h1"}, what,
            not_shown=_NO_TCP,
            names=("An HTTP/2 upload", "an HTTP/1.1 upload to the same server")))
        for peer in ("nginx", "nghttpd", "h2o", "caddy"):
            found.append(compare_cells(
                experiment, "goodput_mb_s", ours_h2, {**one, "server": peer, "protocol": "h2c"},
                f"HTTP/2, {what}", _NO_TCP))
    return found


_NO_TCP = "What TCP does on such a line: the relay delays bytes, it loses none and has no windows."

_NOTE = ("h2server is sent a form (multipart/form-data), which it has to read; nginx a PUT. "
         "Without a delay it is the relay that is measured, on the load's processor. The window "
         "of a stream begins with 1 MiB on h2server, which widens it to 128 MiB when the first content "
         "arrives; nghttpd's is 16 MiB as it is set up here, and nginx's and the floor's have no limit; "
         "nginx opens it when it reads a body.")

DEFINITION = Definition(
    "uploads",
    "Uploads over a long line",
    "How fast is one upload when the other end is 10, 50 or 150 ms away? HTTP/2's flow-control "
    "window bounds it: 64 KiB a round trip where a server leaves it as it is. A relay delays the "
    "bytes, on one line to 100 Mbit/s as well; h2server and nginx store the body in memory, the "
    "others throw it away.",
    _cells,
    [
        Lines("Goodput of one upload", "rtt_ms", "goodput_mb_s", ("server", "protocol"),
              {"width": _WIDE}, log_y=True, x_label="round-trip time, ms"),
        Bars("Goodput of one upload, 50 ms, 100 Mbit/s", "goodput_mb_s", "protocol", "server",
             {"width": _width(NARROW)}),
        Table("Goodput", ("rtt_ms", "width", "protocol", "server"), ["goodput_mb_s", "elapsed_s"],
              note=_NOTE),
    ],
    _findings,
)
