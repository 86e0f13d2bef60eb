"""The findings' sentences, from cells with known medians."""

import pytest

import canned
from harness import cells, findings

OURS = {"server": "h2server"}


def peers():
    return canned.peers()


def compare(theirs, measure="cpu_us", **more):
    return findings.compare_cells(peers(), measure, OURS, {"server": theirs}, **more)


def test_a_win_says_size_spread_and_context():
    found = compare("nginx", what="h2c, 100 connections")
    assert found.text == ("h2server needs 0.71 × (0.66–0.75) the CPU per request of nginx: 7.40 µs "
                          "against 10.4 µs (h2c, 100 connections).")
    assert found.kind == "win"
    assert found.not_shown


def test_a_loss_is_said_in_the_same_words():
    found = compare("floor")
    assert found.text.startswith("h2server needs 3.70 × (3.43–4.00) the CPU per request of floor")
    assert found.kind == "loss"


def test_for_throughput_more_is_a_win():
    assert compare("nginx", "rps").kind == "win"
    assert compare("floor", "rps").kind == "loss"


def test_what_overlaps_is_even():
    found = compare("nghttpd")
    assert found.kind == "even"
    assert "do not differ beyond the spread in CPU per request" in found.text


def test_a_client_at_its_limit_makes_it_a_note():
    found = compare("nghttpd", "rps")
    assert found.kind == "note"
    assert found.text.endswith("; the client was the limit.")
    assert found.not_shown.startswith("Which server could do more.")


def test_of_what_was_not_measured_there_is_no_finding():
    assert compare("caddy") is None
    assert compare("nginx", "rss_kib") is None
    assert findings.best_of(peers(), "rss_kib") is None
    assert findings.ratio_to_floor(peers(), "syscalls", OURS) is None


def test_too_few_rounds_are_a_note():
    experiment = peers()
    experiment.runs = [run for run in experiment.runs if run.round < 2]
    found = findings.compare_cells(experiment, "cpu_us", OURS, {"server": "nginx"})
    assert found.kind == "note"
    assert "only 2 rounds" in found.not_shown


def test_two_cells_of_one_server_are_a_note():
    experiment = canned.rates()
    found = findings.compare_cells(experiment, "p99_ms", {**OURS, "rate": 80_000},
                                   {**OURS, "rate": 50_000}, names=("80 000/s", "50 000/s"))
    assert found.kind == "note"
    assert found.text.startswith("80 000/s has 2.00 × (1.67–2.40) the p99 latency of 50 000/s:")


def test_factors_that_leave_several_cells_are_a_mistake():
    with pytest.raises(ValueError, match="4 cells"):
        findings.compare_cells(canned.rates(), "p99_ms", OURS, {"server": "nginx"})


def test_the_best_of_several():
    found = findings.best_of(peers(), "cpu_us", what="h2c")
    assert found.text == ("Of 3, h2server is best in CPU per request (least): 7.40 µs (h2c); next "
                          "is nghttpd with 1.01 × (0.96–1.08), not beyond the spread.")
    assert found.kind == "note"


def test_the_best_is_another():
    experiment = peers()
    for run in experiment.runs:
        if run.factors["server"] == "h2server":
            run.measures["cpu_us"] *= 2
    found = findings.best_of(experiment, "cpu_us")
    assert found.kind == "note"
    assert "h2server is in place 3 with 1.97 ×" in found.text


def test_ratio_to_the_floor():
    found = findings.ratio_to_floor(peers(), "cpu_us", OURS)
    assert found.text == ("h2server needs 3.70 × (3.43–4.00) the CPU per request of the floor, "
                          "which answers without reading: 7.40 µs against 2.00 µs.")
    assert found.kind == "note"


def test_the_knee_is_found():
    found = findings.knee_of(canned.rates(), "rate", OURS)
    assert found.text.startswith("h2server is overloaded from 120\u202f000/s on")


def test_where_two_curves_cross():
    experiment = canned.rates()
    experiment.runs = [run for rate, ours, theirs in ((1, 1.0, 2.0), (2, 3.0, 2.0))
                       for run in (canned.run({"server": "h2server", "rate": rate}, 0, p99_ms=ours),
                                   canned.run({"server": "nginx", "rate": rate}, 0, p99_ms=theirs))]
    found = findings.crossing_of(experiment, "p99_ms", "rate", OURS, {"server": "nginx"},
                                 ("h2server", "nginx"), unit="/s")
    assert found.text == "h2server rises above nginx in p99 latency between 1 and 2/s."


def test_cells_are_told_apart_by_as_little_as_possible():
    found = [cells.Cell(f"{protocol} {load}", {"server": "x", "protocol": protocol, "load": load,
                                               "same": 1}, [])
             for protocol in ("h1", "h2") for load in ("-c1", "-c2")]
    assert cells.telling_apart(found, "server") == ("server", "protocol", "load")
    assert cells.telling_apart(found[:2], "server") == ("server", "load")
    assert cells.telling_apart([found[0], found[0]], "server") == ("server",)


def test_the_order_of_values():
    def in_order(factor, values, order=None):
        return sorted(values, key=lambda value: cells.place(factor, value, order))

    assert in_order("server", ["floor", "zeus", "nginx", "h2server", "caddy"]) == [
        "h2server", "nginx", "caddy", "zeus", "floor"]
    assert in_order("load", ["-c1000 -m100", "-c100 -m10"]) == ["-c100 -m10", "-c1000 -m100"]
    assert in_order("threads", [8, 2, None]) == [2, 8, None]
    stages = ["mmap", "balancer"]
    assert in_order("stage", stages[::-1], {"stage": stages}) == stages
