"""The admin listener: who gets in, metrics against what was requested, status and its events."""

import base64
import json
import os
import select
import socket
import ssl
import struct
import subprocess
import time

import pytest

from support import http1, named
from support.certificates import make_certificate
from support.configured import CLEARTEXT, Configured, free_port
from support.contents import form, form_type, noise
from support.environment import BINARY, LAST_RESORT_S
from support.http2 import Connection as Http2
from support.metrics import scrape
from support.waiting import wait_until

SITE = '[[site]]\nroot = "www"\n'
FILES = {"www/a.txt": "0123456789", "www/b.txt": "b" * 1000}
REQUESTS = "h2server_http_requests_total"
BEGUN = time.time()  # before any server of this module


class Admin(Configured):
    """A server whose admin listener is at `admin`, a port of this machine."""

    def __init__(self, text=CLEARTEXT + "{admin}" + SITE, token="", files=None, **options):
        self.admin = free_port()
        admin = f'admin = "127.0.0.1:{self.admin}"\n'
        admin += f'admin-token = "{token}"\n' if token else ""
        super().__init__(text.replace("{admin}", admin), files or FILES, **options)

    def ask(self, path, *fields, host="localhost", method="GET"):
        return named.fetch(self.admin, host, path, *fields, method=method)

    def state(self):
        answer = self.ask("/-/status.json")
        assert answer.status == 200
        return json.loads(answer.body)


@pytest.fixture(scope="module")
def server():
    with Admin() as started:
        yield started


# --- access --------------------------------------------------------------------------------------

def check(folder, text):
    (folder / "www").mkdir(exist_ok=True)
    (folder / "check.toml").write_text(text + SITE)
    return subprocess.run([BINARY, "check", "--config", "check.toml"], cwd=folder, text=True,
                          capture_output=True, check=False, timeout=LAST_RESORT_S)


@pytest.mark.parametrize("address, local", [
    ("0.0.0.0:9000", False), ("[::]:9000", False), ("192.0.2.1:9000", False),
    ("127.0.0.1:9000", True), ("127.1.2.3:9000", True), ("[::1]:9000", True),
    ("localhost:9000", True), ("unix:a.sock", True), ("localhost.example:9000", False),
    ("127.0.0.1.example:9000", False)])
def test_others_need_a_token(tmp_path, address, local):
    done = check(tmp_path, f'admin = "{address}"\n')
    assert done.returncode == (0 if local else 2), done
    assert local or "needs --admin-token" in done.stderr
    assert check(tmp_path, f'admin = "{address}"\nadmin-token = "t"\n').returncode == 0


def test_token():
    with Admin(token="s3cret") as server:
        basic = base64.b64encode(b"anyone:s3cret").decode()
        for path in ("/-/metrics", "/-/status.json", "/-/status", "/-/status/events", "/none"):
            for fields in ([], ["Authorization: Bearer s3cre"], ["Authorization: Basic YTpi"],
                           ["Authorization: Bearer s3crets"]):
                answer = server.ask(path, *fields)
                assert answer.status == 401, (path, fields)
                assert len(answer.all("www-authenticate")) == 2
                assert b"h2server_http" not in answer.body
        for field in ("Authorization: Bearer s3cret", f"Authorization: Basic {basic}"):
            assert server.ask("/-/metrics", field, host="any.name").status == 200
        assert "s3cret" not in server.stdout


def test_names_of_this_machine(server):
    """Without a token, a page of another site must not read it through a name of its own."""
    for host in ("localhost", f"localhost:{server.admin}", "127.0.0.1", "[::1]:80"):
        assert server.ask("/-/status.json", host=host).status == 200, host
    for host in ("evil.example", "localhost.evil.example", f"evil.example:{server.admin}",
                 "127.0.0.1.evil.example"):
        answer = server.ask("/-/status.json", host=host)
        assert (answer.status, b"requests" in answer.body) == (421, False), host


