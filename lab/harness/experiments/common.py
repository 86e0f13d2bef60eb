"""Shared by the experiments: servers, protocols and loads by their names in the tables."""

from harness import servers
from harness.lab import Cell
from harness.loads import H2load, Own, Wrk
from harness.procedures import Subject, under_load

# {name in tables: (protocol, TLS)}
PROTOCOLS = {"h1": ("h1", False), "h1 TLS": ("h1", True), "h2c": ("h2", False), "h2": ("h2", True)}
# Of the experiment sizes only; no peer speaks them.
SPDY_PROTOCOLS = {"spdy": ("spdy", False), "spdy TLS": ("spdy", True)}
# The usual columns.
TABLE = ["cpu_us", "rps", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms", "server_cpu",
         "client_cpu", "rss_kib"]
AGAIN_S = 1.2  # h2server copies a file that is asked for again after a second
SMALL, LARGE = "-c100 -m10", "-c1000 -m100"  # the article's loads


def ours(lab, scheme="acceptor", engine="auto"):
    return servers.ours(lab.build, scheme, engine)


def floor(lab, engine=None):
    """Returns the floor on the cheaper engine: io_uring where allowed."""
    return servers.floor(lab.build, engine or lab.floor_engine)


def h2_load(lab, load):
    """Returns one of the article's loads for h2load. The name gives connections and streams."""
    small = lab.mode.pick(150_000, 40_000, 1_000)
    large = lab.mode.pick(600_000, 200_000, 2_000)
    if load == SMALL:
        return H2load(lab.mode.pick(100, 100, 10), 10, small)
    return H2load(lab.mode.pick(1000, 1000, 20), lab.mode.pick(100, 100, 20), large)


def h1_load(lab, connections=100):
    """Returns a load of HTTP/1.1 connections that send the next request at once."""
    if lab.mode.name == "smoke":
        return H2load(min(connections, 10), 1, 500)
    return Wrk(connections, 1)


def load_cell(server, protocol, load, factors, syscalls=False, pause_s=0, **subject):
    """Returns a Cell that puts `load` on a server. `protocol` is a name in tables."""
    spoken, tls = {**PROTOCOLS, **SPDY_PROTOCOLS}[protocol]
    under = Subject(server, spoken, tls, **subject)
    procedure = under_load(under, load, syscalls, pause_s)
    return Cell(
        {"server": server.name, "protocol": protocol, **factors},
        _without_curl(under, procedure) if spoken == "spdy" else procedure,
        server,
        load.tool,
    )


def _without_curl(subject, procedure):
    """Returns the procedure for a protocol that curl does not speak.

    lab/load checks the status and the size of each answer; tests/lab/test_spdy.py compares contents.
    """

    def unchecked(lab, number):
        lab.checked.add(id(subject))
        return procedure(lab, number)

    return unchecked


def own_load(lab, mode, options, **few):
    """Returns lab/load with `options`. Warm-ups replace some of them by `few`."""
    return Own(lab.load_program, mode, options, few)
