"""The PROXY protocol in front of connections, and Forwarded and X-Forwarded-For in requests."""

import ipaddress
import json
import os
import shutil
import socket
import struct
import subprocess

import pytest

from support import named, sockets
from support.certificates import make_certificate
from support.configured import Configured, free_port
from support.environment import LAST_RESORT_S
from support.waiting import wait_until

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
TEXT = """
host = "127.0.0.1"
{head}
access-log = "access.log"
log-format = "json"
trusted-proxy = ["127.0.0.1", "10.0.0.0/8"]
[[listener]]
port = 0
h2c = true
proxy-protocol = true
[[listener]]
port = {tls}
proxy-protocol = true
[[listener]]
port = {direct}
h2c = true
[[listener]]
unix = "proxy.sock"
h2c = true
proxy-protocol = true
[[site]]
root = "www"
cert = "one.crt"
key = "one.key"
"""


def version_1(client="192.0.2.7", family="TCP4", server="192.0.2.1"):
    return f"PROXY {family} {client} {server} 4000 443\r\n".encode()


def version_2(client="192.0.2.7", server="192.0.2.1", command=1, tlvs=b"", transport=1):
    client, server = ipaddress.ip_address(client), ipaddress.ip_address(server)
    family = 1 if client.version == 4 else 2
    rest = client.packed + server.packed + struct.pack(">HH", 4000, 443) + tlvs
    return SIGNATURE + struct.pack(">BBH", 0x20 | command, family << 4 | transport,
                                   len(rest)) + rest


@pytest.fixture(scope="module")
def proxied():
    server = make_server()
    with server:
        yield server


def make_server(head="", trusted='"127.0.0.1", '):
    ports = {"tls": free_port(), "direct": free_port()}
    text = TEXT.replace('"127.0.0.1", ', trusted).format(head=head, **ports)
    server = Configured(text, {"www/a.txt": "a"})
    server.ports = ports
    make_certificate(server.folder, "one", "one.test")
    return server


def last_line(server, before):
    wait_until(lambda: len(server.lines_of("access.log")) > before, "the line is written")
    return json.loads(server.lines_of("access.log")[before])


def client_of(server, header, tls=False, address="127.0.0.1"):
    """Makes a request behind the header. Returns the client's address and port in the log."""
    before = len(server.lines_of("access.log"))
    connection = named.plain(server.ports["tls"] if tls else server.port, address)
    connection.sendall(header)
    if tls:
        connection = named.encrypt(connection, "one.test", server.folder / "one.crt")
    with named.Client(connection) as client:
        assert client.fetch("one.test", "/a.txt").status == 200
    line = last_line(server, before)
    return line.get("client.address"), line.get("client.port")


# What a proxy says of its client.
HEADERS = {
    "v1": (version_1(), "192.0.2.7"),
    "v1 over IPv6": (version_1("2001:db8::7", "TCP6", "2001:db8::1"), "2001:db8::7"),
    "v2": (version_2(), "192.0.2.7"),
    "v2 over IPv6": (version_2("2001:db8::7", "2001:db8::1"), "2001:db8::7"),
    "v2 with TLVs": (version_2(tlvs=b"\x04\x00\x03abc" * 20), "192.0.2.7"),
}
# It speaks for itself.
OWN = {"v1": b"PROXY UNKNOWN\r\n", "v1 with more": b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n",
       "v2": SIGNATURE + b"\x20\x00\x00\x00", "v2 with addresses": version_2(command=0)}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("header, client", HEADERS.values(), ids=HEADERS)
def test_client_of_the_proxy(proxied, header, client, tls):
    assert client_of(proxied, header, tls) == (client, 4000)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("header", OWN.values(), ids=OWN)
def test_proxy_itself(proxied, header, tls):
    assert client_of(proxied, header, tls)[0] == "127.0.0.1"


def test_unix_socket_is_trusted(proxied):
    address = str(proxied.folder / "proxy.sock")
    assert client_of(proxied, version_1(), address=address) == ("192.0.2.7", 4000)


def test_header_in_pieces(proxied):
    before = len(proxied.lines_of("access.log"))
    with named.Client(named.plain(proxied.port)) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.send_slowly(version_1())
        assert client.fetch("one.test", "/a.txt").status == 200
    assert last_line(proxied, before)["client.address"] == "192.0.2.7"


def test_http2_behind_the_header(proxied):
    before = len(proxied.lines_of("access.log"))
    done = subprocess.run(
        ["curl", "--silent", "--fail", "--haproxy-protocol", "--http2-prior-knowledge",
         f"http://127.0.0.1:{proxied.port}/a.txt"], capture_output=True, check=False)
    assert done.stdout == b"a"
    line = last_line(proxied, before)
    assert (line["client.address"], line["network.protocol.version"]) == ("127.0.0.1", "2")


