"""The status page of the admin listener, in Chromium."""

import contextlib
import json
import os
import socket
import subprocess
import urllib.request

import pytest

from support.environment import CLIENTS, SANITIZER, TOOLS, tool
from support.http1 import Connection
from support.server import Server

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")

HOSTILE = "/%3Cimg%20src=x%20onerror=alert(1)%3E%1B%E2%80%AE"


def free_port():
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


class Browser:
    def __init__(self, url, requests, home):
        modules = os.environ.get("NODE_PATH", TOOLS / "node_modules")
        self._process = subprocess.Popen(
            [tool("node"), CLIENTS / "status_page.js", tool("chromium"), url, str(requests)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(modules), "HOME": str(home)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    def line(self):
        """Returns the next line; empty if the script has failed, which it does after 30 s."""
        return self._process.stdout.readline().strip()

    def go_on(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()


def test_status_page(tmp_path):
    port = free_port()
    server = Server("--admin", f"127.0.0.1:{port}", workers=2)
    paths = ["/"] * 5 + [HOSTILE] * 3
    url = f"http://127.0.0.1:{port}/-/status"
    with server, Browser(url, len(paths), tmp_path) as browser:
        # Paths are counted from the first look on, which the browser may take after the requests.
        urllib.request.urlopen(f"{url}.json").close()
        with Connection(server) as client:
            for path in paths:
                client.request("GET", path)
                client.answer()
            seen = json.loads(browser.line() or "null")
            assert seen is not None, "the script has failed"
        check(seen)
        server.stop()
        assert browser.line() == "cut"
        browser.go_on()
        server.start()
        assert browser.line() == "live"


def check(seen):
    assert seen["problems"] == []
    assert seen["sorted"] == "ascending" and seen["paused"] == "Paused"
    phone, desk = seen["visits"]
    assert phone["background"] != desk["background"], "the dark colours are not in use"
    for visit in (phone, desk):
        assert not visit["overflow"], "the page scrolls sideways"
        assert visit["images"] == 0, "a path has become markup"
        assert any("onerror" in path for path in visit["paths"]), visit["paths"]
        assert not any("\x1b" in path or "\u202e" in path for path in visit["paths"])
        assert visit["workers"] == 2
        assert "127.0.0.1" in visit["connections"]
        assert visit["heat"], "the heat map is empty"
        assert all(visit["names"]) and len(visit["names"]) == 2
        assert visit["captions"] == 0, "a table without a caption"
