"""The experiments' plans, figures and findings, from runs with made-up measures."""

import os
import pathlib

import pytest

from harness import cells, chapters, experiments, plots, seeds, tables
from harness.lab import MODES, Lab
from harness.results import UNITS, Experiment, Run
from harness.servers import PEER_LIST

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", ROOT / "build/release"))
# Servers of the seeds that the lab cannot run.
STRANGERS = {"zy-http", "libevent-server"}


@pytest.fixture(scope="module", params=["full", "quick"])
def mode(request):
    return request.param


@pytest.fixture(scope="module")
def measured(mode):
    """{name: Experiment}, as if every planned run had yielded every measure."""
    with Lab(BUILD, MODES[mode], "0", "0", PEER_LIST, []) as lab:
        return {
            definition.name: Experiment(definition.name, "", 0, [
                Run(cell.name, cell.factors, number, "", 1, dict.fromkeys(UNITS, 1.0 + number))
                for cell in definition.cells(lab) for number in range(5)
            ])
            for definition in experiments.ALL.values()
        }


@pytest.fixture(params=experiments.ALL.values(), ids=experiments.ALL.keys())
def definition(request):
    return request.param


def views(definition, experiment):
    """Returns {title: tables.View} of the tables that are not empty."""
    found = {figure.title: tables.view(figure, experiment)
             for figure in definition.figures if isinstance(figure, plots.Table)}
    return {title: view for title, view in found.items() if view}


def test_each_cell_is_planned_once(definition, measured):
    runs = measured[definition.name].runs
    assert len({(run.cell, run.round) for run in runs}) == len(runs)


def test_every_table_has_the_floors_row_and_ratios_to_it(definition, measured):
    without = {figure.title for figure in definition.figures
               if isinstance(figure, plots.Table) and figure.floor is None}  # it has no SPDY
    for title, view in views(definition, measured[definition.name]).items():
        if title in without:
            continue
        assert any(row.kind == "floor" for row in view.rows), title
        parts = [part for column in view.columns for part in column.parts]
        assert "ratio" in parts, title
        for row in view.rows:
            ratio = row.values[parts.index("ratio")].text
            assert (ratio == "–") == (row.kind in ("floor", "seed")), (title, row.names)


def test_every_figure_has_something_to_show(definition, measured, mode):
    if mode != "full":
        return
    shown = views(definition, measured[definition.name])
    for figure in definition.figures:
        if isinstance(figure, plots.Table):
            assert figure.title in shown
        elif not isinstance(figure, plots.Statements):
            assert cells.cells_of(measured[definition.name], figure.where), figure.title


def test_findings_are_written(definition, measured):
    assert any(definition.findings(measured[definition.name]))


def test_each_row_of_the_seeds_stands_beside_one_of_ours(definition, measured, mode):
    if mode != "full":
        return
    tabled = [figure for figure in definition.figures
              if isinstance(figure, plots.Table) and figure.seed]
    for figure in tabled:
        view = tables.view(figure, measured[definition.name])
        place = view.factors.index("server")
        alone = {row.names[place] for row in view.rows if row.kind == "seed"}
        assert alone <= STRANGERS, figure.title


def test_every_table_of_the_seeds_is_shown():
    figures = [figure for definition in experiments.ALL.values() for figure in definition.figures]
    figures += [figure for chapter in chapters.CHAPTERS for _, figure in chapter.figures]
    shown = {figure.seed for figure in figures if isinstance(figure, plots.Table)}
    assert seeds.TABLES.keys() <= shown
