"""Sites whose files are in an S3 store."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time

import pytest

from support import http1, http2
from support.answer import Broken
from support.contents import noise, sha256
from support.environment import BINARY, LAST_RESORT_S, not_sanitized, tool
from support.metrics import scrape
from support.processes import anonymous_bytes
from support.protocols import PROTOCOLS, fetch, name_of
from support.s3 import KEY_ID, S3, SECRET, STORES, Versitygw, credentials_given, needs_s3, serving
from support.waiting import wait_until

LARGE = noise(100_000_000)

OBJECTS = {
    "empty": b"",
    "one": b"1",
    "page.html": b"<p>page</p>",
    "some": noise(65_536),
    "more": noise(5_000_000),
    "d/index.html": b"<p>index</p>",
    "deep/er/x.txt": b"x",
    "a b+c=d&e.txt": b"odd",
    "100%/~it's(x)!,;@$*.txt": b"odder",
    "q?x#y.txt": b"query",
    "ü/日本.txt": "日本".encode(),
    ".hidden": b"hidden",
}
PATHS = {
    "empty": "/empty", "one": "/one", "page.html": "/page.html", "some": "/some", "more": "/more",
    "d/index.html": "/d/", "deep/er/x.txt": "/deep/er/x.txt",
    "a b+c=d&e.txt": "/a%20b+c=d&e.txt",
    "100%/~it's(x)!,;@$*.txt": "/100%25/~it's(x)!,;@$*.txt",
    "q?x#y.txt": "/q%3Fx%23y.txt",
    "ü/日本.txt": "/%C3%BC/%E6%97%A5%E6%9C%AC.txt",
}


@pytest.fixture(scope="module", autouse=True)
def credentials():
    with credentials_given() as patch:
        yield patch


@pytest.fixture(scope="module", params=STORES)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def s3(kind):
    with kind() as store:
        for name, content in OBJECTS.items():
            store.put(f"pre/{name}", content)
        store.put("pre/styled", b"a{}", "Content-Type: text/css", "Cache-Control: max-age=60")
        store.put("pre/large", LARGE)
        store.put("outside", b"outside the prefix")
        yield store


@pytest.fixture(scope="module")
def servers(s3):
    with contextlib.ExitStack() as stack:
        yield {tls: stack.enter_context(serving(s3, tls=tls)) for tls in (False, True)}


@pytest.fixture
def server(servers):
    return servers[False]


def get(server, path, *fields, method="GET"):
    return fetch(server, PROTOCOLS[0], path, method, fields)


# --- objects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_objects(servers, protocol):
    for name, path in PATHS.items():
        answer = fetch(servers[protocol.tls], protocol, path)
        assert answer.status == 200 and answer.body == OBJECTS[name], name
        head = fetch(servers[protocol.tls], protocol, path, "HEAD")
        assert head.status == 200 and head.body == b"", name
        assert head.field("content-length") == str(len(OBJECTS[name])), name
        assert head.field("etag") == answer.field("etag") is not None


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_large_object(servers, protocol):
    server = servers[protocol.tls]
    url = f"http{'s' if protocol.tls else ''}://localhost:{server.port}/large"
    command = [tool("curl"), "-sSf", protocol.curl, url]
    if protocol.tls:
        command += ["--cacert", server.certificate]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert sha256(done.stdout) == sha256(LARGE)


def test_many_at_once(server):
    """Each of 16 clients gets its own part."""
    bodies = {}

    def load(number):
        first = number * 5_000_000
        answer = get(server, "/large", ("range", f"bytes={first}-{first + 4_999_999}"))
        bodies[number] = answer.body == LARGE[first : first + 5_000_000]

    threads = [threading.Thread(target=load, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == {number: True for number in range(16)}


def test_fields_of_the_object(server):
    styled = get(server, "/styled")
    assert styled.field("content-type") == "text/css"
    assert styled.field("cache-control") == "max-age=60"
    assert get(server, "/page.html").field("content-type").startswith("text/html")


@pytest.mark.parametrize("path", [
    "/absent", "/absent/", "/.hidden", "/../outside", "/%2e%2e/outside", "/d//index.html",
    "/%ff", "/" + "k" * 1100])
def test_absent(server, path):
    assert get(server, path).status == (400 if "outside" in path else 404)  # above the root


def test_conditions_and_ranges(server):
    some = OBJECTS["some"]
    tag = get(server, "/some").field("etag")
    assert get(server, "/some", ("if-none-match", tag)).status == 304
    assert get(server, "/some", ("if-none-match", f'"x", W/{tag}')).status == 304
    assert get(server, "/some", ("if-none-match", '"x"')).status == 200
    assert get(server, "/some", ("if-match", '"x"')).status == 412
    assert get(server, "/some", ("if-match", f'"x", {tag}')).status == 200
    for field, part in (("bytes=10-19", some[10:20]), ("bytes=65000-", some[65000:]),
                        ("bytes=-7", some[-7:])):
        answer = get(server, "/some", ("range", field))
        assert answer.status == 206 and answer.body == part
        same = get(server, "/some", ("range", field), ("if-range", tag))
        assert same.status == 206 and same.body == part
        other = get(server, "/some", ("range", field), ("if-range", '"x"'))
        assert other.status == 200 and other.body == some
    several = get(server, "/some", ("range", "bytes=0-1,5000-5001"))
    assert several.status == 206 and several.field("content-type").startswith("multipart/")
    several = get(server, "/more", ("range", "bytes=0-1,5000-5001"))  # it is not kept
    assert several.status == 200 and several.body == OBJECTS["more"]
    behind = get(server, "/some", ("range", "bytes=65536-"))
    assert behind.status == 416 and behind.field("content-range") == "bytes */65536"


def test_list(server):
    answer = get(server, "/", ("accept", "application/json"))
    entries = {entry["name"]: entry for entry in json.loads(answer.body)}
    files = {name for name in OBJECTS if "/" not in name} | {"styled", "large"}
    folders = {name.split("/")[0] for name in OBJECTS if "/" in name}
    assert entries.keys() == (files | folders) - {".hidden"}
    assert entries["some"]["size"] == 65_536 and entries["some"]["type"] == "file"
    assert entries["ü"]["type"] == "directory"
    page = get(server, "/%C3%BC/", ("accept", "text/html"))
    assert "日本.txt" in page.body.decode()


def test_long_list(s3):
    """It has more than one page of the store's."""
    names = [f"n{number:04}" for number in range(1100)]
    s3.put_many("many/n[0000-1099]")
    with serving(s3, place="s3://bucket/many") as server:
        answer = get(server, "/", ("accept", "application/json"))
        assert [entry["name"] for entry in json.loads(answer.body)] == names


