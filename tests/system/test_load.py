"""No request fails under load: h2load, over every protocol and under both event-driven schemes."""

import os
import re
import subprocess

import pytest

from support import pairs
from support.census import Base
from support.environment import PATIENCE, SANITIZER, tool
from support.protocols import PROTOCOLS, fetch, name_of
from support.server import Server

SECONDS = int(os.environ.get("H2SERVER_LOAD_SECONDS", "3" if SANITIZER else "5"))
WORKERS = 2
REQUESTS_MIN = 100 * SECONDS  # far below any machine's rate: shows that there was a load


@pytest.mark.parametrize("pair", pairs.USUAL, ids=name_of)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=name_of)
def test_no_request_fails(protocol, pair):
    with Server(pair=pair, workers=WORKERS, tls=protocol.tls) as server:
        (server.root / "index.html").write_bytes(b"x" * 1000)
        (server.root / "large").write_bytes(b"y" * 200_000)
        assert fetch(server, protocol, "/").status == 200
        # Each worker will keep the large file and a spare descriptor open.
        base = Base(server, files_kept=2 + pair.threads(WORKERS))
        check_result(h2load(server, protocol))
        base.check()


def h2load(server, protocol):
    streams = ["-m", "10"] if protocol.http2 else ["--h1"]
    done = subprocess.run(
        [tool("h2load"), "-D", str(SECONDS), "-c", "50", "-t", "2", *streams,
         server.url, server.url + "large"],
        capture_output=True, text=True, check=False, timeout=(SECONDS + 30) * PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_result(printed):
    counts = dict(map(reversed, re.findall(r"(\d+) (total|started|done|succeeded|failed|errored|"
                                           r"timeout)", printed)))
    assert counts["failed"] == counts["errored"] == counts["timeout"] == "0", printed
    statuses = {kind: int(number) for number, kind in re.findall(r"(\d+) ([2345]xx)", printed)}
    assert statuses.pop("2xx") > REQUESTS_MIN, printed
    assert sum(statuses.values()) == 0, printed
