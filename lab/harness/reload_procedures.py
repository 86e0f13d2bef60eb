"""Procedures of one run in which the server's configuration or program is replaced under load."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

from harness import meter, processes, servers, spread
from harness.loads import coarse
from harness.processes import Failure
from harness.procedures import PERCENTILES, Outcome, Started, check, load_once

_LOAD_S_MAX = 60
_SUCCESSOR_S_MAX = 10
_LOG_S_MAX = 5
RELOAD, UPGRADE = signal.SIGHUP, signal.SIGUSR2


def kept(server):
    """Returns the server, run by a keeper, whose children are the server and its successors."""

    def command(binary, setting):
        return ["env", f"PYTHONPATH={servers.ROOT / 'lab'}", sys.executable, "-m", "harness.keeper",
                *map(str, server.command(binary, setting))]

    return dataclasses.replace(server, command=command)


def _ticks_ns(pid):
    """Returns the time of the process and of its children that have ended, in ns: proc(5)."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) * 10**9 // os.sysconf("SC_CLK_TCK")
    return 0


def _used_ns(pid):
    """Returns the time of the keeper and of all below it, living or not. Exact to 10 ms each."""
    return sum(map(_ticks_ns, meter.family(pid)))


class _Changes:
    """Sends a signal to the server at each of `moments`, in s from the start, on a thread.

    `pid_file` names the process that serves; a successor writes its own into it.
    """

    def __init__(self, pid_file, change, moments):
        self._pid_file = pid_file
        self._change = change
        self._moments = moments
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.problem = ""

    def __enter__(self):
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._over.set()
        self._thread.join()

    def _send(self):
        try:
            self._send_all()
        except (OSError, ValueError) as error:  # the server or its pid file is gone
            self.problem = repr(error)

    def _send_all(self):
        for moment in self._moments if self._change else ():
            if self._over.wait(max(self._begin + moment - time.monotonic(), 0)):
                self.problem = f"the load ended before the change at {moment} s"
                return
            before = self._pid_file.read_text()
            os.kill(int(before), self._change)
            if self._change == UPGRADE and not self._has_successor(before):
                self.problem = "it has no successor"
                return

    def _has_successor(self, before):
        deadline = time.monotonic() + _SUCCESSOR_S_MAX
        while self._pid() in (before, ""):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _pid(self):
        return self._pid_file.read_text() if self._pid_file.exists() else ""


def _load(command, cpus):
    """Returns the JSON of lab/load, which may have seen failed requests."""
    done = subprocess.run(processes.pinned(cpus, command), capture_output=True, text=True,
                          timeout=_LOAD_S_MAX, check=False, start_new_session=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise Failure(f"load failed ({done.returncode}): {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout.splitlines()[-1])


def changed_under_load(subject, load, change, moments, pid_file="", log=None):
    """Returns the procedure that sends the signal `change` to the server, at `moments` in s, while a
    load of lab/load runs. Without a change it is the same load. `pid_file` is in the server's folder.

    The measure `failed` is the number of requests that were not answered as they should be. `log` is
    (file in the server's folder, text that a line has for each change that was made).
    """

    def procedure(lab, _):
        with Started(lab, subject) as started:
            check(lab, subject, started)
            load_once(lab, load.warm_up(), started.target)
            command = load.command(started.target)
            before = _used_ns(started.pid)
            with _Changes(started.work / pid_file, change, moments) as changes:
                said = _load(command, lab.load_cpus)
            used_ns = _used_ns(started.pid) - before
            if changes.problem:
                raise Failure(changes.problem)
            if change and log:
                _check_log(started.work / log[0], log[1], len(moments))
        histogram = coarse(said["histogram"])
        answered = said["requests"]
        if not answered:
            raise Failure(f"load: {said['errors']}")
        measures = {"cpu_us": used_ns / 1000 / answered, "rps": answered / said["seconds"],
                    "failed": sum(said["errors"].values()), "mean_ms": said["mean_us"] / 1000,
                    "late_ms": said["late_us_max"] / 1000}
        for name, percent in PERCENTILES.items():
            measures[name] = spread.percentile(histogram, percent) / 1000
        return Outcome(answered, measures, " ".join(command[1:]), histogram)

    return procedure


def _check_log(path, text, count):
    deadline = time.monotonic() + _LOG_S_MAX
    while ((found := path.read_text(errors="replace").count(text)) < count
           and time.monotonic() < deadline):
        time.sleep(0.01)
    if found != count:
        raise Failure(f"its log has {found} times {text!r}, not {count} times")
