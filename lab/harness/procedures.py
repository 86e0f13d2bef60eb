"""Procedures of one run: start a server, check its answer, put load on it, read the meters.

A procedure takes the Lab and a round number and returns an Outcome, or raises Failure. It leaves no
process running. under_load() is the usual one.
"""

import contextlib
import dataclasses
import json
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

import numpy

from harness import meter, processes, spread
from harness.loads import Target, reading_of
from harness.processes import Failure
from harness.servers import EVENTS, ROOT, Setting

_LOAD_S_MAX = 300
_TRACED_LOAD_S_MAX = 60  # few requests, but strace is slow
_ATTACH_S_MAX = 60
_TRACED_BYTES = 100_000_000  # limits the requests for large files
PERCENTILES = {"p50_ms": 50, "p90_ms": 90, "p99_ms": 99, "p999_ms": 99.9, "max_ms": 100}


@dataclasses.dataclass
class Outcome:
    """The result of a run."""

    requests: int
    measures: dict
    command: str
    histogram: list = dataclasses.field(default_factory=list)
    problem: str = ""  # why a measure is missing


@dataclasses.dataclass(frozen=True)
class Subject:
    """A server with the way to run and query it."""

    server: object  # servers.Server
    protocol: str = "h1"  # h1 or h2
    tls: bool = False
    threads: int = 1
    path: str = "/index.html"
    options: tuple = ()
    status: int = 200

    def file(self, lab):
        """Returns the file that the server is to answer with."""
        return lab.root / self.path.rpartition("/")[2]


def setting_of(lab, subject, work, port):
    """Returns the Setting for `subject`."""
    return Setting(
        root=lab.root, work=work, port=port, protocol=subject.protocol, tls=subject.tls,
        threads=subject.threads, file=subject.file(lab),
        certificate=lab.certificate, key=lab.key, options=subject.options,
    )


class Started:
    """Context manager: runs the server of `subject`; has .pid, .target, .work."""

    def __init__(self, lab, subject):
        self._lab = lab
        self._subject = subject
        self._folder = tempfile.TemporaryDirectory(dir=lab.scratch)
        self.work = lab.scratch / self._folder.name
        self.port = processes.free_port()
        file = subject.file(lab)
        self.target = Target(
            self.port, subject.path, subject.tls, subject.protocol, self.work,
            file.stat().st_size if subject.status == 200 and file.is_file() else None,
        )

    def __enter__(self):
        setting = setting_of(self._lab, self._subject, self.work, self.port)
        self._running = self._subject.server.run(setting, self._lab.server_cpus)
        self.pid = self._running.__enter__()
        return self

    def __exit__(self, *exception):
        try:
            return self._running.__exit__(*exception)
        finally:
            self._folder.cleanup()


def check(lab, subject, started):
    """Compares the server's answer with the file, once per Subject."""
    if id(subject) in lab.checked:
        return
    protocol = {"h1": "--http1.1", "h2": "--http2" if subject.tls else "--http2-prior-knowledge"}
    body = started.work / "answer"
    done = subprocess.run(
        ["curl", "-sk", "-m", "60", protocol[subject.protocol], "-o", body,
         "-w", "%{http_code} %{http_version}", started.target.url],
        capture_output=True, text=True, check=False,
    )
    version = {"h1": "1.1", "h2": "2"}[subject.protocol]
    if done.stdout != f"{subject.status} {version}":
        raise Failure(f"asked with curl it answers {done.stdout!r} ({done.returncode})")
    if subject.status == 200 and body.read_bytes() != subject.file(lab).read_bytes():
        raise Failure(f"its body is not that of {subject.path}")
    lab.checked.add(id(subject))


def under_load(subject, load, syscalls=False, pause_s=0, inspect=None):
    """Returns the procedure that puts `load` on `subject`; results.py lists the measures.

    `syscalls` also counts system calls once, in a separate short run. With `pause_s` the server is
    warmed up again after that time: caches may treat a file better that is asked for again later.
    `inspect` gets the Started and the Reading after the load, and raises Failure if the server has
    not done what the cell is about.
    """

    def procedure(lab, _):
        with Started(lab, subject) as started:
            check(lab, subject, started)
            _read(lab, load.warm_up(), started)
            if pause_s:
                time.sleep(pause_s)
                _read(lab, load.warm_up(), started)
            with meter.Meter(started.pid, subject.server.transient) as metered:
                reading, client_cpu, command = _read(lab, load, started)
            if inspect:
                inspect(started, reading)
        measures = measures_of(reading, metered.usage, client_cpu)
        outcome = Outcome(reading.requests, measures, command, reading.histogram)
        if syscalls and id(subject) not in lab.counted:
            try:
                measures.update(count_syscalls(lab, subject, load))
                lab.counted.add(id(subject))
            except Failure as error:  # the next round retries
                outcome.problem = f"its system calls were not counted: {error}"
        return outcome

    return procedure


