"""Upload limits: per file, in total, of the disk."""

import subprocess

import pytest

from support import pairs
from support.contents import form, form_type, noise
from support.environment import tool
from support.pairs import Pair
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until

# Schemes whose workers share memory, and one that forks.
USUAL = pairs.USUAL if pairs.CHOSEN else [*pairs.USUAL, Pair("process-per-connection", "blocking")]


def post(server, protocol, *parts):
    return fetch(server, protocol, "/files", "POST", [form_type()], form(*parts)).status


def test_limit_of_a_file():
    with Server("--upload-max", "100k") as server:
        for protocol in (PROTOCOLS[0], PROTOCOLS[2]):
            name = protocol.name
            assert post(server, protocol, (f"{name}-a", noise(100_000)),
                        (f"{name}-b", noise(100_000))) == 201
            assert post(server, protocol, (f"{name}-c", noise(100_001))) == 413
        with PROTOCOLS[0].connect(server) as connection:  # without Content-Length
            connection.request("POST", "/files", [form_type()], [form(("d", noise(100_001)))])
            assert connection.answer().status == 413
        assert server.uploaded() == ["h1-a", "h1-b", "h2c-a", "h2c-b"]


def test_limit_of_all_files():
    with Server("--upload-total", "100KiB", "--upload-overwrite") as server:
        assert post(server, PROTOCOLS[0], ("a", noise(60 * 1024))) == 201
        assert post(server, PROTOCOLS[2], ("b", noise(40 * 1024 + 1))) == 413
        assert post(server, PROTOCOLS[2], ("b", noise(40 * 1024))) == 201
        assert post(server, PROTOCOLS[0], ("c", b"x")) == 413
        assert server.uploaded() == ["a", "b"]
        server.stop()
        server.start()
        assert post(server, PROTOCOLS[0], ("c", b"x")) == 413, "files of an earlier run count"
        (server.uploads / "a").unlink()
        wait_until(lambda: post(server, PROTOCOLS[0], ("c", noise(1000))) == 201,
                   "that a file was removed is seen")


REFUSED_AT_ONCE = {
    "all files": (["--upload-total", "1M"], "413"),
    "the disk": (["--upload-reserve", "1000T"], "507"),
}


@pytest.mark.parametrize("options, status", REFUSED_AT_ONCE.values(), ids=REFUSED_AT_ONCE)
@pytest.mark.parametrize("protocol", PROTOCOLS[:2], ids=name_of)
def test_curl_sends_nothing_in_vain(protocol, options, status, tmp_path):
    """curl waits for 100 (Continue)."""
    (tmp_path / "file").write_bytes(bytes(2_000_000))
    with Server(*options, tls=protocol.tls) as server:
        done = subprocess.run(
            [tool("curl"), "-sS", "-k", protocol.curl, "--expect100-timeout", "60", "-o",
             tmp_path / "answer", "-w", "%{http_code} %{size_upload}", "-F",
             f"file=@{tmp_path / 'file'}", server.url + "files"],
            capture_output=True, text=True, check=False)
        answered, sent = done.stdout.split()
        assert answered == status, done
        assert sent == "0", done
        assert server.uploaded() == []


@pytest.mark.parametrize("options, status", REFUSED_AT_ONCE.values(), ids=REFUSED_AT_ONCE)
@pytest.mark.parametrize("protocol", PROTOCOLS[2:], ids=name_of)
def test_refused_before_the_body(protocol, options, status):
    with Server(*options, tls=protocol.tls) as server, protocol.connect(server) as connection:
        stream = connection.request("POST", "/files", [form_type(), ("content-length", "2000000")],
                                    ends=False)
        assert connection.answer(stream).status == int(status)


def begin(server, name, size):
    """Sends half of an upload with Content-Length. Returns the connection and the other half."""
    body = form((name, noise(size)))
    connection = PROTOCOLS[0].connect(server)
    connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                    f"Content-Length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2])
    wait_until(server.temporary_files, "the upload has begun")
    return connection, body[len(body) // 2:]


@pytest.mark.parametrize("pair", USUAL, ids=name_of)
def test_two_at_once_count_together(pair):
    with Server("--upload-total", "1M", pair=pair, workers=2) as server:
        connection, rest = begin(server, "first", 800_000)
        with connection:
            assert post(server, PROTOCOLS[0], ("second", noise(300_000))) == 413
            assert post(server, PROTOCOLS[0], ("third", noise(100_000))) == 201
            connection.send(rest)
            assert connection.answer().status == 201
        connection, _ = begin(server, "broken", 90_000)
        connection.close()
        wait_until(lambda: not server.temporary_files(), "what broke off is removed")
        wait_until(lambda: post(server, PROTOCOLS[0], ("fourth", noise(90_000))) == 201,
                   "its space is free again")
        assert server.uploaded() == ["first", "fourth", "third"]


# --- killed servers ------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", USUAL, ids=name_of)
def test_server_beside_a_running_upload(pair):
    with Server(pair=pair) as server, Server(uploads=False) as other:
        other.stop()
        connection, rest = begin(server, "whole", 500_000)
        with connection:
            (server.uploads / "h2_tmp_1_2_0").write_bytes(b"left by somebody who was killed")
            other.command += ["--upload-dir", server.uploads]
            other.start()
            assert len(server.temporary_files()) == 1
            connection.send(rest)
            assert connection.answer().status == 201
        assert (server.uploads / "whole").read_bytes() == noise(500_000)
