"""The budget for what clients make the server hold: who holds most is cut off, others are served."""

import contextlib
import dataclasses
import re
import socket
import struct
import subprocess

import pytest
from h2.settings import SettingCodes

from support.environment import BINARY, LAST_RESORT_S, SANITIZER
from support import http2, pairs, processes
from support.configured import free_port
from support.contents import form_type
from support.http1 import Connection
from support.metrics import scrape
from support.protocols import name_of
from support.server import Server
from support.waiting import wait_until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS = 1, 4
END_STREAM_AND_HEADERS = 5
ATTACKER = "127.0.0.2"
STREAMS = 100
CONNECTIONS = 120
FILES = 1000


def frame(kind, flags=0, stream=0, payload=b""):
    return len(payload).to_bytes(3, "big") + struct.pack(
        ">BBI", kind, flags, stream) + payload


def bomb():
    """A field of 3.9 kB in the dynamic table that each stream names seven times by a byte, and
    windows of 0, so that no response ends."""
    name_and_value = b"\x40\x03x-a\x7f" + bytes([(3900 - 127) % 128 | 128, (3900 - 127) // 128]) + (
        b"z" * 3900)
    start = bytes([0x82, 0x86, 0x84]) + b"\x01\x01a"  # GET http://a/
    frames = PREFACE + frame(SETTINGS, payload=struct.pack(">HI", 4, 0))
    frames += frame(HEADERS, END_STREAM_AND_HEADERS, 1, start + name_and_value)
    for stream in range(3, 1 + 2 * STREAMS, 2):
        frames += frame(HEADERS, END_STREAM_AND_HEADERS, stream, start + b"\xbe" * 7)
    return frames


def get(connection, path):
    connection.request("GET", path)
    return connection.answer()


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False)


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
@pytest.mark.parametrize("http2", ["native", "nghttp2"])
def test_cuts_off_who_holds_most(http2):
    with Server("--memory", "16MiB", "--h2", http2, "--connections-per-address", "10000",
                quiet=False) as server:
        (server.root / "page").write_bytes(b"the page")
        other = Connection(server)
        assert get(other, "/page").body == b"the page"
        held = []
        for _ in range(CONNECTIONS):
            attacker = socket.create_connection(("127.0.0.1", server.port), LAST_RESORT_S,
                                                source_address=(ATTACKER, 0))
            held.append(attacker)
            try:
                attacker.sendall(bomb())
            except OSError:  # cut off already
                break
            if ATTACKER in server.stderr:
                break
        server.wait_for_message(f"cut off {ATTACKER}")
        assert get(other, "/page").body == b"the page", "on the same connection"
        for attacker in held:
            attacker.close()
        wait_until(lambda: get(Connection(server), "/").status == 200, "it lists folders again")
        assert "127.0.0.1" not in server.stderr


@dataclasses.dataclass(frozen=True)
class Hold:
    """Requests of one connection with small windows that make the server hold memory."""
    owner: str
    least: int  # bytes, for each request
    path: str
    fields: tuple = ()
    method: str = "GET"
    content: bytes = b""  # the beginning of a body; the rest does not come
    streams: int = STREAMS


HOLDS = [
    Hold("requests", 4000, "/files", (form_type(), ("x-large", 4000 * "x")), "POST"),
    Hold("bodies", 100, "/absent/{}"),
    Hold("listings", 4 * FILES, "/many/?sort=size&q={}"),
    Hold("coding", 100_000, "/many/?q={}", (("accept-encoding", "gzip"),)),
    Hold("archives", 10 * FILES, "/many/?archive=zip", streams=1),
    Hold("uploads", 9000, "/files/{}", (("content-length", "100000"),), "PUT", 10_000 * b"x", 6),
]


@pytest.fixture(scope="module")
def counting():
    """A server whose admin listener is at `.admin`."""
    admin = free_port()
    with Server("--admin", f"127.0.0.1:{admin}", "--webdav") as server:
        (server.root / "many").mkdir()
        for number in range(FILES):
            (server.root / f"many/file-{number}").write_text(str(number))
        server.admin = admin
        yield server


