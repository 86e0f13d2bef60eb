"""HTTP/1.1 as bytes on a socket, with and without TLS (RFC 9112)."""

import pytest

from support.contents import form, form_type
from support.http1 import chunk, get
from support.protocols import PROTOCOLS
from support.site import Site

HOST = "Host: localhost\r\n"
FORM_TYPE = "Content-Type: %s\r\n" % form_type()[1]


@pytest.fixture
def connection(site_h1):
    with site_h1.connect() as connected:
        yield connected


# --- one connection, many requests ---------------------------------------------------------------


# Version of the request line, Connection field, true if it stays open, the answer's field.
KEEPING = {
    "1.1": ("1.1", None, True, None),
    "1.1 close": ("1.1", "close", False, "close"),
    "1.1 list with close": ("1.1", "x, Close", False, "close"),
    "1.1 keep-alive": ("1.1", "keep-alive", True, None),
    "1.0": ("1.0", None, False, "close"),
    "1.0 keep-alive": ("1.0", "Keep-Alive", True, "keep-alive"),
    "1.0 keep-alive, close": ("1.0", "keep-alive, close", False, "close"),
}


@pytest.mark.parametrize("version, option, stays, answered", KEEPING.values(), ids=KEEPING)
def test_connection_field(site_h1, connection, version, option, stays, answered):
    path = site_h1.place("a.txt", b"hello")
    field = f"Connection: {option}\r\n" if option else ""
    connection.send(f"GET {path} HTTP/{version}\r\n{HOST}{field}\r\n".encode())
    answer = connection.answer()
    assert (answer.status, answer.body) == (200, b"hello")
    assert (answer.field("connection") or "").lower() == (answered or "")
    if stays:
        connection.send(get(path))
        assert connection.answer().body == b"hello"
    else:
        assert connection.closed()


def test_http10_needs_no_host(site_h1, connection):
    path = site_h1.place("a.txt", b"hello")
    connection.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    assert connection.answer().body == b"hello"
    assert connection.closed()


def test_pipelined_requests_are_answered_in_order(site_h1, connection):
    paths = [site_h1.place(f"{i}.txt", b"file %d " % i * (i * 97)) for i in range(20)]
    connection.send(b"".join(get(path) for path in paths))
    for i in range(20):
        answer = connection.answer()
        assert (answer.status, answer.body) == (200, b"file %d " % i * (i * 97)), i


def test_pipelined_requests_of_all_kinds(site_h1, connection):
    path = site_h1.place("a.txt", b"hello")
    upload = form((f"{site_h1.name}.txt", b"uploaded"))
    post = f"POST /files HTTP/1.1\r\n{HOST}{FORM_TYPE}"
    connection.send(
        get(path).replace(b"GET", b"HEAD")
        + get("/absent")
        + (post + f"Content-Length: {len(upload)}\r\n\r\n").encode() + upload
        + (post + "Transfer-Encoding: chunked\r\n\r\n").encode() + chunk(upload) + b"0\r\n\r\n"
        + f"POST {path} HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nGET /".encode()
        + get(path, "Connection: close"))
    head = connection.answer(to_head=True)
    assert (head.status, head.field("content-length"), head.body) == (200, "5", b"")
    assert [connection.answer().status for _ in range(4)] == [404, 201, 409, 405]
    assert connection.answer().body == b"hello"
    assert connection.closed()


def test_large_answers_pipelined(site_h1, connection):
    contents = [bytes([65 + i]) * 300_000 for i in range(10)]
    paths = [site_h1.place(f"{i}", content) for i, content in enumerate(contents)]
    connection.send(b"".join(get(path) for path in paths))
    assert [connection.answer().body == content for content in contents] == [True] * 10


def test_answers_a_client_that_has_shut_its_side(server_for):
    site = Site(server_for(tls=False), PROTOCOLS[0])
    content = b"x" * 2_000_000
    with site.connect() as connection:
        connection.send(get(site.place("a", content)))
        connection.socket.shutdown(1)
        assert connection.answer().body == content
        assert connection.closed()


