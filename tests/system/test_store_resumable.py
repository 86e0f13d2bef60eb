"""Resumable uploads into an S3 store, by tus 1.0.0 and by the IETF's draft: a client goes on at
another server after one was killed, and after the store was."""

import contextlib
import hashlib
import signal
import threading

import pytest

from support import http1
from support.contents import noise, sha256, write_noise
from support.protocols import PROTOCOLS, name_of
from support.resumable import (DRAFT, DRAFT_TYPE, TUS, TUS_TYPE, Client, base64_of, digest_field,
                               finish, run_tuspy, start_tus_js, tus_name)
from support.s3 import S3, credentials_given, needs_s3, serving
from support.waiting import wait_until

pytestmark = needs_s3

MEBIBYTE = 1024 * 1024
PART = 8 * MEBIBYTE
LEASE_S = 20
CONTENT = noise(50_000_000)
ACKNOWLEDGED = 20_000_000  # two parts, and a tail
H1 = PROTOCOLS[0]
CLEARTEXT = [protocol for protocol in PROTOCOLS if not protocol.tls]
UPLOADS = "pre/files/.h2server/uploads/"


@pytest.fixture(scope="module", autouse=True)
def credentials():
    with credentials_given() as patch:
        yield patch


@pytest.fixture(scope="module")
def s3():
    with S3() as store:
        yield store


def taking(s3, *lines, **options):
    return serving(s3, "upload = true", *lines, **options)


@pytest.fixture(scope="module")
def server(s3):
    with taking(s3) as server:
        yield server


@pytest.fixture(scope="module")
def other(s3):
    with taking(s3) as server:
        yield server


def objects_of(s3, url):
    """Returns the names of the objects that are known of an upload."""
    prefix = f"{UPLOADS}{url.rsplit('/', 1)[1]}/"
    return [key.removeprefix(prefix) for key in s3.keys(prefix)]


def only_the_file_is_left(s3, url, name):
    assert objects_of(s3, url) == ["state"]
    assert s3.parts_begun(f"pre/files/{name}") == []


def read_back(server, name):
    answer = Client(server, H1).ask("GET", f"/files/{name}")
    return answer.body if answer.status == 200 else None


def begin(server, method, path, fields, content, sent):
    """Sends the head of a request, and the first bytes of its content."""
    connection = http1.Connection(server)
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    connection.send("\r\n".join(lines).encode() + b"\r\n\r\n" + content[:sent])
    return connection


def begin_tus_append(server, url):
    return begin(server, "PATCH", url, [TUS, TUS_TYPE, ("upload-offset", str(ACKNOWLEDGED))],
                 CONTENT[ACKNOWLEDGED:], 20_000_000)


# --- a server is killed -------------------------------------------------------------------------


def start_tus(server):
    client = Client(server, H1)
    url = client.tus_create("killed-tus", ("upload-length", str(len(CONTENT))))
    assert client.tus_append(url, 0, CONTENT[:ACKNOWLEDGED]).status == 204
    return url, begin_tus_append(server, url)


def start_draft(server):
    client = Client(server, H1)
    url = client.draft_create("killed-draft", ("repr-digest", digest_field(CONTENT)))
    assert client.draft_append(url, 0, "?0", CONTENT[:ACKNOWLEDGED]).status == 204
    fields = [DRAFT, DRAFT_TYPE, ("upload-offset", str(ACKNOWLEDGED)), ("upload-complete", "?1")]
    return url, begin(server, "PATCH", url, fields, CONTENT[ACKNOWLEDGED:], 20_000_000)


def start_put(server):
    """What it has acknowledged is the place of the upload."""
    connection = begin(server, "PUT", "/files/killed-put", [DRAFT, ("upload-complete", "?1")],
                       CONTENT, ACKNOWLEDGED)
    interim = connection.answer_head()
    assert interim.status == 104
    return interim.field("location"), connection


def end_tus(client, url):
    offset = client.tus_offset(url)
    return offset, client.tus_append(url, offset, CONTENT[offset:])


def end_draft(client, url):
    offset, complete = client.draft_state(url)
    assert complete == "?0"
    return offset, client.draft_append(url, offset, "?1", CONTENT[offset:])


