"""`h2server put`: uploads that go on after every kind of failure."""

import errno
import hashlib
import os
import pty
import re
import signal
import subprocess

import pytest

from support.contents import noise
from support.environment import BINARY, LAST_RESORT_S, PATIENCE
from support.resumable import UploadServer
from support.tus_stub import TusStub
from support.waiting import wait_until

CONTENT = noise(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class User:
    """Someone with files and a state directory."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(folder / "state"),
                            "no_proxy": "*"}

    def file(self, name="a.bin", content=CONTENT):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def begin(self, *arguments, **options):
        return subprocess.Popen([BINARY, "put", "--retry-delay", "1ms", *arguments],
                                env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def put(self, *arguments, status=0):
        """Returns what it prints."""
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=LAST_RESORT_S)
        assert process.returncode == status, err
        self.err = err
        return out

    def remembered(self):
        folder = self.folder / "state/h2server/put"
        return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def user(tmp_path):
    return User(tmp_path)


def test_an_upload_in_one_piece(user):
    with TusStub() as stub:
        assert user.put(user.file(), stub.url) == f"{SHA256}  a.bin\n"
        assert stub.files == {"/files/a.bin": CONTENT}
        assert [one[0] for one in stub.requests] == ["POST", "PATCH", "GET"]
        assert stub.fields_of("PATCH")["Content-Type"] == "application/offset+octet-stream"
        assert user.err == ""
        assert user.remembered() == []


@pytest.mark.parametrize("path, created, name", [
    ("", "/uploads", "a.bin"),
    ("/", "/uploads", "a.bin"),
    ("/files", "/uploads", "a.bin"),
    ("/files/", "/uploads", "a.bin"),
    ("/files/x%20y/z", "/uploads", "x y/z/a.bin"),
    ("/uploads", "/uploads", "a.bin"),
    ("/other", "/other/uploads", "a.bin"),
    ("/other/", "/other/", "a.bin"),
    ("/files?token=t0k", "/uploads", "a.bin"),
])
def test_where_uploads_are_created(user, path, created, name):
    with TusStub(tus=created, put=None, token="t0k" if "token" in path else None) as stub:
        user.put(user.file(), stub.url + path)
        assert [upload["name"] for upload in stub.uploads.values()] == [name]
        assert not any("token" in one[1] for one in stub.requests), "it would show in logs"


@pytest.mark.parametrize("path, stored", [
    ("/", "/files/a%20b.bin"),
    ("/uploads", "/files/a%20b.bin"),
    ("/files/x", "/files/x/a%20b.bin"),
    ("/dav/", "/dav/a%20b.bin"),
])
@pytest.mark.parametrize("digest", ["field", None])
def test_a_server_without_tus_gets_a_put(user, path, stored, digest):
    with TusStub(tus=None, put="/", digest=digest) as stub:
        assert user.put(user.file("a b.bin"), stub.url + path) == f"{SHA256}  a b.bin\n"
        assert stub.files == {stored: CONTENT}
        assert stub.fields_of("PUT")["If-None-Match"] == "*"
        assert ("gave no SHA-256" in user.err) == (digest is None)
        user.put(user.file("a b.bin"), stub.url + path, status=1)
        assert "has a file of that name" in user.err


@pytest.mark.parametrize("faults, patches", [
    ({"PATCH": [(1,)]}, 2),
    ({"PATCH": [(1_000_000,), (0,), (700_000,), "reset"]}, 5),
    ({"PATCH": [503, 502, 423]}, 4),
    ({"PATCH": [(500_000,)], "HEAD": ["reset", 503, 500]}, 2),
    ({"GET": ["reset"]}, 1),
    ({"POST": [503]}, 1),
])
def test_it_goes_on_after_faults(user, faults, patches):
    with TusStub(faults=faults) as stub:
        assert user.put(user.file(), stub.url) == f"{SHA256}  a.bin\n"
        assert stub.files == {"/files/a.bin": CONTENT}
        assert stub.count("PATCH") == patches
        if "PATCH" in faults and faults["PATCH"][0] == (1_000_000,):
            assert "goes on at 33 %" in user.err


@pytest.mark.parametrize("faults, told", [
    ({"POST": [401]}, "401: a fault of the stub; is the token right?"),
    ({"POST": [403]}, "403: a fault of the stub"),
    ({"POST": [409]}, "409: a fault of the stub"),
    ({"POST": [413]}, "413: a fault of the stub"),
    ({"POST": [507]}, "507: a fault of the stub"),
    ({"PATCH": [403]}, "403: a fault of the stub"),
    ({"PATCH": [409]}, "409: a fault of the stub"),
    ({"PATCH": [413]}, "413: a fault of the stub"),
    ({"POST": ["reset"]}, "can't reach http://127.0.0.1"),
    ({"PATCH": [503] * 4}, "503: a fault of the stub"),
])
def test_it_gives_up(user, faults, told):
    with TusStub(faults=faults) as stub:
        assert user.put("--retries", "3", user.file(), stub.url, status=1) == ""
        assert told in user.err
        assert stub.files == {}


def test_tries_are_counted_without_progress_only(user):
    with TusStub(faults={"PATCH": [(1000,)] * 8}) as stub:
        user.put("--retries", "2", user.file(), stub.url)
        assert stub.count("PATCH") == 9


def test_a_forgotten_upload_is_created_again(user):
    with TusStub(faults={"PATCH": [(1_000_000,), 404], "HEAD": [None, 404]}) as stub:
        user.put(user.file(), stub.url)
        assert stub.count("POST") == 2
        assert stub.files == {"/files/a.bin": CONTENT}


def test_a_later_run_goes_on(user):
    with TusStub(faults={"PATCH": [(1_000_000,), 403]}) as stub:
        file = user.file()
        user.put(file, stub.url, status=1)
        assert len(user.remembered()) == 1
        assert user.remembered()[0].stat().st_mode & 0o777 == 0o600
        assert user.put(file, stub.url) == f"{SHA256}  a.bin\n"
        assert stub.count("POST") == 1
        assert stub.files == {"/files/a.bin": CONTENT}
        assert user.remembered() == []


@pytest.mark.parametrize("change", ["content", "name", "url"])
def test_a_later_run_of_something_else_begins(user, change):
    with TusStub(faults={"PATCH": [(1_000_000,), 403]}) as stub:
        user.put(user.file(), stub.url, status=1)
        content = CONTENT[:-1] if change == "content" else CONTENT
        arguments = ["--name", "b"] if change == "name" else []
        user.put(*arguments, user.file(content=content),
                 stub.url + ("/files/x" if change == "url" else ""))
        assert stub.count("POST") == 2
        assert list(stub.files.values()) == [content]


def test_a_server_that_restarts(user):
    with TusStub(faults={"PATCH": [(1_000_000,)]}) as stub:
        # It stops once the line has broken, and is away for some tries.
        process = user.begin("--retries", "1000", user.file(), stub.url)
        wait_until(lambda: stub.count("HEAD") > 0 or stub.count("PATCH") > 0, "a broken line")
        stub.stop()
        stub.start()
        assert process.communicate(timeout=LAST_RESORT_S)[0] == f"{SHA256}  a.bin\n"
        assert stub.files == {"/files/a.bin": CONTENT}


@pytest.mark.parametrize("digest", ["json", "field"])
def test_another_digest_is_an_error(user, digest):
    with TusStub(digest=digest) as stub:
        stub.corrupts = True
        assert user.put(user.file(), stub.url, status=1) == ""
        assert "stored something else" in user.err and SHA256 in user.err


@pytest.mark.parametrize("size", [0, 1])
def test_small_files(user, size):
    with TusStub() as stub:
        user.put(user.file(content=CONTENT[:size]), stub.url)
        assert stub.files == {"/files/a.bin": CONTENT[:size]}


def test_several_files(user):
    with TusStub() as stub:
        one, two = user.file("one", b"1"), user.file("two", b"2")
        out = user.put(one, str(user.folder / "absent"), two, stub.url, status=1)
        assert [line[66:] for line in out.splitlines()] == ["one", "two"]
        assert "absent: No such file or directory" in user.err
        assert stub.files == {"/files/one": b"1", "/files/two": b"2"}


@pytest.mark.parametrize("arguments", [["--token", "t0k"], ["--token=t0k"], []])
def test_the_token(user, arguments):
    with TusStub(token="t0k") as stub:
        if not arguments:
            user.environment["H2SERVER_TOKEN"] = "t0k"
        user.put(*arguments, user.file(), stub.url)
        assert stub.files == {"/files/a.bin": CONTENT}


def test_the_query_of_a_signed_link_goes_with_each_request(user):
    with TusStub() as stub:
        user.put(user.file(), stub.url + "/files?expires=1&signature=x")
        assert all(one[1].endswith("?expires=1&signature=x") for one in stub.requests)


@pytest.mark.parametrize("arguments, told", [
    ([], "say what to upload"),
    (["FILE"], "say what to upload"),
    (["FILE", "not a URL"], "not a URL"),
    (["FILE", "ftp://host/"], "is not a URL of http or https"),
    (["FILE", "https://user:secret@host/"], "is not a URL of http or https"),
    (["--unknown", "FILE", "http://host/"], "unknown option --unknown"),
    (["FILE", "http://host/", "--name"], "--name needs a value"),
    (["--name", "x", "FILE", "FILE", "http://host/"], "--name is for a single file"),
    (["--retries", "many", "FILE", "http://host/"], "--retries many"),
    (["--cacert", "/absent", "FILE", "http://host/"], "--cacert /absent"),
])
def test_wrong_use(user, arguments, told):
    file = user.file()
    user.put(*[file if one == "FILE" else one for one in arguments], status=2)
    assert told in user.err


@pytest.mark.parametrize("path, told", [("/", "Is a directory"), ("/dev/null", "not a regular file")])
def test_what_is_no_file(user, path, told):
    name = ["--name", "x"]
    user.put(*name, path, "http://127.0.0.1:1/", status=1)
    assert told in user.err


def test_an_interrupt_leaves_what_a_later_run_needs(user):
    with TusStub(faults={"PATCH": [(1_000_000,)] + [503] * 100_000}) as stub:
        file = user.file()
        process = user.begin("--retries", "1000000", file, stub.url)
        wait_until(lambda: stub.count("PATCH") > 2, "tries")
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=LAST_RESORT_S)[1]
        assert process.returncode == -signal.SIGINT
        assert "interrupted; run it again to go on" in err
        stub.faults = {}
        user.put(file, stub.url)
        assert stub.count("POST") == 1


def read_all(terminal):
    """Reads what a program has written to a terminal that it has left. Closes it."""
    shown = b""
    with open(terminal, "rb", buffering=0) as reader:
        while True:
            try:
                shown += reader.read(65536)
            except OSError as error:
                assert error.errno == errno.EIO
                return shown.decode()


def test_a_bar_on_a_terminal(user):
    with TusStub() as stub:
        user.environment["TERM"] = "xterm"
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, "put", user.file(), stub.url], env=user.environment,
                                   stdin=theirs, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        assert process.communicate(timeout=LAST_RESORT_S)[0].decode() == f"{SHA256}  a.bin\n"
        shown = read_all(ours)
        assert re.search(r"\ra\.bin  \[#* *\] +\d+ %", shown), shown
        assert shown.endswith("\r\x1b[K"), "the bar is gone at the end"


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_of_ours(user, tls):
    with UploadServer(tls=tls) as server:
        trust = ["--cacert", str(server.certificate)] if tls else []
        assert user.put(*trust, user.file(), server.url) == f"{SHA256}  a.bin\n"
        assert user.err == ""
        assert (server.uploads / "a.bin").read_bytes() == CONTENT
        user.put(*trust, user.file(), server.url, status=1)
        assert "the server answers 409" in user.err


def test_a_certificate_that_is_not_trusted(user):
    with UploadServer(tls=True) as server:
        user.put(user.file(), server.url, status=1)
        assert "certificate" in user.err
        user.put("--insecure", user.file(), server.url)
        assert (server.uploads / "a.bin").read_bytes() == CONTENT


def test_a_server_of_ours_that_is_killed(user):
    content = noise(64_000_000)
    with UploadServer() as server:
        process = user.begin("--retries", "1000", "--retry-delay", "10ms",
                             user.file(content=content), server.url)
        wait_until(lambda: any(path.stat().st_size > 0 for path in server.pending()),
                   "an upload under way")
        process.send_signal(signal.SIGSTOP)
        server.kill()
        assert server.pending(), "it was stored before the kill"
        server.start()
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate(timeout=120 * PATIENCE)
        assert process.returncode == 0, err
        assert out.endswith("  a.bin\n")
        assert "tries again" in err
        assert (server.uploads / "a.bin").read_bytes() == content


def test_a_letter_box_of_ours(user, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", user.environment["XDG_STATE_HOME"])
    with UploadServer("--upload-access", "drop") as server:
        user.put(user.file(), server.url, status=1)
        assert "the server answers 401" in user.err
        url = re.search(r"\S+/files\?token=\S+", server.stdout)[0]
        local = re.sub(r"//[^/]*/", f"//127.0.0.1:{server.port}/", url)
        assert user.put(user.file(), local) == f"{SHA256}  a.bin\n"
        assert user.err == "", "it compares digests, too"
        user.put(user.file(), local, status=1)
        assert "the server answers 409" in user.err


def test_a_signed_link(user, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", user.environment["XDG_STATE_HOME"])
    with UploadServer("--upload-access", "full") as server:
        done = subprocess.run([BINARY, "link", "--upload", server.url + "files"], check=True,
                              capture_output=True, text=True)
        assert user.put(user.file(), done.stdout.strip()) == f"{SHA256}  a.bin\n"
        assert (server.uploads / "a.bin").read_bytes() == CONTENT