def test_unix_socket():
    with Configured('admin = "unix:admin.sock"\n' + CLEARTEXT + SITE, FILES) as server:
        path = server.folder / "admin.sock"
        assert os.stat(path).st_mode & 0o777 == 0o600
        assert scrape(path).value("h2server_worker_accepted_total") == 0
    assert not path.exists()


def test_public_listener_has_none_of_it(server):
    for path in ("/-/metrics", "/-/status", "/-/status.json", "/-/status/events"):
        assert named.fetch(server.port, "localhost", path).status == 404


def test_admin_port_in_use():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        server = Configured(f'admin = "127.0.0.1:{port}"\n' + CLEARTEXT + SITE, FILES)
        with pytest.raises(AssertionError, match="did not start") as failed:
            with server:
                pass
    assert server.process.returncode == 1
    assert "h2server: error: admin listener: " in str(failed.value)
    assert str(port) in str(failed.value) and "in use" in str(failed.value)


def test_page(server):
    answer = server.ask("/-/status")
    assert answer.status == 200 and "default-src 'none'" in answer.field("content-security-policy")
    assert server.ask("/").field("location") == "/-/status"
    for path in ("/-/status.css", "/-/status.js"):
        assert server.ask(path).status == 200


# --- metrics -------------------------------------------------------------------------------------

SITES = """
host = "127.0.0.1"
threads = 2
{admin}
[[listener]]
port = 0
[[site]]
host = "one.test"
root = "www"
cert = "one.crt"
key = "one.key"
upload-dir = "up"
[[site]]
host = "two.test"
root = "www"
cert = "one.crt"
key = "one.key"
"""


@pytest.fixture
def sites():
    server = Admin(SITES)
    make_certificate(server.folder, "one", "one.test", "two.test")
    with server:
        yield server


def secure(server, name, alpn="http/1.1", session=None, context=None):
    context = context or client_context(server, alpn)
    raw = named.plain(server.port)
    return context.wrap_socket(raw, server_hostname=name, session=session)


def client_context(server, alpn="http/1.1"):
    context = ssl.create_default_context(cafile=server.folder / "one.crt")
    context.set_alpn_protocols([alpn])
    return context


def test_requests_are_counted(sites):
    plan = [("one.test", "GET", "/a.txt", 3), ("one.test", "HEAD", "/a.txt", 2),
            ("one.test", "GET", "/none", 4), ("one.test", "DELETE", "/a.txt", 1),
            ("two.test", "GET", "/b.txt", 5)]
    for host, method, path, count in plan:
        with named.Client(secure(sites, host)) as client:
            for _ in range(count):
                client.fetch(host, path, method=method)
    body = form(("u", noise(50_000)))
    with named.Client(secure(sites, "one.test")) as client:
        answer = client.fetch("one.test", "/files", ": ".join(form_type()), method="POST",
                              body=body)
        assert answer.status == 201
    port = sites.port
    subprocess.run(["curl", "--silent", "--http2", "--insecure", "--resolve",
                    f"two.test:{port}:127.0.0.1", "-o", "/dev/null", "-o", "/dev/null",
                    f"https://two.test:{port}/a.txt", f"https://two.test:{port}/none"], check=True)
    wait_until(lambda: scrape(sites.admin).value(REQUESTS) >= 18, "all are counted")
    found = scrape(sites.admin)
    counts = {tuple(sample.labels[name] for name in ("site", "method", "status_class", "protocol")):
              sample.value for sample in found.matching(REQUESTS)}
    assert counts == {
        ("one.test", "GET", "2xx", "1.1"): 3, ("one.test", "HEAD", "2xx", "1.1"): 2,
        ("one.test", "GET", "4xx", "1.1"): 4, ("one.test", "DELETE", "4xx", "1.1"): 1,
        ("one.test", "POST", "2xx", "1.1"): 1, ("two.test", "GET", "2xx", "1.1"): 5,
        ("two.test", "GET", "2xx", "2"): 1, ("two.test", "GET", "4xx", "2"): 1}
    durations = "h2server_http_request_duration_seconds"
    for site, count in (("one.test", 11), ("two.test", 7)):
        assert found.value(f"{durations}_count", site=site) == count
        assert found.value(f"{durations}_bucket", site=site, le="+Inf") == count
        buckets = [one.value for one in found.matching(f"{durations}_bucket", site=site)]
        assert buckets == sorted(buckets) and len(buckets) == 17
    assert found.value("h2server_http_request_body_bytes_total", site="one.test") == len(body)
    received = found.value("h2server_http_response_body_bytes_total", site="two.test")
    assert 5 * 1000 + 10 <= received <= 5 * 1000 + 10 + 4096  # and an error page
    assert found.value("h2server_connections_opened_total", protocol="1.1") == 6
    assert found.value("h2server_connections_opened_total", protocol="2") == 1
    assert found.value("h2server_worker_accepted_total") == 7
    assert len(found.matching("h2server_worker_connections")) == 2


