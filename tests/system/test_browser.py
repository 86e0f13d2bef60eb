"""Chromium reads the pages that come with the server, downloads, and uploads through the form."""

import json
import os
import shutil
import subprocess

import pytest

from support.contents import sha256_of_file, write_noise
from support.environment import CLIENTS, SANITIZER, SOURCE, TOOLS, tool
from support.server import Server

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")


def visit(server, upload, folder):
    modules = os.environ.get("NODE_PATH", TOOLS / "node_modules")
    done = subprocess.run(
        [tool("node"), CLIENTS / "browser.js", tool("chromium"), server.url, upload, folder],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "NODE_PATH": str(modules), "HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
