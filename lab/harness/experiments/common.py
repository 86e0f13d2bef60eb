"""What the experiments share: servers, protocols and loads by the names they have in the tables."""

from harness import servers
from harness.lab import Cell
from harness.loads import H2load, Own, Wrk
from harness.procedures import Subject, under_load

# {name in tables: (protocol, TLS)}
PROTOCOLS = {"h1": ("h1", False), "h1 TLS": ("h1", True), "h2c": ("h2", False), "h2": ("h2", True)}
# What most tables show.
TABLE = ["cpu_us", "rps", "p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms", "server_cpu",
         "client_cpu", "rss_kib"]
SMALL, LARGE = "-c100 -m10", "-c1000 -m100"  # the article's loads


def ours(lab, scheme="acceptor", engine="auto"):
    return servers.ours(lab.build, scheme, engine)


def floor(lab, engine=None):
    """The floor, on the engine that costs less: io_uring where it is allowed."""
    return servers.floor(lab.build, engine or lab.floor_engine)


def h2_load(lab, load):
    """One of the article's loads: h2load, connections and streams as its name says."""
    small = lab.mode.pick(150_000, 40_000, 1_000)
    large = lab.mode.pick(600_000, 200_000, 2_000)
    if load == SMALL:
        return H2load(lab.mode.pick(100, 100, 10), 10, small)
    return H2load(lab.mode.pick(1000, 1000, 20), lab.mode.pick(100, 100, 20), large)


def h1_load(lab, connections=100):
    """HTTP/1.1 connections that ask again at once."""
    if lab.mode.name == "smoke":
        return H2load(min(connections, 10), 1, 500)
    return Wrk(connections, 1)


def load_cell(server, protocol, load, factors, syscalls=False, **subject):
    """A Cell that puts `load` on a server by the protocol of that name in tables."""
    spoken, tls = PROTOCOLS[protocol]
    under = Subject(server, spoken, tls, **subject)
    return Cell(
        {"server": server.name, "protocol": protocol, **factors},
        under_load(under, load, syscalls),
        server,
        load.tool,
    )


def own_load(lab, mode, options, **few):
    """lab/load with `options`; to warm the server up, with `few` instead of some of them."""
    return Own(lab.load_program, mode, options, few)
