"""Data of a measurement: runs, experiments and their file, results.json.xz.

A Run is one load on one server, once. Runs with the same `cell` differ only in `round`, so their
spread is the spread of the measurement. Measures by name, with their units:

    cpu_us        server's processor time (user and system, with children), µs per request
    rps           requests per second, as the client saw them
    p50_ms p90_ms p99_ms p999_ms max_ms mean_ms    latency, ms
    server_cpu    processors that the server kept busy (1.0: one)
    client_cpu    processors that the client kept busy; near 1.0 the client was the limit
    rss_kib       peak resident memory of the server under load, KiB; memory shared by several
                  processes is counted once
    switches      context switches of the server per request
    wire_bytes    bytes on the wire per request, both directions, with TCP and IP headers
    syscalls      system calls per request (measured in a separate short run)
    elapsed_s     from the first connection to the last response, s
    goodput_mb_s  bytes of bodies that arrived, 10^6 per second
    kib_per_connection    memory of an idle connection, KiB
    late_ms       largest delay of a request caused by the open-loop client itself, ms
    failed        requests without the expected answer
    kernel_us parse_us hpack_us route_us respond_us engine_us other_us    parts of cpu_us (breakdown.py)
    imbalance     the busiest worker's processor time over the mean of all (1.0: even)
"""

import dataclasses
import json
import lzma
import pathlib

from harness import breakdown

FORMAT = 1
FILE = "results.json.xz"

UNITS = {
    "cpu_us": "µs",
    "cpu_ns_byte": "ns",
    "rps": "1/s",
    "p50_ms": "ms",
    "p90_ms": "ms",
    "p99_ms": "ms",
    "p999_ms": "ms",
    "max_ms": "ms",
    "mean_ms": "ms",
    "server_cpu": "cores",
    "client_cpu": "cores",
    "rss_kib": "KiB",
    "switches": "per request",
    "wire_bytes": "B",
    "syscalls": "per request",
    "elapsed_s": "s",
    "goodput_mb_s": "MB/s",
    "kib_per_connection": "KiB",
    "late_ms": "ms",
    "imbalance": "",
    "failed": "",
    **{f"{part}_us": "µs" for part in breakdown.PARTS},
}


@dataclasses.dataclass
class Run:
    """One load on one server, once."""

    cell: str  # the factors in one line; the same for all rounds
    factors: dict  # {"server": "nginx", "load": "-c100 -m10", "threads": 2 …}: str or number
    round: int
    command: str  # of the load
    requests: int
    measures: dict  # {name: number}, see above; measures that could not be taken are absent


@dataclasses.dataclass
class Experiment:
    """All runs of one experiment, with the skipped and failed ones."""

    name: str
    command: str  # to repeat it
    planned: int  # runs
    runs: list = dataclasses.field(default_factory=list)
    # [{"what": …, "factors": of the cell, "why": …}]
    skipped: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    started: str = ""  # ISO 8601
    source: str = ""  # the measured revision
    environment: dict = dataclasses.field(default_factory=dict)  # as in Results


@dataclasses.dataclass
class Results:
    """A report's data."""

    mode: str  # full, quick or smoke
    started: str  # ISO 8601
    finished: str = ""
    interrupted: bool = False
    command: str = ""
    seed: int = 0  # of the order of the runs
    environment: dict = dataclasses.field(default_factory=dict)  # {label: text}, in order
    # [{name, version, path, sha256, flags}]
    binaries: list = dataclasses.field(default_factory=list)
    experiments: list = dataclasses.field(default_factory=list)
    # {experiment: {cell: [[µs, count] …]}}: latencies of all rounds, by a bucket's upper end, where a
    # figure shows them
    histograms: dict = dataclasses.field(default_factory=dict)


def save(results, folder):
    """Writes FILE into `folder`, atomically."""
    path = pathlib.Path(folder) / FILE
    text = json.dumps({"format": FORMAT, **dataclasses.asdict(results)}, ensure_ascii=False,
                      separators=(",", ":"))
    part = path.with_suffix(".part")
    part.write_bytes(lzma.compress(text.encode(), preset=9))
    part.replace(path)


def _not_among(experiments, others):
    names = {other.name for other in others}
    return [experiment for experiment in experiments if experiment.name not in names]


def joined(earlier, later):
    """Returns `later`, plus the experiments of `earlier` that `later` has not started."""
    begun = [item for item in later.experiments if item.started]
    names = {experiment.name for experiment in begun}
    kept = [experiment for experiment in earlier.experiments if experiment.name not in names]
    hashes = {(binary["name"], binary["sha256"]) for binary in later.binaries}
    return dataclasses.replace(
        later,
        started=earlier.started,
        command=f"{earlier.command}; {later.command}",
        experiments=kept + _not_among(later.experiments, kept),
        histograms={**earlier.histograms, **later.histograms},
        binaries=later.binaries
        + [binary for binary in earlier.binaries
           if (binary["name"], binary["sha256"]) not in hashes],
    )


def read(folder):
    """Returns the data of FILE in a folder, or of such a file. Raises SystemExit if there are none."""
    path = pathlib.Path(folder)
    path = path / FILE if path.is_dir() else path
    try:
        data = json.loads(lzma.decompress(path.read_bytes()))
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise SystemExit(f"{path}: no results: {error}") from error
    if data.pop("format", None) != FORMAT:
        raise SystemExit(f"{path}: not of format {FORMAT}; measure again")
    return data


def load(folder):
    """Returns what read() does as Results."""
    data = read(folder)
    data["experiments"] = [
        Experiment(**{**item, "runs": [Run(**run) for run in item["runs"]]})
        for item in data["experiments"]
    ]
    return Results(**data)
