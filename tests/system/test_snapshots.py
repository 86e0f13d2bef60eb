"""Files that are asked for again and again are sent from sealed copies (memfd), which do not change
with them."""

import collections
import os
import pathlib
import re
import time

import pytest

from support import pairs
from support.changes import CHANGES, KIB, OLD, Reader, seen_in_time, wait_for_stall
from support.contents import noise
from support.processes import members
from support.waiting import wait_until

_SNAPSHOT = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*/memfd:h2server-file", re.MULTILINE)

pytestmark = pytest.mark.skipif(bool(pairs.CHOSEN and pairs.CHOSEN.forks),
                                reason="each connection's process has a cache of its own")


def snapshots(server):
    """Returns how many snapshots of each size, in whole pages, the server has mapped."""
    return collections.Counter(
        int(end, 16) - int(start, 16) for pid in members(server.pid)
        for start, end in _SNAPSHOT.findall(pathlib.Path(f"/proc/{pid}/maps").read_text()))


def place_copied(site, contents):
    """Creates files and asks for them until the server has snapshots of all, which takes three
    seconds. `contents`: {name: bytes}. Returns their URL paths.

    Asks for each twice in a row: what is asked for less than once a second is not copied, and a
    slow machine takes longer for a round."""
    paths = [site.place(name, content) for name, content in contents.items()]
    before = snapshots(site.server).total()

    def copied():
        for path, content in zip(paths, contents.values()):
            for _ in range(2):
                assert site.fetch(path).body == content
        return snapshots(site.server).total() >= before + len(paths)

    wait_until(copied, "snapshots")
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
    """Not while another file, which is asked for no more often than the small one, is copied."""
    before = snapshots(site.server)
    small, once = site.place("small", noise(64 * KIB)), site.place("once", OLD)
    assert site.fetch(once).body == OLD
    often = 400 * KIB
    path = site.place("often", noise(often))

    def copied():
        for _ in range(2):
            assert site.fetch(small).status == 200
        for _ in range(2):
            assert site.fetch(path).status == 200
        return snapshots(site.server)[often] > before[often]

    wait_until(copied, "a snapshot")
    assert site.fetch(once).body == OLD
    assert snapshots(site.server) - before == {often: 1}


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
    changed = time.monotonic()
    for path, name in zip(paths, changes):
        file = site.folder / pathlib.Path(path).name
        content = file.read_bytes() if file.exists() else None
        seen = seen_in_time(lambda: answers(site, path, content), changed)  # noqa: B023
        assert seen, f"the old version is still sent: {name}"


def answers(site, path, content):
    answer = site.fetch(path)
    return answer.status == 404 if content is None else answer.body == content