# --- delivery ------------------------------------------------------------------------------------


def chunked_upload(name, extension=b"", trailers=b""):
    body = form((name, b"content"))
    head = f"POST /files HTTP/1.1\r\n{HOST}{FORM_TYPE}Transfer-Encoding: chunked\r\n\r\n".encode()
    pieces = [body[i : i + 11] for i in range(0, len(body), 11)]
    chunks = b"".join(b"%X%s\r\n%s\r\n" % (len(piece), extension, piece) for piece in pieces)
    return head + chunks + b"0" + extension + b"\r\n" + trailers + b"\r\n"


def test_requests_of_single_bytes(site_h1, connection):
    path = site_h1.place("a.txt", b"hello")
    connection.send_slowly(get(path, "X-One: 1"))
    assert connection.answer().body == b"hello"
    connection.send_slowly(chunked_upload(f"{site_h1.name}.txt"))
    assert connection.answer().status == 201
    connection.send_slowly(get(path))
    assert connection.answer().body == b"hello"


CHUNKED = {
    "plain": (b"", b""),
    "extension": (b' ; name = value;quoted="a \\" b"', b""),
    "trailers": (b"", b"X-Sum: 1\r\nX-Other: 2\r\n"),
}


@pytest.mark.parametrize("extension, trailers", CHUNKED.values(), ids=CHUNKED)
def test_chunked_request(site_h1, connection, extension, trailers):
    name = f"{site_h1.name}.txt"
    connection.send(chunked_upload(name, extension, trailers) + get("/absent"))
    assert [connection.answer().status for _ in range(2)] == [201, 404]
    assert (site_h1.server.uploads / name).read_bytes() == b"content"


def test_empty_line_before_a_request(site_h1, connection):
    path = site_h1.place("a.txt", b"hello")
    connection.send(get(path) + b"\r\n" + get(path))
    assert [connection.answer().body for _ in range(2)] == [b"hello"] * 2


# --- Expect: 100-continue ------------------------------------------------------------------------


def test_continue_is_sent_before_the_body(site_h1, connection):
    body = form((f"{site_h1.name}.txt", b"content"))
    connection.send(f"POST /files HTTP/1.1\r\n{HOST}{FORM_TYPE}Content-Length: {len(body)}\r\n"
                    "Expect: 100-Continue\r\n\r\n".encode())
    interim = connection.answer_head()
    assert (interim.status, interim.field("content-length")) == (100, None)
    connection.send(body)
    assert connection.answer_head().status == 201


# Refused because of the head: the status must arrive before the body is sent.
EXPECTING = {
    "wrong type": ("POST /files", "Content-Type: text/plain\r\nExpect: 100-continue", 415),
    "wrong method": ("PUT /files", FORM_TYPE + "Expect: 100-continue", 405),
    "a path for GET": ("POST /files/a", FORM_TYPE + "Expect: 100-continue", 405),
    "cross-site": ("POST /files",
                   FORM_TYPE + "Sec-Fetch-Site: cross-site\r\nExpect: 100-continue", 403),
    "another expectation": ("POST /files", FORM_TYPE + "Expect: tea", 417),
}


@pytest.mark.parametrize("start, fields, status", EXPECTING.values(), ids=EXPECTING)
def test_refused_without_the_body(connection, start, fields, status):
    head = f"{start} HTTP/1.1\r\n{HOST}Content-Length: 100000\r\n{fields}\r\n\r\n"
    connection.send(head.encode())
    answer = connection.answer_head()
    assert answer.status == status
    assert answer.field("connection") == "close"  # the body may or may not follow
    connection.take(int(answer.field("content-length")))
    assert connection.closed()


# --- what is refused -----------------------------------------------------------------------------


def request(*lines, end=b"\r\n\r\n"):
    return b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + end


GET = "GET / HTTP/1.1"
POST = "POST /files HTTP/1.1"
H = "Host: localhost"
CHUNKED_FIELD = "Transfer-Encoding: chunked"

