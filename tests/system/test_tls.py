"""TLS, mostly through `openssl s_client`: ALPN, versions, ciphers, sessions, alerts."""

import contextlib
import json
import os
import socket
import ssl
import subprocess

import pytest

from support import http1, pairs, sockets
from support.configured import free_port
from support.environment import LAST_RESORT_S, tool
from support.metrics import scrape
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server
from support.waiting import wait_until

REQUEST = b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
H1_TLS, H2_TLS = PROTOCOLS[1], PROTOCOLS[3]


@pytest.fixture(scope="module")
def server():
    with Server(tls=True, workers=2) as started:
        (started.root / "page").write_bytes(b"the page")
        yield started


@pytest.fixture(scope="module")
def server_of():
    """server_of(pair): returns the module's server with that scheme and engine."""
    servers = {}
    with contextlib.ExitStack() as stack:

        def get(pair):
            if pair not in servers:
                servers[pair] = stack.enter_context(Server(tls=True, pair=pair, workers=3))
                (servers[pair].root / "page").write_bytes(b"the page")
            return servers[pair]

        yield get


def s_client(server, *arguments, send=b""):
    """Returns the output of `openssl s_client`, which trusts only the server's certificate."""
    done = subprocess.run(
        [tool("openssl"), "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile",
         server.certificate, "-verify_return_error", *arguments],
        input=send, capture_output=True, check=False, timeout=LAST_RESORT_S)
    return (done.stdout + done.stderr).decode(errors="replace")


# --- ALPN ----------------------------------------------------------------------------------------

CHOSEN = {
    "h2": "h2",
    "http/1.1": "http/1.1",
    "h2,http/1.1": "h2",
    "http/1.1,h2": "h2",
    "foo,http/1.1": "http/1.1",
    "http/1.0,h2": "h2",
}


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("offered, chosen", CHOSEN.items())
def test_protocol_is_chosen(server, offered, chosen, version):
    printed = s_client(server, version, "-alpn", offered)
    assert f"ALPN protocol: {chosen}\n" in printed
    assert "Verify return code: 0 (ok)" in printed or "Verification: OK" in printed


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("offered", ["foo", "http/1.0", "h2c", "h", "spdy/3.1,h2-14"])
def test_no_protocol_in_common(server, offered, version):
    printed = s_client(server, version, "-alpn", offered)
    assert "alert no application protocol" in printed and "SSL alert number 120" in printed


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_without_alpn_it_is_http1(server, version):
    printed = s_client(server, version, "-ign_eof", send=REQUEST)
    assert "No ALPN negotiated" in printed
    assert "HTTP/1.1 200 OK" in printed and "the page" in printed


def test_http2_on_http1(server):
    """After ALPN chose HTTP/1.1, the HTTP/2 preface is an unsupported version."""
    printed = s_client(server, "-alpn", "http/1.1", "-ign_eof", "-quiet",
                       send=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
    assert "HTTP/1.1 505" in printed


def test_http1_on_http2(server):
    """After ALPN chose HTTP/2, a request line gets no response."""
    printed = s_client(server, "-alpn", "h2", "-ign_eof", "-quiet", send=REQUEST)
    assert "the page" not in printed


# --- versions and ciphers ------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions(server, version):
    printed = s_client(server, version, "-cipher", "ALL:@SECLEVEL=0")
    assert "alert protocol version" in printed
    assert "New, TLS" not in printed


AEAD = ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]
WEAK = ["ECDHE-{0}-AES128-SHA256", "ECDHE-{0}-AES256-SHA384", "ECDHE-{0}-AES128-SHA",
        "ECDHE-{0}-AES256-SHA", "ECDHE-{0}-AES128-CCM", "ECDHE-{0}-NULL-SHA",
        "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES128-SHA",
        "DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-CHACHA20-POLY1305", "ADH-AES128-GCM-SHA256",
        "PSK-AES128-GCM-SHA256"]


@pytest.fixture(scope="module", params=["EC", "RSA"])
def keyed_server(request):
    """A server with an ECDSA or an RSA key: the cipher suites depend on it."""
    kind = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if request.param == "EC" else ["rsa:2048"]
    started = Server(tls=True)
    started.key_kind = "ECDSA" if request.param == "EC" else "RSA"
    started.key.parent.mkdir()
    subprocess.run([tool("openssl"), "req", "-x509", "-newkey", *kind, "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", started.key, "-out", started.certificate],
                   check=True, capture_output=True)
    with started:
        yield started


@pytest.mark.parametrize("name", AEAD)
def test_strong_ciphers(keyed_server, name):
    cipher = f"ECDHE-{keyed_server.key_kind}-{name}"
    printed = s_client(keyed_server, "-tls1_2", "-cipher", cipher)
    assert f"New, TLSv1.2, Cipher is {cipher}" in printed


