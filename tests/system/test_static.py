"""Files over every protocol: header fields, conditional requests, ranges, sizes."""

import json
import datetime
import email.parser
import email.utils
import os
import re
import socket

import pytest

from support.contents import noise
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

MODIFIED = 1_700_000_000  # Tue, 14 Nov 2023 22:13:20 GMT
DATE_OF_MODIFIED = "Tue, 14 Nov 2023 22:13:20 GMT"
EARLIER = "Tue, 14 Nov 2023 22:13:19 GMT"
LATER = "Tue, 14 Nov 2023 22:13:21 GMT"


@pytest.fixture
def page(site):
    """Returns the path of a file that holds b"0123456789", with a known modification time."""
    path = site.place("page.txt", b"0123456789")
    os.utime(site.folder / "page.txt", (MODIFIED, MODIFIED))
    return path


# --- header fields -------------------------------------------------------------------------------


def test_fields(site, page):
    begun = datetime.datetime.now(datetime.timezone.utc)
    answer = site.fetch(page)
    assert (answer.status, answer.body) == (200, b"0123456789")
    assert answer.field("content-length") == "10"
    assert answer.field("content-type") == "text/plain; charset=utf-8"
    assert answer.field("last-modified") == DATE_OF_MODIFIED
    assert answer.field("accept-ranges") == "bytes"
    etag = answer.field("etag")
    assert etag.startswith('"') and etag.endswith('"') and len(etag) > 2, "strong"
    date = answer.field("date")
    sent = email.utils.parsedate_to_datetime(date)
    assert date == email.utils.format_datetime(sent, usegmt=True), "IMF-fixdate"
    now = datetime.datetime.now(datetime.timezone.utc)
    # It has whole seconds, and a worker caches it for one.
    assert begun - datetime.timedelta(seconds=2) < sent <= now


def test_every_answer_has_a_date(site):
    for path in ("/absent", "/%zz", f"/{site.name}"):
        assert site.fetch(path).field("date"), path


TYPES = {
    "a.html": "text/html; charset=utf-8",
    "a.css": "text/css; charset=utf-8",
    "a.js": "text/javascript; charset=utf-8",
    "a.mjs": "text/javascript; charset=utf-8",
    "a.json": "application/json",
    "a.svg": "image/svg+xml",
    "a.png": "image/png",
    "a.jpeg": "image/jpeg",
    "a.webp": "image/webp",
    "a.ico": "image/vnd.microsoft.icon",
    "a.woff2": "font/woff2",
    "a.wasm": "application/wasm",
    "a.pdf": "application/pdf",
    "a.mp4": "video/mp4",
    "A.HTML": "text/html; charset=utf-8",
    "a.tar.gz": "application/gzip",
    "a.unknown": "application/octet-stream",
    "a": "application/octet-stream",
    "a.py": "text/plain; charset=utf-8",
    "README": "text/plain; charset=utf-8",
    "a.deb": "application/vnd.debian.binary-package",
    "a.": "application/octet-stream",
}


def test_types(site):
    types = {name: site.fetch(site.place(name, b"x")).field("content-type") for name in TYPES}
    assert types == TYPES


