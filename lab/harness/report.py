"""The report: a self-contained HTML file, a Markdown page with SVG files, and all runs as CSV."""

import csv
import dataclasses
import pathlib
import re
import traceback

import jinja2
import markupsafe

from harness import cells, drawing, findings, markdown, plots, seeds, spread, tables
from harness.results import UNITS

# A word and a sign each, so that the meaning does not depend on colour.
BADGES = {"win": "▲ win", "loss": "▼ loss", "even": "= even", "note": "• note"}
_PART_NAMES = {"ours": "here", "ratio": "× floor", "seed": "seed"}
_HASH_DIGITS = 12
_ROWS_OPEN = 12  # the Markdown page folds longer tables
_TEMPLATES = {"report.html": "report.html.j2", "README.md": "report.md.j2"}


@dataclasses.dataclass
class _Part:
    """Template data of an experiment."""

    id: str
    title: str
    question: str
    experiment: object
    figures: list  # [{"kind": "plot", "table", "statements" or "nothing", …}]
    findings: list
    done: int

    @property
    def missing(self):
        return max(0, self.experiment.planned - self.done)


def write(results, folder, definitions):
    """Writes report.html, README.md, runs.csv and plots/*.svg into `folder`.

    README.md shows the plots, so that it renders where the folder is committed. Returns the path of
    report.html, which needs no other file.

    `definitions` is {experiment's name: object with .title, .question, .figures (of plots.py) and
    .findings, a function of the Experiment that returns a list of Finding}. An experiment without a
    definition is shown as a table of everything it measured.
    """
    folder = pathlib.Path(folder)
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    parts, used = [], set()
    for experiment in results.experiments:
        histograms = results.histograms.get(experiment.name, {})
        identity = _unique(_slug(experiment.name), used)
        parts.append(_part(experiment, histograms, identity, definitions.get(experiment.name)))
    _write_plots(folder / "plots", parts)
    _write_runs(folder / "runs.csv", results)
    for name, template in _TEMPLATES.items():
        (folder / name).write_text(_render(template, results, parts), encoding="utf-8")
    return folder / "report.html"


def _slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "experiment"


def _unique(identity, used):
    """Returns `identity`, with a number appended if it is already used."""
    one, number = identity, 2
    while one in used:
        one, number = f"{identity}-{number}", number + 1
    used.add(one)
    return one


def _part(experiment, histograms, identity, definition):
    figures = definition.figures if definition else [_everything(experiment)]
    return _Part(
        identity,
        definition.title if definition else experiment.name,
        definition.question if definition else "",
        experiment,
        [_figure(figure, experiment, histograms, f"{identity}-{number}")
         for number, figure in enumerate(figures, 1)],
        _findings(definition, experiment),
        len(experiment.runs))


def _everything(experiment):
    """Returns a table of everything that an experiment without a definition measured."""
    runs = experiment.runs
    factors = tuple(dict.fromkeys(name for run in runs for name in run.factors))
    measured = {name for run in runs for name in run.measures}
    ordered = [name for name in UNITS if name in measured] + sorted(measured - UNITS.keys())
    return plots.Table("All that was measured", factors, ordered or ["cpu_us"])


def _figure(figure, experiment, histograms, identity):
    """Returns a figure's template data. A figure that fails must not prevent the report."""
    common = {"id": identity, "title": figure.title, "note": figure.note}
    try:
        if isinstance(figure, plots.Statements):
            return {**common, "kind": "statements", "statements": seeds.STATEMENTS[figure.seed]}
        if isinstance(figure, plots.Table):
            view = tables.view(figure, experiment)
            return {**common, "kind": "table", "view": view} if view else _nothing(common)
        svg = drawing.draw(figure, experiment, histograms, identity)
    except Exception as error:  # noqa: BLE001
        return _nothing(common, _reason(error))
    return {**common, "kind": "plot", "svg": svg} if svg else _nothing(common)


def _nothing(common, why=""):
    return {**common, "kind": "nothing", "why": why}


def _findings(definition, experiment):
    """Returns the definition's findings without None."""
    if not definition or not experiment.runs:
        return []
    try:
        return [found for found in definition.findings(experiment) if found]
    except Exception as error:  # noqa: BLE001  as with a figure
        return [findings.Finding(f"The findings of {experiment.name} could not be written: "
                                 f"{_reason(error)}.", "note")]


def _reason(error):
    traceback.print_exception(error)
    return f"{type(error).__name__}: {error}"


def _write_plots(folder, parts):
    for old in folder.glob("*.svg"):
        old.unlink()
    for part in parts:
        for figure in part.figures:
            if figure["kind"] == "plot":
                (folder / f"{figure['id']}.svg").write_text(figure["svg"], encoding="utf-8")


def _write_runs(path, results):
    """Writes one line per run with every factor and measure; empty if there is none."""
    runs = [(experiment.name, run) for experiment in results.experiments for run in experiment.runs]
    factors = list(dict.fromkeys(name for _, run in runs for name in run.factors))
    measured = {name for _, run in runs for name in run.measures}
    ordered = [name for name in UNITS if name in measured] + sorted(measured - UNITS.keys())
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["experiment", "cell", "round", *factors, "requests", *ordered, "command"])
        for name, run in runs:
            writer.writerow([name, run.cell, run.round, *(run.factors.get(key) for key in factors),
                             run.requests, *(_field(run, key) for key in ordered), run.command])


def _field(run, measure):
    value = run.measures.get(measure)
    return value if spread.measured([value]) else ""


def _render(template, results, parts):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
        autoescape=template == _TEMPLATES["report.html"],
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined)
    environment.filters["svg"] = markupsafe.Markup  # drawing.py escapes its output
    environment.filters["md"] = markdown.text
    environment.filters["code"] = markdown.code
    environment.filters["code_cell"] = markdown.code_cell
    every = [found for part in parts for found in part.findings]
    return environment.get_template(template).render(
        results=results, parts=parts, badges=BADGES, part_names=_PART_NAMES,
        counts=[(kind, sum(found.kind == kind for found in every)) for kind in findings.KINDS],
        done=sum(part.done for part in parts),
        planned=sum(part.experiment.planned for part in parts),
        hash_digits=_HASH_DIGITS, rows_open=_ROWS_OPEN, rounds_min=spread.ROUNDS_MIN,
        by_chance={rounds: round(1 / spread.by_chance(rounds, rounds)) for rounds in (3, 5, 10)},
        client_bound=cells.CLIENT_BOUND)
