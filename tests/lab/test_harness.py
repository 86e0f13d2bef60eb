"""Starting, metering and planning, on the tests' own processes."""

import dataclasses
import io
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from harness import meter, procedures, processes, servers
from harness.lab import MODES, Cell, in_shuffled_rounds, measure_once, plan
from harness.processes import Failure
from harness.progress import Progress, duration
from harness.results import Experiment, Results
from harness.servers import Server

CPU = str(min(os.sched_getaffinity(0)))

# Listens; then the main thread, a second thread and a child each use 0.1 s of CPU time.
BUSY = """
import os, socket, sys, threading, time
def spin():
    end = time.thread_time() + 0.1
    while time.thread_time() < end: pass
    connection.send(b".")
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
listener.accept()[0].recv(1)  # the probe that asks whether we listen
connection = listener.accept()[0]
spin()
threading.Thread(target=lambda: (spin(), time.sleep(60)), daemon=True).start()
if os.fork() == 0:
    spin()
time.sleep(60)
"""


def test_meter_counts_threads_and_children(tmp_path):
    port = processes.free_port()
    with processes.running([sys.executable, "-c", BUSY, port], CPU, port, tmp_path) as pid:
        with meter.Meter(pid) as metered:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                done = b""
                while len(done) < 3:
                    done += connection.recv(3)
        family = meter.family(pid)
        for child in family[1:]:
            os.kill(child, 9)
    assert len(family) == 2
    assert 0.3e9 <= metered.usage.cpu_ns < 3e9
    assert len(metered.usage.cpu_ns_by_thread) >= 3
    assert metered.usage.switches > 0
    assert metered.usage.rss_kib > 1000


