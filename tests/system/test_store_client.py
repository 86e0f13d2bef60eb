"""How the program asks its store: over which connections, with which credentials."""

import base64
import hashlib
import os
import threading

import pytest

from support import http1
from support.answer import Broken
from support.contents import noise
from support.identity_provider import IdentityProvider
from support.metrics import scrape
from support.protocols import PROTOCOLS, fetch
from support.s3 import KEY_ID, S3, SECRET, STORES, needs_s3, serving
from support.stub_store import Reply, StubStore
from support.tls_front import TlsFront, needs_haproxy
from support.waiting import wait_until

LARGE = noise(30_000_000)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    return monkeypatch


@pytest.fixture
def stub():
    with StubStore() as store:
        yield store


def get(server, path, *fields, method="GET"):
    return fetch(server, PROTOCOLS[0], path, method, fields)


def at_once(count, call):
    """Returns what call(number) returns for each number, on as many threads."""
    results = [None] * count

    def run(number):
        results[number] = call(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# --- connections --------------------------------------------------------------------------------


class Behind:
    """A store with TLS in front of it."""

    def __init__(self, store, front):
        self.url = front.url
        self.put = store.put


@needs_haproxy
@pytest.mark.parametrize("kind", [*STORES, pytest.param(StubStore, id="stub")])
def test_http2(environment, tmp_path, kind):
    """Brief requests share a connection, and bodies have connections of their own: a client that reads
    slowly holds up nobody."""
    with kind() as store, TlsFront(tmp_path, store.url.removeprefix("http://")) as front:
        environment.setenv("AWS_CA_BUNDLE", front.certificate)
        store.put("pre/large", LARGE)
        store.put("pre/x", b"x")
        with serving(Behind(store, front), "upload = true") as server, \
                http1.Connection(server, receive_buffer=4096) as slow:
            slow.request("GET", "/large")
            slow.answer_head()
            heads = at_once(30, lambda _: get(server, "/x", method="HEAD").status)
            assert heads == [200] * 30
            assert get(server, "/nothing/").status == 404  # a list
            assert get(server, "/x").body == b"x"
            done = fetch(server, PROTOCOLS[0], "/files/new", "PUT", body=b"new")
            assert done.status == 201, done
            assert get(server, "/files/new").body == b"new"
        requests = [one for one in front.seen() if "/bucket" in one.path]
        brief = [one for one in requests if one.version == "HTTP/2.0"]
        assert len({one.client_port for one in brief}) <= 2  # of the site and of its uploads
        assert {"HEAD", "GET", "PUT"} <= {one.method for one in brief}
        assert all(one.path.endswith("/bucket/") for one in brief if one.method == "GET")
        bodies = [one for one in requests if one.version == "HTTP/1.1"]
        assert {one.method for one in bodies} == {"GET"}


@needs_haproxy
def test_without_http2(environment, tmp_path, stub):
    with TlsFront(tmp_path, stub.address, protocols="http/1.1") as front:
        environment.setenv("AWS_CA_BUNDLE", front.certificate)
        stub.put("pre/x", b"x")
        with serving(Behind(stub, front)) as server:
            assert at_once(20, lambda _: get(server, "/x", method="HEAD").status) == [200] * 20
            assert get(server, "/x").body == b"x"
        assert {one.version for one in front.seen() if "/bucket" in one.path} == {"HTTP/1.1"}


@needs_haproxy
def test_clients_that_leave_http2(environment, tmp_path, stub):
    """A request whose client leaves is not reset, which could stall others of its connection."""
    with TlsFront(tmp_path, stub.address) as front:
        environment.setenv("AWS_CA_BUNDLE", front.certificate)
        stub.put("pre/x", b"x")
        held = threading.Event()
        stub.script = lambda request: held.wait() and None if request.path.endswith("/y") else None
        with serving(Behind(stub, front)) as server:
            for number in range(5):
                with http1.Connection(server) as leaving:
                    leaving.request("HEAD", "/y")
                    wait_until(lambda: len(stub.seen("HEAD", "pre/y")) > number, "it asks")
            assert at_once(20, lambda _: get(server, "/x", method="HEAD").status) == [200] * 20
            held.set()
            wait_until(lambda: [one.end for one in front.seen() if one.path.endswith("/y")]
                       == ["--"] * 5, "all have come to their end")


# --- credentials --------------------------------------------------------------------------------


@pytest.fixture
def identity(environment, tmp_path, stub):
    """The environment of a pod with a web identity. Yields the stub, which is the STS."""
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "token").write_text("head.secretpayload.sign\n")
    environment.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/reader")
    environment.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    environment.setenv("AWS_ENDPOINT_URL_STS", stub.url)
    return stub


def asked(sts):
    return [one for one in sts.requests if one.method == "POST"]


@pytest.mark.parametrize("kind", STORES)
def test_web_identity(identity, kind):
    with kind() as store:
        store.put("pre/x", b"x")
        with serving(store) as server:
            assert get(server, "/x").body == b"x"
            assert get(server, "/x", method="HEAD").status == 200
    assert len(asked(identity)) == 1
    form = asked(identity)[0].body.decode()
    assert "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader" in form
    assert "WebIdentityToken=head.secretpayload.sign" in form


