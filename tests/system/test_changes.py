"""Files that change while they are served: a response is whole and of one version, or cut off."""

import os
import time

import pytest

from support.answer import Broken
from support.changes import (CHANGES, HARMLESS, KIB, NEW, OLD, Reader, append, rewrite,
                             seen_in_time, wait_for_stall)
from support.contents import noise
from support.http1 import get


def check_alive(site):
    assert site.server.running
    assert site.fetch(site.place("alive", b"alive")).body == b"alive"


def fetch_or_none(site, path):
    """Returns the answer, or None if the server cut it off because the file has changed."""
    try:
        return site.fetch(path)
    except Broken:
        return None


# --- seen within the second ----------------------------------------------------------------------


def replace(file, content):
    """Replaces the file atomically, by renaming."""
    new = file.with_name(file.name + ".new")
    new.write_bytes(content)
    os.rename(new, file)


def replace_by_folder(file, content):
    file.unlink()
    file.mkdir()
    (file / "index.html").write_bytes(content)


def write_in_place(file, content):
    with open(file, "r+b") as opened:
        opened.write(content)
        opened.truncate()


# Size of the first version (None: no file), the change, size of the second version, its status.
SEEN = {
    "replaced": (1000, replace, 1000, 200),
    "large, replaced": (300 * KIB, replace, 300 * KIB, 200),
    "small by large": (10, replace, 300 * KIB, 200),
    "large by small": (300 * KIB, replace, 10, 200),
    "written in place": (10, write_in_place, 10, 200),
    "large, written in place": (300 * KIB, write_in_place, 300 * KIB, 200),
    "grown": (10, write_in_place, 20, 200),
    "emptied": (100, write_in_place, 0, 200),
    "large, emptied": (1000 * KIB, write_in_place, 0, 200),
    "removed": (1000, lambda file, _: file.unlink(), 0, 404),
    "large, removed": (1000 * KIB, lambda file, _: file.unlink(), 0, 404),
    "made": (None, lambda file, content: file.write_bytes(content), 1000, 200),
    "turned into a folder": (1000, replace_by_folder, 1000, 301),
}


def test_changes_are_seen_within_the_second(site):
    for name, (size, *_) in SEEN.items():
        if size is None:
            assert site.fetch(f"/{site.name}/{name.replace(' ', '%20')}").status == 404
        else:
            content = noise(size, seed=1)
            assert site.fetch(site.place(name, content).replace(" ", "%20")).body == content
    for name, (_, change, size, _) in SEEN.items():
        change(site.folder / name, noise(size, seed=2))
    changed = time.monotonic()
    for name, (_, _, size, status) in SEEN.items():
        path = f"/{site.name}/{name.replace(' ', '%20')}"
        expected = site, path, status, noise(size, seed=2)
        assert seen_in_time(lambda: is_answered(*expected), changed), name  # noqa: B023
    check_alive(site)


def is_answered(site, path, status, content):
    answer = fetch_or_none(site, path)
    return answer is not None and answer.status == status and (status != 200 or
                                                               answer.body == content)


def test_a_series_of_versions(site):
    """Versions of equal size, written in quick succession, are told apart."""
    path = site.place("a", noise(1000, seed=0))
    for seed in range(1, 3):
        write_in_place(site.folder / "a", noise(1000, seed))
        changed, content = time.monotonic(), noise(1000, seed)
        assert seen_in_time(lambda: site.fetch(path).body == content, changed)  # noqa: B023


def test_modified_file_has_another_tag(site):
    path = site.place("a", b"one")
    before = [("if-none-match", site.fetch(path).field("etag"))]
    time.sleep(0.05)  # a file's times have steps of up to 10 ms, and the size is the same
    (site.folder / "a").write_bytes(b"two")
    changed = time.monotonic()
    seen = seen_in_time(lambda: site.fetch(path, fields=before).body == b"two", changed)
    assert seen, "an old tag is still taken for the new version's"


# --- replaced during a response ------------------------------------------------------------------


UNSEEN = {"replaced": lambda file: replace(file, NEW), **HARMLESS}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_what_changes_no_byte_cuts_nothing(site, change):
    path = site.place("a", OLD)
    with Reader(site, path) as reader:
        reader.read_to(100 * KIB)
        change(site.folder / "a")
        whole = reader.finish() == OLD
        assert whole


def test_a_file_that_grows_all_the_time(site):
    path = site.place("a", OLD)
    with Reader(site, path) as reader:
        for offset in range(0, len(OLD), 512 * KIB):
            reader.read_to(offset)
            append(site.folder / "a")
        whole = reader.finish() == OLD
        assert whole


# --- changed in place during a response ----------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_on_its_way(site, change):
    path = site.place("a", OLD)
    with Reader(site, path) as reader:
        reader.read_to(100 * KIB)
        wait_for_stall(site.server)
        change(site.folder / "a")
        body = reader.finish()
    assert body in (None, OLD), "a mixed response, complete to its reader"
    if body is None:
        site.server.wait_for_message(f"response to GET {path} was cut off: the file was ")
    else:
        assert f"response to GET {path} " not in site.server.stderr
    check_alive(site)


@pytest.mark.parametrize("change", [rewrite, lambda file: os.truncate(file, 0)],
                         ids=["rewritten", "emptied"])
