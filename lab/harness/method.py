"""lab/method: checks how the lab tells two servers apart, by servers of which the truth is known.

The same program is compared with itself, under two paths, in many runs. Then B needs some percent
more CPU a request than A: its handler takes more steps of a loop. What a step costs is a share of a
request's cost, found before by a B that takes twice as many steps as A. A share, not a time: the
machine's speed changes by up to half from second to second, and takes the handler with it. Equal
programs should be called equal in 19 of 20 runs, and a slowdown of 5 % should be found in 4 of 5.

The handlers of both take so many steps that the server is the limit and always has requests to read.
Where the client is the limit, a slower server finds more requests each time it wakes up, which saves
a part of what its handler costs: of 5 %, 1 to 4 % remained, and the truth is not known.

Writes FOLDER/method.json with all pairs. Exit status: 1 if less than that was reached, 2 if the
share cannot be told.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import shutil
import statistics
import sys

from harness import pairs, servers
from harness.loads import H2load
from harness.machine import environment
from harness.procedures import Subject

_PROTOCOLS = {"h2c": "h2", "h1": "h1"}
EQUAL_SHARE, FOUND_SHARE = 19 / 20, 4 / 5
_TEXT = "Hello, World!"
_STEPS = 30_000  # of a handler: 8 to 20 µs, by the machine's speed
_SHARE_MIN = 0.1  # of a request, that the steps are; 30,000 are more than half of it
_STARTS = 10  # half of those of lab/pair: 50 comparisons should take minutes
_REQUESTS = 3000  # of a load, less than 0.1 s


@dataclasses.dataclass
class Trial:
    """All comparisons of one kind. `percent` is the known slowdown of B."""

    protocol: str
    percent: float
    runs: list  # of pairs.measure()

    @property
    def verdicts(self):
        return [pairs.judge(starts) for starts in self.runs]

    @property
    def right(self):
        """How many comparisons found what is true."""
        return sum(verdict.value > 1 and verdict.differs if self.percent else not verdict.differs
                   for verdict in self.verdicts)

    @property
    def passed(self):
        return self.right >= len(self.runs) * (FOUND_SHARE if self.percent else EQUAL_SHARE)


def _program(lab, name):
    """Returns a path of its own for lab/library."""
    folder = lab.scratch / name
    folder.mkdir(exist_ok=True)
    return shutil.copy2(lab.build / "lab/library", folder / "library")


def _subject(lab, name, spoken, steps):
    def command(binary, setting):
        return [binary, "--port", setting.port, "--spin-steps", steps, setting.root]

    server = dataclasses.replace(servers.library(lab.build), binary=str(_program(lab, name)),
                                 command=command)
    return Subject(server, spoken, path="/text")


def _measure(lab, protocol, more_steps, options, order):
    """Returns what pairs.measure() does, of one comparison."""
    spoken = _PROTOCOLS[protocol]
    subjects = _subject(lab, "a", spoken, _STEPS), _subject(lab, "b", spoken, _STEPS + more_steps)
    load = H2load(10, 10, options.requests or _REQUESTS)
    return pairs.measure(lab, subjects, load, options.starts, options.pairs, order)


def handler_share(starts):
    """Returns the share of a request's cost that the handler's steps are. B takes twice as many."""
    share = pairs.judge(starts).value - 1
    if share < _SHARE_MIN:
        print(f"lab/method: {_STEPS} steps seem to be {share:.0%} of a request: a longer load is "
              "needed, or a quieter machine", file=sys.stderr)
        raise SystemExit(2)
    return share


def tried(lab, protocol, count, options, order, percent=0.0):
    """Returns the Trial of `count` comparisons."""
    more_steps = 0
    if percent:
        share = handler_share(_measure(lab, protocol, _STEPS, options, order))
        more_steps = round(percent / 100 * _STEPS / share)
        print(f"{protocol}: {_STEPS} steps are {share:.0%} of a request", file=sys.stderr)
    runs = []
    for number in range(count):
        runs.append(_measure(lab, protocol, more_steps, options, order))
        said = pairs.in_words(pairs.judge(runs[-1]))
        print(f"{protocol}, B slower by {percent:g} %, run {number + 1}: {said}", file=sys.stderr)
    return Trial(protocol, percent, runs)


def table(trials):
    """Returns the lines of the result."""
    lines = ["| protocol | known slowdown of B | runs | right | measured, median | lowest | highest |",
             "|---|---|---|---|---|---|---|"]
    for trial in trials:
        values = sorted((verdict.value - 1) * 100 for verdict in trial.verdicts)
        lines.append(f"| {trial.protocol} | {trial.percent:g} % | {len(values)} | {trial.right} | "
                     f"{statistics.median(values):+.1f} % | {values[0]:+.1f} % | {values[-1]:+.1f} % |")
    return lines


def summary(trials):
    """Returns one line for lab/README.md."""
    parts = [f"{'equal' if not trial.percent else f'{trial.percent:g} % slower, found'} in "
             f"{trial.right} of {len(trial.runs)} ({trial.protocol})" for trial in trials]
    return "The same program against itself, and with a known slowdown: " + "; ".join(parts) + "."


def data_of(trials, about):
    return {"command": "lab/method", "environment": about, "alpha": pairs.ALPHA, "trials": [
        {"protocol": trial.protocol, "percent": trial.percent, "right": trial.right,
         "verdicts": [dataclasses.asdict(verdict) for verdict in trial.verdicts],
         "runs": [[[[float(f"{cost:.5g}") for cost in pair] for pair in start] for start in run]
                  for run in trial.runs]}
        for trial in trials]}


def main():
    parser = argparse.ArgumentParser(prog="lab/method", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--runs", type=int, default=20, metavar="N", help="comparisons of equal programs (20)")
    add("--slow", type=int, default=5, metavar="N", help="comparisons with the slowdown (5)")
    add("--percent", type=float, default=5.0, metavar="P", help="of the slowdown (5)")
    add("--protocol", choices=_PROTOCOLS, action="append", default=[],
        help="h2c and h1 otherwise")
    add("--out", type=pathlib.Path, default=servers.ROOT / "build/lab", metavar="FOLDER")
    pairs.options_of(parser, _STARTS)
    options = parser.parse_args()
    trials, order = [], random.Random(1)
    with pairs.opened_lab(options) as lab:
        about = {**environment(lab), "each comparison": f"{options.starts} starts, "
                                                        f"{options.pairs} pairs each"}
        (lab.root / "text").write_text(_TEXT)
        for protocol in options.protocol or _PROTOCOLS:
            trials.append(tried(lab, protocol, options.runs, options, order))
            if options.slow:
                trials.append(tried(lab, protocol, options.slow, options, order, options.percent))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "method.json").write_text(json.dumps(data_of(trials, about), indent=1) + "\n")
    print("\n".join([*table(trials), "", summary(trials)]))
    return 0 if all(trial.passed for trial in trials) else 1


if __name__ == "__main__":
    sys.exit(main())
