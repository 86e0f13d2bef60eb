"""An object store behind the server."""

import dataclasses
import re

from harness.experiments.common import ours, own_load
from harness.experiments.definition import Definition
from harness.findings import compare_cells
from harness.lab import Cell
from harness.loads import H2load
from harness.object_store import CREDENTIALS, MINIO, program
from harness.plots import Bars, Table
from harness.procedures import Subject, under_load
from harness.servers import Server
from harness.store_procedures import download_from_store, put_to_store, tus_to_store

_HOT, _COLD, _PUT, _TUS = "GET 20 kB, hot", "GET 100 MB", "PUT 1 GB", "tus 1 GB"
_FILE = "h2server, a file"
_STORE = ("--store", "s3://{bucket}", "--s3-endpoint", "{store}")
_TAKES = (*_STORE, "--upload")
_PASSES = ("store={store}/{bucket}/",)


_COLUMNS = ["goodput_mb_s", "elapsed_s", "cpu_ns_byte", "server_cpu", "rss_kib", "client_cpu"]


def _tusd(binary, setting):
    return [binary, "-host", "127.0.0.1", "-port", setting.port, *setting.options]


# Its parts wait in the folder for temporary files.
_TUSD = Server("tusd", program("tusd"), _tusd, version=("-version",), protocols=("h1",),
               environment=lambda setting: {**CREDENTIALS, "TMPDIR": str(setting.work)})
_TUSD_STORE = ("-s3-bucket", "{bucket}", "-s3-endpoint", "{store}")


def _signing(server):
    return dataclasses.replace(server, environment=lambda setting: CREDENTIALS)


def _downloads(lab, what, size, load):
    path = lab.file(f"{size}.bin", size)
    mine, nginx = ours(lab), lab.peers["nginx"]
    for server, options in ((_signing(mine), _STORE), (nginx, _PASSES), (MINIO, ())):
        subject = Subject(server, path=path, options=options)
        yield Cell({"server": server.name, "what": what}, download_from_store(subject, load, size),
                   server, load.tool)
    if what == _HOT:
        yield Cell({"server": _FILE, "what": what}, under_load(Subject(mine, path=path), load),
                   mine, load.tool)


def _uploads(lab, size):
    put = {"requests": 1, "connections": 1, "upload_bytes": size, "method": "PUT"}
    mine = _signing(ours(lab))
    for server, options, path, status, key in ((mine, _TAKES, "/files/{n}", 201, "files/0"),
                                               (lab.peers["nginx"], _PASSES, "/{n}", 200, "0"),
                                               (MINIO, (), "/{n}", 200, "0")):
        load = own_load(lab, "closed", {**put, "expect_status": status})
        yield Cell({"server": server.name, "what": _PUT},
                   put_to_store(Subject(server, path=path, options=options), load, size, key),
                   server)
    for server, options, path, key_of in (
            (mine, _TAKES, "/uploads", lambda place: "files/upload"),
            (_TUSD, _TUSD_STORE, "/files/", lambda place: re.search(r"([^/+]+)\+", place)[1])):
        yield Cell({"server": server.name, "what": _TUS},
                   tus_to_store(Subject(server, path=path, options=options), size, key_of), server)


def _cells(lab):
    hot = H2load(lab.mode.pick(100, 100, 4), 1, lab.mode.pick(100_000, 20_000, 100))
    once = {"requests": lab.mode.pick(10, 4, 1), "connections": 1}
    cold = own_load(lab, "closed", once, requests=1)
    cells = [*_downloads(lab, _HOT, 20_000, hot),
             *_downloads(lab, _COLD, lab.mode.pick(100_000_000, 100_000_000, 3_000_000), cold),
             *lab.mode.pick(_uploads(lab, 1_000_000_000), [], _uploads(lab, 300_000))]
    if MINIO.path() is None:
        for cell in cells:
            cell.unable = "MinIO is not installed: scripts/setup store"
    return cells


def _findings(experiment):
    hot = {"server": "h2server", "what": _HOT}
    found = [compare_cells(experiment, "cpu_us", hot, {"server": _FILE, "what": _HOT},
                           "20 kB, asked for again and again")]
    found += [compare_cells(experiment, "goodput_mb_s", {"server": "h2server", "what": what},
                            {"server": other, "what": what}, what)
              for what, others in ((_COLD, ["minio", "nginx"]), (_PUT, ["minio", "nginx"]),
                                   (_TUS, ["tusd"])) for other in others]
    return found


_NOTE_HOT = ("The object is in the memory of h2server, which asks the store once a second whether it is "
             "still so; nginx passes each request on. minio: without a server between, and its own CPU.")
_NOTE = ("One node of MinIO on the load's processors, beside the client; a server before it has its own. "
         "An upload is one PUT. h2server computes SHA-256 and CRC-32C of what it sends, and signs it; "
         "nginx signs nothing.")
_NOTE_TUS = ("One PATCH by curl. h2server sends parts of 8 MiB from memory, tusd larger ones from a file.")

DEFINITION = Definition(
    "stores",
    "An object store behind the server",
    "What does a server cost that stands before an S3 store, and how fast does it pass on what the "
    "store has?",
    _cells,
    [
        Bars("Goodput with an object store behind", "goodput_mb_s", "what", "server",
             {"what": [_COLD, _PUT, _TUS]}),
        Table("A small object", ("what", "server"), ["cpu_us", "rps", "p50_ms", "p99_ms", "rss_kib"],
              {"what": _HOT}, floor=_FILE, note=_NOTE_HOT),
        Table("Large ones", ("what", "server"), _COLUMNS, {"what": [_COLD, _PUT]}, floor="minio",
              note=_NOTE),
        Table("Uploads by tus", ("what", "server"), _COLUMNS, {"what": _TUS}, floor="tusd",
              note=_NOTE_TUS),
    ],
    _findings,
)
