"""lab/pair A B: compares two programs by pairs of short loads, which finds changes of a few percent.

Two runs of the same cell differ by about 10 % on a virtual machine, most of it by changes of the
machine's speed that last for seconds. So both servers run at the same time, one of them idle, and
short loads on A and B alternate: the two loads of a pair are close in time, and meet the same speed.
What a process gets at its start (addresses, pages) stays with it, so the servers are started anew
several times, and only starts count as independent.

A start's ratio is the median of its pairs, B over A. Of equal programs single pairs differ by 5 to
14 % (standard deviation), the medians of nine by 0.7 to 3 %. The exact signed-rank test (Wilcoxon, 1945)
over the starts decides: A and B differ if equal servers would give such ratios less often than once
in 100 comparisons. The interval has all changes that the test would not refuse.
"""

import argparse
import dataclasses
import itertools
import math
import pathlib
import random
import statistics

from harness import machine, meter, servers, spread
from harness.experiments.common import PROTOCOLS, ours
from harness.lab import MODES, Lab
from harness.loads import H2load
from harness.procedures import Started, Subject, check, load_once

ALPHA = 0.01  # probability of calling equal servers different
STARTS, PAIRS = 20, 9  # 8 starts are the least whose test can reach ALPHA
REQUESTS = {"h1": 10_000, "h1 TLS": 10_000, "h2c": 20_000, "h2": 20_000}  # a load: about 0.1 s


@dataclasses.dataclass(frozen=True)
class Verdict:
    """B over A: the estimated ratio, its interval, and how probable it is of equal servers."""

    value: float
    low: float
    high: float
    p: float

    @property
    def differs(self):
        return self.p < ALPHA


def _sums(ranks):
    """Returns [count …]: how many choices of signs give each sum of the positive ranks."""
    ways = [1]
    for rank in ranks:
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    return ways


def signed_rank_p(differences):
    """Returns the exact two-sided p of the signed-rank test. Zeros are left out, ties share ranks."""
    sizes = sorted(abs(difference) for difference in differences if difference)
    # Ranks are doubled, so that those that are shared are whole numbers, too.
    ranks = {size: 2 * sizes.index(size) + 1 + sizes.count(size) for size in sizes}
    positive = sum(ranks[difference] for difference in differences if difference > 0)
    ways = _sums([ranks[size] for size in sizes])
    least = min(positive, len(ways) - 1 - positive)
    return min(1.0, 2 * sum(ways[:least + 1]) / sum(ways))


def judge(starts):
    """Returns the Verdict. `starts` are [[(cost of A, cost of B) …] …], one list for each start."""
    logs = [statistics.median(math.log(b / a) for a, b in pairs) for pairs in starts]
    means = sorted((one + other) / 2
                   for one, other in itertools.combinations_with_replacement(logs, 2))
    ways = _sums(range(1, len(logs) + 1))
    tails = itertools.accumulate(2 * count / sum(ways) for count in ways)
    refused = sum(1 for p in tails if p < ALPHA)  # rank sums: 0, 1 … refused - 1
    if refused == 0:
        raise ValueError(f"{len(logs)} starts are too few")
    # As many means are below a change as its rank sum is (Hodges and Lehmann, 1963).
    return Verdict(math.exp(statistics.median(means)), math.exp(means[refused - 1]),
                   math.exp(means[-refused]), signed_rank_p(logs))


def _cpu_us(lab, load, started):
    with meter.Meter(started.pid) as metered:
        reading, _, _ = load_once(lab, load, started.target)
    return metered.usage.cpu_ns / 1000 / reading.requests


def measure(lab, subjects, load, starts, pairs, order=random):
    """Returns [[(µs a request of A, of B) …] …], one list of pairs for each start.

    `subjects` are A and B. `order` shuffles each pair.
    """
    found = []
    for _ in range(starts):
        with Started(lab, subjects[0]) as one, Started(lab, subjects[1]) as other:
            both = list(zip(subjects, (one, other), strict=True))
            for subject, started in both:
                check(lab, subject, started)
                load_once(lab, load, started.target)
            of_start = []
            for _ in range(pairs):
                turns = [0, 1]
                order.shuffle(turns)
                costs = {turn: _cpu_us(lab, load, both[turn][1]) for turn in turns}
                of_start.append((costs[0], costs[1]))
            found.append(of_start)
    return found


def load_of(protocol, requests=0):
    """Returns the load of one half of a pair."""
    return H2load(20, 1 if protocol.startswith("h1") else 10, requests or REQUESTS[protocol])


def in_words(verdict):
    """Returns "0.95 × (0.94–0.97), p 0.002: differs"."""
    return (f"{spread.share(verdict.value)} × ({verdict.low:.3f}–{verdict.high:.3f}), "
            f"p {verdict.p:.3f}: {'differs' if verdict.differs else 'equal'}")


def options_of(parser, starts=STARTS):
    """Adds the options that every comparison by pairs has. `starts` is a default."""
    near, far = machine.default_cpus()
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=servers.ROOT / "build/release", metavar="DIR")
    add("--starts", type=int, default=starts, metavar="N",
        help=f"of both servers in a comparison ({starts}; at least 8)")
    add("--pairs", type=int, default=PAIRS, metavar="N", help=f"of loads for each start ({PAIRS})")
    add("--requests", type=int, default=0, metavar="N", help="of each load; for trying it out")
    add("--server-cpus", default=near, metavar="LIST")
    add("--load-cpus", default=far, metavar="LIST")


def opened_lab(options):
    """Returns the Lab for these options. The process then runs beside the load."""
    machine.raise_limits()
    machine.stay_on(options.load_cpus)
    return Lab(options.build.resolve(), MODES["full"], options.server_cpus, options.load_cpus,
               servers.PEER_LIST, [])


def main():
    parser = argparse.ArgumentParser(prog="lab/pair", description=__doc__.splitlines()[0])
    for name in "ab":
        parser.add_argument(name, metavar=name.upper(), help="a program h2server")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append", default=[],
                        help="h2c and h1 otherwise; may be repeated")
    options_of(parser)
    options = parser.parse_args()
    with opened_lab(options) as lab:
        for protocol in options.protocol or ["h2c", "h1"]:
            spoken, tls = PROTOCOLS[protocol]
            subjects = [Subject(servers.with_binary(ours(lab), program), spoken, tls)
                        for program in (options.a, options.b)]
            starts = measure(lab, subjects, load_of(protocol, options.requests), options.starts,
                             options.pairs)
            print(f"{protocol}: CPU a request, B over A: {in_words(judge(starts))}", flush=True)


if __name__ == "__main__":
    main()