GARBAGE = {
    "no header": b"GET /a.txt HTTP/1.1\r\nHost: one.test\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    "v1 of another family": b"PROXY UDP4 192.0.2.7 192.0.2.1 1 2\r\n",
    "v1 with a bad address": b"PROXY TCP4 192.0.2.777 192.0.2.1 1 2\r\n",
    "v1 with a bad port": b"PROXY TCP4 192.0.2.7 192.0.2.1 1 66666\r\n",
    "v1 without an end": b"PROXY TCP4 " + b"1" * 200,
    "v2 of another version": SIGNATURE + b"\x31\x11\x00\x0c" + b"\0" * 12,
    "v2 that is too short": SIGNATURE + b"\x21\x11\x00\x04" + b"\0" * 4,
    "v2 that is too long": SIGNATURE + b"\x21\x11\xff\xff" + b"\0" * 5000,
}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_not_served(proxied, garbage, tls):
    before = len(proxied.lines_of("access.log"))
    connection = named.plain(proxied.ports["tls"] if tls else proxied.port)
    sockets.send(connection, garbage)
    with named.Client(connection) as client:
        assert client.closed()
    assert named.fetch(proxied.ports["direct"], "one.test", "/a.txt").status == 200
    assert last_line(proxied, before)["url.path"] == "/a.txt"
    assert len(proxied.lines_of("access.log")) == before + 1


def test_slow_header():
    """The connection ends by --head-timeout: the client does nothing more."""
    with make_server(head='head-timeout = "300ms"') as server:
        connections = [named.plain(server.port) for _ in range(3)]
        for connection, begin in zip(connections, (b"", b"PROXY TCP4 192", SIGNATURE + b"\x21")):
            connection.sendall(begin)
        for connection in connections:
            with named.Client(connection) as client:
                assert client.closed()


def test_header_without_proxy_protocol(proxied):
    with named.Client(named.plain(proxied.ports["direct"])) as client:
        client.send(version_1() + b"GET /a.txt HTTP/1.1\r\nHost: one.test\r\n\r\n")
        assert client.answer().status == 400


def test_peer_that_is_not_trusted():
    with make_server(trusted="") as server:
        with named.Client(named.plain(server.port)) as client:
            client.send(version_1() + b"GET /a.txt HTTP/1.1\r\nHost: one.test\r\n\r\n")
            assert client.closed()
        assert named.fetch(server.ports["direct"], "one.test", "/a.txt").status == 200
        assert last_line(server, 0)["client.address"] == "127.0.0.1"


# --- Forwarded and X-Forwarded-For ---------------------------------------------------------------

# Lines, and the client that they make. The peer is 127.0.0.1.
FORWARDED = [
    (["X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
    (["X-Forwarded-For: 203.0.113.1, 192.0.2.7, 10.1.2.3"], "192.0.2.7"),
    (["X-Forwarded-For: 203.0.113.1", "X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
    (['Forwarded: for="[2001:db8::7]:4711";proto=https'], "2001:db8::7"),
    (["Forwarded: for=192.0.2.7, for=10.0.0.1", "X-Forwarded-For: 203.0.113.1"], "127.0.0.1"),  # which one the proxy set is not known
    (["Forwarded: for=unknown"], "127.0.0.1"),
    (["X-Forwarded-For: nonsense"], "127.0.0.1"),
    ([], "127.0.0.1"),
]


@pytest.mark.parametrize("fields, client", FORWARDED)
def test_forwarded_fields(proxied, fields, client):
    before = len(proxied.lines_of("access.log"))
    assert named.fetch(proxied.ports["direct"], "one.test", "/a.txt", *fields).status == 200
    line = last_line(proxied, before)
    assert line["client.address"] == client
    if client != "127.0.0.1":
        assert line["network.peer.address"] == "127.0.0.1"


def test_forwarded_field_behind_the_header(proxied):
    """The proxy's client is not itself a trusted proxy, so what it says is not believed."""
    before = len(proxied.lines_of("access.log"))
    with named.Client(named.plain(proxied.port)) as client:
        client.send(version_1())
        client.fetch("one.test", "/a.txt", "X-Forwarded-For: 203.0.113.9")
    assert last_line(proxied, before)["client.address"] == "192.0.2.7"


NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/nginx-body; proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-1; uwsgi_temp_path {folder}/nginx-2;
  scgi_temp_path {folder}/nginx-3;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{direct};
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""


@pytest.mark.skipif(shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") is None,
                    reason="nginx is not installed")
def test_behind_nginx(proxied):
    """A client's own X-Forwarded-For stands in front of nginx's and is not believed."""
    port = free_port()
    file = proxied.folder / "nginx.conf"
    file.write_text(NGINX.format(
        folder=proxied.folder, port=port, direct=proxied.ports["direct"]))
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    with open(proxied.folder / "nginx.out", "wb") as out:
        nginx = subprocess.Popen([program, "-p", proxied.folder, "-c", file], stdout=out,
                                 stderr=out)
    try:
        def accepts():
            with socket.socket() as trial:
                return trial.connect_ex(("127.0.0.1", port)) == 0

        wait_until(accepts, "nginx listens")
        before = len(proxied.lines_of("access.log"))
        with named.Client(named.plain(port)) as client:
            client.socket.settimeout(LAST_RESORT_S)
            answer = client.fetch("one.test", "/a.txt", "X-Forwarded-For: 203.0.113.9")
        assert (answer.status, answer.body) == (200, b"a")
        line = last_line(proxied, before)
    finally:
        nginx.terminate()
        nginx.wait()
    # nginx adds 127.0.0.1, which is trusted, so the next one in front of it counts.
    assert line["client.address"] == "203.0.113.9"
    assert line["network.peer.address"] == "127.0.0.1"
    assert line["server.address"] == "one.test"
