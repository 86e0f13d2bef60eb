"""Processes that the lab starts: pinned to processors, stopped by pid."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

_START_S = 60
_STOP_S = 60


class Failure(Exception):
    """Reason why a run does not count."""


def free_port():
    """Returns a port that is currently free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(cpus, command):
    """Returns `command` pinned to the processors `cpus`, in taskset's format: "0", "0-3,6"."""
    return ["taskset", "--cpu-list", cpus, *map(str, command)]


@contextlib.contextmanager
def running(command, cpus, port, folder, environment=None, log="server.log"):
    """Yields the pid of a process that accepts connections on `port`. Stops it afterwards.

    The process runs in `folder`; its output goes to the file `log` there.
    """
    log = pathlib.Path(folder) / log
    with log.open("wb") as output:
        process = subprocess.Popen(
            pinned(cpus, command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C reaches only the lab, which stops the servers
        )
    try:
        _await_port(process, port, log)
        yield process.pid
        if process.poll() is not None:
            raise Failure(f"the server ended under load: {_tail(log)}")
    finally:
        stop(process)


def stop(process, how=signal.SIGTERM):
    """Stops a process, by force after a timeout. Kills what remains of its process group."""
    if process.poll() is None:
        process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own session
    process.wait()


def _await_port(process, port, log):
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failure(f"the server did not start: {_tail(log)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise Failure(f"the server does not listen on port {port}: {_tail(log)}")


def _tail(log):
    return log.read_text(errors="replace").strip()[-300:] or "it said nothing"


def run_load(command, cpus, timeout_s):
    """Returns (output, processors kept busy) of a load generator. Raises Failure on errors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    try:
        done = subprocess.run(
            pinned(cpus, command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no end after {timeout_s} s: {' '.join(map(str, command))}") from error
    elapsed_s = time.monotonic() - started
    # No other child is reaped meanwhile, so the difference is the load's alone.
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-400:]
        raise Failure(f"{pathlib.Path(command[0]).name} failed ({done.returncode}): {said}")
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, used_s / elapsed_s
