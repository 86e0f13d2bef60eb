"""Uploads into an S3 store, by PUT and by the form of the page."""

import contextlib
import json
import signal
import subprocess
import threading

import pytest

from support import http1
from support.contents import noise, sha256
from support.environment import BINARY, not_sanitized, tool
from support.metrics import scrape
from support.processes import anonymous_bytes, bytes_to_read
from support.protocols import PROTOCOLS, fetch, name_of
from support.s3 import S3, credentials_given, needs_s3, serving
from support.waiting import wait_until

MEBIBYTE = 1024 * 1024
PART = 8 * MEBIBYTE
SIZES = [0, 1, PART - 1, PART, PART + 1]
LARGE = noise(100_000_000)
H1, H1_TLS = PROTOCOLS[:2]


@pytest.fixture(scope="module", autouse=True)
def credentials():
    with credentials_given() as patch:
        yield patch


@pytest.fixture(scope="module")
def s3():
    with S3() as store:
        yield store


@pytest.fixture(scope="module")
def servers(s3):
    with contextlib.ExitStack() as stack:
        yield {tls: stack.enter_context(taking(s3, tls=tls)) for tls in (False, True)}


@pytest.fixture
def server(servers):
    return servers[False]


def taking(s3, *lines, **options):
    return serving(s3, "upload = true", *lines, **options)


def notes(s3):
    return s3.keys("pre/files/.h2server/parts/")


def nothing_is_left(s3, name):
    return not notes(s3) and not s3.parts_begun(f"pre/files/{name}")


def sweep(s3, name):
    """Has a server that waits for no upload remove what is left of that one."""
    s3.remove("pre/files/.h2server/sweep")  # the lease of the last sweep
    with taking(s3, 'upload-expiry = "2s"'):
        wait_until(lambda: nothing_is_left(s3, name), "the parts are removed")


def curl(server, protocol, *arguments, content=None):
    """Returns the status and the body."""
    url = f"http{'s' if protocol.tls else ''}://localhost:{server.port}"
    command = [tool("curl"), "-sS", protocol.curl, "-w", "\n%{http_code}"]
    if protocol.tls:
        command += ["--cacert", server.certificate]
    *options, path = arguments
    done = subprocess.run([*command, *options, url + path], input=content, capture_output=True)
    body, _, status = done.stdout.rpartition(b"\n")
    return int(status), body


def put(server, protocol, path, content, *arguments):
    """With a Content-Length, unlike `curl -T -`."""
    return curl(server, protocol, "-X", "PUT", "--data-binary", "@-", *arguments, path,
                content=content)


def read_back(server, path):
    status, body = curl(server, H1_TLS if server.tls else H1, path)
    return body if status == 200 else None


@needs_s3
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_put(s3, servers, protocol):
    server = servers[protocol.tls]
    for content in [*(noise(size) for size in SIZES), LARGE]:
        name = f"put-{protocol.name}-{len(content)}"
        status, _ = put(server, protocol, f"/files/{name}", content)
        assert status == 201, name
        assert sha256(read_back(server, f"/files/{name}")) == sha256(content), name
        assert nothing_is_left(s3, name), name
        status, _ = curl(server, protocol, "-T", "-", f"/files/{name}", content=b"x")  # chunked
        assert status == 409, name


@needs_s3
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_form(s3, servers, tmp_path, protocol):
    server = servers[protocol.tls]
    contents = {f"form-{protocol.name}-{size}": noise(size) for size in SIZES}
    contents[f"form-{protocol.name}-large"] = LARGE
    fields = []
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        fields += ["-F", f"file=@{tmp_path / name}"]
    status, body = curl(server, protocol, *fields, "/files")
    assert status == 201, body
    stored = {file["name"]: file for file in json.loads(body)}
    for name, content in contents.items():
        assert stored[name]["sha256"] == sha256(content)
        assert sha256(read_back(server, f"/files/{name}")) == sha256(content), name
        assert nothing_is_left(s3, name), name


@needs_s3
def test_page_and_list(server):
    fetch(server, H1, "/files/listed.html", "PUT", body=b"<script>")
    page = fetch(server, H1, "/files", fields=[("accept", "text/html")]).body.decode()
    assert "listed.html" in page and 'data-upload="/files"' in page
    assert 'data-resumable="/uploads"' in page and ".h2server" not in page
    shown = fetch(server, H1, "/files/listed.html")
    assert shown.field("content-security-policy") == "sandbox"
    for path in ("//files/listed.html", "/%66iles/listed.html", "/files//listed.html"):
        answer = fetch(server, H1, path)
        assert answer.status == 404 or answer.field("content-security-policy") == "sandbox", path
    assert fetch(server, H1, "/files/.h2server/sweep").status == 404
    assert fetch(server, H1, "/files/.h2server/x", "PUT", body=b"x").status == 400


