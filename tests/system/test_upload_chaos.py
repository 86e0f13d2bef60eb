"""Uploads while clients leave and the server is killed, both at random moments.

By every way in and over every protocol. Afterwards each file is whole and what its name says, each
upload that was acknowledged is there, and no temporary file is left. H2SERVER_CHAOS_CUTS sets the
number of cuts."""

import base64
import concurrent.futures
import dataclasses
import hashlib
import os
import random
import re
import subprocess
import threading
import time

import pytest

from support.contents import noise
from support.environment import LAST_RESORT_S, PATIENCE, tool
from support.protocols import PROTOCOLS
from support.resumable import UploadServer

CUTS = int(os.environ.get("H2SERVER_CHAOS_CUTS", "40"))
CLIENTS = 4
SIZES = [0, 1, 20_000, 300_000, 3_000_000, 20_000_000]
NOISE = noise(SIZES[-1] + 4096)


def content_of(name):
    """What the file of that name holds: its size is in the name, its place in NOISE follows from it."""
    size = int(re.fullmatch(r"\w+-(\d+)", name)[1])
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:2], "big") % 4096
    return NOISE[start:start + size]


@dataclasses.dataclass
class Answer:
    status: int  # 0: none came
    fields: dict


class Client:
    """Uploads one file after another by curl, each by a random way, until it is told to stop."""

    def __init__(self, chaos, number):
        self._chaos = chaos
        self._random = random.Random(number)
        self._number = number
        self._count = 0

    def run(self):
        while not self._chaos.over.is_set():
            self._count += 1
            size = self._random.choice(SIZES)
            name = f"c{self._number}x{self._count}-{size}"
            way = self._random.choice([self._form, self._put, self._tus, self._draft])
            if way(name):
                self._chaos.acknowledged.append(name)

    def _curl(self, path, *arguments, body=b""):
        """One request; the client may be killed in the middle of it."""
        protocol = self._random.choice(self._chaos.protocols)
        url = path if "://" in path else self._chaos.url(path)
        command = [tool("curl"), "--silent", "--insecure", "--noproxy", "*", "--max-time",
                   str(LAST_RESORT_S), protocol.curl, "--dump-header", "-", "--output",
                   os.devnull, *arguments, url]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cut = None
        if self._random.random() < 0.2:
            cut = threading.Timer(self._random.uniform(0, 0.1), process.kill)
            cut.start()
        head, _ = process.communicate(body)
        if cut:
            cut.cancel()
        return self._answer(head.decode("latin-1"))

    @staticmethod
    def _answer(head):
        answer = Answer(0, {})
        for block in re.split(r"\r\n\r\n", head):
            lines = block.split("\r\n")
            status = re.match(r"HTTP/[\d.]+ (\d{3})", lines[0])
            if status and int(status[1]) >= 200:
                answer = Answer(int(status[1]), dict(
                    (line.partition(": ")[0].lower(), line.partition(": ")[2])
                    for line in lines[1:]))
        return answer

    def _form(self, name):
        return self._curl("/files", "--form", f"files=@-;filename={name}",
                          body=content_of(name)).status == 201

    def _put(self, name):
        return self._curl(f"/files/{name}", "--upload-file", "-", body=content_of(name)).status in (
            201, 204)

    def _tus(self, name):
        content = content_of(name)
        metadata = base64.b64encode(name.encode()).decode()
        created = self._curl("/uploads", "--request", "POST", "--header", "Tus-Resumable: 1.0.0",
                             "--header", f"Upload-Length: {len(content)}",
                             "--header", f"Upload-Metadata: filename {metadata}")
        if created.status != 201 or "location" not in created.fields:
            return False
        place = re.sub(r"^https?://[^/]+", "", created.fields["location"])
        self._chaos.pending.append(place)
        return self._go_on(place, content, [
            "--request", "PATCH", "--header", "Tus-Resumable: 1.0.0",
            "--header", "Content-Type: application/offset+octet-stream"], ["--header",
                                                                           "Tus-Resumable: 1.0.0"])

    def _draft(self, name):
        content = content_of(name)
        version = ["--header", "Upload-Draft-Interop-Version: 8"]
        created = self._curl(f"/uploads?name={name}", *version, "--request", "POST", "--header",
                             "Upload-Complete: ?0", "--header", f"Upload-Length: {len(content)}")
        if created.status != 201 or "location" not in created.fields:
            return False
        place = re.sub(r"^https?://[^/]+", "", created.fields["location"])
        self._chaos.pending.append(place)
        return self._go_on(place, content, [
            *version, "--request", "PATCH", "--header", "Upload-Complete: ?1",
            "--header", "Content-Type: application/partial-upload"], version)

    def _go_on(self, place, content, patch, head):
        """Sends what is missing, again and again; asks for the offset after each cut."""
        for _ in range(60):
            if self._chaos.over.is_set():
                return False
            asked = self._curl(place, "--head", *head)
            if asked.status not in (200, 204) or "upload-offset" not in asked.fields:
                time.sleep(0.05)
                continue
            offset = int(asked.fields["upload-offset"])
            assert offset <= len(content)
            if offset == len(content) and asked.fields.get("upload-complete", "?1") == "?1":
                return True
            answer = self._curl(place, *patch, "--header", f"Upload-Offset: {offset}",
                                "--data-binary", "@-", body=content[offset:])
            if answer.status in (200, 201, 204):
                return True
        return False


class Chaos:
    """The server, and what the clients know of it."""

    def __init__(self, server, tls):
        self.server = server
        self.protocols = [protocol for protocol in PROTOCOLS if protocol.tls == tls]
        self.over = threading.Event()
        self.acknowledged = []
        self.pending = []

    def url(self, path):
        return f"{self.server.url.rstrip('/')}{path}"

    def kill_server(self):
        self.server.kill()
        self.server.start()

    def check_files(self):
        found = {path.name for path in self.server.uploads.iterdir()
                 if not path.name.startswith("h2_tmp_")}
        for name in found:
            content = (self.server.uploads / name).read_bytes()
            assert content == content_of(name), f"{name} has {len(content)} bytes"
        assert set(self.acknowledged) <= found
        return found


@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_nothing_is_lost_and_nothing_half(tls):
    pace = random.Random(4711)
    with UploadServer(tls=tls) as server:
        chaos = Chaos(server, tls)
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(Client(chaos, number).run) for number in range(CLIENTS)]
            try:
                for _ in range(CUTS // 2):
                    time.sleep(pace.uniform(0.05, 0.6) * PATIENCE)
                    chaos.kill_server()
                    failed = [one.exception() for one in running if one.done()]
                    assert not failed, failed
            finally:
                chaos.over.set()
            for one in running:
                one.result()
        found = chaos.check_files()
        assert found and chaos.acknowledged
        for place in chaos.pending:
            subprocess.run([tool("curl"), "--silent", "--insecure", "--noproxy", "*", "--request",
                            "DELETE", "--header", "Tus-Resumable: 1.0.0", "--output", os.devnull,
                            chaos.url(place)], check=True)
        server.stop()  # checks that no temporary file is left
        server.start()
        # A client that was killed may have left a request that is stored later.
        assert chaos.check_files() >= found