def _read(lab, load, started, seconds_max=_LOAD_S_MAX):
    return load_once(lab, load, started.target, seconds_max)


def load_once(lab, load, target, seconds_max=_LOAD_S_MAX):
    """Returns (Reading, processors that the client kept busy, its command)."""
    command = load.command(target)
    output, client_cpu = processes.run_load(command, lab.load_cpus, seconds_max)
    text = " ".join(command).replace(str(target.work), "WORK").replace(f"{ROOT}/", "")
    return load.read(output, target), client_cpu, text


def measures_of(reading, usage, client_cpu):
    """Returns the measures of a load on a server."""
    requests, seconds = reading.requests, reading.seconds
    measures = {
        "cpu_us": usage.cpu_ns / 1000 / requests,
        "rps": requests / seconds,
        "mean_ms": reading.mean_us / 1000,
        "server_cpu": usage.cpu_ns / 1e9 / seconds,
        "client_cpu": client_cpu,
        "rss_kib": usage.rss_kib,
        "wire_bytes": usage.wire_bytes / requests,
        "elapsed_s": seconds,
    }
    for name, percent in PERCENTILES.items():
        measures[name] = spread.percentile(reading.histogram, percent) / 1000
    if usage.switches is not None:
        measures["switches"] = usage.switches / requests
    return {**measures, **reading.more}


def count_syscalls(lab, subject, load):
    """Returns {"syscalls": per request}, counted by strace in a shorter run; {} without strace."""
    if not lab.can_trace:
        return {}
    with Started(lab, subject) as started:
        enough = _TRACED_BYTES // max(started.target.body_bytes or 0, 1)
        load = load.with_requests(min(lab.counted_requests, max(enough, 20)))
        summary = started.work / "strace"
        members = [f"--attach={pid}" for pid in meter.family(started.pid)]
        command = ["strace", "-f", "-c", "-o", summary, *members]
        said = started.work / "strace.log"
        with said.open("w") as errors:
            tracer = subprocess.Popen(
                processes.pinned(lab.load_cpus, command), stderr=errors, start_new_session=True
            )
        try:
            _await_attached(tracer, said, len(members))
            reading, _, _ = _read(lab, load, started, _TRACED_LOAD_S_MAX)
        finally:
            processes.stop(tracer, signal.SIGINT)  # makes strace print its summary
        counted = summary.read_text()
    # The columns: % time, seconds, usecs/call, calls, errors (which may be empty), syscall.
    total = re.search(r"^\S+\s+\S+\s+\S+\s+(\d+)(?:\s+\d+)?\s+total$", counted, re.MULTILINE)
    if not total:
        raise Failure(f"strace counted nothing: {counted[-200:]}")
    return {"syscalls": int(total[1]) / reading.requests}


def _await_attached(tracer, said, members):
    deadline = time.monotonic() + _ATTACH_S_MAX
    while said.read_text().count("attached") < members:
        if tracer.poll() is not None or time.monotonic() > deadline:
            raise Failure(f"strace cannot watch the server: {said.read_text().strip()[-200:]}")
        time.sleep(0.005)


def idle(subject, connections):
    """Returns the procedure that measures memory with `connections` idle after one request each."""

    def procedure(lab, _):
        with Started(lab, subject) as started:
            check(lab, subject, started)
            _hold(lab, started, 16)  # first use allocates what no connection owns
            before = meter.anonymous_kib(started.pid)
            grown, said, command = _hold(lab, started, connections)
            each = (grown - before) / connections
        return Outcome(
            connections, {"kib_per_connection": each, "rss_kib": grown}, command, said["histogram"]
        )

    return procedure