@needs_s3
def test_web_identity_of_minio(environment, tmp_path):
    """Its STS knows the provider of the token, and the store the session token."""
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    with IdentityProvider(tmp_path) as provider, S3(provider.variables) as store:
        store.put("pre/x", b"x")
        (tmp_path / "token").write_text(provider.token())
        environment.setenv("AWS_ROLE_ARN", provider.role)
        environment.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        environment.setenv("AWS_ENDPOINT_URL", store.url)
        with serving(store, "upload = true") as server:
            assert get(server, "/x").body == b"x"
            assert fetch(server, PROTOCOLS[0], "/files/new", "PUT", body=b"new").status == 201
        (tmp_path / "token").write_text(provider.token()[:-8] + "AAAAAAAA")
        with serving(store, quiet=False) as server:
            assert get(server, "/x").status == 502
            server.wait_for_message("no credentials for the web identity: status 400")


def test_web_identity_is_renewed(identity, tmp_path):
    identity.put("pre/x", b"x")
    identity.lifetime_s = 6
    identity.session_token = "first"
    with serving(identity, quiet=False) as server:
        assert get(server, "/x").body == b"x"
        assert identity.seen("GET", "pre/x")[-1].fields["x-amz-security-token"] == "first"
        (tmp_path / "token").write_text("another.token.of.the.cluster")
        identity.session_token = "second"
        identity.lifetime_s = 3600

        def renewed():
            assert get(server, "/x", method="HEAD").status == 200
            fields = [one.fields for one in identity.seen("GET", "pre/x")]
            get(server, "/x")
            return fields[-1]["x-amz-security-token"] == "second"

        wait_until(renewed, "new credentials")
        assert b"WebIdentityToken=another.token.of.the.cluster" in asked(identity)[-1].body


def test_web_identity_outlives_a_failing_sts(identity):
    identity.put("pre/x", b"x")
    identity.lifetime_s = 40
    identity.session_token = "hidden-token"
    with serving(identity, quiet=False) as server:
        assert get(server, "/x").body == b"x"
        identity.script = lambda request: Reply(
            400, body=b"<ErrorResponse><Error><Code>ExpiredToken</Code><Message>"
                      b"secretpayload is old</Message></Error></ErrorResponse>"
        ) if request.method == "POST" else None
        server.wait_for_message(
            "can't get credentials for the web identity; the earlier ones are still valid: "
            "status 400, ExpiredToken")
        assert get(server, "/x").body == b"x"
        server.stop()
        for secret in ("hidden-token", SECRET, "secretpayload"):
            assert secret not in server.stderr


def test_web_identity_that_is_refused(identity):
    identity.put("pre/x", b"x")
    identity.script = lambda request: Reply(403) if request.method == "POST" else None
    with serving(identity, quiet=False) as server:
        assert get(server, "/x").status == 502
        server.wait_for_message("no credentials for the web identity: status 403")
        identity.script = lambda request: None
        wait_until(lambda: get(server, "/x").status == 200, "it asks again")


# --- checksums ----------------------------------------------------------------------------------


