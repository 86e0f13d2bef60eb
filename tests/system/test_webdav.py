"""WebDAV on the upload directory: Debian's litmus, cadaver and rclone, and what they do not try."""

import base64
import os
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree

import pytest

from support.contents import form, form_type, noise
from support.environment import PATIENCE
from support.http1 import Connection
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until

SUITES = ["basic", "copymove", "props", "locks", "http"]


@pytest.fixture(scope="module")
def servers():
    with Server("--webdav", "--upload-overwrite") as cleartext, \
            Server("--webdav", "--upload-overwrite", tls=True) as encrypted:
        yield {False: cleartext, True: encrypted}


@pytest.fixture
def server(servers):
    return servers[False]


def program(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name} here; scripts/setup test installs it")
    return found


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                          timeout=120 * PATIENCE, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- litmus --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", SUITES)
def test_litmus(server, suite, tmp_path):
    """All tests pass, without a warning."""
    said = run(program("litmus"), server.url + "files/", cwd=tmp_path,
               env={**os.environ, "TESTS": suite})
    summary = re.search(rf"summary for `{suite}': of (\d+) tests run: (\d+) passed, 0 failed", said)
    assert summary and summary[1] == summary[2], said
    assert "WARNING" not in said and "SKIPPED" not in said, said


# --- locks ---------------------------------------------------------------------------------------


LOCKINFO = (b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
            b'<D:locktype><D:write/></D:locktype></D:lockinfo>')


def ways_to_store(server, name):
    """Returns the statuses of a PUT, a form, and the beginnings of both kinds of resumable uploads,
    which are removed again."""
    h1 = PROTOCOLS[0]
    metadata = "filename " + base64.b64encode(name.encode()).decode()
    answers = [
        fetch(server, h1, f"/files/{name}", "PUT", [], b"other"),
        fetch(server, h1, "/files", "POST", [form_type()], form((name, b"other"))),
        fetch(server, h1, "/uploads", "POST", [
            ("tus-resumable", "1.0.0"), ("upload-length", "5"), ("upload-metadata", metadata)]),
        fetch(server, h1, f"/uploads?name={name}", "POST", [
            ("upload-draft-interop-version", "8"), ("upload-complete", "?0")], b"other")]
    for begun in answers[2:]:
        if begun.status < 300:
            place = urllib.parse.urlsplit(begun.field("location")).path
            removed = fetch(server, h1, place, "DELETE", [("tus-resumable", "1.0.0")])
            assert removed.status == 204
    return [answer.status for answer in answers]


def test_a_lock_holds_for_all_ways_to_store(server):
    (server.uploads / "locked.txt").write_bytes(b"mine")
    locked = fetch(server, PROTOCOLS[0], "/files/locked.txt", "LOCK", [], LOCKINFO)
    assert locked.status == 200
    assert ways_to_store(server, "locked.txt") == [423] * 4
    assert (server.uploads / "locked.txt").read_bytes() == b"mine"
    token = [("lock-token", locked.field("lock-token"))]
    assert fetch(server, PROTOCOLS[0], "/files/locked.txt", "UNLOCK", token).status == 204
    assert all(status < 300 for status in ways_to_store(server, "locked.txt"))


def test_a_lock_holds_for_a_form_on_its_way(server):
    (server.uploads / "late.txt").write_bytes(b"mine")
    whole = form(("late.txt", noise(100_000)))

    def body():
        yield whole[:50_000]
        wait_until(lambda: server.temporary_files(), "the form is being stored")
        locked = fetch(server, PROTOCOLS[0], "/files/late.txt", "LOCK", [], LOCKINFO)
        assert locked.status == 200
        yield whole[50_000:]

    with Connection(server) as client:
        client.request("POST", "/files", [form_type()], body())
        assert client.answer().status == 423
    assert (server.uploads / "late.txt").read_bytes() == b"mine"


# --- cadaver -------------------------------------------------------------------------------------


def test_cadaver(server, tmp_path):
    (tmp_path / "source").write_bytes(noise(100_000))
    script = f"""
        mkcol cadaver
        cd cadaver
        put {tmp_path}/source one
        propset one color red
        propget one color
        copy one two
        move two three
        lock three
        discover three
        unlock three
        get three {tmp_path}/copy
        ls
        delete one
        cd ..
        rmcol cadaver
        quit
    """
    said = run(program("cadaver"), server.url + "files/", cwd=tmp_path, input=script,
               env={**os.environ, "HOME": str(tmp_path)})
    assert "failed" not in said.lower(), said
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "source").read_bytes()
    assert "Value of color is: red" in said
    assert re.search(r"Scope: exclusive +Type: write +Timeout: \d+ seconds", said), said
    assert re.search(r"^\s*three +100000 ", said, re.MULTILINE), said
    assert not (server.uploads / "cadaver").exists()


