"""What a TLS handshake costs the server."""

import subprocess
import time

from harness import loads, meter
from harness.experiments.common import floor, ours
from harness.experiments.definition import Definition
from harness.findings import compare_cells, ratio_to_floor
from harness.handshakes import KINDS, Client, InMemory
from harness.lab import Cell
from harness.plots import Bars, Table
from harness.processes import Failure
from harness.procedures import Outcome, Started, Subject, check, measures_of
from harness.variants import with_certificate

_P256, _RSA = "ECDSA P-256", "RSA 2048"
_MEMORY = "OpenSSL in memory"
_ORDER = {"handshake": list(KINDS), "key": [_P256, _RSA]}


def _pair_of(lab, key):
    """Returns (certificate, key file); makes them if they are missing."""
    if key == _P256:
        return lab.certificate, lab.key
    certificate, key_file = lab.scratch / "rsa.crt", lab.scratch / "rsa.key"
    if not certificate.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", key_file, "-out", certificate], check=True, capture_output=True)
    return certificate, key_file


def _warmed(client, count):
    for _ in range(max(count // 10, 5)):  # also gets a ticket
        client.connect()


def _connections(subject, kind, count):
    """Returns the procedure that makes `count` connections, one after the other."""

    def procedure(lab, _):
        with Started(lab, subject) as started:
            check(lab, subject, started)
            client = Client(kind, started.port, subject.path)
            taken_us = []
            try:
                _warmed(client, count)
                with meter.Meter(started.pid) as metered:
                    begin, busy = time.monotonic(), time.process_time()
                    for _ in range(count):
                        before = time.monotonic()
                        client.connect()
                        taken_us.append((time.monotonic() - before) * 1e6)
                    seconds = time.monotonic() - begin
                    busy = time.process_time() - busy
            except (OSError, AssertionError) as error:
                raise Failure(f"a connection with handshake {kind}: {error!r}") from error
        reading = loads.Reading(count, seconds, loads.buckets_of(taken_us), sum(taken_us) / count)
        return Outcome(count, measures_of(reading, metered.usage, busy / seconds),
                       f"harness.handshakes {kind}", reading.histogram)

    return procedure


def _in_memory(key, kind, count):
    """Returns the procedure of the limit: the server's half of a handshake, without a socket."""

    def procedure(lab, _):
        ends = InMemory(kind, *_pair_of(lab, key))
        _warmed(ends, count)
        taken = [ends.connect() for _ in range(count)]
        return Outcome(count, {"cpu_us": sum(taken) / 1000 / count}, f"harness.handshakes {kind}")

    return procedure


def _cells(lab):
    count = lab.mode.pick(400, 100, 10)
    path = lab.file("index.html", 158)
    cells = []
    for key in lab.mode.pick([_P256, _RSA], [_P256], [_P256, _RSA]):
        for kind in KINDS if key == _P256 else KINDS[1:]:  # none: the key has no part in it
            factors = {"handshake": kind} if kind == "none" else {"handshake": kind, "key": key}
            for server in (ours(lab), lab.peers["nginx"], lab.peers["h2o"], floor(lab)):
                options = ("--close",) if server.name == "floor" else ()
                subject = Subject(with_certificate(server, *_pair_of(lab, key)), "h1",
                                  kind != "none", path=path, options=options)
                cells.append(Cell({"server": server.name, **factors},
                                  _connections(subject, kind, count), server))
            if kind != "none":
                cells.append(Cell({"server": _MEMORY, **factors}, _in_memory(key, kind, count),
                                  ours(lab)))
    if lab.mode.name == "quick":
        cells = [cell for cell in cells if cell.factors["server"] != "h2o"]
    return cells


def _findings(experiment):
    found = []
    for key in (_P256, _RSA):
        for kind in KINDS[1:]:
            mine = {"server": "h2server", "handshake": kind, "key": key}
            for peer in ("nginx", "h2o"):
                found.append(compare_cells(experiment, "cpu_us", mine, {**mine, "server": peer},
                                           f"{kind} handshake, {key}"))
            found.append(compare_cells(
                experiment, "cpu_us", mine, {**mine, "server": _MEMORY},
                f"{kind} handshake, {key}",
                "What the kernel takes for the connection: the limit has no socket.",
                names=("h2server", "OpenSSL in memory")))
            found.append(ratio_to_floor(experiment, "cpu_us", mine, f"{kind} handshake, {key}"))
        found.append(compare_cells(
            experiment, "cpu_us", {"server": "h2server", "handshake": "resumed", "key": key},
            {"server": "h2server", "handshake": "full", "key": key}, key,
            names=("A connection with a resumed handshake", "one with a full handshake")))
    return found


_NOTE = ("A connection with one request and no second one at the same time, by a client in Python. TLS "
         "1.3, X25519. none: the same in cleartext. OpenSSL in memory: the server's half of the "
         "handshake, and the record of one byte, in a process without sockets; the least that a server "
         "with OpenSSL can take. The floor has OpenSSL's handshake and answers without reading.")

DEFINITION = Definition(
    "handshakes",
    "What a TLS handshake costs",
    "Before the first request over TLS, client and server agree on keys, and the server proves who it "
    "is. How much processor time does that take, the first time and for a client that comes back?",
    _cells,
    [
        Bars("CPU per connection, by handshake", "cpu_us", ("key", "handshake"), "server",
             order=_ORDER),
        Table("A connection with one request", ("key", "handshake", "server"),
              ["cpu_us", "p50_ms", "p99_ms", "rss_kib", "switches", "client_cpu"], order=_ORDER,
              note=_NOTE),
    ],
    _findings,
)