# Ambiguous or malformed requests: the status; the connection is closed.
REFUSED = {
    "length and coding": (400, request(POST, H, "Content-Length: 3", CHUNKED_FIELD)),
    "coding and length": (400, request(POST, H, CHUNKED_FIELD, "Content-Length: 3")),
    "two lengths": (400, request(POST, H, "Content-Length: 3", "Content-Length: 4")),
    "two equal lengths": (400, request(POST, H, "Content-Length: 3", "content-length: 3")),
    "list of lengths": (400, request(POST, H, "Content-Length: 3, 3")),
    "length +3": (400, request(POST, H, "Content-Length: +3")),
    "length -1": (400, request(POST, H, "Content-Length: -1")),
    "length 0x3": (400, request(POST, H, "Content-Length: 0x3")),
    "length empty": (400, request(POST, H, "Content-Length:")),
    "length of 2^64": (400, request(POST, H, "Content-Length: 18446744073709551616")),
    "two codings": (400, request(POST, H, CHUNKED_FIELD, CHUNKED_FIELD)),
    "chunked twice": (400, request(POST, H, "Transfer-Encoding: chunked, chunked")),
    "chunked before gzip": (400, request(POST, H, "Transfer-Encoding: chunked, gzip")),
    "chunked before gzip, in two lines": (
        400, request(POST, H, CHUNKED_FIELD, "Transfer-Encoding: gzip")),
    "chunked with a parameter": (400, request(POST, H, "Transfer-Encoding: chunked;a=b")),
    "no coding": (400, request(POST, H, "Transfer-Encoding:")),
    "gzip, chunked in two lines": (
        501, request(POST, H, "Transfer-Encoding: gzip", CHUNKED_FIELD)),
    "gzip, chunked": (501, request(POST, H, "Transfer-Encoding: gzip, chunked")),
    "identity": (501, request(POST, H, "Transfer-Encoding: identity")),
    "xchunked": (501, request(POST, H, "Transfer-Encoding: xchunked")),
    "coding in 1.0": (400, request("POST /files HTTP/1.0", H, CHUNKED_FIELD)),
    "folded line": (400, request(GET, H, "X-A: 1", " 2")),
    "folded by a tab": (400, request(GET, H, "X-A: 1", "\t2")),
    "space before the first field": (400, request(GET, " X-A: 1", H)),
    "bare CR in a value": (400, request(GET, H, "X-A: 1\r2")),
    "bare CR at a line's start": (400, request(GET, H, "\rX-A: 1")),
    "bare LF after the request line": (400, b"GET / HTTP/1.1\nHost: localhost\r\n\r\n"),
    "bare LF after a field": (400, b"GET / HTTP/1.1\r\nHost: localhost\nX-A: 1\r\n\r\n"),
    "bare LF at the end": (400, b"GET / HTTP/1.1\r\nHost: localhost\r\n\n"),
    "space before the colon": (400, request(GET, H, "X-A : 1")),
    "tab before the colon": (400, request(GET, H, "Content-Length\t: 3")),
    "no colon": (400, request(GET, H, "X-A")),
    "no name": (400, request(GET, H, ": 1")),
    "NUL in a value": (400, request(GET, H, b"X-A: \0")),
    "NUL in a name": (400, request(GET, H, b"X\0A: 1")),
    "DEL in a value": (400, request(GET, H, b"X-A: \x7f")),
    "no Host": (400, request(GET, "X-A: 1")),
    "two Hosts": (400, request(GET, H, "Host: other")),
    "two equal Hosts": (400, request(GET, H, H)),
    "Host with a path": (400, request(GET, "Host: a/b")),
    "Host with user": (400, request(GET, "Host: user@a")),
    "Host with two ports": (400, request(GET, "Host: a:1:2")),
    "Host with a large port": (400, request(GET, "Host: a:65536")),
    "Host of a port only": (400, request(GET, "Host: :80")),
    "Host with an open bracket": (400, request(GET, "Host: [::1")),
    "Host with a wrong escape": (400, request(GET, "Host: a%zz")),
    "Host with a space": (400, request(GET, "Host: a b")),
    "two words": (400, request("GET /", H)),
    "one word": (400, request("GET", H)),
    "two spaces": (400, request("GET  / HTTP/1.1", H)),
    "tabs": (400, request("GET\t/\tHTTP/1.1", H)),
    "space at the end": (400, request("GET / HTTP/1.1 ", H)),
    "space in the target": (400, request("GET /a b HTTP/1.1", H)),
    "byte 0x80 in the target": (400, request(b"GET /\x80 HTTP/1.1", H)),
    "no method's character": (400, request("G@T / HTTP/1.1", H)),
    "lower-case http": (400, request("GET / http/1.1", H)),
    "HTTP/1.10": (400, request("GET / HTTP/1.10", H)),
    "HTTP/2.0": (505, request("GET / HTTP/2.0", H)),
    "HTTP/0.9": (505, request("GET / HTTP/0.9", H)),
    "line too long": (414, request("GET /" + "a" * 9000 + " HTTP/1.1", H)),
    "method without an end": (501, b"G" * 100_000),
    "line without an end": (414, b"GET /" + b"a" * 100_000),
    "field too long": (431, request(GET, H, "X-A: " + "a" * 40_000)),
    "field without an end": (431, request(GET, H, b"X-A: " + b"a" * 100_000, end=b"")),
    "fields too long": (431, request(GET, H, *[f"X-{i}: " + "a" * 1000 for i in range(40)])),
    "too many fields": (431, request(GET, *[f"X-{i}: 1" for i in range(150)], H)),
}


