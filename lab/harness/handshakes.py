"""TLS handshakes: a client that makes them, what a connection costs a server in processor time, and
the limit, OpenSSL's half of a handshake in memory. TLS 1.3, X25519; each connection makes one
request for a small file.

    lab/handshakes build/release/h2server docs/lab/handshakes.json

measures connections without TLS, with a full handshake and with a resumed one, for docs/scale.md.
The experiment `handshakes` measures them beside other servers.
"""

import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
CONNECTIONS = 2000
WARM_UP = 100
KINDS = ("none", "full", "resumed")


def processor_us(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def client_context():
    """Returns a context that speaks TLS 1.3 alone and verifies nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


class Client:
    """Makes connections of one of KINDS, one after the other."""

    def __init__(self, kind, port, path="/a.txt"):
        self._kind = kind
        self._port = port
        self._session = None
        self._context = client_context()
        self._request = (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                         "Connection: close\r\n\r\n").encode()

    def connect(self):
        """Makes a connection with one request. Raises OSError, or AssertionError if it is not of
        the kind."""
        with socket.create_connection(("127.0.0.1", self._port)) as plain:
            # Otherwise the request may wait 40 ms for the server to acknowledge the handshake's end.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._kind == "none":
                self._ask(plain)
                return
            session = self._session if self._kind == "resumed" else None
            with self._context.wrap_socket(plain, server_hostname="localhost",
                                           session=session) as connection:
                assert connection.session_reused == (session is not None)
                self._ask(connection)
                self._session = connection.session

    def _ask(self, connection):
        connection.sendall(self._request)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        assert received.startswith(b"HTTP/1.1 200"), received[:100]


class InMemory:
    """Both ends of a handshake by OpenSSL in one process, without a socket."""

    def __init__(self, kind, certificate, key):
        self._kind = kind
        self._session = None
        self._client = client_context()
        self._server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server.load_cert_chain(certificate, key)
        self._server.minimum_version = ssl.TLSVersion.TLSv1_3

    def connect(self):
        """Returns the ns of this thread's processor time that the server's half took."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self._session if self._kind == "resumed" else None
        client = self._client.wrap_bio(to_client, to_server, server_hostname="localhost",
                                       session=session)
        before = time.thread_time_ns()
        server = self._server.wrap_bio(to_server, to_client, server_side=True)
        taken = time.thread_time_ns() - before
        _step(client)
        for _ in range(2):  # it answers the hello, then takes the end of the client
            before = time.thread_time_ns()
            done = _step(server)
            taken += time.thread_time_ns() - before
            _step(client)
        assert done and client.session_reused == (session is not None)
        before = time.thread_time_ns()
        server.write(b"x")
        taken += time.thread_time_ns() - before
        assert client.read(1) == b"x"  # takes the ticket, too
        self._session = client.session
        return taken


def _step(end):
    """Goes on with the handshake of one end. Returns true if it is done."""
    try:
        end.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def measure(program, kind):
    """Returns the processor time of a connection, in µs."""
    with tempfile.TemporaryDirectory(prefix="h2server-lab-") as folder:
        root = pathlib.Path(folder) / "root"
        root.mkdir()
        (root / "a.txt").write_text("a\n")
        command = [program, "--host", "127.0.0.1", "--port", "0", "--root", root]
        environment = {**os.environ, "XDG_STATE_HOME": f"{folder}/state"}
        with open(f"{folder}/out", "wb") as out, subprocess.Popen(
                command + (["--h2c"] if kind == "none" else []), stdout=out, stderr=out,
                env=environment) as server:
            try:
                while not (found := re.search(r"https?://localhost:(\d+)/",
                                              pathlib.Path(f"{folder}/out").read_text())):
                    time.sleep(0.05)
                client = Client(kind, int(found[1]))
                for _ in range(WARM_UP):  # also gets a ticket
                    client.connect()
                before = processor_us(server.pid)
                for _ in range(CONNECTIONS):
                    client.connect()
                return (processor_us(server.pid) - before) / CONNECTIONS
            finally:
                server.terminate()


def main(program, output):
    program = os.path.abspath(program)
    runs = [{"handshake": kind, "round": number, "cpu_us": measure(program, kind)}
            for number in range(ROUNDS) for kind in KINDS]
    pathlib.Path(output).write_text(json.dumps({
        "command": "lab/handshakes", "connections": CONNECTIONS,
        "version": subprocess.check_output([program, "--version"], text=True).strip(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "runs": runs},
        indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
