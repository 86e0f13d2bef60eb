"""The Lab: the environment of all procedures, and the loop that runs the experiments' cells."""

import dataclasses
import datetime
import pathlib
import random
import shutil
import subprocess
import tempfile

from harness import cells, loads, machine, plots, results, servers, spread
from harness.processes import Failure
from harness.progress import Progress

INDEX_BYTES = 158  # size of the article's index.html


@dataclasses.dataclass
class Cell:
    """One row of an experiment's plan: its factors and the procedure that measures it once."""

    factors: dict
    procedure: object  # (Lab, round number) -> Outcome
    server: object  # servers.Server; may not be installed
    tool: str = "load"  # the load generator; may not be installed
    unable: str = ""  # why the server cannot be measured this way

    @property
    def name(self):
        return cells.name_of(self.factors)


@dataclasses.dataclass(frozen=True)
class Mode:
    """How much to measure."""

    name: str
    rounds: int
    # full: every cell, for publishing. quick: the important ones, in minutes. smoke: each procedure
    # once or twice with minimal load, as a functional test.

    def pick(self, full, quick, smoke):
        """Returns the argument for this mode."""
        return {"full": full, "quick": quick, "smoke": smoke}[self.name]


MODES = {mode.name: mode for mode in (Mode("full", 5), Mode("quick", 5), Mode("smoke", 1))}


_SCRATCH_BYTES = 500_000_000  # more than the longest logs and largest files


def _memory_folder():
    """Returns a folder in memory, to measure no disk; None if there is none with enough space."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > _SCRATCH_BYTES else None
    except OSError:
        return None


class Lab:
    """Context manager: temporary folders, files to serve and a certificate."""

    def __init__(self, build, mode, server_cpus, load_cpus, peers, guests):
        self.build = pathlib.Path(build)
        self.mode = mode
        self.server_cpus = server_cpus
        self.load_cpus = load_cpus
        self.peers = {server.name: server for server in peers}
        self.guests = guests  # servers from the command line
        self.counted_requests = mode.pick(4000, 4000, 200)
        self.checked = set()  # ids of Subjects, and keys of uploads
        self.counted = set()  # ids of Subjects with counted system calls

    @property
    def load_program(self):
        return self.build / "lab/load"

    @property
    def relay_program(self):
        return self.build / "lab/relay"

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="h2lab-", dir=_memory_folder())
        self.scratch = pathlib.Path(self._folder.name)
        self.scratch.chmod(0o755)  # for servers that drop their privileges
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
        """Creates a file of `size` bytes in the root. Returns its path as a request target."""
        path = self.root / name
        if not path.exists():
            line = b"<p>The quick brown fox jumps over the lazy dog.</p>\n"
            path.write_bytes((line * (size // len(line) + 1))[:size])
        return f"/{name}"


def missing(lab, cell):
    """Returns why the cell cannot be measured here, or None."""
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
    """Returns ([Experiment], [(Experiment, Cell, round)]).

    `again` followed by an experiment's name is the command that repeats it.
    """
    experiments, runs = [], []
    for definition in definitions:
        cells = definition.cells(lab)
        experiment = results.Experiment(definition.name, f"{again} {definition.name}", 0)
        experiment.source = machine.source()
        experiments.append(experiment)
        for cell in cells:
            if why := missing(lab, cell):
                experiment.skipped.append(
                    {"what": cell.name, "factors": cell.factors, "why": why})
                continue
            experiment.planned += rounds
            runs += [(experiment, cell, number) for number in range(rounds)]
    return experiments, runs


def in_shuffled_rounds(runs, seed):
    """Returns the runs of each experiment round by round, each round in random order.

    So a change of the machine's speed affects all cells, and a cell has another predecessor each
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
    """Returns the Results of all experiments; if interrupted, of the runs that were done.

    `commands` are the command line, and the command that repeats an experiment when its name is
    appended. Calls `save` with the partial Results after each experiment.
    """
    typed, again = commands
    found = results.Results(mode=lab.mode.name, started=_now(), command=typed, seed=seed)
    machine.raise_limits()
    machine.stay_on(lab.load_cpus)
    found.experiments, runs = plan(lab, definitions, rounds, again)
    found.histograms = {definition.name: {} for definition in definitions  # the others are large
                        if any(isinstance(one, plots.Percentiles) for one in definition.figures)}
    found.environment = {"run": f"{lab.mode.name}, {rounds} rounds", **machine.environment(lab)}
    found.binaries = _binaries(lab, runs)
    progress = Progress(len(runs))
    try:
        for experiment, cell, number in in_shuffled_rounds(runs, seed):
            if not experiment.started:
                save(found)  # the results of the experiments before
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
    """Returns data of every program in use: servers and load generators."""
    of_servers = {(cell.server.name, cell.server.path()): cell.server for _, cell, _ in runs}
    clients = [servers.Server(path.name, str(path), None, version=())
               for path in (lab.load_program, lab.relay_program)]
    clients += [servers.Server(tool, tool, None, version=())
                for tool in loads.TOOLS if tool not in loads.missing_tools()]
    return [machine.binary(lab, server) for server in [*of_servers.values(), *clients]]


def measure_once(lab, found, experiment, cell, number):
    """Measures one run. Returns why all or a part of it failed, or None."""
    try:
        outcome = cell.procedure(lab, number)
        measures = {name: float(f"{value:.6g}") for name, value in outcome.measures.items()}
    except Exception as error:  # any error: it must not abort hours of other measurements
        why = str(error) if isinstance(error, Failure) else repr(error)
        experiment.failed.append({"what": f"{cell.name}, round {number + 1}",
                                  "factors": cell.factors, "why": why})
        return why
    run = results.Run(
        cell.name, cell.factors, number, outcome.command, outcome.requests, measures
    )
    experiment.runs.append(run)
    of_cell = found.histograms.get(experiment.name)
    if of_cell is not None:
        of_cell[cell.name] = spread.merge([of_cell.get(cell.name, []), outcome.histogram])
    if outcome.problem:
        experiment.failed.append(
            {"what": run.cell, "factors": cell.factors, "why": outcome.problem})
    return outcome.problem or None


def _now():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
