"""Measures what a connection costs the server in processor time: without TLS, with a full handshake
and with a resumed one (TLS 1.3, P-256, X25519). Each connection makes one request for a small file.

    lab/handshakes build/release/h2server docs/lab/handshakes.json
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
REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def processor_us(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def answered(connection):
    connection.sendall(REQUEST)
    received = b""
    while piece := connection.recv(65536):
        received += piece
    assert received.startswith(b"HTTP/1.1 200"), received[:100]


class Client:
    def __init__(self, kind, port):
        self._kind = kind
        self._port = port
        self._session = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3

    def connect(self):
        with socket.create_connection(("127.0.0.1", self._port)) as plain:
            if self._kind == "none":
                answered(plain)
                return
            session = self._session if self._kind == "resumed" else None
            with self._context.wrap_socket(plain, server_hostname="localhost",
                                           session=session) as connection:
                assert connection.session_reused == (session is not None)
                answered(connection)
                self._session = connection.session


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
                for _ in range(100):  # warms up, and gets a ticket
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
            for number in range(ROUNDS) for kind in ("none", "full", "resumed")]
    pathlib.Path(output).write_text(json.dumps({
        "command": "lab/handshakes", "connections": CONNECTIONS,
        "version": subprocess.check_output([program, "--version"], text=True).strip(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "runs": runs},
        indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
