"""A program or a URL that is told of each upload."""

import hashlib
import http.server
import json
import threading

import pytest

from support.contents import form, form_type
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until

H1 = PROTOCOLS[0]


def upload(server, name, content=b"content", protocol=H1):
    answer = fetch(server, protocol, "/files", "POST", [form_type()], form((name, content)))
    assert answer.status == 201, answer


@pytest.fixture
def script(tmp_path):
    """script(text): makes a program, which runs in its own folder. Returns its path."""

    def make(text):
        path = tmp_path / "hook"
        path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_a_program(script, tmp_path, protocol):
    hook = script('printf "%s\\n" "$#" "$1" "$H2SERVER_UPLOAD_NAME" "$H2SERVER_UPLOAD_SIZE"'
                  ' "$H2SERVER_UPLOAD_SHA256" "$H2SERVER_UPLOAD_CLIENT" > new; mv new told')
    with Server("--upload-hook", hook, tls=protocol.tls) as server:
        upload(server, "a b.txt", protocol=protocol)
        wait_until((tmp_path / "told").exists, "the hook")
        assert (tmp_path / "told").read_text().splitlines() == [
            "1", str(server.uploads / "a b.txt"), "a b.txt", "7",
            hashlib.sha256(b"content").hexdigest(), "127.0.0.1"]


def test_all_files_of_a_form_in_their_order(script, tmp_path):
    with Server("--upload-hook", script('echo "$H2SERVER_UPLOAD_NAME" >> told')) as server:
        body = form(("a", b"1"), ("b", b"2"), ("c", b"3"))
        assert fetch(server, H1, "/files", "POST", [form_type()], body).status == 201
        upload(server, "d")
    assert (tmp_path / "told").read_text() == "a\nb\nc\nd\n", "the server waits when it stops"


def test_what_is_refused_is_not_told(script, tmp_path):
    with Server("--upload-hook", script('echo "$H2SERVER_UPLOAD_NAME" >> told')) as server:
        upload(server, "a")
        refused = fetch(server, H1, "/files", "POST", [form_type()], form(("a", b"again")))
        assert refused.status == 409
        upload(server, "b")
    assert (tmp_path / "told").read_text() == "a\nb\n"


def test_a_program_that_fails_is_tried_again_and_logged(script, tmp_path):
    hook = script("echo >> tries; exit 3")
    with Server("--upload-hook", hook, quiet=False) as server:
        upload(server, "a")
        assert (server.uploads / "a").exists(), "the upload counts anyway"
        wait_until(lambda: "exit status 3" in server.stderr, "a line in the log")
        assert server.stderr.count("exit status 3") == 1
    assert (tmp_path / "tries").read_text() == "\n" * 4


def test_a_slow_program_holds_up_neither_uploads_nor_the_stop(script, tmp_path):
    with Server("--upload-hook", script("echo >> begun; exec sleep 1000"), quiet=False) as server:
        for name in "abc":
            upload(server, name)
        wait_until((tmp_path / "begun").exists, "the hook")
    assert (tmp_path / "begun").read_text() == "\n", "one at a time"


class Receiver(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.end_headers()


@pytest.fixture
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.told, server.statuses = [], []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_url(receiver):
    receiver.statuses = [503]
    with Server("--upload-hook", receiver.url + "/hook?key=1") as server:
        upload(server, "a\u00e4.txt")
        wait_until(lambda: len(receiver.told) == 2, "the hook")
        assert receiver.told[0] == receiver.told[1] == (
            "/hook?key=1", "application/json",
            {"path": str(server.uploads / "a\u00e4.txt"), "name": "a\u00e4.txt", "size": 7,
             "sha256": hashlib.sha256(b"content").hexdigest(), "client": "127.0.0.1"})


def test_a_hook_that_is_none_is_refused():
    server = Server("--upload-hook", "/no/such/program")
    with pytest.raises(AssertionError, match="neither a program nor a URL"), server:
        pass