def test_head(site, page):
    get, head = site.fetch(page), site.fetch(page, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert [pair for pair in head.fields if pair[0] not in ("date", "connection")] == \
        [pair for pair in get.fields if pair[0] not in ("date", "connection")]


def test_head_of_what_is_not_there(site):
    answer = site.fetch("/absent", "HEAD")
    assert (answer.status, answer.body) == (404, b"")


SPELLINGS = {
    "with spaces & more.txt": "with%20spaces%20%26%20more.txt",
    "ünï.txt": "%C3%BCn%C3%AF.txt",
    "100%.txt": "100%25.txt",
    "a+b?.txt": "a+b%3F.txt",
    "plain.txt": "pl%61in.txt?query=1",
}


@pytest.mark.parametrize("name, spelled", SPELLINGS.items())
def test_escaped_names(site, name, spelled):
    site.place(name, b"found")
    assert site.fetch(f"/{site.name}/{spelled}").body == b"found"


# --- folders -------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", ["./{}/a.txt", "{}/./a.txt", "%2e/{}/%2E/./a.txt"])
def test_dot_segments(site, spelled):
    site.place("a.txt", b"found")
    assert site.fetch("/" + spelled.format(site.name)).body == b"found"


def test_dot_at_the_end_names_the_folder(site):
    site.place("index.html", b"<h1>index</h1>")
    assert site.fetch(f"/{site.name}/.").body == b"<h1>index</h1>"


def test_index_of_a_folder(site):
    site.place("index.html", b"<h1>index</h1>")
    answer = site.fetch(f"/{site.name}/")
    assert (answer.status, answer.body) == (200, b"<h1>index</h1>")
    assert answer.field("content-type") == "text/html; charset=utf-8"


def test_folder_without_a_slash_is_redirected(site):
    site.place("index.html", b"<h1>index</h1>")
    for query in ("", "?a=b&c"):
        answer = site.fetch(f"/{site.name}{query}")
        assert (answer.status, answer.field("location")) == (301, f"/{site.name}/{query}")


def test_redirect_never_names_another_host(site):
    for start in ("//", "/.//", "/%2e//./"):
        answer = site.fetch(start + site.name)
        assert (answer.status, answer.field("location")) == (301, f"/{site.name}/")


def test_folder_without_an_index(site):
    site.place("a.txt", b"a")
    listing = site.fetch(f"/{site.name}/")
    assert listing.status == 200
    assert b'<a class="t" href="a.txt">a.txt</a>' in listing.body
    assert site.fetch(f"/{site.name}/", "HEAD").status == 200
    programs = [("accept", "application/json")]
    assert json.loads(site.fetch(f"/{site.name}/", fields=programs).body)[0]["size"] == 1


def test_below_a_file(site, page):
    assert site.fetch(page + "/").status == 404
    assert site.fetch(page + "/x").status == 404


def test_neither_a_file_nor_a_folder(site):
    """Opening a FIFO would block; a socket cannot be opened."""
    os.mkfifo(site.folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(site.folder / "socket"))
        for name in ("fifo", "socket"):
            assert site.fetch(f"/{site.name}/{name}").status == 404, name


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_unreadable_file(protocol, plain_user):
    with Server(tls=protocol.tls, user=plain_user) as server:
        (server.root / "secret.txt").write_bytes(b"secret")
        (server.root / "secret.txt").chmod(0)
        (server.root / "closed").mkdir()
        (server.root / "closed/a.txt").write_bytes(b"secret")
        (server.root / "closed").chmod(0)
        assert fetch(server, protocol, "/secret.txt").status == 403
        assert fetch(server, protocol, "/closed/a.txt").status == 403
        (server.root / "closed").chmod(0o755)  # so that it can be removed


# --- conditional requests (RFC 9110, 13) ---------------------------------------------------------

# Request fields → status. "{etag}" stands for the file's tag.
CONDITIONS = {
    "same tag": ([("if-none-match", "{etag}")], 304),
    "one of the tags": ([("if-none-match", '"x", {etag} , "y"')], 304),
    "weak tag": ([("if-none-match", "W/{etag}")], 304),
    "tags in two lines": ([("if-none-match", '"x"'), ("if-none-match", "{etag}")], 304),
    "any tag": ([("if-none-match", "*")], 304),
    "other tag": ([("if-none-match", '"x"')], 200),
    "same date": ([("if-modified-since", DATE_OF_MODIFIED)], 304),
    "later date": ([("if-modified-since", LATER)], 304),
    "earlier date": ([("if-modified-since", EARLIER)], 200),
    "no date": ([("if-modified-since", "yesterday")], 200),
    "RFC 850 date": ([("if-modified-since", "Tuesday, 14-Nov-23 22:13:20 GMT")], 304),
    "asctime date": ([("if-modified-since", "Tue Nov 14 22:13:20 2023")], 304),
    "tag before date": ([("if-none-match", '"x"'), ("if-modified-since", LATER)], 200),
    "match": ([("if-match", "{etag}")], 200),
    "match in two lines": ([("if-match", '"x"'), ("if-match", "{etag}")], 200),
    "two dates": ([("if-modified-since", LATER), ("if-modified-since", LATER)], 200),
    "match any": ([("if-match", "*")], 200),
    "no match": ([("if-match", '"x"')], 412),
    "no match by a weak tag": ([("if-match", "W/{etag}")], 412),
    "unmodified": ([("if-unmodified-since", DATE_OF_MODIFIED)], 200),
    "modified": ([("if-unmodified-since", EARLIER)], 412),
    "match before date": ([("if-match", "{etag}"), ("if-unmodified-since", EARLIER)], 200),
    "both": ([("if-match", "{etag}"), ("if-none-match", "{etag}")], 304),
    "failed match first": ([("if-match", '"x"'), ("if-none-match", "{etag}")], 412),
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("fields, status", CONDITIONS.values(), ids=CONDITIONS)
def test_condition(site, page, method, fields, status):
    etag = site.fetch(page).field("etag")
    filled = [(name, value.replace("{etag}", etag)) for name, value in fields]
    answer = site.fetch(page, method, filled)
    assert answer.status == status
    if status == 200 and method == "GET":
        assert answer.body == b"0123456789"
    if status == 304:
        assert (answer.body, answer.field("etag")) == (b"", etag)


def test_last_modified_is_not_in_the_future(site):
    path = site.place("a.txt", b"one")
    os.utime(site.folder / "a.txt", (4102444800, 4102444800))  # the year 2100
    answer = site.fetch(path)
    modified, date = (email.utils.parsedate_to_datetime(answer.field(name))
                      for name in ("last-modified", "date"))
    assert modified <= date + datetime.timedelta(seconds=1)  # a worker caches the time


def test_tag_changes_with_the_content(site):
    path = site.place("a.txt", b"one")
    other = site.place("b.txt", b"two")
    assert site.fetch(path).field("etag") != site.fetch(other).field("etag")
    assert site.fetch(path).field("etag") == site.fetch(path).field("etag")


# --- ranges (RFC 9110, 14) -----------------------------------------------------------------------

# Of a file of ten bytes: Range → status, body, Content-Range.
WHOLE = (200, b"0123456789", None)
RANGES = {
    "bytes=0-3": (206, b"0123", "bytes 0-3/10"),
    "bytes=4-4": (206, b"4", "bytes 4-4/10"),
    "bytes=7-": (206, b"789", "bytes 7-9/10"),
    "bytes=0-": (206, b"0123456789", "bytes 0-9/10"),
    "bytes=-3": (206, b"789", "bytes 7-9/10"),
    "bytes=-10": (206, b"0123456789", "bytes 0-9/10"),
    "bytes=-11": (206, b"0123456789", "bytes 0-9/10"),
    "bytes=8-100": (206, b"89", "bytes 8-9/10"),
    "bytes=8-99999999999999999999999": (206, b"89", "bytes 8-9/10"),
    "BYTES=0-3": (206, b"0123", "bytes 0-3/10"),
    "bytes=10-": (416, None, "bytes */10"),
    "bytes=10-20": (416, None, "bytes */10"),
    "bytes=-0": (416, None, "bytes */10"),
    "bytes=0-1,4-5": (206, b"012345", "bytes 0-5/10"),  # merged
    "bytes=0-1,20-": (206, b"01", "bytes 0-1/10"),
    "bytes=20-,10-": (416, None, "bytes */10"),
    "bytes=5-,0-4": WHOLE,
    "bytes=0-1,x": WHOLE,
    "bytes=3-1": WHOLE,
    "bytes=a-b": WHOLE,
    "bytes=-": WHOLE,
    "bytes": WHOLE,
    "lines=0-3": WHOLE,
    "bytes=0-3;": WHOLE,
}


@pytest.mark.parametrize("value, expected", RANGES.items())
def test_range(site, page, value, expected):
    answer = site.fetch(page, fields=[("range", value)])
    body = None if answer.status == 416 else answer.body
    assert (answer.status, body, answer.field("content-range")) == expected
    if answer.status == 206:
        assert answer.field("content-length") == str(len(answer.body))
        assert answer.field("content-type") == "text/plain; charset=utf-8"


def test_range_of_a_large_file(site):
    content = noise(3_000_000)
    path = site.place("large", content)
    for first, last in ((0, 0), (65_535, 65_536), (1_000_000, 2_999_999), (2_999_999, 2_999_999)):
        answer = site.fetch(path, fields=[("range", f"bytes={first}-{last}")])
        assert answer.status == 206
        assert answer.body == content[first : last + 1], (first, last)


def test_range_of_an_empty_file(site):
    path = site.place("empty", b"")
    assert site.fetch(path, fields=[("range", "bytes=0-")]).status == 416
    assert site.fetch(path, fields=[("range", "bytes=-5")]).status == 416


def parts_of(answer):
    """Parses the response to a request for several ranges. Returns [(first, last, size, bytes)]."""
    assert answer.status == 206
    assert answer.field("content-range") is None
    assert answer.field("content-length") == str(len(answer.body))
    kind = answer.field("content-type")
    head = f"Content-Type: {kind}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + answer.body)
    assert message.get_content_type() == "multipart/byteranges"
    assert not message.defects
    # The parser changes line ends, so it only finds the fields.
    delimiter = b"--" + message.get_boundary().encode()
    contents = [part.split(b"\r\n\r\n", 1)[1]
                for part in (b"\r\n" + answer.body).split(b"\r\n" + delimiter)[1:-1]]
    found = []
    for part, content in zip(message.get_payload(), contents, strict=True):
        assert part.items() == [("Content-Type", "text/plain; charset=utf-8"),
                                ("Content-Range", part["content-range"])]
        numbers = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", part["content-range"])
        first, last, size = numbers.groups()
        found.append((int(first), int(last), int(size), content))
    return found


def test_several_ranges(site, page):
    content = bytes(range(256)) * 40
    path = site.place("several.txt", content)
    whole = site.fetch(path)
    answer = site.fetch(path, fields=[("range", "bytes=5000-5009,0-1,-3,99999-")])
    assert parts_of(answer) == [(5000, 5009, 10240, content[5000:5010]),
                                (0, 1, 10240, content[:2]), (10237, 10239, 10240, content[-3:])]
    for name in ("etag", "last-modified", "accept-ranges"):
        assert answer.field(name) == whole.field(name), name
    boundary = answer.field("content-type").partition("boundary=")[2]
    fields = "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes {}/10240\r\n\r\n"
    assert answer.body == b"".join([
        f"--{boundary}{fields.format('5000-5009')}".encode(), content[5000:5010],
        f"\r\n--{boundary}{fields.format('0-1')}".encode(), content[:2],
        f"\r\n--{boundary}{fields.format('10237-10239')}".encode(), content[-3:],
        f"\r\n--{boundary}--\r\n".encode()])


@pytest.mark.parametrize("size", [60_000, 3_000_000], ids=["held", "mapped"])
def test_several_ranges_on_one_connection(site, size):
    """Each response ends where its length says, or the next request fails."""
    content = noise(size)
    path = site.place("large.txt", content)
    lists = [[(0, 0), (size - 1, size - 1)],
             [(size // 2, size - 2), (0, size // 3)],
             [(100 * i, 100 * i) for i in range(64)]]
    with site.connect() as connection:
        for ranges in lists:
            value = "bytes=" + ",".join(f"{first}-{last}" for first, last in ranges)
            stream = connection.request("GET", path, [("range", value)])
            answer = connection.answer(stream) if site.protocol.http2 else connection.answer()
            expected = [(first, last, size, content[first : last + 1]) for first, last in ranges]
            same = parts_of(answer) == expected
            assert same, value


def test_too_many_ranges(site):
    content = noise(300_000)
    path = site.place("large", content)
    for count in (65, 1000):
        value = "bytes=" + ",".join(f"{200 * i}-{200 * i}" for i in range(count))
        answer = site.fetch(path, fields=[("range", value)])
        assert (answer.status, answer.body == content) == (200, True)


@pytest.mark.parametrize("condition, status", [("{etag}", 206), ('"x"', 200),
                                               (DATE_OF_MODIFIED, 206), (EARLIER, 200)])
def test_if_range_with_several_ranges(site, condition, status):
    path = site.place("a.txt", noise(1000))
    os.utime(site.folder / "a.txt", (MODIFIED, MODIFIED))
    condition = condition.replace("{etag}", site.fetch(path).field("etag"))
    answer = site.fetch(path, fields=[("range", "bytes=0-9,500-509"), ("if-range", condition)])
    assert answer.status == status
    assert len(parts_of(answer)) == 2 if status == 206 else answer.body == noise(1000)


def test_range_means_nothing_for_head(site, page):
    answer = site.fetch(page, "HEAD", [("range", "bytes=0-3")])
    assert (answer.status, answer.field("content-length")) == (200, "10")


IF_RANGE = {
    "same tag": ("{etag}", 206),
    "other tag": ('"x"', 200),
    "weak tag": ("W/{etag}", 200),
    "same date": (DATE_OF_MODIFIED, 206),
    "earlier date": (EARLIER, 200),
    "later date": (LATER, 200),
    "nothing": ("yesterday", 200),
}


@pytest.mark.parametrize("value, status", IF_RANGE.values(), ids=IF_RANGE)
def test_if_range(site, page, value, status):
    etag = site.fetch(page).field("etag")
    condition = ("if-range", value.replace("{etag}", etag))
    answer = site.fetch(page, fields=[("range", "bytes=2-3"), condition])
    assert (answer.status, answer.body) == (status, b"23" if status == 206 else b"0123456789")


def test_condition_goes_before_range(site, page):
    etag = site.fetch(page).field("etag")
    answer = site.fetch(page, fields=[("range", "bytes=2-3"), ("if-none-match", etag)])
    assert answer.status == 304


# --- sizes ---------------------------------------------------------------------------------------

KIB = 1024
SIZES = [0, 1, 2, *(n * KIB + d for n in (8, 16, 64, 128, 256) for d in (-1, 0, 1)), 3_000_000]


def test_sizes_on_one_connection(site):
    contents = {site.place(f"{size}", noise(size, seed=size)): size for size in SIZES}
    with site.connect() as connection:
        for path, size in contents.items():
            stream = connection.request("GET", path)
            answer = connection.answer(stream) if site.protocol.http2 else connection.answer()
            assert (answer.status, answer.field("content-length")) == (200, str(size))
            assert answer.body == noise(size, seed=size), size
