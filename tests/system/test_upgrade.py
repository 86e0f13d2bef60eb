"""Hot restart: SIGUSR2 and h2server upgrade."""

import os
import pathlib
import signal
import subprocess

import pytest

from support import named
from support.contents import form
from support.environment import BINARY, LAST_RESORT_S
from support.http1 import get
from support.protocols import PROTOCOLS, fetch, name_of
from support.reloading import Load, Upgrading, runs
from support.transfers import CONTENT, Download, begin_upload
from support.waiting import wait_until

TEXT = '[[listener]]\nhost = "127.0.0.1"\nport = 0\nh2c = true\n[[listener]]\nunix = "h.sock"\nh2c = true\n' \
       '[[site]]\nroot = "{}"\nupload-dir = "up"\n'
FILES = {"one/name": "one", "two/name": "two", "one/large": CONTENT}
H1, _, H2C, _ = sorted(PROTOCOLS, key=lambda protocol: (protocol.http2, protocol.tls))


def upgrade(server, status=0):
    """Runs h2server upgrade. Returns what it prints."""
    done = subprocess.run([BINARY, "upgrade", server.folder / "pid"], capture_output=True,
                          text=True, timeout=90, check=False)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def test_the_successor_serves():
    with Upgrading(TEXT.format("one"), FILES) as server:
        first = server.serving
        path = str(server.folder / "h.sock")
        server.write("site.toml", 'pid-file = "pid"\n' + TEXT.format("two"))
        assert f"in place of {first}" in upgrade(server)
        assert server.serving != first
        server.wait_for_end_of(first)  # both accept for a moment
        assert fetch(server, H1, "/name").body == b"two"
        assert named.fetch(0, "a", "/name", address=path).body == b"two"
        assert os.path.exists(path) and fetch(server, H2C, "/name").body == b"two"


@pytest.mark.parametrize("program", [b"#!/bin/sh\nexit 3\n", b"#!/bin/sh\nsleep 1\n", b"no program"],
                         ids=["fails", "ends", "is none"])
def test_a_successor_that_does_not_start(program):
    with Upgrading(TEXT.format("one"), FILES) as server:
        first = server.serving
        server.replace_program(program)
        assert f"{first} goes on" in upgrade(server, status=1)
        assert server.serving == first and fetch(server, H1, "/name").body == b"one"
        server.replace_program(pathlib.Path(BINARY).read_bytes())
        upgrade(server)
        assert server.serving != first
        assert fetch(server, H1, "/name").body == b"one"


def test_a_successor_that_fails_leaves_the_unix_socket():
    """It has the sockets already when it sees that a file can't be made."""
    with Upgrading(TEXT.format("one"), FILES) as server:
        first = server.serving
        (server.folder / "gone").symlink_to(server.folder / "nowhere")
        text = 'pid-file = "pid"\n' + TEXT.format("one")
        server.write("site.toml", text + 'upload-access = "full"\nupload-token = "gone/tokens"\n')
        assert f"{first} goes on" in upgrade(server, status=1)
        server.wait_for_message("upload tokens")
        path = str(server.folder / "h.sock")
        assert named.fetch(0, "a", "/name", address=path).body == b"one"
        server.write("site.toml", text)
        upgrade(server)
        server.wait_for_end_of(first)
        assert named.fetch(0, "a", "/name", address=path).body == b"one"
    assert not os.path.exists(path)


def test_a_wrong_configuration_changes_nothing():
    with Upgrading(TEXT.format("one"), FILES) as server:
        first = server.serving
        server.write("site.toml", "port = \"eighty\"\n")
        assert "goes on" in upgrade(server, status=1)
        server.wait_for_message("site.toml:1")
        assert server.serving == first and fetch(server, H2C, "/name").body == b"one"


