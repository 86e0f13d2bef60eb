"""lab/scale: computes the tables of docs/scale.md from docs/lab/results.json.xz.

Each measured row names the experiment and the cell that it comes from, of which it is the median.
Handshakes come from docs/lab/handshakes.json, which lab/handshakes writes on a quiet machine; without
it, their rows say so.
"""

import json
import pathlib
import statistics
import sys

from harness import pages, results
from harness.pages import number

_ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = _ROOT / "docs/scale.md"
RESULTS = _ROOT / "docs/lab"
HANDSHAKES = _ROOT / "docs/lab/handshakes.json"

SHARE = 0.6         # of a processor that is planned with; the rest is for peaks and for a lost replica
NIC_BYTES = 100e9 / 8
PETABYTE = 1e15
CONNECTIONS = 1e6

_H2SERVER = "server h2server, protocol "
# name: (what, unit, experiment, cell, measure, factor of the unit)
COSTS = {
    "A": ("request for a small cached file, h2c", "µs", "peers",
          _H2SERVER + "h2c, threads 1, load -c100 -m10", "cpu_us", 1),
    "B": ("the same over TLS, h2", "µs", "peers",
          _H2SERVER + "h2, threads 1, load -c100 -m10", "cpu_us", 1),
    "C": ("the same over TLS, HTTP/1.1", "µs", "peers",
          _H2SERVER + "h1 TLS, threads 1, load -c100", "cpu_us", 1),
    "D": ("request for 20 kB over TLS, h2", "µs", "bodies", _H2SERVER + "h2, bytes 20000",
          "cpu_us", 1),
    "E": ("byte of 1 MB in cleartext, HTTP/1.1", "ns", "bodies", _H2SERVER + "h1, bytes 1000000",
          "cpu_us", 1e3 / 1e6),
    "F": ("byte of 100 MB over TLS, HTTP/1.1", "ns", "bodies",
          _H2SERVER + "h1 TLS, bytes 100000000", "cpu_us", 1e3 / 1e8),
    "G": ("byte of 100 MB over TLS, h2", "ns", "bodies", _H2SERVER + "h2, bytes 100000000",
          "cpu_us", 1e3 / 1e8),
    "H": ("received byte of an upload over TLS with its SHA-256, h2", "ns", "receiving",
          _H2SERVER + "h2", "cpu_ns_byte", 1),
    "I": ("connection with one request, cleartext, HTTP/1.1", "µs", "connections",
          _H2SERVER + "h1, target 1 KB, concurrency 100, tool load", "cpu_us", 1),
    "J": ("idle connection, h2c", "KiB", "idle", _H2SERVER + "h2c, engine io_uring",
          "kib_per_connection", 1),
    "K": ("idle connection over TLS, h2", "KiB", "idle", _H2SERVER + "h2, engine io_uring",
          "kib_per_connection", 1),
    "L": ("request for 20 kB of a store, from memory, HTTP/1.1", "µs", "stores",
          "server h2server, what GET 20 kB, hot", "cpu_us", 1),
    "M": ("byte of 100 MB from a store, HTTP/1.1", "ns", "stores", "server h2server, what GET 100 MB",
          "cpu_ns_byte", 1),
    "N": ("byte of an upload of 1 GB into a store, HTTP/1.1", "ns", "stores",
          "server h2server, what PUT 1 GB", "cpu_ns_byte", 1),
}


def measured(data):
    """Returns {letter: cost}, the medians of the runs of results.read()."""
    costs = {}
    for letter, (_, _, experiment, cell, measure, factor) in COSTS.items():
        runs = [run["measures"][measure] for one in data["experiments"]
                if one["name"] == experiment for run in one["runs"] if run["cell"] == cell]
        if not runs:
            raise KeyError(f"{letter}: {experiment} has no cell {cell!r}")
        costs[letter] = statistics.median(runs) * factor
    return costs


