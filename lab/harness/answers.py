"""Short answers to the report's questions, from whatever was measured.

An answer gives medians. A ratio within the spread says so.
"""

import dataclasses

from harness import cells, spread

_SMALL = "-c100 -m10"
_MEGABYTE = 1_000_000
_RIVALS = ("nginx", "nghttpd", "h2o")


@dataclasses.dataclass(frozen=True)
class Answer:
    text: str
    chapter: str  # its id
    experiment: str = ""  # its evidence; empty: the list of losses


def all_of(results):
    """Returns the Answers in the order of the chapters; none for what was not measured."""
    by_name = {experiment.name: experiment for experiment in results.experiments}
    found = []
    for name, make in _MAKERS:
        answer = make(by_name[name]) if name in by_name else None
        if answer:
            found.append(answer)
    return found


def score(compared):
    """Returns the Answer that counts all Comparisons, or None."""
    wins, losses, evens = (sum(one.kind == kind for one in compared) for kind in ("win", "loss", "even"))
    if not compared:
        return None
    return Answer(
        f"Of all {len(compared)} comparisons with other servers that these measurements allow, h2server is "
        f"better in {wins} and worse in {losses}; in {evens} the difference is within the spread.", "losses")


def _measured(experiment, measure, factors):
    """Returns the cells with these factors that were measured.

    Not those with a round of zero or less: the time of processes that end with their connections is
    counted in ticks of 10 ms, and a short round may have none.
    """
    return [cell for cell in cells.cells_of(experiment, factors)
            if min(cell.values(measure), default=0) > 0]


def _cell(experiment, measure, **factors):
    """Returns the cell with these factors; of several the lowest. None if none was measured."""
    return min(_measured(experiment, measure, factors), key=lambda cell: cell.median(measure),
               default=None)


def _times(one, other):
    """Returns: 0.60 × h2o’s; and whether that is within the spread. Of processor time."""
    found = spread.ratio(one.values("cpu_us"), other.values("cpu_us"))
    within = "" if found.differs else " (within the spread)"
    name = other.factors["server"]
    name = "the floor" if name == cells.FLOOR else name
    return f"{spread.share(found.value)} × {name}’s{within}"


def _of(cell, measure="cpu_us"):
    return spread.number(cell.median(measure))


def _request(experiment):
    one = {"protocol": "h2c", "load": _SMALL, "threads": 1}
    ours, floor = (_cell(experiment, "cpu_us", server=name, **one) for name in ("h2server", "floor"))
    others = [_cell(experiment, "cpu_us", server=name, **one) for name in _RIVALS]
    http1, nginx1 = (_cell(experiment, "cpu_us", server=name, protocol="h1", threads=1)
                     for name in ("h2server", "nginx"))
    if not ours or not floor or not any(others):
        return None
    beside = ", ".join(_times(ours, other) for other in others if other)
    text = (f"A request for a small file takes h2server {_of(ours)} µs of a processor over HTTP/2 in "
            f"cleartext: {beside}, and {_times(ours, floor)}")
    if http1 and nginx1:
        text += f". Over HTTP/1.1 it takes {_of(http1)} µs, {_times(http1, nginx1)}"
    return Answer(f"{text}.", "request", "peers")


def _tls(experiment):
    pairs = [(_cell(experiment, "cpu_us", server="h2server", threads=1, protocol=clear, load=load),
              _cell(experiment, "cpu_us", server="h2server", threads=1, protocol=tls, load=load))
             for clear, tls, load in (("h2c", "h2", _SMALL), ("h1", "h1 TLS", "-c100"))]
    if not all(one and other for one, other in pairs):
        return None
    (h2c, h2), (h1, h1_tls) = pairs
    return Answer(
        f"With TLS a request for a small file takes {_of(h2)} µs instead of {_of(h2c)} over HTTP/2, and "
        f"{_of(h1_tls)} instead of {_of(h1)} over HTTP/1.1, the handshakes of a load included.",
        "tls", "peers")


def _byte(experiment):
    one = {"bytes": _MEGABYTE}
    ours = _cell(experiment, "cpu_us", server="h2server", protocol="h2", **one)
    others = [_cell(experiment, "cpu_us", server=name, protocol="h2", **one) for name in ("nginx", "h2o")]
    clear = _cell(experiment, "cpu_us", server="h2server", protocol="h1", **one)
    if not ours or not clear or not any(others):
        return None
    beside = ", ".join(_times(ours, other) for other in others if other)
    return Answer(
        f"A megabyte over HTTP/2 with TLS takes {_of(ours)} µs, {beside}; over HTTP/1.1 without TLS it "
        f"takes {_of(clear)} µs.", "tls", "bodies")


def _scheme(experiment):
    one = {"server": "h2server", "load": "h1 -c100"}
    loop = _cell(experiment, "cpu_us", scheme=["acceptor", "reuseport"], **one)
    thread = _cell(experiment, "cpu_us", scheme="thread-per-connection", **one)
    process = _cell(experiment, "cpu_us", scheme="process-per-connection", **one)
    if not loop or not thread or not process:
        return None
    per_thread, per_process = (spread.ratio(loop.values("cpu_us"), other.values("cpu_us")).value
                               for other in (thread, process))
    return Answer(
        f"With 100 connections over HTTP/1.1 an event loop takes {_of(loop)} µs a request: "
        f"{spread.share(per_thread)} × the time of a thread for each connection, and "
        f"{spread.share(per_process)} × that of a process for each.", "scheme", "engines")


