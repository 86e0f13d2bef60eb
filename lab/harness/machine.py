"""The measured system: its environment and the data of the binaries."""

import hashlib
import json
import os
import pathlib
import platform
import re
import resource
import subprocess

from harness import servers

_SYSCTLS = [
    "net/core/somaxconn", "net/ipv4/tcp_max_syn_backlog", "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_tw_reuse", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem",
    "net/ipv4/tcp_congestion_control", "kernel/io_uring_disabled", "vm/overcommit_memory",
]


def _read(path):
    try:
        return " ".join(pathlib.Path(path).read_text().split())
    except OSError:
        return ""


def _first(pattern, path):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return found[1].strip() if found else ""


def _said(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter((done.stdout or done.stderr).splitlines()), "").strip()


def _compile_flags(build):
    """Returns the compiler's flags for a source of the server, without include directories."""
    try:
        entries = json.loads((build / "compile_commands.json").read_text())
    except (OSError, ValueError):
        return ""
    line = next((e["command"] for e in entries if e["file"].endswith("server/worker.cc")), "")
    flags = [word for word in line.split()[1:] if re.match(r"-(O|g|std|f|m|D)", word)]
    return " ".join(dict.fromkeys(flags))


def raise_limits():
    """Raises the descriptor limit to the hard limit, also for servers and clients."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def stay_on(cpus):
    """Keeps this process off the servers' processors. `cpus` is in taskset's format."""
    wanted = set()
    for piece in cpus.split(","):
        first, _, last = piece.partition("-")
        wanted |= set(range(int(first), int(last or first) + 1))
    os.sched_setaffinity(0, wanted)


def source():
    """Returns the revision of the source, marked if the working tree has changes."""
    dirty = " with changes" if _said("git", "-C", servers.ROOT, "status", "--porcelain") else ""
    return _said("git", "-C", servers.ROOT, "rev-parse", "--short=12", "HEAD") + dirty


def default_cpus():
    """Returns (the servers' processors, the load's): halves of the available ones."""
    mine = sorted(os.sched_getaffinity(0))
    half = max(len(mine) // 2, 1)
    return ",".join(map(str, mine[:half])), ",".join(map(str, mine[half:] or mine))


def environment(lab):
    """Returns {label: text}, in display order."""
    governors = {_read(path) for path in pathlib.Path("/sys/devices/system/cpu").glob(
        "cpu[0-9]*/cpufreq/scaling_governor")}
    memory_kib = int(_first(r"^MemTotal:\s+(\d+)", "/proc/meminfo"))
    release = _first(r'^PRETTY_NAME="?([^"\n]*)', "/etc/os-release")
    return {
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "system": release,
        "processor": _first(r"^model name\s*:(.*)", "/proc/cpuinfo") or platform.machine(),
        "processors": f"{os.cpu_count()}; servers on {lab.server_cpus}, load on {lab.load_cpus}",
        "governor": ", ".join(sorted(governors)) or "unknown (a virtual machine?)",
        "virtualisation": _said("systemd-detect-virt") or "unknown",
        "memory": f"{memory_kib / 2**20:.1f} GiB",
        "load when it began": " ".join(_read("/proc/loadavg").split()[:3]),
        "engine of h2server": lab.engine,
        "engine of the floor": lab.floor_engine,
        "HTTP/2 of h2server": "its own (--h2 native)",
        "source": source(),
        "compiler": _said("c++", "--version"),
        "compiler flags": _compile_flags(lab.build),
        "TLS": _said("openssl", "version") + ", ECDSA P-256",
        "descriptors": str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        "h2load": _said("h2load", "--version"),
        "wrk": _said("wrk", "--version").partition(" Copyright")[0],
        "hey": _said("dpkg-query", "--show", "hey").replace("\t", " "),
        **{name.replace("/", "."): _read(f"/proc/sys/{name}") for name in _SYSCTLS},
    }


def engine_of(lab):
    """Returns the engine that --io auto selects here, as the server prints it."""
    command = [lab.build / "h2server", "--h2c", "--host", "127.0.0.1", "--port", "0",
               "--root", lab.root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            lines = iter(server.stdout.readline, "")
            found = next((line for line in lines if line.strip().startswith("engine")), "")
        finally:
            server.terminate()
    return found.strip().removeprefix("engine").strip() or "unknown"


def can_trace():
    """Returns True if strace is installed and may attach to our processes."""
    with subprocess.Popen(["sleep", "60"]) as probe:
        try:
            tracer = subprocess.Popen(
                ["strace", "-p", str(probe.pid)], stderr=subprocess.PIPE, text=True
            )
            attached = "attached" in tracer.stderr.readline()
            tracer.terminate()
            tracer.communicate()
        except OSError:
            attached = False
        finally:
            probe.kill()
    return attached


def binary(lab, server):
    """Returns {name, version, path, sha256, flags} of a server; flags only of our own builds."""
    path = server.path()
    ours = path.resolve().is_relative_to(lab.build)
    return {
        "name": path.name if ours else server.name,
        "version": servers.version_of(server),
        "path": str(path).replace(f"{servers.ROOT}/", ""),
        "flags": _compile_flags(lab.build) if ours else "",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
