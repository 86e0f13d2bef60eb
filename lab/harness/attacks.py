"""lab/attacks: what hostile clients make servers hold, in a control group of 128 MiB.

    lab/attacks                    # each attack on each server, into docs/lab/attacks.json
    lab/attacks --only h2server    # one server; --attack NAME: one attack; the other measures stay
    lab/attacks --page             # measures nothing, writes the tables of docs/security.md

For each server and attack: the server starts in the group, another client asks for a small file
again and again, each time on a new connection; the attack is made and stays for some seconds; then
its connections close. The memory is the anonymous memory of the server's processes. Needs root, for
the control group.
"""

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import sys
import tempfile
import threading
import time

from harness import attackers, frames, lab, machine, meter, pages, processes, servers
from harness.procedures import Subject, setting_of

PAGE = servers.ROOT / "docs/security.md"
RESULTS = servers.ROOT / "docs/lab/attacks.json"

MEMORY_BYTES_MAX = 128 << 20
STAY_S = 4
RECOVER_S_MAX = 12  # h2server gives memory back once in 10 s, as a connection ends
RECOVERED_KIB = 1024  # no more than so much is left
PROBE_PAUSE_S = 0.02
PROBE_S_MAX = 5
SAMPLE_S = 0.05
OWN = "127.0.0.1"

# Name in the tables: (scheme, engine, threads, further options).
OURS = {
    "h2server": ("reuseport", "auto", 1, ()),  # its defaults: io_uring, where it can
    "acceptor": ("acceptor", "auto", 1, ()),
    "reuseport, epoll": ("reuseport", "epoll", 1, ()),
    "libnghttp2": ("reuseport", "auto", 1, ("--h2", "nghttp2")),
    "thread-pool": ("thread-pool", "blocking", 64, ()),
    "buffered-pool": ("buffered-pool", "blocking", 64, ()),
    "thread-per-connection": ("thread-per-connection", "blocking", 1, ()),
    "process-per-connection": ("process-per-connection", "blocking", 1, ()),
}
PEERS = {server.name: server for server in (servers.NGINX, servers.H2O, servers.CADDY)}
MAIN = ("h2server", *PEERS)
VARIANTS = tuple(name for name in OURS if name not in MAIN)


@dataclasses.dataclass(frozen=True)
class Group:
    """A control group."""

    folder: pathlib.Path
    events: str  # the file that counts what the kernel killed

    @property
    def procs(self):
        """The file that takes the pids of its processes."""
        return self.folder / "cgroup.procs"

    def killed(self):
        """Returns how many of its processes the kernel has killed for want of memory."""
        found = re.search(r"^oom_kill (\d+)", (self.folder / self.events).read_text(), re.MULTILINE)
        return int(found[1])


@contextlib.contextmanager
def memory_group(bytes_max):
    """Yields a Group with that much memory."""
    second = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    root = pathlib.Path("/sys/fs/cgroup" if second else "/sys/fs/cgroup/memory")
    group = root / f"h2lab-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.max" if second else "memory.limit_in_bytes")).write_text(str(bytes_max))
        yield Group(group, "memory.events" if second else "memory.oom_control")
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
    """Asks for the small file. Returns the seconds; raises OSError."""
    return frames.answered(port, tls, protocol, OWN, attackers.SMALL, PROBE_S_MAX)


class Watch:
    """Context manager: samples memory and asks for the small file until the end.

    What the probes met is in .latencies_s and .failed, what the server held in .peak_kib.
    """

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
    pipe.recv()
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
        target=_attacker, args=(attack, port, tls, uploads, there), daemon=True)
    process.start()  # before there are threads, whose locks it would get as they are
    with Watch(pid, port, tls, attack.protocol) as watch:
        here.send(None)
        connections, sent = here.recv()
        time.sleep(STAY_S)
    here.send(None)
    here.recv()
    process.join()
    deadline = time.monotonic() + RECOVER_S_MAX
    while True:
        left_kib = meter.anonymous_kib(pid) - before_kib
        if left_kib <= RECOVERED_KIB or time.monotonic() > deadline:
            break
        time.sleep(0.5)
        with contextlib.suppress(OSError):
            asked(port, tls, attack.protocol)
    latencies = sorted(watch.latencies_s) or [PROBE_S_MAX]
    return {"connections": connections, "sent_bytes": sent,
            "held_kib": max(0, watch.peak_kib - before_kib), "left_kib": max(0, left_kib),
            "probes": len(watch.latencies_s), "failed": watch.failed,
            "median_ms": statistics.median(latencies) * 1e3, "worst_ms": latencies[-1] * 1e3}


def measure(place, name, attack, tls):
    """Starts a server in a group, makes an attack. Returns the measures, with `ended` if the server
    did, or if the kernel killed a process of it."""
    # Uploads go to the disk: what lies in memory would count for the group.
    with memory_group(MEMORY_BYTES_MAX) as group, \
            tempfile.TemporaryDirectory(dir=place.build, prefix="attacks-") as folder:
        work = pathlib.Path(folder)
        work.chmod(0o755)
        if name in OURS:
            scheme, engine, threads, options = OURS[name]
            server = servers.ours(place.build, scheme, engine)
            folder = work / "up" / attackers.UPLOADED
            folder.mkdir(parents=True)
            for number in range(attack.stored):
                (folder / f"an-upload-with-a-name-of-usual-length-{number:06}.txt").touch()
            options = (*options, "--upload-dir", work / "up")
            if scheme != "process-per-connection":  # whose processes share no locks
                options = (*options, "--webdav")
            uploads = "/files/"
        else:
            server, threads = PEERS[name], 1
            options, uploads = ("uploads", "listings"), "/upload/"
        subject = Subject(in_group(server, group.procs), attack.protocol, tls, threads,
                          attackers.SMALL, options)
        port = processes.free_port()
        found = {"server": name, "attack": attack.name, "tls": tls}
        try:
            with server_of(place, subject, work, port) as pid:
                found |= attacked(attack, pid, port, tls, uploads)
                found["serves_after"] = serves(port, tls, attack.protocol)
        except processes.Failure as error:
            found["ended"] = str(error)[-200:]
        if group.killed():
            found["ended"] = "the kernel killed a process of it for want of memory"
        return found


