"""Listeners, connection information and client certificates, with examples/connection and curl."""

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess

import pytest

from support.environment import BUILD, LAST_RESORT_S, tool
from support.example import Example
from support.waiting import wait_until

SCHEMES = ["reuseport", "acceptor", "thread-pool", "buffered-pool", "thread-per-connection",
           "process-per-connection"]


class Connection(Example):
    """examples/connection. `ports`: of its TCP listeners, in order."""

    def __init__(self, *arguments, **options):
        super().__init__("connection", *arguments, **options)

    def read_start(self):
        self.lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                break
            self.lines.append(line)
        self.ports = [int(found[1]) for found in re.finditer(r"port (\d+)", "".join(self.lines))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Certificates: server.crt, ca.crt, alice.crt (signed by it), mallory.crt (signed by herself),
    with their keys."""
    path = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments):
        subprocess.run([tool("openssl"), *arguments], cwd=path, check=True, capture_output=True)

    def key(name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                f"{name}.key")

    for name in ("server", "ca", "mallory"):
        subject = "/CN=localhost" if name == "server" else f"/CN={name}"
        openssl("req", "-x509", *key(name), "-subj", subject, "-days", "2", "-out", f"{name}.crt")
    openssl("req", *key("alice"), "-subj", "/O=Example, Inc./CN=alice", "-out", "alice.csr")
    openssl("x509", "-req", "-in", "alice.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "2",
            "-CAcreateserial", "-out", "alice.crt")
    return path


def credentials(folder):
    return f"cert:{folder}/server.crt", f"key:{folder}/server.key"


def curl(*arguments):
    """Returns (exit status, output)."""
    done = subprocess.run([tool("curl"), "-sk", "-m", str(LAST_RESORT_S), *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def lines_of(*arguments):
    status, output = curl(*arguments)
    assert status == 0
    return output.splitlines()


# --- connection information ----------------------------------------------------------------------

HTTP = {"HTTP/1": "--http1.1", "HTTP/2": "--http2-prior-knowledge"}


@pytest.mark.parametrize("scheme", range(len(SCHEMES)), ids=SCHEMES)
def test_every_kind_of_listener(folder, tmp_path, scheme):
    path = tmp_path / "socket"
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as inherited:
        os.set_inheritable(inherited.fileno(), True)
        with Connection("tls:0", "http:0", f"unix:{path}", f"fd:{inherited.fileno()}",
                     f"scheme:{scheme}", *credentials(folder),
                     pass_fds=[inherited.fileno()]) as example:
            tls, http, _ = example.ports
            assert example.lines[2] == f"listening on {path}\n"
            for version, option in HTTP.items():
                for host, address in (("127.0.0.1", "127.0.0.1"), ("[::1]", "::1")):
                    first, client, server = lines_of(option, f"http://{host}:{http}/")
                    assert (first, server) == (version, f"server: {address} port {http}")
                    assert re.fullmatch(rf"client: {address} port \d+", client)
                    first, client, server, session, _ = lines_of(option, f"https://{host}:{tls}/")
                    assert (first, server) == (version, f"server: {address} port {tls}")
                    assert re.fullmatch(r"tls: TLSv1\.3 TLS_\w+ (x25519|X25519MLKEM768)", session)
                    assert re.fullmatch(rf"client: {address} port \d+", client)
                assert lines_of(option, "--unix-socket", path, "http://localhost/") == [
                    version, "client: unknown", f"server: {path}"]
                port = inherited.getsockname()[1]
                assert lines_of(option, f"http://[::1]:{port}/")[2] == f"server: ::1 port {port}"
    assert not path.exists()


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_server_name(folder, version):
    with Connection("tls:0", *credentials(folder)) as example:
        port = example.ports[0]
        versions = ("--tlsv" + version, "--tls-max", version)
        printed = lines_of(*versions, "--resolve", f"name.example:{port}:127.0.0.1",
                           f"https://name.example:{port}/")
        assert printed[3].startswith(f"tls: TLSv{version} TLS_") and printed[4] == "name: name.example"
        done = subprocess.run(
            [tool("openssl"), "s_client", "-connect", f"127.0.0.1:{port}", "-servername",
             "other.example", "-tls" + version.replace(".", "_"), "-quiet"],
            input="GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", capture_output=True,
            text=True, check=False, timeout=LAST_RESORT_S)
        assert "name: other.example\n" in done.stdout


# --- client certificates -------------------------------------------------------------------------

@pytest.mark.parametrize("http", ["--http1.1", "--http2"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("rule", ["optional", "required"])
def test_client_certificates(folder, rule, version, http):
    def shows(name):
        return ("--cert", folder / f"{name}.crt", "--key", folder / f"{name}.key")

    with Connection("tls:0", f"{rule}:{folder}/ca.crt", *credentials(folder)) as example:
        url = f"https://localhost:{example.ports[0]}/"
        versions = (http, "--tlsv" + version, "--tls-max", version)
        printed = "\n".join(lines_of(*versions, *shows("alice"), url))
        assert "\ncertificate: CN=alice,O=Example\\, Inc.\n" in printed
        assert (folder / "alice.crt").read_text().strip() in printed
        status, output = curl(*versions, url)
        if rule == "optional":
            assert status == 0 and "certificate" not in output
        else:
            assert status != 0 and output == ""
        status, output = curl(*versions, *shows("mallory"), url)
        assert status != 0 and output == ""


# --- Unix sockets --------------------------------------------------------------------------------

@pytest.mark.parametrize("scheme", range(len(SCHEMES)), ids=SCHEMES)
def test_socket_of_a_killed_server_is_replaced(tmp_path, scheme):
    path = tmp_path / "socket"
    arguments = ("unix:socket", f"scheme:{scheme}")  # a relative path
    with Connection(*arguments, cwd=tmp_path, status=-signal.SIGKILL) as killed:
        killed.process.kill()
        killed.process.wait()
        # The death of the main process ends the others, which hold the listener.
        wait_until(lambda: curl("--unix-socket", path, "http://localhost/")[0] != 0,
                   "nobody listens")
    assert stat.S_ISSOCK(path.stat().st_mode)
    with Connection(*arguments, cwd=tmp_path):
        assert lines_of("--unix-socket", path, "http://localhost/")[0] == "HTTP/1"
        second = subprocess.run([BUILD / "examples/connection", *arguments], cwd=tmp_path,
                                capture_output=True, text=True, check=False,
                                timeout=LAST_RESORT_S)
        assert (second.returncode, second.stdout) == (1, "")
        assert "socket is in use" in second.stderr
        assert lines_of("--unix-socket", path, "http://localhost/")[0] == "HTTP/1"
    assert not path.exists()


def test_next_server_takes_over_an_inherited_listener():
    """No connection is refused between two servers: those that wait are the next one's."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        descriptor = listener.fileno()
        os.set_inheritable(descriptor, True)
        port = listener.getsockname()[1]
        for _ in range(2):
            with Connection(f"fd:{descriptor}", pass_fds=[descriptor]):
                assert lines_of(f"http://127.0.0.1:{port}/")[0] == "HTTP/1"
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            waiting.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with Connection(f"fd:{descriptor}", pass_fds=[descriptor]):
            waiting.settimeout(LAST_RESORT_S)
            assert waiting.recv(15) == b"HTTP/1.1 200 OK"
