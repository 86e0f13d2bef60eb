"""The page of an upload directory in Chromium: the queue and what breaks it, names that exist,
changes by others, accessibility, and the form without a script."""

import json
import os
import signal
import subprocess

import pytest

from support.contents import sha256_of_file, write_noise
from support.environment import CLIENTS, SANITIZER, TOOLS, tool
from support.line import Line
from support.server import Server
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")

MANAGED = ("--upload-folders", "--upload-manage")
MIB = 1024 * 1024


class Visit:
    """A scene of clients/upload_page.js. It is left by `seen()`, which returns what it saw."""

    def __init__(self, port, scene, home, *arguments):
        modules = os.environ.get("NODE_PATH", TOOLS / "node_modules")
        self._process = subprocess.Popen(
            [tool("node"), CLIENTS / "upload_page.js", tool("chromium"),
             f"http://127.0.0.1:{port}/files", scene, home, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(modules), "HOME": str(home)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def reaches(self, name):
        """Waits until the scene waits for this test at that point."""
        line = self._process.stdout.readline()
        assert line, self._process.stderr.read()
        assert json.loads(line) == {"reached": name}

    def go_on(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def seen(self):
        output, error = self._process.communicate(timeout=240)
        assert self._process.returncode == 0, error
        seen = json.loads(output.splitlines()[-1])
        assert seen["problems"] == []
        assert seen["other_hosts"] == []
        return seen


def visit(server, scene, home, *arguments):
    with Visit(server.port, scene, home, *arguments) as one:
        return one.seen()


def make_sources(folder, sizes):
    """Returns the digest of each file by its path below `folder`."""
    digests = {}
    for name, size in sizes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digests[name] = write_noise(path, size)
    return digests


def stored(server):
    """Returns the digest of each file of the upload directory by its path."""
    return {str(path.relative_to(server.uploads)): sha256_of_file(path)
            for path in server.uploads.rglob("*")
            if path.is_file() and not path.name.startswith("h2_tmp_")}


def test_the_line_is_cut_and_the_server_killed(tmp_path):
    """Three files and a folder arrive whole, by themselves."""
    digests = make_sources(tmp_path / "from", {
        "large.bin": 24 * MIB, "b \u00e9 #?%.txt": 100_000, "empty": 0,
        "folder/a.txt": 10, "folder/deep/c.bin": 2 * MIB})
    dropped = [str(tmp_path / "from" / name)
               for name in ("large.bin", "b \u00e9 #?%.txt", "empty", "folder")]
    with Server(*MANAGED, quiet=False) as server, Line(server.port, 8 * MIB) as line, \
            Visit(line.port, "broken", tmp_path, *dropped) as page:
        page.reaches("under way")
        line.cut()
        page.go_on()
        page.reaches("cut")
        line.mend()
        page.go_on()
        page.reaches("under way again")
        server.signal(signal.SIGKILL)
        server.process.wait()
        page.go_on()
        page.reaches("killed")
        server.start()
        line.target = server.port
        line.bytes_per_s = None
        page.go_on()
        seen = page.seen()
        assert stored(server) == digests
    assert seen["digests"] == digests
    assert seen["over"] == 1
    assert "Trying again" in seen["retrying"]
    assert "of 5 files" in seen["figures"] and "left" in seen["figures"]
    assert seen["sum"].startswith("5 files uploaded")
    assert seen["names"] == ["folder/", "b \u00e9 #?%.txt", "empty", "large.bin"]


def test_a_reload_goes_on_where_it_stopped(tmp_path):
    source = tmp_path / "large.bin"
    digest = write_noise(source, 24 * MIB)
    with Server() as server, Line(server.port, 8 * MIB) as line, \
            Visit(line.port, "reload", tmp_path, source) as page:
        seen = page.seen()
        assert stored(server) == {"large.bin": digest}
    assert seen["paused"].startswith("Paused")
    assert seen["interrupted"].startswith("Interrupted at")
    assert 0 < seen["offset"] < 24 * MIB
    assert seen["rows"] == 1
    assert seen["kept"] in (0, ["{}"])


def test_without_resumable_uploads(tmp_path):
    """A form that was cut begins anew."""
    sources = make_sources(tmp_path / "from", {"large.bin": 16 * MIB, "small.txt": 100})
    with Server() as server, Line(server.port, 8 * MIB) as line, \
            Visit(line.port, "form", tmp_path, *(tmp_path / "from" / name for name in sources)) \
            as page:
        page.reaches("under way")
        line.cut()
        page.go_on()
        page.reaches("cut")
        line.mend()
        page.go_on()
        seen = page.seen()
        assert stored(server) == sources
    assert seen["pause"] is False
    assert seen["digests"] == list(sources.values())


def test_cancel_leaves_nothing(tmp_path):
    source = tmp_path / "large.bin"
    write_noise(source, 24 * MIB)
    with Server() as server, Line(server.port, 8 * MIB) as line, \
            Visit(line.port, "cancel", tmp_path, source) as page:
        seen = page.seen()
        wait_until(lambda: server.uploaded() == [], "the upload is removed")
    assert seen["focused"] == "Choose files"


@pytest.mark.parametrize("arguments", [MANAGED, ("--upload-overwrite",)],
                         ids=["manage", "overwrite"])
def test_names_that_exist(arguments, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with Server(*arguments) as server:
        (server.uploads / "note.txt").write_text("theirs")
        seen = visit(server, "names", tmp_path, tmp_path / "note.txt")
        assert server.uploaded() == ["note (2).txt", "note.txt"]
        assert (server.uploads / "note.txt").read_text() == "mine"
        assert (server.uploads / "note (2).txt").read_text() == "mine"
    assert seen["names"] == ["note (2).txt", "note.txt"]


def test_manage(tmp_path):
    (tmp_path / "note.txt").write_text("note")
    with Server(*MANAGED) as server:
        for name in ("one.txt", "taken.txt"):
            (server.uploads / name).write_text(name)
        seen = visit(server, "manage", tmp_path, tmp_path / "note.txt")
        assert server.uploaded() == ["new", "two.txt"]
        assert (server.uploads / "two.txt").read_text() == "one.txt"
        assert (server.uploads / "new/note.txt").read_text() == "note"
    assert seen["taken"] == "The name exists already."
    assert seen["names"] == ["new/", "two.txt"]
    assert seen["crumbs"] == ["Uploads", "new"]


def test_what_is_not_allowed_is_not_offered(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    with Server() as server:
        (server.uploads / "a.txt").write_text("theirs")
        seen = visit(server, "offers", tmp_path, tmp_path / "a.txt")
    assert seen == {**seen, "new_folder": 0, "rename": 0, "folder": False, "replace": False}


def test_changes_by_others(tmp_path):
    with Server() as server, Line(server.port) as line:
        (server.uploads / "small.txt").write_text("small")
        with Visit(line.port, "changes", tmp_path) as page:
            seen = watch_changes(server, line, page)
    assert seen["told"] == "New: theirs.txt."
    assert seen["focused"] == "small.txt"
    assert seen["by_size"] == ["small.txt", "large.bin"]
    assert seen["summary"] == "2 files, 105 B"


def watch_changes(server, line, page):
    page.reaches("open")
    (server.uploads / "theirs.txt").write_text("theirs")
    page.go_on()
    page.reaches("seen")
    (server.uploads / "theirs.txt").unlink()
    page.go_on()
    page.reaches("gone")
    (server.uploads / "large.bin").write_bytes(bytes(100))
    page.go_on()
    page.reaches("back")
    line.cut()
    server.stop()
    (server.uploads / "later.txt").write_text("later")
    server.start()
    line.target = server.port
    line.mend()
    page.go_on()
    return page.seen()


def test_pictures(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"photo")
    with Server() as server:
        seen = visit(server, "pictures", tmp_path, tmp_path / "photo.jpg")
        pasted, photo = server.uploaded()
        assert pasted.startswith("Pasted 20") and pasted.endswith(".png")
        assert (server.uploads / pasted).read_text() == "picture"
        assert photo == "photo.jpg"
    assert seen["photo_offered"] is False
    assert seen["capture"] == "environment"


def test_looks(tmp_path):
    """axe-core finds nothing in any state, and no phone scrolls sideways."""
    sources = []
    for name, size in {"note.txt": 4, "long-" + 30 * "name-" + ".bin": 6 * MIB}.items():
        write_noise(tmp_path / name, size)
        sources.append(tmp_path / name)
    with Server(*MANAGED) as server, Line(server.port, MIB / 2) as line:
        (server.uploads / "folder").mkdir()
        (server.uploads / "note.txt").write_text("note")
        with Visit(line.port, "looks", tmp_path, *sources) as page:
            for _ in range(4):
                page.reaches("paused")
                line.bytes_per_s = None
                page.go_on()
                page.reaches("looked")
                for path in server.uploads.glob("*.*"):
                    if path.name != "note.txt":
                        path.unlink()
                line.bytes_per_s = MIB / 2
                page.go_on()
            seen = page.seen()
    assert seen["violations"] == []
    assert seen["wide"] == []


def test_without_a_script(tmp_path):
    (tmp_path / "plain.txt").write_text("plain")
    with Server() as server:
        seen = visit(server, "plain", tmp_path, tmp_path / "plain.txt")
        assert (server.uploads / "plain.txt").read_text() == "plain"
    assert seen["width"] == 375
    assert seen["status"] == 201
