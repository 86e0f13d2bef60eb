"""redbot and httplint, which judge responses by the RFCs, have no complaint."""

import base64
import json
import os
import shutil
import subprocess

import pytest

from support.contents import form, form_type
from support.environment import CLIENTS, PATIENCE, SOURCE, TOOLS
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

PYTHON = TOOLS / "python/bin/python"
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no redbot: see scripts/setup")

TEXT = b"a line of text that can be compressed\n" * 500


# Files come without Cache-Control, for the owner of a site knows how long they stay, so that caches
# may guess (RFC 9111, 4.2.2). redbot warns of that, and has no complaint if there is such a rule.
RULE = ("--header", "/** Cache-Control: no-cache")
GUESS = "FRESHNESS_HEURISTIC"


@pytest.fixture(scope="module")
def server():
    with Server(*RULE) as plain:
        fill(plain)
        yield plain


@pytest.fixture(scope="module", params=PROTOCOLS, ids=name_of)
def place(request):
    """A server and a protocol."""
    with Server(*RULE, tls=request.param.tls) as started:
        fill(started)
        yield started, request.param


def fill(server):
    shutil.copytree(SOURCE / "www", server.root, dirs_exist_ok=True)
    folder = server.root / "list"
    (folder / "sub dir").mkdir(parents=True)
    (folder / "text.txt").write_bytes(TEXT)
    (folder / "data.bin").write_bytes(os.urandom(20_000))
    (folder / "empty").touch()
    (folder / "größe €.txt").write_bytes(TEXT)
    os.utime(folder / "größe €.txt", (1_000_000_000, 1_000_000_000))