@pytest.mark.parametrize("protocol", [H1, H2C], ids=name_of)
def test_what_is_in_flight_ends_as_it_began(protocol):
    with Upgrading('drain-timeout = "200ms"\n' + TEXT.format("one"), FILES) as server:
        first = server.serving
        download = Download(server, protocol)
        with protocol.connect(server) as uploading:
            finish = begin_upload(uploading, protocol, form(("kept", CONTENT)))
            upgrade(server)
            assert runs(first)
            assert fetch(server, protocol, "/name").body == b"one"
            assert finish().status == 201
        assert download.finish() == CONTENT
        download.connection.close()
        server.wait_for_end_of(first)
        assert (server.folder / "up/kept").read_bytes() == CONTENT


def test_no_request_is_lost():
    with Upgrading("threads = 2\n" + TEXT.format("one"), FILES) as server:

        def visit(protocol):
            assert fetch(server, protocol, "/name").body == b"one"

        def visit_on(held={}):
            connection = held.get("connection") or H1.connect(server)
            connection.send(get("/name"))
            answer = connection.answer()
            assert answer.body == b"one"
            ends = answer.field("connection") == "close"
            if ends:
                connection.close()
            held["connection"] = None if ends else connection

        with Load(lambda: visit(H1), lambda: visit(H2C), visit_on) as load:
            for _ in range(5):
                last = server.serving
                os.kill(last, signal.SIGUSR2)
                wait_until(lambda: server.serving not in (last, 0), "a successor serves")
                load.wait_for_more(50)


def test_a_reload_waits_for_the_end_of_an_upgrade():
    """What it would open is unknown to the successor."""
    with Upgrading(TEXT.format("one"), FILES) as server:
        os.mkfifo(server.folder / "go")
        server.replace_program(b"#!/bin/sh\nread x < go\nexit 3\n")
        server.signal(signal.SIGUSR2)
        wait_until(lambda: "starts as process" in server.stderr, "a successor starts")
        server.write("site.toml", 'pid-file = "pid"\n' + TEXT.format("two"))
        server.signal(signal.SIGHUP)
        server.signal(signal.SIGUSR1)  # signals are handled in the order of their numbers
        wait_until(lambda: "connections" in server.stderr, "it has handled both")
        assert "read anew" not in server.stderr
        (server.folder / "go").write_text("\n")
        wait_until(lambda: "read anew" in server.stderr, "it is read anew")
        assert server.stderr.index("did not start") < server.stderr.index("read anew")


def test_the_process_of_another_program_is_not_signalled(tmp_path):
    other = subprocess.Popen(["sleep", "600"])
    try:
        (tmp_path / "pid").write_text(f"{other.pid}\n")
        done = subprocess.run([BINARY, "upgrade", tmp_path / "pid"], capture_output=True, text=True,
                              timeout=90, check=False)
        assert done.returncode == 1 and "no server that can be upgraded" in done.stderr, done
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    done = subprocess.run([BINARY, "upgrade", tmp_path / "pid"], capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False)
    assert done.returncode == 1 and "No such process" in done.stderr, done


def test_a_pid_file_that_vanishes():
    with Upgrading(TEXT.format("one"), FILES) as server:
        first = server.serving
        os.mkfifo(server.folder / "go")
        server.replace_program(b"#!/bin/sh\nrm pid\nread x < go\nexit 3\n")
        done = upgrade(server, status=1)
        assert f"unknown whether a successor of {first} serves" in done and "No such file" in done
        (server.folder / "go").write_text("\n")
        wait_until(lambda: "this one goes on" in server.stderr, "the attempt ends")
        wait_until((server.folder / "pid").exists, "the file is written again")
        assert server.serving == first and fetch(server, H1, "/name").body == b"one"


def test_what_is_no_pid_file():
    for name, reason in (("/nonexistent", "No such file"), ("/etc/passwd", "pid file")):
        done = subprocess.run([BINARY, "upgrade", name], capture_output=True, text=True,
                              timeout=LAST_RESORT_S, check=False)
        assert done.returncode == 1 and reason in done.stderr, done
    done = subprocess.run([BINARY, "upgrade"], capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False)
    assert done.returncode == 2 and "--pid-file" in done.stderr
