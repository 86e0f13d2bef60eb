"""Where a server's processor time goes: samples of perf by function, in a few parts.

Each sample counts for the function in whose machine code it lies (perf's --no-inline): an inlined
function counts for the one that it is inlined into. The symbols are those of the binary.
"""

import re
import signal
import subprocess
import time

from harness import processes
from harness.processes import Failure

PARTS = ("kernel", "parse", "hpack", "route", "respond", "engine", "other")
MEASURES = tuple(f"{part}_us" for part in PARTS)

_EVENT = "cpu-clock"  # a timer, which virtual machines have too
_HERTZ = 4000
_ATTACH_S_MAX = 60
_REPORT_S_MAX = 120

# (part, pattern of a function's name), the first match counts. What none matches is `other`: the C
# library, ciphers, and a connection's own bookkeeping of its exchanges.
_FUNCTIONS = [(part, re.compile(pattern)) for part, pattern in (
    ("hpack", r"::hpack::"),
    ("parse", r"FrameReceiver|RequestHeadBuilder|RepeatedHead|FloodGuard|WindowGrowth|h2::Streams::"
              r"|NativeSession::(next|receive|un)|h1::.*Parser|h1::Connection::parse|BodyDecoder"
              r"|parse_method|parse_authority|read_opening"),
    ("respond", r"FrameSender|Scheduler|NativeSession::|response_head|OutgoingBody|PartSender"
                r"|h2server::(Response|File)::|ResponseEncoder|h1::.*encode|DateCache|BufferChain"
                r"|Connection::(respond|begin_response|append_body)|lab::floor::"),
    ("route", r"Router|find_handler|parse_target|StaticFiles|EncodedFiles|add_disposition"
              r"|h2server::file::|keyed_hash|h2server::(PathParams|Request|Fields)::"
              r"|conditional_fields|answer_at_once|try_handler|::enter$|::leave$"),
    ("engine", r"h2server::(io|net|coro)::|Task|TimerWheel|_ms$|unix_seconds|allocate_frame"
               r"|Connection::(run|write_all|receive|flush|wait_ms|watch)"),
)]
_LIBRARIES = {"liburing": "engine", "[vdso]": "engine"}


def part_of(library, function):
    """Returns the part that a function of a binary or library belongs to."""
    if library.startswith("[") and library != "[vdso]":
        return "kernel"
    for name, part in _LIBRARIES.items():
        if library.startswith(name):
            return part
    return next((part for part, pattern in _FUNCTIONS if pattern.search(function)), "other")


def shares_of(report):
    """Returns {part: share of the samples}, which add up to 1.

    `report` is the output of _REPORT: lines "period|binary|[k] function". Raises Failure if it has
    no samples of the kernel, which perf leaves out where it may not see them.
    """
    periods = dict.fromkeys(PARTS, 0)
    for line in report.splitlines():
        found = re.match(r"\s*(\d+)\s*\|\s*(.*?)\s*\|\s*\[.\]\s+(.*?)\s*(?:\||$)", line)
        if found:
            periods[part_of(found[2], found[3])] += int(found[1])
    total = sum(periods.values())
    if not total or not periods["kernel"]:
        raise Failure("perf saw no samples of the kernel")
    return {part: period / total for part, period in periods.items()}


_REPORT = ["perf", "report", "--stdio", "--no-inline", "--sort", "dso,sym",
           "-F", "period,dso,sym", "-t", "|", "-i"]


def measures_of(report, cpu_us):
    """Returns {"kernel_us": µs per request …} of a server that needs `cpu_us`."""
    return {f"{part}_us": share * cpu_us for part, share in shares_of(report).items()}


def unable():
    """Returns why perf can't be used here, or an empty text."""
    try:
        done = subprocess.run(
            ["perf", "record", "-q", "-e", f"{_EVENT}:k", "-o", "/dev/null", "--", "true"],
            capture_output=True, text=True, check=False, timeout=_ATTACH_S_MAX)
    except OSError:
        return "perf is not installed"
    except subprocess.TimeoutExpired:
        return "perf does not end"
    return "" if done.returncode == 0 else "perf may not watch the kernel here"


def profile(pid, cpus, folder, load):
    """Calls `load` while perf watches the process. Returns the report for measures_of()."""
    data = folder / "perf.data"
    command = ["perf", "record", "-q", "-e", _EVENT, "-F", _HERTZ, "-o", data, "-p", pid]
    with (folder / "perf.log").open("w") as errors:
        recorder = subprocess.Popen(processes.pinned(cpus, command), stdout=errors, stderr=errors,
                                    start_new_session=True)
    try:
        _await_data(recorder, data)
        load()
    finally:
        processes.stop(recorder, signal.SIGINT)  # makes perf write the rest
    done = subprocess.run([*_REPORT, data], capture_output=True, text=True, errors="replace",
                          check=False, timeout=_REPORT_S_MAX)
    if done.returncode != 0:
        raise Failure(f"perf report failed: {done.stderr.strip()[-200:]}")
    return done.stdout


def _await_data(recorder, data):
    deadline = time.monotonic() + _ATTACH_S_MAX
    while not (data.exists() and data.stat().st_size):
        if recorder.poll() is not None or time.monotonic() > deadline:
            raise Failure("perf cannot watch the server")
        time.sleep(0.01)
    time.sleep(0.1)  # the file is there a moment before the event