def test_folder_without_slash(server):
    answer = get(server, "/deep")
    assert answer.status == 301 and answer.field("location") == "/deep/"


def test_single_page_application(s3):
    with serving(s3, "spa = true", place="s3://bucket/pre/d") as server:
        answer = get(server, "/some/route", ("accept", "text/html"))
        assert answer.status == 200 and answer.body == OBJECTS["d/index.html"]


def test_own_keys(s3):
    """They are not even listed with --hidden."""
    s3.put("own/.h2server/uploads/x", b"x")
    s3.put("own/.hidden", b"x")
    with serving(s3, "hidden = true", place="s3://bucket/own") as server:
        for path in ("/.h2server", "/.h2server/", "/.h2server/uploads/x", "/%2eh2server/uploads/x"):
            assert get(server, path).status == 404, path
        entries = json.loads(get(server, "/", ("accept", "application/json")).body)
        assert [entry["name"] for entry in entries] == [".hidden"]


# --- in memory ----------------------------------------------------------------------------------


@contextlib.contextmanager
def counting(s3):
    """Yields a server, and a function that returns how often it has asked the store to get."""
    with serving(s3, 'admin = "unix:admin.sock"') as server:
        yield server, lambda: scrape(server.folder / "admin.sock").value(
            "h2server_store_requests_total", op="get")


