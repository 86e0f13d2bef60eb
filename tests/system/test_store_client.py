"""How the program asks its store: over which connections, with which credentials."""

import os
import threading

import pytest

from support import http1
from support.contents import noise
from support.protocols import PROTOCOLS, fetch
from support.s3 import KEY_ID, SECRET, STORES, serving
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

        wait_until(renewed, "new credentials", 15)
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
            "status 400, ExpiredToken", 60)
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
