"""Sites by name: certificates by SNI, routes by Host, and each site's own options."""

import dataclasses
import hashlib
import os
import pathlib
import re
import ssl
import subprocess

import httpx
import pytest

from support import named
from support.certificates import make_certificate
from support.configured import CLEARTEXT, Configured, free_port
from support.contents import form, form_type
from support.environment import not_sanitized, tool

# The SHA-256 of "test", which is the token.
TOKEN = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SITES = """
host = "127.0.0.1"
hsts = true

[[listener]]
port = {tls}
[[listener]]
port = {plain}
h2c = true
[[listener]]
port = {redirect}
redirect = true
[[listener]]
host = "::1"
port = {ipv6}
h2c = true
[[listener]]
unix = "h.sock"
unix-mode = "0600"
h2c = true

[[site]]
host = ["one.test", "www.one.test"]
root = "one"
cert = "one.crt"
key = "one.key"
header = ["/** X-Site: one"]
cache = ["/** no-cache", "/long/** 1h"]
redirect = ["/old/** /new/$1 301", "/away https://two.test/here"]
rewrite = ["/page/* /index.html"]
error-pages = "errors"
auth = ["/private=users"]

[[site]]
host = "two.test"
root = "two"
cert = "two.crt"
key = "two.key"
hsts = false
listing = false
upload-dir = "uploads"

[[site]]
host = "*.wild.test"
root = "wild"
cert = "wild.crt"
key = "wild.key"

[[site]]
host = "exact.wild.test"
root = "exact"
cert = "wild.crt"
key = "wild.key"

[[site]]
host = "limited.test"
root = "two"
rate-limit = "1/s 2"
"""
FILES = {
    "one/index.html": "site one", "one/private/a.txt": "private", "one/long/a.txt": "long",
    "two/index.html": "site two", "two/folder/a.txt": "a", "wild/index.html": "site wild",
    "exact/index.html": "site exact", "errors/404.html": "no such page of one",
    "users": f"ci:{{SHA256}}{TOKEN}\n",
}


@dataclasses.dataclass
class Sites:
    server: Configured
    ports: dict

    def certificate(self, stem):
        return self.server.folder / f"{stem}.crt"

    def connect(self, name, stem=None, **options):
        """Returns a connection with TLS, whose certificate has to be `stem`."""
        trusted = self.certificate(stem) if stem else None
        return named.encrypt(named.plain(self.ports["tls"]), name, trusted, **options)

    def fetch(self, host, path="/", *lines, **options):
        return named.fetch(self.ports["plain"], host, path, *lines, **options)


@pytest.fixture(scope="module")
def sites():
    ports = {name: free_port("::1" if name == "ipv6" else "127.0.0.1")
             for name in ("tls", "plain", "redirect", "ipv6")}
    server = Configured(SITES.format(**ports), FILES)
    make_certificate(server.folder, "one", "one.test", "www.one.test")
    make_certificate(server.folder, "two", "two.test")
    make_certificate(server.folder, "wild", "*.wild.test")
    with server:
        yield Sites(server, ports)


def text_of(answer):
    return answer.status, answer.body.decode()


# --- names ---------------------------------------------------------------------------------------

NAMES = {"one.test": ("one", "one"), "www.one.test": ("one", "one"), "two.test": ("two", "two"),
         "a.wild.test": ("wild", "wild"), "exact.wild.test": ("wild", "exact"),
         "ONE.test": ("one", "one")}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", NAMES)
def test_certificate_and_root_by_name(sites, name, version):
    stem, content = NAMES[name]
    connection = sites.connect(name, stem, version=version)
    wanted = ssl.PEM_cert_to_DER_cert(sites.certificate(stem).read_text())
    assert connection.getpeercert(binary_form=True) == wanted
    with named.Client(connection) as client:
        assert text_of(client.fetch(name)) == (200, f"site {content}")
        assert text_of(client.fetch(f"{name}:{sites.ports['tls']}")) == (200, f"site {content}")