@pytest.mark.skipif(pairs.CHOSEN in pairs.BLOCKING, reason="needs an event loop")
@pytest.mark.parametrize("hold", HOLDS, ids=lambda hold: hold.owner)
def test_counts_what_each_part_holds(counting, hold):
    def counted():
        return scrape(counting.admin).value("h2server_memory_bytes", owner=hold.owner)

    before = counted()
    with http2.Connection(counting, settings={SettingCodes.INITIAL_WINDOW_SIZE: 100}) as connection:
        for number in range(hold.streams):
            stream = connection.request(hold.method, hold.path.format(number), hold.fields,
                                        ends=hold.method == "GET")
            if hold.content:
                connection.send_data(stream, hold.content)
        wait_until(lambda: counted() >= before + hold.streams * hold.least, "it is counted")
    wait_until(lambda: counted() < before + hold.streams * hold.least / 2, "it is given back")


def hold_forms(stack, server):
    """Returns 48 connections, each with the streams of forms whose content does not come."""
    clients = [stack.enter_context(http2.Connection(server)) for _ in range(48)]
    forms = [(client, [client.request("POST", "/files", (form_type(),), ends=False)
                       for _ in range(STREAMS)]) for client in clients]
    for client in clients:
        assert client.answer(client.request("GET", "/")).status == 200
    return forms


@pytest.mark.skipif(SANITIZER != "", reason="sanitizers have a heap of their own")
@pytest.mark.parametrize("pair", pairs.of_kind(lambda pair: pair.scheme == "reuseport"),
                         ids=name_of)
def test_all_workers_give_back_what_was_freed_once_a_client_has_left(pair):
    def held():
        return processes.anonymous_bytes(server.pid)

    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            Server("--memory", "256M", pair=pair, workers=8))
        begin = held()
        for client, streams in hold_forms(stack, server):
            for stream in streams:
                client.reset_stream(stream)
            assert client.answer(client.request("GET", "/")).status == 200
        most = held()
        assert get(Connection(server), "/").status == 200  # only this connection ends
        wait_until(lambda: held() < begin + (most - begin) / 3, "it goes back to the kernel")


@pytest.mark.skipif(SANITIZER != "", reason="sanitizers have a heap of their own")
@pytest.mark.parametrize("pair", pairs.of_kind(lambda pair: pair.scheme == "thread-pool"),
                         ids=name_of)
def test_threads_of_a_pool_give_back_what_was_freed_once_their_clients_have_left(pair):
    def held():
        assert get(Connection(server), "/").status == 200  # a thread looks when one ends
        return processes.anonymous_bytes(server.pid)

    with Server("--memory", "256M", pair=pair, pool_threads=60) as server:
        begin = max(held() for _ in range(10 * 60))  # by then each thread has served one
        with contextlib.ExitStack() as stack:
            hold_forms(stack, server)
            most = held()
        wait_until(lambda: held() < begin + (most - begin) / 2, "it goes back to the kernel")


def test_limits_are_printed_with_their_sum():
    done = run("config", "--limits", "--memory", "64MiB", "--h2c")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    parts = []
    for line in lines:
        found = re.match(r" *([0-9.]+) (KiB|MiB|GiB)  (.*)", line)
        if found:
            parts.append((float(found[1]) * units[found[2]], found[3]))
    assert parts[0] == (64 * units["MiB"], "what clients make it hold (memory)")
    assert parts[-1][1].startswith("in all")
    total = sum(size for size, _ in parts[:-1])
    assert abs(parts[-1][0] - total) < 0.06 * total  # rounded to a digit
    assert "From 32 MiB for clients on" in done.stdout
    assert "From 48 MiB on" in done.stdout


def test_limits_have_what_options_add(tmp_path):
    def parts(*options):
        done = run("config", "--limits", "--memory", "64MiB", "--h2c", *options)
        assert done.returncode == 0, done.stderr
        return {name: size for size, name in re.findall(r"^ *(\S+ \w+)  (.*)", done.stdout, re.MULTILINE)}

    plain = parts()
    assert plain["listings"] == "4.0 MiB"
    assert "locks of WebDAV" not in plain
    assert plain["buffers that threads keep"] == "4.0 MiB"
    assert parts("--threads", "3")["buffers that threads keep"] == "12 MiB"
    (tmp_path / "root").mkdir()
    more = parts("--root", tmp_path / "root", "--upload-dir", tmp_path / "up", "--webdav")
    assert more["listings"] == "8.0 MiB", "of the root, and of the uploads"
    assert more["locks of WebDAV"] == "42 MiB"


def test_too_little_is_an_error():
    done = run("check", "--memory", "1M", "--h2c")
    assert done.returncode == 2
    assert "--memory" in done.stderr and "at least 16MiB" in done.stderr
