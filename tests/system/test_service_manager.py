"""What systemd is told, the sockets that it passes, and the unit for it."""

import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from support import named
from support.environment import BINARY, LAST_RESORT_S, SOURCE
from support.protocols import PROTOCOLS, fetch
from support.s3 import BUCKET, credentials_given
from support.service_manager import Managed
from support.stub_store import StubStore
from support.waiting import wait_until

TEXT = '[[listener]]\nhost = "127.0.0.1"\nport = 0\nh2c = true\n[[site]]\nroot = "{}"\n'
FILES = {"one/name": "one", "two/name": "two"}
H1 = next(protocol for protocol in PROTOCOLS if not protocol.http2 and not protocol.tls)
UNITS = SOURCE / "deploy/systemd"

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None,
                                   reason="systemd-analyze is missing")


def test_start_and_end():
    with Managed('drain-timeout = "10m"\n' + TEXT.format("one"), FILES) as server:
        ready = server.told()
        assert ready["READY"] == "1" and ready["STATUS"] == "serves 1 site on 1 listener"
        assert server.is_silent()
        server.signal(signal.SIGTERM)
        end = server.told()
        assert end["STOPPING"] == "1" and int(end["EXTEND_TIMEOUT_USEC"]) >= 600_000_000
        assert server.ends(), "nothing is in flight"


def test_reload():
    with Managed(TEXT.format("one"), FILES) as server:
        server.told_until("READY")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        server.write("site.toml", 'pid-file = "pid"\n' + TEXT.format("two"))
        server.reload()
        begun = server.told()
        assert begun["RELOADING"] == "1"
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert before <= int(begun["MONOTONIC_USEC"]) <= after
        assert server.told()["READY"] == "1"
        # The workers of before may accept for a moment.
        wait_until(lambda: fetch(server, H1, "/name").body == b"two", "the new one is served")


def test_a_reload_that_fails():
    with Managed(TEXT.format("one"), FILES) as server:
        server.told_until("READY")
        server.write("site.toml", "port = eighty\n")
        server.refuse_reload("site.toml:1")
        assert "RELOADING" in server.told()
        ready = server.told()
        assert ready["READY"] == "1" and "site.toml:1" in ready["STATUS"]
        assert fetch(server, H1, "/name").body == b"one"


def test_the_watchdog():
    with Managed(TEXT.format("one"), FILES, ["WATCHDOG_USEC=200000"]) as server:
        server.told_until("READY")
        for _ in range(3):
            assert server.told_until("WATCHDOG") == {"WATCHDOG": "1"}


def test_the_watchdog_does_not_wait_for_an_acme_store(tmp_path):
    """A reload reads the store, which does not answer for a while."""
    holds, answers = threading.Event(), threading.Event()

    def hold(request):
        if holds.is_set() and request.path.endswith("/a.test.pem"):
            answers.wait(LAST_RESORT_S)

    text = (f'acme-store = "s3://{BUCKET}/certificates"\n'
            'acme-directory = "https://127.0.0.1:1/directory"\n'
            '[[listener]]\nhost = "127.0.0.1"\nport = 0\n'
            '[[site]]\nhost = "a.test"\nroot = "one"\nacme = true\n')
    with StubStore() as store, credentials_given() as patch:
        store.script = hold
        patch.setenv("AWS_ENDPOINT_URL_S3", store.url)
        patch.setenv("XDG_STATE_HOME", str(tmp_path))
        with Managed(text, FILES, ["WATCHDOG_USEC=200000"]) as server:
            server.told_until("READY")
            holds.set()
            server.signal(signal.SIGHUP)
            server.told_until("RELOADING")
            for _ in range(3):
                assert server.told() == {"WATCHDOG": "1"}
            holds.clear()
            answers.set()
            server.told_until("READY")


def test_a_hot_restart_hands_over():
    with Managed(TEXT.format("one"), FILES, ["WATCHDOG_USEC=400000"]) as server:
        server.told_until("READY")
        first = server.serving
        server.signal(signal.SIGUSR2)
        passed_on = server.told_until("MAINPID")
        assert passed_on["READY"] == "1"
        server.wait_for_successor(first)
        assert int(passed_on["MAINPID"]) == server.serving
        server.wait_for_end_of(first)
        while not server.is_silent():
            server.told()
        server.told_until("WATCHDOG")  # by the successor


def listening(port=0):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", port))
    one.listen(64)
    return one


def test_sockets_are_taken():
    with listening() as passed:
        port = passed.getsockname()[1]
        text = TEXT.format("one").replace("port = 0", f"port = {port}")
        with Managed(text, FILES, sockets=[passed]) as server:
            assert server.port == port
            assert fetch(server, H1, "/name").body == b"one"
            server.reload()
            assert fetch(server, H1, "/name").body == b"one"
            first = server.serving
            server.signal(signal.SIGUSR2)
            server.wait_for_successor(first)
            server.wait_for_end_of(first)
            assert fetch(server, H1, "/name").body == b"one"
        # The service manager goes on listening: a connection waits for the next start.
        with socket.create_connection(("127.0.0.1", port), LAST_RESORT_S) as waiting:
            waiting.sendall(b"GET /name HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            with Managed(text, FILES, sockets=[passed]):
                waiting.settimeout(LAST_RESORT_S)
                assert waiting.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_socket_that_was_passed_comes_back():
    """The program keeps it while no listener asks for it: it is passed at the start only."""
    with listening() as first, listening() as second:
        ports = [one.getsockname()[1] for one in (first, second)]

        def text(*numbers):
            return "".join(f'[[listener]]\nhost = "127.0.0.1"\nport = {number}\nh2c = true\n'
                           for number in numbers) + '[[site]]\nroot = "one"\n'

        with Managed(text(*ports), FILES, sockets=[first, second]) as server:
            for numbers in (ports[:1], ports):
                server.write("site.toml", 'pid-file = "pid"\n' + text(*numbers))
                server.reload()
            assert all(named.fetch(port, "a", "/name").body == b"one" for port in ports)


def test_what_is_no_socket():
    done = subprocess.run(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", BINARY, "--h2c", "--port",
                           "0"], env={"LISTEN_FDS": "40"}, capture_output=True, text=True,
                          timeout=LAST_RESORT_S, check=False)
    assert done.returncode == 1 and "LISTEN_FDS" in done.stderr, done


@needs_systemd
def test_the_unit_is_confined():
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=15",
                           UNITS / "h2server.service"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_systemd
def test_the_units_are_right(tmp_path):
    """The program is not installed: this one stands in its place."""
    service = (UNITS / "h2server.service").read_text()
    assert "ExecStart=/usr/bin/h2server " in service
    program = tmp_path / "h2server"  # whose own path may have spaces
    program.symlink_to(BINARY)
    units = [tmp_path / "h2server.service", tmp_path / "h2server.socket"]
    units[0].write_text(service.replace("/usr/bin/h2server", str(program)))
    shutil.copy(UNITS / "h2server.socket", units[1])
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done


def test_the_unit_starts_what_is_installed():
    service = (UNITS / "h2server.service").read_text()
    arguments = re.search(r"^ExecStart=\S+ (.*)", service, re.MULTILINE)[1].split()
    known = subprocess.run([BINARY, "--help"], capture_output=True, text=True, check=True).stdout
    for name in arguments:
        assert not name.startswith("--") or name in known, name
