"""Third-party clients: curl, nghttp, httpx, python3-h2, Node and Go."""

import asyncio
import json
import os
import re
import subprocess

import httpx
import pytest

from support.contents import form, form_type, noise, sha256, sha256_of_file
from support.environment import CLIENTS, LAST_RESORT_S, tool
from support.protocols import PROTOCOLS, name_of

PAGE = noise(1_500_000)


@pytest.fixture(params=PROTOCOLS, ids=name_of)
def protocol(request):
    return request.param


@pytest.fixture
def server(protocol, server_for):
    started = server_for(protocol.tls)
    if not (started.root / "page").exists():
        (started.root / "page").write_bytes(PAGE)
    return started


def execute(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=LAST_RESORT_S, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stored_name(client, protocol):
    return f"{client}-{protocol.name}.bin"


# --- curl and nghttp -----------------------------------------------------------------------------


def curl(server, protocol, *arguments):
    trust = ["--cacert", server.certificate] if server.tls else []
    return execute(tool("curl"), "-sS", protocol.curl, *trust, *arguments)


def test_curl(server, protocol, tmp_path):
    target = tmp_path / "copy"
    arguments = ["-o", target, "-w", "%{http_code} %{http_version}", server.url + "page"]
    assert curl(server, protocol, *arguments) == "200 " + ("2" if protocol.http2 else "1.1")
    assert sha256_of_file(target) == sha256(PAGE)
    assert f"content-length: {len(PAGE)}" in curl(server, protocol, "-I", arguments[-1]).lower()


def test_curl_resumes(server, protocol, tmp_path):
    target = tmp_path / "copy"
    target.write_bytes(PAGE[:500_000])
    curl(server, protocol, "-C", "-", "-o", target, server.url + "page")
    assert sha256_of_file(target) == sha256(PAGE)


def test_curl_asks_for_several_ranges(server, protocol, tmp_path):
    target = tmp_path / "parts"
    printed = curl(server, protocol, "-r", "500-599,0-1", "-o", target, "-w",
                   "%{http_code} %{content_type}", server.url + "page")
    status, kind, boundary = re.fullmatch(r"(\d+) (.*); boundary=(\w+)", printed).groups()
    assert (status, kind) == ("206", "multipart/byteranges")
    parts = target.read_bytes().split(f"--{boundary}".encode())
    assert [part.partition(b"\r\n\r\n")[2] for part in parts] == [
        b"", PAGE[500:600] + b"\r\n", PAGE[:2] + b"\r\n", b""]


def test_curl_asks_for_what_is_new(server, protocol, tmp_path):
    arguments = ["--etag-save", tmp_path / "tag", "--etag-compare", tmp_path / "tag", "-w",
                 "%{http_code}", "-o", tmp_path / "copy", server.url + "page"]
    (tmp_path / "tag").touch()
    assert [curl(server, protocol, *arguments) for _ in range(2)] == ["200", "304"]


@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_curl_in_parallel(server, protocol, tmp_path):
    """Leaves out prior knowledge: curl 7.88 fails with it against every server, even nghttpd."""
    urls = []
    for number in range(20):
        urls += ["-o", tmp_path / f"{number}", server.url + "page"]
    curl(server, protocol, "-Z", *urls)
    assert {sha256_of_file(tmp_path / f"{number}") for number in range(20)} == {sha256(PAGE)}


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_nghttp(server, protocol, tmp_path):
    urls = [server.url + path for path in ("page", "absent", "files", "page?again")]
    printed = execute(tool("nghttp"), "-nv", *urls)
    for status, count in ((200, 3), (404, 1)):
        assert printed.count(f":status: {status}") == count, printed
    name = stored_name("nghttp", protocol)
    (tmp_path / "form").write_bytes(form((name, PAGE)))
    field = "{}: {}".format(*form_type())
    printed = execute(tool("nghttp"), "-nv", "-H", field, "-d", tmp_path / "form",
                      server.url + "files")
    assert ":status: 201" in printed
    assert sha256_of_file(server.uploads / name) == sha256(PAGE)


# --- Python --------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_httpx(server, protocol):
    """httpx has no HTTP/2 without TLS."""
    name = stored_name("httpx", protocol)
    with httpx.Client(http2=protocol.http2, base_url=server.url, timeout=LAST_RESORT_S,
                      verify=str(server.certificate) if server.tls else False) as client:
        page = client.get("/page")
        assert (page.status_code, page.http_version) == (200, version_of(protocol))
        assert page.content == PAGE
        answer = client.post("/files", files={"file": (name, PAGE)})
        assert answer.status_code == 201
        assert answer.json() == [{"name": name, "size": len(PAGE), "sha256": sha256(PAGE)}]
        assert client.get(f"/files/{name}").content == PAGE
        assert client.head("/page").headers["content-length"] == str(len(PAGE))
        assert client.get("/absent").status_code == 404


@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_httpx_at_once(server, protocol):
    async def run():
        async with httpx.AsyncClient(http2=protocol.http2, base_url=server.url,
                                     timeout=LAST_RESORT_S,
                                     verify=str(server.certificate) if server.tls else False
                                     ) as client:
            return await asyncio.gather(*(client.get("/page") for _ in range(30)))

    answers = asyncio.run(run())
    assert [answer.content == PAGE for answer in answers] == [True] * 30


def version_of(protocol):
    return "HTTP/2" if protocol.http2 else "HTTP/1.1"


@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_python_h2(server, protocol):
    name = stored_name("python", protocol)
    with protocol.connect(server) as connection:
        upload = connection.request("POST", "/files", [form_type()], form((name, PAGE)))
        pages = [connection.request("GET", "/page") for _ in range(10)]
        assert [connection.answer(page).body == PAGE for page in pages] == [True] * 10
        assert connection.answer(upload).status == 201
        again = connection.request("GET", f"/files/{name}")
        assert connection.answer(again).body == PAGE
        connection.protocol.ping(b"12345678")
        connection.flush()
        assert connection.answer(connection.request("HEAD", "/page")).status == 200


# --- Node and Go ---------------------------------------------------------------------------------


def check_seen(printed, server, protocol, client, versions):
    seen = json.loads(printed)
    assert seen["statuses"] == [200, 201, 200, 404]
    assert seen["versions"] == versions
    assert seen["page"] == seen["again"] == sha256(PAGE)
    assert seen["many"] == [sha256(PAGE)]
    assert sha256_of_file(server.uploads / stored_name(client, protocol)) == sha256(PAGE)


def test_node(server, protocol):
    printed = execute(tool("node"), CLIENTS / "node_client.js", protocol.name, str(server.port),
                      server.certificate, stored_name("node", protocol))
    check_seen(printed, server, protocol, "node", ["2" if protocol.http2 else "1.1"])


@pytest.fixture(scope="module")
def go_client(tmp_path_factory):
    """Built from the standard library alone, without network access."""
    program = tmp_path_factory.mktemp("go") / "go_client"
    execute(tool("go"), "build", "-o", program, CLIENTS / "go_client.go",
            env={"HOME": str(program.parent), **os.environ, "GOFLAGS": "-mod=mod",
                 "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"})
    return program


@pytest.mark.parametrize("protocol", [PROTOCOLS[0], PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_go(server, protocol, go_client):
    """The standard library of Debian's Go has no HTTP/2 without TLS."""
    printed = execute(go_client, protocol.name, str(server.port), server.certificate,
                      stored_name("go", protocol))
    check_seen(printed, server, protocol, "go", ["HTTP/2.0" if protocol.http2 else "HTTP/1.1"])
