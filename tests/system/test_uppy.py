"""Uppy, with its plugin for tus, in Chromium: three files, while the line is cut."""

import json
import os
import shutil
import subprocess

import pytest

from support.contents import sha256_of_file, write_noise
from support.environment import CLIENTS, PATIENCE, SANITIZER, TOOLS, tool
from support.line import Line
from support.resumable import UploadServer
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")

MIB = 1024 * 1024
UPPY = TOOLS / "uppy/uppy.min.js"  # scripts/setup test installs it


@pytest.fixture(scope="module")
def chromium():
    found = shutil.which("chromium")
    if not found or not UPPY.exists():
        pytest.skip("no Chromium or no Uppy here; scripts/setup test installs both")
    return found


class Uppy:
    """with Uppy(chromium, url, files) as uppy: clients/uppy.js, which uploads the files."""

    def __init__(self, chromium, url, home, files):
        modules = os.environ.get("NODE_PATH", TOOLS / "node_modules")
        self._process = subprocess.Popen(
            [tool("node"), CLIENTS / "uppy.js", chromium, url, *files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(modules), "HOME": str(home)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def reaches(self, name):
        line = self._process.stdout.readline()
        assert line, self._process.stderr.read()
        assert json.loads(line) == {"reached": name}

    def go_on(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def seen(self):
        output, error = self._process.communicate(timeout=120 * PATIENCE)
        assert self._process.returncode == 0, error
        return json.loads(output.splitlines()[-1])


def test_files_arrive_over_a_line_that_is_cut(chromium, tmp_path):
    # The large one takes four seconds.
    sizes = {"large.bin": 32 * MIB, "middle \u00e9 #?%.bin": 2 * MIB + 1, "small.txt": 17}
    digests = {name: write_noise(tmp_path / name, size) for name, size in sizes.items()}
    with UploadServer() as server, Line(server.port, 8 * MIB) as line:
        shutil.copy(CLIENTS / "uppy.html", server.root)
        shutil.copy(UPPY, server.root)
        files = [tmp_path / name for name in sizes]
        with Uppy(chromium, f"http://127.0.0.1:{line.port}/uppy.html", tmp_path, files) as uppy:
            uppy.reaches("under way")
            wait_until(lambda: sum(path.stat().st_size for path in server.pending()) > 2 * MIB + 1,
                       "a part of the large file is received")
            line.cut()
            uppy.go_on()
            uppy.reaches("cut")
            line.mend()
            uppy.go_on()
            seen = uppy.seen()
        assert seen["problems"] == []
        assert set(seen["urls"]) == set(sizes)
        stored = {path.name: sha256_of_file(path) for path in server.uploads.iterdir()
                  if not path.name.startswith("h2_tmp_")}
        assert stored == digests
        assert server.pending() == []
    created = [status for method, status, _ in seen["answers"] if method == "POST"]
    assert created == [201] * len(sizes), "nothing was begun anew"
    offsets = [int(offset) for method, status, offset in seen["answers"]
               if (method, status) == ("PATCH", 204)]
    assert max(offsets) > 0, "what had arrived was not sent again"
