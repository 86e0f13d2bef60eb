"""The command line: help, and the errors when the program cannot start."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from support.environment import BINARY, LAST_RESORT_S, tool
from support.pairs import SCHEMES
from support.protocols import PROTOCOLS, fetch
from support.server import Server

PLAIN = PROTOCOLS[0]
WRONG_USE, REFUSED_BY_THE_SYSTEM = 2, 1


@pytest.fixture
def folder():
    """The working directory: www, and a certificate with its key in cert. Unlike pytest's tmp_path,
    every user may enter it."""
    with tempfile.TemporaryDirectory(prefix="h2server-test-") as name:
        made = pathlib.Path(name)
        made.chmod(0o755)
        (made / "www").mkdir()
        (made / "www/page.txt").write_bytes(b"page")
        (made / "file").write_bytes(b"no folder")
        (made / "link").symlink_to("www")
        (made / "slash").symlink_to("/")
        make_certificate(made / "cert")
        yield made


def make_certificate(target, name="server"):
    target.mkdir(exist_ok=True)
    subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                    "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", target / f"{name}.key", "-out", target / f"{name}.crt"],
                   check=True, capture_output=True)


def run(folder, *arguments, user=None):
    """Runs the program to its end. With `user`, runs a copy that this user can reach."""
    binary = BINARY if user is None else shutil.copy(BINARY, folder)
    return subprocess.run([binary, *arguments], cwd=folder, capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False, stdin=subprocess.DEVNULL,
                          user=user, group=user, extra_groups=None if user is None else [])


def check_refused(done, statuses, *words):
    """Checks for one line with the words on standard error, and an empty standard output."""
    assert done.returncode in statuses, done
    assert done.stdout == ""
    assert re.fullmatch(r"h2server: error: [^\n]+\n", done.stderr), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


# --- help ----------------------------------------------------------------------------------------

OPTIONS = ["-h,--help", "-r,--root", "--yes", "--no-listing", "--hidden", "--index", "--spa",
           "-p,--port", "--host", "-c,--cert", "-k,--key", "--self-signed", "--h2c", "-n,--threads", "--upload-dir", "--upload-overwrite",
           "--upload-max", "--upload-total", "--upload-reserve",
           "--scheme", "--io", "--connections-max", "--queue-size", "--when-full",
           "--requests-per-connection", "--h2", "--config", "--version",
           "--redirect", "--rewrite", "--cache", "--rate-limit", "--access-log", "--log-format",
           "--log-queries", "--log-rotate", "--log-keep", "--error-log", "--admin", "--admin-token",
           "--trace-endpoint", "--trace-sample", "--trusted-proxy", "--idle-timeout",
           "--head-timeout", "--body-timeout", "--send-timeout", "--drain-timeout"]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help(folder, option):
    done = run(folder, option)
    assert (done.returncode, done.stderr) == (0, "")
    for name in OPTIONS:
        assert re.search(rf"^ +{re.escape(name)}\b", done.stdout, re.MULTILINE), name
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_version(folder):
    done = run(folder, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"h2server \d+\.\d+\.\d+\n", done.stdout)


# --- what is refused -----------------------------------------------------------------------------

# Arguments → words of the error line.
WRONG = {
    "port too large": (["-p", "70000"], ["--port", "70000"]),
    "port negative": (["--port=-1"], ["--port", "-1"]),
    "port no number": (["--port", "http"], ["--port", "http"]),
    "port missing": (["--port"], ["--port"]),
    "port twice": (["-p", "1", "-p", "2"], ["--port"]),
    "no threads": (["-n", "0"], ["--threads", "0"]),
    "too many threads": (["--threads", "100000"], ["--threads", "100000"]),
    "scheme": (["--scheme", "tea"], ["--scheme", "tea", "acceptor", "reuseport"]),
    "engine": (["--io", "tea"], ["--io", "tea", "epoll"]),
    "no connections": (["--connections-max", "0"], ["--connections-max", "0"]),
    "no queue": (["--queue-size", "0"], ["--queue-size", "0"]),
    "when full": (["--when-full", "tea"], ["--when-full", "tea", "wait", "refuse"]),
    "requests": (["--requests-per-connection", "few"], ["--requests-per-connection", "few"]),
    "requests negative": (["--requests-per-connection=-5"], ["--requests-per-connection", "-5"]),
    "requests beyond 64 bits": (["--requests-per-connection", "18446744073709551617"],
                                ["--requests-per-connection"]),
    "threads negative": (["--threads=-1"], ["--threads", "-1"]),
    "threads beyond 32 bits": (["--threads", "4294967297"], ["--threads", "4294967297"]),
    "connections negative": (["--connections-max=-1"], ["--connections-max", "-1"]),
    "queue negative": (["--queue-size=-1"], ["--queue-size", "-1"]),
    "HTTP/2": (["--h2", "tea"], ["--h2", "tea", "native", "nghttp2"]),
    "misspelt option": (["--treads", "4"], ["--treads", "--threads", "--help"]),
    "option of files": (["--include", "a"], ["--include", "--help"]),
    "redirect": (["--redirect", "/a"], ["--redirect", "/a", "301"]),
    "rewrite": (["--rewrite", "/a b"], ["--rewrite", "/a b"]),
    "cache": (["--cache", "/a 1"], ["--cache", "/a 1", "1s"]),
    "rate": (["--rate-limit", "10"], ["--rate-limit", "10/s"]),
    "log format": (["--log-format", "tea"], ["--log-format", "tea", "text", "json"]),
    "log queries": (["--log-queries", "tea"], ["--log-queries", "tea"]),
    "size of a log": (["--log-rotate", "tea"], ["--log-rotate", "tea"]),
    "logs of no rotation": (["--log-keep", "3"], ["--log-keep", "--log-rotate"]),
    "admin": (["--admin", "9000"], ["--admin", "9000", "127.0.0.1:9000"]),
    "admin for others": (["--admin", "0.0.0.0:9000"], ["--admin", "--admin-token"]),
    "token of nothing": (["--admin-token", "geheim"], ["--admin-token", "--admin"]),
    "traces": (["--trace-endpoint", "tea"], ["--trace-endpoint", "tea", "http://"]),
    "sample": (["--trace-endpoint", "http://a/", "--trace-sample", "2"], ["--trace-sample", "2"]),
    "proxy": (["--trusted-proxy", "10.0.0.1/8"], ["--trusted-proxy", "10.0.0.1/8"]),
    "timeout": (["--idle-timeout", "60"], ["--idle-timeout", "60", "60s"]),
    "unknown option": (["--tea"], ["--tea", "--help"]),
    "unknown short option": (["-x"], ["-x", "--help"]),
    "two roots": (["www", "cert"], ["cert"]),
    "root and --root": (["www", "--root", "www"], ["--root"]),
    "no such root": (["--root", "absent"], ["absent", "--root"]),
    "root is a file": (["file"], ["file", "--root"]),
    "no configuration": (["--config", "absent.toml"], ["absent.toml"]),
    "overwriting nothing": (["--upload-overwrite"], ["--upload-dir"]),
    "certificate without TLS": (["-c", "cert/server.crt"], ["--cert", "--h2c"]),
    "key without TLS": (["-k", "cert/server.key"], ["--key", "--h2c"]),
    "self-signed without TLS": (["--self-signed"], ["--self-signed", "--h2c"]),
    "threads of a thread each": (["--scheme", "thread-per-connection", "-n", "4"],
                                 ["--threads", "thread-per-connection"]),
    "guesses that no process counts":
        (["--scheme", "process-per-connection", "--auth", "/=file"], ["--auth", "--scheme"]),
    "threads of a process each": (["--scheme", "process-per-connection", "-n", "4"],
                                  ["--threads", "process-per-connection"]),
    "limit of nothing": (["--upload-max", "1G"], ["--upload-max", "--upload-dir"]),
    "total of nothing": (["--upload-total", "1G"], ["--upload-total", "--upload-dir"]),
    "reserve of nothing": (["--upload-reserve", "1G"], ["--upload-reserve", "--upload-dir"]),
    "uploads into a file": (["www", "--upload-dir", "file"], ["file", "--upload-dir"]),
    "uploads into the root": (["www", "--upload-dir", "www"], ["root", "www", "--upload-dir"]),
    "uploads below the root": (["www", "--upload-dir", "www/a/b"], ["www/a/b", "--upload-dir"]),
    "root below the uploads": (["www", "--upload-dir", "."], ["www", "--upload-dir"]),
    "the whole machine": (["/"], ["/", "--yes"]),
    "the whole machine by a link": (["slash"], ["slash", "--yes"]),
    "index that is a path": (["--index", "a/b"], ["--index", "a/b"]),
    "index that leads up": (["--index", "index.html,.."], ["--index", ".."]),
    "uploads below the root, in a directory to be made": (
        ["www", "--upload-dir", "www/new/uploads"], ["new/uploads", "--upload-dir"]),
    "uploads into the root by a link": (["www", "--upload-dir", "link"],
                                        ["link", "--upload-dir"]),
}


@pytest.mark.parametrize("arguments, words", WRONG.values(), ids=WRONG)
def test_wrong_use(folder, arguments, words):
    check_refused(run(folder, "--h2c", *arguments), [WRONG_USE], *words)
    assert not (folder / "www/a").exists(), "nothing is made for what is refused"


# Arguments beside a state directory at www/state/h2server, and whether it is there already.
KEYS_OF_OURS = {
    "own": (["www"], False),
    "local authority": (["www", "--local-ca"], False),
    "another certificate": (["www", "-c", "cert/server.crt", "-k", "cert/server.key"], True),
    "cleartext": (["www", "--h2c"], True),
    "root below": (["www/state/h2server/ca", "--h2c"], True),
    "uploads below": (["root", "--h2c", "--upload-dir", "www/state/h2server/ca"], True),
}


@pytest.mark.parametrize("arguments, exists", KEYS_OF_OURS.values(), ids=KEYS_OF_OURS)
def test_keys_of_ours_are_not_served(folder, arguments, exists):
    (folder / "root").mkdir()
    if exists:
        (folder / "www/state/h2server/ca").mkdir(parents=True)
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "www/state")}
    done = subprocess.run([BINARY, "-p", "0", *arguments], cwd=folder, capture_output=True,
                          text=True, timeout=LAST_RESORT_S, check=False, env=environment)
    check_refused(done, [WRONG_USE], "private keys", "www/state/h2server", "www")


def test_keys_of_ours_are_links(folder):
    """Their directory is none that is served, but they are."""
    (folder / "www/keys").mkdir()
    (folder / "state/h2server").mkdir(parents=True)
    (folder / "state/h2server/self-signed").symlink_to(folder / "www/keys")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run([BINARY, "-p", "0", "www"], cwd=folder, capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False, env=environment)
    check_refused(done, [WRONG_USE], "private key", "server.key", "www")


def test_uploads_beside_a_state_directory_below(folder):
    """Folders among the uploads are not served, so the start fails later, for another reason."""
    (folder / "uploads/state/h2server").mkdir(parents=True)
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "uploads/state")}
    arguments = ["www", "--upload-dir", "uploads", "--error-pages", "absent"]
    done = subprocess.run([BINARY, "--h2c", "-p", "0", *arguments], cwd=folder,
                          capture_output=True, text=True, timeout=LAST_RESORT_S, check=False,
                          env=environment)
    check_refused(done, [WRONG_USE], "error pages in absent")


# Options that may be given again, with a value. What follows is the root.
REPEATABLE = {
    "--auth": "/private=users", "--cors": "https://a.example", "--header": "/** A: b",
    "--immutable": "/assets/**", "--index": "index.html", "--type": "gcode=text/plain",
    "--cache": "/** 1h", "--redirect": "/a /b", "--rewrite": "/a /b", "--trusted-proxy": "::1",
}


@pytest.mark.parametrize("option, value", REPEATABLE.items(), ids=REPEATABLE)
def test_the_root_behind_an_option(folder, option, value):
    for arguments in ([option, value], [option, value, option, value]):
        check_refused(run(folder, "--h2c", "-p", "0", *arguments, "absent"), [WRONG_USE],
                      "root absent")


def test_no_directory_for_anything(folder):
    environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": "/proc/none", "TMPDIR": "/absent"}
    done = subprocess.run([BINARY, "-p", "0", "www"], cwd=folder, capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False, env=environment)
    check_refused(done, [REFUSED_BY_THE_SYSTEM], "--cert", "--h2c")


def test_unreadable_root(folder, plain_user):
    (folder / "closed/www").mkdir(parents=True)
    (folder / "closed/www").chmod(0)
    for root, mode in (("closed/www", 0o755), ("closed", 0), ("closed/www", 0)):
        (folder / "closed").chmod(mode)
        done = run(folder, "--h2c", "-p", "0", "--root", root, user=plain_user)
        check_refused(done, [WRONG_USE], f"root {root}", "Permission denied", "--root")


# Arguments → statuses, words of the error line. A file that fails to parse may give either.
CREDENTIALS = {
    "no certificate": (["-c", "absent.crt"], [2], ["absent.crt", "--cert", "--self-signed"]),
    "no key": (["-k", "absent.key"], [2], ["absent.key", "--key"]),
    "no key to be made": (["-k", "absent.key", "--self-signed"], [2], ["absent.key", "--key"]),
    "no certificate to be made": (["-c", "a.crt", "--self-signed"], [2], ["a.crt", "--cert"]),
    "certificate is a text": (["-c", "file"], [1, 2], ["file", "--cert"]),
    "key is a text": (["-k", "file"], [1, 2], ["file", "--key"]),
    "key of another": (["-k", "cert/other.key"], [1, 2], ["cert/other.key", "--key"]),
    "certificate is a folder": (["-c", "www"], [1, 2], ["www", "--cert"]),
    "key below the root": (["-k", "www/server.key"], [2], ["www/server.key", "--key"]),
    "key in the root above": (["--root", "."], [2], ["server.key", "--key"]),
    "key in the root above, in cleartext": (["--h2c", "--root", "."], [2], ["server.key", "move"]),
    "key below a linked root": (["--root", "link", "-k", "www/server.key"], [2], ["server.key"]),
    "key to be made below the root, in a directory to be made": (
        ["--root", ".", "--self-signed", "-c", "tls/c.pem", "-k", "tls/k.pem"], [2],
        ["tls/k.pem", "--key"]),
    "key to be made below the root":
        (["-k", "www/a.key", "-c", "a.crt", "--self-signed"], [2], ["www/a.key", "--key"]),
}


@pytest.mark.parametrize("arguments, statuses, words", CREDENTIALS.values(), ids=CREDENTIALS)
def test_wrong_credentials(folder, arguments, statuses, words):
    make_certificate(folder / "cert", "other")
    (folder / "www/server.key").write_bytes((folder / "cert/server.key").read_bytes())
    root = [] if "--root" in arguments else ["www"]
    check_refused(run(folder, "-p", "0", *root, *arguments), statuses, *words)
    assert not (folder / "www/a.key").exists()


def test_neither_key_nor_certificate(folder):
    os.rename(folder / "cert", folder / "elsewhere")
    check_refused(run(folder, "www", "-k", "cert/server.key"), [2], "--self-signed", "--h2c",
                  "--cert")


def test_unreadable_key(folder, plain_user):
    (folder / "cert/server.key").chmod(0)
    done = run(folder, "-p", "0", "www", "-c", "cert/server.crt", user=plain_user)
    check_refused(done, [1, 2], "cert/server.key", "Permission denied")


def test_certificate_that_can_not_be_made(folder, plain_user):
    (folder / "cert").chmod(0o555)
    arguments = ["www", "-p", "0", "--self-signed", "-c", "cert/new.crt", "-k", "cert/new.key"]
    check_refused(run(folder, *arguments, user=plain_user), [1, 2], "cert/new.key", "--key")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("number", [80, 443, 1])
def test_privileged_port(folder, plain_user, scheme, number):
    first = pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()
    if int(first) <= number:
        pytest.skip("this machine lets everybody have that port")
    done = run(folder, "www", "--h2c", "-p", str(number), "--scheme", scheme, user=plain_user)
    check_refused(done, [REFUSED_BY_THE_SYSTEM], f"port {number}", "privileges", "--port")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("other", ["acceptor", "reuseport", "another program"])
@pytest.mark.parametrize("host", [["--host", "127.0.0.1"], []], ids=["one address", "all"])
def test_port_in_use(folder, scheme, other, host):
    def check(port):
        done = run(folder, "www", "--h2c", "-p", str(port), "--scheme", scheme, *host)
        check_refused(done, [REFUSED_BY_THE_SYSTEM], str(port), "in use", "--port")

    if other in SCHEMES:  # "reuseport" shares its port, with its own threads alone
        with Server("--scheme", other) as server:
            check(server.port)
            assert fetch(server, PLAIN, "/absent").status == 404, "the first one is not disturbed"
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            check(listener.getsockname()[1])


HOSTS = {
    "of another machine": ("192.0.2.123", ["192.0.2.123", "--host"]),
    "no name": ("no.such.name.invalid", ["no.such.name.invalid", "--host"]),
    "no address": ("1.2.3", ["1.2.3", "--host"]),
}


@pytest.mark.parametrize("host, words", HOSTS.values(), ids=HOSTS)
def test_host_that_is_not_ours(folder, host, words):
    done = run(folder, "www", "--h2c", "-p", "0", "--host", host)
    check_refused(done, [REFUSED_BY_THE_SYSTEM], *words)