# How it begins, how it ends, the status of a success, and what was acknowledged.
KINDS = {"tus": (start_tus, end_tus, 204, ACKNOWLEDGED),
         "draft": (start_draft, end_draft, 201, ACKNOWLEDGED),
         "put": (start_put, end_draft, 201, PART)}


@pytest.fixture(scope="module")
def killed(s3, other):
    """Returns the URLs of uploads whose server was killed while each was sent."""
    urls = {}
    with taking(s3) as server, contextlib.ExitStack() as connections:
        for kind, (start, *_, acknowledged) in KINDS.items():
            urls[kind], connection = start(server)
            connections.callback(connection.close)
            seen = Client(other, H1)
            wait_until(lambda: seen.progress(urls[kind])["offset"] >= acknowledged,  # noqa: B023
                       "parts are stored")
        server.signal(signal.SIGKILL)
        server.process.wait()
        server.status = -signal.SIGKILL
    return urls


@pytest.mark.parametrize("kind", KINDS)
def test_goes_on_at_another_server(s3, other, killed, kind):
    _, end, success, acknowledged = KINDS[kind]
    client, url, name = Client(other, H1), killed[kind], f"killed-{kind}"
    ends = []

    def ended():
        ends.append(end(client, url))
        return ends[-1][1].status != 423

    # The first waits for the lease of the killed server; those of the others end meanwhile.
    wait_until(ended, "the lease ends")
    offset, answer = ends[-1]
    assert (answer.status, offset >= acknowledged) == (success, True), answer
    if kind == list(KINDS)[0]:
        assert len(ends) > 1, "the lease was held"
    assert client.progress(url)["sha256"] == sha256(CONTENT)
    only_the_file_is_left(s3, url, name)
    assert sha256(read_back(other, name)) == sha256(CONTENT)
    with taking(s3) as third:
        assert sha256(read_back(third, name)) == sha256(CONTENT)
        assert Client(third, H1).progress(url)["complete"] is True


# --- the store is killed ------------------------------------------------------------------------


def test_store_that_ends():
    with S3() as s3, taking(s3, quiet=False) as server:
        client = Client(server, H1)
        url = client.tus_create("hit", ("upload-length", str(len(CONTENT))))
        assert client.tus_append(url, 0, CONTENT[:ACKNOWLEDGED]).status == 204
        connection = begin_tus_append(server, url)
        wait_until(lambda: client.progress(url)["offset"] > ACKNOWLEDGED, "a part is stored")
        s3.kill()
        sending = threading.Thread(target=_send, args=(connection, CONTENT[40_000_000:]))
        sending.start()
        assert connection.answer().status in (502, 503, 504)
        connection.close()
        sending.join()
        assert client.ask("HEAD", url, TUS).status in (502, 503, 504)
        s3.start()
        ends = []

        def ended():
            ends.append(end_tus(client, url))
            return ends[-1][1].status != 423

        wait_until(ended, "the lease ends")
        offset, answer = ends[-1]
        assert (answer.status, offset >= ACKNOWLEDGED) == (204, True), answer
        assert sha256(read_back(server, "hit")) == sha256(CONTENT)
        only_the_file_is_left(s3, url, "hit")


def _send(connection, data):
    with contextlib.suppress(OSError):
        connection.socket.sendall(data)


# --- the protocols ------------------------------------------------------------------------------


def tus_at_once(client, name, content):
    answer = client.ask("POST", "/uploads", TUS, TUS_TYPE, tus_name(name),
                        ("upload-length", str(len(content))), body=content)
    return answer, 201


def tus_in_two(client, name, content):
    url = client.tus_create(name, ("upload-length", str(len(content))))
    half = len(content) // 2
    if half > 0:
        assert client.tus_append(url, 0, content[:half]).status == 204
    assert client.tus_offset(url) == half
    return client.tus_append(url, half, content[half:]), 204


def draft_at_once(client, name, content):
    answer = client.ask("POST", f"/uploads?name={name}", DRAFT, ("upload-complete", "?1"),
                        body=content)
    return answer, 201


