"""Three replicas that serve one object store and take uploads, behind HAProxy, while processes end.

MinIO runs as a cluster of four nodes, and HAProxy with the files of deploy/haproxy.
H2SERVER_TEST_CLUSTER_S: how long, in seconds; H2SERVER_TEST_SEED: for other kills than usual.
"""

import os
import re
import signal
import subprocess
import time

import pytest

from support.cluster import Cluster, haproxy, needs_cluster
from support.cluster_audit import Auditor, check_everything, check_leftovers
from support.cluster_chaos import Chaos, running
from support.cluster_load import Counts, Downloader, Http1, Http2, Passthrough, Stored
from support.cluster_uploads import CurlHttp2, Ledger, Uploader, Watcher
from support.contents import noise
from support.environment import SANITIZER, tool
from support.s3 import VERSITYGW, Versitygw
from support.waiting import wait_until

DURATION_S = float(os.environ.get("H2SERVER_TEST_CLUSTER_S", "15"))
EXPIRY_S = 120  # of uploads without progress
TAKING = ["upload = true", f'upload-expiry = "{EXPIRY_S}s"']
BYTES_KEPT = 2_000_000_000  # of uploads, besides their second copies
LONG = DURATION_S >= 300  # there is time to see the rest of uploads removed
SIZES = [20_000] * 8 + [200_000] * 6 + [1_000_000] * 3 + [5_000_000] * 2 + [30_000_000]

pytestmark = pytest.mark.skipif(bool(SANITIZER), reason="takes the processors for itself")


@pytest.fixture(scope="module")
def cluster():
    with Cluster(*TAKING) as one:
        yield one


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

    def lines_of_page():
        return [line for one in cluster.replicas for line in one.log.splitlines()
                if '"/page.txt"' in line]

    # A thread of the server writes them, after the answers.
    wait_until(lambda: len(lines_of_page()) >= 4, "the lines are written")
    lines = lines_of_page()
    assert len(lines) == 4
    assert all('"127.0.0.1"' in line and "192.0.2.66" not in line for line in lines), lines
    assert all(re.search(r'"network.protocol.version":"2"', line) for line in lines), lines


def clients_of(cluster, counts, chaos, seed, ledger):
    """Downloads and uploads, over HTTP/1.1 and HTTP/2, and downloads through TLS that a replica ends."""
    objects = [stored(cluster, number, size) for number, size in enumerate(SIZES)]
    small = [one for one in objects if len(one.content) <= 200_000]
    sessions = [Http1, Http1, Http1, Http2]
    yield from (Downloader(kind(cluster), counts, chaos, seed + number, objects)
                for number, kind in enumerate(sessions))
    yield Downloader(Passthrough(cluster, counts), counts, chaos, seed - 1, small)
    sessions = [Http1, Http1, Http1, CurlHttp2, CurlHttp2]
    yield from (Uploader(kind(cluster), counts, chaos, seed + 100 + number, ledger, number, cluster)
                for number, kind in enumerate(sessions))
    yield Watcher(Http1(cluster), counts, chaos, seed - 2, ledger)
    yield Auditor(Http1(cluster), counts, chaos, seed - 3, ledger, cluster.store, BYTES_KEPT)


def live_through(cluster, signals, seconds, sweeps=False):
    """Returns what the clients have counted while processes ended. `sweeps`: also waits for those."""
    seed = int(os.environ.get("H2SERVER_TEST_SEED", "1"))
    print(f"H2SERVER_TEST_SEED={seed}, load {os.getloadavg()}")
    counts = Counts()
    ledger = Ledger(counts)
    chaos = Chaos(cluster, seed, counts, signals)
    again_before = cluster.proxy.sent_again()
    first_expires = time.monotonic() + EXPIRY_S - 1  # the servers count whole seconds
    with running(chaos, list(clients_of(cluster, counts, chaos, seed, ledger))):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not chaos.errors and (LONG or not counts.failures):
            time.sleep(0.1)
    print(counts)
    if not chaos.errors and (LONG or not counts.failures):
        check_everything(cluster, chaos, counts, ledger, first_expires)
        check_leftovers(cluster, counts, EXPIRY_S if sweeps else None)
    print(counts, "and", cluster.proxy.sent_again() - again_before, "that HAProxy sent again")
    print(f"load {os.getloadavg()}")
    print(cluster.evidence() if counts.failures else "")
    assert not chaos.errors and not counts.failures, "\n".join(chaos.errors + counts.failures[:20])
    assert counts.all["requests"] > 100 and counts.all["bytes"] > 10_000_000
    assert counts.all["uploads acknowledged"] > 10
    assert any(what.startswith("replica got") for what in counts.all)
    assert counts.all["TLS sessions resumed"] > counts.all["full TLS handshakes"]
    return counts


@needs_cluster
def test_drained_processes(cluster):
    """SIGTERM excuses no failure. A store whose machine is busy may fail, as HAProxy's log then says."""
    counts = live_through(cluster, [signal.SIGTERM], DURATION_S / 3).all
    assert not [what for what in counts if "kill" in what], counts
    by_store = sum(count for what, count in counts.items() if "that the store failed" in what)
    assert by_store <= counts["failures of the store towards replicas"], counts


@needs_cluster
def test_killed_processes(cluster):
    live_through(cluster, [signal.SIGKILL, signal.SIGTERM], DURATION_S, LONG)


@pytest.mark.skipif(not VERSITYGW, reason="there is no versitygw; scripts/setup test builds one")
@pytest.mark.skipif(DURATION_S < 60, reason="MinIO shows it sooner")
def test_killed_replicas_of_versitygw():
    """A store of one process, which stays."""
    haproxy()
    with Versitygw() as store, Cluster(*TAKING, store=store) as cluster:
        live_through(cluster, [signal.SIGKILL, signal.SIGTERM], DURATION_S / 3)
