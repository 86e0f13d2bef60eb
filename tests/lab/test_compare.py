"""lab/compare, on two result folders."""

import subprocess
import sys

import pytest

import canned
from harness import compare, results


def changed(factor=0.8):
    """Returns the results with h2server's CPU time multiplied by `factor`."""
    after = canned.whole()
    for run in after.experiments[0].runs:
        if run.factors["server"] == "h2server":
            run.measures["cpu_us"] *= factor
    return after


def test_equal_results_differ_nowhere():
    found = compare.changes(canned.whole(), canned.whole())
    # Four servers with three measures, four rates with two, two sizes with one.
    assert len(found) == 12 + 8 + 2
    assert {change.word for change in found} == {"even"}
    assert all(change.ratio.value == 1 for change in found)


def test_what_changed_comes_first_and_says_which_way():
    first = compare.changes(canned.whole(), changed())[0]
    assert (first.experiment, first.measure, first.word) == ("peers", "cpu_us", "better")
    assert first.ratio.value == pytest.approx(0.8)
    assert compare.changes(canned.whole(), changed(1.3))[0].word == "worse"
    faster = canned.whole()
    for run in faster.experiments[0].runs:
        run.measures["rps"] *= 2
    assert compare.changes(canned.whole(), faster)[0].word == "better"


def test_half_and_twice_are_of_one_size():
    half, twice = (compare.changes(canned.whole(), changed(factor))[0] for factor in (0.5, 2))
    assert half.size == pytest.approx(twice.size)


def test_the_table():
    lines = compare.text_of(canned.whole(), changed()).splitlines()
    line = next(line for line in lines if "better" in line)
    assert line.split()[:5] == ["0.80", "×", "(0.76–0.84)", "better", "cpu_us"]
    assert "7.40 → 5.92" in line
    assert any("1 of 22 differ beyond the spread" in line for line in lines)
    assert max(map(len, lines)) <= compare.WIDTH


def test_everything_fits_the_width_too():
    text = compare.text_of(canned.whole(), changed(), everything=True)
    assert max(map(len, text.splitlines())) <= compare.WIDTH
    assert "The others:" in text
    assert "†rps" in text  # nghttpd's client was at its limit


def test_the_threshold_leaves_small_changes_out():
    assert "0 of 22 differ" in compare.text_of(canned.whole(), changed(0.8), threshold=0.5)
    assert "1 of 22 differ" in compare.text_of(canned.whole(), changed(0.8), threshold=0.1)


def test_it_warns_of_what_else_differs():
    after = canned.whole()
    after.mode = "full"
    after.interrupted = False
    after.environment["kernel"] = "6.2"
    after.binaries[0]["sha256"] = "f" * 64
    found = compare.warnings(canned.whole(), after)
    assert found == ["mode: quick against full", "kernel: 6.1 <test> against 6.2",
                     "nginx: another program, nginx/1.22.1 against nginx/1.22.1",
                     "A was interrupted"]
    assert compare.warnings(after, after) == []


def test_cells_of_one_side_only_are_named():
    after = canned.whole()
    del after.experiments[1]
    text = compare.text_of(canned.whole(), after)
    assert "Only in A: 6 cells" in text and "rates: server=nginx rate=50000" in text


def test_nothing_in_common():
    empty = results.Results("quick", "2026-01-02")
    assert "0 of 0 differ" in compare.text_of(empty, empty)


def test_the_program_reads_folders_and_files(tmp_path):
    for name, measured in (("a", canned.whole()), ("b", changed())):
        (tmp_path / name).mkdir()
        results.save(measured, tmp_path / name)
    done = subprocess.run([sys.executable, canned.LAB / "compare", tmp_path / "a",
                           tmp_path / "b" / results.FILE, "--measures", "cpu_us"],
                          check=True, capture_output=True, text=True)
    assert "1 of 6 differ beyond the spread" in done.stdout
    failed = subprocess.run([sys.executable, canned.LAB / "compare", tmp_path, tmp_path],
                            check=False, capture_output=True, text=True)
    assert failed.returncode != 0 and "no results" in failed.stderr
