"""New: how fast one upload is over a line of some length."""

from harness.experiments.common import ours, own_load
from harness.experiments.definition import Definition
from harness.lab import Cell
from harness.procedures import Subject, over_a_line

_NAME = "upload.bin"


def _ways(lab):
    """[(server, protocol in tables, HTTP's, path, options of the load)]"""
    form = ("--method", "POST", "--multipart", "--expect-status", 201)
    put = ("--method", "PUT", "--expect-status", 201)
    post = ("--method", "POST", "--expect-status", 200)
    mine, nginx, nghttpd = ours(lab), lab.peers["nginx"], lab.peers["nghttpd"]
    return [
        (mine, "h1", "/files", form), (mine, "h2c", "/files", form),
        (nginx, "h1", "/upload/{n}", put), (nginx, "h2c", "/upload/{n}", put),
        # nghttpd takes the body and throws it away.
        (nghttpd, "h2c", "/index.html", post),
    ]  # fmt: skip


def _cells(lab):
    cells = []
    for rtt_ms in lab.mode.pick([0, 10, 50, 150], [0, 50], [10]):
        size = lab.mode.pick(8_000_000, 4_000_000, 300_000)
        for server, protocol, path, options in _ways(lab):
            upload = ("--requests", 1, "--connections", 1, "--upload-bytes", size, *options)
            subject = Subject(server, "h1" if protocol == "h1" else "h2", path=path,
                              options=("--upload-dir", ".") if server.name == "h2server" else ())
            factors = {"server": server.name, "protocol": protocol, "rtt_ms": rtt_ms}
            load = own_load(lab, "closed", upload, ())
            cells.append(Cell(factors, over_a_line(subject, load, rtt_ms), server))
    return cells


DEFINITION = Definition("uploads", "uploads", "", _cells, [], lambda experiment: [])