def draft_in_two(client, name, content):
    half = len(content) // 2
    answer = client.ask("PUT", f"/files/{name}", DRAFT, ("upload-complete", "?0"),
                        body=content[:half])
    assert answer.status == 201, answer
    url = answer.field("location")
    assert client.draft_state(url) == (half, "?0")
    return client.draft_append(url, half, "?1", content[half:]), 201


WAYS = {"tus-1": tus_at_once, "tus-2": tus_in_two, "draft-1": draft_at_once,
        "draft-2": draft_in_two}


@pytest.mark.parametrize("protocol", CLEARTEXT, ids=name_of)
@pytest.mark.parametrize("way", WAYS)
def test_sizes(s3, server, protocol, way):
    client = Client(server, protocol)
    for size in (0, 1, PART - 1, PART, PART + 1):
        name = f"size-{way}-{protocol.name}-{size}"
        content = noise(size)
        answer, status = WAYS[way](client, name, content)
        assert answer.status == status, (name, answer)
        assert read_back(server, name) == content, name
        assert s3.parts_begun(f"pre/files/{name}") == [], name
    assert [key for key in s3.keys(UPLOADS) if not key.endswith("/state")] == []


@pytest.mark.parametrize("protocol", CLEARTEXT, ids=name_of)
def test_checksums(server, protocol):
    client = Client(server, protocol)
    name = f"checked-{protocol.name}"
    pieces = [b"abc", noise(PART + 5)]
    url = client.tus_create(name, ("upload-length", str(sum(map(len, pieces)))))
    for algorithm, piece in zip(("sha1", "sha256"), pieces, strict=True):
        right = base64_of(hashlib.new(algorithm, piece).digest())
        checksum = ("upload-checksum", f"{algorithm} {right}")
        offset = client.tus_offset(url)
        assert client.tus_append(url, offset, b"x" + piece[1:], checksum).status == 460
        assert client.tus_offset(url) == offset
        assert client.tus_append(url, offset, piece, checksum).status == 204
    assert read_back(server, name) == b"".join(pieces)


def test_content_with_a_checksum_is_limited(server):
    client = Client(server, H1)
    content = noise(16 * MEBIBYTE + 1)
    url = client.tus_create("long-checked", ("upload-length", str(len(content))))
    checksum = ("upload-checksum", f"sha256 {base64_of(hashlib.sha256(content).digest())}")
    assert client.tus_append(url, 0, content, checksum).status == 413
    assert client.tus_offset(url) == 0
    assert client.ask("DELETE", url, TUS).status == 204


def test_wrong_digest_of_the_whole(s3, server):
    client = Client(server, H1)
    content = noise(PART + 5)
    url = client.draft_create("mismatched", ("repr-digest", digest_field(content)))
    assert client.draft_append(url, 0, "?1", b"x" + content[1:]).status == 400
    assert client.ask("HEAD", url, DRAFT).status == 404
    assert (objects_of(s3, url), s3.parts_begun("pre/files/mismatched")) == ([], [])
    assert read_back(server, "mismatched") is None


# --- several servers ----------------------------------------------------------------------------


