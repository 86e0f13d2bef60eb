"""Certificates and keys: errors, warnings, leftovers of earlier runs, and passphrases."""

import os
import pty
import re
import resource
import select
import signal
import socket
import ssl
import subprocess
import time

import pytest

from support.certificates import sign_again
from support.environment import BINARY, LAST_RESORT_S, SANITIZER, tool
from support.server import Server

PASSPHRASE = "correct horse"


def openssl(*arguments):
    subprocess.run([tool("openssl"), *arguments], check=True, capture_output=True)


def make_key(file, kind):
    options = {"EC": ["ecparam", "-name", "prime256v1", "-genkey", "-noout"],
               "RSA": ["genrsa"]}[kind]
    openssl(*options, "-out", file)
    return file


def make_certificate(file, key, days=2):
    """Makes a self-signed certificate. `days` may be negative."""
    sign_again(key, file, days)
    return file


def encrypt(key, file):
    openssl("pkcs8", "-topk8", "-v2", "aes-256-cbc", "-in", key, "-passout", f"pass:{PASSPHRASE}",
            "-out", file)
    return file


def command(folder, certificate, key):
    (folder / "www").mkdir(exist_ok=True)
    return [BINARY, "--host", "127.0.0.1", "-p", "0", "--root", folder / "www", "--cert",
            certificate, "--key", key]


def refusal(arguments, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=LAST_RESORT_S, **options)
    assert done.returncode in (1, 2), done
    assert re.fullmatch(r"h2server: error: [^\n]+\n", done.stderr), done.stderr
    return done.stderr


# --- key and certificate -------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [("RSA", "EC"), ("EC", "RSA"), ("EC", "EC"), ("RSA", "RSA")],
                         ids=" ".join)
def test_key_of_another_certificate(tmp_path, kinds):
    own = make_key(tmp_path / "own.key", kinds[0])
    other = make_key(tmp_path / "other.key", kinds[1])
    error = refusal(command(tmp_path, make_certificate(tmp_path / "own.crt", own), other))
    assert "other.key does not belong to" in error and "own.crt" in error and "--key" in error


def server_with(days):
    """Returns a server whose certificate is valid for `days` days."""
    server = Server(tls=True, quiet=False)
    server.key.parent.mkdir()
    make_certificate(server.certificate, make_key(server.key, "EC"), days)
    return server


def test_expired_certificate():
    with server_with(-1) as server:
        assert re.search(r"warning: the certificate \S+ expired on \d{4}-\d\d-\d\d", server.stderr)
        assert "--self-signed makes a new" in server.stderr
        assert str(server.certificate) in server.stderr and str(server.key) in server.stderr
        context = ssl.create_default_context(cafile=server.certificate)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            context.wrap_socket(connection).close()


# --- leftovers of an interrupted run -------------------------------------------------------------


@pytest.mark.skipif(SANITIZER == "thread", reason="its runtime writes a file as it starts")
def test_no_room_for_the_certificate(tmp_path):
    """Like a full disk: the error names the cause, and no file is left."""
    files = [tmp_path / "cert/a.crt", tmp_path / "cert/a.key"]
    arguments = [*command(tmp_path, *files), "--self-signed"]
    for bytes_max in (0, 100, 400):
        limits = (resource.RLIMIT_FSIZE, (bytes_max, bytes_max))
        error = refusal(arguments, preexec_fn=lambda: resource.setrlimit(*limits))
        assert "can't write" in error and "File too large" in error
        assert list((tmp_path / "cert").iterdir()) == []


def test_leftovers_of_a_killed_run():
    server = Server(tls=True)
    server.key.parent.mkdir()
    for file in (server.key, server.certificate):
        file.with_name(file.name + ".new").write_text("half a fi")
    with server:
        assert sorted(server.key.parent.iterdir()) == [server.certificate, server.key]


def test_killed_between_key_and_certificate():
    server = Server(tls=True)
    server.key.parent.mkdir()
    make_certificate(server.certificate, make_key(server.key, "EC"))
    made = server.certificate.read_bytes()
    server.certificate.rename(f"{server.certificate}.new")
    with server:
        assert server.certificate.read_bytes() == made


# --- passphrases ---------------------------------------------------------------------------------


@pytest.fixture
def encrypted(tmp_path):
    """The command line of a server whose key is encrypted."""
    key = make_key(tmp_path / "plain.key", "EC")
    return command(tmp_path, make_certificate(tmp_path / "a.crt", key),
                   encrypt(key, tmp_path / "a.key"))


class Terminal:
    """A program with its own pseudo-terminal."""

    def __init__(self, arguments):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(arguments[0], [str(argument) for argument in arguments])
        self.shown = ""
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self.master)

    def read_until(self, *texts):
        """Reads until one of the texts is shown or the program ends. Returns all output so far."""
        until = time.monotonic() + LAST_RESORT_S
        while not any(text in self.shown for text in texts):
            left = until - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], self.shown
            try:
                self.shown += os.read(self.master, 4096).decode()
            except OSError:  # EIO: the program has closed the terminal
                return self.shown
        return self.shown

    def write(self, text):
        os.write(self.master, text.encode())

    def wait(self):
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status


def test_passphrase(encrypted):
    with Terminal(encrypted) as terminal:
        assert "a.key: " in terminal.read_until("a.key: ")
        terminal.write(PASSPHRASE + "\n")
        shown = terminal.read_until("Ctrl-C stops", "error")
        assert "Ctrl-C stops" in shown and PASSPHRASE not in shown
        assert shown.count("Passphrase") == 1
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait() == 0


def test_wrong_passphrase(encrypted):
    with Terminal(encrypted) as terminal:
        terminal.read_until("a.key: ")
        terminal.write("wrong\n")
        shown = terminal.read_until("passphrase is wrong")
        assert "a.key" in shown and shown.count("Passphrase of") == 1
        assert terminal.wait() == 1


@pytest.mark.parametrize("typed", ["\x04", "x" * 1500 + "\n"], ids=["nothing", "too much"])
def test_no_passphrase(encrypted, typed):
    with Terminal(encrypted) as terminal:
        terminal.read_until("a.key: ")
        for piece in range(0, len(typed), 500):
            terminal.write(typed[piece:piece + 500])
        terminal.read_until("no passphrase was given")
        assert terminal.wait() == 1


def test_ctrl_c_instead_of_a_passphrase(encrypted):
    with Terminal(encrypted) as terminal:
        terminal.read_until("a.key: ")
        terminal.write("\x03")
        assert terminal.wait() == -signal.SIGINT


def test_passphrase_without_a_terminal(encrypted):
    error = refusal(encrypted, start_new_session=True)
    assert "a.key" in error and "encrypted" in error and "no terminal" in error
