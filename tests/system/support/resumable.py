"""What tests of resumable uploads share: a server that may be killed, and requests of both
protocols."""

import base64
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys

from support.environment import CLIENTS, LAST_RESORT_S, PATIENCE, TOOLS, tool
from support.processes import members
from support.protocols import fetch
from support.server import Server
from support.waiting import wait_until

PREFIX = "h2_tmp_upload_"
TUS = ("tus-resumable", "1.0.0")
TUS_TYPE = ("content-type", "application/offset+octet-stream")
DRAFT = ("upload-draft-interop-version", "8")
DRAFT_TYPE = ("content-type", "application/partial-upload")


def lasting_port():
    """A free port that no client of another test gets as its own while the server is down."""
    while True:
        port = random.randrange(12_000, 32_000)  # below ip_local_port_range
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class UploadServer(Server):
    """Keeps its port. What it remembers of resumable uploads outlives it."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.command[self.command.index("--port") + 1] = str(lasting_port())

    def temporary_files(self):
        return [path for path in super().temporary_files() if not path.name.startswith(PREFIX)]

    def kill(self):
        """SIGKILL to all its processes."""
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: members(self.pid) == [], "all its processes end")

    def pending(self):
        """Returns the paths of files with the bytes of uploads that are not stored."""
        return [path for path in self.uploads.iterdir()
                if path.name.startswith(PREFIX) and "." not in path.name]


def base64_of(data):
    return base64.b64encode(data).decode()


def digest_field(data):
    return f"sha-256=:{base64_of(hashlib.sha256(data).digest())}:"


def tus_name(name):
    return ("upload-metadata", f"filename {base64_of(name.encode())}")


class Client:
    """Makes requests over a protocol, each on a new connection."""

    def __init__(self, server, protocol):
        self.server = server
        self.protocol = protocol

    def ask(self, method, path, *fields, body=b""):
        return fetch(self.server, self.protocol, path, method, fields, body)

    def tus_create(self, name, *fields):
        answer = self.ask("POST", "/uploads", TUS, tus_name(name), *fields)
        assert answer.status == 201, answer
        return answer.field("location")

    def tus_append(self, url, offset, body, *fields):
        return self.ask("PATCH", url, TUS, TUS_TYPE, ("upload-offset", str(offset)), *fields,
                        body=body)

    def tus_offset(self, url):
        answer = self.ask("HEAD", url, TUS)
        assert answer.status == 200, answer
        return int(answer.field("upload-offset"))

    def draft_create(self, name, *fields):
        answer = self.ask("POST", f"/uploads?name={name}", DRAFT, ("upload-complete", "?0"),
                          *fields)
        assert answer.status == 201, answer
        return answer.field("location")

    def draft_append(self, url, offset, complete, body, *fields):
        return self.ask("PATCH", url, DRAFT, DRAFT_TYPE, ("upload-offset", str(offset)),
                        ("upload-complete", complete), *fields, body=body)

    def draft_state(self, url):
        answer = self.ask("HEAD", url, DRAFT)
        assert answer.status == 204, answer
        return int(answer.field("upload-offset")), answer.field("upload-complete")

    def progress(self, url):
        answer = self.ask("GET", url)
        assert answer.status == 200, answer
        return json.loads(answer.body)


def start_tus_js(server, file, **options):
    """Starts tus-js-client. Its output goes to a pipe."""
    environment = {**os.environ, "NODE_PATH": str(TOOLS / "node_modules")}
    if server.tls:
        environment["NODE_EXTRA_CA_CERTS"] = str(server.certificate)
    command = [tool("node"), CLIENTS / "tus_client.js", server.url + "uploads", file,
               json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=environment)


def finish(process):
    """Waits for tus-js-client. Returns the URL of the upload."""
    printed, _ = process.communicate(timeout=120 * PATIENCE)
    assert process.returncode == 0, printed
    return json.loads(printed.splitlines()[-1])["url"]


_TUSPY = """
import sys
from tusclient import client
tus = client.TusClient(sys.argv[1])
uploader = tus.uploader(sys.argv[2], chunk_size=1 << 20, metadata={"filename": "tuspy"},
                        upload_checksum=True)
uploader.upload_chunk()
tus.uploader(sys.argv[2], chunk_size=1 << 20, url=uploader.url).upload()
"""


def run_tuspy(server, file):
    """Uploads the file as "tuspy", with an interruption."""
    site_packages = next((TOOLS / "python/lib").glob("python*/site-packages"))
    environment = {**os.environ, "PYTHONPATH": str(site_packages)}
    if server.tls:
        environment["REQUESTS_CA_BUNDLE"] = str(server.certificate)
    subprocess.run([sys.executable, "-c", _TUSPY, server.url + "uploads", file], check=True,
                   env=environment, timeout=LAST_RESORT_S)