def _threads(experiment):
    one = {"server": "h2server", "protocol": "h2c", "load": _SMALL, "scheme": "reuseport"}
    counts = sorted({run.factors["threads"] for run in experiment.runs if "threads" in run.factors})
    if len(counts) < 2:
        return None
    first, last = (_cell(experiment, "cpu_us", threads=count, **one) for count in (counts[0], counts[-1]))
    if not first or not last:
        return None
    found = spread.ratio(last.values("cpu_us"), first.values("cpu_us"))
    return Answer(
        f"One worker for each processor is enough. More cost little where they bring nothing: "
        f"{counts[-1]} workers on the same processor take {spread.times(found)} the time of {counts[0]}"
        f"{'' if found.differs else ', within the spread'}.", "threads", "threads")


def _engine(experiment):
    better, worse, pairs = [], [], 0
    for scheme in ("acceptor", "reuseport"):
        for load in dict.fromkeys(run.factors["load"] for run in experiment.runs):
            ring, epoll = (_cell(experiment, "cpu_us", server="h2server", scheme=scheme, load=load,
                                 engine=engine) for engine in ("io_uring", "epoll"))
            if not ring or not epoll:
                continue
            pairs += 1
            found = spread.ratio(ring.values("cpu_us"), epoll.values("cpu_us"))
            if found.differs:
                (better if found.value < 1 else worse).append(f"{scheme}, {load}: {spread.times(found)}")
    if not pairs:
        return None
    named = f" ({'; '.join(better + worse)})" if better or worse else ""
    return Answer(
        f"Of {pairs} pairs of the same scheme and load, io_uring takes less time than epoll in "
        f"{len(better)} and more in {len(worse)}{named}; the others are within the spread.",
        "engine", "engines")


def _size(experiment):
    curves = [{cell.factors["bytes"]: cell.spread("cpu_us") for cell in _measured(
        experiment, "cpu_us", {"server": "h2server", "protocol": protocol})}
        for protocol in ("h2c", "h1")]
    places = dict(spread.sides(*curves))
    if not places:
        return None
    cheaper, dearer = ([size for size, side in places.items() if side == wanted] for wanted in (-1, 1))
    same = sorted(size for size in curves[0] if size in curves[1] and size not in places)
    said = [f"{how} at {', '.join(map(spread.number, sizes))} bytes" for how, sizes in (
        ("less", cheaper), ("more", dearer), ("the same within the spread", same)) if sizes]
    return Answer(f"Beside HTTP/1.1, HTTP/2 in cleartext takes h2server {'; '.join(said)}.", "size", "sizes")


def _distance(experiment):
    said = []
    for rtt_ms in sorted({run.factors["rtt_ms"] for run in experiment.runs}):
        h2, h1 = (_cell(experiment, "goodput_mb_s", server="h2server", protocol=protocol, rtt_ms=rtt_ms,
                        width="as wide as it goes") for protocol in ("h2c", "h1"))
        if h2 and h1 and rtt_ms:
            said.append(f"{rtt_ms} ms: {_of(h2, 'goodput_mb_s')} and {_of(h1, 'goodput_mb_s')}")
    if not said:
        return None
    return Answer(
        "An upload to h2server over HTTP/2 in cleartext and over HTTP/1.1 moves, in MB/s by round-trip "
        f"time, {'; '.join(said)}.", "distance", "uploads")


def _memory(experiment):
    ours, *others = (_cell(experiment, "kib_per_connection", server=name, protocol="h2")
                     for name in ("h2server", "nginx", "h2o"))
    if not ours or not all(others):
        return None
    beside = " and ".join(f"{one.factors['server']} {_of(one, 'kib_per_connection')} KiB" for one in others)
    many = spread.number(ours.median("kib_per_connection") * 10_000 / 1024)
    return Answer(
        f"An idle HTTP/2 connection over TLS keeps {_of(ours, 'kib_per_connection')} KiB of h2server’s "
        f"memory, so 10 000 keep {many} MiB; {beside}. The kernel’s buffers come on top.", "memory", "idle")


def _limit(experiment):
    said = []
    for protocol in ("h1", "h2c"):
        kept = []
        for server, engine in (("h2server", "io_uring"), ("h2server", "epoll"),
                               *((name, None) for name in _RIVALS)):
            where = {"server": server, "protocol": protocol} | ({"engine": engine} if engine else {})
            found = _measured(experiment, "p99_ms", where)
            knee = spread.knee([(cell.factors["rate"], cell.spread("p99_ms"), cell.median("rps"))
                                for cell in found])
            rates = [cell.factors["rate"] for cell in found if knee is None or cell.factors["rate"] < knee]
            if found:
                name = f"{server} on {engine}" if engine else server
                kept.append(f"{name} {spread.number(max(rates)) if rates else 'none'}")
        if kept:
            said.append(f"{protocol}: {', '.join(kept)}")
    if not said:
        return None
    return Answer(f"The highest rate offered that one processor kept up with, a second: {'; '.join(said)}.",
                  "limits", "latency")


_MAKERS = (("peers", _request), ("peers", _tls), ("bodies", _byte), ("engines", _scheme),
           ("threads", _threads), ("engines", _engine), ("sizes", _size), ("uploads", _distance),
           ("idle", _memory), ("latency", _limit))
