"""The limits that stand beside servers, servers with one thing changed, and what keeps them."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import pytest

import canned
from harness import codec, handshakes, reload_procedures, servers, variants
from harness.experiments import compression, observing
from harness.processes import Failure

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(canned.LAB)}


@pytest.mark.parametrize("coding", codec.CODINGS)
@pytest.mark.parametrize("size", [100, 20_000, 300_000])
def test_a_coding_and_back(coding, size):
    content = compression.text(size)
    packed = codec.encode(coding, content)
    assert codec.decode(coding, packed, size) == content
    if size > 100:
        assert size / 8 < len(packed) < size / 2


@pytest.mark.parametrize("coding", codec.CODINGS)
def test_what_is_not_encoded_is_not_decoded(coding):
    with pytest.raises((ValueError, codec.zlib.error)):
        codec.decode(coding, b"plain text", 100)


def test_windows_hold_the_body_and_no_more():
    assert [codec._window_for(size, 10) for size in (1, 1024, 1025, 1 << 18, 1 << 20)] == [
        10, 10, 11, 18, 18]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    paths = folder / "server.crt", folder / "server.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-keyout",
                    paths[1], "-out", paths[0]], check=True, capture_output=True)
    return paths


@pytest.mark.parametrize("kind", ["full", "resumed"])
def test_a_handshake_in_memory(kind, certificate):
    ends = handshakes.InMemory(kind, *certificate)
    first = ends.connect()
    assert first > 0
    if kind == "full":
        assert ends.connect() > 0
        return
    # connect() asserts that the session is used from the second one on.
    assert ends._session is not None
    assert ends.connect() > 0


def test_a_changed_configuration(tmp_path):
    def command(binary, setting):
        (setting.work / "a.conf").write_text("log off;\n")
        return [binary]

    server = servers.Server("a", "a", command)
    setting = types.SimpleNamespace(work=tmp_path)
    changed = variants.edited(server, "a.conf", {"log off;": lambda setting: "log on;"})
    assert changed.command("a", setting) == ["a"]
    assert (tmp_path / "a.conf").read_text() == "log on;\n"
    with pytest.raises(Failure, match="has no 'log maybe;'"):
        variants.edited(server, "a.conf", {"log maybe;": lambda setting: ""}).command("a", setting)


class Answer(threading.Thread):
    """Answers one request with fixed bytes."""

    def __init__(self, response):
        super().__init__(daemon=True)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._response = response
        self.start()

    def run(self):
        with self._listener, self._listener.accept()[0] as connection:
            connection.recv(4096)
            connection.sendall(self._response)


@pytest.mark.parametrize(("fields", "body", "said"), [
    (b"", compression.text(2000), "it sends none"),
    (b"Content-Encoding: gzip\r\n", codec.encode("gzip", b"other"), "not that of the file"),
    (b"Content-Encoding: gzip\r\n", codec.encode("gzip", compression.text(2000)), None),
])
def test_an_answer_must_have_the_coding(fields, body, said):
    server = Answer(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (fields, len(body), body))
    inspect = compression._is_encoded("/a.html", "gzip", 2000)
    if said is None:
        inspect(server, None)
        return
    with pytest.raises(Failure, match=said):
        inspect(server, None)


def test_a_log_must_have_a_line_for_each_request(tmp_path, monkeypatch):
    monkeypatch.setattr(observing, "_FLUSH_S", 0.1)
    load = types.SimpleNamespace(warm_up=lambda: types.SimpleNamespace(requests=2))
    inspect = observing._has_logged(load)
    started, reading = types.SimpleNamespace(work=tmp_path), types.SimpleNamespace(requests=3)
    (tmp_path / "access.log").write_text("line\n" * 5)
    inspect(started, reading)
    (tmp_path / "access.log").write_text("line\n" * 4)
    with pytest.raises(Failure, match="4 lines for 5 requests"):
        inspect(started, reading)


def test_each_change_must_be_in_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(reload_procedures, "_LOG_S_MAX", 0.1)
    log = tmp_path / "server.log"
    log.write_text("read anew\nread anew\n")
    reload_procedures._check_log(log, "read anew", 2)
    with pytest.raises(Failure, match="2 times 'read anew', not 3"):
        reload_procedures._check_log(log, "read anew", 3)
    with pytest.raises(Failure, match="2 times 'read anew', not 1"):
        reload_procedures._check_log(log, "read anew", 1)
    threading.Timer(0.05, log.write_text, ["read anew\n" * 3]).start()  # it may be written later
    monkeypatch.setattr(reload_procedures, "_LOG_S_MAX", 10)
    reload_procedures._check_log(log, "read anew", 3)


@pytest.mark.parametrize("content", [None, "", "no number"])
def test_a_change_that_cannot_be_made_is_a_problem(tmp_path, content):
    pid_file = tmp_path / "pid"
    if content is not None:
        pid_file.write_text(content)
    changes = reload_procedures._Changes(pid_file, signal.SIGHUP, (0,))
    with changes:
        changes._thread.join(10)
    assert "Error" in changes.problem


def test_a_keeper_ends_what_its_child_left(tmp_path):
    """A shell starts a successor and ends; the keeper stays, and SIGTERM reaches the successor."""
    left = tmp_path / "pid"
    keeper = subprocess.Popen(
        [sys.executable, "-m", "harness.keeper", "sh", "-c", f"sleep 60 & echo $! > {left}"],
        env=ENVIRONMENT)
    try:
        deadline = time.monotonic() + 10
        while not (left.exists() and left.read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        successor = int(left.read_text())
        assert pathlib.Path(f"/proc/{successor}").exists() and keeper.poll() is None
        while reload_procedures.meter.family(keeper.pid) != [keeper.pid, successor]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(10) == 0
        assert not pathlib.Path(f"/proc/{successor}").exists()
    finally:
        keeper.kill()
        keeper.wait()