def test_handshakes_are_counted(sites):
    context = client_context(sites)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # the session is there after the handshake
    first = secure(sites, "one.test", context=context)
    second = secure(sites, "one.test", context=context, session=first.session)
    assert second.session_reused
    first.close()
    second.close()
    with pytest.raises(ssl.SSLError):  # the client does not trust the certificate
        ssl.create_default_context().wrap_socket(named.plain(sites.port),
                                                 server_hostname="one.test")
    old = named.plain(sites.port)
    # A ClientHello of TLS 1.0 only.
    hello = (b"\x03\x01" + bytes(32) + b"\0" + struct.pack(">H", 2) + b"\0\x2f" + b"\x01\0")
    record = b"\x01" + len(hello).to_bytes(3, "big") + hello
    old.sendall(b"\x16\x03\x01" + struct.pack(">H", len(record)) + record)
    assert old.recv(1)[:1] in (b"\x15", b"")
    old.close()
    named.plain(sites.port).close()

    def seen():
        found = scrape(sites.admin)
        return {one.labels["result"]: one.value
                for one in found.matching("h2server_tls_handshakes_total")}

    # One that is closed before its first byte may not count as a handshake that was begun.
    wait_until(lambda: sum(seen().values()) >= 4, "all are counted")
    counts = seen()
    assert (counts["full"], counts["resumed"]) == (1, 1)
    assert (counts["refused_by_client"], counts["no_common_choice"]) == (1, 1)
    assert counts["failed"] == 0


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)


def flood(port, frames):
    """Sends frames until the server closes the connection."""
    left = memoryview(PREFACE + frames)
    with socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT_S) as connection:
        while True:
            readable, writable, _ = select.select([connection], [connection] if left else [], [],
                                                  LAST_RESORT_S)
            assert readable or writable, "all was taken"
            try:
                if readable and not connection.recv(65536):
                    return
                if writable:
                    left = left[connection.send(left[:4000]):]
            except ConnectionError:
                return


def frame(kind, flags, stream, body=b""):
    return len(body).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + body


# Fields: POST, http, /, and an authority. The body does not end.
HEAD = b"\x83\x86\x84\x41\x01a"
RESETS = b"".join(frame(1, 4, stream, HEAD) + frame(3, 0, stream, struct.pack(">I", 8))
                  for stream in range(1, 20_001, 2))


# By their kind in the metrics. Those of PING may also count as "other", if the client does not read
# the answers.
FLOODS = {
    "idle_frames": [frame(2, 0, 5, bytes(5)) * 20_000, frame(0x77, 0, 0, b"abc") * 20_000],
    "resets": [RESETS],
    # A field of 3000 bytes, and a head that has it 10,000 times: by its index, a byte each.
    "other": [frame(1, 4, 1, HEAD + b"\x40\x01b\x7f\xb9\x16" + b"c" * 3000 + b"\xbe" * 10_000)],
}