@pytest.mark.parametrize("protocol", [one for one in PROTOCOLS if not one.tls], ids=name_of)
def test_hot_object(s3, protocol):
    """The store is asked once for each second, not for each request."""
    with counting(s3) as (server, gets), protocol.connect(server) as connection:
        def answer():
            if protocol.http2:
                return connection.answer(connection.request("GET", "/some"))
            connection.request("GET", "/some")
            return connection.answer()

        begin = time.monotonic()
        for _ in range(100):
            assert answer().body == OBJECTS["some"]
        seconds = time.monotonic() - begin
        assert 1 <= gets() <= 2 + seconds
        metrics = scrape(server.folder / "admin.sock")
        assert metrics.value("h2server_file_cache_hits_total") >= 98 - 2 * seconds
        assert metrics.value("h2server_memory_bytes", owner="file_cache") >= len(OBJECTS["some"])
        assert metrics.value("h2server_store_requests_in_flight") == 0


def test_cold_object_for_many(s3):
    """One request loads it for all."""
    with counting(s3) as (server, gets), http2.Connection(server) as connection:
        begin = time.monotonic()
        streams = [connection.request("GET", "/some") for _ in range(50)]
        assert all(connection.answer(stream).body == OBJECTS["some"] for stream in streams)
        assert 1 <= gets() <= 2 + time.monotonic() - begin


def test_changes_are_seen(s3):
    with counting(s3) as (server, _):
        s3.put("pre/changing", b"first")
        assert get(server, "/changing").body == b"first"
        s3.put("pre/changing", b"second", "Cache-Control: no-store")
        wait_until(lambda: get(server, "/changing").body == b"second", "the change")
        assert get(server, "/changing").field("cache-control") == "no-store"
        if not isinstance(s3, Versitygw):  # its 304 has no date
            # The same content and tag.
            s3.put("pre/changing", b"second", "Cache-Control: no-cache")
            wait_until(lambda: get(server, "/changing").field("cache-control") == "no-cache",
                       "the change of a field")
        s3.remove("pre/changing")
        wait_until(lambda: get(server, "/changing").status == 404, "the removal")
        s3.put("pre/changing", b"third")
        wait_until(lambda: get(server, "/changing").body == b"third", "the new object")


def test_unchanged_objects_are_compared(s3):
    with counting(s3) as (server, _):
        def unchanged():
            assert get(server, "/some").body == OBJECTS["some"]
            return scrape(server.folder / "admin.sock").value(
                "h2server_store_requests_total", op="get", outcome="not_modified") > 0

        wait_until(unchanged, "the store says that the object is the same")


@needs_s3
def test_nothing_stale_of_a_store_that_is_down():
    with S3() as s3, serving(s3, quiet=False) as server:
        s3.put("pre/x", b"x")
        assert get(server, "/x").body == b"x"
        s3.kill()
        wait_until(lambda: get(server, "/x").status == 502, "it is not used any more")
        s3.start()
        wait_until(lambda: get(server, "/x").status == 200, "the store is asked again")


# --- failures -----------------------------------------------------------------------------------


def test_killed_store(s3, server):
    """The client sees a pause, and every byte."""
    with http1.Connection(server, receive_buffer=4096) as connection:
        connection.request("GET", "/large")
        pieces = connection.body_pieces(connection.answer_head())
        received = [next(pieces)]
        s3.kill()
        rest = threading.Thread(target=lambda: received.extend(pieces))
        rest.start()
        s3.start()
        rest.join()
    assert b"".join(received) == LARGE