def costs_table(costs, handshakes):
    lines = ["| | processor time or memory of a | | source: experiment, cell |", "|---|---|---|---|"]
    for letter, (what, unit, experiment, cell, _, _) in COSTS.items():
        lines.append(f"| {letter} | {what} | {number(costs[letter])} {unit} | "
                     f"[{experiment}](lab/README.md#experiment-{experiment}): "
                     f"{cell.removeprefix('server h2server, ')} |")
    for letter, kind in (("O", "full"), ("P", "resumed")):
        cost = f"{number(handshakes[kind])} µs" if handshakes else "not measured yet"
        lines.append(f"| {letter} | connection with a {kind} handshake of TLS 1.3 and one request | "
                     f"{cost} | `lab/handshakes` |")
    return lines


def replica_table(costs):
    """Requests and bytes per second of a replica, of SHARE of its processors."""
    lines = ["| processors | small requests over TLS, h2 (B) | HTTP/1.1 (C) | requests for 20 kB (D) "
             "| large files over TLS (G) |", "|---|---|---|---|---|"]
    for processors in (1, 4, 16):
        budget_us = processors * SHARE * 1e6
        bits = budget_us * 1e3 / costs["G"] * 8 / 1e9
        lines.append(f"| {processors} | {number(budget_us / costs['B'])}/s "
                     f"| {number(budget_us / costs['C'])}/s | {number(budget_us / costs['D'])}/s "
                     f"| {number(bits)} Gbit/s |")
    return lines


def targets_table(costs, handshakes):
    def gib(letter):
        return f"{number(CONNECTIONS * costs[letter] / 2**20)} GiB"

    def processors(letter):
        return f"{number(NIC_BYTES * costs[letter] / 1e9)} processors"

    def hours(letter):
        return f"{number(PETABYTE * costs[letter] / 1e9 / 3600)} processor hours"

    small = NIC_BYTES / 20_000
    lines = ["| | takes | of |", "|---|---|---|",
             f"| 1 M idle connections over TLS, h2 | {gib('K')} | K |",
             f"| 1 M idle connections behind a proxy, h2c | {gib('J')} | J |",
             "| 1 M new connections in a minute, cleartext | "
             f"{number(CONNECTIONS / 60 * costs['I'] / 1e6)} processors | I |"]
    for letter, kind in (("O", "full"), ("P", "resumed")):
        if handshakes:
            lines.append(f"| 1 M new connections in a minute, {kind} handshakes | "
                         f"{number(CONNECTIONS / 60 * handshakes[kind] / 1e6)} processors "
                         f"| {letter} |")
    lines += [f"| 100 Gbit/s of large files in cleartext | {processors('E')} | E |",
              f"| 100 Gbit/s of large files over TLS, HTTP/1.1 | {processors('F')} | F |",
              f"| 100 Gbit/s of large files over TLS, h2 | {processors('G')} | G |",
              f"| 100 Gbit/s of 20 kB over TLS, h2: {number(small)} requests/s | "
              f"{number(small * costs['D'] / 1e6)} processors | D |",
              f"| 100 Gbit/s of uploads over TLS, h2 | {processors('H')} | H |",
              f"| 100 Gbit/s of large objects from a store | {processors('M')} | M |",
              f"| 100 Gbit/s of uploads into a store | {processors('N')} | N |",
              f"| sending 1 PB over TLS, h2 | {hours('G')} | G |",
              f"| receiving 1 PB over TLS, h2 | {hours('H')} | H |",
              "| 1 PB through one line of 100 Gbit/s | "
              f"{number(PETABYTE / NIC_BYTES / 3600)} hours | |",
              "| listing 1 PB of 1 MB each, 1000 keys a page | "
              f"{number(PETABYTE / 1e6 / 1000)} requests to the store | |"]
    return lines


def tables():
    """Returns {name: lines} for the page."""
    costs = measured(results.read(RESULTS))
    handshakes = None
    if HANDSHAKES.exists():
        runs = json.loads(HANDSHAKES.read_text())["runs"]
        handshakes = {kind: statistics.median(run["cpu_us"] for run in runs
                                              if run["handshake"] == kind)
                      for kind in ("full", "resumed")}
    return {"costs": costs_table(costs, handshakes), "replica": replica_table(costs),
            "targets": targets_table(costs, handshakes)}


def main():
    PAGE.write_text(pages.rewritten(PAGE.read_text(), "lab/scale", tables()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
