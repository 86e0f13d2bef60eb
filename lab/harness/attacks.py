"""lab/attacks: what hostile clients make servers hold, in a control group of 128 MiB.

    lab/attacks FILE.json                    # each attack on each server; prints the tables
    lab/attacks FILE.json --only h2server    # one server; --attack NAME: one attack

For each server and attack: the server starts in the group, another client asks for a small file again
and again, each time on a new connection; the attack is made and stays for some seconds; then its connections close. The
memory is the anonymous memory of the server's processes. Needs root, for the control group.
"""

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time

from harness import attackers, lab, machine, meter, processes, scale, servers
from harness.procedures import Subject, setting_of

_ROOT = pathlib.Path(__file__).resolve().parents[2]

MEMORY_BYTES_MAX = 128 << 20
STAY_S = 6
RECOVER_S_MAX = 15  # h2server gives memory back once in 10 s, as a connection ends
PROBE_PAUSE_S = 0.02
PROBE_S_MAX = 5
SAMPLE_S = 0.05
OWN = "127.0.0.1"

# Name in the tables: (scheme, engine, further options).
OURS = {
    "h2server": ("acceptor", "auto", ()),
    "reuseport, epoll": ("reuseport", "epoll", ()),
    "reuseport, io_uring": ("reuseport", "io_uring", ()),
    "libnghttp2": ("acceptor", "auto", ("--h2", "nghttp2")),
    "thread-pool": ("thread-pool", "blocking", ()),
    "thread-per-connection": ("thread-per-connection", "blocking", ()),
}
PEERS = {server.name: server for server in (servers.NGINX, servers.H2O, servers.CADDY)}


@contextlib.contextmanager
def memory_group(bytes_max):
    """Yields the file that takes the pids of a control group with that much memory."""
    second = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = pathlib.Path("/sys/fs/cgroup" if second else "/sys/fs/cgroup/memory") / f"h2lab-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.max" if second else "memory.limit_in_bytes")).write_text(str(bytes_max))
        yield group / "cgroup.procs"
    finally:
        for _ in range(100):  # the kernel may still be at the end of the last process
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def in_group(server, procs):
    """Returns the server, started in the control group."""
    def command(binary, setting):
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', procs, *server.command(binary, setting)]
    return dataclasses.replace(server, command=command)


def asked(port, tls, protocol):
    """Asks for the small file on a new connection. Returns the seconds; raises OSError."""
    begun = time.monotonic()
    with attackers.connect(port, tls, protocol, OWN, PROBE_S_MAX) as connection:
        if protocol == "h2":
            connection.sendall(attackers.opening(65535) + attackers.frame(
                1, 5, 1, attackers.head(attackers.SMALL, tls)))
            _await_stream(connection.makefile("rb"))
        else:
            connection.sendall(f"GET {attackers.SMALL} HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: close\r\n\r\n".encode())
            received = b""
            while piece := connection.recv(65536):
                received += piece
            if not received.startswith(b"HTTP/1.1 200"):
                raise ConnectionError("no 200")
    return time.monotonic() - begun


def _await_stream(reader):
    """Reads frames until stream 1 has ended with a status of 200."""
    good = False
    while start := reader.read(9):
        length = int.from_bytes(start[:3], "big")
        kind, flags, stream = start[3], start[4], struct.unpack(">I", start[5:])[0]
        payload = reader.read(length)
        if stream == 1 and kind == 1:
            good = b"\x88" in payload[:4]  # :status 200, at most behind a change of the table's size
        if stream == 1 and kind in (0, 1) and flags & 1:
            if good:
                return
            break
    raise ConnectionError("no 200")


class Watch:
    """Context manager: samples memory and asks for the small file until the end. What the probes met is in
    .latencies_s and .failed, what the server held in .peak_kib."""

    def __init__(self, pid, port, tls, protocol):
        self.latencies_s, self.failed, self.peak_kib = [], 0, 0
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._sample, args=(pid,)),
                         threading.Thread(target=self._probe, args=(port, tls, protocol))]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _sample(self, pid):
        while not self._end.wait(SAMPLE_S):
            self.peak_kib = max(self.peak_kib, meter.anonymous_kib(pid))

    def _probe(self, *where):
        while not self._end.wait(PROBE_PAUSE_S):
            try:
                self.latencies_s.append(asked(*where))
            except OSError:
                self.failed += 1


def _attacker(attack, port, tls, uploads, pipe):
    """A process of its own, so that the probes wait for the server only."""
    machine.raise_limits()
    held, sent = attackers.hold(attack, port, tls, uploads, attack.connections)
    pipe.send((len(held), sent))
    pipe.recv()
    for connection in held:
        connection.close()
    pipe.send(None)