def crc32c(content):
    """As S3 has it in fields. One bit after the other: for a few bytes."""
    total = 0xFFFFFFFF
    for byte in content:
        total ^= byte
        for _ in range(8):
            total = total >> 1 ^ (0x82F63B78 if total & 1 else 0)
    return base64.b64encode((total ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def sha256_text(content):
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def with_admin(store, *lines, **options):
    return serving(store, 'admin = "unix:admin.sock"', *lines, **options)


def corrupt(server):
    return scrape(server.folder / "admin.sock").value(
        "h2server_store_requests_total", op="get", outcome="corrupt")


SMALL = b"123456789"
WRONG = b"123456780"


@pytest.mark.parametrize("fields", [
    {"x_amz_checksum_crc32c": crc32c(SMALL)},
    {"x_amz_checksum_crc32c": crc32c(SMALL), "x_amz_checksum_type": "FULL_OBJECT"},
    {"x_amz_checksum_sha256": sha256_text(SMALL)},
], ids=["crc32c", "full object", "sha256"])
def test_wrong_bytes(stub, fields):
    stub.put("pre/good", SMALL, **fields)
    stub.put("pre/bad", WRONG, **fields)
    with with_admin(stub, quiet=False) as server:
        assert get(server, "/good").body == SMALL
        assert get(server, "/bad").status == 502
        assert get(server, "/bad").status == 502  # it is not kept
        assert corrupt(server) == 2
        server.wait_for_message("the store sent bytes that do not have the checksum")
        stub.put("pre/bad", SMALL, **fields)
        assert get(server, "/bad").body == SMALL


@pytest.mark.parametrize("fields", [
    {},
    {"x_amz_checksum_crc32c": crc32c(SMALL) + "-3"},
    {"x_amz_checksum_crc32c": crc32c(SMALL), "x_amz_checksum_type": "COMPOSITE"},
    {"x_amz_checksum_crc64nvme": "AAAAAAAAAAA="},
], ids=["none", "of parts", "composite", "another"])
def test_checksums_that_say_nothing(stub, fields):
    stub.put("pre/x", WRONG, **fields)
    with with_admin(stub) as server:
        assert get(server, "/x").body == WRONG
        assert corrupt(server) == 0


@pytest.mark.parametrize("name, text_of", [
    ("x_amz_checksum_sha256", sha256_text),
    ("x_amz_checksum_crc32c", lambda _: "AAAAAA=="),
])
def test_wrong_bytes_of_a_large_object(stub, name, text_of):
    """The client gets less than it was promised."""
    stub.put("pre/large", LARGE, **{name: text_of(LARGE[1:] + b"x")})
    with with_admin(stub, quiet=False) as server, http1.Connection(server) as connection:
        connection.request("GET", "/large")
        received = []
        with pytest.raises(Broken):
            received.extend(connection.body_pieces(connection.answer_head()))
        assert len(b"".join(received)) < len(LARGE)
        assert corrupt(server) == 1
        # A part can't be compared with it.
        answer = get(server, "/large", ("range", "bytes=5-9"))
        assert answer.status == 206 and answer.body == LARGE[5:10]


@pytest.mark.parametrize("kind", [*STORES, pytest.param(StubStore, id="stub")])
def test_uploads_have_checksums(kind):
    with kind() as store, with_admin(store, "upload = true") as server:
        assert fetch(server, PROTOCOLS[0], "/files/new", "PUT", body=SMALL).status == 201
        assert get(server, "/files/new").body == SMALL
        assert get(server, "/files/new", method="HEAD").status == 200
        assert corrupt(server) == 0
        assert store.checksum("pre/files/new") == ("crc32c", crc32c(SMALL))


@pytest.mark.parametrize("kind", STORES)
def test_parts_have_the_checksum_of_the_whole(kind):
    with kind() as store, with_admin(store, "upload = true") as server:
        assert fetch(server, PROTOCOLS[0], "/files/large", "PUT", body=LARGE).status == 201
        algorithm, text = store.checksum("pre/files/large")
        assert algorithm == "crc32c" and "-" not in text
        assert get(server, "/files/large").body == LARGE
        assert corrupt(server) == 0


# --- a store that is slow -----------------------------------------------------------------------


class Held:
    """A script for StubStore: the first requests for an object wait."""

    def __init__(self, path, count=1):
        self._path = f"/bucket/pre{path}"
        self._left = count
        self.release = threading.Event()

    def __call__(self, request):
        if request.path == self._path and self._left > 0:
            self._left -= 1
            self.release.wait()


def hedges(server, won):
    return scrape(server.folder / "admin.sock").value("h2server_store_hedges_total", won=won)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_second_request_wins(stub, method):
    stub.put("pre/x", b"x")
    held = stub.script = Held("/x")
    with with_admin(stub, 'store-hedge = "50ms"') as server:
        assert get(server, "/x", method=method).status == 200  # the first one has no answer yet
        assert len(stub.seen(method, "pre/x")) == 2
        held.release.set()
        assert hedges(server, "true") == 1


def test_no_second_request_by_default(stub):
    stub.put("pre/x", b"x")
    held = stub.script = Held("/x")
    with with_admin(stub) as server:
        answers = []
        asking = threading.Thread(target=lambda: answers.append(get(server, "/x").status))
        asking.start()
        wait_until(lambda: len(stub.seen("GET", "pre/x")) == 1, "the request")
        held.release.set()
        asking.join()
        assert answers == [200] and len(stub.seen("GET", "pre/x")) == 1


def test_first_request_wins(stub):
    stub.put("pre/x", b"x")
    held = stub.script = Held("/x", 2)
    with with_admin(stub, 'store-hedge = "50ms"') as server:
        answers = []
        asking = threading.Thread(target=lambda: answers.append(get(server, "/x").body))
        asking.start()
        wait_until(lambda: len(stub.seen("GET", "pre/x")) == 2, "both requests")
        held.release.set()
        asking.join()
        assert answers == [b"x"]
        assert hedges(server, "true") + hedges(server, "false") == 1


def test_second_request_that_fails(stub):
    """The first one is waited for."""
    stub.put("pre/x", b"x")
    held = Held("/x")

    def script(request):
        if len(stub.seen("GET", "pre/x")) == 2:
            held.release.set()
            return Reply(503)
        return held(request)

    stub.script = script
    with with_admin(stub, 'store-hedge = "50ms"') as server:
        assert get(server, "/x").body == b"x"
        assert len(stub.seen("GET", "pre/x")) == 2


def test_retries_are_counted(stub):
    stub.put("pre/x", b"x")
    stub.script = lambda request: Reply(500) if len(stub.requests) == 1 else None
    with with_admin(stub) as server:
        assert get(server, "/x").body == b"x"
        assert scrape(server.folder / "admin.sock").value("h2server_store_retries_total") == 1
