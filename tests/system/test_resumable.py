"""Resumable uploads by draft-ietf-httpbis-resumable-upload, over every protocol and by curl; a
later request ends an earlier one, and the server is killed."""

import json
import subprocess

import pytest

from support import pairs
from support.contents import noise, sha256
from support.environment import tool
from support.protocols import PROTOCOLS, name_of
from support.resumable import (DRAFT, DRAFT_TYPE, TUS, Client, UploadServer, digest_field)
from support.waiting import wait_until

PROBLEM = "https://iana.org/assignments/http-problem-types#"


@pytest.fixture(scope="module", params=[False, True], ids=["cleartext", "tls"])
def server(request):
    with UploadServer(tls=request.param) as server:
        yield server


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def client(request, server):
    if request.param.tls != server.tls:
        pytest.skip("the other server's")
    return Client(server, request.param)


def test_abilities(client):
    answer = client.ask("OPTIONS", "/uploads")
    assert answer.field("accept-patch") == "application/partial-upload"
    assert answer.field("upload-limit") == "max-age=86400"


def test_in_one_request(client):
    content = noise(300_000)
    name = f"one-{client.protocol.name}"
    answer = client.ask("POST", f"/uploads?name={name}", DRAFT, ("upload-complete", "?1"),
                        ("repr-digest", digest_field(content)), body=content)
    assert answer.status == 201, answer
    assert answer.field("upload-complete") == "?1"
    assert answer.field("location") == f"/files/{name}"
    assert answer.field("repr-digest") == digest_field(content)
    assert json.loads(answer.body)[0]["sha256"] == sha256(content)
    assert (client.server.uploads / name).read_bytes() == content


def test_put_of_a_path(client):
    name = f"put-{client.protocol.name}"
    whole = (DRAFT, ("upload-complete", "?1"))
    assert client.ask("PUT", f"/files/{name}", *whole, body=b"whole").status == 201
    assert (client.server.uploads / name).read_bytes() == b"whole"
    other = client.ask("PUT", f"/files/{name}?name=other", *whole, body=b"x")
    assert (other.status, b"names the file" in other.body) == (400, True)
    careful = client.ask("PUT", "/files/careful", *whole, ("if-none-match", "*"), body=b"x")
    assert (careful.status, b"preconditions" in careful.body) == (400, True)
    assert not (client.server.uploads / "careful").exists()


def test_announces_the_upload(client):
    said = subprocess.run(
        [tool("curl"), "--silent", "--insecure", "--noproxy", "*", client.protocol.curl,
         "--dump-header", "-", "--data-binary", "content", "--header", "Upload-Complete: ?0",
         "--header", "Upload-Draft-Interop-Version: 8", f"{client.server.url}uploads"],
        capture_output=True, text=True, check=True).stdout.lower()
    interim, final = said.split("\n\n")[:2]
    assert " 104 " in interim.splitlines()[0] + " "
    place = [line for line in interim.splitlines() if line.startswith("location: ")]
    assert place and place[0] in final
    assert "upload-draft-interop-version: 8" in interim
    assert client.ask("DELETE", place[0].split()[1], DRAFT).status == 204


def test_in_pieces(client):
    content = noise(700_000)
    name = f"pieces-{client.protocol.name}"
    url = client.draft_create(name)
    for first, last in ((0, 1), (1, 300_000)):
        assert client.draft_state(url) == (first, "?0")
        answer = client.draft_append(url, first, "?0", content[first:last])
        assert (answer.status, answer.field("upload-offset")) == (204, str(last))
    answer = client.draft_append(url, 300_000, "?1", content[300_000:])
    assert (answer.status, answer.field("upload-complete")) == (201, "?1")
    assert client.draft_state(url) == (len(content), "?1")
    assert (client.server.uploads / name).read_bytes() == content


def test_problems(client):
    url = client.draft_create(f"problems-{client.protocol.name}", ("upload-length", "5"))
    answer = client.draft_append(url, 2, "?0", b"a")
    assert (answer.status, answer.field("upload-offset")) == (409, "0")
    assert json.loads(answer.body)["type"] == PROBLEM + "mismatching-upload-offset"
    assert json.loads(answer.body)["expected-offset"] == 0
    assert client.draft_append(url, 0, "?0", b"hello").status == 204
    assert client.draft_append(url, 5, "?1", b"").status == 201
    answer = client.draft_append(url, 5, "?1", b"more")
    assert json.loads(answer.body)["type"] == PROBLEM + "inconsistent-upload-length"
    assert client.ask("DELETE", url).status == 204
    assert client.ask("HEAD", url).status == 404