@pytest.mark.parametrize("status, data", REFUSED.values(), ids=REFUSED)
def test_refused_and_closed(connection, status, data):
    connection.send(data + get("/"))
    answer = connection.answer()
    assert (answer.status, answer.field("connection")) == (status, "close")
    assert connection.closed(), "answered what came after"


@pytest.mark.parametrize("name", ["length and coding", "folded line", "bare CR in a value"])
def test_refused_byte_by_byte(connection, name):
    status, data = REFUSED[name]
    connection.send_slowly(data)
    assert connection.answer().status == status
    assert connection.closed()


CHUNKS_REFUSED = {
    "no size": b"\r\n",
    "no digit": b"g\r\n",
    "negative": b"-1\r\n",
    "0x": b"0x5\r\nhello\r\n",
    "plus": b"+5\r\nhello\r\n",
    "space first": b" 5\r\nhello\r\n",
    "bare LF": b"5\nhello\r\n",
    "bare LF after an extension": b"5;a\nhello\r\n",
    "space behind the size": b"5 \r\nhello\r\n",
    "two sizes": b"5 5\r\nhello\r\n",
    "empty extension": b"5;\r\nhello\r\n",
    "extension that is no token": b"5;bad[=x\r\nhello\r\n",
    "extension without its value": b"5;a=\r\nhello\r\n",
    "open quote in an extension": b'5;a="b\r\nhello\r\n',
    "no line end after the data": b"5\r\nhello5\r\n",
    "LF after the data": b"5\r\nhello\n",
    "too large": b"fffffffffffffffff\r\n",
    "wrong trailer": b"0\r\nX A: 1\r\n\r\n",
    "folded trailer": b"0\r\nX-A: 1\r\n 2\r\n\r\n",
    "bare LF in a trailer": b"0\r\nX-A: 1\n\r\n",
    "bare LF at the end": b"0\r\n\n",
}


@pytest.mark.parametrize("data", CHUNKS_REFUSED.values(), ids=CHUNKS_REFUSED)
def test_malformed_chunks(connection, data):
    head = f"POST /files HTTP/1.1\r\n{HOST}{FORM_TYPE}Transfer-Encoding: chunked\r\n\r\n"
    connection.send(head.encode() + data + get("/"))
    answer = connection.answer()
    assert (answer.status, answer.field("connection")) == (400, "close")
    assert connection.closed(), "answered what came after"