def server_of(place, subject, work, port):
    """Returns a context manager with the pid of the started server."""
    return subject.server.run(setting_of(place, subject, work, port), place.server_cpus)


def serves(port, tls, protocol):
    """Returns whether the small file comes."""
    try:
        asked(port, tls, protocol)
    except OSError:
        return False
    return True


def make_files(place):
    """What the servers serve."""
    place.file(attackers.SMALL[1:], 100)
    place.file(attackers.LARGE[1:], 60_000_000)
    place.file(attackers.TEXT[1:], 20_000_000)
    folder = place.root / attackers.FOLDER.strip("/")
    folder.mkdir()
    for number in range(3000):
        (folder / f"a-file-with-a-name-of-usual-length-{number:04}.txt").touch()
    folder = place.root / attackers.README_FOLDER.strip("/")
    folder.mkdir()
    (folder / "README.txt").write_text(20_000 * "a<b")


def measure_all(names, attacks):
    """Yields the measures of each server and attack, as transports_of() says."""
    server_cpus, load_cpus = machine.default_cpus()
    machine.stay_on(load_cpus)
    machine.raise_limits()
    build = servers.ROOT / "build/release"
    with lab.Lab(build, lab.MODES["quick"], server_cpus, load_cpus, (), ()) as place:
        make_files(place)
        for name in names:
            for attack in attacks:
                for tls in transports_of(name, attack):
                    yield measure(place, name, attack, tls)


def transports_of(name, attack):
    """Returns whether it is measured over TLS, for each transport."""
    return (True,) if name in VARIANTS or not attack.shakes else (False, True)


def shown(runs, left=False):
    """Returns what a cell of a table says of an attack: the worse of cleartext and TLS. `left`: also
    what was still held afterwards."""
    if not runs:
        return "–"
    if any("ended" in run for run in runs):
        return "**ended**"
    held = max(run["held_kib"] for run in runs) / 1024
    text = f"{held:.0f} MiB" if held >= 1 else "< 1 MiB"
    if left and held >= 1:
        text += f" ({max(run['left_kib'] for run in runs) / 1024:.0f})"
    if any(run["probes"] == 0 for run in runs):
        return f"{text}, **no answer**"
    worst = max(PROBE_S_MAX * 1e3 if run["failed"] else run["worst_ms"] for run in runs)
    lost = " (lost)" if any(run["failed"] for run in runs) else ""
    return f"{text}, {pages.number(worst)} ms{lost}"


def table(results, names, left=False):
    """Returns the lines of a table: a row for each attack, a column for each server."""
    lines = ["| sent by one address | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for attack in attackers.ATTACKS:
        cells = [shown([run for run in results["runs"] if run["server"] == name
                        and run["attack"] == attack.name], left) for name in names]
        kind = "HTTP/2" if attack.protocol == "h2" else "HTTP/1.1"
        lines.append(f"| {kind}, {attack.connections:,} connections: {attack.what} | "
                     + " | ".join(cells) + " |")
    return lines


def tables(results):
    """Returns {name: lines} for the page."""
    return {"peers": table(results, MAIN, left=True), "variants": table(results, VARIANTS)}


def versions(names):
    """Returns {name: version} of the programs."""
    programs = [program_of(name) for name in names]
    return {program.name: servers.version_of(program) for program in programs}


def program_of(name):
    """Returns the Server."""
    return PEERS.get(name) or servers.ours(servers.ROOT / "build/release")


def merged(results, run):
    """Returns the results with a run in place of the same one of before."""
    def key(one):
        return one["server"], one["attack"], one["tls"]
    return results | {"runs": [one for one in results["runs"] if key(one) != key(run)] + [run]}


def write_page():
    results = json.loads(RESULTS.read_text())
    PAGE.write_text(pages.rewritten(PAGE.read_text(), "lab/attacks", tables(results)))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lab/attacks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*OURS, *PEERS], help="this server")
    parser.add_argument("--attack", action="append", help="this attack",
                        choices=[attack.name for attack in attackers.ATTACKS])
    parser.add_argument("--page", action="store_true", help="measures nothing")
    given = parser.parse_args(arguments)
    if not given.page:
        results = {"versions": {}, "runs": []}
        if RESULTS.exists():
            results = json.loads(RESULTS.read_text())
        names = given.only or [*OURS, *PEERS]
        for name in names:
            if program_of(name).path() is None:
                parser.exit(1, f"lab/attacks: {name} is missing: scripts/setup lab && make build\n")
        attacks = [attack for attack in attackers.ATTACKS
                   if not given.attack or attack.name in given.attack]
        results["versions"] |= versions(names)
        for run in measure_all(names, attacks):
            print(run, file=sys.stderr, flush=True)
            results = merged(results, run)
            results["finished"] = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
