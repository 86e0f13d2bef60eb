"""What rules make of what clients send: rewrites, redirects, and the names of open uploads."""

import pytest

from support import named
from support.configured import CLEARTEXT, Configured, free_port
from test_sites import TOKEN

SITE = """
host = "127.0.0.1"

[[listener]]
port = {plain}
h2c = true
[[listener]]
port = {leading}
redirect = true
[[listener]]
port = {encrypted}

[[site]]
root = "www"
self-signed = true
hidden = true
auth = ["/private=users"]
redirect = ["/old/** /new/$1"]
rewrite = ["/new** /folder/$1", "/known** /.well-known/$1", "/v1*/** /folder/$1/$2"]
upload-dir = "uploads"
upload-folders = true
upload-access = "full"
upload-token = "users"
"""
# Printable ASCII that is no space and begins no fragment.
SENDABLE = "".join(chr(c) for c in range(0x21, 0x7f) if chr(c) != "#")


@pytest.fixture(scope="module")
def site():
    ports = {name: free_port() for name in ("plain", "leading", "encrypted")}
    site = Configured(SITE.format(**ports), {
        "www/private/secret.txt": "secret", "www/folder/a.txt": "a", "www/.well-known/x": "x",
        "uploads/inner/a": "a", "users": f"ci:{{SHA256}}{TOKEN}\n"})
    with site:
        site.port, site.leading = ports["plain"], ports["leading"]
        yield site


def ask(site, target, *lines, port=None):
    return named.fetch(port or site.port, "localhost", target, *lines)


def test_rewrites_make_no_dot_segments(site):
    assert ask(site, "/newer/a.txt").status == 404
    assert ask(site, "/new/a.txt").body == b"a"
    assert ask(site, "/v1./a.txt").body == b"a", "a \".\" segment is none"
    for target in ("/new../private/secret.txt", "/new%2e%2e/private/secret.txt",
                   "/known../private/secret.txt", "/v1../private/secret.txt", "/new.."):
        assert ask(site, target).status == 400, target


@pytest.mark.parametrize("start", ["/old/x?a", "/old/x", "/folder?a", "/files/inner?a",
                                   "/files?token=test&a", "to https"])
def test_redirects_escape_what_browsers_send_raw(site, start):
    """RFC 3986, 2: browsers send characters that no URI may have."""
    fields, port = ["Authorization: Bearer test", "Accept: text/html"], site.port
    if start == "to https":
        start, port = "/x?a", site.leading
    if "token" in start:
        fields = fields[1:]
    for c in SENDABLE.replace("?", "").replace("/", "").replace("%", ""):
        answer = ask(site, start + c + "b", *fields, port=port)
        assert 300 <= answer.status < 309, (c, answer)
        location = answer.field("location")
        assert location.endswith((f"a{c}b", f"a%{ord(c):02X}b", f"x{c}b", f"x%{ord(c):02X}b")), c
        assert not set(location) & set("\"<>\\^`{|}")
    assert site.stderr == ""


def test_the_absolute_form_is_led_on_with_its_path(site):
    answer = ask(site, "http://localhost/a/b?c", port=site.leading)
    assert answer.status == 308
    assert answer.field("location").endswith("/a/b?c")


# --- names of open uploads -----------------------------------------------------------------------

UPLOADS = '[[site]]\nroot = "www"\nupload-dir = "uploads"\n'
AREAS = {
    "open": (UPLOADS, 421),
    "WebDAV": (UPLOADS + "webdav = true\n", 421),
    "protected elsewhere": (UPLOADS + 'auth = ["/private=users"]\n', 421),
    "with a token": (UPLOADS + 'upload-access = "full"\nupload-token = "users"\n', 401),
    "with a password": (UPLOADS + 'auth = ["/files=users"]\n', 401),
    "named": (UPLOADS.replace("root", 'host = "evil.example"\nroot'), 200),
}


@pytest.mark.parametrize("area", AREAS)
def test_open_uploads_know_their_names(area):
    """A page of another site may make its name point at this machine."""
    text, status = AREAS[area]
    files = {"www/a.txt": "a", "uploads/a": "a", "users": f"ci:{{SHA256}}{TOKEN}\n"}
    with Configured(CLEARTEXT + text, files) as site:
        asked = {("GET", "/files"), ("GET", "/files/a"), ("PUT", "/files/b"), ("POST", "/uploads")}
        if area == "WebDAV":
            asked |= {("PROPFIND", "/files"), ("DELETE", "/files/a"), ("MOVE", "/files/a")}
        for method, path in asked if status != 200 else [("GET", "/files")]:
            answer = named.fetch(site.port, f"evil.example:{site.port}", path, method=method)
            assert answer.status == status, (method, path)
        if status == 421:
            assert named.fetch(site.port, "evil.example", "/a.txt").body == b"a"
            for name in ("127.0.0.1", "localhost", "[::1]:80", "nas", "nas.local"):
                assert named.fetch(site.port, name, "/files/a").body == b"a", name
        assert sorted(path.name for path in (site.folder / "uploads").iterdir()) == ["a"]
