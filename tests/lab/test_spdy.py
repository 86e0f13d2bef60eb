"""lab/spdy and lab/load's SPDY/3.1 against implementations of others, and against each other.

The others are npm's spdy and spdy-transport, which `scripts/setup test` installs.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import zlib

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", TREE / "build/release"))
SPDY, LOAD = BUILD / "lab/spdy", BUILD / "lab/load"
MODULES = TREE / "build/tools/spdy/node_modules"
HERE = pathlib.Path(__file__).parent
PATIENCE_S = 60
SIZES = {"21": 21, "20k": 20_000, "10m": 10_000_000}

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="no node here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a certificate, and files of SIZES in its folder root."""
    made = tmp_path_factory.mktemp("spdy")
    (made / "root").mkdir()
    for name, size in SIZES.items():
        (made / "root" / name).write_bytes(os.urandom(size))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", made / "key.pem",
         "-out", made / "cert.pem"], check=True, capture_output=True)
    return made


@pytest.fixture(params=["cleartext", "tls"])
def kind(request):
    return request.param


@contextlib.contextmanager
def listening(command, **options):
    """Starts a server that prints its port at the end of a line. Yields (process, port)."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          **options) as process:
        try:
            found = re.search(r"(\d+)$", process.stdout.readline().strip())
            assert found, "the server did not start"
            yield process, int(found[1])
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@contextlib.contextmanager
def ours(folder, kind):
    """Our server. It must end with status 0 on SIGTERM."""
    tls = (["--cert", folder / "cert.pem", "--key", folder / "key.pem"] if kind == "tls"
           else ["--h2c"])
    with listening([SPDY, "--port", 0, "--root", folder / "root", *tls]) as (process, port):
        yield process, port
    assert process.returncode == 0


def theirs(folder, kind):
    files = [folder / "cert.pem", folder / "key.pem"] if kind == "tls" else []
    return listening(["node", HERE / "spdy_server.js", folder / "root", *files],
                     env={**os.environ, "NODE_PATH": str(MODULES)})


def load(mode, port, kind, *arguments, status=0):
    """Runs our client and returns its JSON result."""
    tls = ["--tls"] if kind == "tls" else []
    done = subprocess.run(
        [LOAD, mode, "--port", str(port), "--protocol", "spdy", *tls, *map(str, arguments)],
        capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def ask(port, kind, requests):
    """Sends requests with npm's spdy-transport. Returns {path: answer}."""
    done = subprocess.run(
        ["node", HERE / "spdy_client.js", str(port), kind, json.dumps(requests)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "NODE_PATH": str(MODULES)})
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer["path"]: answer for answer in answers}


# ---- Their client, our server


@needs_node
def test_files_arrive_whole(folder, kind):
    with ours(folder, kind) as (_, port):
        answers = ask(port, kind, [{"method": "GET", "path": f"/{name}"} for name in SIZES])
    for name, size in SIZES.items():
        answer = answers[f"/{name}"]
        content = (folder / "root" / name).read_bytes()
        assert answer["status"] == 200 and answer["bytes"] == size
        assert answer["sha256"] == hashlib.sha256(content).hexdigest()
        assert answer["headers"]["content-length"] == str(size)


@needs_node
def test_head_not_found_and_content(folder, kind):
    with ours(folder, kind) as (_, port):
        answers = ask(port, kind, [
            {"method": "HEAD", "path": "/20k"}, {"method": "GET", "path": "/none"},
            {"method": "POST", "path": "/small", "body_bytes": 5},
            {"method": "POST", "path": "/large", "body_bytes": 3_000_000}])
    assert answers["/20k"]["status"] == 200 and answers["/20k"]["bytes"] == 0
    assert answers["/20k"]["headers"]["content-length"] == "20000"
    assert answers["/none"]["status"] == 404
    for path, size in {"/small": 5, "/large": 3_000_000}.items():
        assert answers[path]["status"] == 200 and answers[path]["bytes"] == size
        assert answers[path]["sha256"] == answers[path]["sent_sha256"]


@needs_node
def test_blocks_of_many_requests_are_in_order(folder, kind):
    requests = [{"method": "GET", "path": f"/21?{number}"} for number in range(100)]
    with ours(folder, kind) as (_, port):
        answers = ask(port, kind, requests)
    assert len(answers) == 100 and {answer["bytes"] for answer in answers.values()} == {21}


# ---- Our client, their server


@needs_node
@pytest.mark.parametrize("name", SIZES)
def test_our_client_reads_theirs(folder, kind, name):
    requests = 4 if name == "10m" else 40
    with theirs(folder, kind) as (_, port):
        result = load("closed", port, kind, "--path", f"/{name}", "--requests", requests,
                      "--connections", 2, "--streams", 2, "--expect-bytes", SIZES[name])
    assert result["requests"] == requests and result["errors"] == {}


