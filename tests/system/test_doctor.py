"""h2server doctor: what it finds on this machine, how it looks, and its exit status."""

import os
import pty
import re
import socket
import subprocess

import pytest

from support.environment import BINARY, LAST_RESORT_S, tool

MARKS = re.compile(r"^  (ok|note|problem) +(\S+(?: \S+)*?)  +\S", re.MULTILINE)


def run(folder, *arguments, **settings):
    return subprocess.run([BINARY, "doctor", *arguments], cwd=folder, capture_output=True,
                          text=True, timeout=LAST_RESORT_S, check=False, **settings)


def marks(text):
    """Returns the mark of each title."""
    return {title: mark for mark, title in MARKS.findall(text)}


def on_a_terminal(folder, *arguments, **environment):
    """Runs it on a terminal of its own. Returns what it shows there."""
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    ours, theirs = pty.openpty()
    with subprocess.Popen([BINARY, "doctor", *arguments], cwd=folder, stdout=theirs,
                          env={**inherited, "TERM": "xterm", **environment}) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            pass  # EIO: the program has ended
        process.wait(LAST_RESORT_S)
    os.close(ours)
    return shown.decode()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "www").mkdir()
    return tmp_path


def test_finds_no_problem_for_a_cleartext_server(folder):
    done = run(folder, "--h2c", "--port", "0")
    assert done.returncode == 0, done
    assert done.stderr == ""
    found = marks(done.stdout)
    assert "problem" not in found.values(), done.stdout
    assert found["root"] == found["port"] == "ok"
    assert "certificate" not in found


def test_needs_neither_root_nor_certificate_to_run(folder):
    done = run(folder, "--root", "missing", "--port", "0", "--cert", "c.crt", "--key", "k.key")
    assert done.returncode == 1
    found = marks(done.stdout)
    assert found["root"] == found["certificate"] == found["private key"] == "problem"
    assert "3 problems" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["www"], "it made something"


def test_the_certificate_of_its_own_is_made_later(folder):
    state = folder / "state"
    done = run(folder, "www", "--port", "0", env={**os.environ, "XDG_STATE_HOME": str(state)})
    assert done.returncode == 0, done
    assert "problem" not in marks(done.stdout).values()
    assert not state.exists()


def test_judges_the_certificate(folder):
    subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-days", "2",
                    "-addext", "subjectAltName=DNS:shop.example", "-keyout", folder / "key",
                    "-out", folder / "certificate"], check=True, capture_output=True)
    arguments = ["www", "--cert", "certificate", "--key", "key", "--port", "0"]
    (folder / "key").chmod(0o600)
    done = run(folder, *arguments)
    assert done.returncode == 0, done
    assert marks(done.stdout)["certificate"] == "note"
    assert "shop.example" in done.stdout
    (folder / "key").chmod(0o604)
    done = run(folder, *arguments)
    assert done.returncode == 1
    assert marks(done.stdout)["private key"] == "problem"


def test_names_the_program_that_uses_the_port(folder):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = run(folder, "--h2c", "--port", str(port))
        assert done.returncode == 1
        assert marks(done.stdout)[f"port {port}"] == "problem"
        assert f"(process {os.getpid()})" in done.stdout


def test_shows_colours_on_terminals_only(folder):
    assert "\x1b" not in run(folder).stdout
    assert "\x1b[32mok" in on_a_terminal(folder)
    assert "\x1b" not in on_a_terminal(folder, NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(folder, TERM="dumb")
    assert "\x1b" in on_a_terminal(folder, NO_COLOR="")


def test_fits_into_a_hundred_columns(folder):
    for arguments in [[], ["--io", "io_uring"], ["--port", "1"], ["--scheme", "thread-pool"]]:
        for line in run(folder, *arguments).stdout.splitlines():
            assert len(line) <= 100, line


def test_refuses_wrong_options(folder):
    done = run(folder, "--no-such-option")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--no-such-option" in done.stderr