@pytest.mark.parametrize("how", ["--http1.1", "--http2"])
@pytest.mark.parametrize("name", ["one.test", "two.test", "b.wild.test"])
def test_curl(sites, name, how):
    port = sites.ports["tls"]
    done = subprocess.run(
        [tool("curl"), "--silent", "--show-error", "--fail", how, "--resolve",
         f"{name}:{port}:127.0.0.1", "--cacert", sites.certificate(NAMES.get(name, ("wild",))[0]),
         "--write-out", " %{http_version}", f"https://{name}:{port}/"],
        capture_output=True, text=True, check=False)
    version = "2" if how == "--http2" else "1.1"
    content = "wild" if "wild" in name else name.removesuffix(".test")
    assert (done.stdout, done.stderr) == (f"site {content} {version}", "")


# SNI, Host, status
DISAGREEING = [
    ("one.test", "one.test", 200), ("one.test", "www.one.test", 200),
    ("one.test", "two.test", 421), ("two.test", "one.test", 421),
    ("one.test", "unknown.test", 421), ("unknown.test", "unknown.test", 421),
    ("unknown.test", "one.test", 421), ("a.wild.test", "b.wild.test", 200),
    ("a.wild.test", "exact.wild.test", 421), ("one.test", "127.0.0.1", 421),
    (None, "one.test", 200), (None, "unknown.test", 421),
]


@pytest.mark.parametrize("sni, host, status", DISAGREEING)
def test_names_that_disagree(sites, sni, host, status):
    with named.Client(sites.connect(sni)) as client:
        assert client.fetch(host).status == status


def resumed(sites, name, other, version):
    """Returns a connection for the host `other` that resumes a session of the host `name`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    with context.wrap_socket(named.plain(sites.ports["tls"]), server_hostname=name) as first:
        first.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        assert first.recv(65536)  # with TLS 1.3, the session comes first
        session = first.session
    connection = context.wrap_socket(named.plain(sites.ports["tls"]), server_hostname=other,
                                     session=session)
    return connection, connection.session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_names_of_resumed_sessions(sites, version):
    """A session for the same name is resumed, and names are compared as they are without one. With
    TLS 1.2, OpenSSL tells only the name for which the session was made, so that a client that
    resumes it for another one (against RFC 6066, 3) is asked for no more than a host of ours."""
    connection, reused = resumed(sites, "one.test", "one.test", version)
    assert reused
    with named.Client(connection) as client:
        assert text_of(client.fetch("one.test")) == (200, "site one")
        assert client.fetch("unknown.test").status == 421
    is_old = version == ssl.TLSVersion.TLSv1_2
    connection, reused = resumed(sites, "one.test", "two.test", version)
    with named.Client(connection) as client:
        assert text_of(client.fetch("two.test")) == (200, "site two")
        assert client.fetch("one.test").status == (200 if is_old and reused else 421)
        assert client.fetch("unknown.test").status == 421
    assert reused or not is_old, "OpenSSL resumes it"


def test_hosts_without_tls(sites):
    for name, (_, content) in NAMES.items():
        assert text_of(sites.fetch(name)) == (200, f"site {content}")
    for name in ("unknown.test", "wild.test", "a.b.one.test", "127.0.0.1"):
        assert sites.fetch(name).status == 421
    assert text_of(sites.fetch("a.b.wild.test")) == (200, "site wild")


def test_hosts_of_one_http2_connection(sites):
    """A browser sends requests to any host for which the connection's certificate stands."""
    context = ssl.create_default_context(cafile=sites.certificate("one"))
    wrap = context.wrap_socket
    handshakes = []

    def handshake(connection, **_):
        handshakes.append(connection)
        return wrap(connection, server_hostname="one.test")

    context.wrap_socket = handshake
    with httpx.Client(http2=True, verify=context) as client:

        def get(host):
            return client.get(f"https://127.0.0.1:{sites.ports['tls']}/", headers={"Host": host})

        seen = [get(host) for host in ("one.test", "two.test", "www.one.test", "unknown.test",
                                       "one.test")]
    assert len(handshakes) == 1, "more than one connection"
    assert {one.http_version for one in seen} == {"HTTP/2"}
    assert [one.status_code for one in seen] == [200, 421, 200, 421, 200]
    assert seen[2].text == "site one"


