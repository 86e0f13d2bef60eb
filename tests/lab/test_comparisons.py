"""Comparisons with other servers: all that can be made, each once."""

import canned
from harness import comparisons, plots, results

FIGURES = [plots.Bars("t", "cpu_us", "load"), plots.Lines("t", "rate", "p99_ms")]
DEFINITION = canned.Definition("t", "", FIGURES, lambda _: [])


def compared(cells, measure="cpu_us", **more):
    runs = [canned.run(factors, number, **{measure: value * (1 + number / 1000)}, **more)
            for factors, value in cells for number in range(5)]
    found = comparisons.all_of(results.Experiment("x", "lab/run x", len(runs), runs), DEFINITION)
    return [(pair.ours.factors, pair.theirs.factors["server"], pair.kind) for pair in found]


def test_each_pair_is_compared_once_and_only_under_the_same_load():
    ours, fast, slow = ({"server": name, "load": "a"} for name in ("h2server", "nginx", "h2o"))
    other = {"server": "nginx", "load": "b"}
    assert compared([(ours, 2.0), (fast, 1.0), (slow, 3.0), (other, 9.0)]) == [
        (ours, "nginx", "loss"), (ours, "h2o", "win")]


def test_a_factor_of_ours_alone_makes_a_pair_for_each_value():
    ours = [{"server": "h2server", "load": "a", "engine": engine} for engine in ("epoll", "io_uring")]
    theirs = {"server": "nginx", "load": "a"}
    assert compared([(ours[0], 1.0), (ours[1], 1.005), (theirs, 1.01)]) == [
        (ours[0], "nginx", "even"), (ours[1], "nginx", "even")]


def test_neither_the_floor_nor_a_variant_of_ours_is_another_server():
    names = ("h2server", "floor", "h2server, a file", "h2server (lab/load)",
             "OpenSSL in memory", "minio")
    assert compared([({"server": name, "load": "a"}, 1.0) for name in names]) == []


def test_a_client_at_its_limit_decides_latency_but_not_processor_time():
    cells = [({"server": name, "load": "a"}, value) for name, value in (("h2server", 2.0), ("nginx", 1.0))]
    assert len(compared(cells, client_cpu=0.99)) == 1
    assert compared(cells, "p99_ms", client_cpu=0.99) == []
    assert len(compared(cells, "p99_ms", client_cpu=0.5)) == 1


def test_a_measure_that_no_plot_shows_is_not_compared():
    cells = [({"server": name, "load": "a"}, value) for name, value in (("h2server", 2.0), ("nginx", 1.0))]
    assert compared(cells, "rss_kib") == []
