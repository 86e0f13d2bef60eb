"""The examples, each with a real client. test_trailers.py and test_listeners.py test two more."""

import contextlib
import json
import re
import subprocess

import httpx
import pytest

from support.environment import BUILD, LAST_RESORT_S, SANITIZER, tool
from support.server import without_held_turns
from test_browser import run_browser


@contextlib.contextmanager
def example(name, *arguments, stdin=subprocess.DEVNULL, ends_itself=False):
    """Runs the example on a free port. Yields the process, whose `url` is what it prints."""
    program = BUILD / "examples" / name
    if name in ("notes", "embedded_glib") and not program.exists():
        pytest.skip("needs a library that is not installed")
    with subprocess.Popen([program, "0", *arguments], text=True, stdin=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            process.url = process.stdout.readline().strip()
            assert re.fullmatch(r"https?://127\.0\.0\.1:\d+/\w*", process.url)
            yield process
            if not ends_itself:
                process.terminate()
            _, stderr = process.communicate(timeout=LAST_RESORT_S)
            assert (process.returncode, without_held_turns(stderr)) == (0, "")
        finally:
            process.kill()


def curl(*arguments):
    done = subprocess.run([tool("curl"), "-sS", "-m", str(LAST_RESORT_S), "-w", "%{http_code}",
                           *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout[-3:]), done.stdout[:-3]


def test_hello():
    with example("hello") as hello:
        for path, body in {"": "Hello!\n", "hello/Ada": "Hello, Ada!\n",
                           "sum?a=2&b=3": '{"sum":5}\n'}.items():
            assert curl(hello.url + path) == (200, body)
            assert curl("--http2-prior-knowledge", hello.url + path) == (200, body)


def test_notes(tmp_path):
    database = tmp_path / "notes.db"
    with example("notes", database) as notes, httpx.Client(timeout=LAST_RESORT_S) as client:
        created = client.post(notes.url, json={"text": "bread “and” milk"})
        assert (created.status_code, created.json()) == (201, {"id": 1, "text": "bread “and” milk"})
        assert client.post(notes.url, json={"text": "tea"}).headers["location"] == "/notes/2"
        assert client.delete(f"{notes.url}/2").status_code == 204
    with example("notes", database) as notes, httpx.Client(timeout=LAST_RESORT_S) as client:
        assert client.get(notes.url).json() == [created.json()], "the notes outlive the program"
        assert client.get(f"{notes.url}/1").json() == created.json()
        refused = client.post(notes.url, json={"text": ""})
        assert (refused.status_code, refused.json()["status"]) == (422, 422)
        assert refused.headers["content-type"] == "application/problem+json"
        assert curl("-X", "DELETE", f"{notes.url}/2") == \
            (404, '{"title":"Not Found","status":404}\n')


def test_notes_says_why_it_does_not_start(tmp_path):
    program = BUILD / "examples/notes"
    if not program.exists():
        pytest.skip("needs SQLite")
    done = subprocess.run([program, "0", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}: unable to open database file\n"


def test_clock_goes_on_where_a_client_was():
    with example("clock") as clock:
        with httpx.stream("GET", f"{clock.url}ticks", timeout=LAST_RESORT_S) as response:
            assert response.headers["content-type"] == "text/event-stream"
            lines = response.iter_lines()
            first = [next(lines) for _ in range(8)]
            ids = [int(line.strip().removeprefix("id: ")) for line in first[1::4]]
            assert ids[0] < ids[1]
        last = {"Last-Event-ID": str(ids[0])}
        with httpx.stream("GET", f"{clock.url}ticks", headers=last,
                          timeout=LAST_RESORT_S) as response:
            lines = response.iter_lines()
            assert [next(lines) for _ in range(4)] == first[4:]


@pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")
@pytest.mark.parametrize("tls", [False, True], ids=["http1", "http2"])
def test_clock_in_a_browser(tls, tmp_path):
    if tls:
        subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                        "-keyout", "key.pem", "-out", "cert.pem"],
                       cwd=tmp_path, check=True, capture_output=True)
    files = [tmp_path / "cert.pem", tmp_path / "key.pem"] if tls else []
    with example("clock", *files) as clock:
        light, dark = run_browser("clock.js", clock.url, home=tmp_path)
    for seen in (light, dark):
        assert re.fullmatch(r"\d\d:\d\d:\d\d", seen["time"])
        assert (seen["state"], seen["problems"], seen["fits"]) == ("live", [], True)
        assert seen["events"] == sorted(seen["events"], reverse=True)
        assert seen["protocol"] == ("h2" if tls else "http/1.1")
    assert light["background"] != dark["background"]


# Arguments of curl, path → status, body.
AUTHENTICATION = {
    "everybody": ([], "", 200, "Everybody may read this.\n"),
    "nobody": ([], "account", 401, None),
    "password": (["-u", "ada:engine"], "account", 200, "Hello, ada!\n"),
    "wrong password": (["-u", "ada:engines"], "account", 401, None),
    "unknown user": (["-u", "eve:engine"], "account", 401, None),
    "not for this user": (["-u", "ada:engine"], "account/admin", 403,
                          "Only Charles may do this.\n"),
    "for this user": (["-u", "charles:difference"], "account/admin", 200, "Hello, charles!\n"),
    "token": (["--oauth2-bearer", "token-of-robot"], "api/status", 200, '{"well":true}\n'),
    "wrong token": (["--oauth2-bearer", "token"], "api/status", 401, None),
    "password for a token": (["-u", "ada:engine"], "api/status", 401, None),
}


def test_authentication():
    with example("authentication") as running:
        for name, (arguments, path, status, body) in AUTHENTICATION.items():
            got = curl(*arguments, running.url + path)
            assert got[0] == status, name
            assert body in (None, got[1]), name
        for path, scheme in {"account": "Basic", "api/status": "Bearer"}.items():
            challenge = httpx.get(running.url + path).headers["www-authenticate"]
            assert challenge.startswith(f"{scheme} realm=")


def test_embedded_reads_its_input():
    with example("embedded", stdin=subprocess.PIPE, ends_itself=True) as embedded:
        assert curl(embedded.url) == (200, "nothing yet\n")
        embedded.stdin.write("tea is ready\n")
        embedded.stdin.flush()
        # The program may take the request before the line.
        while curl(embedded.url) == (200, "nothing yet\n"):
            pass
        assert curl("--http2-prior-knowledge", embedded.url) == (200, "tea is ready\n")
        embedded.stdin.write("quit\n")


def test_embedded_in_glib():
    with example("embedded_glib") as embedded:
        while int(json.loads(curl(embedded.url)[1])) < 1:
            pass
