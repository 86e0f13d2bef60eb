"""Who may use the upload area: tokens, their rights and quotas."""

import base64
import concurrent.futures
import hashlib
import re
import struct
import subprocess

import pytest

from support import named
from support.configured import CLEARTEXT, Configured
from support.contents import form, form_type
from support.environment import BINARY, LAST_RESORT_S, tool
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

H1, H1_TLS = PROTOCOLS[:2]

_SHOWN = re.compile(r"/files\?token=([a-z2-9]{32})\s*$", re.MULTILINE)
BROWSER = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8")


def shown_token(server):
    """The token in the URL that the server printed; None if it printed none."""
    found = _SHOWN.search(server.stdout)
    return found and found[1]


def bearer(token):
    return ("authorization", f"Bearer {token}")


def basic(token):
    return ("authorization", "Basic " + base64.b64encode(f"me:{token}".encode()).decode())


class Area:
    """The upload area of a server, over one protocol."""

    def __init__(self, server, protocol):
        self.server = server
        self.protocol = protocol
        self.token = shown_token(server)

    def fetch(self, path, *fields, method="GET", body=b""):
        return fetch(self.server, self.protocol, path, method, fields, body)

    def upload(self, name, *fields, content=b"content", query=""):
        return self.fetch("/files" + query, form_type(), *fields, method="POST",
                          body=form((name, content))).status


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    """The state directory of the servers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def area_of():
    """area_of(mode, ...): returns the Area of a new server over HTTP/1.1."""
    servers = []

    def begin(*arguments, protocol=H1, **options):
        server = Server(*arguments, tls=protocol.tls, **options).__enter__()
        servers.append(server)
        return Area(server, protocol)

    yield begin
    for server in servers:
        server.__exit__(None)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
@pytest.mark.parametrize("mode, lists, reads, uploads", [
    ("drop", False, 403, 201),
    ("read", True, 200, 403),
    ("full", True, 200, 201),
])
def test_modes(area_of, protocol, mode, lists, reads, uploads):
    area = area_of("--upload-access", mode, protocol=protocol)
    (area.server.uploads / "earlier.bin").write_bytes(b"old")
    assert area.fetch("/files").status == 401
    assert area.fetch("/files/earlier.bin").status == 401
    assert area.upload("new") == 401
    for credentials in (bearer(area.token), basic(area.token)):
        page = area.fetch("/files", credentials)
        assert (page.status, b"earlier.bin" in page.body) == (200, lists)
        assert area.fetch("/files/earlier.bin", credentials).status == reads
    assert area.upload("new", bearer(area.token)) == uploads
    assert area.server.uploaded() == (
        ["earlier.bin", "new"] if uploads == 201 else ["earlier.bin"])
    assert area.fetch("/").status != 401, "the rest of the site is open"


def test_open_asks_for_nothing(area_of):
    area = area_of("--upload-access", "open")
    assert area.token is None
    assert area.upload("a") == 201
    assert area.fetch("/files/a").body == b"content"


@pytest.mark.parametrize("protocol", [H1, H1_TLS], ids=name_of)
def test_a_browser_gets_a_cookie(area_of, protocol):
    area = area_of("--upload-access", "full", protocol=protocol)
    entered = area.fetch(f"/files?token={area.token}", BROWSER)
    assert entered.status == 303
    assert entered.field("location") == "/files"
    cookie, *attributes = entered.field("set-cookie").split("; ")
    assert cookie == f"h2server_upload={area.token}"
    expected = ["Path=/", "HttpOnly", "SameSite=Strict"] + (["Secure"] if protocol.tls else [])
    assert sorted(attributes) == sorted(expected)
    assert area.fetch("/files", BROWSER, ("cookie", cookie)).status == 200
    assert area.upload("a", ("cookie", cookie), ("sec-fetch-site", "same-origin")) == 201
    assert area.upload("b", ("cookie", cookie), ("sec-fetch-site", "cross-site")) == 401
    assert area.upload("b", ("cookie", cookie), ("origin", "https://evil.example")) == 401
    assert area.server.uploaded() == ["a"]


def test_a_browser_without_a_token_is_asked_for_it(area_of):
    area = area_of("--upload-access", "drop")
    page = area.fetch("/files", BROWSER)
    assert page.status == 401
    assert b'name="token"' in page.body
    assert "Basic" not in page.field("www-authenticate"), "a dialogue would hide the page"
    assert b"multipart/form-data" in area.fetch(
        "/files", BROWSER, ("cookie", f"h2server_upload={area.token}")).body


def test_the_printed_url_works_with_curl(area_of, tmp_path):
    area = area_of("--upload-access", "full")
    (tmp_path / "a").write_bytes(b"content")
    url = f"{area.server.url}files?token={area.token}"
    done = subprocess.run([tool("curl"), "-sS", "-f", "-F", f"file=@{tmp_path / 'a'}", url],
                          capture_output=True, check=True)
    assert b'"a"' in done.stdout
    got = subprocess.run([tool("curl"), "-sS", "-f", f"{area.server.url}files/a?token={area.token}"],
                         capture_output=True, check=True)
    assert got.stdout == b"content"


def test_each_run_has_another_token(area_of):
    area = area_of("--upload-access", "full")
    area.server.stop()
    area.server.start()
    assert shown_token(area.server) not in (None, area.token)
    assert area.fetch("/files", bearer(area.token)).status == 401


def test_a_file_keeps_the_token(area_of, tmp_path):
    file = tmp_path / "tokens"
    area = area_of("--upload-access", "full", "--upload-token", str(file))
    assert area.token not in file.read_text()
    assert hashlib.sha256(area.token.encode()).hexdigest() in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    area.server.stop()
    area.server.start()
    assert shown_token(area.server) is None, "only its digest is kept"
    assert area.fetch("/files", bearer(area.token)).status == 200


def test_two_sites_share_a_file_that_is_made(tmp_path):
    site = ('[[site]]\nhost = "{0}.example"\nroot = "{0}"\nupload-dir = "up-{0}"\n'
            'upload-access = "full"\nupload-token = "tokens"\n')
    files = {"a/x": "", "b/x": ""}
    with Configured(CLEARTEXT + site.format("a") + site.format("b"), files) as server:
        shown = set(re.findall(r"token +(\w+) for uploads", server.stdout))
        assert len(shown) == 1
        field = f"Authorization: Bearer {shown.pop()}"
        for host in ("a.example", "b.example"):
            assert named.fetch(server.port, host, "/files", field).status == 200
            assert named.fetch(server.port, host, "/files").status == 401


def test_a_file_of_several_tokens(area_of, tmp_path):
    file = tmp_path / "tokens"
    lines = [f"{name}:{{SHA256}}{hashlib.sha256(name.encode()).hexdigest()}{rest}\n"
             for name, rest in (("ada", ":drop"), ("bob", ":read"), ("eve", ":full:10"))]
    file.write_text("# three\n" + "".join(lines))
    area = area_of("--upload-access", "full", "--upload-token", str(file))
    assert area.upload("a", bearer("ada")) == 201
    assert area.fetch("/files/a", bearer("ada")).status == 403
    assert area.fetch("/files/a", bearer("bob")).status == 200
    assert area.upload("b", bearer("bob")) == 403
    assert area.upload("b", bearer("eve"), content=b"0" * 100) == 413
    assert area.server.uploaded() == ["a"]


def test_a_quota_counts_in_all_runs(area_of, tmp_path):
    area = area_of("--upload-access", "full", "--upload-token", str(tmp_path / "tokens"),
                   "--upload-quota", "1000")
    assert area.upload("a", bearer(area.token), content=b"0" * 600) == 201
    assert area.upload("b", bearer(area.token), content=b"0" * 600) == 413
    area.server.stop()
    area.server.start()
    assert area.upload("b", bearer(area.token), content=b"0" * 600) == 413
    assert area.upload("c", bearer(area.token), content=b"0" * 10) == 201
    assert area.server.uploaded() == ["a", "c"]


def test_copies_count_for_a_quota(area_of):
    area = area_of("--upload-access", "full", "--upload-quota", "1000", "--upload-max", "500",
                   "--webdav")
    token = bearer(area.token)

    def copy(target, *fields, source="a"):
        return area.fetch(f"/files/{source}", token, ("destination", f"/files/{target}"), *fields,
                          method="COPY").status

    def put(name, size):
        return area.fetch(f"/files/{name}", token, method="PUT", body=b"0" * size).status

    (area.server.uploads / "large").write_bytes(b"0" * 501)
    assert copy("b", source="large") == 413, "more than --upload-max, which does not count"
    assert put("a", 400) == 201
    assert copy("b") == 201
    assert copy("b", ("overwrite", "F")) == 412
    assert copy("c") == 413
    assert put("d", 200) == 201
    assert put("e", 1) == 413
    assert area.server.uploaded() == ["a", "b", "d", "large"]


TUS = ("tus-resumable", "1.0.0")


def stored_bytes(server):
    return sum(path.stat().st_size for path in server.uploads.iterdir()
               if not path.name.endswith(".info"))


def test_fields_of_another_protocol_lead_around_no_quota(area_of):
    area = area_of("--upload-access", "full", "--upload-quota", "1000")
    token = bearer(area.token)
    assert area.fetch("/files/a", token, method="PUT", body=b"0" * 900).status == 201
    complete, begun = ("upload-complete", "?1"), ("upload-complete", "?0")
    for fields in ([complete, TUS, ("upload-concat", "final;x")], [begun, TUS],
                   [complete, ("upload-length", "0")], [complete, ("upload-length", "0"), TUS],
                   [TUS, ("upload-concat", "final;x")], [TUS, ("upload-length", "0")]):
        answer = area.fetch("/files/b", token, *fields, method="PUT", body=b"0" * 900)
        assert answer.status in (400, 411, 413), fields
    assert stored_bytes(area.server) == 900


def test_an_upload_counts_once(area_of):
    area = area_of("--upload-access", "full", "--upload-quota", "1000")
    token = bearer(area.token)
    body = ("content-type", "application/offset+octet-stream")
    created = area.fetch("/uploads", token, TUS, ("upload-length", "600"), method="POST")
    assert created.status == 201
    sent = area.fetch(created.field("location"), token, TUS, body, ("upload-offset", "0"),
                      ("x-http-method-override", "PATCH"), method="POST", body=b"0" * 600)
    assert sent.status == 204
    draft = area.fetch("/files/b", token, ("upload-complete", "?0"), ("upload-length", "400"),
                       method="PUT", body=b"0" * 300)
    assert draft.status == 201
    rest = area.fetch(draft.field("location"), token, ("upload-complete", "?1"),
                      ("upload-length", "400"), ("upload-offset", "300"),
                      ("content-type", "application/partial-upload"),
                      method="PATCH", body=b"0" * 100)
    assert rest.status == 201
    assert stored_bytes(area.server) == 1000


def test_parts_are_joined_once(area_of):
    """Many joins of the same parts at the same time."""
    area = area_of("--upload-access", "drop", "--upload-quota", "1MB")
    token = bearer(area.token)
    body = ("content-type", "application/offset+octet-stream")
    for attempt in range(3):
        parts = [area.fetch("/uploads", token, TUS, body, ("upload-concat", "partial"),
                            ("upload-length", "10000"), method="POST",
                            body=b"0" * 10000).field("location") for _ in range(20)]

        def join(number, parts=parts, attempt=attempt):
            name = base64.b64encode(f"whole {attempt} {number}".encode()).decode()
            return area.fetch("/uploads", token, TUS, ("upload-concat", "final;" + " ".join(parts)),
                              ("upload-metadata", f"filename {name}"), method="POST")

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = [answer.status for answer in pool.map(join, range(8))]
        assert statuses.count(201) == 1, statuses
        assert set(statuses) <= {201, 400, 423}, statuses
    assert stored_bytes(area.server) == 3 * 200_000


def test_a_length_that_comes_later_counts(area_of, tmp_path):
    """Of an upload that another token, without a quota, has begun."""
    file = tmp_path / "tokens"
    lines = [f"{name}:{{SHA256}}{hashlib.sha256(name.encode()).hexdigest()}:full{quota}\n"
             for name, quota in (("ada", ""), ("bob", ":100"))]
    file.write_text("".join(lines))
    area = area_of("--upload-access", "full", "--upload-token", str(file))
    ada, bob = bearer("ada"), bearer("bob")
    body = ("content-type", "application/offset+octet-stream")
    created = area.fetch("/uploads", ada, TUS, ("upload-defer-length", "1"), method="POST")
    url = created.field("location")
    for length, status in ((101, 413), (99, 204)):
        sent = area.fetch(url, bob, TUS, body, ("upload-offset", "0"),
                          ("upload-length", str(length)), method="PATCH", body=b"0" * 99)
        assert sent.status == status
    assert area.fetch("/files/b", bob, method="PUT", body=b"00").status == 413
    assert area.fetch("/files/b", bob, method="PUT", body=b"0").status == 201


def test_a_quota_that_can_not_be_counted_is_refused(tmp_path):
    """The file has the digests of a thousand other tokens."""
    folder = tmp_path / "state" / "h2server"
    folder.mkdir(parents=True)
    slots = b"".join(struct.pack("<32sQ", number.to_bytes(32, "big"), 0)
                     for number in range(1, 1001))
    (folder / "upload-usage").write_bytes(b"H2USAGE1" + slots)
    with Server("--upload-access", "full", "--upload-token", str(tmp_path / "tokens"),
                "--upload-quota", "1000", quiet=False) as server:
        area = Area(server, H1)
        assert "has no place for another token, after 1000: first can" in server.stderr
        assert area.fetch("/files/a", bearer(area.token), method="PUT", body=b"a").status == 413
        assert area.fetch("/files", bearer(area.token)).status == 200


@pytest.mark.parametrize("text", ["me:secret\n", "", "me:{SHA256}12\n"])
def test_a_wrong_file_is_refused(tmp_path, text):
    (tmp_path / "tokens").write_text(text)
    server = Server("--upload-access", "full", "--upload-token", str(tmp_path / "tokens"))
    with pytest.raises(AssertionError, match="tokens:1: "), server:
        pass


def test_passwords_of_the_files_cover_resumable_uploads(area_of, tmp_path):
    users = tmp_path / "users"
    users.write_text("ci:{SHA256}" + hashlib.sha256(b"secret").hexdigest() + "\n")
    area = area_of("--auth", f"/files={users}")
    create = [("tus-resumable", "1.0.0"), ("upload-length", "1")]
    for path in ("/uploads", "//uploads", "/uploads/0123456789abcdef0123456789abcdef"):
        assert fetch(area.server, H1, path, "POST", create).status == 401, path
    assert fetch(area.server, H1, "/files/a", "PUT", body=b"a").status == 401
    created = fetch(area.server, H1, "/uploads", "POST", [*create, bearer("secret")])
    assert created.status == 201
    assert fetch(area.server, H1, created.field("location"), "DELETE",
                 [create[0], bearer("secret")]).status == 204
    root = tmp_path / "root"
    root.mkdir()
    refused = subprocess.run([BINARY, "--auth", f"/files/inner={users}",
                              "--upload-dir", tmp_path / "up", "--port", "0", root],
                             capture_output=True, text=True, timeout=LAST_RESORT_S, check=False)
    assert refused.returncode == 2
    assert "protects a part of the uploads" in refused.stderr
