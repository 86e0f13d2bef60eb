"""The report: a self-contained HTML file, a Markdown page with SVG files, and CSV files."""

import csv
import dataclasses
import pathlib
import re
import traceback

import jinja2
import markupsafe

from harness import (
    answers, cells, chapters, comparisons, drawing, findings, looks, markdown, measures, plots,
    seeds, spread, summary, tables,
)
from harness.results import UNITS

# A word and a sign each, so that the meaning does not depend on colour.
BADGES = {"win": "▲ better", "loss": "▼ worse", "even": "= equal", "note": "• note"}
_HASH_DIGITS = 12
_ROWS_OPEN = 8  # a table of so many rows is open where a section has no plot
_NOTES_OPEN = 2  # more notes beside decided findings are folded
_TEMPLATES = {"report.html": "report.html.j2", "README.md": "report.md.j2"}


@dataclasses.dataclass
class _Part:
    """Template data of an experiment."""

    id: str
    title: str
    question: str
    experiment: object
    figures: list  # [{"kind": "plot", "table", "statements" or "nothing", "findings", …}]
    findings: list  # all, also those that no figure shows
    loose: list  # those
    sources: list  # seeds.Source …: whose measurements are repeated
    done: int

    @property
    def missing(self):
        return max(0, self.experiment.planned - self.done)


@dataclasses.dataclass
class _Section:
    """Template data of a chapter."""

    chapter: object
    answers: list  # answers.Answer …
    figures: list
    parts: list


def write(results, folder, definitions):
    """Writes report.html, README.md, runs.csv, csv/*.csv and plots/*.svg into `folder`.

    README.md shows the plots, so that it renders where the folder is committed. Returns the path of
    report.html, which needs no other file.

    `definitions` is {experiment's name: object with .title, .question, .figures (of plots.py) and
    .findings, a function of the Experiment that returns a list of Finding}. An experiment without a
    definition is shown as a table of everything it measured.
    """
    folder = pathlib.Path(folder)
    parts, used = {}, set()
    for experiment in results.experiments:
        histograms = results.histograms.get(experiment.name, {})
        identity = _unique(_slug(experiment.name), used)
        parts[experiment.name] = _part(experiment, histograms, identity,
                                       definitions.get(experiment.name))
    sections = _sections(results, parts)
    compared = [pair for name, part in parts.items() if name in definitions
                for pair in comparisons.all_of(part.experiment, definitions[name])]
    charts = _charts(results)
    _write_plots(folder / "plots", charts, sections)
    _write_runs(folder / "runs.csv", results)
    _write_cells(folder / "csv", parts.values())
    for name, template in _TEMPLATES.items():
        page = _render(template, results, charts, sections, compared)
        (folder / name).write_text(page, encoding="utf-8")
    return folder / "report.html"


def _sections(results, parts):
    found, every = [], answers.all_of(results)
    for chapter, names in chapters.sections(list(parts)):
        extra = [_figure_of(results, name, figure, f"chapter-{chapter.id}-{number}")
                 for number, (name, figure) in enumerate(chapter.figures, 1)]
        shown = [figure for figure in extra if figure["kind"] != "nothing"]
        if shown or names:
            said = [answer for answer in every if answer.chapter == chapter.id]
            found.append(_Section(chapter, said, shown, [parts[name] for name in names]))
    return found


def _charts(results):
    """Returns the plots of the summary that could be drawn."""
    found = [_figure_of(results, name, figure, f"summary-{number}")
             for number, (name, figure) in enumerate(summary.CHARTS, 1)]
    return [figure for figure in found if figure["kind"] == "plot"]


def _figure_of(results, name, figure, identity):
    """Returns a figure of an experiment by its name; of kind "nothing" if it was not measured."""
    experiment = next((one for one in results.experiments if one.name == name), None)
    if not experiment:
        return {"kind": "nothing"}
    return _figure(figure, experiment, results.histograms.get(name, {}), identity)


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
    declared = definition.figures if definition else [_everything(experiment)]
    figures = [_figure(figure, experiment, histograms, f"{identity}-{number}")
               for number, figure in enumerate(declared, 1)]
    said = set()
    for figure in figures:  # a note is said once
        figure["note"] = "" if figure["note"] in said else figure["note"]
        said.add(figure["note"])
    found = _findings(definition, experiment)
    names = dict.fromkeys(name for name in map(_source_of, declared) if name)
    return _Part(
        identity,
        definition.title if definition else experiment.name,
        definition.question if definition else "",
        experiment, figures, found, _place(found, declared, figures), list(names),
        len(experiment.runs))


def _source_of(figure):
    """Returns the seeds.Source whose numbers a figure shows beside ours, or None."""
    name = getattr(figure, "seed", None)
    if isinstance(figure, plots.Statements):
        return seeds.STATEMENTS[name][0].source
    return seeds.TABLES[name].source if name in seeds.TABLES else None


