"""A served folder that its path leads to no longer: a link to a release that is switched, a build that
makes its folder anew, a disk that is mounted later."""

import os
import shutil
import subprocess
import time

import pytest

from support import named
from support.configured import CLEARTEXT, Configured
from support.waiting import wait_until

SITE = '[[site]]\nhost = ["a.test"]\nroot = "app/current"\nupload-dir = "inbox"\n'
FILES = {"app/releases/1/index.html": "one", "app/releases/2/index.html": "two", "inbox/a": "a"}


@pytest.fixture
def server():
    linked = Configured(CLEARTEXT + SITE, FILES, quiet=False)
    os.symlink("releases/1", linked.folder / "app/current")
    with linked:
        yield linked


def fetch(server, path="/", **options):
    return named.fetch(server.port, "a.test", path, **options)


def stores_in(server, folder):
    """Returns true if an upload lands there. A connection that is made while the server changes over
    may still be one of the folder before."""
    name = f"{time.monotonic_ns()}"
    answer = fetch(server, f"/files/{name}", method="PUT", body=b"new")
    return answer.status == 201 and (folder / name).exists()


def switch(link, target):
    os.symlink(target, link.with_name("next"))
    os.rename(link.with_name("next"), link)


def test_a_link_to_a_release(server):
    assert fetch(server).body == b"one"
    switch(server.folder / "app/current", "releases/2")
    shutil.rmtree(server.folder / "app/releases/1")
    wait_until(lambda: fetch(server).body == b"two", "the new release is served")
    server.wait_for_message("app/current leads to another folder now, which is served from now on")


def test_a_build_makes_its_folder_anew(server):
    inbox = server.folder / "inbox"
    shutil.rmtree(inbox)
    inbox.mkdir()
    server.wait_for_message("inbox leads to another folder now, which is served from now on")
    wait_until(lambda: stores_in(server, inbox), "uploads land in the new folder")


def test_what_nobody_should_serve_is_not_served(server):
    """And a configuration that somebody is editing is not read."""
    (server.folder / "site.toml").write_text("this is not complete")
    switch(server.folder / "app/current", "/")
    server.wait_for_message("app/current leads to another folder now, which can't be served")
    assert fetch(server).body == b"one"
    switch(server.folder / "app/current", "releases/2")
    wait_until(lambda: fetch(server).body == b"two", "the new release is served")


def test_a_folder_that_is_away(server):
    """What was open is served on, until there is something else."""
    current = server.folder / "app/current"
    current.rename(current.with_name("away"))
    assert fetch(server).body == b"one"
    os.symlink("releases/2", current)
    wait_until(lambda: fetch(server).body == b"two", "the new release is served")


def test_a_disk_that_is_mounted_later(server):
    inbox, disk = server.folder / "inbox", server.folder / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "--bind", disk, inbox], check=False)
    if done.returncode != 0:
        pytest.skip("mounting needs privileges")
    try:
        server.wait_for_message("inbox leads to another folder now, which is served from now on")
        wait_until(lambda: stores_in(server, disk), "uploads land on the disk")
    finally:
        server.stop()
        subprocess.run(["umount", inbox], check=True)