def test_store_that_is_down(kind):
    with kind() as s3, serving(s3, quiet=False) as server:
        s3.put("pre/large", LARGE)
        s3.put("pre/x", b"x")
        with http1.Connection(server, receive_buffer=4096) as connection:
            connection.socket.settimeout(LAST_RESORT_S)
            connection.request("GET", "/large")
            pieces = connection.body_pieces(connection.answer_head())
            next(pieces)
            s3.kill()
            assert get(server, "/x").status == 502
            with pytest.raises(Broken):  # after ten seconds
                list(pieces)
        server.wait_for_message("the store failed: can't connect: Connection refused")


@pytest.mark.parametrize("place, code", [("s3://no-such-bucket", "NoSuchBucket"),
                                         ("s3://bucket", "SignatureDoesNotMatch")])
def test_refusals_are_logged_once(s3, credentials, place, code):
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if code == "SignatureDoesNotMatch":
            patch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
        server = stack.enter_context(serving(s3, place=place, quiet=False))
        for _ in range(5):
            assert get(server, "/x").status == 502
        server.stop()
        lines = [line for line in server.stderr.splitlines() if code in line]
        assert len(lines) == 2 and "repeated 4 times" in lines[1], server.stderr
        assert SECRET not in server.stderr and "another-secret" not in server.stderr


@not_sanitized
def test_slow_clients_take_no_memory(s3, server):
    get(server, "/more")
    before = anonymous_bytes(server.pid)
    clients = []
    for _ in range(20):
        clients.append(http1.Connection(server, receive_buffer=4096))
        clients[-1].request("GET", "/large")
        clients[-1].answer_head()
    wait_until(lambda: get(server, "/one").status == 200, "others are served")
    # Four pieces of 256 KiB each, and what waits to be sent.
    assert anonymous_bytes(server.pid) - before < 20 * 2_000_000
    for client in clients:
        client.close()


def test_credentials_of_a_file(s3, tmp_path):
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n"
                    f"[mine]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ACCESS_KEY_ID")
        patch.delenv("AWS_SECRET_ACCESS_KEY")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
        patch.setenv("AWS_PROFILE", "mine")
        with serving(s3) as server:
            assert get(server, "/one").body == b"1"


def test_reload(s3):
    """A download goes on at the generation that began it."""
    with serving(s3, quiet=False) as server, \
            http1.Connection(server, receive_buffer=4096) as connection:
        connection.request("GET", "/large")
        pieces = connection.body_pieces(connection.answer_head())
        received = [next(pieces)]
        text = server.folder / "site.toml"
        text.write_text(text.read_text().replace("bucket/pre", "bucket/pre/d"))
        server.signal(signal.SIGHUP)
        wait_until(lambda: get(server, "/index.html").status == 200, "the new generation serves")
        received.extend(pieces)
        assert b"".join(received) == LARGE


# --- without a store ----------------------------------------------------------------------------

COMMAND = [BINARY, "--h2c", "--host", "127.0.0.1", "--port", "0"]


@pytest.mark.parametrize("arguments, variables, reason", [
    ([], {}, "AWS_ACCESS_KEY_ID is set, but"),
    (["--s3-region", "a b"], None, "is not a region"),
    (["--s3-endpoint", "ftp://user:pw@host"], None, "the endpoint must be http://HOST:PORT"),
    (["--root", "."], None, "--root has no effect beside --store"),
    (["--compress", "on"], None, "--compress on has no effect with --store"),
    (["--scheme", "process-per-connection"], None, "--store does not work with --scheme"),
    (["--auth", "/d/index.html=users"], None, "names a file"),
])
def test_wrong_use(tmp_path, arguments, variables, reason):
    (tmp_path / "users").write_text("")
    environment = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    if variables is not None:
        environment = {"AWS_ACCESS_KEY_ID": KEY_ID}
    done = subprocess.run([*COMMAND, "--store", "s3://bucket", *arguments], cwd=tmp_path,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment},
                          capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert reason in done.stderr and SECRET not in done.stderr and "pw" not in done.stderr
