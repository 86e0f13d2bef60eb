"""Files that are asked for again and again are sent from sealed copies (memfd), which do not change
with them."""

import os
import pathlib
import time

import pytest

from support import pairs
from support.changes import CHANGES, KIB, OLD, Reader, wait_for_stall
from support.contents import noise
from support.environment import PATIENCE
from support.processes import members
from support.waiting import holds_within

SEEN_WITHIN_S = 1.2 * PATIENCE  # the server caches a file's state for one second

pytestmark = pytest.mark.skipif(bool(pairs.CHOSEN and pairs.CHOSEN.forks),
                                reason="each connection's process has a cache of its own")


def snapshots(server):
    """Returns the number of snapshots that the server has mapped."""
    return sum(pathlib.Path(f"/proc/{pid}/maps").read_text().count("/memfd:h2server-file")
               for pid in members(server.pid))


def place_copied(site, contents):
    """Creates files and asks for them until the server has snapshots of all, which takes three
    seconds. `contents`: {name: bytes}. Returns their URL paths.

    Asks for each twice in a row: what is asked for less than once a second is not copied, and a
    slow machine takes longer for a round."""
    paths = [site.place(name, content) for name, content in contents.items()]
    before = snapshots(site.server)
    until = time.monotonic() + 20 * PATIENCE
    while snapshots(site.server) < before + len(paths):
        for path, content in zip(paths, contents.values()):
            for _ in range(2):
                assert site.fetch(path).body == content
        assert time.monotonic() < until, "no snapshots"
    return paths


def test_sizes(site):
    sizes = (64 * KIB + 1, 130 * KIB, 2000 * KIB + 1)
    contents = {f"{size}": noise(size) for size in sizes}
    for path, (name, content) in zip(place_copied(site, contents), contents.items()):
        for _ in range(3):
            assert site.fetch(path).body == content, name
        assert site.fetch(path, "HEAD").field("content-length") == name
        part = site.fetch(path, fields=[("range", "bytes=1000-69999")])
        assert part.status == 206 and part.body == content[1000:70_000], name
        parts = site.fetch(path, fields=[("range", f"bytes=10-20,1000-{60 * KIB}")])
        assert parts.status == 206 and content[1000 : 60 * KIB + 1] in parts.body, name


def test_small_files_and_files_asked_for_once_are_not_copied(site):
    before = snapshots(site.server)
    small, once = site.place("small", noise(64 * KIB)), site.place("once", OLD)
    until = time.monotonic() + 4.5
    assert site.fetch(once).body == OLD
    while time.monotonic() < until:
        assert site.fetch(small).status == 200
    assert site.fetch(once).body == OLD
    assert snapshots(site.server) == before


def test_a_response_is_of_the_version_it_began_with(site):
    changes = {**CHANGES, "removed": os.unlink}
    paths = place_copied(site, {name.replace(" ", "_"): OLD for name in changes})
    for path, (name, change) in zip(paths, changes.items()):
        with Reader(site, path) as reader:
            reader.read_to(100 * KIB)
            wait_for_stall(site.server)
            change(site.folder / pathlib.Path(path).name)
            whole = reader.finish() == OLD
            assert whole, f"the snapshot changed with its file: {name}"
    until = time.monotonic() + SEEN_WITHIN_S
    for path, name in zip(paths, changes):
        file = site.folder / pathlib.Path(path).name
        content = file.read_bytes() if file.exists() else None
        seen = holds_within(lambda: answers(site, path, content), max(0, until - time.monotonic()))
        assert seen, f"the old version is still sent: {name}"


def answers(site, path, content):
    answer = site.fetch(path)
    return answer.status == 404 if content is None else answer.body == content
