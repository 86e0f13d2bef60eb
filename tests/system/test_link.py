"""`h2server link`: links that need no token, until they expire."""

import os
import subprocess
import time

import pytest

from support.contents import form, form_type
from support.environment import BINARY
from support.protocols import PROTOCOLS, fetch
from support.server import Server

H1 = PROTOCOLS[0]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """The state directory of the server and of the command."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state/h2server"


def link(*arguments, status=0):
    """Returns what `h2server link` prints."""
    done = subprocess.run([BINARY, "link", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A server with a token, a file, and the state directory that it was started with."""
    state = tmp_path_factory.mktemp("state")
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(state)
    try:
        with Server("--upload-access", "full") as server:
            (server.uploads / "a b").write_bytes(b"content")
            yield server, state
    finally:
        os.environ.pop("XDG_STATE_HOME")
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before


@pytest.fixture
def server(started, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(started[1]))
    return started[0]


def get(server, target, method="GET", fields=(), body=b""):
    return fetch(server, H1, target, method, fields, body)


def post(server, target, name):
    return get(server, target, "POST", [form_type()], form((name, b"new")))


def test_a_download(server):
    assert get(server, "/files/a%20b").status == 401
    target = link("/files/a b").strip()
    assert target.startswith("/files/a%20b?expires=")
    answer = get(server, target)
    assert (answer.status, answer.body) == (200, b"content")
    assert get(server, target, "HEAD").status == 200
    assert get(server, link("a b").strip()).body == b"content", "below /files"
    assert get(server, link(server.url + "files/a%20b").strip()[len(server.url) - 1 :]).status == 200


def test_it_is_good_for_nothing_else(server):
    target = link("/files/a b").strip()
    query = target[target.index("?") :]
    for other in ("/files", "/files/b", "/files/a%20b%20"):
        answer = get(server, other + query)
        assert answer.status == 403, other
        assert b"signature does not match" in answer.body
    assert post(server, "/files" + query, "x").status == 403
    assert "x" not in server.uploaded()


def test_altered_links(server):
    target = link("/files/a b").strip()
    path, query = target.split("?")
    expires, signature = query.split("&")
    later = f"expires={int(expires.split('=')[1]) + 1}"
    for altered in (f"{later}&{signature}", f"{expires}&{signature}x", f"{expires}&{signature[:-1]}",
                    f"{expires}&signature=", signature):
        answer = get(server, f"{path}?{altered}")
        assert answer.status == 403, altered
        assert b"signature does not match" in answer.body
        assert answer.field("content-type").startswith("text/plain")


def test_an_expired_link(server):
    target = link("--expires", "1s", "/files/a b").strip()
    expires = int(target.split("expires=")[1].split("&")[0])
    while time.time() < expires + 1:
        time.sleep(0.05)
    answer = get(server, target)
    assert (answer.status, answer.body) == (403, b"this link has expired\n")


def test_an_upload(server):
    target = link("--upload", "/files").strip()
    query = target[target.index("?") :]
    assert post(server, target, "by-link").status == 201
    assert "by-link" in server.uploaded()
    assert get(server, "/files/by-link" + query).status == 403, "no download"
    page = get(server, target, fields=[("accept", "text/html")])
    assert page.status == 200
    assert b"multipart/form-data" in page.body
    assert b"by-link" not in page.body, "no listing"


def test_another_key_signs_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert get(server, link("/files/a b").strip()).status == 403


@pytest.mark.parametrize("arguments", [
    [], ["/a", "/b"], ["--expires", "1", "/a"], ["--expires"], ["--what", "/a"], ["/a?b"],
    ["/a/../b"], ["--expires", "0s", "/a"],
])
def test_wrong_use(arguments):
    assert link(*arguments, status=2)
