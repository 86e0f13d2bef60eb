"""POST /files, the listing and downloads, over every protocol."""

import html.parser
import json
import subprocess

import pytest

from support import http2
from support.contents import form, form_type, noise
from support.environment import HTTP2, tool
from support.http1 import chunk
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until


def post(site, *parts, fields=(), boundary=b"limit"):
    body = form(*parts, boundary=boundary)
    return site.fetch("/files", "POST", [form_type(boundary), *fields], body)


def check_stored(site, answer, files):
    """Checks that the answer lists the files and that they are stored byte for byte."""
    assert answer.status == 201, answer
    assert answer.field("content-type") == "application/json"
    listed = {entry["name"]: entry["size"] for entry in json.loads(answer.body)}
    assert listed == {name: len(content) for name, content in files.items()}
    for name, content in files.items():
        same = (site.server.uploads / name).read_bytes() == content
        assert same, name


# --- content -------------------------------------------------------------------------------------


def test_by_curl(site, tmp_path):
    contents = {f"{site.name}-{size}.bin": noise(size) for size in (0, 5, 300_000)}
    files = []
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        files += ["-F", f"file=@{tmp_path / name}"]
    for arguments, expected in ((files[:2], 1), (files[2:], 2)):
        done = subprocess.run(
            [tool("curl"), "-sS", "-k", site.protocol.curl, "-w", "%{http_code} %{http_version}",
             "-o", tmp_path / "answer", *arguments, site.server.url + "files"],
            capture_output=True, text=True, check=True)
        assert done.stdout == ("201 2" if site.protocol.http2 else "201 1.1")
        assert len(json.loads((tmp_path / "answer").read_bytes())) == expected
    for name, content in contents.items():
        assert (site.server.uploads / name).read_bytes() == content


# Contents that resemble the delimiter "\r\n--limit".
CONTENTS = {
    "empty": b"",
    "one byte": b"x",
    "all bytes": bytes(range(256)) * 3,
    "line ends": b"\r\n\r\n\n\r\r\n",
    "only CR": b"\r" * 100,
    "boundary without a line": b"x--limit",
    "closing boundary without a line": b"x--limit--",
    "line and half a boundary": b"\r\n--limi",
    "half boundaries": b"\r\n--lim\r\n--li\r\n--l\r\n--\r\n-\r\n\r",
    "CR before a half boundary": b"\r\r\n--limi\r\r\n-",
    "LF and the boundary": b"\n--limit\n",
    "CR and the boundary": b"\r--limit\r",
    "the boundary in another case": b"\r\n--LIMIT\r\n",
    "the boundary goes on": b"\r\n--limited\r\n",
    "the boundary and a dash": b"\r\n--limit-\r\n",
    "a head of a part": b'\r\nContent-Disposition: form-data; name="a"\r\n\r\nx',
    "noise": noise(200_000),
}


def test_any_content(site):
    files = {f"{site.name}-{i}": content for i, content in enumerate(CONTENTS.values())}
    check_stored(site, post(site, *files.items()), files)


def test_fields_beside_the_files(site):
    files = {f"{site.name}-1": b"one", f"{site.name}-2": b"two"}
    one, two = files.items()
    parts = [(None, b"a field"), one, (None, b"\r\n--limi"), two, ("", b"")]
    check_stored(site, post(site, *parts), files)


def test_text_around_the_form(site):
    name = f"{site.name}.txt"
    body = b"preamble\r\n\r\n" + form((name, b"content")) + b"epilogue --limit\r\n"
    answer = site.fetch("/files", "POST", [form_type()], body)
    check_stored(site, answer, {name: b"content"})


