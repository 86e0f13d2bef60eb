"""lab/floor against real clients: every protocol on both engines, large bodies, short connections.

Uses Debian's clients (curl, h2load, nghttp) and strace. Each test starts its own floor.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from harness.machine import can_trace

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLOOR = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", ROOT / "build/release")) / "lab/floor"
SANITIZED = bool(os.environ.get("H2SERVER_SANITIZED"))



def io_uring_is_allowed():
    """Returns true if the floor starts with io_uring, which containers often forbid."""
    with subprocess.Popen([FLOOR, "--io", "io_uring", "--body-bytes", "1"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        listens = "listening" in process.stdout.readline()
        process.terminate()
    return listens


URING = pytest.param("io_uring", marks=pytest.mark.skipif(
    not io_uring_is_allowed(), reason="io_uring is not allowed here"))
ENGINES = ["epoll", URING]
LARGE = 10_000_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """["--cert", FILE, "--key", FILE]"""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", folder / "key.pem",
         "-out", folder / "cert.pem"], check=True, capture_output=True)
    return ["--cert", folder / "cert.pem", "--key", folder / "key.pem"]


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


@contextlib.contextmanager
def floor(*options, prefix=()):
    """Starts a floor and yields its port. It must end with status 0 on SIGTERM."""
    with subprocess.Popen([*prefix, FLOOR, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"floor: listening on 127\.0\.0\.1:(\d+)\n", line)
            assert found, f"not the line that tells the port: {line!r}"
            yield int(found[1])
        finally:
            os.kill(child_of(process.pid) if prefix else process.pid, signal.SIGTERM)
            status = process.wait(timeout=60)
        assert status == 0


def curl(port, *options, tls=False):
    scheme = "https" if tls else "http"
    return subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--insecure", "--max-time", "60", *options,
         f"{scheme}://127.0.0.1:{port}/"], check=True, capture_output=True).stdout


PROTOCOLS = {
    "h1": (False, ["--http1.1"], ["--h1"]),
    "h2c": (False, ["--http2-prior-knowledge"], []),
    "h1-tls": (True, ["--http1.1"], ["--h1"]),
    "h2-tls": (True, ["--http2"], []),
}


@pytest.fixture(params=PROTOCOLS.values(), ids=PROTOCOLS.keys())
def protocol(request):
    return request.param


@pytest.mark.parametrize("io", ENGINES)
@pytest.mark.parametrize("size", [0, 158, 16384, 70_000, LARGE])
def test_body_arrives_unchanged(io, size, protocol, certificate, tmp_path):
    tls, for_curl, _ = protocol
    body = os.urandom(size)
    (tmp_path / "body").write_bytes(body)
    options = certificate if tls else []
    with floor("--io", io, "--body-file", tmp_path / "body", *options) as port:
        got = curl(port, *for_curl, tls=tls)
        head = curl(port, *for_curl, "--include", tls=tls)[:200].lower()
    assert hashlib.sha256(got).digest() == hashlib.sha256(body).digest()
    assert b"content-type: text/html\r\n" in head
    assert b"content-length: %d\r\n" % size in head


@pytest.mark.parametrize("io", ENGINES)
@pytest.mark.parametrize("size,load", [(158, ["-n10000", "-c10", "-m10"]),
                                       (100_000, ["-n2000", "-c10", "-m10"]),
                                       (LARGE, ["-n8", "-c2", "-m2"])])
def test_h2load_gets_every_response(io, size, load, protocol, certificate):
    tls, _, for_h2load = protocol
    options = certificate if tls else []
    with floor("--io", io, "--body-bytes", str(size), *options) as port:
        out = subprocess.run(
            ["h2load", *load, *for_h2load, f"{'https' if tls else 'http'}://127.0.0.1:{port}/"],
            check=True, capture_output=True, text=True, timeout=120).stdout
    count = int(load[0][2:])
    assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in out
    assert int(re.search(r"\((\d+)\) data", out)[1]) >= count * size


@pytest.mark.parametrize("io", ENGINES)
@pytest.mark.parametrize("window", [[], ["-w10", "-W10"]], ids=["default", "1023"])
def test_small_windows_are_respected(io, window):
    """nghttp ends a connection that exceeds its windows."""
    with floor("--io", io, "--body-bytes", str(1_000_000)) as port:
        out = subprocess.run(["nghttp", *window, f"http://127.0.0.1:{port}/"], check=True,
                             capture_output=True, timeout=60).stdout
    assert len(out) == 1_000_000


@pytest.mark.parametrize("io", ENGINES)
@pytest.mark.parametrize("tls", [False, True])
def test_close_ends_the_connection(io, tls, certificate):
    options = certificate if tls else []
    with floor("--io", io, "--close", *options) as port:
        head = curl(port, "--http1.1", "--include", tls=tls).lower()
        assert b"connection: close\r\n" in head
        if tls:
            return
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                received = b"".join(iter(lambda: client.recv(65536), b""))
            assert received.endswith(b"\n") or len(received) > 158
            assert received.count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize("io", ENGINES)
def test_pipelined_and_cut_requests(io):
    with floor("--io", io, "--body-bytes", "10") as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n" * 3000 + b"GET / HT")
            client.sendall(b"TP/1.1\r\n\r")
            client.sendall(b"\n")
            client.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 3001


@pytest.mark.parametrize("io", ENGINES)
def test_client_that_reads_late(io):
    """Responses that exceed the socket buffer wait in order."""
    with floor("--io", io, "--body-bytes", "200") as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            for _ in range(1000):
                client.sendall(b"GET / HTTP/1.1\r\n\r\n" * 100)
            client.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: client.recv(65536), b""))
    one = received[:received.index(b"HTTP/1.1", 1)]
    assert received == one * 100_000


@pytest.mark.parametrize("io", ENGINES)
def test_threads_share_the_port(io):
    with floor("--io", io, "--threads", "3") as port:
        out = subprocess.run(["h2load", "-n3000", "-c30", f"http://127.0.0.1:{port}/"], check=True,
                             capture_output=True, text=True, timeout=60).stdout
    assert "3000 succeeded" in out


@pytest.mark.skipif(SANITIZED or not can_trace(), reason="a sanitizer, or strace cannot be used")
@pytest.mark.parametrize("io", ENGINES)
def test_few_system_calls(io, tmp_path):
    """Per request: wait, receive and send with epoll; one io_uring_enter with io_uring."""
    calls_max = {"epoll": 3, "io_uring": 1}[io]
    count = 2000
    trace = tmp_path / "trace"
    with floor("--io", io, prefix=["strace", "-f", "-c", "-o", trace]) as port:
        subprocess.run(["h2load", "--h1", f"-n{count}", "-c1", f"http://127.0.0.1:{port}/"],
                       check=True, capture_output=True, timeout=60)
    total = re.search(r"(\d+)(?:\s+\d+)?\s+total$", trace.read_text(), re.MULTILINE)
    assert int(total[1]) < calls_max * count + 500  # for the start


def test_wrong_use_is_refused(tmp_path):
    for options in (["--io", "select"], ["--cert", "a.pem"], ["--body-file", tmp_path / "gone"],
                    ["--threads", "0"], ["--cert", "gone.pem", "--key", "gone.pem"]):
        result = subprocess.run([FLOOR, *options], capture_output=True, timeout=60)
        assert result.returncode != 0, options
        assert result.stderr, options
