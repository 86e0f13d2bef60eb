"""What the program's options add to the files: fields, passwords, other origins, error pages,
codings, and the local authority."""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import ssl
import subprocess
import tarfile
import time
import zipfile

import pytest

from support.environment import BINARY, LAST_RESORT_S, tool
from support.pairs import CHOSEN
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

PLAIN = PROTOCOLS[0]
# Of "secret", by `htpasswd -B -C 5`.
USERS = "alice:$2y$05$bvIG6Nmid91Mu9RcmmWZfOSUJnPNP88kp.Eu9puakB65/9Xoyz6P.\n"


@pytest.fixture(params=[PROTOCOLS[0], PROTOCOLS[3]], ids=name_of)
def protocol(request):
    return request.param


def basic(user, password):
    return ("authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


def test_fields(protocol):
    rules = ["--header", "/**.css Cache-Control: max-age=3600", "--header", "/** X-A: b: c",
             "--header", "/no/* X-A:", "--immutable", "/assets/**"]
    with Server(*rules, tls=protocol.tls) as server:
        for name in ("a.css", "no/x.txt", "assets/app.3f9a2b1c.js", "assets/app.js"):
            (server.root / name).parent.mkdir(exist_ok=True)
            (server.root / name).write_bytes(b"x")
        seen = {name: fetch(server, protocol, f"/{name}") for name in
                ("a.css", "no/x.txt", "assets/app.3f9a2b1c.js", "assets/app.js", "gone")}
    assert seen["a.css"].field("cache-control") == "max-age=3600"
    assert seen["a.css"].field("x-a") == seen["gone"].field("x-a") == "b: c"
    assert seen["no/x.txt"].field("x-a") is None
    assert "immutable" in seen["assets/app.3f9a2b1c.js"].field("cache-control")
    assert seen["assets/app.js"].field("cache-control") is None


def test_strict_transport_security():
    with Server("--hsts", tls=True) as server:
        answer = fetch(server, PROTOCOLS[3], "/gone")
        assert answer.field("strict-transport-security") == "max-age=31536000"


def test_other_origins(protocol):
    with Server("--cors", "https://app.example", tls=protocol.tls) as server:
        (server.root / "a.txt").write_bytes(b"x")
        for origin, allowed in (("https://app.example", "https://app.example"),
                                ("https://evil.example", None)):
            answer = fetch(server, protocol, "/a.txt", fields=[("origin", origin)])
            assert answer.status == 200
            assert answer.field("access-control-allow-origin") == allowed


# Refused there, since each process would count wrong guesses anew.
one_process = pytest.mark.skipif(CHOSEN is not None and CHOSEN.forks,
                                 reason="--auth needs one process")


@one_process
def test_passwords(protocol, tmp_path):
    users = tmp_path / "users"
    users.write_text(USERS)
    with Server("--auth", f"/private={users}", tls=protocol.tls) as server:
        (server.root / "private").mkdir()
        (server.root / "private/a.txt").write_bytes(b"secret text")
        (server.root / "privateer").write_bytes(b"open")
        assert fetch(server, protocol, "/privateer").status == 200
        refused = ("/private", "/private/", "/private/a.txt", "//private/a.txt", "/./private/a.txt",
                   "/x/../private/a.txt", "/%70rivate/a.txt", "/private//a.txt", "/private/gone")
        for target in refused:
            answer = fetch(server, protocol, target)
            assert answer.status in (400, 401), target
            assert b"secret text" not in answer.body
        good = [basic("alice", "secret")]
        assert fetch(server, protocol, "/private/a.txt", fields=good).body == b"secret text"
        assert fetch(server, protocol, "/private/", fields=good).status == 200
        assert fetch(server, protocol, "/?archive=zip").body[:2] != b"PK", "it holds the secret"
        for wrong in (basic("alice", "Secret"), basic("bob", "secret"), ("authorization", "Basic x")):
            assert fetch(server, protocol, "/private/a.txt", fields=[wrong]).status == 401


# Of TOKEN, by sha256sum.
TOKEN = "2f7c1a90d3b84e56a1b0c9d8e7f60514"
TOKENS = "ci:{SHA256}" + hashlib.sha256(TOKEN.encode()).hexdigest() + "\n"


@one_process
@pytest.mark.parametrize("mode", ["--http1.1", "--http2-prior-knowledge"])
def test_tokens(mode, tmp_path):
    users = tmp_path / "users"
    users.write_text(USERS + TOKENS)
    programs = tmp_path / "programs"
    programs.write_text(TOKENS)
    with Server("--auth", f"/private={users}", "--auth", f"/api={programs}") as server:
        for name in ("private", "api"):
            (server.root / name).mkdir()
            (server.root / name / "a.txt").write_bytes(b"secret text")

        def ask(path, *arguments):
            """Returns the status, the challenges and the body."""
            answer = subprocess.run([tool("curl"), "-sS", "-i", mode, *arguments,
                                     f"{server.url}{path}"], check=True, capture_output=True,
                                    text=True, timeout=LAST_RESORT_S).stdout
            head, _, body = answer.partition("\n\n")
            lines = [line.partition(": ") for line in head.splitlines()]
            return (int(head.split()[1]),
                    [value for name, _, value in lines if name.lower() == "www-authenticate"], body)

        basic = 'Basic realm="/private", charset="UTF-8"'
        bearer = 'Bearer realm="/private"'
        good = (200, [], "secret text")
        assert ask("private/a.txt") == (401, [basic, bearer], "")
        assert ask("private/a.txt", "--oauth2-bearer", TOKEN) == good
        assert ask("private/a.txt", "-H", f"authorization: bearer {TOKEN}") == good
        assert ask("private/a.txt", "-u", "alice:secret") == good
        wrong = (401, [basic, bearer + ', error="invalid_token"'], "")
        assert ask("private/a.txt", "--oauth2-bearer", TOKEN.upper()) == wrong
        assert ask("private/a.txt", "-H", "Authorization: Bearer a b") == (401, [basic, bearer], "")
        assert ask("api/a.txt", "--oauth2-bearer", TOKEN) == good
        assert ask("api/a.txt", "-u", "alice:secret") == (401, ['Bearer realm="/api"'], "")
        for _ in range(10):
            ask("api/a.txt", "--oauth2-bearer", "guess")
        assert ask("api/a.txt", "--oauth2-bearer", "guess")[0] == 429
        assert ask("api/a.txt", "--oauth2-bearer", TOKEN) == good, "it is remembered"


def test_types(protocol):
    types = ["--type", "FOO=Text/X-Foo; charset=utf-8", "--type", "html=text/plain",
             "--type", "img=image/svg+XML", "--type", "pic=image/x-pic"]
    with Server(*types, tls=protocol.tls) as server:
        expected = {"a.foo": "text/x-foo; charset=utf-8", "a.Foo": "text/x-foo; charset=utf-8",
                    "a.html": "text/plain", "a.htm": "text/html; charset=utf-8",
                    "a.md": "text/markdown; charset=utf-8"}
        system = pathlib.Path("/etc/mime.types")
        if system.exists() and re.search(r"^text/x-haskell\s+hs$", system.read_text(), re.M):
            expected["a.hs"] = "text/x-haskell; charset=utf-8"
        for name in expected:
            (server.root / name).write_bytes(b"x")
        seen = {name: fetch(server, protocol, "/" + name) for name in expected}
        assert {name: answer.field("content-type") for name, answer in seen.items()} == expected
        for name, policy in (("a.img", "sandbox"), ("a.pic", None), ("a.html", "sandbox")):
            (server.uploads / name).write_bytes(b"x")
            answer = fetch(server, protocol, "/files/" + name)
            assert answer.field("content-security-policy") == policy
            assert answer.field("x-content-type-options") == "nosniff"
        assert fetch(server, protocol, "/files/a.img").field("content-type") == "image/svg+xml"


def test_browsers_do_not_guess_types(protocol):
    with Server("--header", "/** X-Content-Type-Options: nosniff", tls=protocol.tls) as server:
        (server.root / "a.txt").write_bytes(b"x")
        (server.root / "sub").mkdir()
        for target in ("/a.txt", "/gone", "/sub/", "/files"):
            answer = fetch(server, protocol, target)
            assert answer.field("x-content-type-options") == "nosniff", target
    with Server(tls=protocol.tls) as server:
        (server.root / "sub").mkdir()
        for target in ("/gone", "/sub/", "/files", "/files/gone"):
            answer = fetch(server, protocol, target)
            assert answer.field("x-content-type-options") == "nosniff", target


@one_process
def test_paths_share_the_guesses_at_a_file(tmp_path):
    users = tmp_path / "users"
    users.write_text(TOKENS)
    with Server("--auth", f"/a={users}", "--auth", f"/b={users}") as server:
        wrong = [("authorization", "Bearer wrong")]
        for target in ("/a/x", "/b/x") * 5:
            assert fetch(server, PROTOCOLS[0], target, fields=wrong).status == 401
        assert fetch(server, PROTOCOLS[0], "/a/x", fields=wrong).status == 429
        assert fetch(server, PROTOCOLS[0], "/b/x", fields=wrong).status == 429


@one_process
def test_archives(protocol, tmp_path):
    users = tmp_path / "users"
    users.write_text(USERS)
    with Server("--auth", f"/={users}", tls=protocol.tls) as server:
        (server.root / "a b/deep").mkdir(parents=True)
        (server.root / "a b/deep/x.txt").write_bytes(b"text")
        (server.root / "a b/.hidden").write_bytes(b"secret")
        good = [basic("alice", "secret")]
        assert fetch(server, protocol, "/a%20b/?archive=zip").status == 401
        made = fetch(server, protocol, "/a%20b/?archive=zip", fields=good)
        assert made.field("content-type") == "application/zip"
        assert made.field("content-disposition") == 'attachment; filename="a b.zip"'
        with zipfile.ZipFile(io.BytesIO(made.body)) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == ["a b/", "a b/deep/", "a b/deep/x.txt"]
        made = fetch(server, protocol, "/?archive=tar", fields=good)
        with tarfile.open(fileobj=io.BytesIO(made.body)) as archive:
            assert archive.extractfile("files/a b/deep/x.txt").read() == b"text"
        assert fetch(server, protocol, "/gone/?archive=zip", fields=good).status == 404
        assert fetch(server, protocol, "/a%20b/?archive=zip", "HEAD", fields=good).body == b""
    with Server("--no-listing", tls=protocol.tls) as server:
        assert fetch(server, protocol, "/?archive=zip").status == 404


def test_error_pages(protocol, tmp_path):
    (tmp_path / "404.html").write_text("<h1>lost</h1>")
    (tmp_path / "4xx.html").write_text("<h1>other</h1>")
    (tmp_path / "ignored.html").write_text("x")
    with Server("--error-pages", str(tmp_path), "--no-listing", tls=protocol.tls) as server:
        (server.root / "a.txt").write_bytes(b"x")
        assert fetch(server, protocol, "/gone").body == b"<h1>lost</h1>"
        assert fetch(server, protocol, "/").body == b"<h1>lost</h1>"
        refused = fetch(server, protocol, "/a.txt", "DELETE")
        assert (refused.status, refused.body) == (405, b"<h1>other</h1>")
        assert refused.field("allow") is not None
        json = fetch(server, protocol, "/gone", fields=[("accept", "application/json")])
        assert json.field("content-type") == "application/problem+json"


def test_codings(protocol):
    text = b"all work and no play " * 500
    accept = [("accept-encoding", "gzip")]
    with Server(tls=protocol.tls) as server:
        (server.root / "a.html").write_bytes(text)
        (server.root / "b.html").write_bytes(text)
        (server.root / "b.html.gz").write_bytes(gzip.compress(b"of the owner"))
        now = time.time()
        os.utime(server.root / "b.html", (now - 10, now - 10))
        made = fetch(server, protocol, "/a.html", fields=accept)
        assert made.field("content-encoding") == "gzip"
        assert gzip.decompress(made.body) == text
        assert made.field("vary") == "Accept-Encoding"
        assert gzip.decompress(fetch(server, protocol, "/b.html", fields=accept).body) \
            == b"of the owner"
        for line in ("", "identity"):
            refused = fetch(server, protocol, "/a.html", fields=[("accept-encoding", line)])
            assert refused.status == 200 and refused.body == text
        plain = fetch(server, protocol, "/a.html")
        assert plain.body == text and plain.field("etag") != made.field("etag")
        listing = fetch(server, protocol, "/", fields=accept)
        assert b"a.html" in gzip.decompress(listing.body)
    with Server("--compress", "off", tls=protocol.tls) as server:
        (server.root / "a.html").write_bytes(text)
        answer = fetch(server, protocol, "/a.html", fields=accept)
        assert answer.body == text and answer.field("vary") is None


def test_index_and_single_page(protocol):
    with Server("--index", "start.html,index.html", "--spa", tls=protocol.tls) as server:
        (server.root / "start.html").write_bytes(b"start")
        (server.root / "index.html").write_bytes(b"index")
        assert fetch(server, protocol, "/").body == b"start"
        browser = [("accept", "text/html,*/*;q=0.8")]
        assert fetch(server, protocol, "/some/path", fields=browser).body == b"index"
        missing = fetch(server, protocol, "/some.js")
        assert missing.status == 404
        assert "Accept" in missing.field("vary")
        assert fetch(server, protocol, "/x", fields=browser).field("vary") == missing.field("vary")
        assert fetch(server, protocol, "/?archive=zip").body == b"start", "it has an index"


def test_hidden_files(protocol):
    for arguments, status in (([], 404), (["--hidden"], 200)):
        with Server(*arguments, tls=protocol.tls) as server:
            (server.root / ".env").write_bytes(b"secret")
            assert fetch(server, protocol, "/.env").status == status
            assert (b".env" in fetch(server, protocol, "/").body) == (status == 200)


def test_local_authority():
    server = Server(tls=True, self_signed=False)
    state = server.root.parent / "state"
    server.command = [tool("env"), f"XDG_STATE_HOME={state}", *server.command, "--local-ca"]
    with server:
        assert "of your local CA, which is new" in server.stdout
        [authority] = [path for path in (state / "h2server/ca").iterdir()
                       if b"BEGIN CERTIFICATE" in path.read_bytes() and "ca" in path.name]
        server.certificate = authority
        (server.root / "a.txt").write_bytes(b"x")
        assert fetch(server, PROTOCOLS[3], "/a.txt").body == b"x"
        context = ssl.create_default_context(cafile=authority)
        assert context.cert_store_stats()["x509_ca"] == 1


WRONG = {
    "pattern to protect": ["--auth", "/private/**=users"],
    "encoded path to protect": ["--auth", "/my%20docs=users"],
    "dots in a path to protect": ["--auth", "/a/../private=users"],
    "users below the root": ["--auth", "/private=users"],
    "link to hidden users below the root": ["--auth", "/private=link"],
    "file to protect": ["--auth", "/users=/dev/null"],
    "rule without a value": ["--header", "/**"],
    "rule without a path": ["--header", "x Cache-Control: a"],
    "field of the server": ["--header", "/** Content-Length: 5"],
    "path without a file": ["--auth", "/private"],
    "no such users": ["--auth", "/private=absent"],
    "no such pages": ["--error-pages", "absent"],
    "directory without pages": ["--error-pages", "."],
    "type without an extension": ["--type", "text/plain"],
    "extension with a dot": ["--type", ".foo=text/plain"],
    "two extensions": ["--type", "tar.gz=application/gzip"],
    "no extension": ["--type", "=text/plain"],
    "no type": ["--type", "foo="],
    "half a type": ["--type", "foo=text"],
    "type with a wrong parameter": ["--type", "foo=text/plain; charset"],
    "two types": ["--type", "foo=text/plain, text/html"],
    "malformed token": ["--root", "root", "--auth", "/private=token"],
    "no origin": ["--cors", "app.example"],
    "fields of TLS": ["--hsts"],
    "authority without TLS": ["--local-ca"],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_wrong_use(arguments, tmp_path):
    (tmp_path / "users").write_text(USERS)
    (tmp_path / ".users").write_text(USERS)
    (tmp_path / "link").symlink_to(".users")
    (tmp_path / "token").write_text("ci:{SHA256}abc\n")
    (tmp_path / "root").mkdir()
    done = subprocess.run([BINARY, "--h2c", "-p", "0", *arguments], cwd=tmp_path, check=False,
                          capture_output=True, text=True, timeout=LAST_RESORT_S,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("h2server: error: ") and done.stderr.count("\n") == 1