def attacked(attack, pid, port, tls, uploads):
    """Makes one attack on a running server. Returns the measures."""
    for _ in range(20):  # what the server makes once for all
        asked(port, tls, attack.protocol)
    before_kib = meter.anonymous_kib(pid)
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_attacker, args=(attack, port, tls, uploads, there))
    with Watch(pid, port, tls, attack.protocol) as watch:
        process.start()
        connections, sent = here.recv()
        time.sleep(STAY_S)
    here.send(None)
    here.recv()
    process.join()
    deadline = time.monotonic() + RECOVER_S_MAX
    while (left := meter.anonymous_kib(pid) - before_kib) > 1024 and time.monotonic() < deadline:
        time.sleep(0.5)
        asked(port, tls, attack.protocol)
    latencies = sorted(watch.latencies_s) or [PROBE_S_MAX]
    return {"connections": connections, "sent_bytes": sent,
            "held_kib": max(0, watch.peak_kib - before_kib), "left_kib": max(0, left),
            "probes": len(watch.latencies_s), "failed": watch.failed,
            "median_ms": statistics.median(latencies) * 1e3, "worst_ms": latencies[-1] * 1e3}


def measure(place, name, attack, tls, procs):
    """Starts a server, makes an attack. Returns the measures, with `ended` if the server did."""
    work = pathlib.Path(tempfile.mkdtemp(dir=place.scratch))
    if name in OURS:
        scheme, engine, options = OURS[name]
        server = servers.ours(place.build, scheme, engine)
        (work / "up").mkdir()
        options = (*options, "--upload-dir", work / "up")
        uploads = "/files/"
    else:
        server, options, uploads = PEERS[name], ("uploads", "listings"), "/upload/"
    subject = Subject(in_group(server, procs), attack.protocol, tls, 1, attackers.SMALL, options)
    port = processes.free_port()
    found = {"server": name, "attack": attack.name, "tls": tls}
    try:
        with subject.server.run(setting_of(place, subject, work, port), place.server_cpus) as pid:
            found |= attacked(attack, pid, port, tls, uploads)
            asked(port, tls, attack.protocol)
    except (processes.Failure, OSError) as error:
        found["ended"] = str(error)[-200:]
    return found


def make_files(place):
    """What the servers serve."""
    place.file(attackers.SMALL[1:], 100)
    place.file(attackers.LARGE[1:], 60_000_000)
    place.file(attackers.TEXT[1:], 20_000_000)
    folder = place.root / attackers.FOLDER.strip("/")
    folder.mkdir()
    for number in range(3000):
        (folder / f"a-file-with-a-name-of-usual-length-{number:04}.txt").touch()


def measure_all(names, attacks):
    """Yields the measures of each server and attack."""
    server_cpus, load_cpus = machine.default_cpus()
    machine.stay_on(load_cpus)
    machine.raise_limits()
    with lab.Lab(_ROOT / "build/release", lab.MODES["quick"], server_cpus, load_cpus, (), ()) as place:
        make_files(place)
        for name in names:
            for attack in attacks:
                for tls in (False, True):
                    with memory_group(MEMORY_BYTES_MAX) as procs:
                        yield measure(place, name, attack, tls, procs)


def shown(runs):
    """Returns what a cell of a table says of an attack: the worse of cleartext and TLS."""
    if not runs:
        return "–"
    if any("ended" in run for run in runs):
        return "**ended**"
    held = max(run["held_kib"] for run in runs) / 1024
    text = f"{held:.0f} MiB" if held >= 1 else "< 1 MiB"
    if all(run["probes"] == 0 for run in runs):
        return f"{text}, **no answer**"
    worst = max(PROBE_S_MAX * 1e3 if run["failed"] else run["worst_ms"] for run in runs)
    return f"{text}, {scale.number(worst)} ms" + (" (lost)" if any(run["failed"] for run in runs) else "")


def table(results, names):
    """Returns the lines of a table: a row for each attack, a column for each server."""
    lines = ["| sent by one address | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for attack in attackers.ATTACKS:
        cells = [shown([run for run in results["runs"] if run["server"] == name
                        and run["attack"] == attack.name]) for name in names]
        kind = "HTTP/2" if attack.protocol == "h2" else "HTTP/1.1"
        lines.append(f"| {kind}, {attack.connections:,} connections: {attack.what} | "
                     + " | ".join(cells) + " |")
    return lines


def tables(results):
    """Returns {name: lines}: ours beside other servers, and our other schemes, engines and HTTP/2."""
    return {"peers": table(results, ["h2server", *PEERS]), "variants": table(results, list(OURS)[1:])}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lab/attacks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, help="where the measures go, as JSON")
    parser.add_argument("--only", action="append", choices=[*OURS, *PEERS], help="this server")
    parser.add_argument("--attack", action="append", choices=[attack.name for attack in attackers.ATTACKS],
                        help="this attack")
    given = parser.parse_args(arguments)
    attacks = [attack for attack in attackers.ATTACKS if not given.attack or attack.name in given.attack]
    found = []
    for run in measure_all(given.only or [*OURS, *PEERS], attacks):
        print(run, file=sys.stderr, flush=True)
        found.append(run)
    versions = {server.name: servers.version_of(server)
                for server in (servers.ours(_ROOT / "build/release"), *PEERS.values()) if server.path()}
    results = {"command": "lab/attacks", "memory_bytes_max": MEMORY_BYTES_MAX, "versions": versions,
               "finished": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "runs": found}
    given.file.write_text(json.dumps(results, indent=1) + "\n")
    for lines in tables(results).values():
        print("\n".join(lines), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