@pytest.mark.parametrize("implementation", ["native", "nghttp2"])
def test_floods_are_counted(implementation):
    name = "h2server_http2_floods_total"
    with Admin(arguments=["--h2", implementation]) as server:
        seen = {kind: 0 for kind in FLOODS}
        for kind, frames in [(kind, frames) for kind in FLOODS for frames in FLOODS[kind]]:
            flood(server.port, frames)
            seen[kind] += 1
            wait_until(lambda: scrape(server.admin).value(name) == sum(seen.values()),
                       f"{kind} is counted")
            found = scrape(server.admin).matching(name)
            assert {one.labels["kind"]: one.value for one in found} == seen
        flood(server.port, frame(6, 0, 0, b"01234567") * 20_000)
        wait_until(lambda: scrape(server.admin).value(name) == sum(seen.values()) + 1,
                   "PINGs are counted")
        assert scrape(server.admin).value(name, kind="resets") == seen["resets"]


def test_stream_resets_are_counted():
    name = "h2server_http2_stream_resets_total"
    with Admin(CLEARTEXT + "{admin}" + SITE + 'upload-dir = "up"\n') as server:
        with Http2(server) as client:
            for _ in range(3):
                client.reset_stream(client.request("POST", "/files", [form_type()], ends=False))
            client.answer(client.request("GET", "/a.txt"))
            wait_until(lambda: scrape(server.admin).value(name, by="client") == 3, "3 are counted")
            # A body behind a final response is of no use: the server asks to stop it.
            stream = client.request("POST", "/a.txt", ends=False)
            client.run_until(lambda: stream.over, "it is refused")
            if stream.reset_code is not None:
                wait_until(lambda: scrape(server.admin).value(name, by="server") == 1, "counted")


def test_cut_offs_are_counted(server):
    with open(server.folder / "www/large", "wb") as file:
        file.truncate(1 << 30)
    with http1.Connection(server, receive_buffer=4096) as client:
        client.send(http1.get("/large"))
        assert client.answer_head().status == 200
        client.reset()
    wait_until(lambda: scrape(server.admin).value(
        "h2server_http_responses_cut_off_total", reason="client_left") == 1, "it is counted")


def test_caches_turns_memory_and_descriptors(server):
    before = scrape(server.admin)
    with named.Client(named.plain(server.port)) as client:
        for _ in range(10):
            client.fetch("localhost", "/b.txt")
        found = scrape(server.admin)
        assert found.value("h2server_worker_connections") == 1
        assert found.value("h2server_connections_open", protocol="1.1") == 1

    def grown(name, least, **labels):
        return found.value(name, **labels) - before.value(name, **labels) >= least

    assert grown("h2server_file_cache_hits_total", 9)
    assert grown("h2server_file_cache_loads_total", 1)
    assert grown("h2server_worker_turns_total", 10)
    assert grown("h2server_memory_bytes", 1000, owner="file_cache")
    owners = {one.labels["owner"] for one in found.matching("h2server_memory_bytes")}
    assert owners >= {"file_cache", "snapshots", "log_queues", "requests", "buffers", "receiving",
                      "bodies", "listings", "coding", "archives", "uploads"}
    assert 0 < found.value("h2server_client_memory_bytes") < 16e6
    assert found.value("h2server_client_memory_limit_bytes") >= 16 * 1024 * 1024
    assert found.value("h2server_memory_refused_requests_total") == 0
    assert found.value("h2server_memory_clients_cut_off_total") == 0
    descriptors = len(os.listdir(f"/proc/{server.pid}/fd"))
    assert abs(found.value("process_open_fds") - descriptors) <= 4
    assert found.value("process_max_fds") > descriptors
    assert 1e6 < found.value("process_resident_memory_bytes") < 1e9
    # Both are rounded to seconds.
    assert BEGUN - 2 < found.value("process_start_time_seconds") < time.time() + 2


# --- status --------------------------------------------------------------------------------------