def end_in_parallel(servers, name, contents):
    """Ends an upload of that name at each server. Returns the URLs and the statuses."""
    clients = [Client(server, H1) for server in servers]
    urls = [client.tus_create(name, ("upload-length", str(len(content))))
            for client, content in zip(clients, contents, strict=True)]
    statuses = [0, 0]

    def append(number):
        answer = clients[number].tus_append(urls[number], 0, contents[number])
        statuses[number] = answer.status

    threads = [threading.Thread(target=append, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return urls, statuses


@pytest.mark.parametrize("size", [10, 20_000_000])
def test_one_of_two_gets_the_name(s3, server, other, size):
    name = f"race-{size}"
    contents = [noise(size, seed) for seed in (1, 2)]
    urls, statuses = end_in_parallel((server, other), name, contents)
    assert sorted(statuses) == [204, 409]
    assert read_back(server, name) == contents[statuses.index(204)]
    client, loser = Client(server, H1), urls[statuses.index(409)]
    progress = client.progress(loser)
    assert (progress["offset"], progress["complete"]) == (size, False)
    assert client.ask("DELETE", loser, TUS).status == 204
    assert objects_of(s3, loser) == []
    only_the_file_is_left(s3, urls[statuses.index(204)], name)


@pytest.mark.parametrize("size", [10, 20_000_000])
def test_both_may_overwrite(s3, size):
    contents = [noise(size, seed) for seed in (1, 2)]
    name = f"over-{size}"
    with taking(s3, "upload-overwrite = true") as first, \
            taking(s3, "upload-overwrite = true") as second:
        urls, statuses = end_in_parallel((first, second), name, contents)
        assert statuses == [204, 204]
        assert read_back(first, name) in contents
        for url in urls:
            only_the_file_is_left(s3, url, name)


def test_one_request_at_a_time(server, other):
    client = Client(other, H1)
    url = client.tus_create("locked", ("upload-length", str(len(CONTENT))))
    assert client.tus_append(url, 0, CONTENT[:ACKNOWLEDGED]).status == 204
    connection = begin_tus_append(server, url)
    wait_until(lambda: client.progress(url)["offset"] > ACKNOWLEDGED, "a part is stored")
    assert client.tus_append(url, ACKNOWLEDGED, b"x").status == 423
    assert client.draft_append(url, ACKNOWLEDGED, "?0", b"x").status == 423
    assert client.ask("DELETE", url, TUS).status == 423
    connection.close()
    wait_until(lambda: client.tus_append(url, 0, b"x").status == 409, "the lease is given back")
    assert client.tus_offset(url) >= ACKNOWLEDGED
    assert client.ask("DELETE", url, TUS).status == 204


# --- removal ------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", CLEARTEXT, ids=name_of)
def test_delete(s3, server, other, protocol):
    client = Client(server, protocol)
    name = f"deleted-{protocol.name}"
    url = client.tus_create(name, ("upload-length", str(len(CONTENT))))
    assert client.tus_append(url, 0, CONTENT[:ACKNOWLEDGED]).status == 204
    assert "tail-00003" in objects_of(s3, url)
    assert len(s3.parts_begun(f"pre/files/{name}")) == 1
    assert Client(other, protocol).ask("DELETE", url, TUS).status == 204
    assert (objects_of(s3, url), s3.parts_begun(f"pre/files/{name}")) == ([], [])
    assert client.ask("HEAD", url, TUS).status == 404
    assert read_back(server, name) is None


def test_delete_of_what_is_stored(s3, server):
    client = Client(server, H1)
    url = client.tus_create("kept", ("upload-length", "3"))
    assert client.tus_append(url, 0, b"abc").status == 204
    assert client.ask("DELETE", url, TUS).status == 204
    assert objects_of(s3, url) == []
    assert read_back(server, "kept") == b"abc"


def test_expiry():
    """What a client has left is removed, though nobody asks for it."""
    with S3() as s3:  # no other server has the lease of sweeps
        with taking(s3) as server:
            client = Client(server, H1)
            url = client.tus_create("abandoned", ("upload-length", str(len(CONTENT))))
            assert client.tus_append(url, 0, CONTENT[: PART + 5]).status == 204
        assert objects_of(s3, url) and s3.parts_begun("pre/files/abandoned")
        s3.remove("pre/files/.h2server/sweep-uploads")
        with taking(s3, 'upload-expiry = "2s"') as other:
            wait_until(lambda: not objects_of(s3, url), "it is removed")
            assert not s3.parts_begun("pre/files/abandoned")
            assert Client(other, H1).ask("HEAD", url, TUS).status == 404


# --- clients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"chunkSize": 5 * MEBIBYTE}, {"protocol": "ietf-draft-05"}],
                         ids=["tus", "draft"])
def test_tus_js_client(server, tmp_path, options):
    name = f"js-{options.get('protocol', 'tus')}"
    expected = write_noise(tmp_path / "file", 2 * PART + 17)
    if "protocol" in options:
        options = {**options, "endpoint": f"{server.url}uploads?name={name}"}
    finish(start_tus_js(server, tmp_path / "file", metadata={"filename": name}, **options))
    assert sha256(read_back(server, name)) == expected


def test_tuspy(server, tmp_path):
    expected = write_noise(tmp_path / "file", PART + 17)
    run_tuspy(server, tmp_path / "file")
    assert sha256(read_back(server, "tuspy")) == expected