def test_loopback_bytes_are_those_that_were_sent():
    sent = bytes(1_000_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with client, server:
            before = meter.loopback_bytes()
            writer = threading.Thread(target=client.sendall, args=(sent,))
            writer.start()
            received = 0
            while received < len(sent):
                received += len(server.recv(65536))
            writer.join()
            assert meter.loopback_bytes() - before >= len(sent)


def test_a_server_that_does_not_start_says_why(tmp_path):
    port = processes.free_port()
    command = [sys.executable, "-c", "raise SystemExit('no such root')"]
    with pytest.raises(Failure, match="no such root"):
        with processes.running(command, CPU, port, tmp_path):
            pass


def test_a_server_that_ends_under_load_fails_the_run(tmp_path):
    port = processes.free_port()
    listen = f"socket.create_server(('127.0.0.1', {port}))"
    script = f"import socket; {listen}.accept(); print('crashed')"
    with pytest.raises(Failure, match="crashed"):
        with processes.running([sys.executable, "-c", script], CPU, port, tmp_path) as pid:
            while os.path.exists(f"/proc/{pid}/stat") and b" Z " not in open(
                f"/proc/{pid}/stat", "rb"
            ).read():
                time.sleep(0.01)


def test_what_a_server_has_left_behind_is_ended(tmp_path):
    """SIGTERM ends the shell, but not its child."""
    port = processes.free_port()
    listen = "import socket, time; kept = socket.create_server(('127.0.0.1', %d)); time.sleep(60)" % port
    command = ["sh", "-c", f'"{sys.executable}" -c "{listen}"; true']
    with processes.running(command, CPU, port, tmp_path) as pid:
        (child,) = set(meter.family(pid)) - {pid}
    deadline = time.monotonic() + 10  # the kernel needs a moment
    with pytest.raises(OSError):
        while time.monotonic() < deadline:
            os.kill(child, 0)
            socket.create_connection(("127.0.0.1", port), 1).close()


def test_a_load_that_fails_says_why():
    with pytest.raises(Failure, match="no route"):
        processes.run_load([sys.executable, "-c", "raise SystemExit('no route')"], CPU, 10)


def test_a_load_that_hangs_is_ended():
    with pytest.raises(Failure, match="no end after"):
        processes.run_load([sys.executable, "-c", "import time; time.sleep(60)"], CPU, 0.2)


def test_the_time_of_a_load_is_its_own():
    script = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    started = time.monotonic()
    _, busy = processes.run_load([sys.executable, "-c", script], CPU, 30)
    assert 0.2 / (time.monotonic() - started) <= busy <= 1.1


@dataclasses.dataclass
class FakeLab:
    mode: object = MODES["smoke"]
    floor_engine: str = "epoll"


@dataclasses.dataclass
class FakeDefinition:
    name: str
    of_cells: list

    def cells(self, _):
        return self.of_cells


def cell(name, binary=sys.executable, procedure=None):
    return Cell({"server": name}, procedure, Server(name, binary, None))


def test_a_server_that_is_missing_is_skipped_with_a_line():
    definition = FakeDefinition("one", [cell("here"), cell("gone", "no-such-binary")])
    (experiment,), runs = plan(FakeLab(), [definition], 5)
    assert experiment.planned == 5 == len(runs)
    assert experiment.skipped == [{"what": "server gone", "factors": {"server": "gone"},
                                   "why": "no-such-binary is not installed"}]


def test_rounds_follow_each_other_and_cells_change_places():
    cells = [cell(str(number)) for number in range(20)]
    _, runs = plan(FakeLab(), [FakeDefinition("one", cells), FakeDefinition("two", cells)], 5)
    shuffled = in_shuffled_rounds(runs, seed=1)
    assert sorted(map(id, shuffled)) == sorted(map(id, runs))
    assert [(run[0].name, run[2]) for run in shuffled] == [
        (name, number) for name in ("one", "two") for number in range(5) for _ in cells
    ]
    orders = {
        tuple(run[1].name for run in shuffled[first : first + 20]) for first in range(0, 200, 20)
    }
    assert len(orders) == 10
    assert in_shuffled_rounds(runs, seed=1) == shuffled


@pytest.mark.parametrize("protocol, size, options", [
    ("h1", 158, "off off"), ("h1", 6_000, "on on"), ("h1", 100_000, "on off"),
    ("h2", 20_000, "off off"), ("h2", 100_000, "on off"), ("h1", None, "off off")])
def test_nginx_sends_files_as_it_costs_least(tmp_path, protocol, size, options):
    file = tmp_path / "file"
    if size:
        file.write_bytes(bytes(size))
    setting = servers.Setting(tmp_path, tmp_path, 80, protocol, False, 1, file, None, None)
    servers.NGINX.command("nginx", setting)
    text = (tmp_path / "nginx.conf").read_text()
    sendfile, nopush = options.split()
    assert f"sendfile {sendfile};" in text and f"tcp_nopush {nopush};" in text
    assert "dav_methods" not in text and "$" not in text
    servers.NGINX.command("nginx", dataclasses.replace(setting, options=("uploads",)))
    assert "dav_methods PUT;" in (tmp_path / "nginx.conf").read_text()


def test_a_stored_upload_is_compared_with_what_was_sent(tmp_path):
    size = 2_500_000  # several tiles and a part of one
    sent = procedures.pattern(size)
    file = tmp_path / "file"
    file.write_bytes(sent)
    assert procedures.is_uploaded(file, size)
    wrong = sent[:2_400_000] + bytes([sent[2_400_000] ^ 1]) + sent[2_400_001:]
    for content in (wrong, sent[:-1], sent + b"x", b""):
        file.write_bytes(content)
        assert not procedures.is_uploaded(file, size)


def test_a_server_without_a_file_that_it_needs_is_skipped():
    server = dataclasses.replace(Server("x", sys.executable, None), needs="/no/such/module.so")
    (experiment,), runs = plan(
        FakeLab(), [FakeDefinition("one", [Cell({"server": "x"}, None, server)])], 1
    )
    assert runs == []
    assert experiment.skipped[0]["why"] == "/no/such/module.so is not installed"


def test_a_failed_run_is_noted_and_does_not_count():
    def fails(lab, number):
        raise Failure("3 errors")

    experiment, found = Experiment("one", "lab/run one", 1), Results("smoke", "now")
    assert measure_once(FakeLab(), found, experiment, cell("x", procedure=fails), 2) == "3 errors"
    assert experiment.runs == []
    assert experiment.failed == [{"what": "server x, round 3", "factors": {"server": "x"}, "why": "3 errors"}]


def test_what_could_not_be_counted_is_noted_and_the_run_counts():
    def counts_half(lab, number):
        return procedures.Outcome(7, {"cpu_us": 2.0}, "load", problem="no strace")

    experiment, found = Experiment("one", "lab/run one", 1), Results("smoke", "now")
    one = cell("x", procedure=counts_half)
    assert measure_once(FakeLab(), found, experiment, one, 0) == "no strace"
    assert [run.measures for run in experiment.runs] == [{"cpu_us": 2.0}]
    assert experiment.failed == [{"what": "server x", "factors": {"server": "x"}, "why": "no strace"}]


def test_a_tracer_that_never_attaches_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(procedures, "_ATTACH_S_MAX", 0.2)
    said = tmp_path / "strace.log"
    said.write_text("strace: Process 1 attached\n")
    with subprocess.Popen(["sleep", "60"]) as tracer:
        procedures._await_attached(tracer, said, 1)
        with pytest.raises(Failure, match="cannot watch"):
            procedures._await_attached(tracer, said, 2)
        tracer.kill()


def test_a_bug_in_a_procedure_costs_one_run_only():
    experiment, found = Experiment("one", "lab/run one", 1), Results("smoke", "now")
    why = measure_once(FakeLab(), found, experiment, cell("x", procedure=None), 0)
    assert "not callable" in why
    assert len(experiment.failed) == 1


@pytest.mark.parametrize(
    "seconds, text", [(0.4, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (3900, "1 h 05 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_progress_tells_what_is_left():
    now = [0.0]
    output = io.StringIO()
    progress = Progress(4, output, lambda: now[0])
    assert progress.line("peers", "nginx") == "1/4 · peers: nginx"
    progress.before("peers", "nginx")
    now[0] = 30.0
    progress.after(None)
    assert progress.line("peers", "h2o") == "2/4, 1 min 30 s left · peers: h2o"
    progress.after("3 errors")
    assert "1 failed" in progress.line("idle", "h2o")
    progress.end()
    assert output.getvalue().splitlines() == [
        "1/4 · peers: nginx", "FAILED peers: nginx: 3 errors", "2 of 4 runs in 30 s"
    ]


def test_io_uring_is_skipped_where_it_is_not_allowed():
    server = Server("h2server", sys.executable, None)
    ring = Cell({"server": "h2server", "engine": "io_uring"}, None, server)
    (experiment,), runs = plan(FakeLab(), [FakeDefinition("one", [ring])], 1)
    assert runs == []
    assert experiment.skipped[0]["why"] == "io_uring is not allowed here"
