"""Successful starts: forms of options, the configuration file, certificates, addresses."""

import contextlib
import os
import re
import socket
import ssl
import stat
import subprocess
import urllib.request

import pytest

from support.contents import form, form_type
from support.environment import BINARY, LAST_RESORT_S, tool
from support.pairs import SCHEMES
from support.processes import thread_count
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

PLAIN = PROTOCOLS[0]


@pytest.fixture
def bare():
    """bare(arguments…): a server with only these arguments; "{root}" and the like are filled in."""
    servers = []

    def make(*arguments, tls=False):
        server = Server(tls=tls)
        places = {"root": server.root, "uploads": server.uploads, "cert": server.certificate,
                  "key": server.key}
        server.command = [BINARY, *(argument.format(**places) for argument in arguments)]
        servers.append(server)
        return server

    yield make
    for server in servers:
        assert not server.root.exists(), "was never stopped"


def page(server, protocol=PLAIN):
    (server.root / "page.txt").write_bytes(b"page")
    return fetch(server, protocol, "/page.txt").body


FORMS = {
    "short": ["-p", "0", "-r", "{root}", "-n", "3", "--h2c"],
    "short, joined": ["-p0", "-r{root}", "-n3", "--h2c"],
    "long": ["--port", "0", "--root", "{root}", "--threads", "3", "--h2c"],
    "long, joined": ["--port=0", "--root={root}", "--threads=3", "--h2c"],
    "root at the end": ["-p", "0", "-n", "3", "--h2c", "{root}"],
    "root first": ["{root}", "-p", "0", "-n", "3", "--h2c"],
    "all": ["--port", "0", "--host", "localhost", "--threads", "3", "--h2c", "--scheme",
            "acceptor", "--io", "epoll", "--h2", "nghttp2", "--root", "{root}", "--upload-dir",
            "{uploads}", "--upload-overwrite", "--upload-max", "2GiB", "--upload-total", "1T",
            "--upload-reserve", "500 MB"],
}


@pytest.mark.parametrize("arguments", FORMS.values(), ids=FORMS)
def test_forms(bare, arguments):
    with bare(*arguments) as server:
        assert page(server) == b"page"
        assert thread_count(server.pid) >= 3


@pytest.mark.parametrize("arguments", [["-c", "{cert}", "-k", "{key}"],
                                       ["--cert", "{cert}", "--key={key}"]], ids=["short", "long"])
@pytest.mark.parametrize("protocol", [PROTOCOLS[1], PROTOCOLS[3]], ids=name_of)
def test_forms_with_tls(bare, arguments, protocol):
    with bare("-p", "0", "--self-signed", "-r", "{root}", *arguments, tls=True) as server:
        assert page(server, protocol) == b"page"


@contextlib.contextmanager
def with_state(server):
    """Runs the server in its root, without options but those given, with a state directory."""
    state = server.root.parent / "state"
    server.command = [tool("env"), "-C", server.root, f"XDG_STATE_HOME={state}", *server.command]
    with server:
        yield state / "h2server/self-signed"


def test_without_arguments(bare):
    """The present directory, over TLS, on 8443 or the next free port, with a certificate that is
    made once."""
    server = bare(tls=True)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # another program has it, which serves as well
            other.bind(("", 8443))
            other.listen()
        with with_state(server) as certificates:
            server.certificate = certificates / "server.crt"
            assert 8443 < server.port < 8463
            assert f"port       {server.port}, because another program listens on 8443" \
                in server.stdout
            assert page(server, PROTOCOLS[3]) == b"page"
            assert b'href="page.txt"' in fetch(server, PROTOCOLS[3], "/").body
            assert stat.S_IMODE((certificates / "server.key").stat().st_mode) == 0o600
            assert stat.S_IMODE(certificates.parent.stat().st_mode) == 0o700
            made = server.certificate.read_bytes()
            shown = subprocess.run([tool("openssl"), "x509", "-in", server.certificate, "-noout",
                                    "-fingerprint", "-sha256"], capture_output=True, text=True,
                                   check=True).stdout
            assert shown.split("=")[1].strip() in server.stdout
            server.stop()
            server.start()
            assert server.certificate.read_bytes() == made, "kept"


def test_cleartext_without_arguments(bare):
    server = bare("--h2c")
    with with_state(server) as certificates:
        assert 8080 <= server.port < 8100
        assert page(server) == b"page"
        assert not certificates.exists()


