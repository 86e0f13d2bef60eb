"""Copies of objects on a disk (--store-cache)."""

import contextlib
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from support import http1, http2
from support.contents import noise
from support.environment import BINARY, LAST_RESORT_S
from support.metrics import scrape
from support.protocols import PROTOCOLS, fetch, name_of
from support.s3 import S3, STORES, credentials_given, needs_s3, serving
from support.server import TEMPORARY_PREFIX
from support.small_disk import with_small_disk
from support.waiting import wait_until

LARGE = noise(5_000_000)
BLOCK = 1024 * 1024  # what is checked at once


@pytest.fixture(scope="module", autouse=True)
def credentials():
    with credentials_given() as patch:
        yield patch


@pytest.fixture(scope="module", params=STORES)
def s3(request):
    with request.param() as store:
        store.put("pre/large", LARGE, "Content-Type: text/plain", "Cache-Control: max-age=60")
        yield store


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


class Site:
    """A server with copies, and what it has asked the store for."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder

    def get(self, path, *fields, method="GET", protocol=PROTOCOLS[0]):
        return fetch(self.server, protocol, path, method, fields)

    def count(self, name, **labels):
        return scrape(self.server.folder / "admin.sock").value(f"h2server_store_{name}", **labels)

    def loads(self):
        return self.count("requests_total", op="get", outcome="success")

    def hits(self):
        return self.count("cache_requests_total", result="hit")

    def kept(self):
        """Returns the files with the bytes of objects."""
        return sorted(path for path in self.folder.iterdir()
                      if path.suffix != ".head" and not path.name.startswith(TEMPORARY_PREFIX))


@contextlib.contextmanager
def caching(s3, folder, *lines, tls=False, **options):
    with serving(s3, f'store-cache = "{folder}"', 'admin = "unix:admin.sock"', *lines, tls=tls,
                 **options) as server:
        yield Site(server, folder)


def fill(s3, folder):
    with caching(s3, folder) as site:
        assert site.get("/large").body == LARGE
        assert len(site.kept()) == 1


# --- hits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_hits(s3, folder, protocol):
    for restarted in (False, True):
        with caching(s3, folder, tls=protocol.tls) as site:
            for _ in range(5):
                answer = site.get("/large", protocol=protocol)
                assert answer.status == 200 and answer.body == LARGE
                assert answer.field("content-type") == "text/plain"
                assert answer.field("cache-control") == "max-age=60"
            assert site.loads() == (0 if restarted else 1)
            assert site.hits() == (5 if restarted else 4)
            assert site.count("cache_bytes") == len(LARGE)
            assert site.count("cache_objects") == 1
            part = site.get("/large", ("range", "bytes=1048000-2000000"), protocol=protocol)
            assert part.status == 206 and part.body == LARGE[1_048_000:2_000_001]
            assert part.field("content-range") == f"bytes 1048000-2000000/{len(LARGE)}"
            same = site.get("/large", ("if-none-match", part.field("etag")), protocol=protocol)
            assert same.status == 304
            head = site.get("/large", method="HEAD", protocol=protocol)
            assert head.field("content-length") == str(len(LARGE))
            assert site.loads() == (0 if restarted else 1)
    assert (folder.stat().st_mode & 0o777) == 0o700


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_first_request_after_a_restart(s3, folder, protocol):
    """A part is read from the disk, and checked."""
    fill(s3, folder)
    with caching(s3, folder, tls=protocol.tls) as site:
        for first, last in ((0, 0), (BLOCK - 1, BLOCK), (4_999_999, 4_999_999), (7, 4_000_000)):
            part = site.get("/large", ("range", f"bytes={first}-{last}"), protocol=protocol)
            assert part.status == 206 and part.body == LARGE[first:last + 1]
        assert site.get("/large", method="HEAD").field("content-length") == str(len(LARGE))
        assert site.get("/large", ("range", "bytes=5000000-")).status == 416
        assert site.loads() == 0 and site.count("requests_total", op="head") == 0


def test_parts_of_what_is_not_there(s3, folder):
    with caching(s3, folder) as site:
        assert site.get("/large", ("range", "bytes=5-9")).body == LARGE[5:10]
        assert site.get("/large", method="HEAD").status == 200
        assert site.kept() == []


def test_uploaded_files(s3, folder):
    with caching(s3, folder, "upload = true") as site:
        assert fetch(site.server, PROTOCOLS[0], "/files/u.bin", "PUT", body=LARGE).status == 201
        for _ in range(3):
            assert site.get("/files/u.bin").body == LARGE
        assert site.hits() == 2
        assert site.get("/files/u.bin").field("x-content-type-options") == "nosniff"


def test_reload(s3, folder):
    with caching(s3, folder, quiet=False) as site:
        assert site.get("/large").body == LARGE
        site.server.signal(signal.SIGHUP)
        site.server.wait_for_message("the configuration was read anew")
        for _ in range(3):
            assert site.get("/large").body == LARGE
        assert site.loads() == 1


# --- changes and failures -----------------------------------------------------------------------


def test_changes_are_seen(s3, folder):
    with caching(s3, folder) as site:
        s3.put("pre/changing", noise(2_000_000, 1))
        assert site.get("/changing").body == noise(2_000_000, 1)
        s3.put("pre/changing", noise(3_000_000, 2))
        wait_until(lambda: site.get("/changing").body == noise(3_000_000, 2), "the change")
        assert [path.stat().st_size for path in site.kept()] == [3_000_000]
    s3.put("pre/changing", noise(2_000_000, 3))
    with caching(s3, folder) as site:
        assert site.get("/changing").body == noise(2_000_000, 3)
        s3.remove("pre/changing")
        wait_until(lambda: site.get("/changing").status == 404, "the removal")
        assert site.kept() == []


@pytest.mark.parametrize("at", [0, BLOCK - 1, 3 * BLOCK, len(LARGE) - 1])
def test_damaged_file(s3, folder, at):
    fill(s3, folder)
    file, = Site(None, folder).kept()
    times = file.stat()
    with open(file, "r+b") as damaged:
        damaged.seek(at)
        damaged.write(bytes([LARGE[at] ^ 1]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    with caching(s3, folder, quiet=False) as site:
        assert site.get("/large").body == LARGE
        site.server.wait_for_message("its file is damaged; the store is asked instead")
        assert site.count("cache_failures_total") == 1
        assert site.kept() == []
        assert site.get("/large").body == LARGE
        assert len(site.kept()) == 1


def test_file_that_was_cut(s3, folder):
    with caching(s3, folder, quiet=False) as site:
        assert site.get("/large").body == LARGE
        os.truncate(site.kept()[0], 1000)
        assert site.get("/large").body == LARGE
        site.server.wait_for_message("its file is damaged; the store is asked instead")


@needs_s3
def test_nothing_stale_of_a_store_that_is_down(folder):
    with S3() as s3, caching(s3, folder, quiet=False) as site:
        s3.put("pre/large", LARGE)
        assert site.get("/large").body == LARGE
        s3.kill()
        wait_until(lambda: site.get("/large").status == 502, "it is not used any more")
        s3.start()
        wait_until(lambda: site.get("/large").status == 200, "the store is asked again")
        assert site.get("/large").body == LARGE
        assert site.loads() == 1


def test_killed_server(s3, folder):
    with caching(s3, folder) as site:
        assert site.get("/large").body == LARGE
        s3.put("pre/other", noise(20_000_000))
        with http1.Connection(site.server, receive_buffer=4096) as connection:
            connection.request("GET", "/other")
            next(connection.body_pieces(connection.answer_head()))
            wait_until(lambda: list(folder.glob(f"{TEMPORARY_PREFIX}*")), "the file is written")
            site.server.status = -signal.SIGKILL
            site.server.signal(signal.SIGKILL)
            wait_until(lambda: not site.server.running, "the end")
    with caching(s3, folder) as site:
        assert not list(folder.glob(f"{TEMPORARY_PREFIX}*"))
        assert [path.stat().st_size for path in site.kept()] == [len(LARGE)]
        assert site.get("/other").body == noise(20_000_000)
        assert site.get("/large").body == LARGE
        assert site.loads() == 1


def test_client_that_leaves(s3, folder):
    s3.put("pre/other", noise(20_000_000))
    with caching(s3, folder) as site:
        with http1.Connection(site.server, receive_buffer=4096) as connection:
            connection.request("GET", "/other")
            next(connection.body_pieces(connection.answer_head()))
            # Others are not held up by it.
            assert site.get("/other").body == noise(20_000_000)
            connection.reset()
        def filled():
            assert site.get("/other").body == noise(20_000_000)
            return len(site.kept()) == 1
        wait_until(filled, "another request fills the cache")
        assert not list(folder.glob(f"{TEMPORARY_PREFIX}*"))


def test_directory_that_disappears(s3, folder):
    with caching(s3, folder, quiet=False) as site:
        folder.rename(folder.with_name("aside"))
        subprocess.run(["rm", "-rf", folder.with_name("aside")], check=True)
        for _ in range(3):
            assert site.get("/large").body == LARGE
        site.server.wait_for_message(
            f"can't write an object in {folder}: No such file or directory; the store is asked")
        assert site.server.stderr.count("No such file") == 1


# --- room ---------------------------------------------------------------------------------------


def test_eviction(s3, folder):
    """Eight objects fit. The use of one is noted when the store is asked about it."""
    objects = {f"e{number}": noise(1_400_000 + number, number) for number in range(12)}
    for name, content in objects.items():
        s3.put(f"pre/{name}", content)
    with caching(s3, folder, 'store-cache-size = "12M"') as site:
        for number, (name, content) in enumerate(objects.items()):
            if number == 8:
                wait_until(lambda: site.get("/e0").body == objects["e0"] and site.count(
                    "requests_total", op="get", outcome="not_modified") > 0, "the use of e0")
            assert site.get(f"/{name}").body == content
            assert sum(path.stat().st_size for path in site.kept()) <= 12_000_000
        assert site.count("cache_evictions_total") == 4
        for name in ("e0", "e5"):
            assert site.get(f"/{name}").body == objects[name]
        assert site.loads() == 12, "both are there"
        assert site.get("/e1").body == objects["e1"]
        assert site.loads() == 13, "it has made room"
        assert site.get("/large").body == LARGE, "more than an eighth"
        assert len(site.kept()) == 8


def test_small_disk(s3, folder):
    """The disk decides before the size does. A twentieth of it stays free."""
    for name in ("s1", "s2"):
        s3.put(f"pre/{name}", noise(2_000_000, len(name)))
    lines = (f'store-cache = "{folder}"', 'admin = "unix:admin.sock"')
    server = serving(s3, *lines, quiet=False)
    server.command = with_small_disk(folder, server.command)
    with server:
        inside = pathlib.Path(f"/proc/{server.pid}/root{folder}")
        site = Site(server, inside)
        for name in ("s1", "s2", "s1"):
            assert site.get(f"/{name}").body == noise(2_000_000, len(name))
            assert len(site.kept()) == 1, "one takes the place of the other"
        (inside / "others").write_bytes(bytes(1_500_000))
        for _ in range(3):
            assert site.get("/large").body == LARGE
        server.wait_for_message("can't write an object in "
                                f"{folder}: No space left on device; the store is asked instead")
        assert server.stderr.count("No space left") == 1


# --- several at once ----------------------------------------------------------------------------


def test_many_at_once(s3, folder):
    with caching(s3, folder) as site:
        for _ in range(2):
            with http2.Connection(site.server) as connection:
                streams = [connection.request("GET", "/large") for _ in range(20)]
                assert all(connection.answer(stream).body == LARGE for stream in streams)
        assert len(site.kept()) == 1
        wait_until(lambda: site.hits() >= 20, "the second twenty were hits")


def test_two_servers_in_one_directory(s3, folder):
    objects = {f"t{number}": noise(1_500_000 + number, number) for number in range(6)}
    for name, content in objects.items():
        s3.put(f"pre/{name}", content)
    wrong = []
    with caching(s3, folder) as first, caching(s3, folder) as second:
        def load(site):
            for name, content in list(objects.items()) * 3:
                if site.get(f"/{name}").body != content:
                    wrong.append(name)

        threads = [threading.Thread(target=load, args=(site,)) for site in (first, second) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LAST_RESORT_S)
        assert not wrong
        sizes = sorted(path.stat().st_size for path in first.kept())
        assert sizes == sorted(len(content) for content in objects.values())
    with caching(s3, folder) as site:
        for name, content in objects.items():
            assert site.get(f"/{name}").body == content
        assert site.loads() == 0


# --- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, message", [
    (["--store-cache", "c"], "--store-cache needs --store"),
    (["--store", "s3://b", "--store-cache-size", "1M"], "--store-cache-size needs --store-cache"),
    (["--store", "s3://b", "--store-cache", "file"], "can't write to file: "),
])
def test_wrong_options(tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    done = subprocess.run([BINARY, "--port", "0", "--h2c", *arguments], cwd=tmp_path,
                          capture_output=True, text=True, timeout=LAST_RESORT_S)
    assert done.returncode == 2 and message in done.stderr, done.stderr