@pytest.mark.parametrize("name", WEAK)
def test_weak_ciphers(keyed_server, name):
    cipher = name.format(keyed_server.key_kind) + ":@SECLEVEL=0"
    printed = s_client(keyed_server, "-tls1_2", "-cipher", cipher)
    assert "Cipher is (NONE)" in printed or "no cipher match" in printed or \
        "no ciphers available" in printed
    assert "New, TLSv1.2" not in printed


# --- groups of the key exchange ------------------------------------------------------------------

# Python's OpenSSL is the server's.
HYBRID = ssl.OPENSSL_VERSION_INFO >= (3, 5)
GROUPS = {"P-256": "secp256r1", "P-384": "secp384r1", "P-521": "secp521r1", "X25519": "x25519",
          **({"X25519MLKEM768": "X25519MLKEM768"} if HYBRID else {})}


in_one_process = pytest.mark.skipif(bool(pairs.CHOSEN and pairs.CHOSEN.forks),
                                    reason="--access-log and --admin need one process")


@pytest.fixture(scope="module")
def observed():
    started = Server(tls=True)
    started.log = started.root.parent / "access.log"
    started.admin = free_port()
    started.command += ["--access-log", started.log, "--log-format", "json",
                        "--admin", f"127.0.0.1:{started.admin}"]
    with started:
        yield started


def groups_of(server, count):
    """Returns the groups in the log once it has that many lines."""
    wait_until(lambda: server.log.read_text().count("\n") >= count, f"{count} lines are written")
    return [json.loads(line).get("tls.curve") for line in server.log.read_text().splitlines()]


def exchanges(server, name):
    return scrape(server.admin).value("h2server_tls_key_exchanges_total", group=name)


# TLS 1.2 takes a client that has the group of the certificate's key (RFC 8422, 5.1), and no hybrid one.
@in_one_process
@pytest.mark.parametrize("version, offered", [("-tls1_2", "P-256"),
                                              *(("-tls1_3", offered) for offered in GROUPS)])
def test_group_is_logged_and_counted(observed, version, offered):
    name = GROUPS[offered]
    counted = name if name != "secp521r1" else "other"
    lines, before = observed.log.read_text().count("\n"), exchanges(observed, counted)
    assert "HTTP/1.1 404" in s_client(observed, version, "-groups", offered, "-ign_eof", send=REQUEST)
    assert groups_of(observed, lines + 1)[lines:] == [name]
    assert exchanges(observed, counted) == before + 1


@in_one_process
def test_preferred_group(observed):
    """OpenSSL's client offers X25519MLKEM768 first since 3.5, the version that brought it."""
    lines = observed.log.read_text().count("\n")
    s_client(observed, "-ign_eof", send=REQUEST)
    assert groups_of(observed, lines + 1)[lines:] == ["X25519MLKEM768" if HYBRID else "x25519"]


# --- sessions, renegotiation, early data ---------------------------------------------------------


def first_session(server, version, file):
    printed = s_client(server, version, "-sess_out", file, "-ign_eof", send=REQUEST)
    assert "New, TLS" in printed and "the page" in printed
    return printed


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("pair", pairs.PAIRS, ids=name_of)
def test_every_thread_and_process_resumes_sessions(server_of, pair, version, tmp_path):
    server = server_of(pair)
    file = tmp_path / "session"
    first_session(server, version, file)
    for _ in range(4):
        printed = s_client(server, version, "-sess_in", file, "-ign_eof", send=REQUEST)
        assert "Reused, TLS" in printed and "the page" in printed


def test_early_data_is_not_accepted(server, tmp_path):
    """Early data can be replayed."""
    file = tmp_path / "session"
    printed = first_session(server, "-tls1_3", file)
    assert "Max Early Data: 0" in printed
    (tmp_path / "request").write_bytes(REQUEST)
    printed = s_client(server, "-tls1_3", "-sess_in", file, "-early_data", tmp_path / "request")
    assert "Early data was accepted" not in printed
    assert "Early data was not sent" in printed or "Early data was rejected" in printed


def test_renegotiation_is_refused(server):
    """In s_client, `R` requests renegotiation (TLS 1.2)."""
    printed = s_client(server, "-tls1_2", send=b"R\n")
    assert "RENEGOTIATING" in printed
    assert "no renegotiation" in printed
    assert fetch(server, H1_TLS, "/page").body == b"the page"


