"""The Lab: what every procedure needs, and the loop that runs the cells of the experiments."""

import dataclasses
import datetime
import pathlib
import random
import shutil
import subprocess
import tempfile

from harness import loads, machine, results, servers, spread
from harness.processes import Failure
from harness.progress import Progress

INDEX_BYTES = 158  # of the article's index.html


@dataclasses.dataclass
class Cell:
    """One row of an experiment's plan: its factors, and what measures it once."""

    factors: dict
    procedure: object  # (Lab, round number) -> Outcome
    server: object  # servers.Server, which may be missing here
    tool: str = "load"  # the load generator, which may be missing as well
    unable: str = ""  # why the server cannot be measured so

    @property
    def name(self):
        return ", ".join(f"{name} {value}" for name, value in self.factors.items())


@dataclasses.dataclass(frozen=True)
class Mode:
    """How much is measured."""

    name: str
    rounds: int
    # full: every cell, for publishing; quick: those that matter, in minutes; smoke: each
    # procedure once or twice with next to no load, to see that it works.

    def pick(self, full, quick, smoke):
        """The one of three that belongs to this mode."""
        return {"full": full, "quick": quick, "smoke": smoke}[self.name]


MODES = {mode.name: mode for mode in (Mode("full", 5), Mode("quick", 5), Mode("smoke", 1))}


_SCRATCH_BYTES = 500_000_000  # the longest logs and largest files, with room to spare


def _memory_folder():
    """A folder in memory, so that no disk is measured; None: there is none, or a small one."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > _SCRATCH_BYTES else None
    except OSError:
        return None


class Lab:
    """with Lab(…) as lab: folders, files to serve and a certificate that are gone afterwards."""

    def __init__(self, build, mode, server_cpus, load_cpus, peers, guests):
        self.build = pathlib.Path(build)
        self.mode = mode
        self.server_cpus = server_cpus
        self.load_cpus = load_cpus
        self.peers = {server.name: server for server in peers}
        self.guests = guests  # servers that the command line adds
        self.counted_requests = mode.pick(4000, 4000, 200)
        self.checked = set()  # what was asked for and answered right
        self.counted = set()  # whose system calls were counted

    @property
    def load_program(self):
        return self.build / "lab/load"

    @property
    def relay_program(self):
        return self.build / "lab/relay"

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="h2lab-", dir=_memory_folder())
        self.scratch = pathlib.Path(self._folder.name)
        self.scratch.chmod(0o755)  # for servers that give up their privileges
        self.root = self.scratch / "root"
        self.root.mkdir()
        self.file("index.html", INDEX_BYTES)
        self.certificate, self.key = self.scratch / "server.crt", self.scratch / "server.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "30", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", self.key, "-out", self.certificate],
            check=True, capture_output=True,
        )
        self.can_trace = machine.can_trace()
        self.engine = machine.engine_of(self)
        self.floor_engine = "io_uring" if self.engine.startswith("io_uring") else "epoll"
        return self

    def __exit__(self, *exception):
        self._folder.cleanup()

    def file(self, name, size):
        """A file of `size` bytes in the root; its path as a request's target."""
        path = self.root / name
        if not path.exists():
            line = b"<p>The quick brown fox jumps over the lazy dog.</p>\n"
            path.write_bytes((line * (size // len(line) + 1))[:size])
        return f"/{name}"


def missing(lab, cell):
    """Why the cell cannot be measured here, or None."""
    if cell.unable:
        return cell.unable
    if cell.server.path() is None:
        return f"{cell.server.binary} is not installed"
    needed = cell.server.needs
    if needed and not pathlib.Path(needed).exists():
        return f"{needed} is not installed"
    if "io_uring" in cell.factors.values() and lab.floor_engine != "io_uring":
        return "io_uring is not allowed here"
    return f"{cell.tool} is not installed" if cell.tool in loads.missing_tools() else None


def plan(lab, definitions, rounds, again="lab/run"):
    """([Experiment], [(Experiment, Cell, round)]); `again` and its name repeat an experiment."""
    experiments, runs = [], []
    for definition in definitions:
        cells = definition.cells(lab)
        experiment = results.Experiment(definition.name, f"{again} {definition.name}", 0)
        experiment.source = machine.source()
        experiments.append(experiment)
        for cell in cells:
            if why := missing(lab, cell):
                experiment.skipped.append({"what": cell.name, "why": why})
                continue
            experiment.planned += rounds
            runs += [(experiment, cell, number) for number in range(rounds)]
    return experiments, runs


def in_shuffled_rounds(runs, seed):
    """All first rounds of an experiment, then all second ones …, each in an order of its own.

    So a change of the machine's speed falls on all cells, and what ran before one is another each
    time.
    """
    order = random.Random(seed)
    shuffled = []
    for experiment in dict.fromkeys(id(run[0]) for run in runs):
        mine = [run for run in runs if id(run[0]) == experiment]
        for number in sorted({run[2] for run in mine}):
            of_round = [run for run in mine if run[2] == number]
            order.shuffle(of_round)
            shuffled += of_round
    return shuffled


def measure(lab, definitions, rounds, commands, seed, save):
    """The Results of all experiments; of those that were done when it is interrupted.

    `commands`: what was typed, and what repeats an experiment when its name follows. `save` is
    given the Results as far as they are, after each experiment.
    """
    typed, again = commands
    found = results.Results(mode=lab.mode.name, started=_now(), command=typed, seed=seed)
    machine.raise_limits()
    machine.stay_on(lab.load_cpus)
    found.experiments, runs = plan(lab, definitions, rounds, again)
    found.environment = {"run": f"{lab.mode.name}, {rounds} rounds", **machine.environment(lab)}
    found.binaries = _binaries(lab, runs)
    progress = Progress(len(runs))
    try:
        for experiment, cell, number in in_shuffled_rounds(runs, seed):
            if not experiment.started:
                save(found)  # what the experiments before have found
                experiment.started = _now()
                experiment.environment = found.environment
            progress.before(experiment.name, cell.name)
            progress.after(measure_once(lab, found, experiment, cell, number))
    except KeyboardInterrupt:
        found.interrupted = True
    progress.end()
    found.finished = _now()
    save(found)
    return found


def _binaries(lab, runs):
    """Every program that takes part: the servers, and what puts load on them."""
    of_servers = {(cell.server.name, cell.server.path()): cell.server for _, cell, _ in runs}
    clients = [servers.Server(path.name, str(path), None, version=())
               for path in (lab.load_program, lab.relay_program)]
    clients += [servers.Server(tool, tool, None, version=())
                for tool in loads.TOOLS if tool not in loads.missing_tools()]
    return [machine.binary(lab, server) for server in [*of_servers.values(), *clients]]


def measure_once(lab, found, experiment, cell, number):
    """One run. Why it failed, or what of it did, or None; that is noted and stops no others."""
    try:
        outcome = cell.procedure(lab, number)
    except Exception as error:  # of any kind: it must not cost an hour of other measurements
        why = str(error) if isinstance(error, Failure) else repr(error)
        experiment.failed.append({"what": f"{cell.name}, round {number + 1}", "why": why})
        return why
    measures = {name: float(f"{value:.6g}") for name, value in outcome.measures.items()}
    run = results.Run(
        cell.name, cell.factors, number, outcome.command, outcome.requests, measures
    )
    experiment.runs.append(run)
    of_cell = found.histograms.setdefault(experiment.name, {})
    of_cell[cell.name] = spread.merge([of_cell.get(cell.name, []), outcome.histogram])
    if outcome.problem:
        experiment.failed.append({"what": run.cell, "why": outcome.problem})
    return outcome.problem or None


def _now():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