def test_certificate_of_ours_that_expires(bare):
    server = bare("-p", "0", tls=True)
    with with_state(server) as certificates:
        server.stop()
        subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj",
                        "/CN=localhost", "-days", "20", "-keyout", certificates / "server.key",
                        "-out", certificates / "server.crt"], check=True, capture_output=True)
        old = (certificates / "server.crt").read_bytes()
        server.start()
        server.certificate = certificates / "server.crt"
        assert server.certificate.read_bytes() != old
        check_names(server)


def spoil_certificate(pair):
    (pair / "server.crt").write_bytes(b"no certificate")


def spoil_key(pair):
    (pair / "server.key").write_bytes((pair / "server.crt").read_bytes())


def take_certificate(pair):
    (pair / "server.crt").unlink()


def take_key(pair):
    (pair / "server.key").unlink()


def exchange_for_a_fifo(pair):
    (pair / "server.crt").unlink()
    os.mkfifo(pair / "server.crt")


@pytest.mark.parametrize("damage", [spoil_certificate, spoil_key, take_certificate, take_key,
                                    exchange_for_a_fifo])
def test_damaged_pair_of_ours(bare, damage):
    """It is made anew, since nobody else has a use for it."""
    server = bare("-p", "0", tls=True)
    with with_state(server) as certificates:
        old = (certificates / "server.crt").read_bytes()
        server.stop()
        damage(certificates)
        server.start()
        server.certificate = certificates / "server.crt"
        assert server.certificate.read_bytes() != old
        assert page(server, PROTOCOLS[3]) == b"page"


def test_nowhere_to_keep_a_certificate(bare, tmp_path):
    """As in a container whose user has no home."""
    server = bare("-p", "0", "-r", "{root}", tls=True)
    server.quiet = False
    server.command = [tool("env"), "XDG_STATE_HOME=/dev/null/x", f"TMPDIR={tmp_path}",
                      *server.command]
    with server:
        assert "made anew at each start" in server.stderr
        assert "in memory (self-signed" in server.stdout
        assert list(tmp_path.iterdir()) == [], "the key is removed"
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            ssl._create_unverified_context().wrap_socket(connection).close()


def test_home_directory(bare):
    """Only with --yes; the key in it is not served."""
    server = bare("-p", "0", "--yes", tls=True)
    server.command = [tool("env"), "-C", server.root, "-u", "XDG_STATE_HOME",
                      f"HOME={server.root}", *server.command]
    with server:
        server.certificate = server.root / ".local/state/h2server/self-signed/server.crt"
        assert page(server, PROTOCOLS[3]) == b"page"
        key = "/.local/state/h2server/self-signed/server.key"
        assert (server.root / key[1:]).exists()
        assert fetch(server, PROTOCOLS[3], key).status == 404
    refused = subprocess.run([BINARY, "--h2c", "."], cwd="/tmp", check=False, text=True,
                             env={**os.environ, "HOME": "/tmp"}, capture_output=True)
    assert refused.returncode == 2 and "--yes" in refused.stderr


def test_start_screen_of_the_root(bare):
    for arguments, shown in ((["--no-listing"], "(not listed)"),
                             (["--hidden"], "(listed, with hidden files)")):
        with bare("--h2c", "-p", "0", "-r", "{root}", *arguments) as server:
            assert f"root       {server.root} {shown}" in server.stdout


def test_start_screen_names_the_hybrid_group(bare):
    """OpenSSL 3.5 has it, and Python's is the server's."""
    with bare("-p", "0", "-r", "{root}", "--self-signed", tls=True) as server:
        shown = "key share  X25519MLKEM768" in server.stdout
    assert shown == (ssl.OPENSSL_VERSION_INFO >= (3, 5))


def test_upload_directory_is_made(bare):
    with bare("-p", "0", "-r", "{root}", "--h2c", "--upload-dir", "{uploads}/of/ours") as server:
        answer = fetch(server, PLAIN, "/files", "POST", [form_type()], form(("a", b"x")))
        assert answer.status == 201
        assert (server.uploads / "of/ours/a").read_bytes() == b"x"


# --- the configuration file ----------------------------------------------------------------------

CONFIGURATION = """\
# of a test
port = 0
host = "127.0.0.1"
threads = 3
h2c = true
root = "{root}"
upload-dir = "{uploads}"
upload-overwrite = true
scheme = "reuseport"
io = "epoll"
h2 = "nghttp2"
"""


def configure(server, text):
    file = server.root.parent / "h2server.toml"
    file.write_text(text.replace("{root}", str(server.root)).replace("{uploads}",
                                                                     str(server.uploads)))
    server.command += ["--config", file]
    return server


