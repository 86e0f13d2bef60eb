#!/usr/bin/python3
"""Prints what an idle connection costs in user memory, beside the kernel's share of it.

    bench/idle_memory.py [--connections N] [--pid PID --port PORT | H2SERVER_ARGUMENT...]

Starts build/release/h2server (or takes the cleartext server PID), opens the connections, has each
answer one request, and compares RssAnon of /proc/PID/status before and after.
"""

import argparse
import contextlib
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build/release/h2server"

REQUEST = b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
SETTINGS_ACK = b"\0\0\0\4\1\0\0\0\0"
# :method GET, :scheme http, :path /index.html, :authority localhost (RFC 7541, never indexed: the
# dynamic table stays empty, as a browser's does not).
FIELDS = b"\x82\x86\x85\x41\x09localhost"
HEADERS = len(FIELDS).to_bytes(3, "big") + b"\1\5\0\0\0\1" + FIELDS


def anonymous_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1])


def receive_until(connection, mark):
    received = b""
    while mark not in received:
        piece = connection.recv(65536)
        if not piece:
            sys.exit("the server closed a connection")
        received += piece


def open_h1(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(REQUEST)
    receive_until(connection, b"</html>")
    return connection


def open_h2c(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(PREFACE + SETTINGS + HEADERS)
    receive_until(connection, b"</html>")
    connection.sendall(SETTINGS_ACK)
    return connection


def measure(pid, port, open_one, count):
    """KiB a connection."""
    with contextlib.ExitStack() as stack:
        for _ in range(16):  # what the first connections need is no connection's
            open_one(port).close()
        time.sleep(0.5)
        before = anonymous_kib(pid)
        for _ in range(count):
            stack.enter_context(open_one(port))
        time.sleep(0.5)
        return (anonymous_kib(pid) - before) / count


@contextlib.contextmanager
def server(arguments, page):
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "index.html").write_text(page)
        process = subprocess.Popen(
            [BINARY, "--h2c", "--host", "127.0.0.1", "--port", "0", "--root", root, *arguments],
            stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                if found := re.search(r"http://localhost:(\d+)/", line):
                    break
            else:
                sys.exit("the server did not start")
            yield process.pid, int(found[1])
        finally:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=4000)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--port", type=int)
    options, arguments = parser.parse_known_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    page = "<html>" + "x" * 145 + "</html>"
    for name, open_one in (("HTTP/1.1", open_h1), ("h2c", open_h2c)):
        with contextlib.ExitStack() as stack:
            pid, port = options.pid, options.port
            if pid is None:
                pid, port = stack.enter_context(server(arguments, page))
            cost = measure(pid, port, open_one, options.connections)
            print(f"{name:9} {cost:6.2f} KiB a connection ({options.connections} of them)")


if __name__ == "__main__":
    main()
