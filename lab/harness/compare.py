"""lab/compare A B: what changed from one folder of results to another, beyond the spread."""

import argparse
import dataclasses
import math
import textwrap

from . import cells, measures, results, spread

MEASURES = ["cpu_us", "rps", "p99_ms"]
WIDTH = 100
_INDENT = 60  # column of the cell's name


@dataclasses.dataclass
class Change:
    """One measure of one cell that is in both results. `ratio` is B over A."""

    experiment: str
    cell: str
    measure: str
    before: spread.Spread
    after: spread.Spread
    ratio: spread.Ratio
    client_bound: bool

    @property
    def size(self):
        """Distance of the ratio from 1.0 on a log scale: the same for 2 and 0.5."""
        return abs(math.log(self.ratio.value)) if self.ratio.value > 0 else math.inf

    @property
    def word(self):
        if not self.ratio.differs:
            return "even"
        higher = self.ratio.value > 1
        return "better" if higher == measures.higher_is_better(self.measure) else "worse"


def changes(before, after, names=None):
    """Returns [Change …] of all cells in both results, the largest first."""
    found = []
    old = _cells(before)
    for key, cell in _cells(after).items():
        for measure in names or MEASURES if key in old else ():
            ratio = spread.ratio(cell.values(measure), old[key].values(measure))
            if ratio:
                found.append(Change(*key, measure, old[key].spread(measure), cell.spread(measure),
                                    ratio, cell.client_bound or old[key].client_bound))
    return sorted(found, key=lambda change: (-change.size, change.experiment, change.cell))


def _cells(measured):
    """Returns {(experiment, cell): Cell}."""
    return {(experiment.name, cell.name): cell for experiment in measured.experiments
            for cell in cells.cells_of(experiment)}


def warnings(before, after):
    """Returns reasons why the results may differ for something other than the change under test."""
    found = []
    if before.mode != after.mode:
        found.append(f"mode: {before.mode} against {after.mode}")
    for label in dict.fromkeys([*before.environment, *after.environment]):
        one, other = before.environment.get(label, "–"), after.environment.get(label, "–")
        if one != other:
            found.append(f"{label}: {one} against {other}")
    found += _binaries(before, after)
    for name, measured in (("A", before), ("B", after)):
        if measured.interrupted:
            found.append(f"{name} was interrupted")
    return found


def _binaries(before, after):
    """Returns warnings for peers with a different binary. h2server's is expected to differ."""
    old = {binary["name"]: binary for binary in before.binaries}
    found = []
    for binary in after.binaries:
        other = old.get(binary["name"])
        if other and binary["name"] != cells.OURS and other.get("sha256") != binary.get("sha256"):
            found.append(f"{binary['name']}: another program, {other.get('version', '–')} against "
                         f"{binary.get('version', '–')}")
    return found


def text_of(before, after, names=None, threshold=0.0, everything=False):
    """Returns the comparison as text, at most WIDTH characters per line."""
    found = changes(before, after, names)
    lines = [line for warning in warnings(before, after) for line in
             textwrap.wrap(f"warning: {warning}", WIDTH, subsequent_indent="         ")]
    differing = [change for change in found if change.ratio.differs
                 and change.size >= math.log1p(threshold)]
    lines += ["", f"{len(differing)} of {len(found)} differ beyond the spread"
              + (f" and by {threshold:.0%} or more" if threshold else "") + "; B over A:"]
    lines += [line for change in differing for line in _lines(change)] or ["  none"]
    rest = [change for change in found if not any(change is other for other in differing)]
    if everything and rest:
        lines += ["", "The others:"] + [line for change in rest for line in _lines(change)]
    elif rest:
        lines += ["", f"The other {len(rest)} are left out (--all shows them)."]
    if any(change.client_bound for change in found):
        lines += ["", "†  the client was the limit in A or in B"]
    return "\n".join(line.rstrip() for line in lines + _chance(found) + _missing(before, after))


def _lines(change):
    """Formats ratio, range, word, measure, medians and the cell's name, wrapped."""
    span = f"({spread.share(change.ratio.low)}–{spread.share(change.ratio.high)})"
    mark = "†" if change.client_bound and change.measure != "cpu_us" else " "
    medians = f"{spread.number(change.before.median)} → {spread.number(change.after.median)}"
    head = (f"{spread.share(change.ratio.value):>6} × {span:<13}{change.word:<7}{mark}"
            f"{change.measure:<9}{medians}")
    name = textwrap.wrap(f"{change.experiment}: {change.cell}", WIDTH - _INDENT,
                         break_on_hyphens=False) or [""]
    if len(head) >= _INDENT:
        return [head, *(" " * _INDENT + line for line in name)]
    return [head.ljust(_INDENT) + name[0], *(" " * _INDENT + line for line in name[1:])]


def _chance(found):
    """Says how many differences chance alone would cause."""
    expected = sum(spread.by_chance(change.before.rounds, change.after.rounds) for change in found
                   if change.ratio.rounds >= spread.ROUNDS_MIN)
    few = sum(change.ratio.rounds < spread.ROUNDS_MIN for change in found)
    lines = ["", f"Of equal servers, about {spread.number(expected)} would differ so by chance."]
    if few:
        lines.append(f"{few} have fewer than {spread.ROUNDS_MIN} rounds: they are not compared.")
    return lines if found else []


def _missing(before, after):
    lines = []
    old, new = _cells(before), _cells(after)
    for name, keys in (("A", old.keys() - new.keys()), ("B", new.keys() - old.keys())):
        if keys:
            lines += ["", f"Only in {name}: {len(keys)} cells"]
            lines += [line for key in sorted(keys) for line in textwrap.wrap(
                f"{key[0]}: {key[1]}", WIDTH, initial_indent="  ", subsequent_indent="    ",
                break_on_hyphens=False)]
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lab/compare", description=__doc__.splitlines()[0])
    parser.add_argument("a", metavar="A", help="a folder with results.json.xz, or such a file")
    parser.add_argument("b", metavar="B")
    parser.add_argument("--measures", type=lambda text: text.split(","), default=MEASURES,
                        help=f"of results.py; {','.join(MEASURES)} otherwise")
    parser.add_argument("--threshold", type=float, default=0.0, metavar="SHARE",
                        help="leave out changes that are smaller: 0.05 is 5 %%")
    parser.add_argument("--all", action="store_true", help="show values that do not differ, too")
    options = parser.parse_args(arguments)
    for name in options.measures:
        if name not in results.UNITS:
            parser.error(f"{name}: no such measure; there are {', '.join(results.UNITS)}")
    print(text_of(results.load(options.a), results.load(options.b), options.measures,
                  options.threshold, options.all).lstrip("\n"))
    return 0