def test_keys_are_updated(server):
    """In s_client, `K` updates the client's key and requests the server's update (TLS 1.3)."""
    command = [tool("openssl"), "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, bufsize=0) as client:
        for _ in range(3):
            client.stdin.write(b"K\n")
            read_until(client, b"KEYUPDATE")
        client.stdin.write(REQUEST)
        read_until(client, b"the page")
        client.kill()


def read_until(client, text):
    seen = b""
    while text not in seen:
        piece = client.stdout.read(4096)
        assert piece, seen
        seen += piece


def test_no_compression(server):
    assert "Compression: NONE" in s_client(server, "-tls1_2", "-comp")


# --- the certificate -----------------------------------------------------------------------------


def openssl(*arguments):
    subprocess.run([tool("openssl"), *arguments], check=True, capture_output=True)


def test_certificate_chain(tmp_path):
    """The file holds the certificate and its intermediates, up to a root that the client trusts."""
    key_options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    signs = "keyUsage=critical,keyCertSign"
    for name, issuer, extension in (("root", None, signs), ("middle", "root", signs),
                                    ("leaf", "middle", "keyUsage=critical,digitalSignature")):
        files = ["-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.crt"]
        signed = [] if issuer is None else ["-CA", tmp_path / f"{issuer}.crt",
                                            "-CAkey", tmp_path / f"{issuer}.key"]
        openssl("req", "-x509", *key_options, "-days", "2", "-subj", f"/CN={name}", *signed,
                "-addext", extension, "-addext", "subjectAltName=DNS:localhost", *files)
    chain = (tmp_path / "leaf.crt").read_bytes() + (tmp_path / "middle.crt").read_bytes()
    (tmp_path / "chain.crt").write_bytes(chain)
    arguments = ["--cert", tmp_path / "chain.crt", "--key", tmp_path / "leaf.key"]
    with Server(*arguments, tls=True, self_signed=False) as server:
        context = ssl.create_default_context(cafile=tmp_path / "root.crt")
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            context.wrap_socket(connection, server_hostname="localhost").close()


# --- endings -------------------------------------------------------------------------------------


def test_close_notify(server):
    """close_notify distinguishes the end of a response from a truncated connection."""
    with http1.Connection(server) as connection:
        connection.socket.suppress_ragged_eofs = False
        connection.send(REQUEST)
        received = b""
        while piece := connection.socket.recv(65536):  # SSLEOFError: without close_notify
            received += piece
        assert received.endswith(b"the page")


NO_HANDSHAKE = {
    "a request without TLS": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "zeros": b"\0" * 1000,
    "a record of the wrong type": b"\x17\x03\x03\x00\x05hello",
    "a record that is too long": b"\x16\x03\x01\xff\xff" + b"\1" * 70_000,
    "SSL 2.0": b"\x80\x2c\x01\x00\x02" + b"\0" * 41,
}


@pytest.mark.parametrize("data", NO_HANDSHAKE.values(), ids=NO_HANDSHAKE)
def test_what_is_no_handshake(server, data):
    """The connection is closed promptly."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT_S) as connection:
        try:
            connection.sendall(data)
            while connection.recv(65536):
                pass
        except ConnectionError:
            pass
    assert fetch(server, H2_TLS, "/page").body == b"the page"


MORE = b"x" * 300_000  # unread input: close() would then send a reset
LAST_WORDS = {
    "a request without TLS": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 400 "),
    "a record of the wrong type": (b"\x17\x03\x03\x00\x05hello", b"\x15\x03"),
    "a record that is too long": (b"\x16\x03\x01\xff\xff", b"\x15\x03"),
}


@pytest.mark.parametrize("pair", pairs.PAIRS, ids=name_of)
@pytest.mark.parametrize("data, answer", LAST_WORDS.values(), ids=LAST_WORDS)
def test_last_words_arrive(server_of, pair, data, answer):
    """The server's last bytes arrive even if the client sends much before it reads."""
    server = server_of(pair)
    with socket.create_connection(("127.0.0.1", server.port), timeout=LAST_RESORT_S) as connection:
        connection.sendall(data + MORE)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        assert received.startswith(answer)


@pytest.mark.parametrize("pair", pairs.PAIRS, ids=name_of)
def test_alert_for_a_record_that_was_changed(server_of, pair):
    with sockets.connect(server_of(pair)) as connection:
        raw = socket.socket(fileno=os.dup(connection.fileno()))
        with raw:
            raw.sendall(b"\x17\x03\x03\x00\x20" + b"y" * 32 + MORE)
        with pytest.raises(ssl.SSLError, match="(?i)bad record mac"):
            connection.recv(1)


def test_tls_on_a_port_without(tmp_path):
    with Server() as server, socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(LAST_RESORT_S)
        context = ssl.create_default_context()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(connection, server_hostname="localhost")
