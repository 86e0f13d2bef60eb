"""Runs every experiment with minimal load through the real command line."""

import os
import pathlib
import signal
import subprocess

import pytest

from harness import breakdown, results
from harness.machine import can_trace
from harness.object_store import MINIO

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", ROOT / "build/release"))


def lab_run(*arguments):
    return subprocess.run(
        [ROOT / "lab/run", "--build", BUILD, "--smoke", *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=480,
    )


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Runs everything once. Returns the finished process and its folder."""
    folder = tmp_path_factory.mktemp("lab")
    return lab_run("--out", folder, "--seed", 7), folder


@pytest.fixture(scope="module")
def measured(smoke):
    return results.read(smoke[1])


def test_nothing_fails(smoke, measured):
    failed = [entry for experiment in measured["experiments"] for entry in experiment["failed"]]
    assert failed == []
    assert smoke[0].returncode == 0, smoke[0].stdout + smoke[0].stderr


def test_each_experiment_measures_ours(measured):
    of_ours = {
        experiment["name"]
        for experiment in measured["experiments"]
        for run in experiment["runs"]
        if run["factors"]["server"] == "h2server"
    }
    with_store = {"stores"} if MINIO.path() else set()
    profiled = set() if breakdown.unable() else {"breakdown"}
    assert of_ours == with_store | {
        "stages", "threads", "peers", "schemes", "connections", "sizes", "bodies", "pages", "engines",
        "uploads", "receiving", "idle", "balance", "latency", "library", "compression", "handshakes",
        "events", "observing", "reload", *profiled,
    }


def test_a_folder_keeps_its_other_experiments(smoke, measured):
    done = lab_run("--out", smoke[1], "balance")
    assert done.returncode == 0, done.stdout + done.stderr
    again = results.read(smoke[1])
    names = [experiment["name"] for experiment in measured["experiments"]]
    assert [experiment["name"] for experiment in again["experiments"]] == names
    for before, after in zip(measured["experiments"], again["experiments"], strict=True):
        assert (before["runs"] == after["runs"]) == (before["name"] != "balance"), before["name"]


def test_a_load_has_all_its_measures(measured):
    runs = [
        run
        for experiment in measured["experiments"] if experiment["name"] == "peers"
        for run in experiment["runs"] if run["factors"]["server"] == "h2server"
    ]
    assert {run["factors"]["protocol"] for run in runs} == {"h1", "h1 TLS", "h2c", "h2"}
    for run in runs:
        measures = run["measures"]
        for name in ("cpu_us", "rps", "p50_ms", "max_ms", "server_cpu", "client_cpu", "rss_kib"):
            assert measures[name] > 0, (run["cell"], name)
        # The wire carries the file of 158 bytes and more: the interface is the whole machine's.
        assert 158 < measures["wire_bytes"], run["cell"]
        if can_trace():
            assert 0 < measures["syscalls"] < 50, run["cell"]
        assert measures["p50_ms"] <= measures["p90_ms"] <= measures["p99_ms"] <= measures["max_ms"]


def test_a_received_byte_has_a_cost(measured):
    experiment = next(item for item in measured["experiments"] if item["name"] == "receiving")
    assert {run["factors"]["protocol"] for run in experiment["runs"]} == {"h1", "h1 TLS", "h2c", "h2"}
    for run in experiment["runs"]:
        assert run["measures"]["cpu_ns_byte"] > 0, run["cell"]


def test_no_request_fails_while_ours_is_replaced(measured):
    experiment = next(item for item in measured["experiments"] if item["name"] == "reload")
    ours = [run for run in experiment["runs"] if run["factors"]["server"] == "h2server"]
    assert {run["factors"]["replaced"] for run in ours} == {"nothing", "configuration", "program"}
    for run in ours:
        assert run["measures"]["failed"] == 0, run["cell"]


def test_uploads_take_the_round_trip(measured):
    """300 000 bytes over a line of 10 ms take at least one round trip."""
    experiment = next(item for item in measured["experiments"] if item["name"] == "uploads")
    for run in experiment["runs"]:
        assert run["measures"]["elapsed_s"] >= 0.01, run["cell"]


def test_the_report_shows_each_experiment(smoke, measured):
    page = (smoke[1] / "report.html").read_text()
    for experiment in measured["experiments"]:
        assert experiment["command"] in page, experiment["name"]
    assert "Linux" in page
    for what in ("could not be drawn", "could not be written"):
        assert what not in page
    assert (smoke[1] / "runs.csv").read_text().count("\n") > 50


def test_an_interrupted_run_leaves_a_report(tmp_path):
    process = subprocess.Popen(
        [ROOT / "lab/run", "--build", BUILD, "--smoke", "--rounds", "50", "--out", tmp_path,
         "peers"],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )
    while not process.stderr.readline().startswith("1/"):  # the first run
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "report:" in output
    measured = results.read(tmp_path)
    assert measured["interrupted"]
    assert "Interrupted" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["no-such"], "no experiment 'no-such'"),
        (["--peer", "apache=/bin/true"], "no such peer"),
        (["--peer", "nginx=/no/such/binary"], "is no program"),
        (["--server", "nameless"], "is not NAME=VALUE"),
        (["--rounds", "2", "--quick"], "fewer than 5"),
    ],
)
def test_wrong_options(arguments, said):
    mode = [] if "--quick" in arguments else ["--smoke"]
    done = subprocess.run(
        [ROOT / "lab/run", "--build", BUILD, *mode, *arguments],
        capture_output=True, text=True, check=False, timeout=60,
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_one_more_server_by_its_command_line(tmp_path):
    guest = f"guest@h1={BUILD}/h2server --h2c --host 127.0.0.1 --port {{port}} --root {{root}}"
    done = lab_run("--out", tmp_path, "--server", guest, "peers")
    assert done.returncode == 0, done.stdout + done.stderr
    (experiment,) = results.read(tmp_path)["experiments"]
    asked = [run["factors"] for run in experiment["runs"]]
    assert [it["protocol"] for it in asked if it["server"] == "guest"] == ["h1"]
