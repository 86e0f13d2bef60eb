#!/usr/bin/python3
"""Prints the server's CPU time per request under every scheme and engine, in one run.

    bench/cpu_per_request.py [--rounds N] [--pairs SCHEME:ENGINE,...]

The server is pinned to one processor and the load to another. Loads: HTTP/1.1 with 100 connections,
h2c with 100 connections of 10 streams (h2load), and a connection for each request (wrk). User and
system time come from /proc/PID/stat, with those of threads and children that have ended. Medians.
"""

import argparse
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/h2server"
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

PAIRS = ["acceptor:epoll", "acceptor:io_uring", "reuseport:epoll", "reuseport:io_uring",
         "thread-pool:blocking", "buffered-pool:blocking", "thread-per-connection:blocking",
         "process-per-connection:blocking"]
SERVER_CPU, LOAD_CPU = "0", "1"


def h1(url):
    return ["h2load", "--h1", "-n100000", "-c100", url], 100_000


def h2c(url):
    return ["h2load", "-n300000", "-c100", "-m10", url], 300_000


def short(url):
    return ["wrk", "-t1", "-c50", "-d4", "-H", "Connection: close", url], None


LOADS = {"h1 -c100": h1, "h2c -c100 -m10": h2c, "short connection": short}


def family(pid):
    """The process, its children and theirs."""
    found = [pid]
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError):
            found += family(int(child))
    return found


def cpu_seconds(pid):
    ticks = 0
    for member in family(pid):
        with contextlib.suppress(FileNotFoundError):
            text = pathlib.Path(f"/proc/{member}/stat").read_text()
            # utime, stime, cutime, cstime: proc(5)
            ticks += sum(int(field) for field in text.rpartition(")")[2].split()[11:15])
    return ticks / TICKS_A_SECOND


@contextlib.contextmanager
def server(pair, root):
    scheme, engine = pair.split(":")
    pools = ["--threads", "128"] if scheme.endswith("-pool") else []
    process = subprocess.Popen(
        ["taskset", "-c", SERVER_CPU, BINARY, "--h2c", "--host", "127.0.0.1", "--port", "0",
         "--root", root, "--scheme", scheme, "--io", engine, *pools],
        stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if found := re.search(r"http://localhost:(\d+)/", line):
                yield process.pid, f"http://127.0.0.1:{found[1]}/index.html"
                break
        else:
            sys.exit(f"{pair}: the server did not start")
    finally:
        process.terminate()
        process.wait()


def answered(output, expected):
    """How many requests were; ends the program when any failed."""
    if expected is None:
        if "Non-2xx" in output or "Socket errors" in output:
            sys.exit(output)
        return int(re.search(r"(\d+) requests in", output)[1])
    if f"{expected} succeeded" not in output:
        sys.exit(output)
    return expected


def measure(pair, load, root):
    """Microseconds a request."""
    with server(pair, root) as (pid, url):
        command, expected = load(url)
        before = cpu_seconds(pid)
        output = subprocess.run(["taskset", "-c", LOAD_CPU, *command], check=True,
                                capture_output=True, text=True).stdout
        return (cpu_seconds(pid) - before) / answered(output, expected) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=lambda text: text.split(","), default=PAIRS)
    options = parser.parse_args()
    costs = {(pair, name): [] for pair in options.pairs for name in LOADS}
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "index.html").write_text("x" * 158)
        for _ in range(options.rounds):
            for pair, name in costs:
                costs[pair, name].append(measure(pair, LOADS[name], root))
    print(f"{'microseconds a request':34}" + "".join(f"{name:>22}" for name in LOADS))
    for pair in options.pairs:
        cells = (costs[pair, name] for name in LOADS)
        print(f"{pair:34}" + "".join(
            f"{statistics.median(cell):10.2f} ({min(cell):.2f}-{max(cell):.2f})".rjust(22)
            for cell in cells))


if __name__ == "__main__":
    main()