BOUNDARIES = [b"x", b"-", b"--", b"a" * 70, b"0aZ'()+_,-./:=?", b"----WebKitFormBoundaryabc"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_boundaries(site, boundary):
    name = f"{site.name}.txt"
    content = b"\r\n--" + boundary[:-1]
    answer = site.fetch("/files", "POST",
                        [("content-type", f'Multipart/Form-Data; Boundary="{boundary.decode()}"')],
                        form((name, content), boundary=boundary))
    check_stored(site, answer, {name: content})


# --- split anywhere ------------------------------------------------------------------------------

SPLITS = [1, 2, 3, 7, 11, 64, 1000, 16_384]


def pieces_of(body, size):
    return [body[i : i + size] for i in range(0, len(body), size)]


@pytest.mark.parametrize("size", SPLITS)
def test_split_anywhere(site, size):
    files = {f"{site.name}-{i}": content for i, content in enumerate(list(CONTENTS.values())[:-1])}
    pieces = pieces_of(form(*files.items()), size)
    with site.connect() as connection:
        if not site.protocol.http2:
            connection.request("POST", "/files", [form_type()], pieces)
            answer = connection.answer()
        else:
            stream = connection.request("POST", "/files", [form_type()], ends=False)
            for number, piece in enumerate(pieces):
                connection.send_data(stream, piece, padding=number % 5 or None)
                if number % 7 == 0:
                    connection.send_data(stream, b"")
            connection.send_data(stream, b"", end=True)
            answer = connection.answer(stream)
    check_stored(site, answer, files)


def test_segments_of_single_bytes(site):
    """Like test_split_anywhere, but the connection's bytes arrive one by one."""
    name = f"{site.name}.txt"
    body = form((name, b"\r\n--limi\r\r\n"))
    with site.connect() as connection:
        if not site.protocol.http2:
            head = f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
            connection.send_slowly(f"{head}Content-Type: {form_type()[1]}\r\n\r\n".encode() + body)
            answer = connection.answer()
        else:
            stream = connection.request("POST", "/files", [form_type()], ends=False)
            connection.protocol.send_data(stream.number, body, end_stream=True)
            for byte in connection.protocol.data_to_send():
                connection.socket.sendall(bytes([byte]))
            answer = connection.answer(stream)
    check_stored(site, answer, {name: b"\r\n--limi\r\r\n"})


# --- existing names ------------------------------------------------------------------------------


def test_existing_name_is_refused(site):
    name = f"{site.name}.txt"
    assert post(site, (name, b"first")).status == 201
    other = f"{site.name}-other.txt"
    answer = post(site, (other, b"other"), (name, b"second"))
    assert (answer.status, name.encode() in answer.body) == (409, True)
    assert (site.server.uploads / name).read_bytes() == b"first"
    assert not (site.server.uploads / other).exists(), "all of a request's files or none"


def test_name_of_a_folder_is_refused(site):
    (site.server.uploads / site.name).mkdir()
    assert post(site, (site.name, b"content")).status == 409


def test_name_of_a_link_is_refused(site):
    target = site.server.uploads / f"{site.name}-target"
    (site.server.uploads / site.name).symlink_to(target)
    assert post(site, (site.name, b"content")).status == 409
    assert not target.exists()


def test_one_name_twice_in_a_form(site):
    assert post(site, (site.name, b"one"), (site.name, b"two")).status == 409
    assert site.name not in site.server.uploaded()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_overwriting(protocol):
    with Server("--upload-overwrite", tls=protocol.tls) as server:
        server.uploads.joinpath("folder").mkdir()
        for content in (b"first", b"second, longer", b"3"):
            answer = fetch(server, protocol, "/files", "POST", [form_type()], form(("a", content)))
            assert answer.status == 201
            assert (server.uploads / "a").read_bytes() == content
            assert fetch(server, protocol, "/files/a").body == content, "what is served, at once"
        answer = fetch(server, protocol, "/files", "POST", [form_type()], form(("folder", b"x")))
        assert answer.status == 409


def begin_upload(site, body):
    """Sends all but the last byte of a form. Returns the connection, and a function that sends the
    last byte and returns the answer."""
    connection = site.connect()
    if site.protocol.http2:
        stream = connection.request("POST", "/files", [form_type()], ends=False)
        for piece in pieces_of(body[:-1], http2.FRAME_BYTES):
            connection.send_data(stream, piece)
        return connection, lambda: (connection.send_data(stream, body[-1:], end=True),
                                    connection.answer(stream))[1]
    connection.send(f"POST /files HTTP/1.1\r\nHost: a\r\nContent-Type: {form_type()[1]}\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n".encode() + chunk(body[:-1]))
    return connection, lambda: (connection.send(chunk(body[-1:]) + b"0\r\n\r\n"),
                                connection.answer())[1]


def test_two_at_once_of_one_name(site):
    """The second is refused at its beginning."""
    content = noise(50_000)
    connection, end = begin_upload(site, form((site.name, content)))
    with connection:
        wait_until(site.server.temporary_files, "it is under way")
        assert post(site, (f"{site.name}-free", b"x"), (site.name, b"second")).status == 409
        answer = end()
    check_stored(site, answer, {site.name: content})
    assert f"{site.name}-free" not in site.server.uploaded()


# --- the list, and downloads ---------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """The links of the listing, by text, and its form."""

    def __init__(self, text):
        super().__init__()
        self.links = {}
        self.form = None
        self.inputs = []
        self._target = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self._target = dict(attributes)["href"]
            self._text = ""
        if tag == "form" and "action" in dict(attributes):  # the other one filters the list
            self.form = dict(attributes)
        if tag == "input":
            self.inputs.append(dict(attributes))
        assert tag != "b", "a name became markup"

    def handle_data(self, data):
        if self._target is not None:
            self._text += data

    def handle_endtag(self, tag):
        if tag == "a":
            self.links[self._text] = self._target
            self._target = None


def listing(site):
    answer = site.fetch("/files")
    assert (answer.status, answer.field("content-type")) == (200, "text/html; charset=utf-8")
    return Page(answer.body.decode())


def test_list(site):
    files = {f"{site.name} {name}": name.encode() for name in
             ("<b>&amp;'bold'", "100%?#;+", "grün.txt", "a\"b.txt")}
    for name, content in files.items():
        check_stored(site, post(site, (name.replace('"', "%22"), content)), {name: content})
    page = listing(site)
    for name, content in files.items():
        answer = site.fetch(page.links[name])
        assert (answer.status, answer.body) == (200, content), name


def test_list_has_the_form(site):
    form_of_page = listing(site).form
    assert form_of_page["action"] == "/files"
    assert form_of_page["method"].lower() == "post"
    assert form_of_page["enctype"] == "multipart/form-data"
    files = [field for field in listing(site).inputs if field["type"] == "file" and "name" in field]
    assert len(files) == 1, "those of the script have no name"


def test_download(site):
    content = noise(400_000) + b"<script>alert(1)</script>"
    name = f"{site.name}.html"
    check_stored(site, post(site, (name, content)), {name: content})
    answer = site.fetch(f"/files/{name}")
    assert (answer.status, answer.field("x-content-type-options")) == (200, "nosniff")
    assert answer.body == content
    part = site.fetch(f"/files/{name}", fields=[("range", "bytes=10-19")])
    assert (part.status, part.body) == (206, content[10:20])


def test_download_of_what_is_not_there(site):
    assert site.fetch("/files/absent").status == 404
    assert site.fetch("/files/").status == 404


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_without_an_upload_directory(protocol):
    with Server(tls=protocol.tls, uploads=False) as server:
        assert fetch(server, protocol, "/files").status == 404
        answer = fetch(server, protocol, "/files", "POST", [form_type()], form(("a", b"x")))
        assert (answer.status, answer.field("allow")) == (405, "GET, HEAD, OPTIONS")


# --- windows -------------------------------------------------------------------------------------


@pytest.mark.skipif(HTTP2 == "nghttp2", reason="its windows stay as they are")
def test_windows_grow_with_what_comes_in_a_round_trip(site_h2):
    """The client sends all that the windows allow before it reads, so a round trip brings a whole
    window."""
    content = noise(24_000_000)
    with site_h2.connect() as connection:
        stream = connection.request("POST", "/files", [form_type()],
                                    form((f"{site_h2.name}-grown.bin", content)))
        most = 0  # bytes that a single read has allowed to send
        while stream.unsent:
            before = stream.sent
            connection.read_once()
            most = max(most, stream.sent - before)
        answer = connection.answer(stream)
    check_stored(site_h2, answer, {f"{site_h2.name}-grown.bin": content})
    assert most > 2 << 20
