"""Chromium opens the bundled pages, downloads a file, and uploads through the form."""

import json
import os
import shutil
import subprocess

import pytest

from support.contents import sha256_of_file, write_noise
from support.environment import CLIENTS, SANITIZER, SOURCE, TOOLS, tool
from support.server import Server

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")


def run_browser(script, *arguments, home):
    modules = os.environ.get("NODE_PATH", TOOLS / "node_modules")
    done = subprocess.run(
        [tool("node"), CLIENTS / script, tool("chromium"), *arguments],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "NODE_PATH": str(modules), "HOME": str(home)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def visit(server, upload, folder):
    return run_browser("browser.js", server.url, upload, folder, home=folder)


def test_visit(tmp_path):
    upload = tmp_path / "holiday <b>&amp; 5 MB.bin"
    digest = write_noise(upload, 5_000_000)
    with Server(tls=True) as server:
        shutil.copytree(SOURCE / "www", server.root, dirs_exist_ok=True)
        seen = visit(server, upload, tmp_path)
        assert seen["problems"] == []
        check_pages(seen)
        assert sha256_of_file(tmp_path / "downloaded") == \
            sha256_of_file(server.root / "downloads/frames.txt")
        check_uploads(seen, server, upload.name, digest)


def check_pages(seen):
    assert len(set(seen["titles"])) == 2
    assert set(seen["protocols"]) == {"h2"}
    assert "HTTP/2" in seen["badge"] or "h2" in seen["badge"]
    assert seen["rules"] > 10, "the style sheet is not in use"
    assert seen["images"] and min(seen["images"]) > 0, "an image is missing"
    assert {"/style.css", "/streams.svg", "/favicon.svg"} <= set(seen["requests"])


def check_uploads(seen, server, name, digest):
    assert seen["listed"] == [name]
    assert seen["plainStatus"] == 201
    assert seen["plainListed"] == sorted([name, f"plain-{name}"])
    for stored in (name, f"plain-{name}"):
        assert sha256_of_file(server.uploads / stored) == digest


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_pages_of_others_store_nothing(tls, tmp_path):
    """Browsers send Sec-Fetch-Site only over TLS and to loopback hosts."""
    scheme = "https" if tls else "http"
    with Server(tls=tls) as server, Server(tls=tls, uploads=False) as other:
        for root in (server.root, other.root):
            (root / "index.html").write_text("<!doctype html><title>page</title>")
        # File name → host of the page, its server, host of the target.
        pages = {
            "own-name": ("site.test", server, "site.test"),
            "own-address": ("127.0.0.1", server, "127.0.0.1"),
            "other-port": ("127.0.0.1", other, "127.0.0.1"),
            "other-port-of-name": ("site.test", other, "site.test"),
            "localhost": ("localhost", other, "127.0.0.1"),
            "localhost-same-port": ("localhost", server, "127.0.0.1"),
            "other-name": ("other.test", other, "site.test"),
            "other-name-same-port": ("other.test", server, "site.test"),
        }
        visits = [(f"{scheme}://{page}:{host.port}/", f"{scheme}://{target}:{server.port}/files",
                   name) for name, (page, host, target) in pages.items()]
        statuses = run_browser("posting_pages.js", json.dumps(visits), home=tmp_path)
        own = {"own-name", "own-address"}
        assert statuses == {name: 201 if name in own else 403 for name in pages}
        assert server.uploaded() == sorted([*own, *(f"{name}-fetch" for name in own)])
