"""Answers of the report, from canned cells."""

import contextlib
import re

import pytest

import canned
from harness import answers, cells, results


def answers_of(name, cells):
    runs = [canned.run(factors, number, **{key: value + number / 1000 for key, value in measures.items()})
            for factors, measures in cells for number in range(3)]
    experiment = results.Experiment(name, f"lab/run {name}", len(runs), runs)
    return [answer.text for answer in
            answers.all_of(results.Results("quick", "2026-01-02", experiments=[experiment]))]


def test_sizes():
    cells = [({"server": "h2server", "protocol": protocol, "bytes": size}, {"cpu_us": cost})
             for protocol, costs in (("h2c", (1.0, 5.0, 90.0)), ("h1", (9.0, 5.0, 60.0)))
             for size, cost in zip((21, 6000, 1_000_000), costs, strict=True)]
    assert answers_of("sizes", cells) == [
        "Beside HTTP/1.1, HTTP/2 in cleartext takes h2server less at 21 bytes; more at 1\u202f000\u202f000 "
        "bytes; the same within the spread at 6\u202f000 bytes."]


def test_memory():
    cells = [({"server": server, "protocol": "h2"}, {"kib_per_connection": kib})
             for server, kib in (("h2server", 20.48), ("nginx", 21.0), ("h2o", 33.0))]
    (text,) = answers_of("idle", cells)
    assert "keeps 20.5 KiB of h2server’s memory, so 10 000 keep 200 MiB; nginx 21.0 KiB and h2o 33.0 KiB" in text


def test_limits():
    cells = [({"server": server, "protocol": "h1", "rate": rate, **engine}, {"p99_ms": p99, "rps": rate})
             for server, engine, slow in (("h2server", {"engine": "epoll"}, 3000), ("nginx", {}, 2000))
             for rate, p99 in ((1000, 1.0), (2000, 99.0 if slow <= 2000 else 2.0),
                               (3000, 99.0 if slow <= 3000 else 3.0))]
    (text,) = answers_of("latency", cells)
    assert "h1: h2server on epoll 2\u202f000, nginx 1\u202f000" in text


@pytest.mark.parametrize("name", ["peers", "bodies", "engines", "threads", "sizes", "uploads", "idle", "latency"])
def test_nothing_measured_gives_no_answer(name):
    assert answers_of(name, []) == []


def test_engines_name_what_differs():
    cells = [({"server": "h2server", "scheme": "acceptor", "engine": engine, "load": load}, {"cpu_us": cost})
             for load, costs in (("h1 -c100", (10.0, 8.0)), ("h2c", (1.0, 1.0)))
             for engine, cost in zip(("epoll", "io_uring"), costs, strict=True)]
    assert answers_of("engines", cells)[-1] == (
        "Of 2 pairs of the same scheme and load, io_uring takes less time than epoll in 1 and more in 0 "
        "(acceptor, h1 -c100: 0.80 × (0.80–0.80)); the others are within the spread.")


def test_threads():
    cells = [({"server": "h2server", "scheme": "reuseport", "protocol": "h2c", "load": "-c100 -m10",
               "threads": threads}, {"cpu_us": cost}) for threads, cost in ((1, 2.0), (8, 2.5))]
    (text,) = answers_of("threads", cells)
    assert "8 workers on the same processor take 1.25 × (1.25–1.25) the time of 1." in text


@pytest.fixture(scope="module")
def committed():
    return results.load(canned.LAB.parent / "docs/lab")


@contextlib.contextmanager
def each_measure_is(value, runs):
    """A short round may take no time that the kernel counts; memory may shrink; None: not measured."""
    before = [run.measures for run in runs]
    for run in runs:
        run.measures = dict.fromkeys(run.measures, value)
    try:
        yield
    finally:
        for run, measures in zip(runs, before, strict=True):
            run.measures = measures


@pytest.mark.parametrize("value", [0.0, -1.0, None])
def test_each_answer_stands_without_any_cell(committed, value):
    for experiment in committed.experiments:
        one = results.Results("quick", "2026-01-02", experiments=[experiment])
        for cell in cells.cells_of(experiment):
            with each_measure_is(value, cell.runs):
                for answer in answers.all_of(one):
                    assert not re.search(r" – | -\d|\b(inf|nan|None)\b| 0 µs", answer.text), answer.text


@pytest.mark.parametrize("value", [0.0, -1.0, None])
def test_an_answer_needs_measures(committed, value):
    with each_measure_is(value, [run for one in committed.experiments for run in one.runs]):
        assert answers.all_of(committed) == []