def judge(urls=(), responses=()):
    done = subprocess.run(
        [PYTHON, CLIENTS / "lint.py"], check=False, capture_output=True, text=True,
        timeout=120 * PATIENCE, input=json.dumps({"urls": list(urls), "responses": responses}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# What is no fault of the server.
GROUNDLESS = {
    # RFC 9111, 5.2.2.4: no-cache asks caches to validate. Without a validator they fetch the list
    # or archive anew, as they should; no-store would also keep browsers from going back to it.
    "FRESHNESS_NO_CACHE_NO_VALIDATOR",
    # RFC 9110, 15.3.7.2: several parts must not have Content-Range in the head.
    "PARTIAL_WITHOUT_RANGE",
    # The requests are wrong on purpose.
    "STATUS_BAD_REQUEST",
}


def complaints(notes):
    """Returns the names of the warnings and worse about each response that has any."""
    found = {name: {note for level, note, _ in of_one if level in ("warning", "bad")} - GROUNDLESS
             for name, of_one in notes.items()}
    return {name: bad for name, bad in found.items() if bad}


# --- redbot, over HTTP/1.1: it has no HTTP/2 -----------------------------------------------------

# Path → notes that show what redbot has tried.
FILE = {"IMS_304", "INM_304", "RANGE_CORRECT", "CL_CORRECT"}
TEXT_FILE = {*FILE, "CONNEG_GZIP_GOOD"}
VISITED = {
    "": TEXT_FILE,
    "how-it-works.html": TEXT_FILE,
    "style.css": TEXT_FILE,
    "streams.svg": TEXT_FILE,
    "downloads/frames.txt": TEXT_FILE,
    "protocol.js": FILE,  # too small to be compressed
    "favicon.svg": FILE,
    "list/text.txt": TEXT_FILE,
    "list/gr%C3%B6%C3%9Fe%20%E2%82%AC.txt?download": TEXT_FILE,
    "list/data.bin": FILE,
    "list/empty": {"CL_CORRECT"},
    "list/": {"CONNEG_GZIP_GOOD"},
    "list/?archive=zip": {"DATE_CORRECT"},
    "list/?archive=tar": {"DATE_CORRECT"},
    "list": {"CL_CORRECT"},
    "nowhere": {"CL_CORRECT"},
    "%zz": {"CL_CORRECT"},
    "files": {"DATE_CORRECT"},
}


def visit(server, paths):
    base = f"http://127.0.0.1:{server.port}/"  # it would ask a name server for "localhost"
    notes = judge(urls=[base + path for path in paths])
    return {path: notes[base + path] for path in paths}


def test_redbot(server):
    notes = visit(server, VISITED)
    assert complaints(notes) == {}
    for path, expected in VISITED.items():
        assert expected <= {note[1] for note in notes[path]}, path


def test_redbot_without_rules():
    with Server() as server:
        fill(server)
        found = complaints(visit(server, ["", "list/", "list/text.txt", "list", "nowhere"]))
    assert found == {path: {GUESS} for path in ("", "list/text.txt", "list")}


# --- httplint, over each protocol ----------------------------------------------------------------

CODINGS = ("accept-encoding", "gzip, br")
EARLIER = ("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT")

# Status, method, path, fields.
REQUESTS = [
    (200, "GET", "/", []),
    (200, "HEAD", "/", []),
    (200, "HEAD", "/list/", []),
    (200, "GET", "/", [CODINGS]),
    (200, "HEAD", "/style.css", [CODINGS]),
    (200, "GET", "/list/", [CODINGS]),
    (200, "GET", "/list/", [("accept", "application/json")]),
    (200, "GET", "/list/text.txt", [("accept-encoding", "gzip")]),
    (200, "GET", "/list/gr%C3%B6%C3%9Fe%20%E2%82%AC.txt?download", []),
    (200, "GET", "/list/empty", []),
    (200, "GET", "/list/?archive=zip", []),
    (200, "GET", "/files", []),
    (206, "GET", "/list/data.bin", [("range", "bytes=0-99")]),
    (200, "HEAD", "/list/data.bin", [("range", "bytes=0-99")]),  # RFC 9110, 14.2: for GET only
    (206, "GET", "/list/data.bin", [("range", "bytes=0-99,5000-5099")]),
    (206, "GET", "/list/data.bin", [("range", "bytes=-1")]),
    (416, "GET", "/list/data.bin", [("range", "bytes=90000-")]),
    (304, "GET", "/list/data.bin", [("if-none-match", "*")]),
    (304, "GET", "/list/gr%C3%B6%C3%9Fe%20%E2%82%AC.txt", [CODINGS, ("if-none-match", "*")]),
    (412, "GET", "/list/data.bin", [("if-match", '"no"')]),
    (412, "GET", "/list/data.bin", [EARLIER]),
    (301, "GET", "/list", []),
    (301, "HEAD", "/list", []),
    (404, "GET", "/nowhere", []),
    (404, "HEAD", "/nowhere", []),
    (404, "GET", "/nowhere", [CODINGS]),
    (405, "DELETE", "/list/data.bin", []),
    (204, "OPTIONS", "/list/data.bin", []),
    (400, "GET", "/%zz", []),
]


def message(name, place, method, path, fields, body=b""):
    """Makes a request. Returns its response for lint.py, and the status."""
    server, protocol = place
    answer = fetch(server, protocol, path, method, fields, body)
    return answer.status, {
        "name": name, "method": method, "url": server.url[:-1] + path, "request": fields,
        "version": "2" if protocol.http2 else "1.1", "status": answer.status,
        "fields": answer.fields, "body": base64.b64encode(answer.body).decode()}


def test_responses(place):
    made = [message(f"{number} {method} {path}", place, method, path, fields)
            for number, (_, method, path, fields) in enumerate(REQUESTS)]
    notes = judge(responses=[response for _, response in made])
    assert [status for status, _ in made] == [row[0] for row in REQUESTS]
    for _, response in made:  # RFC 9110, 6.6.1; RFC 9111, 5.1: it is no cache
        names = [name for name, _ in response["fields"]]
        assert names.count("date") == 1 and not {"age", "expires"} & set(names), response["name"]
    assert complaints(notes) == {}


def test_uploads(place):
    fields = [form_type()]
    made = [message(f"{status}", place, "POST", "/files", fields, form(("a b.txt", TEXT)))
            for status in (201, 409)]
    made.append(message("broken", place, "POST", "/files", fields, b"nothing of the kind"))
    assert [status for status, _ in made] == [201, 409, 400]
    assert complaints(judge(responses=[response for _, response in made])) == {}


def test_it_would_complain():
    """The oracle is at work: it does not accept what is wrong."""
    wrong = {"name": "wrong", "method": "GET", "url": "http://localhost/", "request": [],
             "version": "1.1", "status": 200, "body": base64.b64encode(b"four").decode(),
             "fields": [["content-length", "5"], ["date", "today"], ["etag", "no quotes"]]}
    assert {"CL_INCORRECT", "BAD_DATE_SYNTAX", "BAD_SYNTAX"} <= \
        complaints(judge(responses=[wrong]))["wrong"]