def _place(found, declared, figures):
    """Adds each Finding to the first figure that shows it, plots first. Returns the others."""
    order = sorted(zip(declared, figures, strict=True),
                   key=lambda pair: {"plot": 0, "table": 1}.get(pair[1]["kind"], 2))
    loose = []
    for finding in found:
        home = next((data for figure, data in order
                     if data["kind"] in ("plot", "table") and _shows(figure, finding)), None)
        (home["findings"] if home else loose).append(finding)
    return loose


def _shows(figure, finding):
    """Returns True if the figure has the finding's measure of all its cells."""
    if not finding.cells:
        return False
    if isinstance(figure, plots.Table):
        shown = figure.columns
    elif isinstance(figure, plots.Percentiles):
        shown = ()
    else:
        shown = [getattr(figure, "y", None) or getattr(figure, "value", None)]
    return finding.measure in shown and all(cells.fits(cell.factors, figure.where)
                                            for cell in finding.cells)


def _everything(experiment):
    """Returns a table of everything that an experiment without a definition measured."""
    runs = experiment.runs
    factors = tuple(dict.fromkeys(name for run in runs for name in run.factors))
    measured = {name for run in runs for name in run.measures}
    ordered = [name for name in UNITS if name in measured] + sorted(measured - UNITS.keys())
    return plots.Table("All that was measured", factors, ordered or ["cpu_us"])


def _figure(figure, experiment, histograms, identity):
    """Returns a figure's template data. A figure that fails must not prevent the report."""
    common = {"id": identity, "title": figure.title, "note": figure.note, "findings": [],
              "experiment": experiment.name}
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


def _write_plots(folder, charts, sections):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    figures = list(charts)
    for section in sections:
        figures += section.figures
        figures += [figure for part in section.parts for figure in part.figures]
    for figure in figures:
        if figure["kind"] == "plot":
            svg = looks.alone(figure["svg"])
            (folder / f"{figure['id']}.svg").write_text(svg, encoding="utf-8")


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


def _write_cells(folder, parts):
    """Writes a file for each experiment: one line per cell, each measure's median and range."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.csv"):
        old.unlink()
    for part in parts:
        measured = {name for run in part.experiment.runs for name in run.measures}
        ordered = [name for name in UNITS if name in measured] + sorted(measured - UNITS.keys())
        factors = list(dict.fromkeys(name for run in part.experiment.runs for name in run.factors))
        heads = [f"{name} {what}" for name in ordered for what in ("median", "lowest", "highest")]
        with (folder / f"{part.id}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*factors, "rounds", *heads])
            for cell in cells.cells_of(part.experiment):
                ranges = [cell.spread(name) for name in ordered]
                writer.writerow([*(cell.factors.get(name) for name in factors), len(cell.runs),
                                 *(value for one in ranges for value in (
                                     (one.median, one.low, one.high) if one else ("", "", "")))])


def _field(run, measure):
    value = run.measures.get(measure)
    return value if spread.measured([value]) else ""


def _caveats(found):
    """Returns what the Findings do not show, each once."""
    texts = dict.fromkeys(one.not_shown for one in found if one.not_shown)
    return [text for text in texts if not any(text != other and text in other for other in texts)]


def _render(template, results, charts, sections, compared):
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
        autoescape=template == _TEMPLATES["report.html"],
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined)
    environment.filters["svg"] = markupsafe.Markup  # drawing.py escapes its output
    environment.filters["md"] = markdown.text
    environment.filters["named"] = lambda measure: measures.heading(measure)[0]
    environment.filters["code"] = markdown.code
    environment.filters["code_cell"] = markdown.code_cell
    environment.globals["decided"] = lambda found: [one for one in found if one.kind != "note"]
    environment.globals["caveats"] = _caveats
    environment.globals["notes"] = lambda found: [one for one in found if one.kind == "note"]
    parts = {part.experiment.name: part for section in sections for part in section.parts}
    return environment.get_template(template).render(
        results=results, charts=charts, sections=sections, parts=parts, badges=BADGES,
        sentences=summary.sentences(answers.all_of(results), answers.score(compared)),
        losses=[pair for pair in compared if pair.kind == "loss"],
        counts=[(kind, sum(pair.kind == kind for pair in compared)) for kind in findings.KINDS
                if kind != "note"],
        done=sum(part.done for part in parts.values()),
        planned=sum(part.experiment.planned for part in parts.values()),
        quick=any((experiment.environment.get("run") or results.mode).startswith("quick")
                  for experiment in results.experiments),
        hash_digits=_HASH_DIGITS, rows_open=_ROWS_OPEN, notes_open=_NOTES_OPEN,
        themes={"light": looks.variables(0), "dark": looks.variables(1)},
        rounds_min=spread.ROUNDS_MIN,
        by_chance={rounds: round(1 / spread.by_chance(rounds, rounds)) for rounds in (3, 5, 10)},
        client_bound=cells.CLIENT_BOUND)