def test_configuration(bare):
    with configure(bare(), CONFIGURATION) as server:
        assert page(server) == b"page"
        assert "reuseport" in server.stdout and thread_count(server.pid) >= 3
        for content in (b"1", b"2"):
            answer = fetch(server, PLAIN, "/files", "POST", [form_type()], form(("a", content)))
            assert answer.status == 201


def test_command_line_goes_before_the_configuration(bare):
    other = CONFIGURATION.replace("{root}", "/").replace("port = 0", "port = 1")
    with configure(bare("-p", "0", "-r", "{root}", "--scheme", "acceptor"), other) as server:
        assert page(server) == b"page"
        assert "acceptor" in server.stdout and "reuseport" not in server.stdout


# Configuration → words of the error line.
# --- the self-signed certificate -----------------------------------------------------------------


def test_self_signed(bare):
    server = bare("-p", "0", "-r", "{root}", "--self-signed", "-c", "{cert}", "-k", "{key}",
                  tls=True)
    with server:
        assert stat.S_IMODE(server.key.stat().st_mode) == 0o600
        assert stat.S_IMODE(server.certificate.stat().st_mode) == 0o644
        made = server.key.read_bytes(), server.certificate.read_bytes()
        check_names(server)
        server.stop()
        server.start()
        assert (server.key.read_bytes(), server.certificate.read_bytes()) == made, "kept"
        assert page(server, PROTOCOLS[3]) == b"page"


def check_names(server):
    context = ssl.create_default_context(cafile=server.certificate)
    for name in ("localhost", "127.0.0.1", "::1"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            context.wrap_socket(connection, server_hostname=name).close()
    text = subprocess.run([tool("openssl"), "x509", "-in", server.certificate, "-noout", "-text"],
                          capture_output=True, text=True, check=True).stdout
    assert "CA:FALSE" in text and "TLS Web Server Authentication" in text
    days = subprocess.run([tool("openssl"), "x509", "-in", server.certificate, "-checkend",
                           str(300 * 24 * 3600)], capture_output=True, check=False)
    assert days.returncode == 0, "valid for less than 300 days"


# --- addresses -----------------------------------------------------------------------------------


def answers_at(host, port):
    request = urllib.request.Request(f"http://{host}:{port}/page.txt")
    with urllib.request.urlopen(request, timeout=LAST_RESORT_S) as answer:
        return answer.read() == b"page"


def addresses_of(host):
    """Returns the host's addresses that this machine can bind."""
    found = {family: address[0] for family, *_, address in socket.getaddrinfo(host, 80)}
    own = []
    for family, address in found.items():
        with contextlib.suppress(OSError), socket.socket(family) as trial:
            trial.bind((address, 0))
            own.append(f"[{address}]" if family == socket.AF_INET6 else address)
    return own


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("host", [[], ["--host", "localhost"]], ids=["all", "localhost"])
def test_both_families(bare, scheme, host):
    threads = [] if scheme.endswith("-per-connection") else ["-n", "2"]
    with bare("--h2c", "-p", "0", "-r", "{root}", "--scheme", scheme, *threads, *host) as server:
        assert page(server) == b"page"
        for address in addresses_of("localhost" if host else None) + ["localhost"]:
            assert answers_at(address, server.port), address


def test_every_url_on_the_screen_answers(bare):
    with bare("--h2c", "-p", "0", "-r", "{root}") as server:
        assert page(server) == b"page"
        urls = re.findall(r"^ +http://(\S+):(\d+)/$", server.stdout, re.MULTILINE)
        assert urls
        for host, port in urls:
            assert answers_at(host, port), host


def test_one_address(bare):
    with bare("--h2c", "-p", "0", "-r", "{root}", "--host", "127.0.0.2") as server:
        (server.root / "page.txt").write_bytes(b"page")
        port = int(re.search(r":(\d+)/", server.stdout)[1])
        assert answers_at("127.0.0.2", port)
        with socket.socket() as trial:
            assert trial.connect_ex(("127.0.0.1", port)) != 0


def test_no_file_is_left_open_for_children(bare):
    """A child that inherits the listener would keep the port in use."""
    with bare("--h2c", "-p", "0", "-r", "{root}") as server:
        for number in os.listdir(f"/proc/{server.pid}/fd"):
            if int(number) <= 2:
                continue
            with open(f"/proc/{server.pid}/fdinfo/{number}") as information:
                flags = int(re.search(r"flags:\s+(\d+)", information.read())[1], 8)
            assert flags & os.O_CLOEXEC, os.readlink(f"/proc/{server.pid}/fd/{number}")
