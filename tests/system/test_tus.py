"""Resumable uploads by tus 1.0.0: requests over every protocol, tus-js-client and tuspy; the
connection is cut and the server killed."""

import hashlib
import os
import time

import pytest

from support import pairs
from support.contents import noise, sha256, sha256_of_file, write_noise
from support.protocols import PROTOCOLS, name_of
from support.resumable import (PREFIX, TUS, TUS_TYPE, Client, UploadServer, base64_of, finish,
                               run_tuspy, start_tus_js, tus_name)
from support.waiting import wait_until

MIB = 1 << 20


@pytest.fixture(scope="module", params=[False, True], ids=["cleartext", "tls"])
def server(request):
    with UploadServer(tls=request.param) as server:
        yield server


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def client(request, server):
    if request.param.tls != server.tls:
        pytest.skip("the other server's")
    return Client(server, request.param)


@pytest.fixture
def own():
    """A server that the test may kill."""
    with UploadServer() as server:
        yield server


# --- the protocol --------------------------------------------------------------------------------


def test_abilities(client):
    for path in ("/uploads", "/uploads/x"):
        answer = client.ask("OPTIONS", path)
        assert answer.status == 204
        assert answer.field("tus-version") == "1.0.0"
        extensions = set(answer.field("tus-extension").split(","))
        assert extensions == {"creation", "creation-with-upload", "creation-defer-length",
                              "expiration", "checksum", "termination", "concatenation"}


def test_in_pieces(client):
    content = noise(700_000)
    name = f"pieces-{client.protocol.name}"
    url = client.tus_create(name, ("upload-length", str(len(content))))
    for first, last in ((0, 1), (1, 300_000), (300_000, len(content))):
        assert client.tus_offset(url) == first
        assert client.progress(url)["complete"] is False
        answer = client.tus_append(url, first, content[first:last])
        assert (answer.status, answer.field("upload-offset")) == (204, str(last))
        assert answer.field("upload-expires")
    assert (client.server.uploads / name).read_bytes() == content
    progress = client.progress(url)
    assert progress["complete"] is True
    assert progress["sha256"] == sha256(content)
    assert client.tus_offset(url) == len(content)
    assert client.ask("GET", progress["url"]).body == content


def test_creation_with_upload(client):
    name = f"created-{client.protocol.name}"
    answer = client.ask("POST", "/uploads", TUS, TUS_TYPE, tus_name(name), ("upload-length", "5"),
                        body=b"hello")
    assert (answer.status, answer.field("upload-offset")) == (201, "5")
    assert (client.server.uploads / name).read_bytes() == b"hello"


def test_checksums(client):
    name = f"checked-{client.protocol.name}"
    url = client.tus_create(name, ("upload-length", "6"))
    for algorithm in ("sha1", "sha256"):
        right = base64_of(hashlib.new(algorithm, b"abc").digest())
        checksum = ("upload-checksum", f"{algorithm} {right}")
        offset = client.tus_offset(url)
        assert client.tus_append(url, offset, b"abd", checksum).status == 460
        assert client.tus_offset(url) == offset
        assert client.tus_append(url, offset, b"abc", checksum).status == 204
    assert (client.server.uploads / name).read_bytes() == b"abcabc"


def test_refusals(client):
    name = f"refused-{client.protocol.name}"
    url = client.tus_create(name, ("upload-length", "6"))
    assert client.tus_append(url, 1, b"a").status == 409
    assert client.tus_append(url, 0, b"1234567").status == 413
    assert client.ask("HEAD", url, ("tus-resumable", "0.1")).status == 412
    assert client.ask("PATCH", url, TUS, ("upload-offset", "0"), body=b"a").status == 415
    assert client.ask("DELETE", url, TUS, ("sec-fetch-site", "cross-site")).status == 403
    assert client.ask("DELETE", url, TUS).status == 204
    assert client.ask("HEAD", url, TUS).status == 404