def _hold(lab, started, connections):
    """Returns (the server's anonymous KiB while they are open, the client's JSON, its command)."""
    target = started.target
    command = [str(lab.load_program), "idle", "--connections", str(connections), "--port",
               str(target.port), "--path", target.path, "--protocol", target.protocol,
               *(["--tls"] if target.tls else [])]
    with subprocess.Popen(
        processes.pinned(lab.load_cpus, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    ) as client:
        try:
            if not select.select([client.stdout], [], [], _LOAD_S_MAX)[0]:
                raise Failure("the idle connections did not come about")
            if client.stdout.readline() != "ready\n":
                raise Failure("an idle connection failed")
            time.sleep(0.1)  # for the server's remaining work
            grown = meter.anonymous_kib(started.pid)
            output, _ = client.communicate()
        except BaseException:
            client.kill()
            raise
    said = json.loads(output.splitlines()[-1])
    reading_of(said)  # raises Failure on errors
    return grown, said, " ".join(command[1:])


class _EventClients:
    """Context manager: harness/events.py with `count` clients of the server, all connected."""

    def __init__(self, lab, started, count):
        self.command = processes.pinned(
            lab.load_cpus, [sys.executable, EVENTS, "clients", started.target.port, count])

    def __enter__(self):
        self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._await("ready")
        return self

    def __exit__(self, *exception):
        processes.stop(self._process)

    def send(self):
        """Sends one event, and waits until all have it."""
        self._process.stdin.write("send\n")
        self._process.stdin.flush()
        self._await("done")

    def _await(self, word):
        if (not select.select([self._process.stdout], [], [], _LOAD_S_MAX)[0]
                or self._process.stdout.readline() != f"{word}\n"):
            raise Failure(f"the clients of the event stream do not say {word}")


def event_streams(subject, count, owns_memory=True, events=5):
    """Returns the procedure that sends `events` to `count` clients at once, one after the other.

    A request is one event for one client. Without `owns_memory` the server's memory is not shown.
    """

    def procedure(lab, _):
        with Started(lab, subject) as started:
            with _EventClients(lab, started, 16) as few:  # first use allocates what nobody owns
                few.send()
            before = meter.anonymous_kib(started.pid)
            with _EventClients(lab, started, count) as clients:
                clients.send()
                with meter.Meter(started.pid) as metered:
                    for _ in range(events):
                        clients.send()
                grown = meter.anonymous_kib(started.pid)
                command = " ".join(clients.command[3:]).replace(f"{ROOT}/", "")
        measures = {"cpu_us": metered.usage.cpu_ns / 1000 / (events * count)}
        if owns_memory:
            measures["kib_per_connection"] = (grown - before) / count
        return Outcome(events * count, measures, command)

    return procedure


def balance(subject, load):
    """Returns the procedure that measures how evenly processor time is distributed over workers."""

    def procedure(lab, _):
        with Started(lab, subject) as started:
            check(lab, subject, started)
            _read(lab, load.warm_up(), started)
            with meter.Meter(started.pid) as metered:
                reading, client_cpu, command = _read(lab, load, started)
        measures = measures_of(reading, metered.usage, client_cpu)
        busy = sorted(metered.usage.cpu_ns_by_thread.values(), reverse=True)[: subject.threads]
        # The acceptor and the main thread are not workers; they use the least time.
        measures["imbalance"] = busy[0] / (sum(busy) / len(busy))
        return Outcome(reading.requests, measures, command, reading.histogram)

    return procedure


def pattern(size):
    """Returns the first `size` bytes of what lab/load uploads; they repeat after 64 KiB."""
    offsets = numpy.arange(size, dtype=numpy.int64)
    return ((offsets * 131 + (offsets >> 8)) & 255).astype(numpy.uint8).tobytes()


_TILE = pattern(65_536) * 16  # compared at once: an upload may be larger than memory allows


def is_uploaded(path, size):
    """Returns true if the file is a body of `size` bytes that lab/load uploads."""
    left = size
    with path.open("rb") as file:
        while piece := file.read(len(_TILE)):
            if piece != _TILE[:min(left, len(piece))]:
                return False
            left -= len(piece)
    return left == 0


def _check_stored(lab, subject, started, stored, size):
    """Compares the stored upload with what was sent. `stored` is a glob in the server's folder."""
    key = (subject.server.name, subject.protocol, stored)
    if not stored or key in lab.checked:
        return
    files = list(started.work.glob(stored))
    if len(files) != 1 or not is_uploaded(files[0], size):
        raise Failure(f"what it stored as {stored} is not what was uploaded")
    lab.checked.add(key)


@dataclasses.dataclass(frozen=True)
class Line:
    """The line between client and server."""

    rtt_ms: float
    mbit_s: float = 0  # in each direction; 0 if unlimited


@contextlib.contextmanager
def _relay(lab, started, line):
    """Yields the port at which the server is reached over the line."""
    if line is None:
        yield started.port
        return
    near = processes.free_port()
    relay = [lab.relay_program, "--port", near, "--to", started.port,
             "--rtt-ms", line.rtt_ms, "--mbit-s", line.mbit_s]
    with processes.running(relay, lab.load_cpus, near, started.work, log="relay.log"):
        yield near


def upload_over_a_line(subject, load, line, size, stored):
    """Returns the procedure that uploads `size` bytes through a relay on the load's processors,
    or straight to the server if `line` is None.

    `stored` is a glob of the stored file in the server's folder, empty if the server stores none.
    """

    def procedure(lab, _):
        with Started(lab, subject) as started:
            _read(lab, load.warm_up(), started)
            for file in started.work.glob(stored) if stored else ():
                file.unlink()  # the next upload has the same name
            with _relay(lab, started, line) as port:
                far = dataclasses.replace(started.target, port=port)
                with meter.Meter(started.pid, subject.server.transient) as metered:
                    reading, client_cpu, command = load_once(lab, load, far)
            _check_stored(lab, subject, started, stored, size)
        measures = measures_of(reading, metered.usage, client_cpu)
        measures["cpu_ns_byte"] = metered.usage.cpu_ns / (reading.requests * size)
        if line:
            del measures["wire_bytes"]  # they cross loopback twice
        return Outcome(reading.requests, measures, command, reading.histogram)

    return procedure
