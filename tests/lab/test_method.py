"""How the lab tells two servers apart, on measured values of which the truth is known.

rounds.json has five rounds of each of h2server's cells of a full report, relative to their medians.
pairs.json has pairs of loads on equal programs. A slowdown is put in by multiplication.
"""

import json
import math
import os
import pathlib
import random
import subprocess

import pytest

import canned
from harness import method, pairs, spread

FOLDER = pathlib.Path(__file__).with_name("canned")
ROUNDS = [value for cell in json.loads((FOLDER / "rounds.json").read_text())["cells"]
          for value in cell]
PAIRS = json.loads((FOLDER / "pairs.json").read_text())["cells"]
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", canned.LAB.parent / "build/release"))


def share_by_ranges(slowdown, comparisons=2000, rounds=5):
    """Returns how often the ranges of two cells do not overlap."""
    draw = random.Random(1)
    return sum(spread.ratio([value * slowdown for value in draw.sample(ROUNDS, rounds)],
                            draw.sample(ROUNDS, rounds)).differs
               for _ in range(comparisons)) / comparisons


def compared(cell, slowdown, starts, comparisons):
    """Returns verdicts on starts drawn from a cell. Which one was A does not matter: both are the
    same program."""
    draw = random.Random(7)
    found = []
    for _ in range(comparisons):
        drawn = []
        for start in draw.sample(PAIRS[cell], starts):
            swapped = draw.random() < 0.5
            drawn.append([(b, a * slowdown) if swapped else (a, b * slowdown) for a, b in start])
        found.append(pairs.judge(drawn))
    return found


def test_equal_cells_differ_by_chance_as_often_as_the_report_says():
    assert share_by_ranges(1) == pytest.approx(spread.by_chance(5, 5), abs=0.006)


def test_ranges_of_five_rounds_find_large_changes_only():
    """So a change of 5 % needs pairs; the README says what ranges find."""
    assert share_by_ranges(1.05) < 0.1
    assert share_by_ranges(1.2) < 0.5
    assert share_by_ranges(1.5) > 0.8


@pytest.mark.parametrize("cell", PAIRS)
def test_equal_programs_are_called_equal_in_19_of_20_runs(cell):
    verdicts = compared(cell, 1, 10, 20)
    assert sum(not verdict.differs for verdict in verdicts) >= 19


@pytest.mark.parametrize("cell", PAIRS)
def test_equal_programs_differ_as_rarely_as_the_test_promises(cell):
    verdicts = compared(cell, 1, 10, 400)
    assert sum(verdict.differs for verdict in verdicts) / 400 <= 3 * pairs.ALPHA


@pytest.mark.parametrize("slowdown", [1.05, 1 / 1.05])
@pytest.mark.parametrize("cell", PAIRS)
def test_a_change_of_5_percent_is_found_in_4_of_5_runs_by_10_starts(cell, slowdown):
    verdicts = compared(cell, slowdown, 10, 100)
    assert sum(one.differs and (one.value > 1) == (slowdown > 1) for one in verdicts) >= 80


@pytest.mark.parametrize("cell", PAIRS)
def test_a_slowdown_of_3_percent_is_found_in_4_of_5_runs_of_lab_pair(cell):
    verdicts = compared(cell, 1.03, pairs.STARTS, 50)
    assert sum(one.differs and one.value > 1 for one in verdicts) >= 40


@pytest.mark.parametrize("cell", PAIRS)
def test_the_interval_holds_the_truth_and_excludes_one_when_they_differ(cell):
    for slowdown in (1, 1.05):
        verdicts = compared(cell, slowdown, 10, 100)
        assert sum(one.low <= slowdown <= one.high for one in verdicts) >= 95
        for one in verdicts:
            assert one.low <= one.value <= one.high
            assert one.differs == (not one.low <= 1 <= one.high)


@pytest.mark.parametrize(("differences", "p"), [
    ([1, 2, 3, 4, 5, 6, 7, 8], 2 / 256),
    ([-1, -2, -3, -4, -5, -6, -7, -8], 2 / 256),
    ([-1, 2, 3, 4, 5, 6, 7, 8], 4 / 256),
    ([1, 2, -3, 4, 5, 6, 7, 8], 10 / 256),  # sums of at most 3: {}, 1, 2, 3, 1 + 2
    ([1, -1, 1, -1], 1.0),  # ties share their ranks
    ([1, 1, 1], 2 / 8),
    ([0, 0, 3], 1.0),  # zeros are left out
    ([], 1.0),
])
def test_the_signed_rank_test_against_counting(differences, p):
    assert pairs.signed_rank_p(differences) == pytest.approx(p)


def test_a_start_counts_once_whatever_its_pairs():
    """An outlier among the pairs of a start changes nothing."""
    starts = [[(1.0, 1.1), (1.0, 1.1), (1.0, 9.0)]] * 10
    assert pairs.judge(starts).value == pytest.approx(1.1)
    with pytest.raises(ValueError, match="7 starts are too few"):
        pairs.judge(starts[:7])


def trial(percent, slowdowns):
    runs = [[[(10.0, 10.0 * slowdown * (1 + place / 1000))] for place in range(-5, 5)]
            for slowdown in slowdowns]
    return method.Trial("h1", percent, runs)


def test_a_trial_passes_if_enough_is_right():
    assert trial(0, [1.0] * 19 + [1.3]).passed
    assert not trial(0, [1.0] * 18 + [1.3] * 2).passed
    assert trial(5, [1.05] * 4 + [1.0]).passed
    assert not trial(5, [1.05] * 3 + [1.0] * 2).passed
    assert trial(5, [0.95] * 5).right == 0  # it must be found slower, not faster


def test_the_result_in_words_and_as_data():
    trials = [trial(0, [1.0] * 2), trial(5, [1.05] * 2)]
    assert "5 % slower, found in 2 of 2 (h1)" in method.summary(trials)
    assert method.table(trials)[3].startswith("| h1 | 5 % | 2 | 2 | +4.9 % |")
    data = json.loads(json.dumps(method.data_of(trials, {})))
    assert data["trials"][1]["right"] == 2
    assert math.isclose(data["trials"][1]["verdicts"][0]["value"], 1.05, rel_tol=0.01)


def test_the_share_of_the_handler():
    twice = [[(10.0, 16.0 * (1 + place / 1000))] for place in range(-5, 6)]
    assert method.handler_share(twice) == pytest.approx(0.6, abs=0.01)
    with pytest.raises(SystemExit, match="2"):
        method.handler_share([[(10.0, 10.9)]] * 8)


def few(command, *arguments):
    """Runs a comparison with next to no load: shows that it works."""
    return subprocess.run(
        [canned.LAB / command, "--build", BUILD, "--starts", "8", "--pairs", "1", "--requests", "300",
         "--protocol", "h1", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=200)


def test_a_program_is_compared_with_itself():
    done = few("pair", BUILD / "h2server", BUILD / "h2server")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("h1: CPU a request, B over A: ")


def test_the_check_writes_its_table_and_its_data(tmp_path):
    done = few("method", "--runs", 1, "--slow", 1, "--out", tmp_path)
    assert done.returncode in (0, 1), done.stderr  # 1: so few requests may find too little
    assert "| h1 | 5 % | 1 |" in done.stdout, done.stderr
    trials = json.loads((tmp_path / "method.json").read_text())["trials"]
    assert [(trial["percent"], len(trial["runs"][0])) for trial in trials] == [(0, 8), (5, 8)]