# --- rclone --------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["h1", "h2_tls"])
def rclone(request, servers):
    """rclone on a server: over HTTP/1.1, or over TLS with HTTP/2."""
    command = [program("rclone"), "--webdav-vendor", "other", "--retries", "1"]
    server = servers[request.param]
    if server.tls:
        command += ["--ca-cert", server.certificate]

    def execute(*arguments):
        return run(*command, "--webdav-url", server.url + "files", *arguments,
                   env={**os.environ, "RCLONE_CONFIG": "/dev/null"})

    execute.server = server
    return execute


def test_rclone(rclone, tmp_path):
    files = {"a/b/big": noise(3_000_000), "a/\u00fc x&<y>.txt": b"text", "empty": b"",
             "100%.txt": b"%", "q?#.txt": b"q"}
    source = tmp_path / "source"
    for name, content in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)
    rclone("copy", source, ":webdav:r")
    stored = rclone.server.uploads / "r"
    for name, content in files.items():
        assert (stored / name).read_bytes() == content
    rclone("check", "--download", source, ":webdav:r")
    rclone("moveto", ":webdav:r/a", ":webdav:r/c/d")
    assert (stored / "c/d/b/big").read_bytes() == files["a/b/big"]
    rclone("copyto", ":webdav:r/100%.txt", ":webdav:r/copy")
    assert (stored / "copy").read_bytes() == b"%"
    (source / "empty").write_bytes(b"no longer")
    rclone("sync", source, ":webdav:r")
    rclone("check", "--download", source, ":webdav:r")
    assert not (stored / "c").exists()
    assert "Free:" in rclone("about", ":webdav:")
    rclone("purge", ":webdav:r")
    assert not stored.exists()


# --- what they do not try ------------------------------------------------------------------------


def multistatus(answer):
    """Returns {href: {property's name: text}} of what was found."""
    assert answer.status == 207, answer
    found = {}
    for response in xml.etree.ElementTree.fromstring(answer.body).iter("{DAV:}response"):
        properties = found.setdefault(response.findtext("{DAV:}href"), {})
        for propstat in response.iter("{DAV:}propstat"):
            if " 200 " in propstat.findtext("{DAV:}status"):
                for each in propstat.find("{DAV:}prop"):
                    properties[each.tag.removeprefix("{DAV:}")] = "".join(each.itertext())
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_each_protocol(servers, protocol):
    server = servers[protocol.tls]

    def ask(method, path, fields=(), body=b""):
        return fetch(server, protocol, "/files/" + path, method, fields, body)

    folder = f"of-{protocol.name}"
    assert ask("MKCOL", folder).status == 201
    assert ask("PUT", f"{folder}/a", body=b"12345").status == 201
    found = multistatus(ask("PROPFIND", folder, [("depth", "1")]))
    assert set(found) == {f"/files/{folder}/", f"/files/{folder}/a"}
    assert found[f"/files/{folder}/a"]["getcontentlength"] == "5"
    got = ask("GET", f"{folder}/a")
    assert got.body == b"12345"
    assert found[f"/files/{folder}/a"]["getetag"] == got.field("etag")
    assert ask("PROPFIND", folder, [("depth", "infinity")]).status == 403
    assert ask("DELETE", folder, [("origin", "http://elsewhere")]).status == 403
    assert ask("DELETE", folder).status == 204
    assert ask("PROPFIND", folder, [("depth", "0")]).status == 404


def test_entities_are_refused(server):
    """A document type could name files of the server, or grow without end."""
    body = b"""<?xml version="1.0"?><!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]>
        <propfind xmlns="DAV:"><prop><x>&x;</x></prop></propfind>"""
    answer = fetch(server, PROTOCOLS[0], "/files/", "PROPFIND", [("depth", "0")], body)
    assert answer.status == 400
    assert b"root" not in answer.body


def test_large_folder(server):
    """A folder is read while it is sent."""
    folder = server.uploads / "large"
    folder.mkdir()
    names = [f"{number:05}" for number in range(5000)]
    for name in names:
        (folder / name).touch()
    for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
        answer = fetch(server, protocol, "/files/large/", "PROPFIND", [("depth", "1")])
        found = multistatus(answer)
        assert set(found) == {"/files/large/"} | {f"/files/large/{name}" for name in names}
    shutil.rmtree(folder)


def test_without_the_option():
    """The methods are known and not allowed."""
    with Server() as server:
        for method in ("PROPFIND", "MKCOL", "LOCK"):
            answer = fetch(server, PROTOCOLS[0], "/files/a", method)
            assert answer.status == 405
            assert method not in answer.field("allow")
        assert fetch(server, PROTOCOLS[0], "/", "BREW").status == 501
