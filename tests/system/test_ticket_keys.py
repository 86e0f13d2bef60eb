"""Session tickets of servers that share a key."""

import socket
import ssl
import subprocess

import pytest

from support.environment import BINARY, LAST_RESORT_S
from support.server import Server

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def start(*keys):
    arguments = [word for key in keys for word in ("--ticket-key", key)]
    return Server(*arguments, tls=True, quiet=False)


def visit(server, context, session=None):
    """Fetches a page. Returns (whether the session was resumed, the session that it leaves)."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while client.recv(65536):  # tickets of TLS 1.3 come with the answer
                pass
            return client.session_reused, client.session


@pytest.fixture(name="keys")
def two_keys(tmp_path):
    keys = [tmp_path / "old.key", tmp_path / "new.key"]
    for key in keys:
        key.write_bytes(subprocess.check_output(["openssl", "rand", "80"]))
    return keys


@pytest.fixture(name="context", params=VERSIONS, ids=["tls1.2", "tls1.3"])
def trusting_context(request):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = request.param
    return context


def test_another_server_resumes(keys, context):
    old, new = keys
    with start(old) as one, start(new, old) as other, start() as stranger:
        fresh, session = visit(one, context)
        assert not fresh
        assert visit(one, context, session)[0]
        resumed, newer = visit(other, context, session)
        assert resumed, "its second key is that of the first server"
        assert visit(other, context, newer)[0]
        assert not visit(one, context, newer)[0], "it does not know the new key"
        assert not visit(stranger, context, session)[0]


def test_a_killed_server_resumes_when_it_is_back(keys, context):
    with start(keys[0]) as server:
        _, session = visit(server, context)
        server.stop()
        server.start()
        assert visit(server, context, session)[0]


def test_what_is_no_key(tmp_path):
    short = tmp_path / "short"
    short.write_bytes(b"k" * 31)
    served = tmp_path / "served"
    other = tmp_path / "other"
    served.mkdir()
    other.mkdir()
    for key, problem in [(short, "needs 32 to 4096 random bytes: openssl rand 80 >"),
                         (tmp_path / "none", "No such file or directory"),
                         (other, "not a regular file")]:
        for command in [[], ["check"]]:
            done = subprocess.run(
                [BINARY, *command, "--port", "0", "--ticket-key", key, served],
                capture_output=True, text=True, timeout=LAST_RESORT_S, check=False)
            assert done.returncode != 0 and problem in done.stderr + done.stdout, done
