"""Certificates in files: several for a site, OCSP responses, and what happens when they change."""

import json
import re
import socket
import ssl
import subprocess
import urllib.request

import pytest

from support import pairs
from support.authority import Authority, replace
from support.configured import free_port
from support.environment import BINARY, LAST_RESORT_S, tool
from support.server import Server
from support.waiting import wait_until

LIMIT_S = LAST_RESORT_S
# With a process for each connection, none can be told of changes.
RELOADS = ["reuseport", "acceptor", "thread-pool", "thread-per-connection"]
in_one_process = pytest.mark.skipif(bool(pairs.CHOSEN and pairs.CHOSEN.forks),
                                    reason="each connection's process has what it began with")


@pytest.fixture(scope="module", name="authority")
def made_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(name="live")
def live_pair(authority, tmp_path):
    """A pair that tests may replace."""
    return renew(authority, tmp_path / "live.crt", tmp_path / "live.key")


def renew(authority, certificate, key, days=90):
    new_certificate, new_key = authority.issue("new", "localhost", days=days)
    replace(new_certificate, certificate)
    replace(new_key, key)
    return certificate, key


def start(*certificates, **options):
    arguments = [word for certificate, key in certificates
                 for word in ("--cert", certificate, "--key", key)]
    more = options.pop("arguments", [])
    return Server(*arguments, *more, tls=True, self_signed=False, uploads=False, **options)


def s_client(server, *arguments, name="localhost"):
    """Returns what `openssl s_client` prints about a handshake."""
    done = subprocess.run(
        [tool("openssl"), "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", name,
         *map(str, arguments)], input="", text=True, errors="replace", capture_output=True,
        check=False, timeout=LIMIT_S)
    return done.stdout + done.stderr


def context_for(authority, version=ssl.TLSVersion.TLSv1_3):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.maximum_version = version
    return context


def connect(server, context, session=None):
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_S)
    return context.wrap_socket(plain, server_hostname="localhost", session=session)


def ask(connection):
    """Asks for / on a connection that stays open. With the answer come the tickets of TLS 1.3."""
    connection.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head = connection.recv(65536)
    assert head.startswith(b"HTTP/1.1 200 ") and head.endswith(b"\r\n\r\n"), head


def serial_of(connection):
    return int(connection.getpeercert()["serialNumber"], 16)


def present_serial(server, context):
    with connect(server, context) as connection:
        return serial_of(connection)


def serial_in(certificate):
    return int(ssl._ssl._test_decode_cert(str(certificate))["serialNumber"], 16)


def signed_by(told):
    """Returns the kind of the key. OpenSSL 3.0 says "ECDSA" and "RSA-PSS", 3.5 the schemes' names."""
    return re.search(r"Peer signature type: (ecdsa|rsa)", told, re.IGNORECASE)[1].lower()


# --- several ----------------------------------------------------------------------------------


def test_a_client_gets_the_certificate_that_it_supports(authority):
    rsa = authority.issue("rsa", "localhost", kind="rsa")
    ecdsa = authority.issue("ecdsa", "localhost")
    with start(rsa, ecdsa) as server:
        for version in ("-tls1_2", "-tls1_3"):
            assert signed_by(s_client(server, version)) == "ecdsa"
            for only, shown in (("rsa_pss_rsae_sha256", "rsa"), ("ecdsa_secp256r1_sha256", "ecdsa")):
                told = s_client(server, version, "-sigalgs", only, "-CAfile", authority.certificate)
                assert signed_by(told) == shown
                assert "Verify return code: 0 (ok)" in told


