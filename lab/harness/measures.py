"""Names of measures in headings and sentences of a report."""

from harness import breakdown
from harness.results import UNITS

TITLES = {
    "cpu_us": "CPU a request",
    "cpu_ns_byte": "CPU a byte",
    "rps": "requests a second",
    "p50_ms": "p50",
    "p90_ms": "p90",
    "p99_ms": "p99",
    "p999_ms": "p99.9",
    "max_ms": "slowest",
    "mean_ms": "mean latency",
    "server_cpu": "server’s CPU",
    "client_cpu": "client’s CPU",
    "rss_kib": "memory",
    "switches": "context switches",
    "wire_bytes": "on the wire",
    "syscalls": "system calls",
    "elapsed_s": "time",
    "goodput_mb_s": "goodput",
    "kib_per_connection": "memory a connection",
    "late_ms": "client late",
    "imbalance": "imbalance",
    "failed": "failed requests",
    **{f"{part}_us": part for part in breakdown.PARTS},
}

# (verb, object) in "h2server VERB 0.71 × OBJECT of nginx".
_WORDS = {
    "cpu_us": ("needs", "the CPU per request"),
    "cpu_ns_byte": ("needs", "the CPU per byte"),
    "rps": ("answers", "the requests per second"),
    "p50_ms": ("has", "the median latency"),
    "p90_ms": ("has", "the p90 latency"),
    "p99_ms": ("has", "the p99 latency"),
    "p999_ms": ("has", "the p99.9 latency"),
    "max_ms": ("has", "the slowest answer"),
    "mean_ms": ("has", "the mean latency"),
    "server_cpu": ("keeps busy", "the processors"),
    "rss_kib": ("takes", "the memory"),
    "switches": ("makes", "the context switches per request"),
    "wire_bytes": ("needs", "the bytes on the wire per request"),
    "syscalls": ("makes", "the system calls per request"),
    "elapsed_s": ("takes", "the time"),
    "goodput_mb_s": ("moves", "the body bytes per second"),
    "kib_per_connection": ("takes", "the memory per idle connection"),
    "imbalance": ("has", "the imbalance of workers"),
}

_NOT_SHOWN = {
    "cpu_us": "Latency, and how it scales over more processors.",
    "rps": "What a request costs: who answers more may keep more processors busy.",
    "rss_kib": "What an idle connection holds: this is the highest while under load.",
    "syscalls": "Their cost; what io_uring does without a call; and a server that strace slows down "
                "may do more in each than others.",
    "wire_bytes": "Headers of a real line: loopback moves up to 64 KiB under one.",
}
_NOT_SHOWN_LATENCY = "What a network adds: both ends ran on one machine."


def heading(measure):
    """Returns (title, unit)."""
    unit = UNITS.get(measure, "")
    return TITLES.get(measure, measure), "" if unit == "1/s" else unit


def axis(measure):
    title, unit = heading(measure)
    return f"{title}, {unit}" if unit else title


def unit_after(measure):
    """Returns the unit as it follows a number: " µs"."""
    return {"1/s": "/s", "per request": " per request"}.get(UNITS.get(measure), "") or (
        f" {UNITS[measure]}" if UNITS.get(measure) else "")


def words(measure):
    return _WORDS.get(measure, ("has", f"the {measure}"))


def not_shown(measure):
    return _NOT_SHOWN_LATENCY if measure.endswith("_ms") else _NOT_SHOWN.get(measure, "")


def higher_is_better(measure):
    return measure in ("rps", "goodput_mb_s")