def test_listeners(sites):
    folder = str(sites.server.folder)
    assert os.stat(f"{folder}/h.sock").st_mode & 0o777 == 0o600
    for port, address in [(sites.ports["plain"], "127.0.0.1"), (sites.ports["ipv6"], "::1"),
                          (0, f"{folder}/h.sock")]:
        answer = named.fetch(port, "two.test", address=address)
        assert text_of(answer) == (200, "site two"), address


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_port_that_redirects(sites, method):
    answer = named.fetch(sites.ports["redirect"], f"two.test:{sites.ports['redirect']}",
                         "/a%20b//c?x=1&y=%2F", method=method)
    assert answer.status == 308
    assert answer.field("location") == f"https://two.test:{sites.ports['tls']}/a%20b//c?x=1&y=%2F"


@pytest.mark.parametrize("host, status", [
    ("www.one.test", 308), ("a.wild.test", 308), ("ONE.test:80", 308), ("unknown.test", 421),
    ("wild.test", 421), ("127.0.0.1", 421), ("one.test.unknown.test", 421)])
def test_port_that_redirects_known_hosts(sites, host, status):
    """It leads nobody to a host of whom the server knows nothing."""
    answer = named.fetch(sites.ports["redirect"], host, "/a")
    assert answer.status == status
    name = host.partition(":")[0]
    location = f"https://{name}:{sites.ports['tls']}/a" if status == 308 else None
    assert answer.field("location") == location


@pytest.mark.parametrize("head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
                                  b"GET / HTTP/1.1\r\nHost: :80\r\n\r\n"])
def test_port_that_redirects_no_host(sites, head):
    with named.Client(named.plain(sites.ports["redirect"])) as client:
        client.send(head)
        answer = client.answer()
    assert answer.status in (400, 421)
    assert answer.field("location") is None


# --- options of one site -------------------------------------------------------------------------

def test_fields(sites):
    assert sites.fetch("one.test").field("x-site") == "one"
    assert sites.fetch("two.test").field("x-site") is None
    with named.Client(sites.connect("one.test", "one")) as client:
        assert client.fetch("one.test").field("strict-transport-security")
    with named.Client(sites.connect("two.test", "two")) as client:
        assert client.fetch("two.test").field("strict-transport-security") is None


def test_cache_rules(sites):
    assert sites.fetch("one.test").field("cache-control") == "no-cache"
    assert sites.fetch("one.test", "/long/a.txt").field("cache-control") == "max-age=3600"


def test_redirects_and_rewrites(sites):
    answer = sites.fetch("one.test", "/old/a/b?q=1")
    assert (answer.status, answer.field("location")) == (301, "/new/a/b?q=1")
    answer = sites.fetch("one.test", "/away")
    assert (answer.status, answer.field("location")) == (302, "https://two.test/here")
    assert text_of(sites.fetch("one.test", "/page/7?q=1")) == (200, "site one")
    for path in ("/old/a", "/away", "/page/7"):
        assert sites.fetch("two.test", path).status == 404


def test_error_pages(sites):
    assert text_of(sites.fetch("one.test", "/none")) == (404, "no such page of one")
    assert b"of one" not in sites.fetch("two.test", "/none").body


def test_authentication(sites):
    assert sites.fetch("one.test", "/private/a.txt").status == 401
    answer = sites.fetch("one.test", "/private/a.txt", "Authorization: Bearer test")
    assert text_of(answer) == (200, "private")
    assert sites.fetch("two.test", "/private/a.txt").status == 404


def test_uploads(sites):
    body = form(("a.txt", b"uploaded"))
    kind = ": ".join(form_type())
    assert sites.fetch("one.test", "/files", kind, method="POST", body=body).status == 405
    assert sites.fetch("two.test", "/files", kind, method="POST", body=body).status == 201
    assert (sites.server.folder / "uploads/a.txt").read_bytes() == b"uploaded"
    assert sites.fetch("two.test", "/files/a.txt").body == b"uploaded"
    assert sites.fetch("one.test", "/files/a.txt").status == 404


def test_listing(sites):
    assert sites.fetch("one.test", "/long/").status == 200
    assert sites.fetch("two.test", "/folder/").status == 404