def test_other_protocols_are_closed_without_an_answer(connection):
    connection.send(b"EHLO mail example\r\n\r\n")
    assert connection.closed()


# Just within the limits: RFC 9112, 3 recommends 8000 bytes for a request line.
WITHIN = {
    "line of 8000 bytes": request("GET /" + "a" * (8000 - 14) + " HTTP/1.1", H),
    "head of 30 KiB": request("GET /a HTTP/1.1", H, *[f"X-{i}: " + "a" * 1017 for i in range(29)]),
    "100 fields": request("GET /a HTTP/1.1", H, *[f"X-{i}: 1" for i in range(99)]),
    "value of high bytes": request("GET /a HTTP/1.1", H, b"X-A: \x80\xff\t\xe9"),
    "empty value": request("GET /a HTTP/1.1", H, "X-A:"),
    "spaces around a value": request("GET /a HTTP/1.1", "Host: \t localhost \t "),
    "HTTP/1.2": request("GET /a HTTP/1.2", H),
}


@pytest.mark.parametrize("data", WITHIN.values(), ids=WITHIN)
def test_within_the_limits(connection, data):
    connection.send(data * 2)
    assert [connection.answer().status for _ in range(2)] == [404, 404]


# --- methods and forms of the target -------------------------------------------------------------

ANSWERED = {
    "absent": ("GET", "/absent", 404, None),
    "root": ("DELETE", "/", 405, {"GET", "HEAD", "OPTIONS"}),
    "post to a file": ("POST", "/a.txt", 405, {"GET", "HEAD", "OPTIONS"}),
    "put": ("PUT", "/files", 405, {"GET", "HEAD", "POST", "OPTIONS"}),
    "unknown method": ("BREW", "/", 501, None),
    "lower-case method": ("get", "/", 501, None),
    "trace": ("TRACE", "/", 501, None),
    "long method": ("M" * 4000, "/", 501, None),
    "connect": ("CONNECT", "localhost:443", 501, None),
    "options of the server": ("OPTIONS", "*", 204, None),
    "options of a file": ("OPTIONS", "/a.txt", 204, {"GET", "HEAD", "OPTIONS"}),
    "options of the uploads": ("OPTIONS", "/files", 204, {"GET", "HEAD", "POST", "OPTIONS"}),
    "options, a bad path": ("OPTIONS", "/%zz", 400, None),
    "asterisk with GET": ("GET", "*", 400, None),
    "absolute form": ("GET", "http://example.org/absent", 404, None),
    "absolute form, no path": ("DELETE", "https://example.org", 405, {"GET", "HEAD", "OPTIONS"}),
    "absolute form, another scheme": ("GET", "ftp://example.org/", 400, None),
    "absolute form, no authority": ("GET", "http:///a", 400, None),
    "no slash": ("GET", "absent", 400, None),
    "fragment": ("GET", "/absent#a", 400, None),
    "bad escape": ("GET", "/%zz", 400, None),
    "half an escape": ("GET", "/%4", 400, None),
}


@pytest.mark.parametrize("method, target, status, allowed", ANSWERED.values(), ids=ANSWERED)
def test_method_and_target(connection, method, target, status, allowed):
    connection.send(f"{method} {target} HTTP/1.1\r\n{HOST}Content-Length: 0\r\n\r\n".encode())
    answer = connection.answer()
    assert answer.status == status
    allow = answer.field("allow")
    assert (set(allow.replace(" ", "").split(",")) if allow else None) == allowed
    connection.send(get("/absent"))
    assert connection.answer().status == 404, "the connection goes on"


def test_absolute_form_serves_the_file(site_h1, connection):
    path = site_h1.place("a.txt", b"hello")
    connection.send(f"GET http://example.org{path}?q HTTP/1.1\r\n{HOST}\r\n".encode())
    assert connection.answer().body == b"hello"
