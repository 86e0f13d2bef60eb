"""The access log against what was requested, and what becomes of it when it can't be written."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import httpx
import pytest

from support import http1, named, pairs
from support.certificates import make_certificate
from support.configured import CLEARTEXT, Configured
from support.contents import form, form_type
from support.environment import LAST_RESORT_S, tool
from support.http2 import Connection as Http2
from support.metrics import scrape
from support.waiting import wait_until

LOG = 'access-log = "access.log"\n'
JSON = CLEARTEXT + LOG + 'log-format = "json"\n'
FILES = {"www/a.txt": "0123456789"}
SITE = '[[site]]\nroot = "www"\n'
TOKEN = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # SHA-256 of "test"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def lines(server, count, name="access.log"):
    """Returns the lines of a log once there are `count`; more are an error."""
    wait_until(lambda: len(server.lines_of(name)) >= count, f"{count} lines are written")
    found = server.lines_of(name)
    assert len(found) == count, found
    return found


def objects(server, count, name="access.log"):
    return [json.loads(line) for line in lines(server, count, name)]


def picked(found, *names):
    return tuple(found.get(name) for name in names)


STATUS = "http.response.status_code"
SIZE = "http.response.body.size"
VERSION = "network.protocol.version"
ERROR = "error.type"


# --- contents ------------------------------------------------------------------------------------

def test_text():
    with Configured(CLEARTEXT + LOG + SITE, FILES) as server:
        named.fetch(server.port, "a.test", "/a.txt?q=1", "Referer: http://b.test/c",
                    "User-Agent: x/1")
        named.fetch(server.port, "a.test", "/none", method="HEAD")
        with named.Client(named.plain(server.port)) as client:
            client.send(b"GET /a.txt HTTP/1.0\r\n\r\n")
            client.rest()
        found = [line.decode() for line in lines(server, 3)]
    moment = re.compile(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]")
    assert [moment.sub("[]", line) for line in found] == [
        '127.0.0.1 - - [] "GET /a.txt?q=1 HTTP/1.1" 200 10 "http://b.test/c" "x/1"',
        '127.0.0.1 - - [] "HEAD /none HTTP/1.1" 404 0 "-" "-"',
        '127.0.0.1 - - [] "GET /a.txt HTTP/1.0" 200 10 "-" "-"']


def test_json_of_cleartext():
    begun = time.time()
    with Configured(JSON + SITE, FILES) as server:
        with named.Client(named.plain(server.port)) as client:
            port = client.socket.getsockname()[1]
            client.fetch("a.test:81", "/a.txt?q=1", "User-Agent: x/1", "Referer: http://b.test/c",
                         f"traceparent: 00-{TRACE}-00f067aa0ba902b7-01")
            client.fetch("a.test", "/a.txt", "Range: bytes=0-3")
            client.fetch("a.test", "/a%20b")
        first, second, third = objects(server, 3)
    moment = first.pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", moment)
    duration = first.pop("http.server.request.duration")
    assert 0 <= first.pop("h2server.time_to_first_byte") <= duration < time.time() - begun
    assert first == {
        "http.request.method": "GET", "url.path": "/a.txt", "url.query": "q=1",
        "url.scheme": "http", VERSION: "1.1", STATUS: 200, SIZE: 10,
        "client.address": "127.0.0.1", "client.port": port, "server.address": "a.test",
        "server.port": 81, "user_agent.original": "x/1",
        "http.request.header.referer": "http://b.test/c", "http.route": "/{path...}",
        "trace_id": TRACE}
    assert picked(second, STATUS, SIZE) == (206, 4)
    assert picked(third, STATUS, "url.path") == (404, "/a%20b")


TLS_SITES = JSON.replace("h2c = true\n", "") + """
[[site]]
host = ["one.test", "www.one.test"]
root = "www"
cert = "one.crt"
key = "one.key"
auth = ["/private=users"]
upload-dir = "uploads"
[[site]]
host = "two.test"
root = "www"
cert = "one.crt"
key = "one.key"
access-log = "two.log"
[[site]]
host = "three.test"
root = "www"
cert = "one.crt"
key = "one.key"
access-log = "off"
"""


def test_sites_users_and_protocols(tmp_path):
    server = Configured(TLS_SITES, {**FILES, "users": f"ci:{{SHA256}}{TOKEN}\n",
                                    "www/private/a": "private"})
    certificate, _ = make_certificate(server.folder, "one", "*.test", "one.test", "www.one.test")
    with server:
        url = f"https://127.0.0.1:{server.port}"
        with httpx.Client(http2=True, verify=False) as client:
            wrap_with_name(client, "www.one.test", certificate)
            for path, fields in [
                    ("/a.txt", {}), ("/private/a", {"Authorization": "Bearer test"}),
                    ("/private/a", {"Authorization": "Bearer wrong", "Cookie": "c00kie"})]:
                client.get(url + path, headers={"Host": "www.one.test", **fields})
            client.post(url + "/files", content=form(("f", b"12345")),
                        headers={"Host": "one.test", "Content-Type": form_type()[1]})
        for name in ("two.test", "three.test"):
            connection = named.encrypt(named.plain(server.port), name, None)
            with named.Client(connection) as client:
                client.fetch(name, "/a.txt")
        own = objects(server, 1, "two.log")
        found = objects(server, 4)
        text = (server.folder / "access.log").read_text()
    assert [one[STATUS] for one in found] == [200, 200, 401, 201]
    assert [one["h2server.stream_id"] for one in found] == [1, 3, 5, 7]
    assert {picked(one, VERSION, "tls.protocol.version", "url.scheme") for one in found} == {
        ("2", "1.3", "https")}
    assert [one.get("enduser.id") for one in found] == [None, "ci", None, None]
    assert [one.get("h2server.site") for one in found] == ["one.test"] * 4
    assert found[0]["server.address"] == "www.one.test"
    assert found[3]["http.request.body.size"] == len(form(("f", b"12345")))
    assert picked(own[0], VERSION, "h2server.site", STATUS) == ("1.1", "two.test", 200)
    for secret in ("Bearer", "wrong", "c00kie", "authorization"):
        assert secret.lower() not in text.lower()


def test_misdirected_requests_are_logged():
    """In the log of the host that they ask for."""
    server = Configured(TLS_SITES, {**FILES, "users": f"ci:{{SHA256}}{TOKEN}\n"})
    make_certificate(server.folder, "one", "one.test", "two.test")
    with server:
        connection = named.encrypt(named.plain(server.port), "one.test", server.folder / "one.crt")
        with named.Client(connection) as client:
            assert client.fetch("two.test", "/a.txt").status == 421
        (found,) = objects(server, 1, "two.log")
    assert picked(found, STATUS, "server.address") == (421, "two.test")


def test_unknown_hosts_are_logged():
    """In the log that stands above the sites, if there is no site for them."""
    text = JSON + '[[site]]\nhost = "one.test"\nroot = "www"\naccess-log = "one.log"\n'
    with Configured(text, FILES) as server:
        assert named.fetch(server.port, "one.test", "/a.txt").status == 200
        assert named.fetch(server.port, "unknown.test", "/a.txt").status == 421
        objects(server, 1, "one.log")
        (found,) = objects(server, 1)
    assert picked(found, STATUS, "server.address") == (421, "unknown.test")


def wrap_with_name(client, name, certificate):
    """Makes handshakes of httpx name that host, whatever the URL says."""
    context = client._transport._pool._ssl_context
    wrap = context.wrap_socket
    context.wrap_socket = lambda connection, **_: wrap(connection, server_hostname=name)


@pytest.mark.parametrize("form_of", ["text", "json"])
def test_queries_are_left_out(form_of):
    text = CLEARTEXT + LOG + f'log-format = "{form_of}"\nlog-queries = false\n' + SITE
    with Configured(text, FILES) as server:
        named.fetch(server.port, "a.test", "/a.txt?secret=1", "Referer: http://b.test/c?secret=2")
        named.fetch(server.port, "a.test", "http://user:secret@a.test/a.txt?secret=3")
        found = b"\n".join(lines(server, 2))
    assert b"secret" not in found and b"/a.txt" in found and b"http://b.test/c" in found


HOSTILE = [b'"', b"\\", b"a\x00b", b"\x1b[31m", b"a\nb", b"a\r\nb", b"\xff\xfe", b"\xc3(", b"\x7f",
           b"\xe2\x80\xa8", b"\xed\xa0\x80", b'","status":1,"', b"x" * 9000]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_tokens_are_left_out(log_format):
    """However the name of the parameter is spelled; of requests and of what led to them."""
    text = CLEARTEXT + LOG + f'log-format = "{log_format}"\n' + SITE
    with Configured(text, FILES) as server:
        for query in ("?token=SECRET", "?a=1&%74oKEN=SECRET&b=2", "?access_token=SECRET",
                      "?expires=1&signature=SECRET", "?token=SECRET;x&token=SECRET"):
            named.fetch(server.port, "a.test", "/a.txt" + query,
                        f"Referer: http://a.test/files{query}")
        named.fetch(server.port, "a.test", "/a.txt?tokens=PUBLIC")
        found = b"\n".join(lines(server, 6)).decode()
    assert "SECRET" not in found
    assert found.count("***") == 12
    assert "tokens=PUBLIC" in found


@pytest.mark.parametrize("form_of", ["text", "json"])
def test_hostile_bytes_stay_in_one_line(form_of):
    """Also those of requests that are refused."""
    text = CLEARTEXT + LOG + f'log-format = "{form_of}"\n' + SITE
    with Configured(text, FILES) as server:
        for hostile in HOSTILE:
            for head in (b"GET /" + hostile + b" HTTP/1.1\r\nHost: a.test\r\n",
                         b"GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: " + hostile + b"\r\n",
                         b"GET / HTTP/1.1\r\nHost: a.test\r\nReferer: " + hostile + b"\r\n",
                         b"GET / HTTP/1.1\r\nHost: " + hostile + b"\r\n"):
                with named.Client(named.plain(server.port)) as client:
                    client.send(head + b"Connection: close\r\n\r\n")
                    client.rest()
            with Http2(server) as client:
                streams = [client.request("GET", "/", [(b"user-agent", hostile)]),
                           client.request("GET", b"/" + hostile)]
                client.run_until(lambda: all(one.over for one in streams) or client.goaways,
                                 "both end")
        with named.Client(named.plain(server.port)) as client:
            client.fetch("a.test", "/last")
        wait_until(lambda: any(b"/last" in line for line in server.lines_of("access.log")),
                   "the last line is written")
        found = server.lines_of("access.log")
    assert 6 * len(HOSTILE) * 0.5 < len(found) <= 6 * len(HOSTILE) + 1
    for line in found:
        assert len(line) < 65536
        assert all(0x20 <= byte != 0x7f for byte in line), line
        text = line.decode("utf-8")
        if form_of == "json":
            assert json.loads(text)["timestamp"]
        else:
            assert re.match(r'127\.0\.0\.1 - - \[[^\]]+\] "', text), text
            # Quotes within a field are escaped, so a line has the same number of bare ones.
            assert len(re.findall(r'(?<!\\)"', text.replace("\\\\", ""))) == 6, text


# --- responses that are cut off ------------------------------------------------------------------

def serve_large(limits):
    server = Configured(JSON + limits + SITE + 'upload-dir = "up"\n', FILES)
    with server:
        with open(server.folder / "www/large", "wb") as file:
            file.truncate(1 << 30)
        yield server


@pytest.fixture
def large():
    yield from serve_large("")


@pytest.fixture
def impatient():
    yield from serve_large('send-timeout = "300ms"\nbody-timeout = "300ms"\n')


def test_client_leaves(large):
    with http1.Connection(large, receive_buffer=4096) as client:
        client.send(http1.get("/large"))
        assert client.answer_head().status == 200
        client.reset()
    (found,) = objects(large, 1)
    assert picked(found, STATUS, ERROR) == (200, "client_left") and found[SIZE] < 1 << 30


def test_client_resets_stream(large):
    with Http2(large, receive_buffer=4096, reading=False) as client:
        stream = client.request("GET", "/large")
        client.run_until(lambda: stream.received >= 65_535, "a window of it")
        client.reset_stream(stream)
        assert client.answer(client.request("HEAD", "/a.txt")).status == 200
        first, second = objects(large, 2)
    assert picked(first, STATUS, SIZE, ERROR) == (200, 65_535, "client_left")
    assert picked(second, STATUS, ERROR) == (200, None)


def test_client_is_too_slow(impatient):
    with http1.Connection(impatient, receive_buffer=4096) as client:
        client.send(http1.get("/large"))
        assert client.answer_head().status == 200
        (found,) = objects(impatient, 1)
    assert picked(found, STATUS, ERROR) == (200, "too_slow")


def test_client_opens_no_window(impatient):
    with Http2(impatient, reading=False) as client:
        stream = client.request("GET", "/large")
        client.run_until(lambda: stream.over or client.goaways, "the server gives up")
        (found,) = objects(impatient, 1)
    assert picked(found, STATUS, SIZE, ERROR) == (200, 65_535, "too_slow")


def test_upload_is_too_slow(impatient):
    """The response is whole, so nothing is cut off; the line shows how much has arrived."""
    with named.Client(named.plain(impatient.port)) as client:
        client.send(b"POST /files HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n"
                    b"Content-Type: " + form_type()[1].encode() + b"\r\n\r\n--limit\r\n")
        answer = client.answer()
        (found,) = objects(impatient, 1)
    assert answer.status == 408
    assert picked(found, "http.request.method", "http.request.body.size", STATUS) == (
        "POST", 9, answer.status)


def test_upload_of_a_stream_is_too_slow(impatient):
    with Http2(impatient) as client:
        stream = client.request("PUT", "/files/b", [("content-length", "1000")], ends=False)
        assert client.answer(stream).status == 408
        (found,) = objects(impatient, 1)
    assert picked(found, STATUS, ERROR) == (408, None)



# --- where it is written -------------------------------------------------------------------------

def fetch_all(server, count, path="/a.txt"):
    with named.Client(named.plain(server.port)) as client:
        for number in range(count):
            assert client.fetch("a.test", f"{path}?{number}").status == 200


def numbers_of(found):
    return [int(json.loads(line)["url.query"]) for line in found]


def test_standard_output():
    with Configured(CLEARTEXT + 'access-log = "-"\nlog-format = "json"\n' + SITE, FILES) as server:
        fetch_all(server, 3)
        wait_until(lambda: server.stdout.count("\n{") >= 3, "the lines are written")
        found = [line for line in server.stdout.splitlines() if line.startswith("{")]
    assert numbers_of(found) == [0, 1, 2]


def test_lines_are_written_before_the_end():
    server = Configured(JSON + SITE, FILES)
    with server:
        fetch_all(server, 500)
        server.stop()
        assert numbers_of(server.lines_of("access.log")) == list(range(500))


def test_rotation_by_size():
    text = JSON + 'log-rotate = "4k"\nlog-keep = 2\n' + SITE
    with Configured(text, FILES) as server:
        fetch_all(server, 100)
        names = ["access.log.2", "access.log.1", "access.log"]
        wait_until(lambda: server.lines_of("access.log")[-1:] and 99 in numbers_of(
            server.lines_of("access.log")[-1:]), "the last line is written")
        assert sorted(path.name for path in server.folder.glob("access.log*")) == sorted(names)
        for name in names:
            assert (server.folder / name).stat().st_size <= 4000
        found = [number for name in names for number in numbers_of(server.lines_of(name))]
    assert found == list(range(found[0], 100)), "lines are missing or in a wrong order"


def test_hangup_opens_it_anew():
    """While requests are made. No line is lost, and the old file gets none afterwards. The logs of
    two configurations write to it for a while, so lines may change places."""
    with Configured(JSON + SITE, FILES, quiet=False) as server:
        client = threading.Thread(target=fetch_all, args=(server, 3000))
        client.start()
        wait_until(lambda: server.lines_of("access.log"), "the first line is written")
        for number in range(3):
            os.rename(server.folder / "access.log", server.folder / f"old{number}")
            server.signal(signal.SIGHUP)
            wait_until((server.folder / "access.log").exists, "the log is opened anew")
        size = (server.folder / "old0").stat().st_size
        client.join()
        fetch_all(server, 1, "/a.txt")
        names = ["old0", "old1", "old2", "access.log"]
        wait_until(lambda: sum(len(server.lines_of(name)) for name in names) >= 3001,
                   "all lines are written")
        found = [number for name in names for number in numbers_of(server.lines_of(name))]
        assert (server.folder / "old0").stat().st_size == size
    assert sorted(found) == sorted([*range(3000), 0])


ADMIN = 'admin = "unix:admin.sock"\n'


def lost_lines(server):
    found = scrape(server.folder / "admin.sock")
    return sum(found.value("h2server_access_log_lines_total", result=kind)
               for kind in ("dropped", "lost"))


def test_full_disk_costs_no_request():
    text = CLEARTEXT + ADMIN + 'access-log = "/dev/full"\n' + SITE
    with Configured(text, FILES, quiet=False) as server:
        fetch_all(server, 20)
        wait_until(lambda: scrape(server.folder / "admin.sock").value(
            "h2server_access_log_errors_total") > 0, "an error is counted")
        fetch_all(server, 10)
        wait_until(lambda: "/dev/full" in server.stderr, "it is reported")
    assert server.process.returncode == 0


def test_fifo_that_nobody_reads():
    """Its lines fill the pipe and the queues, and the rest is counted."""
    text = CLEARTEXT + ADMIN + 'access-log = "fifo"\n' + SITE
    server = Configured(text, FILES, quiet=False)
    os.mkfifo(server.folder / "fifo")
    reader = os.open(server.folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with server:
            path = "/a.txt?" + "x" * 3000
            done = subprocess.run(
                [tool("h2load"), "-n2000", "-c4", "-m10", f"http://127.0.0.1:{server.port}{path}"],
                capture_output=True, text=True, check=True, timeout=LAST_RESORT_S)
            assert "2000 succeeded, 0 failed, 0 errored" in done.stdout
            wait_until(lambda: lost_lines(server) > 0, "lines are counted as lost")
            server.stop()
    finally:
        os.close(reader)


class Piped(Configured):
    """Its standard output is a pipe, which the test reads and closes."""

    def start(self):
        self.reader, writer = os.pipe()
        with open(self.folder / "stderr", "wb") as err:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=writer,
                                            stderr=err, cwd=self.folder, start_new_session=True)
        os.close(writer)
        seen = b""
        while not (found := re.search(rb"http://localhost:(\d+)/\n", seen)):
            piece = os.read(self.reader, 4096)
            assert piece, f"h2server did not start: {self.stderr}"
            seen += piece
        self.port = int(found[1])


def test_closed_pipe_behind_standard_output():
    """The program is not ended by SIGPIPE."""
    text = CLEARTEXT + ADMIN + 'access-log = "-"\n' + SITE
    with Piped(text, FILES, quiet=False) as server:
        fetch_all(server, 5)
        os.close(server.reader)
        fetch_all(server, 20)
        wait_until(lambda: scrape(server.folder / "admin.sock").value(
            "h2server_access_log_errors_total") > 0, "an error is counted")
        fetch_all(server, 5)


@pytest.mark.parametrize("pair", [pairs.Pair("acceptor", "epoll"),
                                  pairs.Pair("reuseport", "io_uring"),
                                  pairs.Pair("thread-pool", "blocking"),
                                  pairs.Pair("buffered-pool", "blocking"),
                                  pairs.Pair("thread-per-connection", "blocking")],
                         ids=lambda pair: pair.name)
def test_each_request_has_one_line(pair):
    arguments = pair.arguments(workers=2, pool=16)
    with Configured(JSON + SITE, FILES, arguments=arguments) as server:
        for protocol in ("--h1", "--no-tls-proto=h2c"):
            done = subprocess.run(
                [tool("h2load"), "-n1500", "-c8", "-t1", "-m4", protocol,
                 f"http://127.0.0.1:{server.port}/a.txt"],
                capture_output=True, text=True, check=True, timeout=LAST_RESORT_S)
            assert "1500 succeeded" in done.stdout
        found = objects(server, 3000)
        server.stop()
        assert len(server.lines_of("access.log")) == 3000
    for version in ("1.1", "2"):
        assert sum(one[VERSION] == version for one in found) == 1500
    assert {picked(one, STATUS, SIZE, ERROR) for one in found} == {(200, 10, None)}


def test_error_log():
    """A line that repeats the one before it is counted. SIGHUP opens the file anew."""
    text = CLEARTEXT + 'error-log = "error.log"\n' + SITE + 'upload-dir = "up"\n'
    server = Configured(text, FILES)
    body, kind = form(("a", b"1")), ": ".join(form_type())

    def fail():
        answer = named.fetch(server.port, "a.test", "/files", kind, method="POST", body=body)
        assert answer.status >= 500

    with server:
        shutil.rmtree(server.folder / "up")
        for _ in range(5):
            fail()
        assert len(server.lines_of("error.log")) == 1
        os.rename(server.folder / "error.log", server.folder / "old.log")
        server.signal(signal.SIGHUP)
        wait_until(lambda: any(b"read anew" in line for line in server.lines_of("error.log")),
                   "the log is opened anew, and the directory made")
        shutil.rmtree(server.folder / "up")
        fail()
        server.stop()
        found = b"\n".join(server.lines_of("old.log") + server.lines_of("error.log")).decode()
    shown = re.findall(r"up.*?: No such file or directory(.*)", found)
    assert shown[0] == "", found
    assert sum(int(number) for number in re.findall(r"repeated (\d+) times?", found)) + len(
        [rest for rest in shown if "repeated" not in rest]) == 6, found


def test_syslog():
    """Without a system's log, the program says so and does not start."""
    if os.path.exists("/dev/log"):
        pytest.skip("/dev/log is the system's")
    done = Configured(CLEARTEXT + 'access-log = "syslog"\n' + SITE, FILES, quiet=False)
    with pytest.raises(AssertionError, match="did not start") as failed:
        with done:
            pass
    assert "syslog" in str(failed.value)
