"""docs/scale.md: its tables are those of the results beside it, and its text has no figure of its own."""

import copy
import re

import pytest

import canned  # noqa: F401  (finds the lab)
from harness import pages, results, scale

PAGE = scale.PAGE.read_text()
RESULTS = results.read(scale.RESULTS)


def test_page_is_that_of_the_results():
    assert pages.rewritten(PAGE, "lab/scale", scale.tables()) == PAGE, "lab/scale writes it again"


def test_a_changed_figure_is_found():
    changed = re.sub(r"(\d)( GiB \| K)", lambda match: f"{(int(match[1]) + 1) % 10}{match[2]}", PAGE)
    assert changed != PAGE
    assert pages.rewritten(changed, "lab/scale", scale.tables()) != changed


def test_a_changed_result_changes_the_page():
    results = copy.deepcopy(RESULTS)
    _, _, experiment, cell, measure, _ = scale.COSTS["G"]
    for one in results["experiments"]:
        for run in one["runs"]:
            if one["name"] == experiment and run["cell"] == cell:
                run["measures"][measure] *= 2
    before, after = scale.measured(RESULTS), scale.measured(results)
    assert after["G"] == pytest.approx(2 * before["G"])
    assert {key: value for key, value in after.items() if key != "G"} == \
        {key: value for key, value in before.items() if key != "G"}
    assert scale.targets_table(after, None) != scale.targets_table(before, None)


def test_a_missing_cell_is_an_error():
    with pytest.raises(KeyError, match="peers has no cell"):
        scale.measured({"experiments": []})


def test_handshakes_appear_once_they_are_measured():
    costs = scale.measured(RESULTS)
    table = "\n".join(scale.costs_table(costs, {"full": 300.0, "resumed": 100.0}))
    assert "| 300 µs |" in table and "not measured" not in table
    assert any("5 processors | O |" in line for line in scale.targets_table(
        costs, {"full": 300.0, "resumed": 100.0}))


def test_arithmetic():
    costs = {letter: 1.0 for letter in scale.COSTS}
    assert "| 1 | 600 000/s | 600 000/s | 600 000/s | 4.8 Gbit/s |" in scale.replica_table(costs)
    table = scale.targets_table(costs, None)
    assert "| 100 Gbit/s of large files over TLS, h2 | 12.5 processors | G |" in table
    assert "| sending 1 PB over TLS, h2 | 278 processor hours | G |" in table
    assert "| 1 PB through one line of 100 Gbit/s | 22.2 hours | |" in table


def test_text_has_no_measured_figures():
    """What is outside of the tables that are made has no number with a unit of a measurement."""
    text = re.sub(r"(<!-- lab/scale \w+ -->).*?<!-- end -->", "", PAGE, flags=re.DOTALL)
    assert re.findall(r"\d[\d ]*\s*(?:µs|ns|ms|KiB|MiB|GiB|requests/s)", text) == []


@pytest.mark.parametrize("value, text", [(0.144730, "0.145"), (12.54, "12.5"), (999.6, "1 000"),
                                         (1234.5, "1 230"), (625000, "625 000")])
def test_numbers(value, text):
    assert scale.number(value) == text
