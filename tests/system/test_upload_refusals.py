"""Refused and aborted uploads: names, forms, types, origins. They leave no file behind."""

import re
import resource
import socket
import subprocess

import pytest

from support import http2
from support.contents import form, form_type, noise
from support.environment import LAST_RESORT_S, tool
from support.http1 import chunk
from support.processes import descriptor_count, members
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    """Checks after every test: no temporary file, and no stray file beside the upload directory."""
    used = {"site", "site_h1", "site_h2"} & set(request.fixturenames)
    servers = [request.getfixturevalue(name).server for name in used]
    yield
    for server in servers:
        wait_until(lambda server=server: not server.temporary_files(), "no temporary file is left")
        assert {entry.name for entry in server.root.parent.iterdir()} <= {
            "root", "uploads", "cert", "stdout", "stderr"}


def post(site, body, fields=None):
    return site.fetch("/files", "POST", fields or [form_type()], body)


# --- names ---------------------------------------------------------------------------------------

# The client's file name → the stored name. {0} is unique to each test.
NAMES = {
    "plain": ("{0}.txt", "{0}.txt"),
    "folder": ("folder/{0}.txt", "{0}.txt"),
    "absolute": ("/etc/{0}", "{0}"),
    "parents": ("../../{0}.txt", "{0}.txt"),
    "parent inside": ("a/../{0}.txt", "{0}.txt"),
    "backslashes": ("..\\..\\{0}.txt", "{0}.txt"),
    "drive": ("C:\\folder\\{0}.txt", "{0}.txt"),
    "both slashes": ("a/b\\c/{0}.txt", "{0}.txt"),
    "escaped slash": ("..%2f{0}.txt", "%2f{0}.txt"),
    "accents and other scripts": ("{0} grün 日本 🦀.txt", "{0} grün 日本 🦀.txt"),
    "quote, as browsers write it": ("{0}%22.txt", '{0}".txt'),
    "quote, as curl writes it": ('{0}\\".txt', '{0}".txt'),
    "HTML": ("{0}<b>&'.txt", "{0}<b>&'.txt"),
    "semicolon": ("{0};.txt", "{0};.txt"),
    "percent": ("{0}%41.txt", "{0}%41.txt"),
    "controls": ("{0}\x01\x1b\x7f.txt", "{0}.txt"),
    "line end": ("{0}%0D%0A.txt", "{0}.txt"),
    "hidden": (".{0}", "{0}"),
    "dots and spaces": (" . {0}.txt . ", "{0}.txt"),
    "no UTF-8": (b"{0}\xff\xfe.txt", "{0}__.txt"),
    "longer than a name can be": ("{0}" + "é" * 300 + ".txt", None),
}


@pytest.mark.parametrize("claimed, stored", NAMES.values(), ids=NAMES)
def test_name(site, claimed, stored):
    if isinstance(claimed, str):
        claimed = claimed.encode()
    before = set(site.server.uploaded())
    answer = post(site, form((claimed.replace(b"{0}", site.name.encode()), b"content")))
    assert answer.status == 201, answer
    new = set(site.server.uploaded()) - before
    assert len(new) == 1
    name = new.pop()
    if stored is None:
        assert name.startswith(site.name) and name.endswith(".txt")
        assert 240 < len(name.encode()) <= 255
    else:
        assert name == stored.replace("{0}", site.name)
    assert (site.server.uploads / name).read_bytes() == b"content"


@pytest.mark.parametrize("parameter, stored", [
    ("filename*=UTF-8''{0}%C3%BC.txt", "{0}ü.txt"),
    ("filename*=utf-8'de'..%2F..%2F{0}.txt", "{0}.txt"),
    ("filename=\"other.txt\"; filename*=UTF-8''{0}.txt", "{0}.txt"),
    ("filename={0}.txt", "{0}.txt"),
])
def test_name_in_other_notations(site, parameter, stored):
    body = form(("placeholder", b"content")).replace(b'filename="placeholder"',
                                                     parameter.format(site.name).encode())
    assert post(site, body).status == 201
    stored = stored.format(site.name)
    assert (site.server.uploads / stored).read_bytes() == b"content"