@needs_node
def test_our_client_sends_to_theirs(folder, kind):
    with theirs(folder, kind) as (_, port):
        result = load("closed", port, kind, "--path", "/x", "--requests", 4, "--streams", 2,
                      "--method", "POST", "--upload-bytes", 300_000, "--expect-bytes", 300_000)
        none = load("closed", port, kind, "--path", "/none", "--requests", 4, "--expect-status",
                    404)
        head = load("closed", port, kind, "--path", "/20k", "--requests", 4, "--method", "HEAD",
                    "--expect-bytes", 0)
    assert result["body_bytes_out"] == 1_200_000
    assert none["requests"] == head["requests"] == 4


# ---- Ours against ours


@pytest.mark.parametrize("window_bits", [16, 30, 31])
def test_large_bodies_pass_small_windows(folder, kind, window_bits):
    with ours(folder, kind) as (_, port):
        result = load("closed", port, kind, "--path", "/10m", "--requests", 12, "--connections", 2,
                      "--streams", 3, "--window-bits", window_bits, "--expect-bytes", 10_000_000)
        sent = load("closed", port, kind, "--path", "/x", "--requests", 8, "--connections", 2,
                    "--streams", 4, "--method", "POST", "--upload-bytes", 5_000_000,
                    "--window-bits", window_bits, "--expect-bytes", 5_000_000)
    assert result["body_bytes_in"] == 120_000_000
    assert sent["body_bytes_out"] == 40_000_000


def test_open_loop_and_weights(folder, kind):
    with ours(folder, kind) as (_, port):
        opened = load("open", port, kind, "--path", "/21", "--rate", 500, "--seconds", 0.4,
                      "--connections", 4, "--streams", 10, "--expect-bytes", 21)
        skewed = load("closed", port, kind, "--path", "/21", "--requests", 220, "--connections", 8,
                      "--weights", "8,1,1,1")
    assert opened["requests"] == 200 and skewed["requests"] == 220


def test_more_streams_than_the_server_allows(folder, kind):
    with ours(folder, kind) as (_, port):
        result = load("closed", port, kind, "--path", "/21", "--requests", 5000, "--streams", 1000,
                      "--expect-bytes", 21)
    assert result["requests"] == 5000 and result["reconnects"] == 0


def test_a_client_of_another_protocol_gets_none(folder, kind):
    with ours(folder, kind) as (_, port):
        tls = ["--tls"] if kind == "tls" else []
        for protocol in ("h1", "h2"):
            done = subprocess.run(
                [LOAD, "closed", "--port", str(port), "--protocol", protocol, *tls,
                 "--path", "/21", "--requests", "3", "--timeout-s", "5"],
                capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert done.returncode == 1, done.stdout


# ---- Frames by hand


def syn_stream(number, compressor):
    pairs = [(b":method", b"GET"), (b":path", b"/21"), (b":version", b"HTTP/1.1"), (b":host", b"h"),
             (b":scheme", b"http")]
    block = struct.pack(">I", len(pairs)) + b"".join(
        struct.pack(">I", len(text)) + text for pair in pairs for text in pair)
    packed = compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)
    payload = struct.pack(">IIBB", number, 0, 0, 0) + packed
    return struct.pack(">HHI", 0x8003, 1, 1 << 24 | len(payload)) + payload


def read_until(connection, wanted):
    """Reads up to the first control frame of a type. Returns its payload."""
    file = connection.makefile("rb")
    while head := file.read(8):
        first, kind_of_frame, second = struct.unpack(">HHI", head)
        payload = file.read(second & 0xFFFFFF)
        if first & 0x8000 and kind_of_frame == wanted:
            return payload, file
    raise AssertionError("the server has closed the connection")


def test_a_block_without_dictionary_is_read(folder):
    with ours(folder, "cleartext") as (_, port), socket.create_connection(
            ("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(syn_stream(1, zlib.compressobj()))
        payload, _ = read_until(connection, 2)
    assert payload[:4] == struct.pack(">I", 1)


def test_a_bomb_ends_the_connection_only(folder):
    with ours(folder, "cleartext") as (_, port), socket.create_connection(
            ("127.0.0.1", port), PATIENCE_S) as connection:
        compressor = zlib.compressobj(9)
        bomb = compressor.compress(b"\0" * 20_000_000) + compressor.flush(zlib.Z_SYNC_FLUSH)
        payload = struct.pack(">IIBB", 1, 0, 0, 0) + bomb
        connection.sendall(struct.pack(">HHI", 0x8003, 1, 1 << 24 | len(payload)) + payload)
        goaway, file = read_until(connection, 7)
        assert goaway == struct.pack(">II", 0, 1)
        assert file.read() == b""
        assert load("closed", port, "cleartext", "--path", "/21", "--requests", 1)["requests"] == 1


def test_sigterm_says_goaway_and_ends(folder):
    with ours(folder, "cleartext") as (process, port), socket.create_connection(
            ("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(syn_stream(1, zlib.compressobj()))
        read_until(connection, 2)
        process.send_signal(signal.SIGTERM)
        goaway, _ = read_until(connection, 7)
        assert goaway == struct.pack(">II", 1, 0)
        process.wait(PATIENCE_S)
