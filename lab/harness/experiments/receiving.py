"""The CPU that a received byte costs."""

import dataclasses

from harness.experiments.common import PROTOCOLS, floor, ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.lab import Cell
from harness.plots import Bars, Table
from harness.procedures import Subject, upload_over_a_line

_WITHOUT = "h2server, no digest"
_NO_DIGEST = ("--upload-dir", ".", "--upload-sha256", "off")


def _ways(lab):
    """Returns [(server, options, path, glob of the stored file, load options)]."""
    put = {"method": "PUT", "expect_status": 201}
    post = {"method": "POST", "expect_status": 200}
    mine = ours(lab)
    return [
        (mine, ("--upload-dir", "."), "/files/{n}", "0", put),
        (dataclasses.replace(mine, name=_WITHOUT), _NO_DIGEST, "/files/{n}", "0", put),
        (lab.peers["nginx"], ("uploads",), "/upload/{n}", "upload/*", put),
        (lab.peers["h2o"], ("uploads",), "/upload/{n}", "", put),
        (floor(lab), ("--uploads",), "/index.html", "", post),
    ]


def _cells(lab):
    size = lab.mode.pick(1_000_000_000, 200_000_000, 300_000)
    cells = []
    for protocol in lab.mode.pick(PROTOCOLS, ["h1", "h2"], PROTOCOLS):
        spoken, tls = PROTOCOLS[protocol]
        for server, options, path, stored, load in _ways(lab):
            upload = {"requests": 1, "connections": 1, "upload_bytes": size, **load}
            subject = Subject(server, spoken, tls, path=path, options=options)
            own = own_load(lab, "closed", upload, upload_bytes=100_000)
            procedure = upload_over_a_line(subject, own, None, size, stored)
            cells.append(Cell({"server": server.name, "protocol": protocol}, procedure, server))
    return cells


def _findings(experiment):
    return [compare_cells(experiment, "cpu_ns_byte", {"server": _WITHOUT, "protocol": protocol},
                          {"server": peer, "protocol": protocol}, protocol)
            for protocol in PROTOCOLS for peer in ("nginx", "h2o")]


_NOTE = ("One PUT of 1 GB (200 MB when quick), to a file in memory. nginx and H2O compute no digest; "
         "h2server computes SHA-256 unless told not to. nginx stores the body in a file, which it renames; H2O puts it "
         "into a file, too, and throws it away. The floor reads and stores nothing.")

DEFINITION = Definition(
    "receiving",
    "What a received byte costs",
    "How much of a processor does an upload need, for each byte, from the socket to the stored file?",
    _cells,
    [
        Bars("CPU per received byte", "cpu_ns_byte", "protocol", "server", {}),
        Table("CPU per received byte", ("protocol", "server"),
              ["cpu_ns_byte", "goodput_mb_s", "rss_kib", "switches", "client_cpu"],
              {"protocol": list(PROTOCOLS)}, note=_NOTE),
    ],
    _findings,
)