NO_NAMES = ["..", ".", "...", "/", "a/", "a/..", "..\\", " ", ". .", "\x01", "h2_tmp_1_1",
            "a/h2_tmp_2_2"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name(site, name):
    before = site.server.uploaded()
    assert post(site, form((f"{site.name}", b"x"), (name, b"content"))).status == 400
    assert site.server.uploaded() == before, "all of a request's files or none"


# --- malformed -----------------------------------------------------------------------------------

GOOD = form(("malformed.txt", b"content"))
DISPOSITION = b'Content-Disposition: form-data; name="part0"; filename="malformed.txt"'
MALFORMED = {
    "no body": b"",
    "no form": b"hello",
    "another boundary": GOOD.replace(b"--limit", b"--other"),
    "no part": b"--limit--\r\n",
    "no file": form((None, b"a field")),
    "no file chosen": form(("", b"")),
    "cut at the end": GOOD[:-4],
    "cut in the last boundary": GOOD[:-8],
    "cut in the content": GOOD[: GOOD.index(b"content") + 3],
    "cut in the head": GOOD[: GOOD.index(b"filename")],
    "cut after a whole file": GOOD[:-4] + b"\r\n" + GOOD[: GOOD.index(b"filename")],
    "no disposition": GOOD.replace(DISPOSITION, b"Content-Type: text/plain"),
    "empty head": GOOD.replace(DISPOSITION + b"\r\n", b""),
    "another disposition": GOOD.replace(b"form-data; ", b"attachment; "),
    "no name of the field": GOOD.replace(b'name="part0"; ', b""),
    "two file names": GOOD.replace(b'filename="', b'filename="a"; filename="'),
    "open quote": GOOD.replace(b'.txt"', b".txt"),
    "no colon": GOOD.replace(b"Disposition:", b"Disposition"),
    "text after the boundary": GOOD.replace(b"--limit\r\n", b"--limit \r"),
    "endless head": GOOD.replace(DISPOSITION, DISPOSITION + b"\r\nX-A: " + b"a" * 20_000),
    "wrong extended name": GOOD.replace(b'filename="malformed.txt"', b"filename*=UTF-8''%zz"),
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed(site, body):
    before = site.server.uploaded()
    assert post(site, body).status == 400
    assert site.server.uploaded() == before


UNSUPPORTED = {
    "none": [],
    "text": [("content-type", "text/plain")],
    "another form": [("content-type", "application/x-www-form-urlencoded")],
    "another multipart": [("content-type", "multipart/mixed; boundary=limit")],
    "no boundary": [("content-type", "multipart/form-data")],
    "empty boundary": [("content-type", 'multipart/form-data; boundary=""')],
    "two boundaries": [("content-type", "multipart/form-data; boundary=limit; boundary=other")],
    "long boundary": [("content-type", "multipart/form-data; boundary=" + "a" * 71)],
    "wrong boundary": [("content-type", 'multipart/form-data; boundary="a\tb"')],
}


@pytest.mark.parametrize("fields", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_type(site, fields):
    answer = site.fetch("/files", "POST", fields, GOOD)
    assert answer.status == 415
    assert "malformed.txt" not in site.server.uploaded()


# {0} is the scheme of the request; the authority is localhost in every test.
ORIGINS = {
    "cross-site": ([("sec-fetch-site", "cross-site")], 403),
    "same-site": ([("sec-fetch-site", "same-site")], 403),
    "same-origin": ([("sec-fetch-site", "same-origin")], 201),
    "the user": ([("sec-fetch-site", "none")], 201),
    "our origin": ([("origin", "{0}://localhost")], 201),
    "another host": ([("origin", "{0}://elsewhere")], 403),
    "another port": ([("origin", "{0}://localhost:1")], 403),
    "another scheme": ([("origin", "ftp://localhost")], 403),
    "nobody's": ([("origin", "null")], 403),
    "twice": ([("origin", "{0}://localhost")] * 2, 403),
}


@pytest.mark.parametrize("fields, status", ORIGINS.values(), ids=ORIGINS)
def test_origin(site, fields, status):
    scheme = "https" if site.server.tls else "http"
    fields = [(name, value.format(scheme)) for name, value in fields]
    answer = post(site, form((site.name, b"x")), [form_type(), *fields])
    assert answer.status == status
    assert (site.name in site.server.uploaded()) == (status == 201)


def test_refusal_reaches_curl_while_it_is_sending(site_h1, tmp_path):
    """The connection must not be reset while the answer is in flight (RFC 9112, 9.6). HTTP/1.1
    only: curl 7.88 sometimes loses an answer that is followed by RST_STREAM with NO_ERROR."""
    (site_h1.server.uploads / site_h1.name).write_bytes(b"first")
    with open(tmp_path / site_h1.name, "wb") as file:
        file.truncate(50_000_000)
    done = subprocess.run(
        [tool("curl"), "-sS", "-k", "--http1.1", "-H", "Expect:", "-w", "%{http_code}",
         "-o", tmp_path / "answer", "-F", f"file=@{tmp_path / site_h1.name}",
         site_h1.server.url + "files"], capture_output=True, text=True, check=False)
    assert done.stdout == "409", done
    assert site_h1.name in (tmp_path / "answer").read_text()


def test_refusal_reaches_a_stream_that_is_still_sending(site_h2):
    """The server may decline the rest of a request after a complete response (RFC 9113, 8.1)."""
    (site_h2.server.uploads / site_h2.name).write_bytes(b"first")
    body = form((site_h2.name, bytes(20_000_000)))
    with site_h2.connect() as connection:
        stream = connection.request("POST", "/files", [form_type()], body)
        answer = connection.answer(stream)
        assert (answer.status, site_h2.name.encode() in answer.body) == (409, True)
        assert stream.reset_code in (None, 0)
        other = connection.request("GET", "/files")
        assert connection.answer(other).status == 200, "the connection goes on"


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_file_larger_than_the_system_allows(protocol):
    """`ulimit -f`: the file is refused, and SIGXFSZ does not end the server."""
    with Server(tls=protocol.tls) as server:
        server.limit(resource.RLIMIT_FSIZE, 1_000_000)
        body = form(("large", noise(2_000_000)))
        assert fetch(server, protocol, "/files", "POST", [form_type()], body).status == 413
        assert server.running and server.uploaded() == []


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_directory_that_is_not_writable_any_more(protocol, plain_user):
    with Server(tls=protocol.tls, user=plain_user, quiet=False) as server:
        server.uploads.chmod(0o555)
        answer = fetch(server, protocol, "/files", "POST", [form_type()], GOOD)
        assert answer.status == 500
        assert len(server.stderr.splitlines()) == 1, server.stderr


# --- aborted -------------------------------------------------------------------------------------


def begin_upload(site):
    """Sends half of a form. Returns the connection and, over HTTP/2, the stream."""
    body = form((f"{site.name}.bin", noise(100_000)))[:50_000]
    connection = site.connect()
    if site.protocol.http2:
        stream = connection.request("POST", "/files", [form_type()], ends=False)
        for start in range(0, len(body), http2.FRAME_BYTES):
            connection.send_data(stream, body[start : start + http2.FRAME_BYTES])
    else:
        stream = None
        connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n".encode() + chunk(body))
    wait_until(site.server.temporary_files, "the temporary file is there")
    return connection, stream


def shut(connection):
    """Sends FIN in the middle of the body, and waits until the server closes."""
    connection.socket.shutdown(socket.SHUT_WR)
    connection.socket.settimeout(LAST_RESORT_S)
    try:
        while connection.socket.recv(65536):
            pass
    except OSError:
        pass


def finish_too_early(connection, stream):
    connection.send_data(stream, b"", end=True)
    assert connection.answer(stream).status == 400


def check_broken_off(site, break_off):
    before = site.server.uploaded(), descriptor_count(site.server.pid)
    connection, stream = begin_upload(site)
    break_off(connection, stream)
    wait_until(lambda: not site.server.temporary_files(), "the temporary file is removed")
    connection.close()
    assert site.server.uploaded() == before[0]
    wait_until(lambda: descriptor_count(site.server.pid) == before[1], "its descriptors are closed")


# Ways to abort: functions of the connection and the stream.
BREAKS = {
    "close": lambda connection, _: connection.close(),
    "reset": lambda connection, _: connection.reset(),
    "shut": lambda connection, _: shut(connection),
    "another protocol": lambda connection, _: connection.socket.sendall(b"\0" * 100),
}
HTTP1_BREAKS = {
    **BREAKS,
    "last chunk": lambda connection, _: connection.send(b"0\r\n\r\n"),
    "malformed chunk": lambda connection, _: connection.send(b"x\r\n"),
}
HTTP2_BREAKS = {
    **BREAKS,
    "end of the stream": finish_too_early,
    "reset of the stream": lambda connection, stream: connection.reset_stream(stream),
}


@pytest.mark.parametrize("break_off", HTTP1_BREAKS.values(), ids=HTTP1_BREAKS)
def test_http1_upload_broken_off(site_h1, break_off):
    check_broken_off(site_h1, break_off)


@pytest.mark.parametrize("break_off", HTTP2_BREAKS.values(), ids=HTTP2_BREAKS)
def test_http2_upload_broken_off(site_h2, break_off):
    check_broken_off(site_h2, break_off)


def test_temporary_file_is_nobodys_business(site):
    connection, _ = begin_upload(site)
    with connection:
        [file] = site.server.temporary_files()
        named = re.fullmatch(r"h2_tmp_(\d+)_\d+_0", file.name)
        assert named and int(named[1]) in members(site.server.pid)
        assert file.name.encode() not in site.fetch("/files").body
        assert site.fetch(f"/files/{file.name}").status == 404
