"""lab/run: measures, and writes the report."""

import argparse
import dataclasses
import datetime
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys

from harness import experiments, machine, report, results, servers
from harness.lab import MODES, Lab, measure, plan

_NEEDED = ("curl", "h2load", "openssl", "taskset")  # wrk, hey and strace may be missing
_BUILD = servers.ROOT / "build/release"
_ROUNDS_MIN = 5  # fewer show no spread; smoke runs are functional tests

_EPILOG = """
Without EXPERIMENT all of them run. A peer that is not installed is skipped with a line in the
report; --install gets what Debian has. Ctrl-C ends the measuring and leaves a report of what is
done. Exit status: 0, or 1 when a run failed or it was interrupted, 2 for wrong options.
"""


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(_number, _frame):
    """Ends the measurement. Ignores further signals, so that stopping and reporting can finish."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _named(text):
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _parser():
    parser = argparse.ArgumentParser(
        prog="lab/run", epilog=_EPILOG,
        description="Measures h2server beside its peers and the floor, and writes a report.",
    )
    add = parser.add_argument
    add("experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(experiments.ALL)}")
    add("--list", action="store_true", help="list the experiments and their sizes")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--quick", dest="mode", action="store_const", const="quick",
                       help="fewer cells and shorter runs: minutes, not an hour")
    modes.add_argument("--smoke", dest="mode", action="store_const", const="smoke",
                       help="each procedure once with next to no load: shows that it works")
    add("--rounds", type=int, metavar="N",
        help=f"runs of each cell (default and least: {_ROUNDS_MIN})")
    add("--out", type=pathlib.Path, metavar="DIR",
        help="where the report goes (default: build/lab/TIME); what a folder holds of other "
             "experiments stays in it")
    add("--build", type=pathlib.Path, default=_BUILD, metavar="DIR",
        help="the folder with the built binaries (default: build/release)")
    near, far = machine.default_cpus()
    add("--server-cpus", default=near, metavar="LIST",
        help=f"the servers' processors (here: {near})")
    add("--load-cpus", default=far, metavar="LIST", help=f"the load's processors (here: {far})")
    add("--peer", type=_named, action="append", default=[], metavar="NAME=PATH",
        help="take this binary for the peer: " + ", ".join(peer.name for peer in servers.PEER_LIST))
    add("--server", type=_named, action="append", default=[], metavar="NAME=COMMAND",
        help="one more server beside the peers, by its command line with {port}, {root}, {work}, "
             "{threads}, {cert} and {key}; without {key} it is asked in cleartext")
    add("--install", action="store_true", help="install missing peers and load generators first")
    add("--seed", type=int, default=None, metavar="N", help="seed of the order of the runs")
    parser.set_defaults(mode="full")
    return parser


def _peers(parser, replaced):
    known = {peer.name: peer for peer in servers.PEER_LIST}
    for name, path in replaced:
        if name not in known:
            parser.error(f"--peer {name}: no such peer; there are {', '.join(known)}")
        known[name] = servers.with_binary(known[name], path)
        if known[name].path() is None:
            parser.error(f"--peer {name}: {path} is no program")
    return list(known.values())


def _chosen(parser, names):
    for name in names:
        if name not in experiments.ALL:
            parser.error(f"no experiment {name!r}; there are {', '.join(experiments.ALL)}")
    return [experiments.ALL[name] for name in experiments.ALL if not names or name in names]


def _list(lab, definitions):
    for definition in definitions:
        _, runs = plan(lab, [definition], 1)
        print(f"{definition.name:12} {len(runs):4} cells  {definition.title}")


def _check(parser, options):
    for name in ("h2server", "lab/floor", "lab/load", "lab/relay", "lab/stages"):
        if not os.access(options.build / name, os.X_OK):
            parser.exit(1, f"lab: {options.build / name} is not built: make build\n")
    for tool in _NEEDED:
        if shutil.which(tool) is None:
            parser.exit(1, f"lab: {tool} is not installed: scripts/setup lab\n")
    if options.rounds is not None and options.rounds < _ROUNDS_MIN and options.mode != "smoke":
        parser.error(f"--rounds {options.rounds}: fewer than {_ROUNDS_MIN} show no spread")


def main():
    # Signals must end the servers, too.
    for number in _ENDING:
        signal.signal(number, _interrupt)
    parser = _parser()
    options = parser.parse_args()
    if options.install:
        subprocess.run([servers.ROOT / "scripts/setup", "lab"], check=True)
    definitions = _chosen(parser, options.experiments)
    peers = _peers(parser, options.peer)
    _check(parser, options)
    mode = MODES[options.mode]
    guests = [servers.from_template(name, command) for name, command in options.server]
    build = options.build.resolve()
    with Lab(build, mode, options.server_cpus, options.load_cpus, peers, guests) as lab:
        if options.list:
            _list(lab, definitions)
            return 0
        return _run(lab, definitions, options)


def _run(lab, definitions, options):
    stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M%S")
    folder = options.out or servers.ROOT / "build/lab" / stamp
    earlier = results.load(folder) if (folder / results.FILE).exists() else None
    folder.mkdir(parents=True, exist_ok=True)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    commands = shlex.join(["lab/run", *sys.argv[1:]]), _again(options)

    def save(found):
        results.save(_in_order(found, earlier), folder)

    found = measure(lab, definitions, options.rounds or lab.mode.rounds, commands, seed, save)
    page = report.write(_in_order(found, earlier), folder, experiments.ALL)
    return _tell(found, page)


def _in_order(found, earlier):
    """Returns the new results joined with those already in the folder, in report order."""
    whole = results.joined(earlier, found) if earlier else found
    order = list(experiments.ALL)
    return dataclasses.replace(
        whole, experiments=sorted(whole.experiments, key=lambda item: order.index(item.name))
    )


def _again(options):
    """Returns the command that repeats an experiment when its name is appended."""
    words = ["lab/run"] + ([] if options.mode == "full" else [f"--{options.mode}"])
    if options.rounds is not None:
        words += ["--rounds", str(options.rounds)]
    if options.build != _BUILD:
        words += ["--build", str(options.build)]
    near, far = machine.default_cpus()
    if (options.server_cpus, options.load_cpus) != (near, far):
        words += ["--server-cpus", options.server_cpus, "--load-cpus", options.load_cpus]
    words += [f"--peer={name}={path}" for name, path in options.peer]
    words += [f"--server={name}={command}" for name, command in options.server]
    return shlex.join(words)


def _tell(found, page):
    """Prints where the report is and what was skipped. Returns the exit status."""
    for experiment in found.experiments:
        for entry in experiment.skipped:
            print(f"skipped  {experiment.name}: {entry['what']}: {entry['why']}")
    print(f"report: {page}")
    failed = any(experiment.failed for experiment in found.experiments)
    return 1 if failed or found.interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
