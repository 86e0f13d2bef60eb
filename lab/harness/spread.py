"""Statistics of rounds, of pairs of cells, of histograms and of curves.

Rounds are few, so no distribution is assumed. A cell is its median with the lowest and the highest
round. Two cells differ only if those ranges do not overlap: by chance that happens once in 126
comparisons of 5 rounds each, and once in 10 of 3 rounds; see by_chance(). The ratio of two cells is
that of their medians. Its interval reaches from lowest/highest to highest/lowest, so it excludes
1.0 exactly when the ranges do not overlap.
"""

import dataclasses
import itertools
import math
import statistics

ROUNDS_MIN = 3  # per side to call it a difference: 2 rounds differ by chance 1 in 3
KNEE_TIMES = 10  # times the p99 at the lowest rate
KEPT_UP = 0.95  # share of the offered rate; below it the server is overloaded


@dataclasses.dataclass(frozen=True)
class Spread:
    """The rounds of one cell."""

    median: float
    low: float
    high: float
    rounds: int


@dataclasses.dataclass(frozen=True)
class Ratio:
    """One cell over another."""

    value: float
    low: float
    high: float
    rounds: int  # of the side with fewer

    @property
    def differs(self):
        return self.rounds >= ROUNDS_MIN and not self.low <= 1 <= self.high


def measured(values):
    """Returns the finite numbers. Values that could not be measured are None, NaN or absent."""
    return [value for value in values if isinstance(value, int | float) and math.isfinite(value)]


def spread(values):
    """Returns the Spread of the rounds, or None if nothing was measured."""
    values = sorted(measured(values))
    if not values:
        return None
    return Spread(statistics.median(values), values[0], values[-1], len(values))


def ratio(above, below):
    """Returns the Ratio of two cells' rounds; None if one is missing or `below` is not positive."""
    above, below = spread(above), spread(below)
    if not above or not below or below.low <= 0 or above.low < 0:
        return None
    return Ratio(above.median / below.median, above.low / below.high, above.high / below.low,
                 min(above.rounds, below.rounds))


def by_chance(rounds, others):
    """Returns the probability that the ranges of two equal cells do not overlap."""
    return min(1.0, 2 / math.comb(rounds + others, rounds))


def merge(histograms):
    """Returns the sum of several histograms as [[µs, count] …] in order."""
    counts = {}
    for histogram in histograms:
        for upper_us, count in histogram:
            counts[upper_us] = counts.get(upper_us, 0) + count
    return [[upper_us, counts[upper_us]] for upper_us in sorted(counts)]


def percentile(histogram, percent):
    """Returns the µs that `percent` of the requests did not exceed (nearest rank), or None."""
    rank = math.ceil(sum(count for _, count in histogram) * percent / 100)
    seen = 0
    for upper_us, count in sorted(histogram):
        seen += count
        if count and seen >= rank:
            return upper_us
    return None


def percentile_curve(histogram):
    """Returns [(times, µs) …]: one request in `times` took longer. Ends with the slowest one."""
    total = sum(count for _, count in histogram)
    points, seen = [], 0
    for upper_us, count in sorted(histogram):
        seen += count
        if count:
            points.append((total / max(total - seen, 1), upper_us))
    return points


def thinned(curve, step):
    """Returns the points of a rising curve [(x, y) …] that differ in y by more than the share
    `step` from the one before, and the last."""
    kept = [curve[0]]
    for point, after in zip(curve[1:], [*curve[2:], None], strict=False):
        if after is None or after[1] > kept[-1][1] * (1 + step):
            kept.append(point)
    return kept


def knee(points):
    """Returns the lowest of the offered rates from which on all overload the server, or None.

    `points` are [(offered, p99, achieved) …]; `p99` is a Spread. A rate overloads if the lowest p99
    exceeds KNEE_TIMES the highest one at the lowest rate, or if the server answers less than
    KEPT_UP of it. `achieved` is None if it was not measured.
    """
    points = sorted(points, key=lambda point: point[0])
    found = None
    for offered, p99, achieved in reversed(points):
        slow = p99.low > KNEE_TIMES * points[0][1].high
        if not slow and (achieved is None or achieved >= KEPT_UP * offered):
            break
        found = offered
    return found


def sides(one, other):
    """Returns [(x, 1 or -1) …]: where the curve `one` is above or below `other`, beyond the spread.

    Both are {x: Spread}. Omits an x that only one of them has, or where the ranges overlap.
    """
    found = []
    for x in sorted(one.keys() & other.keys()):
        if one[x].low > other[x].high:
            found.append((x, 1))
        elif one[x].high < other[x].low:
            found.append((x, -1))
    return found


def crossing(places):
    """Returns (x before, x after) of the first change of side in the result of sides(), or None."""
    for (before, one), (after, other) in itertools.pairwise(places):
        if one != other:
            return before, after
    return None


def number(value):
    """Formats three significant digits or a full int, thousands apart (U+202F); a dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}".replace(",", "\u202f")
    for limit, decimals in ((9.995, 1), (0.9995, 2)):
        if size >= limit:
            return f"{value:.{decimals}f}"
    return f"{value:#.3g}" if value else "0"


def times(found):
    """Formats a Ratio: 0.71 × (0.68–0.75)."""
    return f"{share(found.value)} × ({share(found.low)}–{share(found.high)})"


def share(value):
    """Formats a ratio with two decimals, a small one with two digits; more would exceed its accuracy."""
    if 0 < value < 0.0995:
        return f"{value:#.2g}"
    return f"{value:.2f}" if 0 < value < 9.995 else number(value)