def test_changed_at_any_moment(site, change):
    """The file changes at various offsets, with data buffered in the server and in the kernel."""
    for offset in range(0, len(OLD), 128 * KIB):
        path = site.place(f"{offset}", OLD)
        with Reader(site, path) as reader:
            reader.read_to(offset)
            change(site.folder / f"{offset}")
            of_one_version = reader.finish() in (None, OLD)
        os.unlink(site.folder / f"{offset}")
        assert of_one_version, f"a mixed response: changed after {offset} bytes"
    check_alive(site)


@pytest.mark.parametrize("change", [rewrite, lambda file: os.truncate(file, 0)],
                         ids=["rewritten", "emptied"])
def test_large_one_changed_at_any_moment(site_h1, change):
    """A file above the threshold of --sendfile, which would give the kernel pages, not copies."""
    old = noise(20 * 1024 * KIB, seed=3)
    for offset in (0, 100 * KIB, 8192 * KIB, 15_500 * KIB, 16_500 * KIB, len(old) - 200 * KIB):
        path = site_h1.place(f"{offset}", old)
        with Reader(site_h1, path) as reader:
            reader.read_to(offset)
            change(site_h1.folder / f"{offset}")
            of_one_version = reader.finish() in (None, old)
        os.unlink(site_h1.folder / f"{offset}")
        assert of_one_version, f"a mixed response: changed after {offset} bytes"
    path = site_h1.place("whole", old)
    with Reader(site_h1, path) as reader:
        whole = reader.finish() == old
    assert whole
    check_alive(site_h1)


def test_changed_while_whole_answers_wait(site_h1):
    """Complete responses wait for room in the socket. The server has no further occasion to check
    their file."""
    old, new = OLD[: 70 * KIB], NEW[: 70 * KIB]
    path = site_h1.place("a", old)
    with site_h1.connect(receive_buffer=64 * KIB) as connection:
        connection.send(get(path) * 100)
        wait_for_stall(site_h1.server)
        write_in_place(site_h1.folder / "a", new)
        try:
            for number in range(100):
                of_one_version = connection.answer().body in (old, new)
                assert of_one_version, f"answer {number} is mixed"
        except Broken:
            pass
    check_alive(site_h1)


@pytest.mark.parametrize("size", [100, 65 * KIB, 1000 * KIB])
@pytest.mark.parametrize("length", [0, 50, 70 * KIB, None], ids=["emptied", "cut", "other", "same"])
def test_changed_between_two_requests(site, size, length):
    """A response that starts after the change is complete: no old data is in flight."""
    path = site.place("a", noise(size, seed=1))
    assert site.fetch(path).body == noise(size, seed=1)
    content = noise(size if length is None else length, seed=2)
    write_in_place(site.folder / "a", content)
    for _ in range(3):
        answer = fetch_or_none(site, path)
        assert answer is not None, "cut off"
        of_one_version = answer.body in (noise(size, seed=1), content)
        assert of_one_version
    check_alive(site)


# --- several parts -------------------------------------------------------------------------------

# Larger than the buffers of a connection, so that a change comes before the last bytes are read.
LONG = noise(12_000 * KIB, seed=4)
TWO_RANGES = [("range", f"bytes={7000 * KIB}-{11_900 * KIB - 1},0-{6000 * KIB - 1}")]
TWO_PARTS = LONG[7000 * KIB : 11_900 * KIB], LONG[: 6000 * KIB]


def are_two_parts(body):
    delimiter = b"\r\n" + body[:34]  # two hyphens and 128 bits in hexadecimal
    parts = (b"\r\n" + body).split(delimiter)
    return (parts[0] == b"" and parts[-1] == b"--\r\n" and
            tuple(part.partition(b"\r\n\r\n")[2] for part in parts[1:-1]) == TWO_PARTS)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_while_parts_are_sent(site, change):
    path = site.place("a", LONG)
    with Reader(site, path, TWO_RANGES) as reader:
        assert reader.status == 206
        reader.read_to(100 * KIB)
        wait_for_stall(site.server)
        change(site.folder / "a")
        body = reader.finish()
        of_one_version = body is None or are_two_parts(body)
        assert of_one_version, "a mixed response, complete to its reader"
    check_alive(site)


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_what_changes_no_byte_cuts_no_parts(site, change):
    path = site.place("a", LONG)
    with Reader(site, path, TWO_RANGES) as reader:
        reader.read_to(100 * KIB)
        change(site.folder / "a")
        whole = are_two_parts(reader.finish())
        assert whole


@pytest.mark.parametrize("change", [rewrite, lambda file: os.truncate(file, 0)],
                         ids=["rewritten", "emptied"])
def test_parts_changed_at_any_moment(site, change):
    for offset in range(0, sum(map(len, TWO_PARTS)), 1024 * KIB):
        path = site.place(f"{offset}", LONG)
        with Reader(site, path, TWO_RANGES) as reader:
            reader.read_to(offset)
            change(site.folder / f"{offset}")
            body = reader.finish()
            of_one_version = body is None or are_two_parts(body)
        os.unlink(site.folder / f"{offset}")
        assert of_one_version, f"a mixed response: changed after {offset} bytes"
    check_alive(site)