def test_rate_limit(sites):
    statuses = [sites.fetch("limited.test").status for _ in range(20)]
    assert statuses[:2] == [200, 200] and 429 in statuses
    assert sites.fetch("two.test").status == 200


# --- other servers -------------------------------------------------------------------------------

DEFAULT = CLEARTEXT + """
[[site]]
root = "rest"
[[site]]
host = "one.test"
root = "one"
"""


def test_site_for_all_other_hosts():
    with Configured(DEFAULT, {"rest/index.html": "rest", "one/index.html": "one"}) as server:
        for host, text in [("one.test", "one"), ("unknown.test", "rest"), ("127.0.0.1", "rest")]:
            assert text_of(named.fetch(server.port, host)) == (200, text)
        with named.Client(named.plain(server.port)) as client:
            client.send(b"GET / HTTP/1.0\r\n\r\n")
            assert client.rest().endswith(b"rest")


def test_port_that_redirects_for_all_other_hosts():
    """The site without names is that of each host."""
    tls, port = free_port(), free_port()
    text = (f'host = "127.0.0.1"\n[[listener]]\nport = {tls}\n[[listener]]\nport = {port}\n'
            'redirect = true\n[[site]]\nroot = "rest"\ncert = "a.crt"\nkey = "a.key"\n')
    server = Configured(text, {"rest/index.html": "rest"})
    make_certificate(server.folder, "a", "a.test")
    with server:
        for host in ("a.test", "unknown.test", "127.0.0.1"):
            answer = named.fetch(port, host)
            assert answer.status == 308
            assert answer.field("location") == f"https://{host}:{tls}/"


@pytest.mark.parametrize("to", ["https:///$1", "https://", "https://?x", "//two.test/$1"])
def test_redirects_name_a_host(to):
    """Browsers would take the path for the host of "https:///path"."""
    with pytest.raises(AssertionError, match="did not start") as failed:
        with Configured(f'{CLEARTEXT}[[site]]\nroot = "www"\nredirect = ["/** {to} 308"]\n',
                        {"www/a.txt": "a"}):
            pass
    assert "site.toml:6" in str(failed.value) and to in str(failed.value)


def thousand(count, options=""):
    """Returns a configuration with that many sites with these options, and the files for it."""
    text = 'host = "127.0.0.1"\nport = 0\n'
    files = {}
    for number in range(count):
        text += (f'[[site]]\nhost = "s{number}.many.test"\nroot = "{number}"\n'
                 f'cert = "{number}.crt"\nkey = "{number}.key"\n{options}')
        files[f"{number}/index.html"] = f"site {number}"
    return text, files


def resident_bytes(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


# Each site has a table of clients, and its users are those of one file.
LIMITED = 'rate-limit = "1/h 2"\nauth = ["/private=users"]\n'


class WithUsualLimits(Configured):
    """Its command line is that of users, and so is its memory."""

    time_limits = []


def memory_of(count, tmp_path, options=""):
    text, files = thousand(count, options)
    certificate, key = make_certificate(tmp_path, "all", "*.many.test")
    files["users"] = "".join(
        f"u{user}:{{SHA256}}{hashlib.sha256(bytes([user])).hexdigest()}\n" for user in range(100))
    for number in range(count):
        files[f"{number}.crt"] = certificate.read_bytes()
        files[f"{number}.key"] = key.read_bytes()
    server = WithUsualLimits(text, files, pair=None)
    with server:
        for number in range(0, count, 100):
            name = f"s{number}.many.test"
            connection = named.encrypt(named.plain(server.port), name, certificate)
            with named.Client(connection) as client:
                assert text_of(client.fetch(name)) == (200, f"site {number}")
                if options:
                    assert client.fetch(name, "/private/").status == 401
                    assert client.fetch(name).status == 429
        return resident_bytes(server)


@not_sanitized
@pytest.mark.parametrize(("options", "most"), [("", 16e6), (LIMITED, 22e6)], ids=["plain", "limited"])
def test_memory_of_a_thousand_sites(tmp_path, options, most):
    assert memory_of(1000, tmp_path, options) - memory_of(1, tmp_path, options) < most
