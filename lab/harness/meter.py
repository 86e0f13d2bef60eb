"""Resources that a server used: processor time, memory, context switches, bytes on loopback.

Reads /proc for the process and its descendants. Processor time comes from schedstat, in ns, per
thread. schedstat is lost when threads or processes end with connections; then /proc/PID/stat is
used, in ticks of 10 ms.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import threading
import time

_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
_SAMPLE_S = 0.2
_END_S = 0.02  # time for the server to close what the client closed; part of the load


def family(pid):
    """Returns the pids of the process and its descendants."""
    found = [pid]
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    return found


def _threads(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        yield from pathlib.Path(f"/proc/{pid}/task").iterdir()


def thread_cpu_ns(pid):
    """Returns {thread: ns} of the live threads of the process and its descendants."""
    times = {}
    for member in family(pid):
        for task in _threads(member):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                times[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return times


def _ticks(pid):
    """Returns user and system time in ns, including ended threads and children: proc(5)."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return sum(int(field) for field in text.rpartition(")")[2].split()[11:15]) * _TICK_NS
    return 0


def _switches(pid):
    total = 0
    for member in family(pid):
        for task in _threads(member):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                counts = re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text())
                total += sum(map(int, counts))
    return total


def _status_kib(pid, field):
    """Returns the sum of a field of /proc/PID/status, in KiB."""
    total = 0
    for member in family(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = pathlib.Path(f"/proc/{member}/status").read_text()
            found = re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)
            total += int(found[1]) if found else 0  # an ended process has none
    return total


def resident_kib(pid):
    """Returns peak resident KiB; of several processes the current total, shared memory once."""
    members = family(pid)
    if len(members) == 1:
        return _status_kib(pid, "VmHWM")
    total = 0
    for member in members:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = pathlib.Path(f"/proc/{member}/smaps_rollup").read_text()
            found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
            total += int(found[1]) if found else 0
    return total


def anonymous_kib(pid):
    """Returns the anonymous memory: no code, no files, no kernel memory."""
    return _status_kib(pid, "RssAnon")


def loopback_bytes():
    """Returns the bytes sent over the loopback interface, including TCP and IP headers."""
    return int(pathlib.Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


@dataclasses.dataclass
class Usage:
    """What a server used during a measurement."""

    cpu_ns: int
    cpu_ns_by_thread: dict
    switches: int | None  # None if threads and processes end with connections
    wire_bytes: int
    rss_kib: int


class Meter:
    """with Meter(pid, transient) as meter: …; meter.usage

    `transient` is True if threads or processes end during the measurement.
    """

    def __init__(self, pid, transient=False):
        self._pid = pid
        self._transient = transient
        self._rss_kib = 0
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self.usage = None

    def __enter__(self):
        self._threads = thread_cpu_ns(self._pid)
        self._ended = {member: _ticks(member) for member in family(self._pid)}
        self._switches = _switches(self._pid)
        self._wire_bytes = loopback_bytes()
        if self._transient or len(self._ended) > 1:
            self._sampler.start()  # for a single process the kernel keeps the peak
        return self

    def __exit__(self, *exception):
        time.sleep(_END_S)
        wire_bytes = loopback_bytes() - self._wire_bytes
        by_thread = {
            thread: ns - self._threads.get(thread, 0)
            for thread, ns in thread_cpu_ns(self._pid).items()
        }
        self._over.set()
        if self._sampler.is_alive():
            self._sampler.join()
        self.usage = Usage(
            cpu_ns=self._ticks_used() if self._transient else sum(by_thread.values()),
            cpu_ns_by_thread=by_thread,
            switches=None if self._transient else _switches(self._pid) - self._switches,
            wire_bytes=wire_bytes,
            rss_kib=max(self._rss_kib, resident_kib(self._pid)),
        )

    def _ticks_used(self):
        return sum(
            _ticks(member) - self._ended.get(member, 0) for member in family(self._pid)
        )

    def _sample(self):
        while not self._over.wait(_SAMPLE_S):
            self._rss_kib = max(self._rss_kib, resident_kib(self._pid))