def begin_append(client, url, body, announced):
    """Sends `body` of a PATCH that announces more bytes. Returns the connection and the stream."""
    fields = [DRAFT, DRAFT_TYPE, ("upload-offset", "0"), ("upload-complete", "?1"),
              ("content-length", str(announced))]
    connection = client.protocol.connect(client.server)
    stream = None
    if client.protocol.http2:
        stream = connection.request("PATCH", url, fields, body, ends=False)
        connection.run_until(lambda: not stream.unsent, "all is sent")
    else:
        lines = [f"PATCH {url} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in fields]
        connection.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    # A GET ends no other request, unlike the HEAD of the draft.
    wait_until(lambda: client.progress(url)["offset"] > 0, "a part is stored")
    return connection, stream


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
@pytest.mark.parametrize("method", ["HEAD", "PATCH", "DELETE"])
def test_a_later_request_ends_an_earlier_one(client, method):
    """To the client it has failed, though the server can't know that yet ("Concurrency")."""
    content = noise(300_000)
    name = f"later-{method}-{client.protocol.name}"
    url = client.draft_create(name)
    connection, stream = begin_append(client, url, content[:200_000], len(content))
    if method == "HEAD":
        offset, complete = client.draft_state(url)
        assert complete == "?0"
    if method == "PATCH":
        answer = client.draft_append(url, 1, "?0", b"x")  # too late to know the offset
        assert answer.status == 409, answer
        offset = int(answer.field("upload-offset"))
    if method == "DELETE":
        assert client.ask("DELETE", url, DRAFT).status == 204
        assert client.ask("HEAD", url).status == 404
    # Whoever still listens is told so.
    ended = connection.answer(stream) if client.protocol.http2 else connection.answer()
    assert ended.status == 409, ended
    connection.close()
    if method == "DELETE":
        return
    assert 0 < offset <= 200_000
    assert client.draft_append(url, offset, "?1", content[offset:]).status == 201
    assert (client.server.uploads / name).read_bytes() == content


def test_both_protocols(client):
    name = f"both-{client.protocol.name}"
    url = client.draft_create(name, ("upload-length", "6"))
    assert client.draft_append(url, 0, "?0", b"abc").status == 204
    assert client.ask("HEAD", url, TUS).field("upload-offset") == "3"
    assert client.tus_append(url, 3, b"def").status == 204
    assert (client.server.uploads / name).read_bytes() == b"abcdef"


def test_by_curl(client, tmp_path):
    content = noise(300_000)
    (tmp_path / "file").write_bytes(content)
    name = f"curl-{client.protocol.name}"
    done = subprocess.run(
        [tool("curl"), "-sS", "-k", client.protocol.curl, "-w", "%{http_code}", "-o",
         tmp_path / "answer", "-H", "Upload-Complete: ?1", "-H",
         f'Content-Disposition: attachment; filename="{name}"', "--data-binary",
         f"@{tmp_path / 'file'}", client.server.url + "uploads"],
        capture_output=True, text=True, check=True)
    assert done.stdout == "201"
    assert (client.server.uploads / name).read_bytes() == content


def test_sigkill():
    """The client asks for the offset and goes on."""
    content = noise(3_000_000)
    with UploadServer() as server:
        client = Client(server, PROTOCOLS[0])
        url = client.draft_create("killed")
        connection, _ = begin_append(client, url, content[:2_000_000], len(content))
        server.kill()
        connection.close()
        server.start()
        offset, complete = client.draft_state(url)
        assert 0 < offset <= 2_000_000
        assert complete == "?0"
        assert client.draft_append(url, offset, "?1", content[offset:]).status == 201
        assert (server.uploads / "killed").read_bytes() == content


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
def test_expired_uploads_are_removed_without_a_request():
    with UploadServer("--upload-expiry", "1s") as server:
        client = Client(server, PROTOCOLS[0])
        client.tus_create("abandoned", ("upload-length", "10"))
        wait_until(lambda: server.pending() == [], "it is removed")
