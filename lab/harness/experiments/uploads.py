"""New: how fast one upload is over a line of some length."""

from harness.experiments.common import ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.plots import Lines, Table
from harness.lab import Cell
from harness.procedures import Subject, upload_over_a_line

def _ways(lab):
    """[(server, protocol in tables, path, what it is stored as, options of the load)]"""
    form = {"method": "POST", "multipart": True, "expect_status": 201}
    put = {"method": "PUT", "expect_status": 201}
    post = {"method": "POST", "expect_status": 200}
    mine, nginx, nghttpd = ours(lab), lab.peers["nginx"], lab.peers["nghttpd"]
    return [
        (mine, "h1", "/files", "load-*", form), (mine, "h2c", "/files", "load-*", form),
        (nginx, "h1", "/upload/{n}", "upload/*", put),
        (nginx, "h2c", "/upload/{n}", "upload/*", put),
        # nghttpd takes the body and throws it away.
        (nghttpd, "h2c", "/index.html", "", post),
    ]


def _cells(lab):
    cells = []
    for rtt_ms in lab.mode.pick([0, 10, 50, 150], [0, 50], [10]):
        size = lab.mode.pick(5_000_000, 4_000_000, 300_000)
        for server, protocol, path, stored, options in _ways(lab):
            upload = {"requests": 1, "connections": 1, "upload_bytes": size, **options}
            subject = Subject(server, "h1" if protocol == "h1" else "h2", path=path,
                              options=("--upload-dir", ".") if server.name == "h2server" else ())
            factors = {"server": server.name, "protocol": protocol, "rtt_ms": rtt_ms}
            load = own_load(lab, "closed", upload)
            procedure = upload_over_a_line(subject, load, rtt_ms, size, stored)
            cells.append(Cell(factors, procedure, server))
    return cells


def _findings(experiment):
    found = []
    for rtt_ms in sorted({run.factors["rtt_ms"] for run in experiment.runs}):
        one = {"rtt_ms": rtt_ms}
        ours_h2 = {**one, "server": "h2server", "protocol": "h2c"}
        what = f"round trip {rtt_ms} ms"
        found.append(compare_cells(
            experiment, "goodput_mb_s", ours_h2, {**ours_h2, "protocol": "h1"}, what,
            not_shown=_NO_TCP,
            names=("An HTTP/2 upload", "an HTTP/1.1 upload to the same server")))
        for peer in ("nginx", "nghttpd"):
            found.append(compare_cells(
                experiment, "goodput_mb_s", ours_h2, {**one, "server": peer, "protocol": "h2c"},
                f"HTTP/2, {what}", _NO_TCP))
    return found


_NO_TCP = "What TCP does on such a line: the relay delays bytes, it loses none and has no windows."

_NOTE = ("h2server is sent a form (multipart/form-data), which it has to read; nginx a PUT. "
         "Without a delay it is the relay that is measured, on the load's processor.")

DEFINITION = Definition(
    "uploads",
    "Uploads over a long line",
    "How fast is one upload when the other end is 10, 50 or 150 ms away? HTTP/2's flow-control "
    "window bounds it: 64 KiB a round trip where a server leaves it as it is. A relay delays the bytes; "
    "nghttpd throws the body away, the others store it in memory.",
    _cells,
    [
        Lines("Goodput of one upload", "rtt_ms", "goodput_mb_s", ("server", "protocol"), log_y=True,
              x_label="round-trip time, ms"),
        Table("Goodput", ("rtt_ms", "server", "protocol"), ["goodput_mb_s", "elapsed_s"],
              floor=None, note=_NOTE),
    ],
    _findings,
)
