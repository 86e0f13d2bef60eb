"""Lists of directories: in Chromium, and for programs that follow links."""

import os
import shutil
import socket
import subprocess

import pytest

from support.environment import LAST_RESORT_S, SANITIZER, tool
from support.protocols import PROTOCOLS, fetch
from support.server import Server
from test_browser import run_browser

in_browser = pytest.mark.skipif(bool(SANITIZER), reason="waits for the browser, not the server")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"><rect width="9" height="9"/></svg>'
FILES = {"note.txt": b"hello <b>there</b>", "other.txt": b"x" * 5000, "picture.svg": SVG,
         "<img src=x onerror=document.title=1>.txt": b"1"}


def fill(folder):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "sub dir").mkdir()
    (folder / "sub dir/inside.bin").write_bytes(b"inside")


@in_browser
def test_in_a_browser(tmp_path):
    with Server(tls=True) as server:
        fill(server.root)
        seen = run_browser("listing.js", server.url, tmp_path, home=tmp_path)
    assert seen["problems"] == []
    by_name = ["sub dir/", "<img src=x onerror=document.title=1>.txt", "note.txt", "other.txt",
               "picture.svg"]
    by_size = ["sub dir/", "<img src=x onerror=document.title=1>.txt", "note.txt", "picture.svg",
               "other.txt"]
    assert seen["all"] == seen["plain"] == by_name
    assert seen["filtered"] == by_name[1:4] == seen["plainFiltered"]
    assert seen["count"] == "3 of 5 shown"
    assert seen["bySize"] == by_size == seen["plainBySize"]
    assert seen["bySizeDown"] == by_size[:1] + by_size[:0:-1]
    assert seen["times"].endswith("Z")
    assert seen["text"] == "hello <b>there</b>"
    assert seen["picture"] == 40 and seen["open"] is False
    assert seen["crumbs"] == ["Home", "sub dir"]
    assert not seen["wide"], "a phone scrolls sideways"


@in_browser
def test_many_files_in_a_browser(tmp_path):
    with Server(tls=True) as server:
        for i in range(10_000):
            (server.root / f"file-{i:05d}.bin").touch()
        seen = run_browser("listing.js", server.url, tmp_path, "many", home=tmp_path)
    assert seen["problems"] == []
    assert seen["rows"] == 10_000
    assert seen["count"] == "1 of 10000 shown"


def test_memory_of_a_large_list():
    """The page is made while it is sent: its 23 MB are never held."""
    with Server(uploads=False) as server:
        for i in range(100_000):
            os.close(os.open(server.root / f"file-{i:06d} with a longer name.txt",
                             os.O_CREAT | os.O_WRONLY))
        sizes = {len(fetch(server, PROTOCOLS[0], "/").body) for _ in range(2)}
        assert min(sizes) > 20_000_000
        with open(f"/proc/{server.pid}/status") as status:
            [peak] = [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
        assert SANITIZER or peak < 64 * 1024, "KiB"


@pytest.mark.skipif(not shutil.which("wget"), reason="no wget here")
def test_wget(tmp_path):
    with Server() as server:
        fill(server.root)
        subprocess.run([tool("wget"), "-q", "-r", "-np", "-nH", server.url], cwd=tmp_path, check=True,
                       timeout=LAST_RESORT_S)
    got = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert got == {*FILES, "sub dir/inside.bin", "index.html", "sub dir/index.html"}
    assert (tmp_path / "other.txt").read_bytes() == FILES["other.txt"]


@pytest.mark.skipif(not shutil.which("lftp"), reason="no lftp here")
def test_lftp(tmp_path):
    with Server() as server:
        fill(server.root)
        subprocess.run([tool("lftp"), "-c", f"open {server.url}; mirror . {tmp_path}/copy"],
                       check=True, timeout=LAST_RESORT_S, capture_output=True)
    got = {str(path.relative_to(tmp_path / "copy"))
           for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert got == {*FILES, "sub dir/inside.bin"}


@pytest.mark.skipif(not shutil.which("rclone"), reason="no rclone here")
def test_rclone():
    with Server() as server:
        fill(server.root)
        done = subprocess.run([tool("rclone"), "lsf", "-R", "--http-url", server.url, ":http:"],
                              check=True, timeout=LAST_RESORT_S, capture_output=True, text=True)
    assert set(done.stdout.splitlines()) == {*FILES, "sub dir/", "sub dir/inside.bin"}


def test_pip(tmp_path):
    """`pip download -f URL` finds a package on the list."""
    pip = shutil.which("pip3")
    if not pip:
        pytest.skip("no pip here")
    package = tmp_path / "package"
    (package / "tried").mkdir(parents=True)
    (package / "tried/__init__.py").write_text("")
    metadata = package / "tried-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tried\nVersion: 1.0\n")
    (metadata / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (metadata / "RECORD").write_text("")
    with Server() as server:
        made = shutil.make_archive(str(tmp_path / "wheel"), "zip", package)
        (server.root / "wheels").mkdir()
        shutil.move(made, server.root / "wheels/tried-1.0-py3-none-any.whl")
        subprocess.run([pip, "download", "--no-index", "--trusted-host", "localhost", "-q",
                        "-f", f"{server.url}wheels/", "-d", tmp_path / "got", "tried"],
                       check=True, timeout=120, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    assert (tmp_path / "got/tried-1.0-py3-none-any.whl").exists()


def test_a_client_that_says_no_more_gets_its_list():
    """Closing the sending side, as netcat does, is no reason to give up what is read for it."""
    with Server() as server:
        for number in range(20):
            folder = server.root / str(number)
            folder.mkdir()
            for name in range(200):
                (folder / str(name)).touch()
        for number in range(20):
            with socket.create_connection(("127.0.0.1", server.port), LAST_RESORT_S) as client:
                client.sendall(f"GET /{number}/?filter=9 HTTP/1.1\r\nHost: a\r\n"
                               "Connection: close\r\n\r\n".encode())
                client.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: client.recv(65536), b""))
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"</html>" in answer
