"""Procedures of one run with an object store behind the server. See procedures.py.

The options of a subject may have {store}, the store's URL, and {bucket} in them. The subject of the
store itself is asked without a server between.
"""

import base64
import contextlib
import dataclasses
import subprocess
import types
import urllib.parse
import urllib.request

from harness import loads, meter, processes
from harness.object_store import BUCKET, MINIO, ObjectStore
from harness.processes import Failure
from harness.procedures import (Outcome, Started, check, is_uploaded, load_once, measures_of,
                                pattern)



@contextlib.contextmanager
def _started(lab, subject, store):
    """Yields what runs: .pid, .target, .work."""
    if subject.server is MINIO:
        size = subject.file(lab).stat().st_size if subject.file(lab).is_file() else None
        target = loads.Target(store.port, f"/{BUCKET}{subject.path}", False, "h1", store.work, size)
        yield types.SimpleNamespace(pid=store.pid, target=target, work=store.work)
        return
    options = tuple(str(option).format(store=store.url, bucket=BUCKET)
                    for option in subject.options)
    with Started(lab, dataclasses.replace(subject, options=options)) as started:
        yield started


def _measures(reading, usage, client_cpu, size):
    measures = measures_of(reading, usage, client_cpu)
    measures["cpu_ns_byte"] = usage.cpu_ns / (reading.requests * size)
    return measures


def download_from_store(subject, load, size):
    """Returns the procedure that puts `load` on an object of `size` bytes."""

    def procedure(lab, _):
        with ObjectStore(lab) as store:
            store.put(subject.file(lab))
            with _started(lab, subject, store) as started:
                check(lab, subject, started)
                load_once(lab, load.warm_up(), started.target)
                with meter.Meter(started.pid) as metered:
                    reading, client_cpu, command = load_once(lab, load, started.target)
        measures = _measures(reading, metered.usage, client_cpu, size)
        return Outcome(reading.requests, measures, command, reading.histogram)

    return procedure


def _check_object(lab, subject, store, key, size):
    """Compares the stored upload with what was sent, once for each subject."""
    if (known := (id(subject), key)) in lab.checked:
        return
    copy = store.work / "copy"
    store.get(key, copy)
    if not is_uploaded(copy, size):
        raise Failure(f"what it stored as {key} is not what was uploaded")
    copy.unlink()
    lab.checked.add(known)


def put_to_store(subject, load, size, key):
    """Returns the procedure that uploads `size` bytes in one PUT, which become the object `key`."""

    def procedure(lab, _):
        with ObjectStore(lab) as store, _started(lab, subject, store) as started:
            with meter.Meter(started.pid) as metered:
                reading, client_cpu, command = load_once(lab, load, started.target)
            _check_object(lab, subject, store, key, size)
        measures = _measures(reading, metered.usage, client_cpu, size)
        return Outcome(reading.requests, measures, command, reading.histogram)

    return procedure


def tus_to_store(subject, size, key_of):
    """Returns the procedure that uploads `size` bytes by one PATCH of tus, with curl. `key_of` gets the
    upload's URL, and returns the key of its object."""

    def procedure(lab, _):
        content = lab.scratch / f"{size}.tus"
        if not content.exists():
            content.write_bytes(pattern(size))
        with ObjectStore(lab) as store, _started(lab, subject, store) as started:
            place = _create(started.target, size)
            command = ["curl", "-sS", "-X", "PATCH", "-T", str(content), "-o", "/dev/null",
                       "-w", "%{http_code} %{time_total}", "-H", "Tus-Resumable: 1.0.0",
                       "-H", "Upload-Offset: 0", "-H", "Expect:",
                       "-H", "Content-Type: application/offset+octet-stream", place]
            with meter.Meter(started.pid) as metered:
                output, client_cpu = processes.run_load(command, lab.load_cpus, 300)
            status, _, seconds = output.partition(" ")
            if status != "204":
                raise Failure(f"curl: {status}")
            _check_object(lab, subject, store, key_of(place), size)
        taken_us = float(seconds) * 1e6
        reading = loads.Reading(1, float(seconds), loads.buckets_of([taken_us]), taken_us,
                                {"goodput_mb_s": size / float(seconds) / 1e6})
        measures = _measures(reading, metered.usage, client_cpu, size)
        return Outcome(1, measures, " ".join(command[:6]), reading.histogram)

    return procedure


def _create(target, size):
    """Returns the URL of a new tus upload with the name "upload"."""
    name = base64.b64encode(b"upload").decode()
    fields = {"Tus-Resumable": "1.0.0", "Upload-Length": str(size),
              "Upload-Metadata": f"filename {name}"}
    request = urllib.request.Request(target.url, method="POST", headers=fields)
    with urllib.request.urlopen(request, timeout=30) as response:
        return urllib.parse.urljoin(target.url, response.headers["Location"])
