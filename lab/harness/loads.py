"""The load generators h2load, wrk, hey and lab/load behind one interface.

A load builds a command line for a Target and parses the tool's output into a Reading. It raises
Failure if the tool reports an error or an unexpected status, so such a run never counts.
"""

import csv
import dataclasses
import io
import json
import pathlib
import re
import shutil

import numpy

from harness.processes import Failure

WRK_SCRIPT = pathlib.Path(__file__).with_name("wrk.lua")


@dataclasses.dataclass
class Reading:
    """The result of a load generator."""

    requests: int
    seconds: float
    histogram: list  # [[µs, count] …], ascending
    mean_us: float
    more: dict = dataclasses.field(default_factory=dict)  # further measures


@dataclasses.dataclass(frozen=True)
class Target:
    """The server and path of a load."""

    port: int
    path: str  # "/index.html"
    tls: bool
    protocol: str  # h1, h2 or spdy; only lab/load speaks the last
    work: pathlib.Path  # folder for files of this run
    body_bytes: int | None = None  # of the expected answer; None if any

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{self.path}"


def buckets_of(values, counts=None):
    """Returns [[µs, count] …] of latencies in µs; a bucket's upper end is at most 1.6 % too high.

    Uses HdrHistogram's scheme: each power of two is divided into 64 buckets. `counts` are the
    frequencies of the values, 1 by default.
    """
    values = numpy.maximum(numpy.asarray(values, dtype=numpy.int64), 1)
    octave = numpy.floor(numpy.log2(values)).astype(numpy.int64)
    width = 2 ** numpy.maximum(octave - 6, 0)
    uppers, places = numpy.unique(values // width * width + width - 1, return_inverse=True)
    totals = numpy.bincount(places, weights=counts, minlength=len(uppers)).astype(numpy.int64)
    return [[int(upper), int(count)] for upper, count in zip(uppers, totals, strict=True)]


def coarse(histogram):
    """Converts another tool's histogram to our buckets."""
    return buckets_of(*zip(*histogram, strict=True)) if histogram else []


@dataclasses.dataclass(frozen=True)
class H2load:
    """Connections with several streams each and a total number of requests; both protocols."""

    connections: int
    streams: int
    requests: int
    posted_bytes: int = 0  # if not 0, each request is a POST with a body of this size
    paths: tuple = ()  # asked for in turn, instead of the target's
    fields: tuple = ()  # "name: value", in each request

    tool = "h2load"

    def warm_up(self):
        few = max(self.requests // 10, self.connections)
        return dataclasses.replace(self, requests=few)

    def with_requests(self, requests):
        requests = min(requests, self.requests)  # tests with large files have few
        # 200 requests per connection keep the cost of opening small, as under load.
        connections = max(min(self.connections, requests // 200), 1)
        return dataclasses.replace(self, requests=requests, connections=connections)

    def command(self, target):
        protocol = ["--h1"] if target.protocol == "h1" else ["-m", str(self.streams)]
        body = []
        if self.posted_bytes:
            body = ["-d", str(target.work / "posted")]
            (target.work / "posted").write_bytes(b"x" * self.posted_bytes)
        urls = [target.url]
        if self.paths:
            listed = [dataclasses.replace(target, path=path).url for path in self.paths]
            (target.work / "urls").write_text("\n".join(listed) + "\n")
            urls = ["-i", str(target.work / "urls")]
        fields = [f"--header={field}" for field in self.fields]
        return ["h2load", *protocol, *body, *fields, "-n", str(self.requests),
                "-c", str(self.connections), f"--log-file={target.work / 'requests.log'}", *urls]

    def read(self, output, target):
        text = (target.work / "requests.log").read_text()
        rows = numpy.fromstring(text, dtype=numpy.int64, sep=" ").reshape(-1, 3)
        latencies = rows[:, 2]
        good = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", output)
        statuses = re.search(r"status codes: (\d+) 2xx", output)
        if not good or int(good[1]) != self.requests or int(statuses[1]) != self.requests:
            raise Failure(f"h2load: {good[0] if good else output[-300:]}")
        return Reading(
            requests=self.requests,
            seconds=_seconds(re.search(r"finished in ([\d.]+)(us|ms|s|m)", output)),
            histogram=buckets_of(latencies),
            mean_us=float(latencies.mean()),
        )


def _seconds(match):
    return float(match[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}[match[2]]


@dataclasses.dataclass(frozen=True)
class Wrk:
    """HTTP/1.1 connections that send the next request at once, for some seconds."""

    connections: int
    seconds: int

    tool = "wrk"

    def warm_up(self):
        return H2load(self.connections, 1, max(2000, self.connections))

    def with_requests(self, requests):
        return H2load(self.connections, 1, requests).with_requests(requests)

    def command(self, target):
        return ["wrk", "-t1", f"-c{self.connections}", f"-d{self.seconds}s",
                "-s", str(WRK_SCRIPT), target.url]

    def read(self, output, target):
        line = next((line for line in output.splitlines() if line.startswith("JSON ")), None)
        if line is None:
            raise Failure(f"wrk: {output[-300:]}")
        said = json.loads(line.removeprefix("JSON "))
        if said["errors"] or not said["requests"]:
            raise Failure(f"wrk: {said['errors']} errors in {said['requests']} requests")
        return Reading(
            said["requests"], said["us"] / 1e6, coarse(said["histogram"]), said["mean_us"]
        )


@dataclasses.dataclass(frozen=True)
class Hey:
    """One connection per request, as zy-http's author measured."""

    concurrency: int
    requests: int
    status: int = 200

    tool = "hey"

    def warm_up(self):
        return dataclasses.replace(self, requests=max(self.requests // 10, self.concurrency))

    def with_requests(self, requests):
        few = min(self.concurrency, requests)
        return dataclasses.replace(self, requests=requests, concurrency=few)

    def command(self, target):
        # hey rounds down to a multiple of its workers, and needs at least one request per worker.
        requests = self.requests - self.requests % self.concurrency
        return ["hey", "-n", str(requests), "-c", str(self.concurrency), "-cpus", "1",
                "-disable-keepalive", "-o", "csv", target.url]

    def read(self, output, target):
        rows = list(csv.DictReader(io.StringIO(output)))
        if len(rows) != self.requests - self.requests % self.concurrency:
            raise Failure(f"hey: {len(rows)} of {self.requests} requests were answered")
        if any(int(row["status-code"]) != self.status for row in rows):
            raise Failure(f"hey: not every answer was {self.status}")
        seconds = [float(row["response-time"]) for row in rows]
        ends = [float(row["offset"]) + float(row["response-time"]) for row in rows]
        latencies = numpy.array(seconds) * 1e6
        return Reading(len(rows), max(ends), buckets_of(latencies), float(latencies.mean()))


@dataclasses.dataclass(frozen=True)
class Own:
    """lab/load, for what the other tools cannot do. `mode` is closed, open, exchange or churn."""

    binary: pathlib.Path
    mode: str
    options: dict  # of its command line: {"requests": 1000, "upload_bytes": 300, "multipart": True}
    few: dict = dataclasses.field(default_factory=dict)  # override, to warm up and to count

    tool = "load"

    def warm_up(self):
        return dataclasses.replace(self, options={**self.options, **self.few})

    def with_requests(self, requests):
        return self.warm_up()

    def command(self, target):
        options = dict(self.options)
        if target.body_bytes is not None and "method" not in options:
            options["expect_bytes"] = target.body_bytes
        secure = ["--tls"] if target.tls else []
        return [str(self.binary), self.mode, "--port", str(target.port), "--path", target.path,
                "--protocol", target.protocol, *secure, *_as_arguments(options)]

    def read(self, output, target):
        return reading_of(json.loads(output.splitlines()[-1]))


def _as_arguments(options):
    for name, value in options.items():
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield str(value)


def reading_of(said):
    """Converts the JSON output of lab/load to a Reading."""
    if said["errors"]:
        raise Failure(f"load: {said['errors']}")
    more = {"goodput_mb_s": (said["body_bytes_in"] + said["body_bytes_out"]) / said["seconds"] / 1e6}
    if "late_us_max" in said:
        more["late_ms"] = said["late_us_max"] / 1000
    return Reading(
        requests=said["requests"],
        seconds=said["seconds"],
        histogram=coarse(said["histogram"]),
        mean_us=said["mean_us"],
        more=more,
    )


TOOLS = ("h2load", "wrk", "hey")


def missing_tools():
    """Returns the load generators that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]
