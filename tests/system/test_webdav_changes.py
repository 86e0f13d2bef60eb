"""COPY, MOVE and DELETE of WebDAV: without room, beside uploads, and on a server that is killed."""

import pytest

from support.contents import noise
from support.protocols import PROTOCOLS, fetch, name_of
from support.resumable import Client, UploadServer
from support.server import Server
from support.small_disk import OnASmallDisk
from support.waiting import wait_until

WEBDAV = ("--webdav", "--upload-overwrite")


def ask(server, method, path, target=None, protocol=PROTOCOLS[0], body=b""):
    fields = [("destination", f"/files/{target}")] if target else []
    return fetch(server, protocol, f"/files/{path}", method, fields, body).status


def tree(server):
    """Returns the content of each file of the upload directory by its path."""
    return {str(path.relative_to(server.uploads)): path.read_bytes()
            for path in server.uploads.rglob("*") if path.is_file()}


def write(server, files):
    for name, content in files.items():
        path = server.uploads / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


# --- without room --------------------------------------------------------------------------------

FULL = {
    "all files": (["--upload-total", "1000000"], 413),
    "the disk": (["--upload-reserve", "1000T"], 507),
}


@pytest.mark.parametrize("protocol", (PROTOCOLS[0], PROTOCOLS[2]), ids=name_of)
@pytest.mark.parametrize("options, status", FULL.values(), ids=FULL)
def test_what_is_there_stays_without_room(options, status, protocol):
    files = {"new/a": noise(200_000), "new/e/b": noise(300_000), "old/x": noise(100_000),
             "file": noise(1000)}
    with Server(*WEBDAV, "--upload-folders", *options) as server:
        write(server, files)
        for target in ("old", "file", "nothing"):
            assert ask(server, "COPY", "new", target, protocol) == status, target
        if status == 507:
            assert ask(server, "COPY", "new/a", "file", protocol) == status
            assert ask(server, "COPY", "new/a", "old", protocol) == status
        assert tree(server) == files
        assert server.temporary_files() == []


def test_full_disk():
    """The disk says so in the middle of the copy."""
    with OnASmallDisk(*WEBDAV, "--upload-reserve", "0") as server:
        for folder in ("new", "old", "little"):
            assert ask(server, "MKCOL", folder) == 201
        files = {"new/a": 800_000, "new/b": 900_000, "old/x": 1_000_000, "little/y": 1000,
                 "file": 600_000}
        for name, size in files.items():
            assert ask(server, "PUT", name, body=noise(size)) == 201
        for source, target in (("new", "old"), ("new", "file"), ("old/x", "file")):
            assert ask(server, "COPY", source, target) in (207, 507), target
            assert server.stored() == files
        assert ask(server, "COPY", "little", "old") == 204
        del files["old/x"]
        assert server.stored() == files | {"old/y": 1000}
        assert ask(server, "COPY", "old", "new") == 204


# --- at once -------------------------------------------------------------------------------------


def test_one_winner_for_a_name():
    """While a file is uploaded, nothing else takes, moves or removes its name."""
    with UploadServer(*WEBDAV, workers=2) as server:
        write(server, {"name": b"old", "other": b"other", "folder/x": b"x"})
        client = Client(server, PROTOCOLS[0])
        early = client.tus_create("name", ("upload-length", "3"))
        with PROTOCOLS[0].connect(server) as connection:
            connection.send(b"PUT /files/name HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n"
                            + noise(300_000)[:200_000])
            wait_until(server.temporary_files, "the upload has begun")
            for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
                assert ask(server, "COPY", "other", "name", protocol) == 409
                assert ask(server, "COPY", "folder", "name", protocol) == 409
                assert ask(server, "MOVE", "other", "name", protocol) == 409
                assert ask(server, "MOVE", "name", "elsewhere", protocol) == 409
                assert ask(server, "DELETE", "name", protocol=protocol) == 409
                assert ask(server, "PUT", "name", protocol=protocol, body=b"x") == 409
            assert client.tus_append(early, 0, b"tus").status == 409
            draft = client.draft_create("draft")
            assert client.draft_append(f"{draft}?name=name", 0, "?1", b"draft").status == 409
            assert (server.uploads / "name").read_bytes() == b"old"
            connection.send(noise(300_000)[200_000:])
            assert connection.answer().status == 204
        assert (server.uploads / "name").read_bytes() == noise(300_000)
        assert client.tus_offset(early) == 3, "it is stored now"
        assert (server.uploads / "name").read_bytes() == b"tus"
        assert client.draft_append(draft, 5, "?1", b"").status == 201
        assert (server.uploads / "draft").read_bytes() == b"draft"
        assert ask(server, "MOVE", "other", "name") == 204
        assert ask(server, "DELETE", "name") == 204


# --- killed servers ------------------------------------------------------------------------------


def test_killed_in_the_middle_of_a_copy():
    """The target is what it was, or whole; the next server removes the rest."""
    new = {f"new/{number}": b"new" * number for number in range(3000)}
    old = {"old/x": b"old", "old/e/y": b"old"}
    with UploadServer(*WEBDAV) as server:
        write(server, new | old)

        def begun():
            return any(path.is_dir() and len(list(path.iterdir())) > 10
                       for path in server.uploads.glob("h2_tmp_*"))

        with PROTOCOLS[0].connect(server) as connection:
            connection.request("COPY", "/files/new", [("destination", "/files/old")])
            wait_until(begun, "a part is copied")
            server.kill()
        server.start()
        assert server.temporary_files() == []
        whole = {name.replace("new", "old", 1): content for name, content in new.items()}
        assert tree(server) in (new | old, new | whole)
        assert ask(server, "COPY", "new", "old") == 204
        assert tree(server) == new | whole
