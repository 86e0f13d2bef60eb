"""lab/load against servers of known behaviour: small ones in this file, and real ones."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest

TREE = pathlib.Path(os.environ.get("H2SERVER_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("H2SERVER_BUILD_DIR", TREE / "build/release"))
LOAD = BUILD / "lab/load"
H2SERVER = BUILD / "h2server"
PATIENCE_S = 30

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
KINDS_OF_CONNECTIONS = {"connect", "tls", "alpn"}


def load(mode, port, *arguments, status=0, **options):
    """Runs the client and returns its JSON result. `status` is the expected exit status."""
    done = subprocess.run([LOAD, mode, "--port", str(port), *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          **options)
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def failed_requests(result):
    return sum(count for kind, count in result["errors"].items()
               if kind not in KINDS_OF_CONNECTIONS)


def above(histogram, us):
    return sum(count for value, count in histogram if value > us)


def total(histogram):
    return sum(count for _, count in histogram)


# ---- Small servers with one thread per connection


def found(program):
    """Returns the path of a program, also of one that only root has on its PATH; None if there is none."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")


def needs(program):
    return pytest.mark.skipif(not found(program), reason=f"no {program} here")


class Listener:
    """Calls `serve(connection)` on a new thread per connection."""

    def __init__(self, serve):
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._run, args=[connection], daemon=True).start()

    def _run(self, connection):
        with connection, contextlib.suppress(OSError):
            self._serve(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def heads(connection):
    """Yields the head of each request. Requests must not have bodies."""
    held = b""
    while True:
        while b"\r\n\r\n" not in held:
            received = connection.recv(65536)
            if not received:
                return
            held += received
        head, held = held.split(b"\r\n\r\n", 1)
        yield head + b"\r\n\r\n"


def answering(answer, delay_s=0.0):
    def serve(connection):
        for _ in heads(connection):
            time.sleep(delay_s)
            connection.sendall(answer)

    return serve


# ---- Real servers


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def wait_for_port(port, process):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError("the server did not start")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class OurServer:
    def __init__(self, folder, tls):
        self.uploads = folder / "uploads"
        (folder / "root").mkdir()
        (folder / "root/index.html").write_bytes(b"x" * 158)
        (folder / "root/large").write_bytes(os.urandom(3_000_000))
        how = (["--self-signed", "--cert", folder / "c.crt", "--key", folder / "c.key"]
               if tls else ["--h2c"])
        self.command = [H2SERVER, "--port", "0", "--host", "127.0.0.1", "--root", folder / "root",
                        "--upload-dir", self.uploads, *how]


@pytest.fixture(scope="module", params=[False, True], ids=["cleartext", "tls"])
def ours(request, tmp_path_factory):
    """A running h2server: its port, upload directory, and the client's TLS options."""
    server = OurServer(tmp_path_factory.mktemp("server"), request.param)
    with running(server.command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            found = re.search(r"https?://localhost:(\d+)/", line)
            if found:
                break
        server.port = int(found[1])
        server.tls = ["--tls"] if request.param else []
        yield server


@pytest.fixture(params=["h1", "h2"])
def protocol(request):
    return ["--protocol", request.param]


# ---- The closed loop


def test_closed_loop_counts(ours, protocol):
    result = load("closed", ours.port, "--requests", 1000, "--connections", 7,
                  "--expect-bytes", 158, *protocol, *ours.tls)
    assert result["requests"] == 1000 == total(result["histogram"])
    assert result["errors"] == {}
    assert result["body_bytes_in"] == 158_000
    assert result["bytes_in"] > 158_000 and result["bytes_out"] > 1000
    assert result["seconds"] > 0 and result["cpu_seconds"] > 0
    values = [value for value, _ in result["histogram"]]
    assert values == sorted(values)
    assert values[0] <= result["mean_us"] <= result["max_us"] <= values[-1]


def test_large_bodies_arrive_whole(ours, protocol):
    streams = ["--streams", 3] if "h2" in protocol else []
    result = load("closed", ours.port, "--requests", 20, "--connections", 2, "--path", "/large",
                  "--expect-bytes", 3_000_000, *streams, *protocol, *ours.tls)
    assert result["body_bytes_in"] == 20 * 3_000_000


def test_connections_are_busy_at_once():
    """The server answers only when all 20 connections have a request in flight."""
    together = threading.Barrier(20)

    def serve(connection):
        for _ in heads(connection):
            together.wait(PATIENCE_S)
            connection.sendall(ANSWER)

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 60, "--connections", 20)
    assert result["requests"] == 60


def test_weights_skew_the_connections():
    counts = {}

    def serve(connection):
        for _ in heads(connection):
            peer = connection.getpeername()
            counts[peer] = counts.get(peer, 0) + 1
            connection.sendall(ANSWER)

    with Listener(serve) as server:
        load("closed", server.port, "--requests", 220, "--connections", 8, "--weights", "8,1,1,1")
    assert sorted(counts.values()) == [10] * 6 + [80] * 2


def test_server_that_closes_politely_is_no_error():
    def serve(connection):
        for _ in heads(connection):
            connection.sendall(ANSWER.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
            return

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 20, "--connections", 2)
    assert result["requests"] == 20 and result["reconnects"] >= 18


# ---- The open loop


def test_open_loop_adds_nothing_and_hides_nothing():
    with Listener(answering(ANSWER, delay_s=0.02)) as server:
        result = load("open", server.port, "--rate", 200, "--seconds", 1, "--connections", 20)
    assert result["requests"] == 200 == total(result["histogram"])
    assert total(result["service_histogram"]) == 200
    assert result["histogram"][0][0] >= 20_000
    assert 20_000 <= result["p50_us"]
    assert result["rate_intended"] == 200
    assert 0 < result["rate_done"] <= 200


def test_warm_up_is_not_measured(ours, protocol):
    result = load("open", ours.port, "--rate", 500, "--seconds", 0.4, "--warmup-seconds", 0.2,
                  "--connections", 4, *protocol, *ours.tls)
    assert result["requests"] == 200 == total(result["histogram"])
    assert result["warmup_requests"] == 100


def test_stalled_server_is_charged_for_all_who_waited():
    """wrk2's check: a server stalls for 0.5 s at 200 requests per second."""
    stall_s, rate, connections = 0.5, 200, 4
    arrivals = itertools.count()
    open_again = threading.Event()
    open_again.set()

    def serve(connection):
        for _ in heads(connection):
            if next(arrivals) == 60:
                open_again.clear()
                threading.Timer(stall_s, open_again.set).start()
            open_again.wait()
            connection.sendall(ANSWER)

    with Listener(serve) as server:
        result = load("open", server.port, "--rate", rate, "--seconds", 1.5,
                      "--connections", connections)
    assert result["requests"] == rate * 1.5
    # Of the 100 requests due during the stall, 80 were due over 100 ms before its end, and so on.
    for wait_ms, least in [(100, 80), (200, 60), (300, 40), (400, 20)]:
        late = above(result["histogram"], (wait_ms - 10) * 1000)
        assert late >= least - 2, (wait_ms, late)
    # Measured from the time of sending, only requests that the server held are slow.
    assert above(result["service_histogram"], 400_000) <= connections
    assert above(result["service_histogram"], 100_000) <= 3 * connections  # for a busy machine
    assert result["max_us"] >= 450_000


def test_unanswered_requests_are_told():
    def serve(connection):
        connection.recv(65536)
        connection.recv(65536)  # until the client gives up

    with Listener(serve) as server:
        result = load("open", server.port, "--rate", 100, "--seconds", 0.3, "--connections", 2,
                      "--timeout-s", 0.5, status=1)
    assert result["requests"] == 0
    assert failed_requests(result) == 30
    assert result["errors"].get("unanswered", 0) >= 26


def test_open_loop_with_a_connection_for_each_request(ours):
    result = load("open", ours.port, "--rate", 500, "--seconds", 0.4, "--warmup-seconds", 0.1,
                  "--connections", 4, "--close", "--expect-bytes", 158, *ours.tls)
    assert result["requests"] == 200 == total(result["histogram"])
    assert result["warmup_requests"] == 50


def test_connections_of_the_open_loop_are_opened_when_they_are_due():
    """One connection at a time, 0.1 s per response: each request waits for the earlier ones."""
    opened, asked = [], []

    def serve(connection):
        opened.append(time.monotonic())
        for head in heads(connection):
            asked.append(b"\r\nConnection: close\r\n" in head)
            time.sleep(0.1)
            connection.sendall(ANSWER.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
            return

    with Listener(serve) as server:
        result = load("open", server.port, "--rate", 50, "--seconds", 0.1, "--connections", 1,
                      "--close")
    assert asked == [True] * 5 and result["requests"] == 5
    assert all(later - earlier >= 0.09 for earlier, later in zip(opened, opened[1:]))
    # The last request was due 80 ms and answered 500 ms after the first was due.
    assert result["max_us"] >= 400_000
    assert above(result["service_histogram"], 300_000) == 0


def test_open_loop_counts_connections_that_are_closed_before_the_request():
    with Listener(lambda connection: None) as server:
        result = load("open", server.port, "--rate", 100, "--seconds", 0.2, "--connections", 3,
                      "--close", status=1)
    assert result["requests"] == 0
    assert failed_requests(result) == 20


# ---- Errors


@pytest.mark.parametrize("kind, answer, arguments", [
    ("status", ANSWER.replace(b"200 OK", b"404 Not Found"), []),
    ("status", ANSWER, ["--expect-status", 304]),
    ("length", ANSWER, ["--expect-bytes", 6]),
    ("malformed", b"HTTP/1.1 200\r\n\r\n", []),
    ("malformed", ANSWER + b"more", []),
    ("timeout", ANSWER[:-1], ["--timeout-s", 0.2]),
])
def test_wrong_answers(kind, answer, arguments):
    with Listener(answering(answer)) as server:
        result = load("closed", server.port, "--requests", 6, "--connections", 2, *arguments,
                      status=1)
    assert result["errors"] == {kind: 6}
    assert result["requests"] == 0 == total(result["histogram"])


@pytest.mark.parametrize("kind, begin", [("closed", b""), ("truncated", ANSWER[:-2]),
                                         ("truncated", b"HTT")])
def test_connection_that_ends_too_early(kind, begin):
    def serve(connection):
        for _ in heads(connection):
            connection.sendall(begin)
            return

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 6, "--connections", 2, status=1)
    assert result["errors"] == {kind: 6}


def test_body_up_to_the_end_is_whole():
    def serve(connection):
        for _ in heads(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
            return

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 6, "--connections", 2,
                      "--expect-bytes", 5)
    assert result["requests"] == 6


@pytest.mark.parametrize("mode", [["closed", "--requests", 10, "--connections", 2],
                                  ["open", "--rate", 10, "--seconds", 1],
                                  ["open", "--rate", 100, "--seconds", 0.1, "--close"],
                                  ["exchange", "--clients", 2, "--connections", 1, "--messages",
                                   5],
                                  ["churn", "--connections", 10],
                                  ["idle", "--connections", 3]])
def test_no_server(mode):
    result = load(mode[0], free_port(), *mode[1:], status=1)
    assert result["requests"] == 0
    assert result["errors"]["connect"] > 0


def test_server_without_tls():
    with Listener(answering(ANSWER)) as server:
        result = load("closed", server.port, "--requests", 3, "--connections", 1, "--tls",
                      "--timeout-s", 0.3, status=1)
    assert result["errors"]["unsent"] == 3


def test_server_without_http2(ours):
    if ours.tls:
        pytest.skip("it has HTTP/2")
    with Listener(answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server:
        result = load("closed", server.port, "--requests", 3, "--connections", 1, "--protocol",
                      "h2", status=1)
    assert result["errors"]["malformed"] == 1 and result["errors"]["unsent"] == 3


# ---- Uploads


def pattern(size):
    return bytes((i * 131 + (i >> 8)) & 255 for i in range(size))


def test_upload_by_length_is_the_pattern():
    received = {}

    def serve(connection):
        file = connection.makefile("rb")
        while line := file.readline():
            target = line.split()[1].decode()
            fields = {}
            while (field := file.readline()) != b"\r\n":
                name, value = field.split(b":", 1)
                fields[name.lower()] = value.strip()
            received[target] = file.read(int(fields[b"content-length"]))
            connection.sendall(ANSWER)

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 5, "--connections", 2, "--method", "PUT",
                      "--upload-bytes", 700_001, "--path", "/to/{n}")
    assert sorted(received) == [f"/to/{n}" for n in range(5)]
    assert set(received.values()) == {pattern(700_001)}
    assert result["body_bytes_out"] == 5 * 700_001


def test_form_uploads_arrive(ours, protocol):
    streams = ["--streams", 3] if "h2" in protocol else []
    result = load("closed", ours.port, "--requests", 8, "--connections", 2, "--path", "/files",
                  "--method", "POST", "--upload-bytes", 500_003, "--multipart",
                  "--expect-status", 201, *streams, *protocol, *ours.tls)
    wanted = pattern(500_003)
    for n in range(8):
        path = ours.uploads / f"load-{n}"
        assert path.read_bytes() == wanted
        path.unlink()
    assert result["body_bytes_out"] > 8 * 500_003


@needs("nghttpd")
def test_upload_by_http2_is_echoed():
    port = free_port()
    with running([found("nghttpd"), "--no-tls", "--echo-upload", port]) as process:
        wait_for_port(port, process)
        result = load("closed", port, "--requests", 6, "--connections", 2, "--streams", 2,
                      "--protocol", "h2", "--method", "POST", "--upload-bytes", 300_000,
                      "--expect-bytes", 300_000)
    assert result["body_bytes_in"] == 6 * 300_000 == result["body_bytes_out"]


def test_empty_upload(ours, protocol):
    """h2server answers 415 to a POST with an empty body and without a type."""
    result = load("closed", ours.port, "--requests", 4, "--connections", 1, "--path", "/files",
                  "--method", "POST", "--expect-status", 415, *protocol, *ours.tls)
    assert result["requests"] == 4 and result["body_bytes_out"] == 0


def test_answer_before_the_upload_is_whole():
    def serve(connection):
        connection.recv(1000)
        connection.sendall(ANSWER.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 1, "--connections", 1, "--method",
                      "POST", "--upload-bytes", 1 << 30, status=1)
    assert result["errors"] == {"early": 1}


# ---- The paper's client (exchange)


def test_exchange():
    sizes, connections = [], []

    def serve(connection):
        connections.append(0)
        for head in heads(connection):
            sizes.append(len(head))
            connections[0] += 1
            connection.sendall(ANSWER)

    with Listener(serve) as server:
        result = load("exchange", server.port, "--clients", 4, "--connections", 3, "--messages", 5)
    assert result["requests"] == 60 == len(sizes)
    assert set(sizes) == {1204}
    assert result["connections"] == 12 == len(connections) == total(result["connect_histogram"])


def test_exchange_with_ours(ours):
    result = load("exchange", ours.port, "--clients", 10, "--connections", 4, "--messages", 20,
                  "--expect-bytes", 158, *ours.tls)
    assert result["requests"] == 800 and result["connections"] == 40


def test_exchange_is_cut_short():
    def serve(connection):
        for number, _ in enumerate(heads(connection)):
            close = b"OK\r\nConnection: close\r\n" if number == 1 else b"OK\r\n"
            connection.sendall(ANSWER.replace(b"OK\r\n", close))
            if number == 1:
                return

    with Listener(serve) as server:
        result = load("exchange", server.port, "--clients", 1, "--connections", 2, "--messages", 5,
                      status=1)
    assert result["requests"] == 4
    assert result["errors"] == {"closed": 2, "unsent": 6}


# ---- Connection churn


def test_churn_with_ours(ours):
    for more in ([], ["--linger-rst"]):
        result = load("churn", ours.port, "--connections", 300, "--concurrency", 7,
                      "--expect-bytes", 158, *more, *ours.tls)
        assert result["requests"] == 300 == total(result["histogram"])


def test_churn_waits_for_the_servers_end():
    """The request has `Connection: close`. The client does not close before the server."""
    asked, ends = [], []

    def serve(connection):
        for head in heads(connection):
            asked.append(b"\r\nConnection: close\r\n" in head)
            connection.sendall(ANSWER.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
            connection.settimeout(0.05)
            try:
                ends.append(connection.recv(1))
            except TimeoutError:
                ends.append(None)
            return

    with Listener(serve) as server:
        result = load("churn", server.port, "--connections", 6, "--concurrency", 3)
    assert result["requests"] == 6
    assert asked == [True] * 6 and ends == [None] * 6


def test_churn_counts_connections_that_are_closed_before_the_request():
    with Listener(lambda connection: None) as server:
        result = load("churn", server.port, "--connections", 50, "--concurrency", 5, status=1)
    assert result["requests"] == 0
    assert total(result["histogram"]) == 0
    errors = result["errors"]
    assert errors.get("closed", 0) + errors.get("reset", 0) == 50


@needs("nginx")
def test_churn_with_nginx(tmp_path):
    port = free_port()
    (tmp_path / "index.html").write_bytes(b"x" * 158)
    config = tmp_path / "nginx.conf"
    config.write_text(f"""daemon off; user root; pid {tmp_path}/pid; error_log {tmp_path}/log;
        events {{ }}
        http {{ access_log off; client_body_temp_path {tmp_path}/1; proxy_temp_path {tmp_path}/2;
            fastcgi_temp_path {tmp_path}/3; uwsgi_temp_path {tmp_path}/4; scgi_temp_path {tmp_path}/5;
            server {{ listen 127.0.0.1:{port}; root {tmp_path}; }} }}""")
    with running([found("nginx"), "-c", config, "-e",
                  tmp_path / "log"]) as process:
        wait_for_port(port, process)
        churn = load("churn", port, "--connections", 200, "--concurrency", 5,
                     "--expect-bytes", 158)
        exchange = load("exchange", port, "--clients", 5, "--connections", 2, "--messages", 10)
    assert churn["requests"] == 200
    assert exchange["requests"] == 100


# ---- Idle connections


def hold(port, *arguments):
    process = subprocess.Popen([LOAD, "idle", "--port", str(port), *map(str, arguments)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def established(process, port):
    """Returns the number of the process's established connections to that port."""
    own = set()
    for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since the listing
            own.add(os.readlink(entry))
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(fields[2].endswith(f":{port:04X}") and fields[3] == "01"
               and f"socket:[{fields[9]}]" in own for fields in map(str.split, lines))


def test_idle_connections_are_held(ours, protocol):
    process = hold(ours.port, "--connections", 300, *protocol, *ours.tls)
    assert established(process, ours.port) == 300
    output, _ = process.communicate("", timeout=PATIENCE_S)
    assert process.returncode == 0
    result = json.loads(output)
    assert result["requests"] == 300 == result["held"]


@needs("nghttpd")
def test_idle_connections_with_nghttpd(tmp_path):
    port = free_port()
    (tmp_path / "index.html").write_bytes(b"x" * 158)
    with running([found("nghttpd"), "--no-tls", "-d", tmp_path, port]) as server:
        wait_for_port(port, server)
        process = hold(port, "--connections", 50, "--protocol", "h2")
        output, _ = process.communicate("", timeout=PATIENCE_S)
    assert process.returncode == 0 and json.loads(output)["held"] == 50


def test_idle_connection_that_the_server_closes():
    closing = threading.Event()

    def serve(connection):
        for _ in heads(connection):
            connection.sendall(ANSWER)
            closing.wait()
            return

    with Listener(serve) as server:
        process = hold(server.port, "--connections", 3)
        closing.set()
        until = time.monotonic() + PATIENCE_S
        while established(process, server.port) > 0 and time.monotonic() < until:
            time.sleep(0.01)
        output, _ = process.communicate("", timeout=PATIENCE_S)
    assert process.returncode == 1
    result = json.loads(output)
    assert result["errors"] == {"closed": 3} and result["held"] == 0


def test_idle_connections_that_are_not_answered():
    with Listener(answering(ANSWER[:-1])) as server:
        result = load("idle", server.port, "--connections", 3, "--timeout-s", 0.2, status=1)
    assert result["errors"] == {"timeout": 3}


# ---- Files


def test_hgrm_file(tmp_path):
    path = tmp_path / "latency.hgrm"
    with Listener(answering(ANSWER)) as server:
        result = load("closed", server.port, "--requests", 100, "--connections", 2,
                      "--hgrm", path)
    lines = path.read_text().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    rows = [line.split() for line in lines[2:] if not line.startswith("#")]
    assert [float(row[1]) for row in rows] == sorted(float(row[1]) for row in rows)
    assert rows[-1][1:] == ["1.000000000000", "100", "inf"]
    assert abs(float(rows[-1][0]) * 1000 - result["max_us"]) < 1
    assert lines[-2].startswith("#[Max ") and lines[-2].endswith(" 100]")


def test_tls_is_not_verified_and_speaks_to_others(tmp_path):
    """The server is Python's ssl module, without ALPN and with another host's certificate."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=elsewhere",
                    "-keyout", tmp_path / "key", "-out", tmp_path / "crt"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            answering(ANSWER)(secured)

    with Listener(serve) as server:
        result = load("closed", server.port, "--requests", 20, "--connections", 2, "--tls")
        assert result["requests"] == 20
        result = load("closed", server.port, "--requests", 20, "--connections", 2, "--tls",
                      "--protocol", "h2", status=1)
        assert result["errors"] == {"alpn": 2, "unsent": 20}
