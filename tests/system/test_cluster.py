"""Three replicas that serve one object store, behind HAProxy, while processes are killed.

MinIO runs as a cluster of four nodes, and HAProxy with the files of deploy/haproxy.
H2SERVER_TEST_CLUSTER_S: how long, in seconds; H2SERVER_TEST_SEED: for the same kills again.
"""

import os
import random
import re
import subprocess
import time

import pytest

from support.cluster import Cluster, haproxy, needs_cluster
from support.cluster_load import Chaos, Counts, Downloader, Http1, Http2, Passthrough, Stored
from support.contents import noise
from support.environment import SANITIZER, SOURCE, tool

DURATION_S = float(os.environ.get("H2SERVER_TEST_CLUSTER_S", "20"))
SIZES = [20_000] * 8 + [200_000] * 6 + [1_000_000] * 3 + [5_000_000] * 2 + [30_000_000]

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="takes the processors for itself")


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


def stored(cluster, number, size):
    content = noise(size, number)
    cluster.store.put(f"object{number}", content)
    with Http1(cluster).ask("HEAD", f"/object{number}", []) as (status, head, _):
        assert status == 200 and int(head["content-length"]) == size
        return Stored(f"/object{number}", content, head["etag"])


@needs_cluster
def test_protocols(cluster):
    """HTTP/1.1 and HTTP/2 to HAProxy, which tells the replicas who the client is."""
    cluster.store.put("page.txt", b"a page")
    for port, version, options in ((cluster.port, "1.1", ["--http1.1"]),
                                   (cluster.port, "2", ["--http2-prior-knowledge"]),
                                   (cluster.secure_port, "2", ["--http2"]),
                                   (cluster.passthrough_port, "2", ["--http2"])):
        scheme = "http" if port == cluster.port else "https"
        if port != cluster.passthrough_port:  # only there would they be read, as 127.0.0.1 is trusted
            options += ["-H", "X-Forwarded-For: 192.0.2.66", "-H", "Forwarded: for=192.0.2.66"]
        done = subprocess.run(
            [tool("curl"), "-sS", *options, "--cacert", cluster.folder / "server.crt", "-w",
             " %{http_version}", f"{scheme}://localhost:{port}/page.txt"],
            capture_output=True, text=True, check=True)
        assert done.stdout == f"a page {version}"
    lines = [line for one in cluster.replicas for line in one.log.splitlines()
             if '"/page.txt"' in line]
    assert len(lines) == 4
    assert all('"127.0.0.1"' in line and "192.0.2.66" not in line for line in lines), lines
    assert all(re.search(r'"network.protocol.version":"2"', line) for line in lines), lines


@needs_cluster
def test_killed_processes(cluster):
    seed = int(os.environ.get("H2SERVER_TEST_SEED", random.randrange(1 << 32)))
    print(f"H2SERVER_TEST_SEED={seed}")
    objects = [stored(cluster, number, size) for number, size in enumerate(SIZES)]
    counts = Counts()
    chaos = Chaos(cluster, seed, counts)
    sessions = [Http1(cluster) for _ in range(4)] + [Http2(cluster) for _ in range(2)]
    clients = [Downloader(session, counts, chaos, seed + number, objects)
               for number, session in enumerate(sessions)]
    small = [one for one in objects if len(one.content) <= 200_000]
    clients.append(Downloader(Passthrough(cluster, counts), counts, chaos, seed - 1, small))
    for one in (chaos, *clients):
        one.start()
    try:
        until = time.monotonic() + DURATION_S
        while time.monotonic() < until and not counts.failures and not chaos.errors:
            time.sleep(0.1)
    finally:
        chaos.stop()
        for one in clients:
            one.stop()
    print(counts, "and", cluster.proxy.sent_again(), "that HAProxy sent again")
    print(cluster.evidence() if counts.failures else "")
    assert not chaos.errors, chaos.errors
    assert not counts.failures, "\n".join(counts.failures[:20])
    assert counts.all["requests"] > 100 and counts.all["bytes"] > 10_000_000
    assert any(what.startswith("replica got") for what in counts.all)
    assert counts.all["TLS sessions resumed"] > counts.all["full TLS handshakes"]