def stalled_append(client, url, body, announced):
    """Sends `body` of a PATCH that announces more bytes. Returns the connection and, with HTTP/2,
    the stream."""
    stream = None
    fields = [TUS, TUS_TYPE, ("upload-offset", "0"), ("content-length", str(announced))]
    connection = client.protocol.connect(client.server)
    if client.protocol.http2:
        stream = connection.request("PATCH", url, fields, body, ends=False)
        connection.run_until(lambda: not stream.unsent, "all is sent")
    else:
        lines = [f"PATCH {url} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in fields]
        connection.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    wait_until(lambda: client.tus_offset(url) >= 16_384, "a part is stored")
    return connection, stream


def status_of(connection, stream):
    return (connection.answer(stream) if stream else connection.answer()).status


def test_one_request_at_a_time_and_cuts(client):
    content = noise(200_000)
    name = f"cut-{client.protocol.name}"
    url = client.tus_create(name, ("upload-length", str(len(content))))
    connection, _ = stalled_append(client, url, content[:100_000], len(content))
    assert client.tus_append(url, 16_384, b"x").status == 423
    connection.close()
    wait_until(lambda: client.tus_append(url, 0, b"").status != 423, "the request has ended")
    offset = client.tus_offset(url)
    assert 16_384 <= offset <= 100_000
    assert client.tus_append(url, offset, content[offset:]).status == 204
    assert (client.server.uploads / name).read_bytes() == content


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
def test_a_stalled_request_is_ended(client):
    """Its client may be gone: a phone that changes networks says nothing to the server."""
    content = noise(200_000)
    name = f"stalled-{client.protocol.name}"
    url = client.tus_create(name, ("upload-length", str(len(content))))
    connection, stream = stalled_append(client, url, content[:100_000], len(content))
    assert client.tus_append(url, 16_384, b"x").status == 423
    bytes_file = client.server.uploads / f"{PREFIX}{url.rsplit('/', 1)[1]}"

    def ended():
        ten_seconds_ago = time.time() - 10
        os.utime(bytes_file, (ten_seconds_ago, ten_seconds_ago))
        return client.tus_append(url, 0, b"x").status == 409  # the offset is another one

    wait_until(ended, "the earlier request is ended")
    assert status_of(connection, stream) == 409
    offset = client.tus_offset(url)
    assert client.tus_append(url, offset, content[offset:]).status == 204
    assert (client.server.uploads / name).read_bytes() == content
    connection.close()


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
def test_removing_ends_the_request_that_sends(client):
    """As a browser does that aborts a PATCH and sends DELETE: the client has made no mistake."""
    url = client.tus_create("removed", ("upload-length", "200000"))
    connection, stream = stalled_append(client, url, noise(100_000), 200_000)
    assert client.ask("DELETE", url, TUS).status == 204
    assert status_of(connection, stream) == 409
    assert client.ask("HEAD", url, TUS).status == 404
    connection.close()


def test_names_are_taken_once(client):
    name = f"taken-{client.protocol.name}"
    urls = [client.tus_create(name, ("upload-length", "1")) for _ in range(2)]
    assert client.tus_append(urls[0], 0, b"a").status == 204
    assert client.tus_append(urls[1], 0, b"b").status == 409
    assert (client.server.uploads / name).read_bytes() == b"a"
    assert client.tus_append(urls[1] + f"?name={name}-2", 1, b"").status == 204
    assert (client.server.uploads / f"{name}-2").read_bytes() == b"b"
    assert client.ask("POST", "/uploads", TUS, tus_name(name),
                      ("upload-length", "1")).status == 409


# --- clients -------------------------------------------------------------------------------------


TUS_JS = {
    "chunks": {},
    "whole": {"chunkSize": 100 * MIB},
    "with creation": {"uploadDataDuringCreation": True},
    "deferred": {"uploadLengthDeferred": True},
    "parallel": {"parallelUploads": 3},
    "draft 03": {"protocol": "ietf-draft-03"},
    "draft 05": {"protocol": "ietf-draft-05"},
}


@pytest.mark.parametrize("options", TUS_JS, ids=str)
def test_tus_js_client(server, tmp_path, options):
    name = f"js {options}"
    expected = write_noise(tmp_path / "file", 5 * MIB + 17)
    given = TUS_JS[options]
    if "protocol" in given:
        name = f"js-{given['protocol']}"
        given = {**given, "endpoint": f"{server.url}uploads?name={name}"}
    finish(start_tus_js(server, tmp_path / "file", metadata={"filename": name}, **given))
    assert sha256_of_file(server.uploads / name) == expected


def test_tuspy(server, tmp_path):
    expected = write_noise(tmp_path / "file", 5 * MIB + 17)
    run_tuspy(server, tmp_path / "file")
    assert sha256_of_file(server.uploads / "tuspy") == expected


# --- SIGKILL -------------------------------------------------------------------------------------


def test_the_client_goes_on_after_sigkill(own, tmp_path):
    """The server is killed three times in the middle; the client retries by itself."""
    size = 200 * MIB
    expected = write_noise(tmp_path / "file", size)
    process = start_tus_js(own, tmp_path / "file", chunkSize=size, metadata={"filename": "big"})

    def received():
        return sum(path.stat().st_size for path in own.pending())

    for share in (1, 2, 3):
        goal = received() + size // 10
        wait_until(lambda: received() >= goal, "a tenth more is received")  # noqa: B023
        own.kill()
        kept = received()
        assert 0 < kept < size, share
        own.start()
        # The client may have gone on meanwhile, to the end.
        whole = (own.uploads / "big").exists
        assert received() >= kept or whole(), "opening the directory removes nothing"
    finish(process)
    assert sha256_of_file(own.uploads / "big") == expected
    assert own.pending() == []


def test_nothing_acknowledged_is_lost(own):
    """Whatever a response acknowledged is there after SIGKILL, and the upload goes on."""
    client = Client(own, PROTOCOLS[0])
    content = noise(3 * MIB)
    url = client.tus_create("acknowledged", ("upload-length", str(len(content))))
    offset = 0
    for size in (1, 100_000, MIB):
        answer = client.tus_append(url, offset, content[offset:offset + size])
        offset = int(answer.field("upload-offset"))
        own.kill()
        own.start()
        assert client.tus_offset(url) == offset
    assert client.tus_append(url, offset, content[offset:]).status == 204
    own.kill()
    own.start()
    assert client.tus_offset(url) == len(content)
    assert client.progress(url)["sha256"] == sha256(content)
    assert (own.uploads / "acknowledged").read_bytes() == content