SCHEMA = {
    "version": str, "uptime_s": float, "unix_s": float, "pid": int, "scheme": str, "engine": str,
    "totals": dict, "latency_bounds_us": list, "cache": dict, "log": dict,
    "connections_left_out": int, "history": list, "sites": list, "paths": list, "workers": list,
    "connections": list, "uploads": list, "certificates": list,
}
ROWS = {
    "history": {"unix_s", "requests", "response_bytes", "counts"},
    "sites": {"name", "requests", "errors", "response_bytes"},
    "paths": {"path", "count"},
    "workers": {"number", "connections", "accepted", "streams", "requests", "turns", "waiting"},
    "connections": {"worker", "protocol", "tls", "client", "age_s", "idle", "requests", "active",
                    "upload_bytes"},
    "uploads": {"site", "path", "received", "size", "age_s"},
    "certificates": {"site", "file", "names", "days_left"},
}


def test_schema_of_the_status(sites):
    sites.state()  # paths are counted from now on
    with named.Client(secure(sites, "one.test")) as client, \
            named.Client(secure(sites, "two.test")) as uploading:
        client.fetch("one.test", "/a.txt")
        uploading.close()
        wait_until(lambda: sites.state()["history"], "a second passes")
        found = sites.state()
    assert {name: type(found.get(name)) for name in SCHEMA} == SCHEMA
    for name, members in ROWS.items():
        for row in found[name]:
            assert row.keys() == members, name
    assert found["pid"] == sites.pid
    assert len(found["history"][0]["counts"]) == len(found["latency_bounds_us"]) + 1 == 17
    assert [one["names"] for one in found["certificates"]] == [["one.test", "two.test"]]
    assert found["certificates"][0]["days_left"] in (29, 30)
    assert len(found["workers"]) == 2
    assert found["paths"] == [{"path": "/a.txt", "count": 1}]
    assert found["totals"]["requests"] == 1 and found["totals"]["response_bytes"] == 10
    (row,) = found["connections"]
    assert (row["protocol"], row["tls"], row["client"]) == ("HTTP/1.1", "TLSv1.3", "127.0.0.1")
    assert (row["requests"], row["active"], row["idle"]) == (1, 0, True)


def test_connections_table(server):
    with named.Client(named.plain(server.port)) as first, Http2(server) as second:
        first.fetch("localhost", "/a.txt")
        second.answer(second.request("GET", "/a.txt"))
        second.answer(second.request("GET", "/b.txt"))
        rows = server.state()["connections"]
        assert sorted((row["protocol"], row["requests"]) for row in rows) == [
            ("HTTP/1.1", 1), ("HTTP/2", 2)]
    wait_until(lambda: server.state()["connections"] == [], "they are gone")


def test_upload_under_way():
    text = CLEARTEXT + "{admin}" + SITE + 'upload-dir = "up"\n'
    body = form(("slow", noise(100_000)))
    with Admin(text) as server:
        with named.Client(named.plain(server.port)) as client:
            client.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:40_000])
            wait_until(lambda: [one["received"] for one in server.state()["uploads"]] == [40_000],
                       "the upload is shown")
            (upload,) = server.state()["uploads"]
            assert (upload["path"], upload["size"]) == ("/files", len(body))
            client.send(body[40_000:])
            assert client.answer().status == 201
            wait_until(lambda: server.state()["uploads"] == [], "it is over")
            assert server.state()["totals"]["request_bytes"] == len(body)


def test_events(server):
    """One arrives each second, with the numbers of that second."""
    with named.Client(named.plain(server.admin)) as watcher, \
            named.Client(named.plain(server.port)) as client:
        watcher.send(b"GET /-/status/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = watcher.answer_head()
        assert answer.status == 200
        assert answer.field("content-type").startswith("text/event-stream")
        pieces, seen = watcher.body_pieces(answer), b""
        client.fetch("localhost", "/a.txt")
        while seen.count(b"\n\n") < 2 or b"data:" not in seen:
            seen += next(pieces)
        events = [json.loads(line[5:]) for line in seen.decode().splitlines()
                  if line.startswith("data:")]
    assert all(len(event["history"]) == 1 for event in events)
    assert events[-1]["totals"]["requests"] >= 1


def test_watcher_does_not_delay_the_end():
    with Admin() as server:
        with named.Client(named.plain(server.admin)) as watcher:
            watcher.send(b"GET /-/status/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert watcher.answer_head().status == 200
            server.stop()
            watcher.rest()
