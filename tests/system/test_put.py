"""PUT below /files, over every protocol."""

import base64
import concurrent.futures
import hashlib
import os
import signal
import subprocess

import httpx
import pytest

from support import pairs
from support.contents import form, form_type, noise, sha256_of_file, write_noise
from support.environment import tool
from support.pairs import Pair
from support.processes import members, of_threads
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.small_disk import OnASmallDisk
from support.waiting import wait_until

# Schemes whose workers share memory, and one that forks.
USUAL = pairs.USUAL if pairs.CHOSEN else [*pairs.USUAL, Pair("process-per-connection", "blocking")]


def digest(content, algorithm="sha256"):
    value = base64.b64encode(hashlib.new(algorithm, content).digest()).decode()
    return f"sha-{algorithm[3:]}=:{value}:"


def put(server, protocol, name, content, *fields):
    return fetch(server, protocol, f"/files/{name}", "PUT", fields, content)


def begin(server, protocol, name, size):
    """Sends half of an upload with Content-Length. Returns the connection, and a function that
    sends the other half and returns the answer."""
    content = noise(size)
    before = len(server.temporary_files())
    connection = protocol.connect(server)
    if protocol.http2:
        stream = connection.request("PUT", f"/files/{name}", [("content-length", str(size))],
                                    content[: size // 2], ends=False)
    else:
        connection.send(f"PUT /files/{name} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"
                        .encode() + content[: size // 2])
    wait_until(lambda: len(server.temporary_files()) > before, "the upload has begun")

    def finish():
        if not protocol.http2:
            connection.send(content[size // 2:])
            return connection.answer()
        connection.run_until(lambda: not stream.unsent, "the first half is sent")
        stream.unsent, stream.ends = memoryview(content[size // 2:]), True
        connection.resume(stream)
        return connection.answer(stream)

    return connection, finish


# --- content -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])
def test_by_curl(site, tmp_path, size):
    name = f"{site.name} {size}.bin"
    content = noise(size)
    (tmp_path / name).write_bytes(content)
    command = [tool("curl"), "-sS", "-k", site.protocol.curl, "-w", "%{http_code} %{http_version}",
               "-D", tmp_path / "head", "-T", tmp_path / name, site.server.url + "files/"]
    version = "2" if site.protocol.http2 else "1.1"
    # curl 7.88 may lose an answer that comes, with the reset of the stream, while it sends.
    early = site.protocol.http2 and size > 65_537
    for status in ("201",) if early else ("201", "409"):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1].endswith(f"{status} {version}"), done
        if status == "201":
            head = (tmp_path / "head").read_text().lower()
    assert (site.server.uploads / name).read_bytes() == content
    got = site.fetch("/files/" + name.replace(" ", "%20"))
    assert got.body == content
    assert f"etag: {got.field('etag')}\n" in head
    assert f"repr-digest: {digest(content)}\n".lower() in head


def test_by_curl_from_a_pipe(site):
    """curl does not know the size: chunked over HTTP/1.1."""
    done = subprocess.run(
        [tool("curl"), "-sS", "-k", site.protocol.curl, "-w", "%{http_code}", "-T", "-",
         f"{site.server.url}files/{site.name}"],
        input=noise(500_000), capture_output=True, check=True)
    assert done.stdout == b"201"
    assert (site.server.uploads / site.name).read_bytes() == noise(500_000)


def test_by_httpx(server_for):
    """It speaks HTTP/2 with TLS only."""
    content = noise(1_000_000)
    url = server_for(True).url + "files/by%20httpx"
    with httpx.Client(http2=True, verify=False) as client:
        response = client.put(url, content=content)
        assert (response.status_code, response.http_version) == (201, "HTTP/2")
        assert response.headers["repr-digest"] == digest(content)
        tag = response.headers["etag"]
        assert client.put(url, content=b"x", headers={"if-match": '"other"'}).status_code == 412
        assert client.put(url, content=b"x", headers={"if-none-match": "*"}).status_code == 412
        assert client.get(url).content == content
        response = client.put(url, content=b"new", headers={"if-match": tag})
        assert response.status_code == 204
        assert response.headers["etag"] != tag
        assert client.get(url).content == b"new"


def test_large(tmp_path):
    """Large enough for several claims of space, and for allocated space to be used up."""
    size = 200_000_000
    written = write_noise(tmp_path / "large", size)
    with Server() as server:
        subprocess.run([tool("curl"), "-sS", "-f", "-T", tmp_path / "large", server.url + "files/"],
                       check=True)
        stored = server.uploads / "large"
        assert sha256_of_file(stored) == written
        assert stored.stat().st_blocks * 512 <= size + 65_536, "nothing is allocated beyond the end"


def test_the_connection_goes_on(site):
    """Refusals leave a connection usable if the body was small."""
    with site.connect() as connection:
        for number, (fields, status) in enumerate([((), 201), ([("content-range", "x")], 400),
                                                   ([("content-digest", digest(b"x"))], 400),
                                                   ((), 201)]):
            path = f"/files/{site.name}-{number}"
            if site.protocol.http2:
                stream = connection.request("PUT", path, fields, b"content")
                assert connection.answer(stream).status == status
            else:
                connection.request("PUT", path, fields, b"content")
                assert connection.answer().status == status


# --- refusals ------------------------------------------------------------------------------------

REFUSALS = {
    "content-range": ([("content-range", "bytes 0-6/7")], 400),
    "coding": ([("content-encoding", "gzip")], 415),
    "another site": ([("sec-fetch-site", "cross-site")], 403),
    "another origin": ([("origin", "https://elsewhere.example")], 403),
    "no digest": ([("content-digest", "sha-256=1")], 400),
    "another digest": ([("content-digest", digest(b"other"))], 400),
    "another SHA-512": ([("repr-digest", digest(b"other", "sha512"))], 400),
    "nothing to match": ([("if-match", "*")], 412),
}


@pytest.mark.parametrize("fields, status", REFUSALS.values(), ids=REFUSALS)
def test_refusals(site, fields, status):
    answer = site.fetch(f"/files/{site.name}", "PUT", fields, b"content")
    assert answer.status == status
    assert not (site.server.uploads / site.name).exists()
    assert site.server.temporary_files() == []


ACCEPTED = [digest(b"content"), digest(b"content", "sha512"), "md5=:AA==:",
            f"md5=:AA==:, {digest(b'content')};x, {digest(b'content', 'sha512')}"]


@pytest.mark.parametrize("value", ACCEPTED)
def test_digests(site, value):
    for field in ("content-digest", "repr-digest"):
        answer = site.fetch(f"/files/{site.name}-{field}", "PUT", [(field, value)], b"content")
        assert answer.status == 201
        assert answer.field("repr-digest") == digest(b"content")


PATHS = ["", "%2e%2e", "..%2fx", "a%2f..%2fb", ".hidden", "%20x", "a%2fb", "a/b", "h2_tmp_1_2_0",
         "%ff", "%00", "x" * 256]


@pytest.mark.parametrize("path", PATHS)
def test_paths(site, path):
    before = site.server.uploaded()
    answer = site.fetch(f"/files/{path}", "PUT", (), b"content")
    assert answer.status == 400, answer
    assert site.server.uploaded() == before


def test_sizes():
    with Server("--upload-max", "100k", "--upload-total", "200k", "--upload-overwrite") as server:
        for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
            assert put(server, protocol, "a", noise(100_001)).status == 413
            assert put(server, protocol, "a", noise(100_000)).status in (201, 204)
        assert fetch(server, PROTOCOLS[0], "/files", "POST", [form_type()],
                     form(("b", noise(100_000)))).status == 201
        assert put(server, PROTOCOLS[0], "c", b"x").status == 413, "files of forms count"
        assert server.uploaded() == ["a", "b"]
    with Server("--upload-reserve", "1000T") as server:
        assert put(server, PROTOCOLS[0], "a", b"x").status == 507
        assert server.uploaded() == []


WAITING = [("--upload-max", "100k", "413"), ("--upload-total", "100k", "413"),
           ("--upload-reserve", "1000T", "507"), (None, None, "409")]


@pytest.mark.parametrize("option, value, status", WAITING)
@pytest.mark.parametrize("protocol", PROTOCOLS[:2], ids=name_of)
def test_curl_sends_nothing_in_vain(protocol, option, value, status, tmp_path):
    """curl waits for 100 (Continue)."""
    (tmp_path / "file").write_bytes(bytes(2_000_000))
    with Server(*([option, value] if option else []), tls=protocol.tls) as server:
        if option is None:
            (server.uploads / "file").write_bytes(b"old")
        done = subprocess.run(
            [tool("curl"), "-sS", "-k", protocol.curl, "--expect100-timeout", "60", "-H",
             "Expect: 100-continue", "-o", tmp_path / "answer", "-w", "%{http_code} %{size_upload}",
             "-T", tmp_path / "file", server.url + "files/"],
            capture_output=True, text=True, check=False)
        assert done.stdout.split() == [status, "0"], done
        assert server.uploaded() == ([] if option else ["file"])


# --- broken uploads ------------------------------------------------------------------------------


def test_broken_off(site):
    for number in range(3):
        connection, _ = begin(site.server, site.protocol, f"{site.name}-{number}", 400_000)
        if number == 0:
            connection.close()
        else:
            connection.reset()
        wait_until(lambda: not site.server.temporary_files(), "what broke off is removed")
    assert not [name for name in site.server.uploaded() if name.startswith(f"{site.name}-")]
    assert site.fetch(f"/files/{site.name}-0", "PUT", (), b"x").status == 201, "the name is free"


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_killed_server_leaves_nothing(protocol):
    with Server(tls=protocol.tls) as server:
        (server.uploads / "kept").write_bytes(b"kept")
        connection, _ = begin(server, protocol, "half", 500_000)
        with connection:
            for pid in members(server.pid):  # a surviving child would clean up
                os.kill(pid, signal.SIGKILL)
            server.process.wait()
        assert len(server.temporary_files()) == 1
        server.start()
        assert server.uploaded() == ["kept"]
        assert put(server, protocol, "half", b"whole").status == 201


def test_stopped_server_leaves_nothing():
    with Server() as server:
        connection, finish = begin(server, PROTOCOLS[0], "whole", 500_000)
        with connection:
            server.signal()
            assert finish().status == 201, "what was begun is finished"
        server.stop()
        assert server.uploaded() == ["whole"]


# --- a full disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_full_disk(protocol):
    with OnASmallDisk("--upload-reserve", "0", tls=protocol.tls) as server:
        assert put(server, protocol, "large", noise(6_000_000)).status == 507
        assert server.stored() == {}
        assert put(server, protocol, "small", noise(3_000_000)).status == 201
        assert put(server, protocol, "more", noise(3_000_000)).status == 507
        assert server.stored() == {"small": 3_000_000}


# --- at once -------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", USUAL, ids=name_of)
def test_second_upload_of_a_name(pair):
    with Server("--upload-overwrite", pair=pair, workers=2) as server:
        for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
            connection, finish = begin(server, protocol, "name", 500_000)
            with connection:
                for other in (PROTOCOLS[0], PROTOCOLS[2]):
                    assert put(server, other, "name", b"x").status == 409
                    assert fetch(server, other, "/files", "POST", [form_type()],
                                 form(("free", b"x"), ("name", b"x"))).status == 409
                assert put(server, PROTOCOLS[0], "other", b"x").status in (201, 204)
                assert finish().status in (201, 204)
            assert (server.uploads / "name").read_bytes() == noise(500_000)
        assert put(server, PROTOCOLS[0], "name", b"new").status == 204
        assert server.uploaded() == ["name", "other"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("pair", USUAL, ids=name_of)
def test_race_for_a_name(pair, overwrite):
    contents = [noise(200_000, seed) for seed in range(8)]
    with Server(*(["--upload-overwrite"] if overwrite else []), pair=pair, workers=2) as server:
        for number in range(5):
            name = f"name{number}"

            def upload(index, name=name):
                protocol = PROTOCOLS[0] if index % 2 else PROTOCOLS[2]
                return put(server, protocol, name, contents[index]).status

            with concurrent.futures.ThreadPoolExecutor(len(contents)) as pool:
                statuses = list(pool.map(upload, range(len(contents))))
            stored = (server.uploads / name).read_bytes()
            winners = [index for index, status in enumerate(statuses) if status in (201, 204)]
            assert statuses.count(201) == 1, statuses
            assert statuses.count(204) == 0 or overwrite, statuses
            assert len(winners) + statuses.count(409) == len(contents), statuses
            assert stored in [contents[index] for index in winners]


# --- options -------------------------------------------------------------------------------------


def test_folders():
    with Server("--upload-folders") as server:
        for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
            content = noise(100_000)
            name = f"{protocol.name}/deep/a.bin"
            assert put(server, protocol, name, content).status == 201
            assert (server.uploads / name).read_bytes() == content
            assert put(server, protocol, name, content).status == 409
            assert put(server, protocol, name + "/below", content).status == 409
            assert put(server, protocol, f"{protocol.name}/deep", content).status == 409
            assert put(server, protocol, f"{protocol.name}/../x", content).status in (400, 404, 405)
            connection, _ = begin(server, protocol, "new/folder/b", 400_000)
            connection.reset()
            wait_until(lambda: not server.temporary_files(), "what broke off is removed")
            answer = fetch(server, protocol, "/files", "POST", [form_type()],
                           form((f"{protocol.name}/form/c", b"c"), ("d", b"d")))
            assert answer.status == 409 if protocol.http2 else 201
        assert (server.uploads / "h1/form/c").read_bytes() == b"c"
        assert server.uploaded() == ["d", "h1", "h2c"]


def traced(pid):
    return not any("TracerPid:\t0\n" in status for status in of_threads(pid, "status"))


@pytest.mark.parametrize("durability", ["none", "file", "file+directory"])
def test_durability(durability, tmp_path):
    """Counts the calls that write to the disk."""
    log = tmp_path / "calls"
    with Server("--upload-durability", durability, "--upload-folders") as server:
        pids = members(server.pid)
        strace = subprocess.Popen(
            [tool("strace"), "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", log,
             *(f"--attach={pid}" for pid in pids)], stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: all(traced(pid) for pid in pids), "it is traced")
            assert put(server, PROTOCOLS[0], "new/a", b"content").status == 201
        finally:
            strace.terminate()
            strace.wait()
            strace.stderr.close()
        calls = log.read_text().count("fsync(")
        # The folder of the file, and the one with the new folder's name.
        assert calls == {"none": 0, "file": 1, "file+directory": 3}[durability]