def test_a_site_has_its_own(authority, tmp_path):
    names = {}
    for name, kinds in {"a.example": ["rsa", "ecdsa"], "b.example": ["rsa"]}.items():
        names[name] = [authority.issue(f"{name}-{kind}", name, kind=kind) for kind in kinds]
    files = {"cert": 0, "key": 1}
    text = 'host = "127.0.0.1"\nport = 0\n'
    for name, certificates in names.items():
        (tmp_path / name).mkdir()
        text += f'[[site]]\nhost = "{name}"\nroot = "{tmp_path / name}"\n'
        for key, at in files.items():
            text += f"{key} = {json.dumps([str(pair[at]) for pair in certificates])}\n"
    (tmp_path / "site.toml").write_text(text)
    done = subprocess.run([BINARY, "check", "--config", tmp_path / "site.toml"], text=True,
                          capture_output=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (0, "")
    server = Server(tls=True, self_signed=False, uploads=False)
    server.command = [BINARY, "--config", tmp_path / "site.toml"]
    with server:
        assert signed_by(s_client(server, name="a.example")) == "ecdsa"
        told = s_client(server, "-sigalgs", "rsa_pss_rsae_sha256", name="a.example")
        assert signed_by(told) == "rsa" and re.search("CN ?= ?a.example", told)
        assert signed_by(s_client(server, name="b.example")) == "rsa"


@pytest.mark.parametrize("extra, named", [
    (["--cert", "rsa.crt"], "--key"),
    (["--key", "rsa.key"], "--cert"),
    (["--cert", "second.crt", "--key", "second.key"], "second.crt"),
    (["--cert", "rsa.crt", "--key", "second.key"], "rsa.crt"),
    (["--cert", "rsa.crt", "--key", "gone.key"], "gone.key"),
    (["--cert", "gone.crt", "--key", "rsa.key"], "gone.crt"),
    (["--ocsp", "gone.ocsp"], "gone.ocsp"),
    (["--ocsp", "rsa.key"], "rsa.key"),
    (["--ocsp", "a", "--ocsp", "b"], "--ocsp"),
    (["--cert", "rsa.crt", "--key", "rsa.key", "--self-signed"], "--self-signed"),
])
@pytest.mark.parametrize("command", [["check"], []], ids=["check", "start"])
def test_problems_name_the_file(authority, command, extra, named):
    authority.issue("rsa", "localhost", kind="rsa")
    authority.issue("first", "localhost")
    authority.issue("second", "localhost")
    (authority.folder / "www").mkdir(exist_ok=True)
    done = subprocess.run([BINARY, *command, "--port", "0", "--cert", "first.crt", "--key",
                           "first.key", *extra, "www"], cwd=authority.folder, text=True,
                          capture_output=True, check=False, timeout=LIMIT_S)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("h2server: ") and named in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


# --- OCSP ---------------------------------------------------------------------------------------


def test_ocsp_responses_go_to_clients_that_ask(authority, live):
    response = live[0].with_suffix(".ocsp")
    authority.respond(live[0], response)
    with start(live, arguments=["--ocsp", response]) as server:
        for version in ("-tls1_2", "-tls1_3"):
            told = s_client(server, version, "-status", "-CAfile", authority.certificate)
            assert "OCSP Response Status: successful (0x0)" in told
            assert "Cert Status: good" in told
            assert "OCSP" not in s_client(server, version)


@in_one_process
def test_a_response_that_comes_later_is_used(authority, live):
    response = live[0].with_suffix(".ocsp")
    other, _ = authority.issue("other", "localhost")
    authority.respond(other, response)
    with start(live, arguments=["--ocsp", response], quiet=False) as server:
        assert f"the OCSP response {response} is about another certificate" in server.stderr
        assert "OCSP response: no response sent" in s_client(server, "-status")
        authority.respond(live[0], response)
        wait_until(lambda: "Cert Status: good" in s_client(server, "-status"), "it is loaded")


# --- when they change -----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", RELOADS)
def test_connections_outlive_a_renewal(authority, live, scheme):
    context = context_for(authority)
    with start(live, arguments=["--scheme", scheme], quiet=False) as server:
        with connect(server, context) as old:
            before = serial_of(old)
            assert before == serial_in(live[0])
            ask(old)
            renew(authority, *live)
            after = serial_in(live[0])
            wait_until(lambda: present_serial(server, context) == after, "it is loaded")
            ask(old)
            assert serial_of(old) == before
        server.wait_for_message(f"loaded the certificate {live[0]}")
        assert "error" not in server.stderr


@in_one_process
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3],
                         ids=["tls1.2", "tls1.3"])
def test_sessions_outlive_a_renewal(authority, live, version):
    context = context_for(authority, version)
    with start(live, quiet=False) as server:
        with connect(server, context) as first:
            ask(first)
            session = first.session
        renew(authority, *live)
        after = serial_in(live[0])
        wait_until(lambda: present_serial(server, context) == after, "it is loaded")
        with connect(server, context, session) as second:
            assert second.session_reused
            ask(second)


@in_one_process
def test_the_old_one_stays_if_the_new_one_is_bad(authority, live):
    context = context_for(authority)
    with start(live, quiet=False) as server:
        before = present_serial(server, context)
        live[0].write_text("no certificate")
        server.wait_for_message("the changed certificates are not used")
        server.wait_for_message(str(live[0]))
        assert present_serial(server, context) == before
        renew(authority, *live)
        after = serial_in(live[0])
        wait_until(lambda: present_serial(server, context) == after, "it is loaded")


@in_one_process
def test_links_of_acme_clients_are_followed(authority, live, tmp_path):
    context = context_for(authority)
    (tmp_path / "archive").mkdir()
    (tmp_path / "current").mkdir()
    links = tmp_path / "current/cert.pem", tmp_path / "current/key.pem"
    for number in (1, 2):
        renew(authority, tmp_path / f"archive/cert{number}.pem",
              tmp_path / f"archive/key{number}.pem")
    for link, name in zip(links, ("cert", "key")):
        link.symlink_to(f"../archive/{name}1.pem")
    with start(links, quiet=False) as server:
        assert present_serial(server, context) == serial_in(tmp_path / "archive/cert1.pem")
        for link, name in zip(links, ("cert", "key")):
            new = link.with_suffix(".new")
            new.symlink_to(f"../archive/{name}2.pem")
            new.rename(link)
        after = serial_in(tmp_path / "archive/cert2.pem")
        wait_until(lambda: present_serial(server, context) == after, "it is loaded")


@in_one_process
def test_the_status_has_the_new_days_at_once(authority, live):
    admin = free_port()
    arguments = ["--admin", f"127.0.0.1:{admin}"]
    with start(live, arguments=arguments, quiet=False) as server:
        assert days_left(admin) in ([89], [90])
        renew(authority, *live, days=300)
        wait_until(lambda: "loaded the certificate" in server.stderr, "it is loaded")
        wait_until(lambda: days_left(admin) in ([299], [300]), "it is told")


def days_left(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/status.json", timeout=LIMIT_S) as answer:
        return [row["days_left"] for row in json.load(answer)["certificates"]]


# --- challenges of ACME ---------------------------------------------------------------------------


def test_no_client_may_offer_the_protocol_of_challenges_alone(authority, live):
    with start(live) as server:
        told = s_client(server, "-alpn", "acme-tls/1")
        assert "no peer certificate available" in told
        assert "alert number 120" in told  # no_application_protocol
        assert "ALPN protocol: h2" in s_client(server, "-alpn", "acme-tls/1,h2")