@needs_s3
def test_one_of_two_servers_gets_the_name(s3):
    with taking(s3) as first, taking(s3) as second:
        for size in (10, 20_000_000):
            content = noise(size)
            statuses = []

            def store(server):
                status, _ = put(server, H1, f"/files/race-{size}", content,
                                "-H", "If-None-Match: *")
                statuses.append(status)

            threads = [threading.Thread(target=store, args=(server,)) for server in (first, second)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(statuses) == [201, 412]
            assert read_back(first, f"/files/race-{size}") == content
            assert nothing_is_left(s3, f"race-{size}")


def begin_put(server, name, size, first):
    """Sends the head of a PUT, and the first bytes of its body."""
    connection = http1.Connection(server)
    connection.send((f"PUT /files/{name} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Content-Length: {size}\r\n\r\n").encode() + first)
    return connection


@needs_s3
def test_client_that_leaves(s3, server):
    connection = begin_put(server, "left", len(LARGE), LARGE[: 3 * PART])
    wait_until(lambda: notes(s3), "parts are under way")
    connection.close()
    wait_until(lambda: nothing_is_left(s3, "left"), "they are abandoned")
    assert read_back(server, "/files/left") is None


@needs_s3
def test_killed_server():
    """Another one removes what it leaves, without a request."""
    with S3() as s3:  # no other server has the lease of sweeps
        with taking(s3) as server:
            connection = begin_put(server, "killed", len(LARGE), LARGE[: 3 * PART])
            wait_until(lambda: notes(s3), "parts are under way")
            server.signal(signal.SIGKILL)
            server.status = -signal.SIGKILL
            connection.close()
        assert notes(s3)
        sweep(s3, "killed")


@needs_s3
def test_killed_store():
    """The upload ends well or fails, and leaves nothing that is not removed later."""
    with S3() as s3:
        with taking(s3, 'admin = "unix:admin.sock"', quiet=False) as server:
            def retries():
                return scrape(server.folder / "admin.sock").value("h2server_store_retries_total")

            connection = begin_put(server, "hit", len(LARGE), LARGE[: 3 * PART])
            wait_until(lambda: notes(s3), "parts are under way")
            before = retries()
            s3.kill()
            sending = threading.Thread(target=lambda: _send(connection, LARGE[3 * PART :]))
            sending.start()
            wait_until(lambda: retries() > before or not sending.is_alive(), "the server notices")
            s3.start()
            answer = connection.answer()
            sending.join()
            connection.close()
            if answer.status == 201:
                assert sha256(read_back(server, "/files/hit")) == sha256(LARGE)
            else:
                assert answer.status in (502, 503, 504)
                assert read_back(server, "/files/hit") is None
        sweep(s3, "hit")


def _send(connection, data):
    with contextlib.suppress(OSError):
        connection.socket.sendall(data)


def wait_for_rest(server):
    """Waits until the server reads nothing more of what its clients have sent."""
    unread = []

    def rests():
        unread.append(bytes_to_read(server.port))
        return len(unread) >= 200 and len(set(unread[-200:])) == 1

    wait_until(rests, "the server rests")


@needs_s3
@not_sanitized
def test_memory(s3):
    """What uploads take together is bounded, however slow their clients are."""
    with taking(s3) as server:
        fetch(server, H1, "/files/warm", "PUT", body=b"x")
        before = anonymous_bytes(server.pid)
        slow = [begin_put(server, f"slow-{number}", len(LARGE), LARGE[:MEBIBYTE])
                for number in range(60)]
        wait_for_rest(server)
        assert fetch(server, H1, "/files/small", "PUT", body=b"x").status == 201
        # 32 parts, and beside them at most 1.5 MiB of each.
        assert anonymous_bytes(server.pid) - before < (256 + 60 * 1.5) * MEBIBYTE
        for connection in slow:
            connection.close()
        wait_until(lambda: not notes(s3), "they are abandoned")
        status, _ = curl(server, H1, "-T", "-", "/files/after-slow", content=LARGE)
        assert status == 201
        assert anonymous_bytes(server.pid) - before < 256 * MEBIBYTE


@needs_s3
def test_limits(s3):
    with taking(s3, 'upload-max = "1000000"', "upload-overwrite = true") as server:
        assert fetch(server, H1, "/files/limit", "PUT", body=noise(1_000_000)).status == 201
        assert fetch(server, H1, "/files/limit", "PUT", body=noise(1_000_001)).status == 413
        assert fetch(server, H1, "/files/limit", "PUT", body=b"new").status == 204
        assert read_back(server, "/files/limit") == b"new"


# --- without a store ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, reason", [
    (["--upload"], "--upload needs --store"),
    *[(["--store", "s3://b", "--upload", *arguments], reason) for arguments, reason in (
        (["--upload-dir", "d"], "leave one out"),
        (["--webdav"], "--webdav is for uploads to a directory"),
        (["--upload-manage"], "--upload-manage is for uploads to a directory"),
        (["--upload-total", "1G"], "--upload-total is for uploads to a directory"),
        (["--upload-reserve", "1G"], "--upload-reserve is for uploads to a directory"),
        (["--upload-durability", "file"], "--upload-durability is for uploads to a directory"))],
])
def test_wrong_use(tmp_path, arguments, reason):
    done = subprocess.run([BINARY, "--h2c", "--host", "127.0.0.1", "--port", "0", *arguments],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and reason in done.stderr, done.stderr
