"""Saving and loading results, and merging later results into a folder."""

import dataclasses

from harness import results
from harness.results import Experiment, Results, Run


def measured(name, **more):
    run = Run("server x", {"server": "x"}, 0, "load", 1, {"cpu_us": 1.0})
    return Experiment(name, f"lab/run {name}", 1, [run], started="2025-01-01", **more)


def test_what_is_saved_is_loaded(tmp_path):
    found = Results("full", "now", experiments=[measured("idle", environment={"kernel": "6"})],
                    histograms={"idle": {"server x": [[10, 2]]}})
    results.save(found, tmp_path)
    assert results.load(tmp_path) == found


def test_a_later_run_replaces_what_it_has_begun():
    earlier = Results("full", "then", command="lab/run",
                      experiments=[measured("idle"), measured("sizes")],
                      histograms={"idle": {"a": [[1, 1]]}, "sizes": {"a": [[2, 2]]}})
    again = dataclasses.replace(measured("idle"), started="2025-01-02")
    later = Results("full", "now", command="lab/run idle", experiments=[again],
                    histograms={"idle": {"a": [[3, 3]]}})
    found = results.joined(earlier, later)
    assert [item.started for item in found.experiments] == ["2025-01-01", "2025-01-02"]
    assert found.histograms == {"idle": {"a": [[3, 3]]}, "sizes": {"a": [[2, 2]]}}
    assert (found.started, found.command) == ("then", "lab/run; lab/run idle")


def test_what_an_interrupted_run_had_not_begun_stays():
    earlier = Results("full", "then", experiments=[measured("idle"), measured("sizes")])
    planned = [Experiment("idle", "lab/run idle", 9), Experiment("latency", "lab/run latency", 9)]
    found = results.joined(earlier, Results("full", "now", experiments=planned, interrupted=True))
    assert [(item.name, len(item.runs)) for item in found.experiments] == [
        ("idle", 1), ("sizes", 1), ("latency", 0)
    ]
